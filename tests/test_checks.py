"""Which commands are checks, where a project begins, and what is the environment of a program."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from loop_close.checks import checks_of, environment_of, root_of, variables, words_of
from loop_close.settings import Settings, parse_settings


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def test_checks_are_commands_by_name_and_pytest_without_any() -> None:
    settings = parse_settings({"checks": {"tests": "pytest -k 'a or b'", "types": "mypy src"}})
    assert checks_of(settings) == {"tests": ("pytest", "-k", "a or b"), "types": ("mypy", "src")}
    assert checks_of(Settings()) == {"tests": ("pytest",)}


class TestRoot:
    """The nearest folder with our settings or state, else pytest's configuration, else the repository."""

    @pytest.fixture
    def inner(self, tmp_path: Path) -> Path:
        (tmp_path / "repository" / ".git").mkdir(parents=True)
        inner = tmp_path / "repository" / "packages" / "shop" / "tests"
        inner.mkdir(parents=True)
        return inner

    def test_the_top_of_the_repository(self, inner: Path, tmp_path: Path) -> None:
        (tmp_path / "pytest.ini").touch()  # of another project
        assert root_of(inner) == tmp_path / "repository"

    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("pytest.ini", ""),
            ("tox.ini", "[pytest]\n"),
            ("setup.cfg", "[tool:pytest]\n"),
            ("pyproject.toml", "[tool.pytest.ini_options]\n"),
        ],
    )
    def test_what_configures_pytest(self, inner: Path, name: str, text: str) -> None:
        (inner.parent / name).write_text(text, encoding="utf-8")
        (inner / "pyproject.toml").write_text("[project]\n", encoding="utf-8")
        assert root_of(inner) == inner.parent

    def test_our_settings_and_state_win(self, inner: Path, tmp_path: Path) -> None:
        (inner / "pytest.ini").touch()
        text = "[tool.loop-close]\nbudget = 900\n"
        (tmp_path / "repository" / "pyproject.toml").write_text(text, encoding="utf-8")
        assert root_of(inner) == tmp_path / "repository"
        (inner.parent / ".loop-close").mkdir()
        assert root_of(inner) == inner.parent

    def test_a_folder_alone_is_its_own_root(self, tmp_path: Path) -> None:
        assert root_of(tmp_path) == tmp_path


class TestProgram:
    """The active environment, else the one in the root, else the path, else ours."""

    CHECK = ("pytest", "-q")

    def words(self, root: Path, **environ: str) -> tuple[str, ...]:
        return words_of(self.CHECK, variables(root, environ))

    def test_the_order(self, tmp_path: Path) -> None:
        root, active = tmp_path / "root", tmp_path / "active"
        assert self.words(root, PATH="") == (sys.executable, "-m", "pytest", "-q")
        on_path = program(tmp_path / "path" / "pytest")
        assert self.words(root, PATH=str(on_path.parent)) == (str(on_path), "-q")
        own = program(root / ".venv" / "bin" / "pytest")
        assert self.words(root, PATH=str(on_path.parent)) == (str(own), "-q")
        (active / "bin").mkdir(parents=True)
        assert self.words(root, PATH=str(on_path.parent), VIRTUAL_ENV=str(active)) == (str(on_path), "-q")
        found = program(active / "bin" / "pytest")
        assert self.words(root, PATH=str(on_path.parent), VIRTUAL_ENV=str(active)) == (str(found), "-q")

    def test_what_changes_a_run_from_outside_is_left_out(self, tmp_path: Path) -> None:
        dropped = dict.fromkeys(("PYTEST_ADDOPTS", "PYTEST_PLUGINS", "PYTHONOPTIMIZE", "PYTHONWARNINGS"), "x")
        given = variables(tmp_path, {**dropped, "HOME": "/", "PATH": "p"})
        assert given == {"HOME": "/", "PATH": "p"}


class TestEnvironment:
    """Equal as long as the interpreter and the installed distributions are."""

    def digest(self, path: Path) -> str:
        return environment_of([str(path)])

    def test_a_distribution_and_an_interpreter_change_it(self, tmp_path: Path) -> None:
        python = tmp_path / "env" / "bin" / "python"
        python.parent.mkdir(parents=True)
        python.symlink_to(program(tmp_path / "base" / "bin" / "python3.13"))
        (tmp_path / "env" / "pyvenv.cfg").write_text("version = 3.13.1\n", encoding="utf-8")
        site = tmp_path / "env" / "lib" / "python3.13" / "site-packages"
        site.mkdir(parents=True)
        seen = [self.digest(python)]
        assert self.digest(python) == seen[0]
        (site / "shop-1.0.dist-info").mkdir()
        seen.append(self.digest(python))
        (site / "shop-1.0.dist-info").rename(site / "shop-1.1.dist-info")
        seen.append(self.digest(python))
        (tmp_path / "env" / "pyvenv.cfg").write_text("version = 3.13.2\n", encoding="utf-8")
        seen.append(self.digest(python))
        os.remove(tmp_path / "base" / "bin" / "python3.13")
        seen.append(self.digest(python))
        assert len(set(seen)) == len(seen)

    def test_a_program_without_an_interpreter_has_one(self) -> None:
        assert (
            self.digest(Path("/bin/sh")) == self.digest(Path("/bin/sh")) != self.digest(Path("/nowhere/sh"))
        )
