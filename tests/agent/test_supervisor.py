import pytest
from tool_calls import ADVANCED, ALL, MACHINE, REPEATED, STUCK, each, edited, error, miss, misses, ok, told

from loop_close.agent.supervisor import Supervisor, SupervisorLimits

OWN = {"dev.loop-close/non-advancing": True}
TRUTHY = [1, "true", "yes", [1], {}, 2]


def between(results, others):
    """The results with one of the others after each but the last."""
    return [r for pair in zip(results, [*others, None], strict=True) for r in pair if r is not None]


CASES = {
    "three errors": ([error("bad")] * 3, f". . {REPEATED}"),
    "three successes": ([ok("same", input={"a": 1})] * 3, f". . {REPEATED}"),
    "two of each": ([ok("A"), ok("A"), ok("B"), ok("B")], ". . . ."),
    "errors whatever the input": ([error("bad", input=n) for n in range(3)], f". . {REPEATED}"),
    "successes with other inputs": ([ok("applied", input=n) for n in range(9)], ". . . . . . . . ."),
    "success and error with one text": ([ok("x"), error("x"), ok("x")], ". . ."),
    "errors that differ": ([error(f"e{n} ") for n in (1, 2, 3, 1, 2)], ". . . . ."),
    "a row of two, then of three": ([error(e) for e in "AABBB"], f". . . . {REPEATED}"),
    "volatile values": ([error(f"bad at 0x{n}f00ba4 after 0.{n} s") for n in (1, 2, 3)], f". . {REPEATED}"),
    "colour": ([error("bad"), error("\x1b[31mbad\x1b[0m"), error(" bad\n")], f". . {REPEATED}"),
    "what differs only late": ([error("x" * 5_000 + tail) for tail in "abc"], ". . ."),
    "what differs only in the middle": ([error("x" * 9_000 + m + "x" * 9_000) for m in "abc"], ". . ."),
    "order of keys": (
        [ok("x", input=i) for i in ({"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": 1, "b": 2})],
        f". . {REPEATED}",
    ),
    "case in the input of a success": ([ok("x", input=q) for q in ("a", "A", " a")], ". . ."),
    "blocks of text": ([ok([{"type": "text", "text": "x"}]), ok("x"), ok(["x"])], f". . {REPEATED}"),
    "blocks of data": ([ok([{"type": "image", "data": d}]) for d in "abc"], ". . ."),
    "cycle of 2": (each("ABAB"), ". . . cycle 4/2"),
    "cycle of 3": (each("ABCABCABC"), f"{'. ' * 8}cycle 9/3"),
    "cycle of 4": (each("ABCD" * 3), f"{'. ' * 11}cycle 12/4"),
    "cycle of 5": (each("ABCDE" * 3), f"{'. ' * 14}cycle 15/5"),
    "cycle of 6": (each("ABCDEF" * 4), ". " * 24),
    "cycle begun late": (each("XYABAB"), ". . . . . cycle 4/2"),
    "twice around": (each("ABCDEABCDE"), ". " * 10),
    "cycle of 3 with one twice": (each("AABAABAAB"), f"{'. ' * 8}cycle 9/3"),
    "errors and successes in turn": ([ok("A"), error("B")] * 2, ". . . cycle 4/2"),
    "broken cycle": (each("ABAXBAXABX"), ". " * 10),
    # the axis of what does not advance
    "same question": ([miss("cron")] * 3, f". . {STUCK}"),
    "same question but for its spelling": (
        [miss(q) for q in ("Cron job", " cron  JOB ", "CRON\njob")],
        f". . {STUCK}",
    ),
    "other questions": ([miss(f"q{n}") for n in range(6)], f". . . . . {ALL}"),
    "two questions in turn": ([miss(q) for q in "abab"], ". . . cycle 4/2"),
    "our own key": ([ok("x", input=n, meta=OWN) for n in range(6)], f". . . . . {ALL}"),
    "an advance between": ([*misses(5), ok("found"), *misses(5, 5)], ". " * 11),
    "the same advance between": (
        [*misses(5), ok("found"), *misses(2, 5), ok("found"), *misses(4, 7)],
        f"{'. ' * 12}{ALL}",
    ),
    "errors between": (between(misses(6), [error(f"e{n} ") for n in range(5)]), f"{'. ' * 10}{ALL}"),
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
    "marked faults": ([error("gone", meta=MACHINE)] * 9, ". " * 9),
    "faults by their text": ([error("connect ECONNRESET 10.0.0.1:443")] * 9, ". " * 9),
    "faults between errors": (between([error("bad")] * 3, [error("HTTP 503")] * 2), f". . . . {REPEATED}"),
    "faults between questions": (between(misses(6), [error("timed out")] * 5), f"{'. ' * 10}{ALL}"),
    "success about a fault": ([ok("HTTP 503")] * 3, f". . {REPEATED}"),
    # several tools
    "each tool by itself": ([error("a", "foo"), error("a", "bar")] * 3, f". . . . {REPEATED} {REPEATED}"),
    "errors with edits between": (
        edited([error("1 failed", "test")] * 3),
        f". . . . {REPEATED} .",
    ),
    "successes with edits between": (
        edited([ok("all passed", "test")] * 9),
        ". " * 18,
    ),
    "marked results with edits between": (
        edited([miss("all", "test")] * 3),
        f". . . . {STUCK} .",
    ),
    "two tools in turn": ([ok("a", "foo"), ok("b", "bar")] * 3, f". . . . . {REPEATED}"),
    "three tools in turn": ([ok("a", t) for t in ("foo", "bar", "baz")] * 3, f"{'. ' * 8}{REPEATED}"),
    "a cycle with another tool in it": (
        [*each("A"), ok("x", "u"), *each("B"), ok("x", "u")] * 4,
        f". . . . . . .{f' {REPEATED} cycle 4/2' * 4} {REPEATED}",
    ),
    "red and green in turn": (
        edited([error("1 failed", "test"), ok("3 passed", "test")] * 6),
        ". " * 24,
    ),
}


def words(text):
    """``. . repeated 3/1`` as a list."""
    parts = iter(text.split())
    return [part if part == "." else f"{part} {next(parts)}" for part in parts]


@pytest.mark.parametrize(("results", "expected"), CASES.values(), ids=CASES)
def test_sequence(results, expected):
    assert told(results) == words(expected)


@pytest.mark.parametrize(
    ("limits", "results", "expected"),
    [
        ({"repeats": 2}, [error("bad")] * 2, f". {'repeated 2/1'}"),
        ({"repeats": 2}, each("ABAB"), ". . . cycle 4/2"),
        ({"longest_cycle": 1}, each("ABABAB"), ". . . . . ."),
        ({"alternations": 3}, each("ABABAB"), ". . . . . cycle 6/2"),
        ({"infrastructure": 2}, [error("timed out"), error("HTTP 503")], ". infrastructure 2/0"),
        ({"longest_cycle": 6}, each("ABCDEF" * 3), f"{'. ' * 17}cycle 18/6"),
        ({"non_advancing": 2}, [miss("a"), miss("b")], ". non-advancing 2/0"),
    ],
)
def test_limits(limits, results, expected):
    assert told(results, SupervisorLimits(**limits)) == words(expected)


@pytest.mark.parametrize(
    ("name", "least"),
    [("repeats", 2), ("alternations", 2), ("longest_cycle", 1), ("non_advancing", 2), ("infrastructure", 2)],
)
@pytest.mark.parametrize("value", [0, -1, 2.5, True, "3", None, float("nan"), float("inf")])
def test_limits_are_whole(name, least, value):
    with pytest.raises(ValueError, match=rf"^{name} is .*: it must be a whole number of at least {least}$"):
        SupervisorLimits(**{name: value})


def test_infrastructure_failures_are_counted_until_one_call_gets_through():
    supervisor = Supervisor()
    failing = [error(f"request timed out after {n} s") for n in range(9)]
    assert [supervisor.observe(result) for result in (*failing, ok("page"), *failing)] == [None] * 19
    found = supervisor.observe(error("ECONNRESET"))
    assert (found.kind, found.count) == ("infrastructure", 10)
    assert "each call failed for its infrastructure" in found.text
    assert supervisor.observe(error("ECONNRESET")) == found
    assert supervisor.observe(ok("works")) is None
