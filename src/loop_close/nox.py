"""For a noxfile: run a command so that its result is part of the one next prompt.

``from loop_close import nox as loop_close`` and, in a session, ``loop_close.run(session, "pytest", "-q")``. A session
that fails in another way, such as while it installs, is a source of its own.
"""

from __future__ import annotations

import functools
import logging
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from time import time
from typing import TYPE_CHECKING, Any

from loop_close.environments import Errors, conclude, failure, last_line, say

if TYPE_CHECKING:
    import nox

    from loop_close.files import Targets
    from loop_close.model import Failure

_PYTEST = ("pytest", "py.test")
_ERRORS, _LOCK = Errors(), threading.Lock()


def run(session: nox.Session, *words: str, **options: Any) -> Any:
    """``session.run``, with pytest's plugin, or for another command through ``loop-close run``.

    pytest needs the plugin in the session's environment; for other commands it is that of the noxfile.

    :param words: the command; the session's own programs come first, as in ``session.run``.
    :param options: those of ``session.run``.
    :returns: what ``session.run`` returns.
    """
    if os.path.basename(words[0]) in _PYTEST or words[1:3] == ("-m", "pytest"):
        return session.run(*words, "--loop-close", **options)
    name = os.path.basename(words[0])
    again = [sys.executable, "-m", "loop_close", "run", "--source", f"{name}:{session.name}", "--", *words]
    return session.run(*again, **{**options, "external": True})


def attend(runner: Any) -> None:
    """Have nox's runner of sessions say how each of them ended: nox has no plugins."""
    execute: Callable[..., Any] | None = getattr(runner, "execute", None)
    if execute is None or hasattr(execute, "__wrapped__"):
        return

    @functools.wraps(execute)
    def attended(self: Any, *args: Any, **options: Any) -> Any:
        since, name = time(), str(getattr(self, "friendly_name", ""))
        _ERRORS.taken()
        result = execute(self, *args, **options)
        try:
            with _LOCK:
                _ended(name, str(getattr(result.status, "name", "")), str(result.reason or ""), since)
        except Exception as fault:
            say([f"internal error in {name}: {type(fault).__name__}"])
        return result

    runner.execute = attended
    logging.getLogger("nox").addHandler(_ERRORS)


def _ended(name: str, status: str, reason: str, since: float) -> None:
    """Record a session that failed and whose commands did not say so, or was skipped, and one that no longer is."""
    from loop_close import files
    from loop_close.model import Observation
    from loop_close.remember import begin
    from loop_close.settings import parse_settings

    source, root = f"nox:{name}", Path.cwd()
    targets = files.targets_of(root, parse_settings(files.settings_table(root)), {})
    is_failed = status in ("FAILED", "ABORTED")
    is_open, is_reported = _known(targets, source, name, since)
    skipped = (reason or "it was skipped") if status == "SKIPPED" else ""
    if is_reported or not (is_failed or skipped or (is_open and status == "SUCCESS")):
        return
    memory = begin(targets, source)
    failures: tuple[Failure, ...] = ()
    if is_failed:
        first, *rest = _ERRORS.taken() or [reason or "it failed"]
        command, _, code = first.removeprefix("Command ").rstrip(":").rpartition(" failed with exit code ")
        why = f"exit {code}: {command}" if command else first.partition("\n")[0]
        failures = (failure("nox", name, f"{why}{last_line(*rest)}"),)
    seen = Observation(
        exit_code=int(is_failed),
        source=memory.source,
        failures=failures,
        skipped=skipped,
        expects_tests=False,
    )
    conclude(seen, targets, memory, "nox", name, rerun=("nox", "-s", name))


def _known(targets: Targets, source: str, name: str, since: float) -> tuple[bool, bool]:
    """Whether its own source was red or skipped, and whether a command of the session has said that it failed."""
    from loop_close.store import HistoryError
    from loop_close.store.reader import HistoryReader, read

    def asked(history: HistoryReader) -> tuple[bool, bool]:
        last = [history.rows(each, 1)[-1] for each in history.sources()]
        red = [row for row in last if row.summary.get("verdict") != "green"]
        reported = (
            r for r in red if r.started >= since and f"{r.source.partition(':')[2]}:".startswith(f"{name}:")
        )
        skipped = [row for row in last if row.summary.get("skipped")]
        return any(row.source == source for row in red + skipped), any(
            row.source != source for row in reported
        )

    if targets.history is None:
        return False, True  # each prompt takes the place of the last: a session's own is worth more
    try:
        return read(targets.history, asked)
    except HistoryError:
        return False, False


attend(getattr(sys.modules.get("nox.sessions"), "SessionRunner", None))
