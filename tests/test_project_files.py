"""Which files are the project's own, where pytest's root is a folder of the project."""

import os
from unittest import mock

import pytest

from loop_close.project_files import ProjectFiles, top_of


def made(root, *names):
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


@pytest.mark.parametrize(
    ("files", "root", "expected"),
    [
        ((".git/config", "tests/pytest.ini"), "tests", "."),
        ((".hg/dirstate", "a/b/pyproject.toml"), "a/b", "."),
        (("pyproject.toml", "tests/pytest.ini"), "tests", "tests"),
        (("notes.txt", "tests/pytest.ini"), "tests", "tests"),
        ((".git/config", "part/.git", "part/tests/a.py"), "part/tests", "part"),  # a submodule
    ],
)
def test_top(tmp_path, files, root, expected):
    made(tmp_path, *files)
    assert top_of(str(tmp_path / root)) == os.path.normpath(tmp_path / expected)


def test_home_is_no_top(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    made(tmp_path, ".git/config", "code/shop/a.py")
    assert top_of(str(tmp_path / "code/shop")) == str(tmp_path / "code/shop")


@pytest.fixture
def files(tmp_path):
    made(tmp_path, ".git/config", "tests/pytest.ini", "src/shop/cost.py", "tests/helpers.py", "shop/flat.py")
    return ProjectFiles(str(tmp_path / "tests"))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("TOP/tests/test_cost.py", "test_cost.py"),
        ("TOP/src/shop/cost.py", "../src/shop/cost.py"),
        ("TOP/.venv/lib/python3.12/site-packages/requests/api.py", None),
        ("TOP/.venv/lib/python3.12/site-packages/shop/flat.py", "../shop/flat.py"),
        ("/env/lib/site-packages/shop/cost.py", "../src/shop/cost.py"),
        ("/env/lib/site-packages/shop/gone.py", None),
        ("/elsewhere/cost.py", None),
    ],
)
def test_files_above_the_root(tmp_path, files, name, expected):
    assert files.relative(name.replace("TOP", str(tmp_path))) == expected


def test_root_by_a_link_in_another_project(tmp_path):
    """The path is relative to the folder without links: a file beside the link belongs to another project."""
    made(
        tmp_path,
        "repo/.git/config",
        "repo/tests/pytest.ini",
        "repo/src/cost.py",
        "work/.git/config",
        "work/src/cost.py",
    )
    (tmp_path / "work/tests").symlink_to(tmp_path / "repo/tests")
    files = ProjectFiles(str(tmp_path / "work/tests"))
    assert files.relative(str(tmp_path / "work/tests/pytest.ini")) == "pytest.ini"
    assert files.relative(str(tmp_path / "repo/src/cost.py")) == "../src/cost.py"
    assert files.relative(str(tmp_path / "work/src/cost.py")) is None


def test_no_link_is_followed_and_no_patched_name_called(tmp_path, files):
    with mock.patch("os.lstat", side_effect=RuntimeError), mock.patch("os.stat", side_effect=RuntimeError):
        assert files.relative("/elsewhere/cost.py") is None
        assert files.relative(str(tmp_path / "src/shop/cost.py")) == "../src/shop/cost.py"


def test_our_own_code_is_of_no_other_project(tmp_path, monkeypatch):
    made(tmp_path, ".git/config", "tests/pytest.ini", "plugin/loop_close/model.py", "plugin/other.py")
    monkeypatch.setattr("loop_close.project_files._OURS", f"{tmp_path}/plugin/loop_close/")
    files = ProjectFiles(str(tmp_path / "tests"))
    assert files.relative(str(tmp_path / "plugin/loop_close/model.py")) is None
    assert files.relative(str(tmp_path / "plugin/other.py")) == "../plugin/other.py"
    assert ProjectFiles(str(tmp_path)).relative(str(tmp_path / "plugin/loop_close/model.py"))
