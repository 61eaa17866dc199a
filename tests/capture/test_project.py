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
