"""The checks of a project, the words that run them, and the environment of what ran: nothing is started here."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from loop_close import files
from loop_close.conventions import OF_PYTEST
from loop_close.records import Environment, Record
from loop_close.settings import Settings
from loop_close.tree import content_digest

#: The check of a project that names none.
DEFAULT = {"tests": "pytest"}
#: Variables that change what pytest runs or reports: a check is its exact command. With those of xdist, which a test
#: that runs us has, pytest would be taken for a worker.
_DROPPED = (
    *("PYTEST_ADDOPTS", "PYTEST_PLUGINS", "PYTHONOPTIMIZE", "PYTHONWARNINGS"),
    *("PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT", "PYTEST_XDIST_TESTRUNUID"),
)
#: The variable that makes pytest in a command report to us; its value is the folder for that.
VARIABLE = "LOOP_CLOSE"
_BIN = "Scripts" if os.name == "nt" else "bin"
_CONFIGURED = {
    "pyproject.toml": (b"[tool.pytest",),
    "tox.ini": (b"[pytest]",),
    "setup.cfg": (b"[tool:pytest]",),
}
_INSTALLED = (".dist-info", ".egg-info", ".egg-link", ".pth")


class Check(Record, frozen=True):
    """A command that has to succeed before the work is done.

    :ivar command: its words.
    """

    name: str
    command: tuple[str, ...]


def checks_of(settings: Settings) -> tuple[Check, ...]:
    """The checks that the settings name, in their order; pytest without any."""
    named = settings.checks or DEFAULT
    return tuple(Check(name=name, command=tuple(shlex.split(command))) for name, command in named.items())


# --- where the project begins


def root_of(folder: Path) -> Path:
    """The root of the project that a folder belongs to.

    The nearest folder with our settings or state, else the nearest that configures pytest, else the top of the
    repository, else the folder itself. A repository is never left: what lies around it is another project.
    """
    folders = list(_upwards(folder))
    for is_root in (is_ours, _configures_pytest):
        for each in folders:
            if is_root(each):
                return each
    return folders[-1] if (folders[-1] / ".git").exists() else folder


def _upwards(folder: Path) -> Iterator[Path]:
    for each in (folder, *folder.parents):
        yield each
        if (each / ".git").exists():
            return


def is_ours(folder: Path) -> bool:
    """Whether it has a state folder or our settings, so that somebody uses loop-close there."""
    try:
        return (folder / files.STATE_FOLDER).is_dir() or bool(files.settings_table(folder))
    except (
        files.UnusablePathError,
        OSError,
    ):  # of the root it is reported later; other folders do not matter
        return False


def _configures_pytest(folder: Path) -> bool:
    if any((folder / name).is_file() for name in OF_PYTEST):
        return True
    for name, tables in _CONFIGURED.items():
        with contextlib.suppress(OSError):
            content = (folder / name).read_bytes()
            if any(table in content for table in tables):
                return True
    return False


# --- how a check is started


def variables(root: Path, environ: Mapping[str, str], folder: Path | None = None) -> dict[str, str]:
    """The variables of a check's process: ours, with the programs of the project's environment first on the path.

    That is the active environment, else ``.venv`` or ``venv`` in the root.

    :param folder: where pytest is to report to.
    """
    kept = {name: value for name, value in environ.items() if name not in _DROPPED}
    active = [environ.get(name, "") for name in ("VIRTUAL_ENV", "CONDA_PREFIX")]
    own = [str(root / name) for name in (".venv", "venv")]
    places = [os.path.join(place, _BIN) for place in (*active, *own) if place]
    found = next((place for place in places if os.path.isdir(place)), "")
    path = environ.get("PATH", os.defpath)
    kept["PATH"] = os.pathsep.join((found, path)) if found else path
    if folder is not None:
        kept[VARIABLE] = str(folder)
    return kept


def words_of(check: Check, variables: Mapping[str, str]) -> tuple[str, ...]:
    """The command with its program as an absolute path. pytest and Python fall back to those that run us.

    A program that is not found stays as it is.
    """
    program, *rest = check.command
    found = shutil.which(program, path=variables["PATH"])
    if found is not None:
        return (os.path.abspath(found), *rest)
    if program in ("python", "python3"):
        return (sys.executable, *rest)
    return (sys.executable, "-m", "pytest", *rest) if program == "pytest" else check.command


# --- the environment


def environment_of(program: str) -> Environment:
    """The environment of an interpreter, or of a program that is installed beside one.

    Nothing is started, and the answer does not depend on the process that asks: the names of installed distributions
    have their versions.

    :param program: its absolute path; links on it are what makes a virtual environment, and are not followed.
    """
    prefixes = [Path(program).parent.parent]
    real = os.path.realpath(program)
    said = ""
    try:
        said = (prefixes[0] / "pyvenv.cfg").read_text(encoding="utf-8", errors="replace")
    except OSError:
        prefixes = [Path(real).parent.parent, _user()]
    values = {
        key.strip(): value.strip() for key, _, value in (line.partition("=") for line in said.splitlines())
    }
    if values.get("include-system-site-packages") == "true":
        prefixes += [Path(values.get("home", "")).parent, _user()]
    site = _site_folders(prefixes)
    names = [name for folder in site for name in _names(folder) if name.endswith(_INSTALLED)]
    try:
        status = os.stat(real)
        build = f"{status.st_size} {status.st_mtime_ns}"
    except OSError:
        build = "missing"
    return Environment(
        executable=program,
        interpreter=f"{real} {values.get('version') or values.get('version_info', '')} {build}",
        platform=sys.platform,
        site=tuple(site),
        distributions=content_digest("\n".join(names).encode("utf-8", "surrogateescape")),
    )


def _user() -> Path:
    return Path(os.path.expanduser("~"), ".local")


def _site_folders(prefixes: Sequence[Path]) -> list[str]:
    found = []
    for prefix in dict.fromkeys(prefixes):
        for lib in (prefix / "lib", prefix / "lib64", prefix / "local" / "lib", prefix / "Lib"):
            pythons = [lib / name for name in _names(lib) if name.startswith(("python3", "pypy3"))]
            found += [f"{at / name}" for at in (lib, *pythons) for name in ("site-packages", "dist-packages")]
    return [folder for folder in found if os.path.isdir(folder)]


def _names(folder: str | Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def digests_of(programs: Iterable[str]) -> dict[str, str]:
    """The digest of the environment of each program."""
    return {
        each: content_digest(msgspec.json.encode(environment_of(each))) for each in dict.fromkeys(programs)
    }


def joined(programs: Iterable[str], digests: Mapping[str, str]) -> str:
    """What a run keeps of its environments, see :attr:`loop_close.records.Run.environment`."""
    return "+".join(digests.get(each, "") for each in programs)
