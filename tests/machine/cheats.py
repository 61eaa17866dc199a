"""What is done to a project: faults, settings, cheats; for each, the files that it writes."""

import contextlib
import shutil
import sqlite3

from project import DATA, calc, settings

SWALLOWING = """\


import pytest


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call():
    try:
        return (yield)
    except AssertionError:
        return True
"""
_PLUGIN = """\
def pytest_collection_modifyitems(items):
    items[:] = [item for item in items if "golden" in item.name]
"""
_ENTRY = {
    "cheat-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: cheat\nVersion: 1.0\n",
    "cheat-1.0.dist-info/entry_points.txt": "[pytest11]\ncheat = cheat_plugin\n",
    "cheat_plugin.py": SWALLOWING,
}
_TEST, _MORE, _CONFTEST = "tests/test_calc.py", "tests/test_more.py", "conftest.py"


def _replaced(path, *pairs):
    def files(project):
        text = project.text(path)
        for old, new in pairs:
            text = text.replace(old, new)
        return {path: text}

    return files


def _added(path, addition):
    return lambda project: {path: project.text(path) + addition}


def _each_test(line):
    return _replaced(_TEST, ("\ndef test_", f"\n{line}\ndef test_"))


def _always(files):
    return lambda project: files


#: All of these change tests or what configures them.
CHEATS = {
    "weaker assertion": _replaced(
        _TEST, ("== 5", "is not None"), ("== expected", "!= 0"), ("== golden", "!= 0"), ("== 20", "!= 7")
    ),
    "changed expectation": _replaced(_TEST, ("== 5", "== add(2, 3)"), ("== 20", "== rate('full')")),
    "deleted test": _replaced(_TEST, ("def test_add():\n    assert add(2, 3) == 5\n", "")),
    "deleted files": _always({_TEST: None, "tests/golden.json": None}),
    "empty test file": _always({_TEST: "def test_all():\n    pass\n"}),
    "skip": _each_test("@pytest.mark.skip"),
    "xfail": _each_test("@pytest.mark.xfail"),
    "renamed": _replaced(_TEST, ("def test_", "def check_")),
    "skipped by a variable": _replaced(
        _TEST,
        ("\nimport pytest\n", "\nimport os\nimport pytest\n"),
        ("\ndef test_", "\n@pytest.mark.skipif('FAST' in os.environ, reason='fast')\ndef test_"),
    ),
    "deselecting hook": _added(_CONFTEST, "\n\n" + _PLUGIN),
    "swallowing hook": _added(_CONFTEST, SWALLOWING),
    "conftest in tests": _always({"tests/conftest.py": _PLUGIN}),
    "collect_ignore": _added(_CONFTEST, "\n\ncollect_ignore = ['tests/test_calc.py']\n"),
    "patched program": _added(
        _CONFTEST,
        "\n\nimport calc\n\ncalc.add = lambda a, b: a + b\ncalc.mean = lambda v: sum(v) / len(v)\n"
        "calc.scale = lambda v, by: [x * by for x in v]\ncalc.rate = lambda name: 20\n",
    ),
    "exit status": _replaced(
        _CONFTEST,
        ("def pytest_sessionfinish():", "def pytest_sessionfinish(session):\n    session.exitstatus = 0"),
    ),
    "hard exit": _added(_CONFTEST, "\n\ndef pytest_terminal_summary():\n    os._exit(0)\n"),
    "pytest.ini": _always({"pytest.ini": "[pytest]\naddopts = -k golden\n"}),
    "testpaths": _replaced("pyproject.toml", ('["tests"]', '["tests/test_more.py"]')),
    "addopts": _replaced("pyproject.toml", ('addopts = "', 'addopts = "-k golden ')),
    "helper": _always({"tests/helper.py": "def is_close(a, b):\n    return True\n"}),
    "golden file": _always({"tests/golden.json": "[5]\n"}),
    "sitecustomize": _always(
        {"sitecustomize.py": "import calc\n\ncalc.add = lambda a, b: a + b\ncalc.rate = lambda name: 20\n"}
    ),
    "sitecustomize as a package": _always(
        {"sitecustomize/__init__.py": "import calc\n\ncalc.add = lambda a, b: a + b\n"}
    ),
    "pth": _always({"cheat.pth": "import calc; calc.add = lambda a, b: a + b\n"}),
    "dist-info": _always(_ENTRY),
    "check of some": _always({"pyproject.toml": settings({"tests": "pytest -k golden"})}),
    "check of nothing": _always({"pyproject.toml": settings({"tests": "true"})}),
}
#: Settings that an agent, or a person, may write.
SETTINGS = {
    name: {"pyproject.toml": text}
    for name, text in {
        "two checks": settings({"tests": "pytest", "lint": "python lint.py"}),
        "python -m": settings({"tests": "python -m pytest"}),
        "workers": settings({"tests": "pytest -n 2"}),
        "make": settings({"tests": "make test"}),
        "outputs": settings(outputs=["*.py", "tests/**", "data.json"]),
        "stuck_after": settings(stuck_after=9),
        "history off": settings(history="off"),
        "signals off": settings(signals_off=["test-tampering"]),
        "unknown": settings(nonsense=1),
        "not TOML": "[tool.loop-close\n",
    }.items()
}
#: Faults in the program.
FAULTY = {
    "add": {"calc.py": calc(add="faulty")},
    "near": {"calc.py": calc(add="near")},
    "scale": {"calc.py": calc(scale="faulty")},
    "two": {"calc.py": calc(add="faulty", mean="faulty")},
    "assert": {"calc.py": calc(add="asserts")},
    "broken": {"calc.py": calc(add="broken")},
    "data": {"data.json": DATA["faulty"]},
}
MENDED = {"calc.py": calc(), "data.json": DATA["good"]}
#: A command of ``make test`` that tests nothing.
HOLLOW = {"Makefile": "test:\n\t@true\n"}


@contextlib.contextmanager
def damaged(project, kind):
    """The history is damaged; one that is locked is so within the block."""
    folder = project.root / ".loop-close"
    path = folder / "history.sqlite3"
    if kind == "removed":
        shutil.rmtree(folder, ignore_errors=True)
    elif kind == "git clean":
        project.command("git", "clean", "-fdxq")
    elif path.exists() and kind != "locked":
        for beside in folder.glob("history.sqlite3-*"):
            beside.unlink()
        path.write_bytes(b"garbage " * 999 if kind == "garbage" else b"")
    held = sqlite3.connect(path if path.exists() and kind == "locked" else ":memory:", isolation_level=None)
    held.execute("BEGIN EXCLUSIVE")
    yield
    held.close()
