"""The plan of a driver: from its options, and from the saved state of the loop that it resumes."""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from loop_close.agent.completion import BOX
from loop_close.agent.guard import Limits
from loop_close.agent.strategies import ExitStrategy
from loop_close.cli import UsageError, opened
from loop_close.cli.project import Project, project_at, targets_of
from loop_close.drive.strategies import strategy_named
from loop_close.files import Targets
from loop_close.lazy import dataclass

#: In the agent's command, for the text of the turn, and for the path of the file that holds it.
PROMPT, PROMPT_FILE = "{prompt}", "{prompt_file}"
_STEP = re.compile(r"\s{0,8}(?:[-*+]|\d{1,3}[.)])\s+(?:\[(?P<box>[ xX]?)\]\s+)?(?P<text>\S.*)")
_SHELLS = ("sh", "bash", "dash", "zsh", "fish", "ksh", "cmd", "cmd.exe", "powershell", "pwsh")
_LARGEST_TASK = 1_000_000
#: Options by the names of what they set.
_LIMITS = {
    "max_iterations": "max_iterations",
    "max_runtime": "max_runtime",
    "max_cost": "max_cost",
    "max_consecutive_failures": "max_failures",
}
_TIMES = {"agent_timeout": "agent_timeout", "test_timeout": "test_timeout"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """What to do.

    :ivar project: with its settings at the start of the loop: the agent can edit them.
    :ivar agent: the words of the agent's command.
    :ivar agent_seconds: that a turn may take; ``test_seconds`` that the checks may; infinite for no limit.
    :ivar given: what of it a loop that is gone on with goes on with.
    """

    project: Project
    targets: Targets
    agent: list[str]
    task: str
    strategy: ExitStrategy
    limits: Limits
    agent_seconds: float
    test_seconds: float
    given: Mapping[str, str]
    steps_file: str = ""

    @property
    def root(self) -> Path:
        """Of the project, where all commands run."""
        return self.targets.root


def plan_of(options: argparse.Namespace, saved: Mapping[str, str]) -> Plan:
    """The plan by the options, else by what was saved, else by the settings.

    :raises UsageError: for what cannot be done.
    """
    place = project_at(Path.cwd())
    if place.history is None:
        raise UsageError("drive needs the history of runs: [tool.loop-close] history is 'off'")
    settings = place.settings
    _check_kept(options, saved)
    agent = options.agent or saved.get("agent")
    if not agent:
        raise UsageError("drive needs the agent's command, for example: --agent 'claude -p'")
    task = options.task or saved.get("task") or ""
    steps = options.plan or saved.get("plan") or ""
    by_default = "fix_plan" if steps else settings.strategy
    strategy = options.strategy or saved.get("strategy") or by_default
    if steps and not steps_in(_text_of(steps, "plan")):
        raise UsageError(
            f"the plan {steps} has no step: write each as a list item, such as: - [ ] Fix the parser"
        )
    numbers = _numbers(options, saved)
    given = {
        "agent": agent,
        "task": os.path.abspath(task) if task else "",
        "strategy": strategy,
        "plan": os.path.abspath(steps) if steps else "",
    }
    return Plan(
        project=place,
        targets=targets_of(place.root),
        agent=_agent_words(agent),
        task=_text_of(task),
        strategy=strategy_named(strategy, place.root),
        limits=_limits(numbers),
        agent_seconds=numbers.get("agent_timeout", math.inf),
        test_seconds=numbers.get("test_timeout", math.inf),
        steps_file=given["plan"],
        given={**given, **{name: f"{number}" for name, number in numbers.items()}},
    )


def _check_kept(options: argparse.Namespace, saved: Mapping[str, str]) -> None:
    """Raise where a loop is gone on with of which something that counts was not kept, and is not given again."""
    for name in ("agent", "task") if saved else ():
        if name not in saved and not getattr(options, name):
            raise UsageError(
                f"the last loop's --{name} contains a credential and was not saved: give it again"
            )


def _agent_words(command: str) -> list[str]:
    words = _words_of(command)
    shells = [
        name for name in map(os.path.basename, words) if name in _SHELLS
    ]  # also behind env, timeout, nice
    if shells and any(PROMPT in word for word in words):
        raise UsageError(
            f"--agent passes {PROMPT} to {shells[0]}, which could execute text that tests print;"
            f" use {PROMPT_FILE}, or read standard input"
        )
    return words


def steps_in(text: str) -> list[tuple[str, bool]]:
    """The steps of a plan: each item of its lists, and whether its box is checked."""
    found = (_STEP.match(line) for line in text.splitlines())
    return [(step["text"].strip(), step["box"] in ("x", "X")) for step in found if step]


def steps_now(path: str) -> list[tuple[str, bool]]:
    """The steps of a plan's file as they are now; none if it cannot be read."""
    with contextlib.suppress(UsageError):
        return steps_in(_text_of(path, "plan"))
    return []


def _text_of(path: str, what: str = "task") -> str:
    if not path:
        return ""
    with opened(path) as file:
        text = file.read().decode("utf-8", "replace")
    if not text.strip():
        raise UsageError(f"the {what} {path} is empty")
    return text


def task_box(path: str) -> str:
    """The line with the box ``TASK_COMPLETE`` of a task's file as it is now; empty if it has none.

    :param path: empty for no task. A file that cannot be read, or is too large, has no box.
    """
    if not path:
        return ""
    with contextlib.suppress(OSError), open(path, "rb") as file:
        lines = file.read(_LARGEST_TASK).decode("utf-8", "replace").splitlines()
        return next((line.strip() for line in lines if BOX.match(line)), "")
    return ""


def _limits(numbers: Mapping[str, Any]) -> Limits:
    try:
        return Limits(**{name: numbers[name] for name in _LIMITS if name in numbers})
    except ValueError as error:
        raise UsageError(f"invalid limits in the last loop: {error}") from None


def _numbers(options: argparse.Namespace, saved: Mapping[str, str]) -> dict[str, Any]:
    """The limits that were given, by name; else those that were given when the loop began."""
    found: dict[str, Any] = {}
    for name, option in {**_LIMITS, **_TIMES}.items():
        value = getattr(options, option)
        if value is None and name in saved:
            value = _number(name, saved[name])
        if value is not None:
            found[name] = value
    return found


def _number(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise UsageError(f"the last loop's {name} is {text!r}, not a number") from None
    return int(value) if value.is_integer() else value


def _words_of(command: str) -> list[str]:
    """The words of the agent's command, as a shell splits them; nothing in them is expanded."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"--agent is not a valid command line: {error}") from None
    if not words:
        raise UsageError("--agent is empty")
    return words


# --- the agent's command for one turn: its words, and what it reads


def prepared(words: Sequence[str], text: str, path: Path) -> tuple[list[str], bytes | None]:
    """The words with the prompt in its place, and what goes to the standard input.

    The prompt is given once: in the words, as a file, or else on the standard input. No shell reads it.

    :param path: of the file that holds the text.
    :returns: None for the standard input where nothing goes there.
    """
    argument = text.replace("\0", "")
    given = [word.replace(PROMPT_FILE, str(path)).replace(PROMPT, argument) for word in words]
    is_named = any(PROMPT in word or PROMPT_FILE in word for word in words)
    return given, None if is_named else text.encode("utf-8", "replace")


def failure(exit_code: int, *, is_late: bool, seconds: float) -> str:
    """Why a turn failed; empty if it did not."""
    if is_late:
        return f"the agent was stopped after {seconds:.0f} seconds"
    return f"the agent exited with code {exit_code}" if exit_code else ""
