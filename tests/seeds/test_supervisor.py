import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tool_calls import (
    ADVANCED,
    REPEATED,
    STUCK,
    error,
    kind_of,
    miss,
    misses,
    ok,
    told,
)

from loop_close.seeds.supervisor import MAX_TEXT, Supervisor
from loop_close.text import sanitize

OWN = {"dev.loop-close/non-advancing": True}
TRUTHY = [1, "true", "yes", [1], {}, 2]


CASES = {
    "two of each": ([ok("A"), ok("A"), ok("B"), ok("B")], ". . . ."),
    "errors whatever the input": ([error("bad", input=n) for n in range(3)], f". . {REPEATED}"),
    "success and error with one text": ([ok("x"), error("x"), ok("x")], ". . ."),
    "volatile values": ([error(f"bad at 0x{n}f00ba4 after 0.{n} s") for n in (1, 2, 3)], f". . {REPEATED}"),
    "colour": ([error("bad"), error("\x1b[31mbad\x1b[0m"), error(" bad\n")], f". . {REPEATED}"),
    "what differs only late": ([error("x" * 5_000 + tail) for tail in "abc"], ". . ."),
    "what differs only in the middle": ([error("x" * 9_000 + m + "x" * 9_000) for m in "abc"], ". . ."),
    "case in the input of a success": ([ok("x", input=q) for q in ("a", "A", " a")], ". . ."),
    "blocks of text": ([ok([{"type": "text", "text": "x"}]), ok("x"), ok(["x"])], f". . {REPEATED}"),
    "blocks of data": ([ok([{"type": "image", "data": d}]) for d in "abc"], ". . ."),
    "errors and successes in turn": ([ok("A"), error("B")] * 3, ". . . . . ."),
    # the axis of what does not advance: all such results of a tool are equal
    "same question": ([miss("cron")] * 3, f". . {STUCK}"),
    "other questions": (misses(3), f". . {STUCK}"),
    "our own key": ([ok("x", input=n, meta=OWN) for n in range(3)], f". . {STUCK}"),
    "an advance between": ([*misses(2), ok("found"), *misses(2, 5)], ". " * 5),
    "errors between": ([miss("q1"), error("e1 "), miss("q2"), error("e2 "), miss("q3")], ". " * 5),
    "true by another type": (
        [ok("x", input=n, meta={"ai.nimblebrain/non-advancing": v}) for n, v in enumerate(TRUTHY)],
        ". " * 6,
    ),
    "a key of others with false": (
        [ok("x", meta={"ai.nimblebrain/non-advancing": False})] * 3,
        f". . {REPEATED}",
    ),
    "no meta at all": ([ok("x", meta=None)] * 3, f". . {REPEATED}"),
    "known to advance": ([ok("3 passed", meta=ADVANCED)] * 9, ". " * 9),
    "an error known to advance": ([error("2 failed", meta=ADVANCED)] * 9, ". " * 9),
    # the machine's faults
    "faults by their text are errors": ([error("HTTP 503")] * 3, f". . {REPEATED}"),
    # several tools
    "each tool by itself": ([error("a", "foo"), error("a", "bar")] * 3, f". . . . {REPEATED} {REPEATED}"),
    "marked results with edits between": (
        [result for n in range(3) for result in (ok("done", "edit", input=n), miss(f"q{n}", "test"))],
        f". . . . . {STUCK}",
    ),
}


def words(text):
    """``. . repeated 3`` as a list."""
    parts = iter(text.split())
    return [part if part == "." else f"{part} {next(parts)}" for part in parts]


@pytest.mark.parametrize(("results", "expected"), CASES.values(), ids=CASES)
def test_sequence(results, expected):
    assert told(results) == words(expected)


@pytest.mark.parametrize("value", [1, 0, -1, float("nan")])
def test_one_result_is_no_repetition(value):
    with pytest.raises(ValueError, match=r"^repeats is .*: it must be at least 2$"):
        Supervisor(repeats=value)


def test_tool_stays_disabled_until_it_is_known_to_advance_or_forgotten():
    supervisor = Supervisor()
    for _ in range(3):
        trip = supervisor.observe(error("bad"))
    assert kind_of(trip) == REPEATED
    assert supervisor.observe(ok("works")) == trip
    assert set(supervisor.trips) == {"t"}
    assert supervisor.observe(ok("works", meta=ADVANCED)) == ""
    assert supervisor.trips == {}
    for _ in range(3):
        supervisor.observe(error("bad"))
    supervisor.forget("t")
    assert supervisor.trips == {}


TEXTS = {
    "the same error, whatever the input": [error("HTTP 400: no such field")] * 3,
    "the same result for the same input": [ok("HTTP 400: no such field")] * 3,
    "each result was marked as no progress, whatever the input": [
        ok("HTTP 400: no such field", input=n, meta=OWN) for n in range(3)
    ],
}


@pytest.mark.parametrize(("what", "results"), TEXTS.items(), ids=TEXTS)
def test_text_says_what_and_how_often(what, results):
    supervisor = Supervisor()
    trips = [supervisor.observe(result) for result in results]
    assert trips[-1].split("\n") == [
        f"`t` made no progress {len(results)} times in a row: {what}.",
        "It counts as disabled for the rest of this run. Other tools are not affected.",
        "What it was called for is still missing: report it as unresolved, with what was tried.",
        "Its last result: `HTTP 400: no such field`",
    ]


anything = st.text(st.characters(exclude_categories=()))


def text_of(content, tool="t"):
    supervisor = Supervisor(repeats=2)
    supervisor.observe(error(content, tool))
    return supervisor.observe(error(content, tool))


def test_credentials_are_not_shown():
    key = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF3hJ6"
    for content in (f"denied for {key}", "x" * 700 + key + "y" * 9_000):
        assert key[:12] not in text_of(content)


@given(anything, anything)
def test_text_is_safe_and_short(content, tool):
    text = text_of(content, tool)
    assert len(text) < MAX_TEXT
    assert sanitize(text) == text
    assert "made no progress 2 times in a row" in text


def test_state_is_bounded_and_holds_no_content():
    supervisor = Supervisor()
    for n in range(500):
        supervisor.observe(ok("the content" * n, input=f"the input {n}"))
    text = json.dumps(msgspec.to_builtins(supervisor.tools))
    assert "the input" not in text
    assert "the content" not in text
    assert len(text) < 10_000


@pytest.mark.parametrize(
    "content", ["`" * 5_000, "` " * 500, "\n```\n# Orders\n", "x" * 1_000_000, " \x1b[0m\n"]
)
@pytest.mark.parametrize("tool", ["t", "`" * 500, "tool\n# Title"])
def test_content_stays_quoted_and_short(content, tool):
    assert len(text_of(content, tool)) < MAX_TEXT
    assert len(text_of(content, tool).split("\n")) in (3, 4)
