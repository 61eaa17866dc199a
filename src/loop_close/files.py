"""The files that a run writes: where they are, how they are written, and what becomes of those of the run before."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from loop_close.settings import DEFAULT_HISTORY, OFF, Settings, is_url
from loop_close.text import reason_of

STATE_FOLDER = ".loop-close"
#: What a red run leaves in the state folder: everything, and the failing tests as arguments for pytest.
REPORT = f"{STATE_FOLDER}/report.json"
#: The stat cache of the tree.
TREE_CACHE = f"{STATE_FOLDER}/tree"
FAILED = f"{STATE_FOLDER}/failed.txt"
#: What tests say without the change.
UNDO = f"{STATE_FOLDER}/undo.json"
#: The variable of the environment that holds the URL of a shared history.
URL_VARIABLE = "LOOP_CLOSE_HISTORY"
RUNNING = "# Tests are running"
FAULT = "# loop-close could not read this run"
#: The last line of every prompt that we write. A file is replaced only if it is empty or ends so.
SIGNATURE = "<!-- loop-close -->"
#: How the JSON documents begin that we write.
OUR_JSON = ('{\n"schema": "loop-close.report/', '{\n"schema": "loop-close.summary/')

RUNNING_TEXT = f"""{RUNNING}

This file is rewritten when the run ends. If no test run is active, the run was killed.
The report of the run before, if tests failed in it: `{REPORT}`; the failing tests: `{FAILED}`.
"""
# Of a file these many bytes say whether it is ours.
_ENOUGH = 200


class UnusablePathError(ValueError):
    """A path that cannot be written; the text says why and what would do."""


def check_writable(path: Path, others: tuple[str, ...] = ()) -> None:
    """Make sure that ``path`` can be replaced by a file of ours; make its folder if necessary.

    :param others: as in :func:`is_ours`.
    :raises UnusablePathError: for a folder, a folder that cannot be made, or a file that is not ours.
    """
    if path.is_dir():
        raise UnusablePathError(f"{path} is a folder; name a file")
    if path.exists() and not path.is_file():  # to replace /dev/null would be worse than to fail
        raise UnusablePathError(f"{path} is not a regular file; name another file")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UnusablePathError(f"{path} cannot be written: {reason_of(error)}") from error
    if not is_ours(path, others):
        raise UnusablePathError(
            f"{path} exists and was not written by loop-close; remove it or name another file"
        )


def check_inside(root: Path, path: Path) -> Path:
    """The path, which no symbolic link may lead out of the root if it begins there.

    :raises UnusablePathError: when one does.
    """
    if path.is_relative_to(root) and not path.resolve().is_relative_to(root.resolve()):
        raise UnusablePathError(f"{path.relative_to(root)} leads out of the project through a symbolic link")
    return path


def is_ours(path: Path, others: tuple[str, ...] = ()) -> bool:
    """Whether the file is not there, empty, a prompt, or a JSON report or summary that we wrote.

    :param others: how other documents of ours begin.
    """
    try:
        begin, end = _ends(path)
    except OSError as error:
        return isinstance(error, FileNotFoundError)
    is_prompt = begin.startswith("# ") and end.rstrip().endswith(SIGNATURE)
    return not begin.strip() or is_prompt or begin.startswith((*OUR_JSON, *others))


def is_finished(path: Path) -> bool:
    """Whether the file is a prompt that we wrote at the end of a run; False for one that cannot be read."""
    try:
        begin, end = _ends(path)
    except OSError:
        return False
    return end.rstrip().endswith(SIGNATURE) and begin.startswith("# ") and not begin.startswith(RUNNING)


def _ends(path: Path) -> tuple[str, str]:
    """The first and the last bytes of a file, as text."""
    with path.open("rb") as file:
        begin = file.read(_ENOUGH)
        file.seek(max(0, file.seek(0, os.SEEK_END) - _ENOUGH))
        return begin.decode("utf-8", "replace"), file.read().decode("utf-8", "replace")


def without_signature(text: str) -> str:
    """The text of a prompt, for readers who have no use for our mark."""
    return text.removesuffix(f"\n{SIGNATURE}\n")


def write(path: Path, pieces: Iterable[str], *, is_private: bool = False) -> None:
    """Replace the file by the pieces, UTF-8, in one step: a reader sees the old text or the new one.

    :param is_private: only its owner may read it, whatever was in its place.
    :raises OSError: when it cannot be written; the old file is then untouched.
    """
    write_bytes(path, "".join(pieces).encode("utf-8", "replace"), is_private=is_private)


def write_bytes(path: Path, content: bytes, *, is_private: bool = True) -> None:
    """The same of bytes."""
    handle, temporary = tempfile.mkstemp(prefix=".loop-close-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        if not is_private:
            os.chmod(temporary, _mode_of(path))
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _mode_of(path: Path) -> int:
    """The permissions the file has, or those a new file gets (``mkstemp`` makes private ones)."""
    try:
        return path.stat().st_mode & 0o7777
    except OSError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def state_folder(root: Path) -> Path:
    """The folder for what is kept between runs, made if need be, ignored by git.

    :raises OSError: when it cannot be made.
    """
    folder = root / STATE_FOLDER
    if folder.is_symlink():
        raise OSError(f"{STATE_FOLDER} is a symbolic link")  # what it leads to is not ours to write
    folder.mkdir(exist_ok=True)
    ignore = folder / ".gitignore"
    if not ignore.exists():
        write(ignore, ["*\n"])
    return folder


def outside(root: Path, name: str) -> Path | None:
    """A folder in the user's state folder, outside of the project; not made yet.

    :returns: None if the state folder lies in the project.
    """
    folder = Path(os.path.realpath(_state_home())) / "loop-close" / name
    return None if folder.is_relative_to(os.path.realpath(root)) else folder


def _state_home() -> Path:
    given = os.environ.get("XDG_STATE_HOME", "")
    if not os.path.isabs(given) and os.name == "nt":
        given = os.environ.get("LOCALAPPDATA", "")
    if os.path.isabs(given):
        return Path(given)
    with contextlib.suppress(RuntimeError):  # there is no home
        return Path.home() / ".local" / "state"
    return Path(tempfile.gettempdir())


def forget_run(root: Path) -> None:
    """Remove what the last red run left.

    :raises OSError: when it is there and cannot be removed.
    """
    if not (root / STATE_FOLDER).is_symlink():
        (root / REPORT).unlink(missing_ok=True)
        (root / FAILED).unlink(missing_ok=True)


def write_failed(root: Path, nodeids: Collection[str]) -> None:
    """Write the failing tests, one a line, as pytest takes them from a file (``@failed.txt``).

    The ids are exact, as a rerun needs them; so the file is as private as the history. One that a line cannot hold
    is a JSON string, which only ``--loop-close-failed`` reads.

    :raises OSError: when it cannot be written.
    """
    write(root / FAILED, (f"{_line_of(nodeid)}\n" for nodeid in sorted(nodeids)), is_private=True)


def _line_of(nodeid: str) -> str:
    is_line = len(nodeid.splitlines()) == 1 and nodeid.isprintable() and not nodeid.startswith('"')
    if not is_line:
        return json.dumps(nodeid)
    return f"./{nodeid}" if nodeid.startswith(("-", "@")) else nodeid


def read_failed(root: Path) -> list[str]:
    """The node ids of :func:`write_failed`; empty if there are none.

    :raises ValueError: for a line that is not a node id.
    :raises OSError: when the file is there and cannot be read.
    """
    path = root / FAILED
    if not path.is_file():
        return []
    lines = path.read_text(encoding="utf-8").splitlines()
    return [_nodeid_of(line) for line in lines if line]


def _nodeid_of(line: str) -> str:
    if line.startswith('"'):
        return str(json.loads(line))
    return line.removeprefix("./")


def settings_table(root: Path) -> Mapping[str, Any]:
    """``[tool.loop-close]`` of the root's ``pyproject.toml``; empty if there is none.

    :raises UnusablePathError: when the file is not TOML.
    """
    path = root / "pyproject.toml"
    try:
        if not path.is_file():  # nothing that a reader would wait for
            return {}
        content = path.read_bytes()
    except OSError:
        return {}
    import tomllib  # late, as in many projects there is nothing to read for it

    try:
        document = tomllib.loads(content.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UnusablePathError(f"{path.name} is not valid TOML: {error}") from error
    tool = document.get("tool", {})
    table: Mapping[str, Any] = tool.get("loop-close", {}) if isinstance(tool, Mapping) else {}
    return table


# --- the files that a run writes: where they are, and what becomes of those of the run before


class Targets(NamedTuple):
    """Where to write.

    :ivar json: None if no JSON report is wanted.
    :ivar history: None if nothing is to be remembered.
    :ivar shared: the URL of the database in which runs are shared; empty for none.
    """

    root: Path
    prompt: Path
    json: Path | None
    history: Path | None
    settings: Settings
    shared: str = ""

    @property
    def name(self) -> str:
        """The prompt's path as the project writes it."""
        is_inside = self.prompt.is_relative_to(self.root)
        return self.prompt.relative_to(self.root).as_posix() if is_inside else str(self.prompt)

    def announce(self) -> Mapping[Path, bytes]:
        """Say in the prompt that tests are running, and remove the JSON report. The state folder keeps its report.

        What cannot be written is reported at the end of the run.

        :returns: what the files held that are replaced, for :func:`restore`.
        """
        former = self.contents()
        with contextlib.suppress(OSError, UnusablePathError):
            self.write_prompt(RUNNING_TEXT)
        if self.json is not None and self.json in former:
            with contextlib.suppress(OSError):
                self.json.unlink()
        return former

    def contents(self) -> dict[Path, bytes]:
        """What the prompt and the JSON report hold, as far as they are there and ours."""
        found: dict[Path, bytes] = {}
        for path in filter(None, (self.prompt, self.json)):
            with contextlib.suppress(OSError, UnusablePathError):
                self._check(path)
                found[path] = path.read_bytes()
        return found

    def write_prompt(self, text: str) -> None:
        """Replace the prompt, signed so that the next run may replace it; as :meth:`write`."""
        self.write(self.prompt, [text, f"\n{SIGNATURE}\n"])

    def write(self, path: Path, pieces: Iterable[str]) -> None:
        """Replace the prompt or the JSON report.

        :raises UnusablePathError: when its path cannot be written, or holds what we did not write.
        :raises OSError: when writing fails; the old file is then untouched.
        """
        self._check(path)
        write(path, pieces)

    def _check(self, path: Path) -> None:
        try:
            check_writable(check_inside(self.root, path))
        except UnusablePathError as error:  # by the name that the user knows
            raise UnusablePathError(str(error).replace(f"{self.root}{os.sep}", "", 1)) from error


def targets_of(root: Path, settings: Settings, given: Mapping[str, Path], url: str = "") -> Targets:
    """The files that the settings name.

    :param root: the project's root, absolute.
    :param given: paths from the command line, by the name of their setting: ``file``, ``json``, ``history``.
    :param url: of a shared history, from the command line; it wins over the environment, which wins over the settings.
    :raises UnusablePathError: when a setting leads out of the root, and when both files are one.
    """

    def path(key: str, value: str) -> Path:
        found = Path(os.path.normpath(given.get(key, root / value)))  # no link leads out of the root by ..
        if key not in given and not found.is_relative_to(root):
            raise UnusablePathError(f"[tool.loop-close] {key} must be a path below the root, not {value!r}")
        return found

    prompt = path("file", settings.file)
    report = path("json", settings.json) if settings.json else None
    local = (
        DEFAULT_HISTORY if is_url(settings.history) else settings.history
    )  # beside a URL, in its usual place
    history = path("history", local) if local != OFF else None
    if report is not None and os.path.realpath(prompt) == os.path.realpath(report):
        raise UnusablePathError(f"{prompt} cannot be both the prompt and the JSON report")
    urls = (url, os.environ.get(URL_VARIABLE, ""), settings.history) if history is not None else ()
    return Targets(root, prompt, report, history, settings, next(filter(is_url, urls), ""))


def shows_failing_tests(former: Mapping[Path, bytes], targets: Targets) -> bool:
    """Whether there was a prompt before this run, and the list of the tests that failed then.

    :param former: what :meth:`Targets.announce` returned.
    """
    return bool(former.get(targets.prompt)) and (targets.root / FAILED).is_file()


def restore(former: Mapping[Path, bytes]) -> None:
    """Put back what :meth:`Targets.announce` replaced."""
    for path, content in former.items():
        with contextlib.suppress(OSError):
            write_bytes(path, content, is_private=False)
