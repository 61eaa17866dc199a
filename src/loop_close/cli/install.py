"""``loop-close install`` and ``uninstall``: our hook in an agent's configuration, or our section in ``AGENTS.md``."""

from __future__ import annotations

import argparse
import contextlib
import difflib
import os
import shutil
import stat
from pathlib import Path
from typing import NamedTuple

from loop_close import files
from loop_close.checks import is_ours
from loop_close.cli import Streams, UsageError, config_file
from loop_close.cli.project import root_of, settings_of
from loop_close.hosts import NAMES, ConfigError, Host, host_named
from loop_close.provenance import agent_of
from loop_close.text.redact import redact

_DRY = "nothing was written (--dry-run)"
_LARGEST = 10_000_000


def install(options: argparse.Namespace, streams: Streams) -> int:
    """Put the hook or the section in, once, and print what that changes; always 0."""
    host, file = _asked_for(options)
    old = content_of(file)
    try:
        if host is None:
            new = config_file.with_section(old, settings_of(file.base).file)
        else:
            new = config_file.added(host.name, host.config, old)
    except ConfigError as error:
        raise file.refusal(error) from None
    if new == old and not (host and host.config.script and not os.access(file.path, os.X_OK)):
        streams.say(f"already installed: {file.shown}")
        return 0
    _change(file, old, new, options, streams, is_program=bool(host and host.config.script))
    streams.say(_DRY if options.dry_run else f"installed: {file.shown}")
    if host is not None:
        _tell_the_rest(host, file, options, streams)
    return 0


def uninstall(options: argparse.Namespace, streams: Streams) -> int:
    """Take the hook or the section out, and print what that changes; 0 although there was none."""
    host, file = _asked_for(options)
    old = content_of(file)
    try:
        if old is None or host is None:
            new = old and config_file.without_section(old)
        else:
            new = config_file.removed(host.name, host.config, old)
    except ConfigError as error:
        raise file.refusal(error) from None
    if new == old:
        streams.say(f"not installed: {file.shown}")
        return 0
    _change(file, old, new, options, streams)
    streams.say(_DRY if options.dry_run else f"uninstalled: {file.shown}")
    return 0


class ConfigFile(NamedTuple):
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
            raise self.refusal(f"a symbolic link points outside {self.base}: edit {path} by hand")
        return path

    def refusal(self, why: object) -> UsageError:
        """The error that says why nothing was done."""
        return UsageError(f"{self.shown}: {why} (nothing was changed)")


def _asked_for(options: argparse.Namespace) -> tuple[Host | None, ConfigFile]:
    """The host, None for ``AGENTS.md``, and the file to change.

    :raises UsageError: for options that name neither, an unknown host, or ``AGENTS.md`` of a user.
    """
    if options.host is None and not options.agents_md:
        agent, variable = agent_of(os.environ)
        known = f" ({variable} is set: --host {agent})" if agent in NAMES else ""
        raise UsageError(f"give --host NAME or --agents-md{known}")
    if options.host is None:
        if options.user:
            raise UsageError("--agents-md is for one project: leave --user out")
        return None, ConfigFile(_project(), config_file.NAME, config_file.NAME)
    try:
        host = host_named(options.host)
    except ValueError as error:
        raise UsageError(str(error)) from None
    if not options.user:
        return host, ConfigFile(_project(), host.config.project, host.config.project)
    name = host.config.user or host.config.project
    home = Path(os.path.expanduser("~"))
    if not home.is_dir():
        raise UsageError(f"the home folder {home} does not exist: set HOME")
    return host, ConfigFile(home, name, f"~/{name}")


def _project() -> Path:
    """The root of the project that the working directory belongs to: that of ours, else of its repository."""
    here = Path.cwd()
    root = root_of(here)
    if root != here or is_ours(here):
        return root
    return next((each for each in (here, *here.parents) if (each / ".git").exists()), here)


def content_of(file: ConfigFile) -> str | None:
    """The file's text, line ends as they are; None if there is no such file.

    :raises UsageError: when it cannot be read, or must not be written.
    """
    try:
        state = os.stat(file.path)
        if not stat.S_ISREG(state.st_mode) or state.st_size > _LARGEST:
            raise file.refusal("not a regular file of a configuration; move it away")
        if not state.st_mode & 0o222:  # the mode counts for the superuser, too: it was set for a reason
            raise file.refusal("read-only; make it writable first")
        return file.path.read_bytes().decode()
    except FileNotFoundError:
        if os.path.lexists(file.base / file.name):
            raise file.refusal("a broken symbolic link; remove it or create its target") from None
        return None
    except UnicodeDecodeError as error:
        raise file.refusal(f"invalid UTF-8 at byte {error.start}; save it as UTF-8") from None
    except OSError as error:
        raise file.refusal(f"cannot be read: {error.strerror or error}") from None


def _change(
    file: ConfigFile,
    old: str | None,
    new: str | None,
    options: argparse.Namespace,
    streams: Streams,
    *,
    is_program: bool = False,
) -> None:
    """Write the new text, or remove the file for None, and show the difference.

    :raises UsageError: when that cannot be done; the file is then as it was.
    """
    if not options.dry_run:
        try:
            if new is None:
                _remove(file)
            else:
                _save(file.path, new, is_program=is_program)
        except OSError as error:
            raise file.refusal(f"cannot be changed: {error.strerror or error}") from None
    if text := difference(file.shown, old, new):
        streams.say(text)


def _save(path: Path, text: str, *, is_program: bool) -> None:
    made = [each for each in path.parents if not each.exists()]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write(path, [text])
        if is_program:
            os.chmod(path, stat.S_IMODE(path.stat().st_mode) | 0o111)
    except OSError:
        for folder in made:
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise


def _remove(file: ConfigFile) -> None:
    """Remove the file, a link to it, and the folders below the base that it leaves empty."""
    named, path = file.base / file.name, file.path
    os.unlink(path)
    if named.is_symlink():
        os.unlink(named)
    with contextlib.suppress(OSError):  # something else is in it
        for folder in named.parents:
            if folder == file.base:
                return
            folder.rmdir()


def difference(name: str, old: str | None, new: str | None) -> str:
    """A unified diff; empty if the texts are the same.

    :param old: None if there is no file yet; ``new``: None if there is none any more.
    :returns: safe to show: without the credentials that such files hold, and without control characters.
    """
    before, after = ("/dev/null" if text is None else name for text in (old, new))
    lines = difflib.unified_diff(_lines(old), _lines(new), before, after, lineterm="")
    text = redact("\n".join(lines))
    return "".join(c if c.isprintable() or c in "\n\t" else ascii(c)[1:-1] for c in text)


def _lines(text: str | None) -> list[str]:
    return (text or "").replace("\r\n", "\n").removesuffix("\n").split("\n")


def _tell_the_rest(host: Host, file: ConfigFile, options: argparse.Namespace, streams: Streams) -> None:
    """What a person has to know or do before the hook works."""
    if host.config.note:
        streams.complain(host.config.note)
    moved = os.environ.get(host.config.home or "-")
    folder = file.base / Path(file.name).parts[0]
    if options.user and moved and os.path.realpath(moved) != os.path.realpath(folder):
        streams.complain(f"{host.config.home} is set: {host.title} reads its configuration from {moved}")
    if shutil.which("loop-close") is None:
        streams.complain("loop-close is not on the PATH; the agent needs it on its PATH")
