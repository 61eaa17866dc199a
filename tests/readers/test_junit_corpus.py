"""Files that runners have written: what a person reads in them is what the reader finds."""

import json
from pathlib import Path

import pytest

from loop_close.facts import failure_place
from loop_close.model import Counts
from loop_close.readers.junit_xml import read_junit

CORPUS = Path(__file__).parent.parent / "corpus" / "junit_xml"
SAMPLES = sorted(CORPUS.glob("*.xml"))


def told(path):
    return json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))


def read(path, root):
    return read_junit(path.name, [path.read_bytes()], root)


def seen(failure, keys):
    """The failure as a corpus file spells it, with these of its fields."""
    file, line, _ = failure_place(failure)
    spelled = {
        "nodeid": failure.nodeid,
        "phase": failure.phase,
        "file": file,
        "line": line,
        "subtest": failure.subtest,
        "type": failure.raised.type if failure.raised else "",
        "message": failure.message,
    }
    return {key: spelled[key] for key in keys}


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_sample_says_what_its_notes_say(path):
    notes = told(path)
    reading = read(path, notes["root"])
    failures = list(reading.failures)
    if "xdist" in notes["tool"]:  # in the order in which the workers ended
        order = [(e["nodeid"], e["phase"]) for e in notes["expected"]]
        failures.sort(key=lambda f: order.index((f.nodeid, f.phase)))
    assert len(failures) == len(notes["expected"])
    for failure, expected in zip(failures, notes["expected"], strict=True):
        start = expected.pop("message_starts", None)
        exact = {"nodeid": "", "phase": "", "file": "", "line": 0, "subtest": "", "type": ""} | expected
        assert seen(failure, exact) == exact
        assert start is None or failure.message.startswith(start)
    assert reading.counts == Counts(**notes["counts"])
    assert list(reading.problems) == notes["problems"]


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_node_ids_do_not_depend_on_the_root(path):
    if told(path)["tool"].startswith(("jest", "mocha")):
        pytest.skip("names its files by absolute paths only")
    known = [f.nodeid for f in read(path, told(path)["root"]).failures]
    assert [f.nodeid for f in read(path, "").failures] == known


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_sample_is_free_of_machine_paths(path):
    text = path.read_text(encoding="utf-8")
    assert not any(f"/{folder}/" in text for folder in ("root", "tmp", "work"))
