"""Run pytest in a copy of the project, and see what became of each test."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TypeVar

import msgspec

from loop_close.baseline.copy import CannotIsolateError, make
from loop_close.baseline.keep import Baseline
from loop_close.checks import VARIABLE, variables
from loop_close.child import Channel, Child, Stop
from loop_close.child import run as run_child
from loop_close.parts import PytestContext
from loop_close.records import Record
from loop_close.text import one_line
from loop_close.tree import Tree

_BOOT = Path(__file__).parent / "boot"
_Kind = TypeVar("_Kind", bound=Record)


class Found(Record, frozen=True):
    """What a run in a copy says.

    :ivar outcomes: by node id: the outcome and why. A module that could not be collected has its path as the id.
    :ivar collected: node ids of the tests that were to run.
    """

    outcomes: Mapping[str, tuple[str, str]] = {}
    collected: frozenset[str] = frozenset()


class _Report(Record, frozen=True):
    outcomes: Mapping[str, tuple[str, str]]
    collected: list[str]
    outside: list[str]
    is_main: bool


class _Seen(Record, frozen=True):
    read: list[str]
    written: list[str]


def run(
    root: Path,
    baseline: Baseline | None,
    tree: Tree,
    context: PytestContext,
    *,
    changed: Collection[str],
    seconds: float,
    functions: Collection[str] | None = None,
    stop: Stop | None = None,
) -> Found:
    """Run pytest as the check did, in a copy of the project.

    :param baseline: whose test files are there; None for the present ones.
    :param changed: files that must not be read where they are.
    :param functions: the test functions and modules to run; None for all.
    :raises CannotIsolateError: when the run says nothing, or the copy was left.
    """
    top = Path(os.path.realpath(root))
    # The name stays: the root may be a package.
    folder = Path(os.path.realpath(tempfile.mkdtemp(prefix="loop-close-")))
    try:
        copy = folder / "copy" / top.name
        environments = make(top, baseline, tree, copy)
        (folder / "wanted.json").write_text(json.dumps(None if functions is None else sorted(functions)))
        child, channel = _child(root, top, folder, copy, environments, context, seconds)
        ended = run_child(child, stop or Stop())
        if ended.is_late:
            raise CannotIsolateError(f"they did not end within {seconds:.0f} s")
        return _found(folder, top, changed, channel.tail.text())
    except OSError as error:
        raise CannotIsolateError(f"they cannot be run: {error}") from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _child(
    root: Path,
    top: Path,
    folder: Path,
    copy: Path,
    environments: list[str],
    context: PytestContext,
    seconds: float,
) -> tuple[Child, Channel]:
    names = "|".join(re.escape(each) for each in sorted({str(root), str(top)}, key=len, reverse=True))
    places = [re.sub(rf"^(?:{names})", "", each) for each in environments]
    inside = "".join(f"(?!{re.escape(each)}(?:/|$))" for each in places)
    pattern = re.compile(rf"(?<![^=:])(?:{names})(?=/|$|:){inside}")

    def moved(text: str) -> str:
        return pattern.sub(lambda _: str(copy), text)

    cwd = Path(os.path.realpath(context.cwd or root))
    for name, each in (("folder", cwd), ("root", Path(os.path.realpath(context.rootdir or root)))):
        if not each.is_relative_to(top):
            raise CannotIsolateError(f"the {name} of pytest, {each}, is not in the project")
    environ = variables(root, os.environ)
    environ = {name: value if name == "PATH" else moved(value) for name, value in environ.items()}
    paths = [moved(each) for each in context.pythonpath.split(os.pathsep) if each]
    environ |= {
        "PYTHONPATH": os.pathsep.join((str(_BOOT), *paths)),
        "LOOP_CLOSE_ROOT": os.pathsep.join(dict.fromkeys((os.path.abspath(root), str(top)))),
        "LOOP_CLOSE_COPY": str(copy),
        "LOOP_CLOSE_RUN": str(folder),
        "LOOP_CLOSE_ENVIRONMENTS": os.pathsep.join(environments),
        VARIABLE: str(folder / "parts"),  # where the plugin may report, and nowhere else
    }
    environ.pop("PYTHONPYCACHEPREFIX", None)  # where bytecode of the present files is
    words = [moved(each) for each in context.words or ("-m", "pytest") if each not in ("-O", "-OO")]
    args = [moved(each) for each in context.args]
    channel = Channel()
    child = Child(
        words=(context.executable or sys.executable, *words, "-p", "loop_close_copy", *args, "--maxfail=0"),
        root=copy / cwd.relative_to(top),
        environment=environ,
        channels=(channel,),
        seconds=seconds,
    )
    return child, channel


def _found(folder: Path, top: Path, changed: Collection[str], output: str) -> Found:
    """Join what the processes of the run noted.

    :raises CannotIsolateError: when the copy was left, or pytest did not report its end.
    """
    reports = [_read(path, _Report) for path in sorted(folder.glob("pytest-*.json"))]
    seen = [_read(path, _Seen) for path in sorted(folder.glob("seen-*.json"))]
    outside = [name for each in reports for name in each.outside]
    files = {str(top / path) for path in changed}
    outside += [name for each in seen for name in each.read if name in files]
    if outside:
        raise CannotIsolateError(f"a test file was read outside of the copy: {outside[0]}")
    if written := [name for each in seen for name in each.written]:
        raise CannotIsolateError(f"they write into the project: {os.path.relpath(written[0], top)}")
    if not any(each.is_main for each in reports):
        raise CannotIsolateError(f"pytest did not report its end: {_why(output)}")
    outcomes: dict[str, tuple[str, str]] = {}
    for each in reports:
        for test, outcome in each.outcomes.items():
            if outcomes.get(test, ("",))[0] != "failed":
                outcomes[test] = outcome
    collected = frozenset(test for each in reports for test in each.collected)
    return Found(outcomes=outcomes, collected=collected)


def _read(path: Path, kind: type[_Kind]) -> _Kind:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (OSError, msgspec.MsgspecError) as error:
        raise CannotIsolateError(f"the report of pytest cannot be read: {error}") from None


def _why(output: str) -> str:
    """The last error that pytest printed, else the last line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"E  |ERROR|\w*Error\b", line)]
    return one_line(((errors or lines)[-1:] or ["it printed nothing"])[0], 300)
