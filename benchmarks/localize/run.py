"""One run of a project's tests in a copy of its tree: the same surroundings whatever tool reports on it."""

from __future__ import annotations

import os
import resource
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.localize.projects import Project

_REPOSITORY = Path(__file__).parents[2]
_MEMORY = 4 << 30  # a fault that makes an endless list ends with MemoryError and takes no other program along


@dataclass(frozen=True, kw_only=True, slots=True)
class Ran:
    """The outcome of a run.

    :ivar code: the exit code, None if it took too long.
    :ivar output: standard output, with what went to standard error.
    """

    code: int | None
    output: str
    seconds: float


def command(project: Project, python: str = sys.executable) -> list[str]:
    """Pytest on a project's tests, with no plugin but what they need; no options but ours."""
    plain = ["-q", "-o", "addopts=", "-p", "no:cacheprovider"]
    return [python, "-m", "pytest", *plain, *project.arguments]


def surroundings(project: Project, root: Path, more: Mapping[str, str]) -> dict[str, str]:
    """The variables for a run: no plugin by itself, no bytecode, no colours, nothing that differs by machine."""
    kept = {
        name: os.environ[name] for name in ("PATH", "HOME", "LD_LIBRARY_PATH", "TMPDIR") if name in os.environ
    }
    steady = {"LC_ALL": "C.UTF-8", "TZ": "UTC", "PYTHONHASHSEED": "0", "COLUMNS": "100", "NO_COLOR": "1"}
    quiet = {"PYTHONDONTWRITEBYTECODE": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    path = os.pathsep.join([str((root / project.path).resolve()), str(_REPOSITORY)])
    return {**kept, **steady, **quiet, "PYTHONPATH": path, **more}


def run(
    project: Project,
    root: Path,
    arguments: Sequence[str],
    *,
    timeout: float,
    python: str,
    more: Mapping[str, str],
    by_environment: bool = False,
) -> Ran:
    """Run a project's tests with more arguments and variables.

    :param timeout: seconds, after which it is ended with all that it started.
    :param by_environment: all options go into ``PYTEST_ADDOPTS``: a user has what a project's tests need in its
        configuration, where it is not part of the command that a prompt repeats.
    """
    began = time.monotonic()
    words = [*command(project, python), *arguments]
    if by_environment:
        more = {**more, "PYTEST_ADDOPTS": shlex.join(words[3:])}
    with subprocess.Popen(
        words[:3] if by_environment else words,
        cwd=root,
        env=surroundings(project, root, more),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        preexec_fn=_bounded,
    ) as process:
        try:
            output, _ = process.communicate(timeout=timeout)
            code: int | None = process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, code = process.communicate()[0], None
    return Ran(code=code, output=output.decode(errors="replace"), seconds=time.monotonic() - began)


def _bounded() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
