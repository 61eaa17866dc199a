"""The gate: what the newest result of each check on the present files says, and what it never says."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from loop_close import gate
from loop_close.gate import Facts
from loop_close.records import Objection, OldOutcome, Run, State
from loop_close.settings import Settings
from loop_close.store import Store
from loop_close.tree import Tree

CHECKS = ("tests", "types")
NOW = Tree(digest="now", files={}, stamps={})


def result(number: int, check: str = "tests", **more: Any) -> Run:
    """A green result on the present files."""
    run = Run(
        id=str(number),
        number=number,
        check=check,
        programs=("/py",),
        environment="env",
        tree="now",
        tree_after="now",
        exit_code=0,
        is_finished=True,
        is_green=True,
        baseline="old",
    )
    return msgspec.structs.replace(run, **more)


def judged(runs: Sequence[Run], checks: tuple[str, ...], against: Any) -> State:
    targets: Any = SimpleNamespace(settings=Settings(checks=dict.fromkeys(checks, "pytest")))
    facts = Facts(targets, NOW, runs, against)
    return gate.judge(facts, lambda programs: "env" if [*programs] == ["/py"] else "")


def baseline(digest: str = "old", **functions: tuple[str, ...]) -> Any:
    return SimpleNamespace(digest=digest, functions=functions, accepted=())


@pytest.fixture
def differing(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The test files that differ from the baseline; to be filled."""
    found: list[str] = []
    monkeypatch.setattr(gate.baselines, "differing", lambda baseline, tree: tuple(found), raising=False)
    return found


@pytest.mark.usefixtures("differing")
class TestJudge:
    """By the newest result of each check on the present tree and environment."""

    def judge(self, *runs: Run, checks: tuple[str, ...] = CHECKS[:1], against: Any = None) -> State:
        return judged(runs, checks, against or baseline())

    def test_done_if_every_check_is_green(self) -> None:
        runs = (result(1), result(2, "types"))
        assert self.judge(*runs, checks=CHECKS).verdict == "done"
        assert self.judge(runs[0], checks=CHECKS).verdict == "unknown"

    def test_plain_runs_release_nothing(self) -> None:
        assert self.judge(result(1, check="")).verdict == "unknown"

    def test_the_newest_result_decides(self) -> None:
        assert self.judge(result(1), result(2, is_green=False, exit_code=1)).verdict == "failing"
        assert self.judge(result(1, is_green=False, exit_code=1), result(2)).verdict == "done"

    @pytest.mark.parametrize(
        ("more", "reason"),
        [
            ({"tree": "then", "tree_after": "then"}, "no result on these files"),
            ({"tree_after": "then"}, "no result on these files"),
            (
                {"changed": ("calc.py",)},
                "its last run counts for nothing; changed while it ran: calc.py",
            ),
            ({"is_finished": False}, "its last run did not end"),
            ({"exit_code": None}, "its last run did not end"),
            ({"environment": "another"}, "the environment changed since it ran"),
            ({"programs": ("/gone",)}, "the environment changed since it ran"),
        ],
    )
    def test_what_is_no_result_is_unknown_and_says_why(self, more: dict[str, Any], reason: str) -> None:
        state = self.judge(result(1, **more))
        assert (state.verdict, state.command) == ("unknown", "loop-close check")
        assert reason in state.reason

    def test_a_void_run_does_not_take_a_result_away(self) -> None:
        assert self.judge(result(1), result(2, changed=("out.csv",))).verdict == "done"

    def test_a_result_of_an_environment_that_changed_hides_older_ones(self) -> None:
        assert self.judge(result(1), result(2, environment="another")).verdict == "unknown"

    def test_failing_comes_before_unknown(self) -> None:
        assert self.judge(result(1, is_green=False, exit_code=1), checks=CHECKS).verdict == "failing"

    def test_an_objection_is_not_done(self, differing: list[str]) -> None:
        differing.append("tests/test_calc.py")
        old = OldOutcome(test="tests/test_calc.py::test_add", outcome="failed")
        objection = Objection(files=("tests/test_calc.py",), tests=(old,))
        state = self.judge(result(1, objection=objection))
        assert (state.verdict, state.checks[0].objection) == ("objected", objection)
        assert self.judge(result(1)).verdict == "done"  # the old tests ran, and pass

    def test_another_baseline_asks_again_only_if_the_tests_are_not_its_own(
        self, differing: list[str]
    ) -> None:
        outcomes = {"pytest": {"test_a.py::test_add[1]": "passed", "test_a.py::test_gone": "skipped"}}
        runs = [result(1, outcomes=outcomes)]
        assert self.judge(*runs, against=baseline("new", tests=("test_a.py::test_add",))).verdict == "done"
        assert (
            self.judge(*runs, against=baseline("new", tests=("test_a.py::test_gone",))).verdict == "unknown"
        )
        differing.append("conftest.py")
        assert self.judge(*runs, against=baseline("new")).verdict == "unknown"

    def test_a_baseline_that_is_gone_is_unknown(self) -> None:
        assert judged([result(1)], CHECKS[:1], None).verdict == "unknown"


class TestState:
    """Whatever is wrong, the answer is unknown and names the command."""

    @pytest.fixture
    def root(self, tmp_path: Path) -> Path:
        (tmp_path / "pyproject.toml").touch()
        return tmp_path

    def reason(self, root: Path) -> str:
        state = gate.state(root)
        assert (state.verdict, state.command) == ("unknown", "loop-close check")
        return state.reason

    def test_no_history(self, root: Path) -> None:
        assert self.reason(root) == "no check has run in this project"
        assert not (root / ".loop-close").exists()

    def test_a_damaged_history(self, root: Path) -> None:
        (root / ".loop-close").mkdir()
        (root / ".loop-close" / "history.sqlite3").write_bytes(b"garbage" * 1000)
        assert "history" in self.reason(root)

    def test_no_result_in_it(self, root: Path) -> None:
        (root / ".loop-close").mkdir()
        with Store(root / ".loop-close" / "history.sqlite3") as store:
            store.begin(Run(id="1"))
        assert self.reason(root) == "tests: loop-close check has not run it"

    @pytest.mark.parametrize(
        ("line", "reason"),
        [
            ("history = 'off'", "no result can be kept"),
            ("checks = 3", "must be a table"),
            ("x = [", "pyproject"),
        ],
    )
    def test_settings_that_would_switch_it_off(self, root: Path, line: str, reason: str) -> None:
        (root / "pyproject.toml").write_text(f"[tool.loop-close]\n{line}\n", encoding="utf-8")
        assert reason in self.reason(root)

    def test_a_fault_of_ours(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(gate, "facts_of", lambda root: 1 // 0)
        assert "internal error of loop-close: ZeroDivisionError" in self.reason(root)

    def test_a_file_that_we_did_not_write_counts_whatever_the_settings_name(self, root: Path) -> None:
        (root / "pyproject.toml").write_text("[tool.loop-close]\njson = 'rules.json'\n", encoding="utf-8")
        (root / "rules.json").write_text("3", encoding="utf-8")
        before = gate.tree_digest(root)
        (root / "rules.json").write_text("4", encoding="utf-8")
        assert gate.tree_digest(root) != before

    def test_a_root_that_is_gone(self, root: Path) -> None:
        self.reason(root / "gone")
