import pytest
from loops import edits, known, loop, step
from records import SRC, TEST, failure, frame, in_test, origin, raised, source, verdict

from loop_close.causes.clues import clues
from loop_close.facts import base_name
from loop_close.records import Edit

NODEID = f"{TEST}::test_total"


@pytest.mark.parametrize(
    ("function", "name"),
    [
        ("total", "total"),
        ("Cart.total", "Cart.total"),
        ("<lambda>", "<lambda>"),
        ("<module>", "<module>"),
        ("total.<locals>.inner", "total.<locals>.inner"),
        ("total.<locals>.<lambda>", "total"),
        ("total.<locals>.<genexpr>.<locals>.<lambda>", "total"),
        ("total.<locals>.inner.<locals>.<listcomp>", "total.<locals>.inner"),
    ],
)
def test_base_name(function, name):
    assert base_name(function) == name


def test_a_verdict_has_only_what_it_judged():
    found = clues([failure(verdict(origin("total"), origin("helper", TEST)))])
    assert list(found) == [(SRC, "total")]
    assert (found[SRC, "total"].judged, found[SRC, "total"].framed, found[SRC, "total"].line) == (1, 0, 8)


def test_nothing_was_judged_where_no_exception_came():
    exc = raised("Failed", "DID NOT RAISE ValueError", frames=[in_test()], site=verdict(origin("total")).site)
    assert clues([failure(exc)]) == {}


def test_frames_count_by_their_distance():
    frames = [in_test(), frame(function="outer", line=3), frame(function="inner", line=9)]
    found = clues([failure(raised(frames=frames))])
    assert (found[SRC, "inner"].framed, found[SRC, "outer"].framed) == (1, 0.5)
    assert (found[SRC, "inner"].raised, found[SRC, "outer"].raised) == (1, 0)
    assert (found[SRC, "inner"].at, found[SRC, "inner"].line) == (9, 0)


def test_a_helper_that_only_hands_on_did_not_raise_it():
    frames = [in_test(), frame(function="pay"), frame(function="fail", is_handing_on=True)]
    found = clues([failure(raised(frames=frames))])
    assert (found[SRC, "pay"].raised, found[SRC, "pay"].framed) == (1, 1)
    assert (found[SRC, "fail"].raised, found[SRC, "fail"].refused, found[SRC, "fail"].framed) == (0, 0, 0.5)
    found = clues([failure(raised(frames=frames[2:]))])
    assert (found[SRC, "fail"].raised, found[SRC, "fail"].refused) == (0, 0)


def test_any_of_a_recursion_without_end_may_have_been_the_last():
    frames = [in_test(), frame(function="outer"), *(frame(function=f) for f in "abababab")]
    found = clues([failure(raised("RecursionError", frames=frames))])
    assert (found[SRC, "a"].raised, found[SRC, "a"].framed) == (1, 1)
    assert (found[SRC, "b"].raised, found[SRC, "b"].framed) == (1, 1)
    assert (found[SRC, "outer"].raised, found[SRC, "outer"].framed) == (0, 0.25)


def test_shares_of_several_failures():
    found = clues([failure(raised(frames=[frame(function="f")])), failure(verdict(origin("g")), nodeid="b")])
    assert (found[SRC, "f"].raised, found[SRC, "g"].judged) == (0.5, 0.5)


@pytest.mark.parametrize(
    ("line", "type", "refused"),
    [
        ("    return 1 / 0", "ZeroDivisionError", 0),
        ("    raise ValueError(x)", "ValueError", 1),
        ("    assert x", "AssertionError", 1),
        ("    raise NotImplementedError", "NotImplementedError", 0),
    ],
)
def test_a_raise_objects_to_what_came_from_elsewhere(line, type, refused):
    at = frame(function="f", line=2, source=source("def f(x):", line))
    found = clues([failure(raised(type, frames=[at]))])
    assert (found[SRC, "f"].refused, found[SRC, "f"].raised, found[SRC, "f"].line) == (
        refused,
        1 - refused,
        1,
    )


def test_a_lambda_is_part_of_what_is_around_it():
    found = clues([failure(raised(frames=[frame(function="f.<locals>.<lambda>"), frame(function="f")]))])
    assert list(found) == [(SRC, "f")]


LOOP = loop(
    step(3, edits=edits(Edit(file=SRC, function="before"))),
    step(
        4,
        edits=edits(
            Edit(file=SRC, function="total"),
            Edit(file=TEST, function="test_total"),
            Edit(file=SRC, function="gone", change="removed"),
            Edit(file=SRC, function="prose", is_effective=False),
            Edit(file="data.json"),
        ),
    ),
    step(5, edits=edits(Edit(file=SRC, function="tried"))),
    failing=[known(NODEID, since=4)],
)


def test_what_was_edited_right_before_it_began():
    found = clues([failure(verdict())], LOOP)
    assert {name: (clue.edited, clue.is_test) for name, clue in found.items()} == {
        (SRC, "total"): (4, False),
        (TEST, "test_total"): (4, True),
    }


def test_a_test_that_the_loop_does_not_know():
    assert clues([failure(verdict(), nodeid="other")], LOOP) == {}


def test_lambda_outside_of_functions_is_at_its_line_not_where_its_source_begins():
    at = frame(function="<lambda>", line=6, source=source("def above():", "    return 1", start=1))
    found = clues([failure(raised(frames=[at]))])[SRC, "<lambda>"]
    assert (found.line, found.at) == (0, 6)
