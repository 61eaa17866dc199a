"""What holds where the extra is not installed."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import loop_close

PACKAGE = Path(loop_close.__file__).parent
EXTRA = {"anyio", "mcp", "mcp_types", "pydantic"}
BLOCKED = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == {name!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Blocker())
from loop_close.cli import main
sys.exit(main(["mcp"]))
"""


def imported(path):
    """The packages that a module imports, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").partition(".")[0]


@pytest.mark.parametrize("name", ["mcp", "mcp_types", "anyio"])
def test_without_the_extra_one_line_says_how_to_get_it(name):
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED.format(name=name)],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env=dict(os.environ),
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout) == (64, "")
    assert done.stderr.startswith("loop-close: mcp is not installed: pip install 'pytest-loop-close[mcp]' (")
    assert done.stderr.count("\n") == 1


#: Without the example in the wheel, one of whose faults is in its syntax.
MODULES = [path for path in PACKAGE.rglob("*.py") if "examples" not in path.relative_to(PACKAGE).parts]


@pytest.mark.large
def test_nothing_but_the_server_imports_the_extra():
    found = {p.relative_to(PACKAGE).parts[0] for p in MODULES if EXTRA & set(imported(p))}
    assert found == {"mcp_server"}


def test_nothing_but_its_command_names_the_server():
    found = {
        path.relative_to(PACKAGE).as_posix()
        for path in MODULES
        if "loop_close.mcp_server" in path.read_text(encoding="utf-8")
    }
    assert {name for name in found if not name.startswith("mcp_server/")} == {"cli/commands.py"}
