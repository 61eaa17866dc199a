"""How often a person is asked about real commits that edit tests: ``python -m benchmarks.edited_tests CLONE...``.

Each clone has the name of a project below. Of its default branch the newest commits are taken that are no merge,
change (not only add) a test module, and change a Python file of the product. Nothing is chosen otherwise, and what
cannot be measured is a row, too. For each commit the parent is checked out and installed in ``.venv``, and ``loop-close
check`` has to be green there. Then the files become those of the commit, as an agent would edit them, and it is asked
again. The seconds are those of a machine that may be busy: only their ratio says something.

It prints a row a commit, and below it what was objected to. Why that is, a person says from the diff.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.environment import machine
from loop_close import gate
from loop_close.conventions import is_test_file, is_test_module
from loop_close.records import State

_REPOSITORY = Path(__file__).parents[1]
_SETTINGS = '\n[tool.loop-close.checks]\ntests = "{command}"\n'
_LONGEST = 900.0
#: What another run, or an agent's shell, left in the environment.
_DROPPED = ("LOOP_CLOSE", "PYTEST_", "PYTHON", "VIRTUAL_ENV", "CLAUDE", "AI_AGENT", "GIT_")
#: A project a line: its name, public URL, the folder of the product, what its tests need, and arguments of pytest. Left
#: out are a test of attrs that fails on 3.11.7, and one of jinja that touches a tracked file, which voids each check.
_TABLE = """
attrs https://github.com/python-attrs/attrs src cloudpickle,hypothesis,pympler,pytest-xdist[psutil] \
    --deselect tests/test_converters.py::TestPipe::test_wrapped_annotation
boltons https://github.com/mahmoud/boltons boltons pytest --doctest-modules boltons tests
cachetools https://github.com/tkem/cachetools src pytest tests
click https://github.com/pallets/click src pytest
humanize https://github.com/python-humanize/humanize src freezegun,pytest-benchmark,pytest-cov tests
jinja https://github.com/pallets/jinja src pytest,pytest-timeout,trio \
    --deselect tests/test_loader.py::TestFileSystemLoader::test_caches_template_based_on_mtime
more-itertools https://github.com/more-itertools/more-itertools more_itertools pytest tests
pluggy https://github.com/pytest-dev/pluggy src pytest-benchmark testing
python-dotenv https://github.com/theskumar/python-dotenv src click,ipython,pytest,sh tests
python-tabulate https://github.com/astanin/python-tabulate tabulate pytest,wcwidth test
structlog https://github.com/hynek/structlog src \
    pytest-asyncio,pytest-randomly,rich,simplejson,time-machine,twisted
"""


class Project(NamedTuple):
    """A line of the table."""

    name: str
    url: str
    sources: str
    requires: str
    tests: str = ""


PROJECTS = {line.split()[0]: Project(*line.split(maxsplit=4)) for line in _TABLE.splitlines() if line}


def commits(clone: Path, sources: str) -> Iterator[str]:
    """The commits by the rule above, newest first."""
    words = ("log", "--no-merges", "--no-renames", "--name-status", "--format=%x00%H")
    for each in _said("git", *words, cwd=clone).split("\0")[1:]:
        commit, *lines = each.split("\n")
        paths = [line.split("\t") for line in lines if "\t" in line]
        python = [(kind, path) for kind, path in paths if path.endswith(".py")]
        is_tests = any(kind != "A" and is_test_module(path) for kind, path in python)
        is_product = any(path.startswith(f"{sources}/") and not is_test_file(path) for _, path in python)
        if is_tests and is_product:
            yield commit


def measure(project: Project, root: Path, commit: str, state_home: Path) -> tuple[list[State], str]:
    """Ask about the parent and, if that is done, about the commit; the seconds of the plain suite and of the latter.

    :param root: a clone with ``.venv``; what else is not of the commit is removed from it.
    """
    python = str(root / ".venv" / "bin" / "python")
    environ = _environ(root, state_home)
    tests = f"python -m pytest -q {project.tests}".strip()
    _said("git", "checkout", "-q", "--force", "--detach", f"{commit}^", cwd=root)
    _said("git", "clean", "-qffdx", "-e", "/.venv", cwd=root)
    _said(python, "-m", "pip", "install", "-q", "-e", ".", *project.requires.split(","), cwd=root)
    _configure(root, tests)
    before, _ = _check(root, environ)
    if before.verdict != "done":
        return [before], "|"
    began = time.perf_counter()
    subprocess.run(tests.split(), cwd=root, env=environ, capture_output=True, check=False, timeout=_LONGEST)
    plain = time.perf_counter() - began
    _said("git", "restore", "--source", commit, "--worktree", ".", cwd=root)
    _configure(root, tests)
    after, seconds = _check(root, environ)
    return [before, after], f"{plain:.1f} | {seconds:.1f}"


def _configure(root: Path, command: str) -> None:
    with (root / "pyproject.toml").open("a") as file:
        file.write(_SETTINGS.format(command=command))


def _check(root: Path, environ: Mapping[str, str]) -> tuple[State, float]:
    began = time.perf_counter()
    words = [str(root / ".venv" / "bin" / "loop-close"), "check"]
    ended = subprocess.run(
        words, cwd=root, env=environ, stdout=subprocess.PIPE, check=False, timeout=_LONGEST
    )
    seconds = time.perf_counter() - began
    os.environ["XDG_STATE_HOME"] = environ["XDG_STATE_HOME"]
    state = gate.state(root)
    print(f"  exit {ended.returncode}, {state.verdict}, {seconds:.1f} s", file=sys.stderr, flush=True)
    if ended.returncode in (64, 70) or state.verdict == "failing":
        print(ended.stdout.decode(errors="replace")[-6000:], file=sys.stderr, flush=True)
    return state, seconds


def _environ(root: Path, state_home: Path) -> dict[str, str]:
    """The environment of a shell in which the project's ``.venv`` is active."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_DROPPED)}
    path = os.pathsep.join((str(root / ".venv" / "bin"), os.environ["PATH"]))
    return {**kept, "PATH": path, "VIRTUAL_ENV": str(root / ".venv"), "XDG_STATE_HOME": str(state_home)}


def _said(*words: str, cwd: Path) -> str:
    ended = subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=False, timeout=_LONGEST)
    if ended.returncode:
        raise RuntimeError(f"{' '.join(words)}: {ended.stderr.strip()[-500:]}")
    return ended.stdout


def _rows(project: Project, root: Path, commit: str, state_home: Path) -> Iterator[str]:
    name = f"{project.name} | {commit[:10]}"
    try:
        states, seconds = measure(project, root, commit, state_home)
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        yield f"{name} | not measured | | | | {' '.join(str(error).split())[-400:]}"
        return
    last = states[-1]
    verdicts = [each.verdict for each in states] + ["not asked"] * (2 - len(states))
    yield f"{name} | {' | '.join(verdicts)} | {seconds} | {last.reason}"
    for objection in (each.objection for each in last.checks if each.objection is not None):
        yield f"    files: {' '.join(objection.files)}"
        yield from (f"    {old.outcome}: {old.test}: {old.reason}" for old in objection.tests)
        yield from [f"    and {objection.omitted} more"] * bool(objection.omitted)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the commits of each clone."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.edited_tests", description=__doc__)
    parser.add_argument("clones", nargs="+", type=Path, metavar="CLONE", help=f"of {', '.join(PROJECTS)}")
    parser.add_argument("--work", type=Path, required=True, help="a folder for working copies and states")
    parser.add_argument("-n", type=int, default=4, help="commits of each project (default: 4)")
    parser.add_argument("--commit", default="", help="only those that begin with this")
    options = parser.parse_args(arguments)
    work = options.work.resolve()
    print(f"{machine()}\nproject | commit | before | after | plain, s | second check, s | why")
    for clone in (each.resolve() for each in options.clones):
        project, root = PROJECTS[clone.name], work / clone.name
        _made(project, clone, root)
        for commit in list(commits(clone, project.sources))[: options.n]:
            if commit.startswith(options.commit):
                print(f"{root.name} {commit[:10]}", file=sys.stderr, flush=True)
                state_home = work / "state" / f"{root.name}-{commit[:10]}"
                shutil.rmtree(state_home, ignore_errors=True)
                print(*_rows(project, root, commit, state_home), sep="\n", flush=True)
    return 0


def _made(project: Project, clone: Path, root: Path) -> None:
    """Make the working copy, and in it ``.venv`` with this loop-close."""
    shutil.rmtree(root, ignore_errors=True)
    root.parent.mkdir(parents=True, exist_ok=True)
    _said("git", "clone", "-q", "--no-checkout", str(clone), str(root), cwd=root.parent)
    _said(sys.executable, "-m", "venv", ".venv", cwd=root)
    words = ("install", "-q", str(_REPOSITORY), *project.requires.split(","))
    _said(str(root / ".venv" / "bin" / "python"), "-m", "pip", *words, cwd=root)


if __name__ == "__main__":
    raise SystemExit(main())
