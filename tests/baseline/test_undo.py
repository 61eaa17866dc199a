"""The present tests without the change, in copies of small real projects."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import structs
from small_project import BROKEN, FLAT, SHOP, TESTS, Project

from loop_close.baseline import undo
from loop_close.baseline.undo import Undo, Without
from loop_close.calls import Called, Calls
from loop_close.records import Run
from loop_close.store import Store

pytestmark = pytest.mark.slow  # each test runs pytest twice or more

TOTAL = "tests/test_shop.py::test_total"


class Edited(Project):
    """A project that was done with its first files; runs of it are kept beside it."""

    def __init__(self, root: Path, files: dict[str, str]) -> None:
        super().__init__(root, files)
        self.history = root.parent / "history.sqlite3"
        self.keep(Run(id="first", is_done=True))

    def keep(self, run: Run) -> Run:
        tree = self.tree()
        run = structs.replace(run, tree=tree.digest, tree_after=tree.digest)
        with Store(self.history) as store:
            store.keep_files(self.root, tree)
            run = structs.replace(run, number=store.begin(run))
            store.finish(run)
        return run

    def known(self, test: str) -> None:
        """One of its passing tests is known to have run the function of the shop."""
        called = Called(file="shop.py", line=1, function="total", digest="x", passed=1, guards=(test,))
        with Store(self.history) as store:
            store.keep_calls("pytest", Calls(passed=1, functions=(called,)), [test])

    def ask(
        self, files: dict[str, str | None], *others: Run, seconds: float = 9.0, longest: float = 60.0
    ) -> Undo:
        """The facts after an edit with which the tests pass."""
        self.write(files).check()
        assert self.context is not None
        run = self.keep(structs.replace(self.run, contexts=(self.context,), seconds=seconds, is_done=True))
        found = undo.ask(self.root, self.history, self.tree(), [run, *others], longest=longest)
        assert found.run == 1
        return found


@pytest.fixture
def project(tmp_path: Path) -> Edited:
    return Edited(tmp_path / "shop", {**FLAT, "shop.py": BROKEN})


def test_a_test_that_fails_without_the_change_is_named(project: Edited) -> None:
    found = project.ask({"shop.py": SHOP})
    assert found.found == (Without(files=("shop.py",), ran=2, failing=1, failed=(TOTAL,)),)
    assert undo.lines_of(found) == [
        "Product code as it was in run 1, with the present tests:",
        f"- without the change in `shop.py` 1 of 2 tests fails: `{TOTAL}`",
    ]
    assert (project.root / "shop.py").read_text() == SHOP


def test_a_change_that_no_test_notices_is_said_with_the_number_of_tests(project: Edited) -> None:
    found = project.ask(
        {
            "shop.py": f"{BROKEN}\n\ndef tax():\n    return 1\n",
            "tests/test_shop.py": TESTS.replace("== 3", "== 0"),
        }
    )
    assert undo.lines_of(found)[1:] == ["- without the change in `shop.py` all 2 tests that ran pass"]


@pytest.mark.parametrize(
    "edit",
    [
        {"shop.py": f'"""The shop."""\n# It sells.\n{SHOP}'},
        {"tests/test_shop.py": TESTS.replace("== 3", ">= 3")},
        {"prices.json": "{}"},
        {"conftest.py": "x = 1\n"},
    ],
    ids=lambda edit: next(iter(edit)),
)  # fmt: skip
def test_only_effective_edits_of_product_code_count(tmp_path: Path, edit: dict[str, str | None]) -> None:
    found = Edited(tmp_path / "shop", FLAT).ask(edit)
    assert undo.lines_of(found) == [
        "No product code was edited since run 1, but for comments, formatting and docstrings."
    ]


def test_each_file_by_itself_and_all_together(project: Edited) -> None:
    more = "from tax import rate\n\n\ndef test_rate():\n    assert rate() == 2\n"
    found = project.ask({"shop.py": SHOP, "tax.py": "def rate():\n    return 2\n", "tests/test_tax.py": more})
    whole = Without(files=("shop.py", "tax.py"), ran=2, failing=1, failed=(TOTAL,), absent=1)
    assert found.found == (
        structs.replace(whole, uncollected=("tests/test_tax.py",)),
        Without(files=("shop.py",), ran=3, failing=1, failed=(TOTAL,)),
        Without(files=("tax.py",), ran=2, uncollected=("tests/test_tax.py",), absent=1),
    )
    assert undo.lines_of(found)[3] == (
        "- without the change in `tax.py` cannot be collected: `tests/test_tax.py`; all 2 tests that ran pass;"
        " 1 test function did not run"
    )


def test_a_file_that_was_removed_is_there_again(tmp_path: Path) -> None:
    test = "import importlib.util\n\n\ndef test_gone():\n    assert importlib.util.find_spec('old') is None\n"
    project = Edited(tmp_path / "shop", {**FLAT, "old.py": "x = 1\n"})
    found = project.ask({"old.py": None, "tests/test_gone.py": test})
    assert found.found[0].failed == ("tests/test_gone.py::test_gone",)


def test_what_fails_in_any_copy_is_not_counted(project: Edited) -> None:
    test = "def test_here():\n    assert '/copy/' not in __file__\n"
    found = project.ask({"shop.py": SHOP, "tests/test_here.py": test})
    assert found.found == (Without(files=("shop.py",), ran=2, failing=1, failed=(TOTAL,), apart=1),)
    assert undo.lines_of(found)[1].endswith(
        f"`{TOTAL}`; not counted are 1 that do not pass in a copy with the change either"
    )


def test_what_cannot_be_isolated_is_said(project: Edited) -> None:
    test = f"def test_out():\n    open({str(project.root / 'out.txt')!r}, 'w').close()\n"
    found = project.ask({"shop.py": SHOP, "tests/test_out.py": test})
    assert undo.lines_of(found)[1] == (
        "- without the change in `shop.py` it is not known what the tests say"
        " (`they write into the project: out.txt`)"
    )


def test_without_time_it_is_said_and_asked_again_with_more(project: Edited) -> None:
    found = project.ask({"shop.py": SHOP}, longest=1e-9)
    assert [each.reason for each in found.found] == ["there was no time for each of them alone"]
    undo.keep(project.root, found)
    assert project.ask({}).found[0].failing == 1


def test_what_is_kept_for_the_files_is_not_asked_again(project: Edited) -> None:
    made = Undo(tree=project.write({"shop.py": SHOP}).tree().digest, run=1, seconds=60.0)
    undo.keep(project.root, made)
    assert undo.kept(project.root, made.tree) == made
    assert project.ask({}) == made
    assert project.ask({"tax.py": "x = 1\n"}).found


def test_of_a_long_check_those_tests_run_first_that_are_known_to_run_what_was_edited(project: Edited) -> None:
    edit = {"shop.py": SHOP, "tax.py": "x = 1\n"}
    found = project.ask(edit, seconds=100.0)
    assert {each.reason for each in found.found} == {
        "no test is known to have run what was edited, and all take too long"
    }
    project.known(TOTAL)
    found = project.ask(edit, seconds=100.0)
    noticed = Without(files=("shop.py",), is_chosen=True, ran=1, failing=1, failed=(TOTAL,))
    assert found.found[:2] == (structs.replace(noticed, files=("shop.py", "tax.py")), noticed)
    assert found.found[2].reason
    assert undo.lines_of(found)[2].endswith("; only tests ran that are known to have run what was edited")


def test_if_none_of_those_notices_and_there_is_time_all_run(project: Edited) -> None:
    project.known("tests/test_shop.py::test_empty")
    found = project.ask({"shop.py": SHOP}, seconds=15.0)
    assert found.found == (Without(files=("shop.py",), ran=2, failing=1, failed=(TOTAL,)),)


def test_a_check_without_a_pytest_is_left_out_and_named(project: Edited) -> None:
    types = Run(id="types", check="types", number=2)
    assert (
        undo.lines_of(project.ask({"shop.py": SHOP}, types))[-1]
        == "- left out, as no pytest reported: `types`"
    )
    found = undo.ask(project.root, project.history, project.tree(), [types])
    assert undo.lines_of(found)[0] == (
        "What the tests say without the change is not known: there is no check whose pytest reported."
    )


def test_without_an_earlier_state_nothing_is_known(tmp_path: Path) -> None:
    project = Edited(tmp_path / "shop", FLAT)
    project.check()
    assert project.context is not None
    first = Run(id="first", number=1, contexts=(project.context,))
    found = undo.ask(project.root, project.history, project.tree(), [first])
    assert found.reason == "no earlier state of the files is kept"
