"""Real output of real tools, through all readers together: the registry says which corpora there have to be."""

import json
import re
from pathlib import Path

import pytest

from loop_close.facts import failure_place
from loop_close.library import close_loop
from loop_close.readers import DEFAULT_READERS
from loop_close.readers.streams import observe

CORPUS = Path(__file__).parent / "corpus"
READERS = [reader.id for reader in DEFAULT_READERS]
SAMPLES = sorted(path for path in CORPUS.glob("*/*.json") if path.parent.name in READERS)
every_sample = pytest.mark.parametrize("path", SAMPLES, ids=lambda p: f"{p.parent.name}-{p.stem}")


def load(path):
    told = json.loads(path.read_text(encoding="utf-8"))
    return path.with_suffix(".txt").read_bytes().decode(), told


def fields(failure, expected):
    """What a failure says of the fields that are expected of it."""
    found = {name: getattr(failure, name, None) for name in expected}
    if found.get("file") != expected.get("file") or found.get("line") != expected.get("line"):
        found |= {
            k: v for k, v in zip(("file", "line"), failure_place(failure), strict=False) if k in expected
        }
    if "type" in expected:
        found["type"] = failure.raised.type if failure.raised is not None else ""
    if "message_starts" in expected:
        found["message_starts"] = failure.message[: len(expected["message_starts"])]
    return found


def test_every_reader_has_samples_of_both_kinds_and_every_corpus_a_reader():
    folders = {path.name for path in CORPUS.iterdir() if path.is_dir()}
    assert folders == {*READERS, "junit_xml", "green", "unfinished"}
    for reader in READERS:
        expected = [bool(load(path)[1]["expected"]) for path in SAMPLES if path.parent.name == reader]
        assert True in expected, reader
        assert False in expected, reader


@every_sample
def test_no_reader_stands_in_the_way_of_another(path):
    text, told = load(path)
    code = told["exit_code"]
    found = observe(text, exit_code=code, root=told.get("root", "")).failures
    for expected in told["expected"]:
        assert any(fields(f, expected) == expected for f in found), (expected, found)
    if not told["expected"] and not told.get("others"):
        assert found == ()


@every_sample
def test_red_output_is_never_told_as_green(path):
    text, told = load(path)
    report = close_loop(text, exit_code=told["exit_code"], root=told.get("root", ""))
    if told["exit_code"]:
        assert report.stall_reason != "no-stall-detected"
    assert re.match(r"# \S", report.next_prompt)
