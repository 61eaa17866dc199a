import pytest

from loop_close.agent.completion import doubt_in, is_good_news
from loop_close.agent.response import Sentence


def said(text, kind="prose"):
    return Sentence(kind=kind, text=text)


OPEN = [
    "the implementation is incomplete",
    "i abandoned the migration",
    "we gave up on windows",
    "work in progress",
    "partially implemented",
    "the docs are not done",
    "the optimizer is missing",
    "two issues remain",
    "there are still open issues",
    "remaining: docs",
    "known issue: it is slow",
    "left as a todo",
    "i couldn't fix the last one",
    "i was unable to run the tests",
    "i did not get to it",
    "all tests pass except one",
    "apart from the docs, it is done",
    "i skipped the failing tests",
    "i'll finish it later",
    "most tests pass now",
]
FAILING = [
    "the build is failing",
    "3 tests fail",
    "one of them fails",
    "`…` is still failing",
    "mypy still fails",
    "it doesn't compile",
    "14 passed, 1 failed",
    "tests: failing",
    "unfortunately it is slower",
    "i need to fix the parser",
]
FINE = [
    "the build was failing",
    "fixed the 3 failing tests",
    "no tests are failing",
    "0 failed",
    "it raises if the build fails",
    "it isn't failing",
    "there are no remaining issues",
    "i fixed the remaining issues",
    "known issues: none",
    "the header was incomplete",
    "handles incomplete lines",
    "i abandoned the first approach",
    "abandoned carts expire",
    "at first i couldn't fix it",
    "is it still failing?",
    "previously 3 tests failed",
    "the old code could not handle an empty list",
    "nothing else needs a change",
]


@pytest.mark.parametrize(
    ("text", "doubt"),
    [(t, "open") for t in OPEN] + [(t, "failing") for t in FAILING] + [(t, "") for t in FINE],
)
def test_doubt(text, doubt):
    assert doubt_in(said(text)) == doubt


def test_empty_check_box_is_open():
    assert doubt_in(said("docs", kind="todo")) == "open"


@pytest.mark.parametrize(
    ("text", "is_good"),
    [
        ("everything passes", True),
        ("the build works now", True),
        ("all tests passed", True),
        ("all tests pass, but the build is failing", False),
        ("i changed a line", False),
    ],
)
def test_good_news(text, is_good):
    assert is_good_news(said(text)) is is_good
