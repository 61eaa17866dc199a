"""Which sources count: a merge until its sources ran here, a failed installation until its environment did."""

import sys

import pytest

from loop_close.memory import FailureRecord, Run
from loop_close.project_files import runs_environments
from loop_close.store import RunRow
from loop_close.store.runs import RunWindow
from loop_close.union import due, open_merge, superseded

LINUX = f"cpython-3.11-{sys.platform}"
NEW = f"cpython-3.12-{sys.platform}"
FAILED = FailureRecord(test="test_a.py::test_a", exact="e", shape="s")


def asked(merged, **ran):
    """What is left of a merge, by the runs that each source had afterwards: (machine, whether full, whether green)."""
    rows = {"merge": [RunRow(number=1, source="merge", state="done", started=1, ended=2, summary=merged)]}
    runs = {"merge": [Run(number=1, source="merge", marks=(FAILED,))]}
    for name, made in ran.items():
        source = name.replace("__", ":").replace("_", ".")
        rows[source] = [
            RunRow(number=n, source=source, state="done", started=2 + n, ended=3 + n)
            for n in range(1, len(made) + 1)
        ]
        runs[source] = [
            Run(
                number=n,
                source=source,
                interpreter=machine,
                is_full=is_full,
                is_good=is_good,
                marks=() if is_good else (FAILED,),
            )
            for n, (machine, is_full, is_good) in enumerate(made, 1)
        ]
    found = open_merge(rows, rows.__getitem__, runs.__getitem__)
    return None if found is None else {name: why for name, why, _ in found.sources}


def of(*sources):
    return {"sources": [list(each) for each in sources]}


@pytest.mark.parametrize(
    ("outcomes", "machine", "tells", "left"),
    [
        ({"a.py::t": "passed", "a.py::u": "passed"}, LINUX, True, None),
        ({"a.py::t": "passed"}, LINUX, True, "a.py::u failed there and has not passed here since"),
        (
            {"a.py::t": "passed", "a.py::u": "skipped"},
            LINUX,
            True,
            "a.py::u failed there and has not passed here since",
        ),
        ({}, LINUX, True, "a.py::t, a.py::u failed there and have not passed here since"),
        # Only its output is known; a JUnit file may name tests from another folder.
        ({}, LINUX, False, None),
        ({}, "", True, None),
    ],
)
def test_each_test_that_failed_in_a_merge_has_to_pass_here(outcomes, machine, tells, left):
    failed = {"pytest": ["a.py::t", "a.py::u"], "other": ["b.py::t"]}
    summary = {**of(("pytest", "first-failure", machine)), "failed": failed}
    row = RunRow(number=1, source="merge", state="done", started=1, ended=2, summary=summary)
    rows = {
        "merge": [row],
        "pytest": [
            RunRow(number=n, source="pytest", state="done", started=2 + n, ended=3 + n) for n in (1, 2)
        ],
    }
    runs = [
        Run(number=1, source="pytest", is_good=True, outcomes=outcomes, tells_outcomes=tells, passed=2),
        Run(number=2, source="pytest", is_good=True, tells_outcomes=tells, passed=2),
    ]
    found = open_merge(rows, rows.__getitem__, {"merge": [], "pytest": runs}.__getitem__)
    assert (None if found is None else found.sources[0][1].rpartition(": ")[0]) == left
    if found is not None:
        assert {each.id for each in found.absent} == {"a.py::t", "a.py::u"} - {
            test for test, outcome in outcomes.items() if outcome == "passed"
        }
        prints = [each.fingerprint for each in found.absent]
        known = {"merge": [], "pytest": runs}.__getitem__
        assert open_merge(rows, rows.__getitem__, known, prints) is None
        assert open_merge(rows, rows.__getitem__, known, prints[1:]) is not None
    row.summary["failed"] = ["odd"]
    assert open_merge(rows, rows.__getitem__, {"merge": [], "pytest": runs}.__getitem__) is None


ONE = of(("pytest:py311", "first-failure", LINUX))
NOT_RUN, NOT_GREEN = "not run here since", "no green run of all its tests here since"
GREEN = (LINUX, True, True)


@pytest.mark.parametrize(
    ("merged", "ran", "left"),
    [
        (ONE, {}, {"pytest:py311": NOT_RUN}),
        (ONE, {"pytest__py311": [GREEN]}, None),
        (ONE, {"pytest__py311": [(LINUX, True, False)]}, {"pytest:py311": NOT_GREEN}),
        (ONE, {"pytest__py311": [(LINUX, False, True)]}, {"pytest:py311": NOT_GREEN}),
        (ONE, {"pytest__py311": [GREEN, (LINUX, False, True)]}, None),
        (ONE, {"pytest__py311": [GREEN, (LINUX, False, False)]}, {"pytest:py311": NOT_GREEN}),
        # Tests that someone chose, whatever their source is called; and an environment that was skipped.
        (ONE, {"s12": [(LINUX, False, True)]}, {"pytest:py311": NOT_RUN}),
        (of(("s12", "error", LINUX)), {"s12": [(LINUX, False, True)]}, {"s12": NOT_GREEN}),
        (of(("tox:lint", "error", "")), {"tox__lint": [("", False, True)]}, {"tox:lint": NOT_GREEN}),
        # A checker.
        (of(("mypy", "error", "")), {"mypy": [("", True, True)]}, None),
        # The interpreter that failed did not run, whatever the name says.
        (ONE, {"pytest__py311": [(NEW, True, True)]}, {"pytest:py311": NOT_RUN}),
        # It did, under another name; no other source of the merge is of it.
        (ONE, {"pytest": [GREEN]}, None),
        (ONE, {"ruff": [("", True, True)]}, {"pytest:py311": NOT_RUN}),
        (
            of(("pytest:old", "first-failure", LINUX), ("pytest:new", "green", LINUX)),
            {"pytest": [GREEN]},
            {"pytest:old": NOT_RUN},
        ),
        (
            of(("pytest:py311", "error", LINUX), ("pytest:py312", "first-failure", NEW)),
            {"pytest__py312": [(NEW, True, True)]},
            {"pytest:py311": NOT_RUN},
        ),
        # A JUnit file names no interpreter.
        (of(("junit", "first-failure", "")), {"pytest": [GREEN]}, None),
        (of(("py311", "first-failure", ""), ("py312", "green", "")), {"pytest__py311": [GREEN]}, None),
        (of(("py311", "first-failure", "")), {"py311": [(NEW, True, True)]}, {"py311": NOT_RUN}),
        (of(("py311", "first-failure", "")), {"pytest": [(NEW, True, True)]}, {"py311": NOT_RUN}),
        (
            of(("py311", "first-failure", ""), ("py312", "green", "")),
            {"pytest": [GREEN]},
            {"py311": NOT_RUN},
        ),
        (of(("pytest:py311", "green", LINUX)), {}, None),
        ({}, {}, None),
        ({"sources": "pytest"}, {}, None),
        ({"sources": [["pytest", 1, None], ["a"], "b"]}, {}, None),
    ],
)
def test_a_merge_counts_until_its_sources_ran_here(merged, ran, left):
    assert asked(merged, **ran) == left


def test_what_ran_before_the_merge_says_nothing_of_it():
    row = RunRow(number=1, source="merge", state="done", started=5, ended=6, summary=ONE)
    rows = {
        "merge": [row],
        "pytest:py311": [RunRow(number=1, source="pytest:py311", state="done", started=1, ended=2)],
    }
    runs = {"merge": [], "pytest:py311": [Run(number=1, source="pytest:py311", is_good=True)]}
    found = open_merge(rows, rows.__getitem__, runs.__getitem__)
    assert found is not None
    assert found.words == ["pytest:py311: not green in the merged reports, not run here since"]
    row.summary["commands"] = {"pytest:py311": "tox -e py311"}
    found = open_merge(rows, rows.__getitem__, runs.__getitem__)
    assert found is not None
    assert found.words == ["pytest:py311: not green in the merged reports, not run here since: tox -e py311"]
    assert open_merge(["pytest"], rows.__getitem__, runs.__getitem__) is None


@pytest.mark.parametrize(
    ("selection", "collected", "is_open"),
    [
        ("pytest", 2, False),
        ("pytest | --ds=settings", 2, False),
        ("pytest | --ignore=slow", 2, True),
        ("pytest | -o python_files=x.py", 2, True),
        ("pytest | -p no:cacheprovider", 2, False),
        ("pytest | 'cut off", 2, True),
        ("pytest -q test_a.py::test_b", 1, True),
        ("pytest -k a | tests", 1, True),
        ("pytest --lf", 1, True),
        ("checker a::b", 0, False),
    ],
)
def test_output_of_chosen_tests_covers_no_source(selection, collected, is_open):
    """Of a command that is not run by our plugin it is not known that others were left out."""
    row = RunRow(number=1, source="merge", state="done", started=1, ended=2, summary=of(("s12", "error", "")))
    rows = {"merge": [row], "s12": [RunRow(number=1, source="s12", state="done", started=3, ended=4)]}
    run = Run(number=1, source="s12", is_good=True, selection=selection, collected=collected)
    found = open_merge(rows, rows.__getitem__, {"merge": [], "s12": [run]}.__getitem__)
    assert (found is not None) == is_open


def test_of_another_platform_no_command_here_is_told():
    merged = {**of(("pytest", "error", "cpython-3.11-plan9")), "commands": {"pytest": "pytest --loop-close"}}
    assert asked(merged) == {"pytest": "it is of cpython-3.11-plan9: merge newer reports"}


@pytest.mark.parametrize(
    ("last", "gone"),
    [
        ({"tox:py311": (1.0, ["py311"]), "pytest:py311": (2.0, [])}, {"tox:py311"}),
        ({"tox:py311": (1.0, ["py311"]), "pytest:py311:cpython-3.12-linux": (2.0, [])}, {"tox:py311"}),
        ({"tox:py311": (3.0, ["py311"]), "pytest:py311": (2.0, [])}, set()),
        ({"tox:py311": (1.0, []), "pytest:py311": (2.0, [])}, set()),
        ({"tox:py311": (1.0, ["py311"]), "pytest:py312": (2.0, [])}, set()),
        ({"nox": (1.0, ["a", "b"]), "pytest:a": (2.0, [])}, set()),
        ({"nox": (1.0, ["a", "b"]), "pytest:a": (2.0, []), "mypy:b": (3.0, [])}, {"nox"}),
    ],
)
def test_a_failed_installation_counts_until_its_environment_ran(last, gone):
    assert superseded(last) == gone


def looks(*runs):
    """The newest first: ``py311 green 2`` is a green run of all tests on the second state of the files."""
    made = []
    for number, run in enumerate(reversed(runs), 1):
        name, result, state = run.split()
        source = name if name == "pytest" else f"pytest:{name}"
        window = (number * 4_000.0, number * 4_000.0)
        is_full, is_good = result != "part", result in ("green", "part", "skipped")
        made.append(RunWindow(source, number, window, int(state), is_full, is_good, result == "skipped"))
    return made[::-1]


@pytest.mark.parametrize(
    ("runs", "names"),
    [
        ([], ""),
        (["a green 2", "b green 1"], ""),
        # The loop of a: what passed on the files of its first red run, or since, has to pass again.
        (["a green 2", "a red 1", "b green 1"], "a b"),
        (["a green 2", "b green 1", "a red 1"], "a b"),
        (["a green 3", "a red 2", "a red 1", "b green 1"], "a b"),
        (["a green 3", "a part 3", "a part 2", "a red 1", "b green 1"], "a b"),
        # It ran before the loop began, on other files.
        (["a red 2", "b green 1"], ""),
        (["a part 4", "a red 3", "a green 2", "a red 1", "b green 1"], "a"),
        # It ended: all passed on the same files.
        (["a green 2", "a red 1"], ""),
        (["a green 3", "a green 2", "b green 2", "a red 1", "b green 1"], ""),
        (["b green 3", "a green 2", "b green 2", "a red 1", "b green 1"], ""),
        (["a green 3", "b part 3", "a red 1", "b green 1"], "a b"),
        (["a green 3", "b part 3", "b skipped 2", "a red 1", "b skipped 1"], "a b"),
        # A loop within which another one began.
        (["a green 4", "b green 3", "b red 3", "a red 2", "c green 2", "b green 1"], "a b c"),
        (["b green 4", "b red 4", "a red 3", "a red 2", "c green 2", "b green 1"], "b c"),
        # A source without an environment, and one that was skipped.
        (["a green 2", "a red 1", "pytest green 1", "c green 1", "b skipped 1"], "a c"),
        (["pytest green 2", "pytest red 1", "b green 1"], ""),
        (["a red 2", "b green 2"], "b"),
    ],
)
def test_what_was_green_in_a_loop_over_environments_is_due_again(runs, names):
    assert due(looks(*runs)) == {f"pytest:{name}" for name in names.split()}


@pytest.mark.parametrize(
    ("folders", "is_open"),
    [
        ("tests", False),
        ("tests/unit tests/more", False),
        ("tests/unit", True),
        ("te", True),
        ("-p no:x", False),
        ("--odd tests/unit", True),
    ],
)
def test_folders_cover_what_failed_below_them(folders, is_open):
    failed = {"s12": ["tests/unit/test_a.py::t", "tests/more/test_b.py::u"]}
    merged = {**of(("s12", "error", "")), "failed": failed}
    row = RunRow(number=1, source="merge", state="done", started=1, ended=2, summary=merged)
    rows = {"merge": [row], "s12": [RunRow(number=1, source="s12", state="done", started=3, ended=4)]}
    selection = f"pytest | {folders}"
    run = Run(number=1, source="s12", is_good=True, selection=selection, tells_outcomes=False, passed=2)
    found = open_merge(rows, rows.__getitem__, {"merge": [], "s12": [run]}.__getitem__)
    assert (found is not None) == is_open


def test_a_loop_over_environments_is_over_after_a_day():
    *newer, red, other = looks("a part 3", "a red 1", "b green 1")
    newest = newer[0]._replace(window=(200_000.0, 200_000.0))
    assert due([newer[0], red, other]) == {"pytest:a", "pytest:b"}
    assert due([newest, red, other]) == set()


def test_what_passed_shortly_before_a_loop_began_is_part_of_it():
    a, red, b = looks("a part 3", "a red 2", "b green 1")
    assert due([a, red, b]) == {"pytest:a"}
    assert due([a, red, b._replace(window=(7_000.0, 7_000.0))]) == {"pytest:a", "pytest:b"}


def test_an_environment_is_one_whichever_sources_its_runs_are():
    """What was mended in it, or ran by another interpreter, needs no run of its own."""
    a, red, b = looks("a part 3", "a red 1", "b green 1")
    old = b._replace(source="tox:a", window=(1.0, 1.0))
    other = b._replace(source="pytest:a:pypy-3.11-linux", window=(1.0, 1.0))
    assert due([a, red, old, other]) == {"pytest:a"}


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("tox.ini", "", True),
        ("noxfile.py", "", True),
        ("pyproject.toml", "[tool.tox]\n", True),
        ("pyproject.toml", "[project]\n", False),
        ("setup.cfg", "[tox:tox]\n", True),
        ("setup.py", "", False),
    ],
)
def test_environments_that_can_be_run_by_name(tmp_path, name, text, expected):
    (tmp_path / name).write_text(text)
    assert runs_environments(tmp_path) is expected
