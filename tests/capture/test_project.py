import json
import os
import sys

import pytest

from loop_close.capture import ProjectCode


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "proj"
    folder.mkdir()
    return folder


def touch(root, name):
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return str(path)


@pytest.mark.parametrize(
    "name", ["<string>", "<frozen importlib._bootstrap>", "<doctest a[0]>", json.__file__, pytest.__file__]
)
def test_files_of_others(root, name):
    assert ProjectCode(str(root)).relative(name) is None


@pytest.mark.parametrize("name", ["a.py", "src/pkg/a.py", "tests/test_a.py", "é/漢.py", "with space/a.py"])
def test_files_below_the_root(root, name):
    assert ProjectCode(str(root)).relative(touch(root, name)) == name


def test_file_that_is_not_there_any_more(root):
    assert ProjectCode(str(root)).relative(str(root / "gone.py")) == "gone.py"


def test_path_relative_to_where_the_run_was_started(root, monkeypatch):
    touch(root, "sub/a.py")
    monkeypatch.chdir(root / "sub")
    assert ProjectCode(str(root)).relative("a.py") == "sub/a.py"
    assert ProjectCode(str(root)).relative("../sub/a.py") == "sub/a.py"


def test_root_with_a_slash_at_its_end(root):
    assert ProjectCode(f"{root}/").relative(str(root / "a.py")) == "a.py"


@pytest.mark.parametrize("folder", ["site-packages", "dist-packages"])
def test_installed_packages(root, folder):
    project = ProjectCode(str(root))
    touch(root, "src/shop/cart.py")
    touch(root, "flat/book.py")
    library = root / ".tox/py311/lib/python3.11" / folder
    assert project.relative(str(library / "requests/api.py")) is None
    assert project.relative(str(library / "shop/cart.py")) == "src/shop/cart.py"
    assert project.relative(str(library / "flat/book.py")) == "flat/book.py"
    assert project.relative(f"/elsewhere/lib/{folder}/shop/cart.py") == "src/shop/cart.py"
    assert project.relative(f"/elsewhere/lib/{folder}/shop/gone.py") is None


def test_project_that_itself_lies_in_site_packages(tmp_path):
    root = tmp_path / "site-packages" / "pkg"
    root.mkdir(parents=True)
    assert ProjectCode(str(root)).relative(touch(root, "tests/test_a.py")) == "tests/test_a.py"


def test_environment_in_the_root(root, monkeypatch):
    environment = root / ".venv"
    monkeypatch.setattr(sys, "prefix", str(environment))
    project = ProjectCode(str(root))
    assert project.relative(touch(root, ".venv/bin/tool.py")) is None
    assert project.relative(touch(root, ".venv/lib/python3.11/site-packages/lib.py")) is None
    assert project.relative(touch(root, "a.py")) == "a.py"


def test_project_in_the_folder_of_the_environment(root, monkeypatch):
    monkeypatch.setattr(sys, "prefix", str(root.parent))
    assert ProjectCode(str(root)).relative(touch(root, "a.py")) == "a.py"


def test_library_in_the_root(root, monkeypatch):
    library = root / "env/lib/python3.11"
    monkeypatch.setattr(os, "__file__", str(library / "os.py"))
    assert ProjectCode(str(root)).relative(touch(root, "env/lib/python3.11/json/decoder.py")) is None


def test_root_by_a_symbolic_link(root, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(root)
    touch(root, "a.py")
    for given in (root, link):
        for seen in (root, link):
            assert ProjectCode(str(given)).relative(str(seen / "a.py")) == "a.py"


def test_link_in_the_project_to_elsewhere(root, tmp_path):
    touch(tmp_path, "shared/a.py")
    (root / "vendored").symlink_to(tmp_path / "shared")
    assert ProjectCode(str(root)).relative(str(root / "vendored/a.py")) == "vendored/a.py"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("nothing", "nothing"),
        ("/elsewhere/a.py", "/elsewhere/a.py"),
        ("{root}2/a.py", "{root}2/a.py"),
        ("no {root}/a.py here", "no a.py here"),
        ("in {root}", "in ."),
        ("{prefix}/lib/x.py", "<python>/lib/x.py"),
    ],
)
def test_tidy(root, text, expected):
    names = {"root": root, "prefix": sys.prefix}
    assert ProjectCode(str(root)).tidy(text.format(**names)) == expected.format(**names)


@pytest.mark.parametrize("prefix", ["/", "/usr", "/usr/local"])
def test_tidy_with_the_python_of_the_system(root, monkeypatch, prefix):
    monkeypatch.setattr(sys, "prefix", prefix)
    monkeypatch.setattr(sys, "base_prefix", prefix)
    text = "no /usr/share/dict/words, /usr/local/etc/a.conf, /etc/b"
    assert ProjectCode(str(root)).tidy(text) == text
