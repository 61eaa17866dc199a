"""What the hook answers by what the gate says: a table, and that it always ends."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop_close.hook import MOST_BLOCKS, Session, answer
from loop_close.records import CheckState, FailingTest, FailureRecord, Loop, Objection, OldOutcome, State

DONE = State(verdict="done", reason="green on these files: tests")
FAILING = State(verdict="failing", reason="tests: 1 failed", command="loop-close check")
UNKNOWN = State(
    verdict="unknown", reason="tests: loop-close check has not run it", command="loop-close check"
)
STUCK = State(verdict="stuck", reason="3 attempts in a row did not advance")
PROMPT = "# 1 test fails\n\nfacts"


def objected(diff="-    assert total([1, 2]) == 3"):
    old = OldOutcome(test="test_shop.py::test_total", outcome="failed", reason="AssertionError")
    objection = Objection(files=("test_shop.py",), tests=(old,), diff=diff)
    check = CheckState(name="tests", verdict="objected", objection=objection)
    return State(verdict="objected", reason="tests: the tests changed", checks=(check,))


def failing(*names):
    return Loop(
        failing=tuple(
            FailingTest(record=FailureRecord(source="pytest", test=name), since=1, ran=1) for name in names
        )
    )


def asked(state, session=None, *, loop=None, tree="t1", again=False):
    loop = failing("test_a") if loop is None else loop
    return answer(state, loop, session or Session(), tree, PROMPT, file="nextprompt.md", is_again=again)


@pytest.mark.parametrize(
    ("state", "session", "kind", "begins"),
    [
        (DONE, Session(), "nothing", ""),
        (FAILING, Session(), "go_on", "Not done: tests: 1 failed\n\n# 1 test fails\n"),
        (UNKNOWN, Session(), "go_on", "Not done: tests: loop-close check has not run it\n\nTo see whether"),
        (objected(), Session(), "go_on", "Not done: tests: the tests changed\n\n"),
        (STUCK, Session(), "end", "NOT done: 3 attempts in a row did not advance\n"),
        (FAILING, Session(blocks=MOST_BLOCKS, fewest=1), "end", "NOT done: tests: 1 failed\n"),
        (FAILING, Session(blocks=MOST_BLOCKS, fewest=2), "go_on", "Not done: "),
        (FAILING, Session(before=("pytest test_a",), shown=("before",)), "end", "NOT done: "),
        (FAILING, Session(before=("pytest test_b",), shown=("before",)), "go_on", "Not done: "),
        (UNKNOWN, Session(before=("pytest test_a",), shown=("before",)), "go_on", "Not done: "),
    ],
)
def test_answers(state, session, kind, begins):
    reply, _ = asked(state, session)
    assert reply.kind == kind
    assert reply.text.startswith(begins)


def test_what_tests_say_without_the_change_is_told_to_a_person_once_a_tree():
    def told(session, tree="t1"):
        return answer(
            DONE, Loop(), session, tree, PROMPT, file="nextprompt.md", is_again=False, undo=["all 2 pass"]
        )

    reply, after = told(Session(blocks=2))
    assert reply == ("end", "Done: green on these files: tests\nall 2 pass")
    assert told(after)[0].kind == "nothing"
    assert told(after, "t2")[0].kind == "end"


def test_who_edited_nothing_since_is_let_go():
    reply, session = asked(FAILING)
    assert reply.kind == "go_on"
    assert asked(FAILING, session, again=True)[0].kind == "end"
    assert asked(FAILING, session, again=True, tree="t2")[0].kind == "go_on"
    assert asked(FAILING, session)[0].kind == "go_on"  # a new turn of the person


@pytest.mark.parametrize("again", [True, False])
def test_it_asks_to_run_the_checks_once_a_tree(again):
    _, session = asked(UNKNOWN)
    assert asked(UNKNOWN, session, again=again)[0].kind == "end"
    assert asked(UNKNOWN, session, tree="t2", again=again)[0].kind == "go_on"


def test_what_the_checks_then_say_is_told_on_the_same_tree():
    _, session = asked(UNKNOWN)
    assert asked(FAILING, session, again=True)[0].kind == "go_on"


def test_an_objection_is_told_once_with_its_tests_and_diff():
    reply, session = asked(objected(), loop=Loop())
    assert "test_shop.py::test_total" in reply.text
    assert "-    assert total([1, 2]) == 3" in reply.text
    assert "loop-close accept" in reply.text
    assert asked(objected(), session, loop=Loop(), tree="t2")[0].kind == "end"
    assert asked(objected("-    assert other()"), session, loop=Loop())[0].kind == "go_on"


def test_fewer_failing_tests_than_ever_are_progress():
    session, kinds = Session(), []
    for number, count in enumerate([9, 8, 7, 6, 5, 4, 3, 2, 1, 2, 2, 2, 2, 2]):
        loop = failing(*(f"test_{each}" for each in range(count)))
        reply, session = asked(FAILING, session, loop=loop, tree=str(number), again=True)
        kinds.append(reply.kind)
    assert kinds == ["go_on"] * 13 + ["end"]


STATES = st.sampled_from([FAILING, UNKNOWN, STUCK, objected(), objected("+1")])


@given(st.lists(st.tuples(STATES, st.text("ab", max_size=2), st.booleans(), st.sets(st.sampled_from("xyz")))))
def test_it_never_blocks_for_ever(turns):
    session, in_a_row, fewest = Session(), 0, None
    for state, tree, again, names in turns:
        loop = failing(*names)
        reply, session = asked(state, session, loop=loop, tree=tree, again=again)
        in_a_row = 0 if fewest is not None and len(names) < fewest else in_a_row
        fewest = len(names) if fewest is None or reply.kind == "end" else min(fewest, len(names))
        in_a_row = in_a_row + 1 if reply.kind == "go_on" else 0
        assert in_a_row <= MOST_BLOCKS
        assert msgspec.json.decode(msgspec.json.encode(session), type=Session) == session
