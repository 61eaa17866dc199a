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

from loop_close.cli import UsageError, as_usage_error, opened, project_at
from loop_close.files import Targets
from loop_close.records import Record
from loop_close.seeds.analyzer import BOX
from loop_close.seeds.guard import Limits
from loop_close.seeds.strategies import ExitStrategy, parse_strategy

#: In the agent's command, for the text of the turn, and for the path of the file that holds it.
PROMPT, PROMPT_FILE = "{prompt}", "{prompt_file}"
_STEP = re.compile(r"\s{0,8}(?:[-*+]|\d{1,3}[.)])\s+(?:\[(?P<box>[ xX]?)\]\s+)?(?P<text>\S.*)")
_SHELLS = frozenset(("sh", "bash", "dash", "zsh", "fish", "ksh", "cmd", "cmd.exe", "powershell", "pwsh"))
_LIMITS = ("max_iterations", "max_runtime", "max_cost", "max_consecutive_failures")
_TIMES = ("agent_timeout", "test_timeout")


class Plan(Record, frozen=True, kw_only=True):
    """What to do.

    :ivar project: with its settings at the start of the loop: the agent can edit them.
    :ivar agent: the words of the agent's command.
    :ivar agent_seconds: that a turn may take; ``test_seconds`` that the checks may; infinite for no limit.
    :ivar given: the options by name, which a loop that is gone on with goes on with; ``task`` and ``plan`` are paths.
    """

    project: Targets
    agent: list[str]
    task: str
    strategy: ExitStrategy
    limits: Limits
    agent_seconds: float
    test_seconds: float
    given: Mapping[str, Any]

    @property
    def root(self) -> Path:
        """Of the project, where all commands run."""
        return self.project.root


def plan_of(options: argparse.Namespace, saved: Mapping[str, Any]) -> Plan:
    """The plan by the options, else by what was saved, else by the settings.

    :raises UsageError: for what cannot be done.
    """
    place = project_at()
    if place.history is None:
        raise UsageError("drive needs the history of runs: [tool.loop-close] history is 'off'")
    options_now = {
        name: vars(options)[name] for name in ("agent", "task", "plan", "strategy", *_LIMITS, *_TIMES)
    }
    given = {**saved, **{name: value for name, value in options_now.items() if value is not None}}
    for name in ("agent", "task") if saved else ():
        if name not in given:
            raise UsageError(
                f"the last loop's --{name} contains a credential and was not saved: give it again"
            )
    given = {"agent": "", "task": "", "plan": "", **given}
    for name in ("task", "plan"):
        given[name] = os.path.abspath(given[name]) if given[name] else ""
    given.setdefault("strategy", "fix_plan" if given["plan"] else place.settings.strategy)
    if given["plan"] and not steps_in(_text_of(given["plan"])):
        raise UsageError(
            f"the plan {given['plan']} has no step: write each as a list item, such as: - [ ] Fix the parser"
        )
    agent, task = _agent_words(given["agent"]), _text_of(given["task"])
    with as_usage_error(ValueError):
        strategy = parse_strategy(given["strategy"])
    return Plan(
        project=place,
        agent=agent,
        task=task,
        strategy=strategy,
        limits=Limits(**{name: given[name] for name in _LIMITS if name in given}),
        agent_seconds=given.get("agent_timeout", math.inf),
        test_seconds=given.get("test_timeout", math.inf),
        given=given,
    )


def _agent_words(command: str) -> list[str]:
    """The words of the agent's command, as a shell splits them; nothing in them is expanded."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"--agent is not a valid command line: {error}") from None
    if not words:
        raise UsageError("drive needs the agent's command, for example: --agent 'claude -p'")
    shells = {*map(os.path.basename, words)} & _SHELLS  # also behind env, timeout, nice
    if shells and PROMPT in command:
        raise UsageError(
            f"--agent passes {PROMPT} to {min(shells)}, which could execute text that tests print;"
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
        return steps_in(_text_of(path))
    return []


def task_box(path: str) -> str:
    """The line with the box ``TASK_COMPLETE`` of a task's file as it is now; empty if it has none."""
    with contextlib.suppress(UsageError):
        return next((line.strip() for line in _text_of(path).splitlines() if BOX.match(line)), "")
    return ""


def _text_of(path: str) -> str:
    """The text of a task or a plan; empty for no path.

    :raises UsageError: when it cannot be read, or is empty.
    """
    if not path:
        return ""
    with opened(path) as file:
        text: str = file.read().decode("utf-8", "replace")
    if not text.strip():
        raise UsageError(f"{path} is empty")
    return text


# --- the agent's command for one turn: its words, and what it reads


def prepared(words: Sequence[str], text: str, path: Path) -> tuple[list[str], bytes]:
    """The words with the prompt in its place, and what goes to the standard input.

    The prompt is given once: in the words, as a file, or else on the standard input. No shell reads it.

    :param path: of the file that holds the text.
    """
    argument = text.replace("\0", "")
    given = [word.replace(PROMPT_FILE, str(path)).replace(PROMPT, argument) for word in words]
    is_named = any(PROMPT in word or PROMPT_FILE in word for word in words)
    return given, b"" if is_named else text.encode("utf-8", "replace")
