"""``loop-close install`` and ``uninstall``: add or remove our hook in an agent's configuration."""

from __future__ import annotations

import argparse
import os
import shutil
from pathlib import Path

from loop_close.cli.config_file import (
    ConfigFile,
    content_of,
    difference,
    is_executable,
    make_executable,
    remove,
    save,
)
from loop_close.cli.host import host_called
from loop_close.cli.parser import UsageError
from loop_close.cli.place import is_root, root_of
from loop_close.cli.streams import Streams
from loop_close.hosts import Config, ConfigError, Host

_DRY = "nothing was written (--dry-run)"


def install(options: argparse.Namespace, streams: Streams) -> int:
    """Put the hook in, once, and print what that changes; always 0."""
    host = host_called(options.host)
    file = _file(host.config, options)
    old = content_of(file)
    try:
        new = host.config.fresh if old is None else host.config.added(old)
    except ConfigError as error:
        raise file.refusal(error) from None
    if new == old and _is_ready(host.config, file):
        streams.say(f"already installed: {file.shown}")
        return 0
    if not options.dry_run:
        _write(host.config, file, None if new == old else new)
    _show(difference(file, old, new), streams)
    streams.say(_DRY if options.dry_run else f"installed: {file.shown}")
    _tell_the_rest(host, file, options, streams)
    return 0


def uninstall(options: argparse.Namespace, streams: Streams) -> int:
    """Take the hook out, and print what that changes; 0 although there was none."""
    host = host_called(options.host)
    file = _file(host.config, options)
    old = content_of(file)
    try:
        new = None if old is None else host.config.removed(old)
    except ConfigError as error:
        raise file.refusal(error) from None
    if new == old:
        streams.say(f"not installed: {file.shown}")
        return 0
    if not options.dry_run:
        remove(file) if new is None else save(file, new)
    _show(difference(file, old, new), streams)
    streams.say(_DRY if options.dry_run else f"uninstalled: {file.shown}")
    return 0


def _file(config: Config, options: argparse.Namespace) -> ConfigFile:
    if not options.user:
        return ConfigFile(base=_project(), name=config.project, shown=config.project)
    try:
        home = Path.home()
    except RuntimeError:
        raise UsageError("no home folder found: set HOME") from None
    if not home.is_dir():
        raise UsageError(f"the home folder {home} does not exist: set HOME")
    return ConfigFile(base=home, name=config.user, shown=f"~/{config.user}")


def _project() -> Path:
    """The root of the project that the working directory belongs to: that of ours, else of its repository."""
    here = Path.cwd()
    root = root_of(here)
    if root != here or is_root(here):
        return root
    return next((each for each in (here, *here.parents) if (each / ".git").exists()), here)


def _is_ready(config: Config, file: ConfigFile) -> bool:
    return not config.is_program or is_executable(file)


def _write(config: Config, file: ConfigFile, text: str | None) -> None:
    if text is not None:
        save(file, text, is_program=config.is_program)
        return
    try:
        make_executable(file)
    except OSError as error:
        raise file.refusal(f"cannot be made executable: {error.strerror or error}") from None


def _show(text: str, streams: Streams) -> None:
    if text:
        streams.say(text)


def _tell_the_rest(host: Host, file: ConfigFile, options: argparse.Namespace, streams: Streams) -> None:
    """What a person has to know or do before the hook works."""
    if host.config.note:
        streams.complain(host.config.note)
    moved = os.environ.get(host.config.home) if host.config.home else None
    if options.user and moved and os.path.realpath(moved) != os.path.realpath((file.base / file.name).parent):
        streams.complain(
            f"{host.config.home} is set: {host.title} reads its configuration from {moved}, not from here"
        )
    if shutil.which("loop-close") is None:
        streams.complain("loop-close is not on the PATH; the agent needs it on its PATH")
