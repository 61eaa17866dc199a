"""What a run changes in the loop: sources, output without single tests, runs that did not end."""

import msgspec
import pytest
from histories import PYTEST, did, failure, history, node

from loop_close.loop import fold, is_stuck
from loop_close.records import Counts, Edit, Edits, Run

EDITED = Edits(kind="effective", edits=(Edit(file="src/a.py", function="f"),))


def run(number, *failures, command=("mypy",), outcomes=None, edits=EDITED, **fields):
    fields.setdefault("is_green", not failures)
    fields.setdefault("is_finished", True)
    return Run(
        id=str(number),
        number=number,
        command=command,
        failures=failures,
        outcomes=outcomes or {},
        edits=edits,
        counts=Counts(failed=len(failures)),
        **fields,
    )


def finding(name, source="mypy", **fields):
    return failure(f"a.py::{name}", name, source, phase="check", **fields)


def seen(runs):
    loop = fold(runs)
    return sorted((each.source, each.test.rpartition("::")[2]) for each in loop.failing)


def test_checker_and_environments_are_one_loop():
    old, new = "pytest@cpython-3.11", "pytest@cpython-3.13"
    a, b = node("a"), node("b")
    both = (failure("a", "s", old), failure("a", "s", new), failure("b", "s", new), finding("x"))
    runs = [
        run(
            1,
            *both,
            command=("tox",),
            outcomes={old: {a: "failed", b: "passed"}, new: {a: "failed", b: "failed"}},
        ),
        run(
            2,
            *both[1:],
            command=("tox",),
            outcomes={old: {a: "passed", b: "passed"}, new: {a: "failed", b: "failed"}},
        ),
        run(3, *both[1:3], command=("tox",), outcomes={new: {a: "failed", b: "failed"}, "mypy": {}}),
        run(4, both[2], command=("pytest",), outcomes={new: {a: "passed", b: "failed"}}),
    ]
    assert seen(runs[:2]) == [("mypy", "x"), (new, "a"), (new, "b")]
    loop = fold(runs)
    assert [(step.advanced, step.failing) for step in loop.steps] == [
        ("", 4),
        ("fewest", 3),
        ("fewest", 2),
        ("fewest", 1),
    ]
    assert fold([*runs[:2], run(3, finding("x"))]).steps[-1].not_run == (a, b)


def test_findings_that_the_same_command_no_longer_lists_are_fixed():
    runs = [
        run(1, finding("x"), finding("y"), finding("z")),
        run(2, finding("y"), finding("z")),
        run(3, finding("z")),
        run(4, command=("mypy", "other.py"), scope="other.py"),
    ]
    assert [step.advanced for step in fold(runs).steps] == ["", "fewest", "fewest", ""]
    assert seen(runs) == [("mypy", "z")]
    assert fold([*runs, run(5)]).base == 5


@pytest.mark.parametrize(
    "fields",
    [
        {"incomplete": "the output is cut"},
        {"omitted": 3},
        {"scope": "tests/test_b.py"},
        {"command": ("pytest", "-q")},
        {"is_green": False},
        {"is_green": False, "outcomes": {"other": {}}},
    ],
)
def test_a_run_that_may_not_show_all_clears_nothing(fields):
    first = run(1, failure("a", "s", "docker"), command=("docker", "run"))
    again = run(2, **{"command": ("docker", "run"), **fields})
    assert seen([first, again]) == [("docker", "a")]


def test_a_failure_that_hides_others_clears_none_of_them():
    first = run(1, failure("a", "s", "docker"), command=("make",))
    hidden = run(2, failure("conftest.py", "s", "docker"), command=("make",))
    assert seen([first, hidden]) == [("docker", "a"), ("docker", "conftest.py")]


def test_a_text_that_lists_other_failures_than_the_same_command_before_is_whack_a_mole():
    runs = [run(n, failure(name, name, "docker"), command=("make",)) for n, name in enumerate("abcd", 1)]
    loop = fold(runs)
    assert (loop.stalled, is_stuck(loop)) == (3, True)
    assert loop.steps[-1].broken == (node("d"),)


def test_a_killed_run_is_a_step_that_changes_nothing():
    first, killed, third = history([did("", "a b"), did("", killed=True), did("", "a b", edit="none")])
    before, after = fold([first]), fold([first, killed])
    assert after == msgspec.structs.replace(before, steps=after.steps)
    assert [(step.run, step.is_finished, step.is_attempt) for step in after.steps] == [
        (1, True, False),
        (2, False, False),
    ]
    assert fold([first, killed, third]).steps[-1].is_attempt


def test_the_run_that_was_done_shows_what_had_passed():
    runs = history([did("", done=True), did("", "a", ran="a b")])
    assert [(each.test, each.had_passed, each.since) for each in fold(runs).failing] == [(node("a"), True, 2)]
    assert not fold(runs[1:]).failing[0].had_passed


def test_the_same_tree_is_the_same_code_whatever_is_known_of_edits():
    unknown = Edits()
    passed, failed = (
        {PYTEST: {node("a"): "passed", node("b"): "failed"}},
        {PYTEST: {node("a"): "failed", node("b"): "failed"}},
    )
    b = failure("b", "s")

    def flaky(*trees, environment="e"):
        last = run(
            2, b, failure("a", "s"), outcomes=failed, edits=unknown, tree=trees[1], environment=environment
        )
        return fold([run(1, b, outcomes=passed, edits=unknown, tree=trees[0], environment="e"), last]).flaky

    assert flaky("t", "t") == (node("a"),)
    assert flaky("t", "u") == ()
    assert flaky("", "") == ()
    assert flaky("t", "t", environment="other") == ()


def test_values_are_listed_when_they_change():
    runs = history([did("", {"a": f"s={value}"}) for value in "77566"])
    (test,) = fold(runs).failing
    assert test.values == ((1, "7"), (3, "5"), (4, "6"))
    assert [step.moved for step in fold(runs).steps[1:]] == [(), (node("a"),), (node("a"),), ()]


def test_tests_that_failed_and_are_not_listed_fail():
    outcomes = {PYTEST: {node("a"): "failed", node("b"): "failed"}}
    whole = run(1, failure("a", "s"), command=("pytest",), outcomes=outcomes, omitted=1)
    assert seen([whole]) == [(PYTEST, "a"), (PYTEST, "b")]


def test_checks_on_the_same_files_are_one_step():
    """An edit is tried by all of them: what the last one says of its own tests is not all that became of it."""
    a = failure("a", "s", PYTEST)
    ran = {"tests": {"command": ("pytest",)}, "types": {"command": ("mypy",)}}

    def check(number, name, *failures, tree, edits, **outcomes):
        outcomes = {PYTEST if name == "tests" else "mypy": outcomes}
        return run(number, *failures, check=name, tree=tree, edits=edits, outcomes=outcomes, **ran[name])

    same = Edits(kind="none")
    runs = [
        check(1, "tests", a, tree="1", edits=Edits(), **{node("a"): "failed"}),
        check(2, "types", finding("x"), tree="1", edits=same),
        check(3, "tests", tree="2", edits=EDITED, **{node("a"): "passed"}),
        check(4, "types", finding("x"), tree="2", edits=same),
    ]
    first, second = fold(runs).steps
    assert (first.run, first.broken, first.failing) == (1, ("a.py::x", node("a")), 2)
    assert (second.run, second.edits, second.is_attempt, second.advanced) == (3, EDITED, True, "fewest")
    assert (second.fixed, second.unresolved) == ((node("a"),), ("a.py::x",))
    assert (second.not_run, second.failing) == ((), 1)
    again = fold([*runs, check(5, "types", finding("x"), tree="2", edits=same)])
    assert [step.run for step in again.steps] == [1, 3, 5]
