"""The checks of a project, the words that run them, and the environment of what ran: nothing is started here."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

from loop_close import files
from loop_close.conventions import OF_PYTEST
from loop_close.settings import Settings
from loop_close.tree import content_digest

#: The check of a project that names none.
DEFAULT = {"tests": "pytest"}
#: Variables that change what pytest runs or reports: a check is its exact command. Stale bytecode is looked for beside
#: its source. With those of xdist, which a test that runs us has, pytest would be taken for a worker.
_DROPPED = (
    *("PYTEST_ADDOPTS", "PYTEST_PLUGINS", "PYTHONOPTIMIZE", "PYTHONWARNINGS", "PYTHONPYCACHEPREFIX"),
    *("PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT", "PYTEST_XDIST_TESTRUNUID"),
)
#: The variable that makes pytest in a command report to us; its value is the folder for that.
VARIABLE = "LOOP_CLOSE"
_OURS: Mapping[str, tuple[str, ...]] = {
    "pytest": (sys.executable, "-m", "pytest"),
    "python": (sys.executable,),
    "python3": (sys.executable,),
}
_BIN = "Scripts" if os.name == "nt" else "bin"
#: Files that configure pytest, with what they have to contain.
_CONFIGURED = {
    **dict.fromkeys(OF_PYTEST, b""),
    "pyproject.toml": b"[tool.pytest",
    "tox.ini": b"[pytest]",
    "setup.cfg": b"[tool:pytest]",
}
_INSTALLED = (".dist-info", ".egg-info", ".egg-link", ".pth")
#: What is where distributions are installed, below the prefix of an interpreter.
_SITES = ("lib*/py*/*-packages/*", "[Ll]ib*/*-packages/*", "local/lib/py*/*-packages/*")
# Of pyvenv.cfg: where the interpreter is from.
_HOME = re.compile(r"^home\s*=\s*(.+?)\s*$", re.M)


def checks_of(settings: Settings) -> dict[str, tuple[str, ...]]:
    """The words of the checks that the settings name, in their order; pytest without any.

    Each is a command that has to succeed before the work is done.
    """
    return {name: tuple(shlex.split(command)) for name, command in (settings.checks or DEFAULT).items()}


# --- where the project begins


def root_of(folder: Path) -> Path:
    """The root of the project that a folder belongs to.

    The nearest folder with our settings or state, else the nearest that configures pytest, else the top of the
    repository, else the folder itself. A repository is never left: what lies around it is another project.
    """
    folders = list(_upwards(folder))
    ours, configured = filter(is_ours, folders), (each for each in folders if _has(each, _CONFIGURED))
    return next(chain(ours, configured, filter(_is_repository, folders)), folder)


def _upwards(folder: Path) -> Iterator[Path]:
    for each in (folder, *folder.parents):
        yield each
        if _is_repository(each):
            return


def _is_repository(folder: Path) -> bool:
    return (folder / ".git").exists()


def is_ours(folder: Path) -> bool:
    """Whether it has a state folder or our settings, so that somebody uses loop-close there."""
    return (folder / files.STATE_FOLDER).is_dir() or _has(folder, {"pyproject.toml": b"[tool.loop-close"})


def _has(folder: Path, tables: Mapping[str, bytes]) -> bool:
    """Whether one of the files is there and contains its table."""
    for name, table in tables.items():
        with contextlib.suppress(OSError):
            if table in (folder / name).read_bytes():
                return True
    return False


# --- how a check is started


def variables(root: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """The variables of a check's process: ours, with the programs of the project's environment first on the path.

    That is the active environment, else ``.venv`` or ``venv`` in the root.
    """
    kept = {name: value for name, value in environ.items() if name not in _DROPPED}
    active = environ.get("VIRTUAL_ENV"), environ.get("CONDA_PREFIX")
    own = str(root / ".venv"), str(root / "venv")
    places = [os.path.join(place, _BIN) for place in (*active, *own) if place]
    found = next(filter(os.path.isdir, places), "")
    kept["PATH"] = os.pathsep.join(filter(None, (found, environ.get("PATH", os.defpath))))
    return kept


def words_of(command: Sequence[str], variables: Mapping[str, str]) -> tuple[str, ...]:
    """The command with its program as an absolute path. pytest and Python fall back to those that run us.

    A program that is not found stays as it is.
    """
    program, *rest = command
    found = shutil.which(program, path=variables["PATH"])
    words = (os.path.abspath(found),) if found else _OURS.get(program, (program,))
    return (*words, *rest)


# --- the environment


def environment_of(programs: Iterable[str]) -> str:
    """A digest of the environments of interpreters, or of programs that are installed beside one.

    Nothing is started, and the answer does not depend on the process that asks: the names of installed distributions
    have their versions. Those of the system and of the user count, too: an environment may share them.

    :param programs: their absolute paths; links on them are what makes a virtual environment, and are not followed.
    """
    known = [sys.platform]
    for program in programs:
        real = os.path.realpath(program)
        known += [program, real]
        with contextlib.suppress(OSError):
            status = os.stat(real)
            known.append(f"{status.st_size} {status.st_mtime_ns}")
        prefixes = [
            *(Path(each).parent.parent for each in (program, real)),
            Path(os.path.expanduser("~/.local")),
        ]
        with contextlib.suppress(OSError):
            known.append((prefixes[0] / "pyvenv.cfg").read_text(encoding="utf-8", errors="replace"))
            prefixes += [Path(home).parent for home in _HOME.findall(known[-1])]
        found = {str(each) for prefix in prefixes for pattern in _SITES for each in prefix.glob(pattern)}
        known += sorted(each for each in found if each.endswith(_INSTALLED))
    return content_digest("\n".join(known).encode("utf-8", "surrogateescape"))
