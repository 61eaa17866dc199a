import pytest

from loop_close.trace.code import Ownership


@pytest.fixture
def root(tmp_path):
    for name in ("src/shop/core.py", "flat/core.py", "tests/test_core.py"):
        path = tmp_path / "root" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return tmp_path / "root"


@pytest.mark.parametrize(
    ("filename", "expected"),
    [
        ("ROOT/src/shop/core.py", "src/shop/core.py"),
        ("ROOT/bin/tool", "bin/tool"),
        ("ROOT/new.pyw", "new.pyw"),
        ("ROOT/page.html", None),
        ("ROOT/tests/test_core.py", None),
        ("ROOT/conftest.py", None),
        ("<string>", None),
        ("Modules/pyexpat.c", None),
        ("flat/core.py", "flat/core.py"),
        ("flat/nul\0.py", None),
        ("/env/lib/site-packages/shop/core.py", "src/shop/core.py"),
        ("/env/lib/site-packages/other/core.py", None),
    ],
)
def test_file(root, monkeypatch, filename, expected):
    monkeypatch.chdir(root)
    ownership = Ownership(str(root))
    name = filename.replace("ROOT", str(root))
    assert ownership.file_of(name) == ownership.file_of(name) == expected
