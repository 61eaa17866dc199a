"""``loop-close install`` and ``uninstall``: our hook in an agent's configuration, or our section in ``AGENTS.md``."""

from __future__ import annotations

import argparse
import contextlib
import difflib
import os
import shutil
import stat
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from loop_close import files
from loop_close.checks import root_of
from loop_close.cli import Streams, UsageError, config_file, project_at
from loop_close.hosts import NAMES, ConfigError, Host, host_named
from loop_close.provenance import agent_of
from loop_close.text.redact import redact


def install(options: argparse.Namespace, streams: Streams) -> int:
    """Put the hook or the section in, once, and print what that changes; always 0."""
    host, file = _asked_for(options)
    if host is None:
        _edit(
            file,
            partial(config_file.with_section, file=project_at(file.base).settings.file),
            options,
            streams,
        )
    elif _edit(file, partial(config_file.added, host.name, host.config), options, streams):
        _tell_the_rest(host, options, streams)
    return 0


def uninstall(options: argparse.Namespace, streams: Streams) -> int:
    """Take the hook or the section out, and print what that changes; 0 although there was none."""
    host, file = _asked_for(options)
    take_out = partial(config_file.removed, host.name, host.config) if host else config_file.without_section
    _edit(file, lambda old: None if old is None else take_out(old), options, streams)
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
    if options.agents_md == bool(options.host):
        agent, variable = agent_of(os.environ)
        known = f" ({variable} is set: --host {agent})" if agent in NAMES else ""
        raise UsageError(f"give --host NAME or --agents-md{known}")
    if options.agents_md and options.user:
        raise UsageError("--agents-md is for one project: leave --user out")
    if options.agents_md:
        return None, ConfigFile(root_of(Path.cwd()), config_file.NAME, config_file.NAME)
    try:
        host = host_named(options.host)
    except ValueError as error:
        raise UsageError(str(error)) from None
    if not options.user:
        return host, ConfigFile(root_of(Path.cwd()), host.config.project, host.config.project)
    name = host.config.user or host.config.project
    return host, ConfigFile(Path(os.path.expanduser("~")), name, f"~/{name}")


def _edit(
    file: ConfigFile,
    change: Callable[[str | None], str | None],
    options: argparse.Namespace,
    streams: Streams,
) -> bool:
    """Change the file's text, and show the difference; None stands for no file.

    :returns: whether it had to be changed.
    :raises UsageError: when that cannot be done; the file is then as it was.
    """
    try:
        old = _content_of(file)
        new = change(old)
        if new != old and not options.dry_run:
            _write(file, new)
    except (ConfigError, UnicodeDecodeError) as error:
        raise file.refusal(error) from None
    except OSError as error:
        raise file.refusal(f"cannot be changed: {error.strerror}") from None
    if new == old:
        streams.say(f"nothing to change: {file.shown}")
        return False
    streams.say(_difference(file.shown, old, new))
    streams.say("nothing was written (--dry-run)" if options.dry_run else f"{options.name}ed: {file.shown}")
    return True


def _content_of(file: ConfigFile) -> str | None:
    """The file's text, line ends as they are; None if there is no such file.

    :raises UsageError: when it must not be written.
    """
    try:
        mode = os.stat(file.path).st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(mode):
        raise file.refusal("not a regular file of a configuration; move it away")
    if not mode & 0o222:  # the mode counts for the superuser, too: it was set for a reason
        raise file.refusal("read-only; make it writable first")
    return file.path.read_bytes().decode()


def _write(file: ConfigFile, text: str | None) -> None:
    """Write the text; for None remove the file, and the folders below the base that it leaves empty."""
    if text is None:
        os.unlink(file.path)
        with contextlib.suppress(OSError):  # something else is in it
            for folder in list(Path(file.name).parents)[:-1]:
                (file.base / folder).rmdir()
        return
    file.path.parent.mkdir(parents=True, exist_ok=True)
    files.write(file.path, [text])
    if text.startswith("#!"):
        os.chmod(file.path, file.path.stat().st_mode | 0o111)


def _difference(name: str, old: str | None, new: str | None) -> str:
    """A unified diff, safe to show: without the credentials that such files hold, and without control characters."""
    before, after = ("/dev/null" if text is None else name for text in (old, new))
    lines = difflib.unified_diff(
        (old or "").splitlines(), (new or "").splitlines(), before, after, lineterm=""
    )
    text = redact("\n".join(lines))
    return "".join(c if c.isprintable() or c in "\n\t" else ascii(c)[1:-1] for c in text)


def _tell_the_rest(host: Host, options: argparse.Namespace, streams: Streams) -> None:
    """What a person has to know or do before the hook works."""
    if host.config.note:
        streams.complain(host.config.note)
    moved = os.environ.get(host.config.home)
    if options.user and moved:
        streams.complain(f"{host.config.home} is set: {host.title} reads its configuration from {moved}")
    if shutil.which("loop-close") is None:
        streams.complain("loop-close is not on the PATH; the agent needs it on its PATH")
