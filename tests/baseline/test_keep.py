"""The baseline that is kept: what it has, when it is taken, and that nothing in the project loses it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from small_project import WEAK, Project

from loop_close import baseline
from loop_close.baseline import folder_of, tables_of
from loop_close.baseline.objection import at_head, lines_of_pending, objection_to, pending
from loop_close.records import Run

MODULE = "tests/test_shop.py"
RAN = Run(
    id="a",
    check="tests",
    outcomes={"pytest": {f"{MODULE}::test_total": "passed", f"{MODULE}::test_empty[1]": "failed"}},
)
FUNCTIONS = (f"{MODULE}::test_empty", f"{MODULE}::test_total")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = Project(tmp_path / "shop")
    baseline.take(project.root, project.tree(), [RAN])
    return project


def loaded(project: Project) -> baseline.Baseline:
    found = baseline.load(project.root)
    assert found is not None
    return found


def differing(project: Project) -> tuple[str, ...]:
    return baseline.changed(project.root, loaded(project), project.tree())


def test_what_it_has(project: Project) -> None:
    found = loaded(project)
    assert sorted(found.files) == ["conftest.py", "tests/conftest.py", MODULE]
    assert found.functions == {"tests": FUNCTIONS}
    assert not found.is_held
    assert differing(project) == ()


TOML = "[project]\nname = 'shop'\n\n[tool.pytest.ini_options]\naddopts = '-ra'\n\n[tool.loop-close]\nbudget = 900\n"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({MODULE: WEAK, "tests/gold.txt": "1", "src/x/tests/data/a.json": ""}, [MODULE, "src/x/tests/data/a.json", "tests/gold.txt"]),
        ({"sub/pytest.ini": "", "sitecustomize.py": "", "a.pth": ""}, ["a.pth", "sitecustomize.py", "sub/pytest.ini"]),
        ({"x.dist-info/entry_points.txt": ""}, ["x.dist-info/entry_points.txt"]),
        ({"shop.py": "", "README.md": "", "sub/pyproject.toml": "[project]\n"}, []),
        ({"pyproject.toml": TOML.replace("'shop'", "'x'").replace("900", "800")}, []),
        ({"pyproject.toml": TOML.replace("-ra", "-rA")}, ["pyproject.toml"]),
        ({"pyproject.toml": TOML + "checks = { tests = 'true' }\n"}, ["pyproject.toml"]),
        ({"pyproject.toml": TOML + "checks = { tests = 'pytest', types = 'mypy' }\n"}, []),
        ({"tox.ini": "[testenv]\ndeps = x\n"}, []),
        ({"tox.ini": "[testenv]\ndeps = x\n[pytest]\naddopts = -x\n"}, ["tox.ini"]),
    ],
)  # fmt: skip
def test_what_differs(project: Project, files: dict[str, str], expected: list[str]) -> None:
    project.write({"pyproject.toml": TOML})
    baseline.take(project.root, project.tree(), [])
    assert sorted(differing(project.write(files))) == sorted(expected)


def test_test_modules_with_names_of_their_own(project: Project) -> None:
    for setting in ("check_*.py", "c[h]eck_*.py", "a.py\n    checks/ch*.py"):
        named = {"pytest.ini": f"[pytest]\npython_files = {setting}\n", "checks/check_a.py": "A = 1\n"}
        _is_known(project.write(named))


def _is_known(project: Project) -> None:
    baseline.take(project.root, project.tree(), [])
    assert differing(project.write({"checks/check_a.py": "A = 2\n", "checks/other.py": ""})) == (
        "checks/check_a.py",
    )


def test_it_outlives_the_state_folder_of_the_project(project: Project) -> None:
    shutil.rmtree(project.root / ".loop-close", ignore_errors=True)
    assert loaded(project).functions
    assert not folder_of(project.root).is_relative_to(project.root)


def test_damaged(project: Project) -> None:
    index = folder_of(project.root) / "baseline"
    index.write_bytes(index.read_bytes()[:-3] + b"xyz")
    with pytest.raises(OSError, match="the baseline of the tests is damaged"):
        baseline.load(project.root)


def test_without_a_state_folder_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    project = Project(tmp_path / "shop")
    baseline.take(project.root, project.tree(), [RAN])
    assert loaded(project).functions
    assert (project.root / ".loop-close" / ".gitignore").read_text() == "*\n"


def test_where_it_cannot_be_written_one_that_a_session_holds_counts(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(baseline.os, "access", lambda *_: False)
        assert folder_of(project.root).is_relative_to(project.root)
    baseline.hold(project.root)
    monkeypatch.setattr(baseline.os, "access", lambda *_: False)
    assert not folder_of(project.root).is_relative_to(project.root)
    assert loaded(project).is_held


def test_a_session_holds_it(project: Project) -> None:
    baseline.hold(project.root)
    first = loaded(project)
    assert first.is_held
    assert first.functions == {"tests": FUNCTIONS}
    project.write({MODULE: WEAK})
    baseline.hold(project.root, keeps=True)
    assert loaded(project) == first
    baseline.hold(project.root)
    assert differing(project) == ()
    assert loaded(project).functions == {"tests": ()}  # of a module that changed it is not known


def test_functions_are_learned_from_the_first_run(tmp_path: Path) -> None:
    project = Project(tmp_path / "shop")
    first = baseline.take(project.root, project.tree(), [])
    baseline.note(project.root, first, project.tree(), [RAN], is_open=False)
    learned = loaded(project)
    assert learned.functions == {"tests": FUNCTIONS}
    assert learned.digest == first.digest
    project.write({MODULE: WEAK})
    other = RAN.outcomes["pytest"].keys()
    run = Run(id="b", check="more", outcomes={"pytest": dict.fromkeys(other, "passed")})
    baseline.note(project.root, learned, project.tree(), [run], is_open=False)
    assert loaded(project) == learned


def test_functions_are_learned_while_no_file_differs(tmp_path: Path) -> None:
    """The first run ended early, as with ``-x``."""
    project = Project(tmp_path / "shop")
    baseline.note(
        project.root, baseline.take(project.root, project.tree(), []), project.tree(), [RAN], is_open=False
    )
    later = Run(id="b", check="tests", outcomes={"pytest": {f"{MODULE}::test_more": "passed"}})
    baseline.note(project.root, loaded(project), project.tree(), [later], is_open=False)
    assert loaded(project).functions == {"tests": (FUNCTIONS[0], f"{MODULE}::test_more", FUNCTIONS[1])}


def test_accepting_files(project: Project) -> None:
    project.commit()
    project.write({MODULE: WEAK, "tests/conftest.py": "X = 1\n"})
    files, functions = pending(project.root, project.tree())
    assert files == ("tests/conftest.py", MODULE)
    lines = lines_of_pending(project.root, files, functions)
    assert "0 of 2 equal the last commit" in lines
    assert any("assert total([1, 2]) >= 0" in line for line in lines)
    assert baseline.accept(project.root, project.tree(), [MODULE], [RAN]) == (MODULE,)
    assert differing(project) == ("tests/conftest.py",)
    assert loaded(project).accepted == (MODULE,)
    project.commit()
    assert at_head(project.root, ["tests/conftest.py"]) == 1


def test_accepting_all_accepts_which_tests_run(project: Project) -> None:
    run = Run(id="b", check="tests", outcomes={"pytest": {FUNCTIONS[0]: "passed", FUNCTIONS[1]: "skipped"}})
    assert pending(project.root, project.tree(), [run]) == ((), FUNCTIONS[1:])
    baseline.accept(project.root, project.tree(), (), [run])
    assert loaded(project).functions == {"tests": FUNCTIONS[:1]}


def test_the_commands_of_checks(project: Project) -> None:
    project.write({"pyproject.toml": "[tool.loop-close]\nchecks = { tests = 'make test', types = 'mypy' }\n"})
    found = objection_to(project.root, loaded(project), project.tree(), RAN, [])
    assert found is not None
    assert found.reason == "the checks changed: tests, which was 'pytest', is now 'make test'"
    assert baseline.accept(project.root, project.tree(), differing(project)) == ("pyproject.toml",)
    project.write({"pyproject.toml": "[tool.loop-close]\nchecks = { tests = 'make test' }\n"})
    found = objection_to(project.root, loaded(project), project.tree(), RAN, [])
    assert found is not None
    assert found.reason == "the checks changed: types, which was 'mypy', is gone"


def test_more_checks_are_no_objection(project: Project) -> None:
    project.write({"pyproject.toml": "[tool.loop-close]\nchecks = { tests = 'pytest', types = 'mypy' }\n"})
    run = Run(id="b", check="tests", outcomes={"pytest": dict.fromkeys(FUNCTIONS, "passed")})
    assert objection_to(project.root, loaded(project), project.tree(), run, []) is None


def test_the_content_of_a_large_file_is_not_kept(project: Project) -> None:
    project.write({"tests/data.bin": b"0" * 16_000_001})
    baseline.take(project.root, project.tree(), [RAN])
    project.write({"tests/data.bin": b"1"}).check()
    found = project.objected()
    assert found is not None
    assert found.reason == "the content that tests/data.bin had is not kept"


@pytest.mark.parametrize("text", ["\ufeff[pytest]\naddopts = -k a\n", "#\x0c[pytest]\naddopts = -k a\n"])
def test_tables_begin_where_the_parser_of_pytest_sees_them(text: str) -> None:
    assert tables_of("tox.ini", text.encode()) == "[pytest]\naddopts = -k a"
