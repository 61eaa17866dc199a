"""For a noxfile: run a command so that its result is part of the one next prompt.

``from loop_close import nox as loop_close`` and, in a session, ``loop_close.run(session, "pytest", "-q")``. A session
that fails in another way, such as while it installs, takes part by its name. nox has no plugins, so the method that
executes a session is wrapped.
"""

from __future__ import annotations

import functools
import logging
import os
import shlex
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loop_close.parts_of_runner import (
    VARIABLE,
    Command,
    Environments,
    Errors,
    failure,
    last_line,
    made_by,
    say,
)

if TYPE_CHECKING:
    import nox

_ERRORS, _SESSIONS = Errors(), Environments("nox")
_COMMANDS: dict[str, list[Command]] = {}
_LONGEST = 1_000_000


def run(session: nox.Session, *words: str, **options: Any) -> Any:
    """``session.run``, whose pytest writes a part if the session has our plugin; the output of other commands is read.

    :param words: the command. :param options: those of ``session.run``.
    :returns: what ``session.run`` returns.
    """
    name = session.name
    folder = _SESSIONS.begin(Path.cwd(), name)
    options["env"] = {**(options.get("env") or {}), VARIABLE: str(folder)}
    code, said = 1, [""]
    try:
        if Command(words, 0).is_pytest or options.get("silent") or "stdout" in options:
            result = session.run(*words, **options)
        else:
            result = _run_and_read(session, words, options, said)
        code = 0
        return result
    finally:
        _COMMANDS.setdefault(name, []).append(Command(words, code, said))


def _run_and_read(
    session: nox.Session, words: tuple[str, ...], options: dict[str, Any], said: list[str]
) -> Any:
    """Run it; its output is shown as it comes, and left in ``said``."""
    source, target = os.pipe()
    chunks: list[bytes] = []

    def read() -> None:
        with open(source, "rb", buffering=0) as stream:
            while chunk := stream.read(1 << 16):
                chunks.append(chunk)
                sys.stdout.write(chunk.decode("utf-8", "replace"))
                sys.stdout.flush()

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        return session.run(*words, stdout=target, **options)
    finally:
        os.close(target)
        reader.join(5.0)  # what the command left running may hold the other end
        said[0] = b"".join(chunks)[-_LONGEST:].decode("utf-8", "replace")


def attend(runner: Any) -> None:
    """Have nox's runner of sessions say how each of them ended."""
    execute: Callable[..., Any] | None = getattr(runner, "execute", None)
    if execute is None or hasattr(execute, "__wrapped__"):
        return

    @functools.wraps(execute)
    def attended(self: Any, *args: Any, **options: Any) -> Any:
        _ERRORS.taken()
        result = execute(self, *args, **options)
        name = str(getattr(self, "friendly_name", ""))
        try:
            queued = [
                str(each.friendly_name) for each, is_left in self.manifest.list_all_sessions() if is_left
            ]
            _ended(name, str(result.status.name), str(result.reason or ""), queued)
        except Exception as fault:
            say([f"internal error in {name}: {type(fault).__name__}: {str(fault)[:300]}"])
        return result

    runner.execute = attended
    logging.getLogger("nox").addHandler(_ERRORS)


def _ended(name: str, status: str, reason: str, queued: list[str]) -> None:
    """Take up the parts of a session, what its commands printed, or that it failed otherwise or was skipped."""
    from loop_close.model import Observation

    root, commands = Path.cwd(), _COMMANDS.pop(name, [])
    is_failed = status in ("FAILED", "ABORTED")
    made = Observation(
        exit_code=int(is_failed),
        source=name,
        provenance=made_by("nox", name, root),
        rerun=shlex.join(("nox", "-s", name)),
        expects_tests=False,
        skipped=(reason or "it was skipped") if status == "SKIPPED" else "",
        failures=(failure("nox", name, _why(reason)),)
        if is_failed and not any(each.exit_code for each in commands)
        else (),
    )
    _SESSIONS.end(root, name, made, commands)
    lines = _SESSIONS.rewrite(root, queued)
    if is_failed:
        say(lines)


def _why(reason: str) -> str:
    first, *rest = _ERRORS.taken() or [reason or "it failed"]
    command, _, code = first.removeprefix("Command ").rstrip(":").rpartition(" failed with exit code ")
    why = f"exit {code}: {command}" if command else first.partition("\n")[0]
    return f"{why}{last_line(*rest)}"


attend(getattr(sys.modules.get("nox.sessions"), "SessionRunner", None))
