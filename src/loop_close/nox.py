"""For a noxfile: run a command so that its result is part of the one next prompt.

``from loop_close import nox as loop_close`` and, in a session, ``loop_close.run(session, "pytest", "-q")``. A session
that fails in another way, such as while it installs, takes part by its name. nox has no plugins, so the method that
executes a session is wrapped.
"""

from __future__ import annotations

import functools
import logging
import shlex
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loop_close.parts_of_runner import VARIABLE, Command, Environments, Errors, last_line, say

if TYPE_CHECKING:
    import nox

_ERRORS, _SESSIONS = Errors(), Environments("nox")
_COMMANDS: dict[str, list[Command]] = {}
_LONGEST = 1_000_000


def run(session: nox.Session, *words: str, **options: Any) -> Any:
    """``session.run``, whose pytest writes a part if the session has our plugin; the output of other commands is read.

    That output is shown when the command has ended.

    :param words: the command. :param options: those of ``session.run``.
    :returns: what ``session.run`` returns.
    """
    folder = _SESSIONS.begin(session.name)
    options["env"] = {**(options.get("env") or {}), VARIABLE: str(folder)}
    code = 1
    with tempfile.TemporaryFile() as output:
        if not (Command(words, 0).is_pytest or options.get("silent")):
            options.setdefault("stdout", output)
        try:
            result = session.run(*words, **options)
            code = 0
            return result
        finally:
            output.seek(0)
            said = output.read().decode("utf-8", "replace")
            sys.stdout.write(said)
            _COMMANDS.setdefault(session.name, []).append(Command(words, code, [said[-_LONGEST:]]))


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
    commands = _COMMANDS.pop(name, [])
    is_failed = status in ("FAILED", "ABORTED")
    first, *rest = _ERRORS.taken() or [reason or "it failed"]
    is_other = is_failed and not any(each.exit_code for each in commands)
    _SESSIONS.end(
        Path.cwd(),
        name,
        int(is_failed),
        commands,
        rerun=shlex.join(("nox", "-s", name)),
        waiting=queued,
        why=f"{first.partition(chr(10))[0].rstrip(':')}{last_line(*rest)}" if is_other else "",
        skipped=(reason or "it was skipped") if status == "SKIPPED" else "",
    )


attend(getattr(sys.modules.get("nox.sessions"), "SessionRunner", None))
