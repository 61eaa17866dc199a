import os

import pytest

from loop_close.trace.code import Ownership


@pytest.fixture
def root(tmp_path):
    for name in (
        "src/shop/core.py",
        "flat/core.py",
        "tests/test_core.py",
        "deep/lib/dist-packages/flat/core.py",
    ):
        path = tmp_path / "root" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (tmp_path / "link").symlink_to(tmp_path / "root")
    return tmp_path / "root"


@pytest.mark.parametrize(
    ("filename", "expected"),
    [
        ("ROOT/src/shop/core.py", "src/shop/core.py"),
        ("ROOT/tests/../src/shop/core.py", "src/shop/core.py"),
        ("ROOT/bin/tool", "bin/tool"),
        ("ROOT/new.pyw", "new.pyw"),
        ("ROOT/page.html", None),
        ("ROOT/tests/test_core.py", None),
        ("ROOT/conftest.py", None),
        ("ROOTED/core.py", None),
        ("/elsewhere/core.py", None),
        ("<string>", None),
        ("<frozen importlib._bootstrap>", None),
        ("", None),
        ("Modules/pyexpat.c", None),
        ("flat/core.py", "flat/core.py"),
        ("flat/gone.py", None),
        ("flat/nul\0.py", None),
        ("/env/lib/site-packages/shop/core.py", "src/shop/core.py"),
        ("/env/lib/site-packages/flat/core.py", "flat/core.py"),
        ("/env/lib/site-packages/shop/_version.py", None),
        ("/env/lib/site-packages/other/core.py", None),
        ("ROOT/deep/lib/dist-packages/flat/core.py", "flat/core.py"),
        ("ROOT/.venv/lib/site-packages/other/core.py", None),
        (os.__file__, None),
    ],
)
@pytest.mark.parametrize("given", ["root", "link"])
def test_file(root, monkeypatch, filename, expected, given):
    monkeypatch.chdir(root)
    ownership = Ownership(str(root.parent / given))
    name = filename.replace("ROOT", str(root.parent / given))
    assert ownership.file_of(name) == ownership.file_of(name) == expected
