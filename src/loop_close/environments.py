"""An environment of tox or nox as a source of its own: what its runner says of it, recorded from inside the runner."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import sys
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from loop_close.files import Targets
    from loop_close.model import Failure, Observation
    from loop_close.remember import Memory

_LONGEST = 300
#: How pip, uv, pytest and others begin the line that says why.
_ERROR = re.compile(r"\s*(?:[\w. -]+: )?(?:ERROR|error|Error)\b[:\s]")
_COLORS = re.compile(r"\x1b\[[0-9;]*m")


#: How tox begins its warning that an environment is skipped.
SKIPPED = "skipped because "


class Errors(logging.Handler):
    """What a runner logged as errors in each thread since it was last taken: why an environment failed."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._last = threading.local()

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the text."""
        with contextlib.suppress(Exception):
            text = record.getMessage()
            if record.levelno >= logging.ERROR or text.startswith(SKIPPED):
                self._last.texts = [*getattr(self._last, "texts", ()), text][-2:]

    def taken(self) -> list[str]:
        """The last two texts of this thread, which are then forgotten."""
        texts: list[str] = getattr(self._last, "texts", [])
        self._last.texts = []
        return texts


def say(lines: Sequence[str]) -> None:
    """Write lines of ours where the runner writes its own; at a terminal in the place of what it spins there."""
    text = "".join(f"loop-close: {line}\n" for line in lines)
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(f"\r\x1b[0m\x1b[K{text}" if text and sys.stderr.isatty() else text)


def last_line(*texts: str) -> str:
    """Why it failed, after ``: ``: the last line that begins as an error, else the last one; empty without one."""
    lines = [line for text in texts for line in _COLORS.sub("", text).splitlines() if line.strip()]
    why = next((line for line in reversed(lines) if _ERROR.match(line)), lines[-1] if lines else "")
    return f": {why.strip()[:_LONGEST]}" if why else ""


def failure(runner: str, name: str, why: str) -> Failure:
    """The environment as a failure, as the reader of the runner's output makes it."""
    from loop_close.model import Failure

    return Failure(nodeid="", phase="process", tool=runner, code=name, message=f"{name}: {why}")


def conclude(
    seen: Observation,
    targets: Targets,
    memory: Memory,
    runner: str,
    name: str,
    *,
    rerun: Sequence[str],
    interpreter: str = "",
    words: Sequence[str] = (),
) -> None:
    """Record the environment's run, and write the prompt.

    :param rerun: the command for it; node ids may follow a ``--`` at its end.
    :param words: what the runner passed on to the commands: they may choose tests.
    """
    from dataclasses import replace

    from loop_close import app
    from loop_close.choice import choice_of
    from loop_close.facts import is_environment
    from loop_close.model import Provenance
    from loop_close.progress.compare import CHOSEN
    from loop_close.provenance import agent_of
    from loop_close.remember import RunContext, passed_by_name
    from loop_close.workspace import commit_at_head

    made = Provenance(
        runner=runner,
        environment=name,
        interpreter=interpreter,
        platform=sys.platform,
        commit=commit_at_head(targets.root),
        agent=agent_of(os.environ)[0],
    )
    takes_ids = rerun[-1] == "--"
    # What was skipped ran nothing, so that nothing that failed in it is fixed. That the environment as a whole failed,
    # perhaps for these very words, is fixed once it passes without them.
    is_whole = bool(seen.failures) and all(map(is_environment, seen.failures))
    kept = () if is_whole else (word for word in words if not word.startswith("--loop-close"))
    choice = choice_of([*kept])  # the words are most often for pytest
    selection = choice.described
    chosen = selection if CHOSEN.search(selection) else ""
    observation = replace(
        seen, provenance=made, selection=chosen, rerun=tuple(rerun), failed_option="", takes_ids=takes_ids
    )
    outcomes = {} if seen.skipped else passed_by_name(seen, choice.named)
    context = RunContext(outcomes, bool(seen.skipped), selection)
    saved = app.conclude(observation, targets, memory, context)
    if seen.exit_code:
        say(app.terminal_lines(saved, targets))
