import shlex
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from records import TEST, any_text, failure, hostile, observed, raised

from loop_close.model import Provenance
from loop_close.prompt import safe
from loop_close.prompt.place import (
    command_for,
    rerun_command,
    rerun_commands,
    rerun_of_source,
    selected_tests,
)
from loop_close.text import sanitize

START = ["pytest", "--loop-close"]
BY_OPTION = ["pytest", "--loop-close-failed"]
HAS_OPTION = {"failed_option": "--loop-close-failed"}


def words(*nodeids, **fields):
    found = [failure(None, n) for n in nodeids]
    return shlex.split(rerun_command(observed(*found, **fields)))


@pytest.mark.parametrize(
    ("nodeids", "expected"),
    [
        ([], []),
        ([""], []),
        (["t.py::a"], ["t.py::a"]),
        (["t.py::b", "t.py::a", "t.py::b"], ["t.py::a", "t.py::b"]),
        (["tests/test_a.py"], ["tests/test_a.py"]),
        (["t.py::a[1]", "t.py::a[2]"], ["t.py::a[1]", "t.py::a[2]"]),
        # what a shell would read otherwise
        (["t.py::a[$(touch pwned)]"], ["t.py::a[$(touch pwned)]"]),
        (["t.py::a[`id`]"], ["t.py::a[`id`]"]),
        (["t.py::a['\"; rm -rf / #]"], ["t.py::a['\"; rm -rf / #]"]),
        (["t.py::a[a b\\n*?~!&|<>]"], ["t.py::a[a b\\n*?~!&|<>]"]),
        (["with space/t.py::a"], ["with space/t.py::a"]),
        (["t.py::a[é 漢字]"], ["t.py::a[é 漢字]"]),
        # what pytest would take for an option, or for a file of arguments
        (["-p evil/t.py::a"], ["./-p evil/t.py::a"]),
        (["--co/t.py::a"], ["./--co/t.py::a"]),
        (["@x/t.py::a"], ["./@x/t.py::a"]),
        # what cannot be shown as it is: the whole function, or the file, or all
        (["t.py::a[x\ny]"], ["t.py::a"]),
        (["t.py::a[\u202e]"], ["t.py::a"]),
        (["t.py::a[\x1b[0m]"], ["t.py::a"]),
        (["t.py::a[password='hunter2hunter2']"], ["t.py::a"]),
        (["t.py::\u200b"], ["t.py"]),
    ],
)
def test_selection(nodeids, expected):
    assert words(*nodeids) == [*START, *expected]


def test_file_that_cannot_be_shown():
    assert words("\u202e.py::a") == START
    assert words("\u202e.py::a", "b.py::a") == START
    assert words("\u202e.py::a", "b.py::a", **HAS_OPTION) == BY_OPTION


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (HAS_OPTION, BY_OPTION),
        ({}, [*START, *(f"tests/test_{n}.py" for n in range(9))]),
        ({"takes_ids": False}, START),
    ],
)
def test_many_tests(fields, expected):
    nodeids = [f"tests/test_{n % 9}.py::test_{n}_with_a_name" for n in range(90)]
    assert words(*nodeids, **fields) == expected


def test_many_cases_of_few_tests():
    nodeids = [f"tests/test_a.py::test_{n % 2}[{'x' * n}]" for n in range(90)]
    assert words(*nodeids) == [*START, "tests/test_a.py::test_0", "tests/test_a.py::test_1"]


def test_many_files_that_nothing_remembers():
    nodeids = [f"tests/a_folder/test_{n}.py::test_x" for n in range(200)]
    assert words(*nodeids) == START


def test_length_is_that_of_the_bytes():
    assert words(*[f"tests/t.py::test_{n}[{'漢' * 30}]" for n in range(4)])[2:] == [
        f"tests/t.py::test_{n}" for n in range(4)
    ]


@pytest.mark.parametrize(
    ("rerun", "expected"),
    [
        (["pytest", "-p", "no:cacheprovider"], ["pytest", "-p", "no:cacheprovider"]),
        (["python", "-m", "pytest", "-o", "a=b c; d"], ["python", "-m", "pytest", "-o", "a=b c; d"]),
        (["pytest", ""], ["pytest", ""]),
        # where one must not be shown, none is: an option without its value is another command
        (["pytest", "--x=\u202e"], START),
        (
            ["python", "-m", "pytest", "--loop-close", "-o", "password=hunter2hunter2"],
            ["python", "-m", *START],
        ),
        (["pytest", "--loop-close", "-p", "x", "a\nb"], START),
        (["\u202e", "--loop-close"], START),
    ],
)
def test_words_of_the_command(rerun, expected):
    assert words("t.py::a", rerun=tuple(rerun)) == [*expected, "t.py::a"]


@settings(max_examples=100)
@given(
    st.lists(st.tuples(any_text, any_text), max_size=4),
    st.lists(hostile, max_size=3),
    st.sampled_from(["", "--loop-close-failed"]),
)
def test_any_ids_and_words(ids, rerun, option):
    found = [failure(None, f"t.py::{function}[{case}]") for function, case in ids]
    sample = observed(*found, rerun=("pytest", *rerun), failed_option=option)
    command = rerun_command(sample)
    assert command == safe(command) == sanitize(command)
    assert "\n" not in command
    got = shlex.split(command)
    given_words = ["pytest", *rerun]
    assert got[: len(given_words)] == given_words or got[:2] in (START, BY_OPTION)
    chosen = [w for w in got if w.startswith("t.py")]
    assert chosen == sorted(set(chosen))
    for nodeid in (f.nodeid for f in found if chosen):
        assert any(nodeid.startswith(word) for word in chosen)
    assert set(selected_tests(sample)) >= {w for w in chosen if "[" in w}


def test_node_ids_do_not_stand_behind_options_that_may_select_tests_themselves():
    rerun = ("pytest", "--loop-close", "--splits", "2", "--group", "2")
    found = words("t.py::a", rerun=rerun, takes_ids=False, **HAS_OPTION)
    assert found == [*BY_OPTION, "--splits", "2", "--group", "2"]


def test_three_of_sixty_cases_are_not_the_whole_function():
    nodeids = [f"tests/test_a.py::test_a_long_name[{'x' * 40}{n}]" for n in range(3)]
    assert words(*nodeids, **HAS_OPTION) == BY_OPTION


@pytest.mark.parametrize(
    ("nodeid", "is_named"),
    [
        ("t.py::T::a[b::c]", True),
        ("t.yml::a[b::c]", True),
        ("t.yml::a::b", False),
        ("t[1]/t.py::a", False),
    ],
)
def test_tests_of_an_earlier_run_are_named_where_that_is_sure_to_select_them(nodeid, is_named):
    found = shlex.split(command_for(observed(**HAS_OPTION), [nodeid]))
    assert found == ([*START, nodeid] if is_named else BY_OPTION)


def test_sources_that_the_same_words_run_share_a_command():
    first = replace(observed(failure(raised(), f"{TEST}::a")), rerun=("pytest", "--loop-close"))
    second = replace(first, failures=(failure(raised(), f"{TEST}::b"),))
    other = replace(first, rerun=("loop-close", "run", "--", "mypy"), failures=(), takes_ids=False)
    assert rerun_commands([first, other, second]) == [
        f"pytest --loop-close {TEST}::a {TEST}::b",
        "loop-close run -- mypy",
    ]


def test_no_command_runs_the_failing_tests_of_another_source():
    def of(source, *nodeids):
        failures = [failure(raised(), nodeid) for nodeid in nodeids]
        rerun = ("python", "-m", "pytest", "--loop-close", "--loop-close-source", source)
        return replace(observed(*failures, **HAS_OPTION), source=source, rerun=rerun)

    old, new = (
        of("pytest:py3.11", "a.py::a", "a.py::b"),
        of("pytest:py3.12", *(f"b.py::{n}" for n in range(99))),
    )
    commands = [
        "python -m pytest --loop-close --loop-close-source pytest:py3.11 a.py::a a.py::b",
        "python -m pytest --loop-close --loop-close-source pytest:py3.12 b.py",
    ]
    assert rerun_commands([old, new]) == commands
    assert [rerun_of_source(each, [old, new]) for each in (old, new)] == commands
    checks = replace(of("mypy"), rerun=("loop-close", "run", "--", "mypy"), takes_ids=False)
    command = "python -m pytest --loop-close-failed --loop-close-source pytest:py3.12"
    assert rerun_commands([new, checks]) == [command, "loop-close run -- mypy"], (
        "the list holds no other tests"
    )
    assert rerun_of_source(new, [new, checks]) == command
    tox = ("tox", "-e", "py", "--", "--loop-close")
    py = replace(new, provenance=Provenance(runner="tox", environment="py"), rerun=tox)
    assert rerun_commands([old, py]) == [commands[0], "tox -e py -- --loop-close-failed"], (
        "it has its own list"
    )
    assert rerun_of_source(py, [old, py]) == "tox -e py -- --loop-close-failed"


def test_environments_of_one_runner_share_a_command():
    def of(name, runner="tox", flag="-e"):
        made = Provenance(runner=runner, environment=name)
        rerun = (runner, flag, name, "--", "--loop-close")
        seen = observed(failure(raised(), f"{TEST}::a"))
        return replace(seen, provenance=made, rerun=rerun, failed_option="--loop-close-failed")

    found = [of("py311"), of("a", "nox", "-s"), of("py312"), of("b", "nox", "-s")]
    assert rerun_commands([*found, replace(found[0], rerun=())]) == [
        "tox -e py311,py312 -- --loop-close-failed",
        "nox -s a b -- --loop-close-failed",
    ]
