"""Every sample of real output says what a person reads in it, no more and no less."""

import json
from pathlib import Path

import pytest
from msgspec.structs import asdict

from loop_close.facts import failure_place, innermost, leaves, links
from loop_close.readers.pytest_output import read_pytest
from loop_close.text import sanitize

CORPUS = Path(__file__).parent.parent / "corpus" / "pytest"
SAMPLES = sorted(path.stem for path in CORPUS.glob("*.json"))


def read(name):
    text = (CORPUS / f"{name}.txt").read_bytes().decode("utf-8", "replace")
    expected = json.loads((CORPUS / f"{name}.json").read_text(encoding="utf-8"))
    return read_pytest(sanitize(text), expected["root"]), expected, text


def told(failure, expected):
    """What the failure says, as far as the sample's file asks for it."""
    file, line, _ = failure_place(failure)
    has_frame = any(innermost(r) for link in links(failure.raised) for r in (link, *leaves(link)))
    if not has_frame and "line" not in failure_details(failure):
        file, line = "", 0
    told = {
        "nodeid": failure.nodeid,
        "phase": failure.phase,
        "type": failure.raised.type if failure.raised is not None else "",
        "message": failure.message.rstrip("\n"),
        "file": file,
        "line": line,
    }
    if "message_starts" in expected:
        told["message_starts"] = failure.message[: len(expected["message_starts"])]
    return {key: told[key] for key in expected}


def failure_details(failure):
    return failure.raised.details if failure.raised is not None else {}


def by_name(item):
    return item.get("nodeid", ""), item["phase"], item.get("message") or item.get("message_starts") or ""


@pytest.mark.parametrize("name", SAMPLES)
def test_failures_are_those_that_a_person_reads(name):
    reading, expected, _ = read(name)
    wanted = sorted(expected["expected"], key=by_name)
    found = sorted(
        reading.failures,
        key=lambda f: (f.nodeid, f.phase, f.message),
    )
    assert [(f.nodeid, f.phase) for f in found] == [(w.get("nodeid", ""), w["phase"]) for w in wanted]
    assert [told(f, w) for f, w in zip(found, wanted, strict=True)] == wanted


@pytest.mark.parametrize("name", SAMPLES)
def test_counts_certainty_and_why_the_run_ended(name):
    reading, expected, _ = read(name)
    assert reading.is_certain == expected["certain"]
    assert reading.incomplete == expected.get("incomplete", "")
    if expected["counts"] is not None:
        assert asdict(reading.counts) == {"failed_subtests": 0, **expected["counts"]}


@pytest.mark.parametrize("name", SAMPLES)
def test_spans_are_sorted_apart_and_within_the_text(name):
    reading, _, text = read(name)
    ends = [offset for span in reading.spans for offset in span]
    assert ends == sorted(set(ends))
    assert all(0 <= offset <= len(sanitize(text)) for offset in ends)
    assert bool(reading.spans) or not reading.failures


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_cut_anywhere_names_no_test_that_the_whole_does_not(name):
    reading, expected, text = read(name)
    whole = {f.nodeid for f in reading.failures}
    # --tb=line names tests in its summary alone; of a dead worker only the file is in the heading; a piece of output
    # that a test printed may be a whole run
    if name in {"line", "old_line", "worker_crash", "nested_runs"} or not whole:
        return
    for part in range(1, 8):
        at = len(text) * part // 8
        for piece in (text[:at], text[at:]):
            names = {
                function(f.nodeid)
                for f in read_pytest(sanitize(piece), expected["root"]).failures
                if f.nodeid
            }
            assert names <= {function(nodeid) for nodeid in whole}, part


def function(nodeid):
    return nodeid.partition("[")[0].rpartition("::")[2]
