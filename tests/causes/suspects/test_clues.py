import pytest
from records import SRC, TEST, failure, frame, in_test, origin, raised, source, verdict

from loop_close.causes.clues import clues

NODEID = f"{TEST}::test_total"
CONFTEST = "tests/conftest.py"


def test_a_failed_check_shows_which_values_it_used():
    found = clues([failure(verdict(origin("total"), origin("helper", TEST)))])
    assert list(found) == [(SRC, "total")]
    assert (found[SRC, "total"].judged, found[SRC, "total"].framed, found[SRC, "total"].line) == (1, 0, 8)


def test_frames_count_by_their_distance():
    frames = [in_test(), frame(function="outer", line=3), frame(function="inner", line=9)]
    found = clues([failure(raised(frames=frames))])
    assert (found[SRC, "inner"].framed, found[SRC, "outer"].framed) == (1, 0.5)
    assert (found[SRC, "inner"].raised, found[SRC, "outer"].raised) == (1, 0)
    assert (found[SRC, "inner"].at, found[SRC, "inner"].line) == (9, 0)


def test_frames_of_the_exceptions_before_count_but_did_not_raise_the_last_one():
    first = raised("KeyError", frames=[in_test(), frame(function="rate")])
    found = clues([failure(raised(frames=[in_test(), frame(function="total")], cause=first))])
    assert (found[SRC, "rate"].framed, found[SRC, "rate"].raised) == (1, 0)
    assert (found[SRC, "total"].framed, found[SRC, "total"].raised) == (1, 1)


def test_of_a_group_the_exceptions_inside_it_were_raised():
    inner = [raised(frames=[frame(function=name)]) for name in ("load", "save")]
    group = raised("ExceptionGroup", frames=[in_test(), frame(function="both")], members=(inner[0],))
    first = raised("ExceptionGroup", frames=[in_test()], members=(group, inner[1]))
    found = clues([failure(first)])
    assert {name: (clue.raised, clue.framed) for (_, name), clue in found.items()} == {
        "load": (0.5, 1),
        "save": (0.5, 1),
        "both": (0, 1),
    }


def test_a_function_that_raises_an_exception_again_did_not_create_it():
    frames = [in_test(), frame(function="pay"), frame(function="fail", is_handing_on=True)]
    found = clues([failure(raised(frames=frames))])
    assert (found[SRC, "pay"].raised, found[SRC, "pay"].framed) == (1, 1)
    assert (found[SRC, "fail"].raised, found[SRC, "fail"].refused, found[SRC, "fail"].framed) == (0, 0, 0.5)


def test_shares_of_several_failures():
    found = clues([failure(raised(frames=[frame(function="f")])), failure(verdict(origin("g")), nodeid="b")])
    assert (found[SRC, "f"].raised, found[SRC, "g"].judged) == (0.5, 0.5)


@pytest.mark.parametrize(
    ("line", "type", "refused"),
    [
        ("    return 1 / 0", "ZeroDivisionError", 0),
        ("    raise ValueError(x)", "ValueError", 1),
        ("    assert x", "AssertionError", 1),
    ],
)
def test_a_raise_objects_to_what_came_from_elsewhere(line, type, refused):
    at = frame(function="f", line=2, source=source("def f(x):", line))
    found = clues([failure(raised(type, frames=[at]))])[SRC, "f"]
    assert (found.refused, found.raised, found.line) == (refused, 1 - refused, 1)


@pytest.mark.parametrize(
    ("exc", "expected"),
    [
        (raised("OSError", frames=[frame(CONFTEST, "db", 4)]), {(CONFTEST, "db"): 1}),
        (raised("OSError", frames=[frame(CONFTEST, "db", 4), frame()]), {(SRC, "total"): 1}),
        (raised("AssertionError", frames=[frame(CONFTEST, "db", 4)]), {}),
        (raised("OSError", frames=[in_test()]), {}),
        (raised("ImportError", frames=[frame(CONFTEST, "<module>", 4)]), {}),
    ],
)
def test_test_code_counts_where_it_raised_the_exception(exc, expected):
    """But not the failing test itself, the body of a module, nor a helper that asserts."""
    assert {name: clue.raised for name, clue in clues([failure(exc, NODEID)]).items()} == expected


def test_a_lambda_is_part_of_the_function_around_it():
    found = clues([failure(raised(frames=[frame(function="f.<locals>.<lambda>"), frame(function="f")]))])
    assert list(found) == [(SRC, "f")]


def test_a_lambda_outside_of_functions_is_at_its_line_not_where_its_source_begins():
    at = frame(function="<lambda>", line=6, source=source("def above():", "    return 1", start=1))
    found = clues([failure(raised(frames=[at]))])[SRC, "<lambda>"]
    assert (found.line, found.at) == (0, 6)
