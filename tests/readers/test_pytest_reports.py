from types import SimpleNamespace

import pytest
from records import raised

from loop_close.readers.pytest_reports import read_report, subtest_of, unreadable, words_of


def report(**fields):
    usual = {"nodeid": "a.py::test_a", "when": "call", "location": ("a.py", 4, "test_a"), "longrepr": "words"}
    return SimpleNamespace(**{**usual, **fields})


class Words:
    """In place of pytest's representations: they are read as text."""

    def __init__(self, text, **fields):
        self.text = text
        vars(self).update(fields)

    def __str__(self):
        return self.text


def test_report_with_an_exception_says_what_the_exception_says():
    exc = raised(message="broken")
    found = read_report(report(), exc)
    assert (found.message, found.raised) == ("broken", exc)
    assert (found.nodeid, found.phase, found.file, found.line) == ("a.py::test_a", "call", "a.py", 5)


def test_report_without_an_exception_says_its_own_words():
    found = read_report(report(longrepr="[XPASS(strict)] later"), None)
    assert (found.message, found.raised) == ("[XPASS(strict)] later", None)


def test_words_are_those_of_a_serial_run_on_a_worker_too():
    spread = report(longrepr=Words("words"), longreprtext="[gw0] linux -- Python\nwords", node="gw0")
    assert words_of(spread) == "words"


@pytest.mark.large
def test_words_are_bounded():
    words = words_of(report(longrepr="x" * 1_000_000))
    assert words.count("x") == 16_000
    assert "984000 characters left out" in words.replace(",", "")


@pytest.mark.parametrize(
    ("when", "phase"),
    [
        ("setup", "setup"),
        ("teardown", "teardown"),
        (None, "call"),
    ],
)
def test_phase_is_that_of_the_report(when, phase):
    assert read_report(report(when=when), None).phase == phase


@pytest.mark.parametrize("location", [None, ("a.py", None, "a.py"), ("a\\b.py", 3, "x")])
def test_location_may_lack_a_line_and_have_other_slashes(location):
    found = read_report(report(location=location), None)
    assert found.line == (4 if location and location[1] else 0)
    assert "\\" not in found.file


@pytest.mark.parametrize(
    ("context", "expected"),
    [
        (SimpleNamespace(), ""),
        (SimpleNamespace(msg=None, kwargs={}), "(<subtest>)"),
        (SimpleNamespace(msg="number", kwargs={}), "[number]"),
        (SimpleNamespace(msg=None, kwargs={"n": 1}), "(n=1)"),
        (SimpleNamespace(msg="number", kwargs={"n": 1, "m": "x"}), "[number] (n=1, m=x)"),
        (SimpleNamespace(msg="", kwargs={}), "[]"),
    ],
)
def test_subtest_is_named_as_pytest_does(context, expected):
    assert subtest_of(report(context=context)) == expected


def test_exception_that_was_not_seen_is_read_from_the_words_of_pytest():
    words = "    def test_a():\n>       total()\n\ntest_a.py:3: \n_ _ _ _ \n\n    def total():\n"
    words += ">       raise ValueError('bad')\nE       ValueError: bad\n\nsrc/a.py:7: ValueError"
    found = read_report(report(longrepr=Words(words)), None)
    assert (found.raised.type, found.message) == ("ValueError", "bad")
    assert [(f.file, f.line, f.function) for f in found.raised.frames] == [
        ("test_a.py", 3, "test_a"),
        ("src/a.py", 7, "total"),
    ]


def test_report_that_cannot_be_read_is_still_a_failure():
    found = unreadable(report(when="setup"), TypeError("x"))
    assert (found.nodeid, found.phase, found.message) == (
        "a.py::test_a",
        "setup",
        "(unreadable report: TypeError)",
    )
