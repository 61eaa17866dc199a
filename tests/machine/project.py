"""A small project in a folder of its own, and every door of loop-close to it, each a real process.

Its tests can be held up at a named point by files outside of it, so that an edit falls into a run for certain.
"""

import contextlib
import hashlib
import io
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from processes import UNUSED

from loop_close.cli import Streams, main

PROGRAM = [sys.executable, "-c", "import sys; from loop_close.cli import main; sys.exit(main())"]
SCRIPTS = Path(sys.executable).parent
#: Where tests can be held up: before modules are imported, after, and when all tests have run.
POINTS = ("started", "collected", "finished")
GUARD = 120  # seconds after which what hangs fails: far more than a machine under load takes
#: Of whoever runs the suite, what would change what is tested.
LEFT_OUT = ("PYTEST_", "PYTHONPATH", "PYTHONOPTIMIZE", "PYTHONWARNINGS", "LOOP_CLOSE", "COLUMNS", "COV_")
#: What tools write and nobody edits.
OUTPUTS = {".git", ".loop-close", ".pytest_cache", "__pycache__", "nextprompt.md", "merged.json"}

#: The bodies of the functions in ``calc.py``. "good" and "other" pass every test.
BODIES = {
    "add": {
        "good": "return a + b",
        "other": "total = a\n    total += b\n    return total",
        "faulty": "return a - b",
        "near": "return a + b + 1",
        "asserts": "assert b < 3\n    return a + b",
        "warns": "warnings.warn('x')\n    return a + b",
        "skips": "raise unittest.SkipTest('no database')",
        "broken": "return (",
    },
    "scale": {
        "good": "return [value * by for value in values]",
        "other": "return list(map(by.__mul__, values))",
        "faulty": "return [value + by for value in values]",
        "near": "return values * by",
    },
    "mean": {
        "good": "return sum(values) / len(values)",
        "other": "return statistics.fmean(values)",
        "faulty": "return sum(values) / (len(values) + 1)",
    },
    "rate": {
        "good": "return json.loads(RATES.read_text())[name]",
        "faulty": "return 0",
    },
}
_HEADS = {"add": "a, b", "scale": "values, by", "mean": "values", "rate": "name"}
DATA = {"good": '{"full": 20, "half": 10}\n', "other": '{"full": 20, "half": 10, "none": 0}\n'}
DATA["faulty"] = '{"full": 21, "half": 10}\n'


def calc(**variants):
    """The text of ``calc.py``, each function in one of its variants."""
    imports = "import json\nimport statistics\nimport unittest\nimport warnings\nfrom pathlib import Path\n\n"
    bodies = (
        f"\n\ndef {name}({head}):\n    {BODIES[name][variants.get(name, 'good')]}\n"
        for name, head in _HEADS.items()
    )
    return f"{imports}RATES = Path(__file__).with_name('data.json')\n{''.join(bodies)}"


CONFTEST = """\
import os
import time
from pathlib import Path


def hold_up(point):
    folder = Path(os.environ.get("HOLD_UP", "/nonexistent"))
    for what in ("skip", "hold"):
        try:
            (folder / f"{point}.{what}").rename(folder / f"{point}.taken")
        except OSError:
            continue
        if what == "hold":
            (folder / f"{point}.taken").write_text(f"{os.getpid()} {os.getppid()}")
            (folder / f"{point}.taken").rename(folder / f"{point}.held")
            while folder.exists() and not (folder / f"{point}.go").exists():
                time.sleep(0.01)
        return


def pytest_sessionstart():
    hold_up("started")


def pytest_collection_finish():
    hold_up("collected")


def pytest_sessionfinish():
    hold_up("finished")
"""
TESTS = """\
import json
from pathlib import Path

import pytest
from calc import add, mean, rate, scale
from helper import is_close


def test_add():
    assert add(2, 3) == 5


@pytest.mark.parametrize(("values", "by", "expected"), [([1, 2], 3, [3, 6]), ([], 5, [])])
def test_scale(values, by, expected):
    assert scale(values, by) == expected


def test_mean():
    assert is_close(mean([1, 2]), 1.5)


def test_rate():
    assert rate("full") == 20


def test_golden():
    golden = json.loads(Path(__file__).with_name("golden.json").read_text())
    assert scale([3], 2) == golden
"""
PYPROJECT = f'[tool.pytest.ini_options]\ntestpaths = ["tests"]\naddopts = "{" ".join(UNUSED)}"\n'
LINT = 'import sys\n\nsys.exit("FIXME" in open("calc.py").read())\n'
# Without it the hook has nothing to say in a project that never used loop-close.
HOOK = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "loop-close hook --host claude"}]}]}}
FILES = {
    ".claude/settings.json": json.dumps(HOOK),
    "calc.py": calc(),
    "data.json": DATA["good"],
    "lint.py": LINT,
    "Makefile": "test:\n\tpytest\n",
    "conftest.py": CONFTEST,
    "pyproject.toml": PYPROJECT,
    ".gitignore": "__pycache__/\n.pytest_cache/\nnextprompt.md\nmerged.json\n",
    "tests/helper.py": "def is_close(a, b):\n    return abs(a - b) < 1e-9\n",
    "tests/golden.json": "[6]\n",
    "tests/test_calc.py": TESTS,
    "tests/test_more.py": "from calc import mean\n\n\ndef test_mean_of_one():\n    assert mean([4]) == 4\n",
}


def settings(checks=None, **values):
    """The text of ``pyproject.toml`` with these settings of ours."""
    lines = [f"{key} = {json.dumps(value)}\n" for key, value in values.items()]
    text = f"{PYPROJECT}\n[tool.loop-close]\n{''.join(lines)}"
    if checks:
        commands = "".join(f"{name} = {json.dumps(command)}\n" for name, command in checks.items())
        text += f"\n[tool.loop-close.checks]\n{commands}"
    return text


def plain_environment(**changed):
    """The variables of a process: those of this one, without what would change what is tested."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(LEFT_OUT)}
    path = os.pathsep.join((str(SCRIPTS), kept.get("PATH", os.defpath)))
    return {**kept, "PATH": path, "PYTHONDONTWRITEBYTECODE": "1", **changed}


def digest(files):
    """Of a snapshot of files."""
    made = hashlib.sha256()
    for path, data in sorted(files.items()):
        made.update(f"{len(path)} {len(data)} {path}".encode() + data)
    return made.hexdigest()


def says_done(text):
    """Whether the first line of a prompt claims that the work is done."""
    line = text.partition("\n")[0].lower()
    return re.search(r"\bdone\b", line) is not None and re.search(r"\bnot\b|\bunless\b", line) is None


class Done(NamedTuple):
    """A process that ended."""

    exit: int
    out: str
    err: str


class Running:
    """A process that is under way; the project's tests can hold it up at the points :data:`POINTS`."""

    def __init__(self, process, control, number):
        self.process, self._control, self._number = process, control, number
        self._pids = ()

    def wait_until_held(self, point):
        """Wait until tests are held up at the point; False if the process ended first."""
        held, end = self._control / f"{point}.held", time.monotonic() + GUARD
        while not (is_held := held.exists()) and self.process.poll() is None:
            assert time.monotonic() < end, "neither held up nor ended"
            time.sleep(0.01)
        if is_held or held.exists():  # of the pytest that is held up, and of its parent
            pids = map(int, held.read_text().split())
            self._pids = tuple(pid for pid in pids if pid != os.getpid())
        return is_held or held.exists()

    def kill(self, whom):
        """Kill the group that was started ("caller"), as an agent's shell does, or that of pytest ("tests")."""
        group = self.process.pid if whom == "caller" else os.getpgid(self._pids[0])
        assert group != os.getpgrp()
        os.killpg(group, signal.SIGKILL)

    def release(self, *points):
        """Let tests go on that are held up."""
        for point in points or POINTS:
            (self._control / f"{point}.go").touch()

    def finish(self):
        """Its end, and what it printed."""
        self.release()
        code = self.process.wait(GUARD)
        out, err = (
            (self._control / f"{self._number}.{name}").read_text(errors="replace") for name in ("out", "err")
        )
        return Done(code, out, err)

    def wait_for_others(self):
        """Wait until what was held up and its parent ended: they outlive a caller that was killed."""
        end = time.monotonic() + GUARD
        while any(map(_is_alive, self._pids)):
            assert time.monotonic() < end, "a process did not end"
            time.sleep(0.02)


def _is_alive(pid):
    asked = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return asked.stdout.strip()[:1] not in ("", "Z")


class Project:
    """A project in ``folder/project``; what controls it and what is outside of it lies beside."""

    def __init__(self, folder, *, git=True, files=FILES, **environment):
        self.folder, self.root, self.control = folder, folder / "project", folder / "control"
        self.environment = environment
        self.session, self.is_again = "session-1", False
        self._numbers = itertools.count(1)
        self._prompt_time = 0
        self.control.mkdir(parents=True)
        self.root.mkdir()
        self.write(files)
        self.git = git
        if git:
            self.command("git", "init", "-q")
            self.commit()

    # --- files

    def write(self, files):
        """Write these files, in place; None removes one."""
        for path, text in files.items():
            target = self.root / path
            if text is None:
                target.unlink(missing_ok=True)
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(text if isinstance(text, bytes) else text.encode())

    def text(self, path):
        """The text of a file; empty if there is none."""
        target = self.root / path
        return target.read_text(encoding="utf-8") if target.exists() else ""

    def snapshot(self):
        """The bytes of all files but outputs."""
        found = {}
        for folder, folders, names in os.walk(self.root):
            folders[:] = [name for name in folders if name not in OUTPUTS]
            paths = (Path(folder, name) for name in names if name not in OUTPUTS)
            found.update((path.relative_to(self.root).as_posix(), path.read_bytes()) for path in paths)
        return found

    def restore(self, snapshot):
        """Make the files those of a snapshot."""
        present = self.snapshot()
        self.write(dict.fromkeys(present.keys() - snapshot.keys()))
        self.write({path: data for path, data in snapshot.items() if present.get(path) != data})

    def commit(self):
        """Commit all files."""
        who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        self.command("git", "add", "-A")
        self.command("git", *who, "commit", "-q", "--allow-empty", "--no-verify", "-m", "all")

    # --- processes

    def start(self, *words, hold_up=(), second=False, cwd=".", **environment):
        """Start a command; its tests wait at the points of ``hold_up``, or only the second time that they get there."""
        for point in POINTS:
            for path in self.control.glob(f"{point}.*"):
                path.unlink()
        for point in hold_up:
            (self.control / f"{point}.hold").touch()
            if second:
                (self.control / f"{point}.skip").touch()
        number = next(self._numbers)
        with (
            (self.control / f"{number}.out").open("wb") as out,
            (self.control / f"{number}.err").open("wb") as err,
        ):
            process = subprocess.Popen(
                words,
                cwd=self.root / cwd,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env=plain_environment(**{"HOLD_UP": str(self.control), **self.environment, **environment}),
                start_new_session=True,
            )
        return Running(process, self.control, number)

    def command(self, *words, **options):
        """Run any command to its end."""
        return self.start(*words, **options).finish()

    def loop_close(self, *words, **options):
        """Run ``loop-close`` to its end."""
        return self.command(*PROGRAM, *words, **options)

    def pytest(self, *words, **options):
        """Run a plain ``pytest --loop-close`` to its end."""
        return self.command("pytest", "--loop-close", *words, **options)

    def start_check(self, *names, **options):
        """Start ``loop-close check``."""
        return self.start(*PROGRAM, "check", *names, **options)

    def check(self, *names, **options):
        """Run ``loop-close check`` to its end."""
        return self.start_check(*names, **options).finish()

    def check_during(self, edits, second=False):
        """Run ``loop-close check`` to its end; at each point, by its name, write files or call a function."""
        running = self.start_check(hold_up=tuple(edits), second=second)
        for point, edit in edits.items():
            if running.wait_until_held(point):
                edit() if callable(edit) else self.write(edit)
                running.release(point)
        return running.finish()

    # --- what says whether it is done

    def status(self, **options):
        """The exit status of ``loop-close status --json``, run in this process, and its document; None for none."""
        code, out = self._here("status", "--json")
        with contextlib.suppress(ValueError):
            return code, json.loads(out)
        return code, None

    def _here(self, *words):
        output, errors = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in "oe")
        with contextlib.chdir(self.root):
            code = main([*words], Streams(input=io.BytesIO(), output=output, errors=errors))
        output.flush()
        return code, output.buffer.getvalue().decode()

    def hook(self, event="Stop", *, cwd=".", **fields):
        """What Claude Code would get from the hook; empty for nothing, which lets the agent stop as done."""
        payload = {
            "session_id": f"{self.session} of {self.root}",  # as of no other project
            "cwd": str(self.root / cwd),
            "hook_event_name": event,
            "stop_hook_active": self.is_again,
            "last_assistant_message": "All done.",
            **fields,
        }
        done = subprocess.run(
            [*PROGRAM, "hook", "--host", "claude"],
            input=json.dumps(payload),
            cwd=self.root / cwd,
            env=plain_environment(**self.environment, CLAUDECODE="1"),
            capture_output=True,
            text=True,
            timeout=GUARD,
            check=False,
        )
        if event == "Stop":
            self.is_again = '"block"' in done.stdout
        return done.stdout.strip()

    def begin_session(self, name="session-1", source="startup"):
        """A session of an agent begins, or is resumed."""
        self.session, self.is_again = name, False
        return self.hook("SessionStart", source=source)

    def new_prompt(self):
        """The prompt if it was written since this was last asked, otherwise empty."""
        path = self.root / "nextprompt.md"
        now = path.stat().st_mtime_ns if path.exists() else 0
        is_new, self._prompt_time = now != self._prompt_time, now
        return self.text("nextprompt.md") if is_new else ""

    def doors(self):
        """What each door says: by its name, whether it says done."""
        code, document = self.status()
        said = {"status": code == 0, "hook": self.hook() == ""}
        if document is not None and "verdict" in document:
            said["status --json"] = document["verdict"] == "done"
        return said

    def close(self):
        """Let everything end that is held up, and remove the folder."""
        for point in POINTS:
            (self.control / f"{point}.go").touch()
        shutil.rmtree(self.folder, ignore_errors=True)
