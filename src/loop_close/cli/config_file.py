"""A configuration that belongs to somebody else: read, changed or removed whole, never where a link leads astray."""

from __future__ import annotations

import contextlib
import difflib
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from loop_close import files
from loop_close.cli.parser import UsageError
from loop_close.text.redact import redact

_MAX_SIZE = 10_000_000


@dataclass(frozen=True, kw_only=True, slots=True)
class ConfigFile:
    """A file below a folder.

    :ivar base: the folder, which is there.
    :ivar name: the file's path below it.
    :ivar shown: how to name the file to a person.
    """

    base: Path
    name: str
    shown: str

    @property
    def path(self) -> Path:
        """Where the file is, or would be, links followed: they stay links.

        :raises UsageError: when that is not below the folder.
        """
        path = Path(os.path.realpath(self.base / self.name))
        if not path.is_relative_to(os.path.realpath(self.base)):
            raise self.refusal(
                f"a symbolic link points outside {self.base}, to {path}; edit that file by hand"
            )
        return path

    def refusal(self, why: object) -> UsageError:
        """The error that says why nothing was done."""
        return UsageError(f"{self.shown}: {why} (nothing was changed)")


def content_of(file: ConfigFile) -> str | None:
    """The file's text, line ends as they are; None where there is no such file.

    :raises UsageError: when it cannot be read, or could not be written.
    """
    try:
        state = os.stat(file.path)
    except FileNotFoundError:
        _check_absent(file)
        return None
    except NotADirectoryError:
        raise file.refusal("a file is in the place of its folder; move that file away") from None
    except OSError as error:
        raise file.refusal(f"cannot be read: {error.strerror or error}") from None
    if not stat.S_ISREG(state.st_mode):
        raise file.refusal("not a regular file; move it away")
    if not state.st_mode & 0o222:  # to the superuser it would be none: whoever set it has a reason
        raise file.refusal("read-only; make it writable first")
    if state.st_size > _MAX_SIZE:
        raise file.refusal(f"larger than {_MAX_SIZE:,} bytes; that is not a configuration file")
    return _text(file)


def _check_absent(file: ConfigFile) -> None:
    if os.path.lexists(file.base / file.name):
        raise file.refusal("a broken symbolic link; remove it or create its target")


def _text(file: ConfigFile) -> str:
    try:
        return file.path.read_bytes().decode()
    except UnicodeDecodeError as error:
        raise file.refusal(f"invalid UTF-8 at byte {error.start}; save it as UTF-8") from None
    except OSError as error:
        raise file.refusal(f"cannot be read: {error.strerror or error}") from None


def save(file: ConfigFile, text: str, *, is_program: bool = False) -> None:
    """Write the file whole, its folders with it where they are not there.

    :param is_program: make it executable.
    :raises UsageError: when it cannot be written; it is then as it was.
    """
    made = _made_folders(file)
    try:
        files.write(file.path, [text])
        if is_program:
            make_executable(file)
    except OSError as error:
        for folder in reversed(made):
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise file.refusal(f"cannot be written: {error.strerror or error}") from None


def _made_folders(file: ConfigFile) -> list[Path]:
    missing = [each for each in reversed(file.path.parents) if not os.path.exists(each)]
    for folder in missing:
        try:
            folder.mkdir()
        except OSError as error:
            raise file.refusal(f"{folder} cannot be created: {error.strerror or error}") from None
    return missing


def is_executable(file: ConfigFile) -> bool:
    """Whether it can be run."""
    return bool(os.stat(file.path).st_mode & 0o100)


def make_executable(file: ConfigFile) -> None:
    """Let those who may read it run it.

    :raises OSError: when that cannot be.
    """
    mode = stat.S_IMODE(os.stat(file.path).st_mode)
    os.chmod(file.path, mode | (mode & 0o444) >> 2)


def remove(file: ConfigFile) -> None:
    """Remove the file, and the folders below the base that it leaves empty.

    :raises UsageError: when it cannot be removed.
    """
    try:
        os.unlink(file.base / file.name)
    except OSError as error:
        raise file.refusal(f"cannot be removed: {error.strerror or error}") from None
    for folder in (file.base / file.name).parents:
        if folder == file.base:
            return
        try:
            folder.rmdir()
        except OSError:  # something else is in it
            return


def difference(file: ConfigFile, old: str | None, new: str | None) -> str:
    """A unified diff; empty where the texts are the same.

    :param old: None where there is no file yet; ``new``: None where there is none any more.
    :returns: safe to show: without the credentials that such files hold, and without control characters.
    """
    before, after = ("/dev/null" if text is None else file.shown for text in (old, new))
    lines = difflib.unified_diff(_lines(old), _lines(new), before, after, lineterm="")
    text = redact("\n".join(lines))
    return "".join(c if c.isprintable() or c in "\n\t" else ascii(c)[1:-1] for c in text)


def _lines(text: str | None) -> list[str]:
    if not text:
        return []
    lines = text.replace("\r\n", "\n").split("\n")
    last = lines.pop()
    return [*lines, f"{last}\n\\ No newline at end of file"] if last else lines
