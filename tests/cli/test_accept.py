"""``loop-close accept``: what was done to tests is shown, and accepted by a person."""

import json
from dataclasses import replace

import pytest
from remembered import START, begin, called, document, opened, run_of

from loop_close.cli import driven_tests
from loop_close.memory import ChangedTest
from loop_close.model import Observation
from loop_close.progress.advance import advance, summary_of, verdict_of

GONE = ChangedTest(file="test_a.py", test="test_b", kind="deleted", what="the test is gone", fingerprint="f1")
LESS = ChangedTest(
    file="tests/test_c.py",
    test="TestC.test_d",
    kind="weakened",
    what="returns before its assertion",
    before="    assert f() == 1",
    after="    return\n    assert f() == 1",
    fingerprint="f2",
)


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def remember(root, *changes):
    """A red run, and a green one before which that was done to tests."""
    with opened(root) as history:
        for number, failing in enumerate(("a", "")):
            begun = begin(history, "pytest", 10.0 * number)
            run = run_of(begun, failing, "effective")
            run = replace(run, tests=() if failing else changes, is_compared=True)
            with history.transaction(begun) as transaction:
                made = advance(transaction.episode, run)
                alone = "first-failure" if failing else "green"
                report = Report(made.progress, verdict_of(made.progress, alone))
                transaction.save(run, made.episode, summary_of(report), now=START + 10 * number + 5)


class Report:
    stall_reason, edits_run, green_run, observation, causes = "", None, 0, Observation(), ()

    def __init__(self, progress, verdict):
        self.progress, self.verdict = progress, verdict


def test_changes_are_shown_with_their_diffs(tmp_path):
    remember(tmp_path, GONE, LESS)
    assert called("status")[0] == 1
    code, shown, errors = called("accept")
    assert (code, errors) == (1, "")
    assert shown == (
        "deleted: test_a.py::test_b: the test is gone\n"
        "weakened: tests/test_c.py::TestC::test_d: returns before its assertion\n"
        "    +    return\n"
        "to accept: loop-close accept TEST..., or --all\n"
    )
    code, found = document("accept")
    assert [(each["test"], each["state"]) for each in found["test_changes"]] == [
        ("test_b", "open"),
        ("TestC.test_d", "open"),
    ]


def test_what_was_accepted_is_open_no_more(tmp_path):
    remember(tmp_path, GONE, LESS)
    assert called("accept", "test_a.py::test_b") == (
        0,
        "accepted: deleted: test_a.py::test_b: the test is gone\n",
        "",
    )
    assert called("status")[0] == 1
    assert called("accept", "tests/test_c.py")[0] == 0
    code, shown, _ = called("status")
    assert (code, shown) == (0, "pytest: green in run 2\n")
    assert called("accept") == (0, "no test was changed since the loop began\n", "")
    with opened(tmp_path) as history:
        assert {name: each["id"] for name, each in history.accepted().items()} == {
            "f1": "test_a.py::test_b",
            "f2": "tests/test_c.py::TestC::test_d",
        }


def test_all_changes_are_accepted_at_once(tmp_path):
    remember(tmp_path, GONE, replace(LESS, state="asked"))
    assert called("accept", "--all")[1].count("accepted: ") == 2
    assert called("status")[0] == 0


def test_test_that_was_not_changed_is_wrong_usage(tmp_path):
    remember(tmp_path, GONE)
    code, _, errors = called("accept", "test_a.py::test_x")
    assert (code, errors) == (
        64,
        "loop-close: test_a.py::test_x is not among the changed tests: test_a.py::test_b\n",
    )


def test_where_no_run_is_known_nothing_is_said_of_tests(tmp_path):
    code, shown, errors = called("accept")
    assert (code, shown) == (64, "")
    assert errors.startswith("loop-close: no runs recorded")


def test_nothing_to_accept(tmp_path):
    remember(tmp_path)
    assert called("accept") == (0, "no test was changed since the loop began\n", "")
    assert called("accept", "--all") == (0, "no test was changed since the loop began\n", "")


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("LOOP_CLOSE_INSIDE", "drive", "accept is refused while loop-close drive is at work here"),
        ("LOOP_CLOSE_INSIDE", "hook", "accept is refused while a hook is at work here"),
        ("CLAUDECODE", "1", "accept is refused in the shell of an agent, claude (CLAUDECODE is set)"),
        ("AI_AGENT", "1", "accept is refused in the shell of an agent (AI_AGENT is set)"),
        ("COPILOT_CLI", "1", "accept is refused in the shell of an agent, copilot (COPILOT_CLI is set)"),
    ],
)
def test_where_an_agent_is_at_work_it_is_refused(tmp_path, monkeypatch, name, value, said):
    remember(tmp_path, GONE)
    monkeypatch.setenv(name, value)
    code, _, errors = called("accept", "--all")
    assert (code, said in errors) == (64, True)
    assert called("accept")[0] == 1  # to look is nobody's harm


def test_driver_at_work_is_known_without_its_variable(tmp_path):
    """An agent may drop the variable, and remove the project's state."""
    remember(tmp_path, GONE)
    tests = driven_tests.begin(tmp_path)
    assert tests.keep(is_running=True)
    assert called("accept", "--all")[0] == 64
    assert tests.keep(is_running=False)
    assert called("accept", "--all")[0] == 0


def test_what_a_driver_left_is_accepted_for_the_next_one(tmp_path):
    (tmp_path / "test_a.py").write_text("def test_b():\n    assert 1 == 1\n")
    tests = driven_tests.begin(tmp_path)
    (tmp_path / "test_a.py").write_text("X = 1\n")
    tests.judge()
    tests.keep(is_running=False)
    assert [each.id for each in driven_tests.left_open(tmp_path)] == ["test_a.py::test_b"]
    assert called("accept", "--all")[0] == 0
    assert driven_tests.left_open(tmp_path) == ()
    assert [each.state for each in driven_tests.kept(tmp_path).judge()] == ["accepted"]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": "x"}', json.dumps({"changes": [1], "tests": 3})])
def test_damaged_file_of_a_driver_is_ignored(tmp_path, text):
    path = driven_tests.path_of(tmp_path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    assert driven_tests.kept(tmp_path) is None
    assert driven_tests.left_open(tmp_path) == ()
    assert not driven_tests.is_driven(tmp_path)
