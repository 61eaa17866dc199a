"""``loop-close drive`` as a process, with a project and an agent that follows a script."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

from processes import GUARD, PYTEST_INI, wait_until

AGENT = Path(__file__).with_name("scripted_agent.py")
CODE = "import sys; from loop_close.cli import main; sys.exit(main())"
COMMAND = [sys.executable, "-c", CODE]
LEFT_OUT = ("PYTEST_", "COLUMNS", "LINES", "NO_COLOR", "PYTHONWARNINGS", "PYTHONUNBUFFERED")

CART = "def total(prices):\n    return {total}\n\n\ndef count(prices):\n    return {count}\n"
TESTS = """from cart import count, total


def test_total():
    assert total([1, 2]) == 3


def test_count():
    assert count([1, 2]) == 2
"""
RIGHT = {"total": "sum(prices)", "count": "len(prices)"}


def cart(**bodies):
    """The module under test, right but for the bodies that are given."""
    return {"cart.py": CART.format(**{**RIGHT, **bodies})}


def environment():
    kept = {k: v for k, v in os.environ.items() if not k.startswith(LEFT_OUT)}
    return {**kept, "PYTHONDONTWRITEBYTECODE": "1"}


class Project:
    """A project in a folder, and beside it the script of its agent."""

    def __init__(self, folder, files, turns):
        self.root = folder / "project"
        self.beside = folder / "agent"
        self.root.mkdir()
        self.beside.mkdir()
        self.put({"pytest.ini": PYTEST_INI, "test_cart.py": TESTS, **files})
        self.script(turns)

    def put(self, files):
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    def script(self, turns):
        self.beside.joinpath("script.json").write_text(json.dumps(turns), encoding="utf-8")

    @property
    def agent(self):
        return shlex.join([sys.executable, str(AGENT), str(self.beside / "script.json")])

    @property
    def given(self):
        """What the agent was given to read, turn by turn."""
        return [path.read_text(encoding="utf-8") for path in sorted(self.beside.glob("given-*.md"))]

    @property
    def state(self):
        return json.loads((self.root / ".loop-close" / "drive.json").read_text(encoding="utf-8"))

    def words(self, *options, agent=None):
        return ["drive", "--agent", agent or self.agent, *options]

    def drive(self, *options, agent=None):
        """Drive it to its end."""
        return self.run(*self.words(*options, agent=agent))

    def run(self, *words):
        return subprocess.run(
            [*COMMAND, *words],
            cwd=self.root,
            env=environment(),
            capture_output=True,
            text=True,
            timeout=GUARD,
            check=False,
        )

    def started(self, *options):
        """Drive it beside the test."""
        return subprocess.Popen(
            [*COMMAND, *self.words(*options)],
            cwd=self.root,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def wait_for_agent(self):
        """Wait until the agent has done its edits; the number of its process."""
        path = self.beside / "pid"
        wait_until(lambda: path.exists() and path.read_text())
        return int(path.read_text())


def checks(done):
    """How often the checks were run."""
    return done.stderr.count("loop-close: loop-close check\n")
