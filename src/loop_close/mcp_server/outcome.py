"""The tool ``loop_run``: run the tests that the project names, and tell what became of the loop."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio.to_thread

from loop_close import files
from loop_close.agent.tool_results import progress_meta
from loop_close.cli.came_to import came_to, last_numbers
from loop_close.cli.place import root_of
from loop_close.cli.status import document_of
from loop_close.cli.summary import shown
from loop_close.cli.targets import targets_of
from loop_close.cli.testing import CommandError, words_of
from loop_close.mcp_server.answers import Answer, ToolError, bounded
from loop_close.mcp_server.prompts import written_prompt
from loop_close.mcp_server.runs import Ran, Tell, run_tests
from loop_close.text.redact import clean
from loop_close.text.sanitize import fence

#: Seconds that the tests may take unless the caller says otherwise.
TIME_LIMIT = 600
_MAX_OUTPUT = 2_000
_MAX_REPORT = 20_000_000
#: Of the report; the prompt is told beside it, and the rest lies in the state folder.
_TOLD = (
    *("schema", "source", "exit_code", "verdict", "stall_reason", "incomplete", "counts", "progress"),
    *("signals", "breaker", "decision", "root_causes"),
)
_UNEXPLAINED = "no-patterns-matched"


@dataclass(frozen=True, kw_only=True, slots=True)
class _Plan:
    """What is going to run.

    :ivar before: the number of the last run of every source.
    """

    root: Path
    command: str
    words: Sequence[str]
    before: Mapping[str, int]


async def loop_run(tell: Tell, time_limit: int = TIME_LIMIT) -> Answer:
    """Run ``test_command`` of ``[tool.loop-close]``.

    :param tell: told again and again how many seconds it has taken.
    :param time_limit: in seconds.
    :raises UsageError: for settings that are wrong, and files that cannot be written.
    :raises ToolError: for a command that makes no words.
    :raises OSError: when nothing can be started.
    """
    plan: _Plan = await anyio.to_thread.run_sync(_plan)
    ran = await run_tests(plan.words, plan.root, time_limit, tell)
    answer: Answer = await anyio.to_thread.run_sync(_answer, plan, ran, time_limit)
    return answer


def _plan() -> _Plan:
    root = root_of(Path.cwd())
    command = targets_of(root).settings.test_command
    try:
        words = words_of(command)
    except CommandError as error:
        raise ToolError(f"[tool.loop-close] test_command {error}") from None
    return _Plan(root=root, command=command, words=words, before=last_numbers(root))


def _answer(plan: _Plan, ran: Ran, time_limit: int) -> Answer:
    came = came_to(plan.root, plan.before)
    sources = document_of(came.standings)["sources"] if came.standings else []
    prompt, report = written_prompt(), _report(plan.root)
    if prompt.startswith(files.RUNNING):
        prompt = ""  # it was killed before it could say anything
    targets = targets_of(plan.root)
    # Without a history only the command's exit code tells that all is well; a red run leaves its report.
    is_good = bool(sources) or (targets.history is None and bool(prompt) and report is None)
    standing = _standing(sources, ran, is_good=is_good)
    unexplained = any(each["stall_reason"] == _UNEXPLAINED for each in sources)
    is_clear = bool(prompt) and not ran.timed_out and not unexplained
    is_told = bool(sources) or report is not None or standing == "green"
    output = "" if is_clear and is_told else clean(ran.output, _MAX_OUTPUT)
    document = {
        "schema": "loop-close.run/1",
        "command": shown(plan.command),
        "exit_code": ran.exit_code,
        "timed_out": ran.timed_out,
        "standing": standing,
        "next_prompt": prompt,
        "prompt_file": targets.name,
        "sources": sources,
        "report": report,
        "output_end": output,
    }
    text = "\n".join(_lines(prompt, output, f"{time_limit} seconds" if ran.timed_out else ""))
    return Answer(
        text=text, document=document, meta=progress_meta(came.progress, is_green=standing == "green")
    )


def _standing(sources: Sequence[Mapping[str, Any]], ran: Ran, *, is_good: bool) -> str:
    """The worst that is known: a command that failed is not green, whatever else was told.

    :param is_good: what is known of the run says nothing else.
    """
    known = sources[0]["standing"] if sources else "green"
    # pytest ends with 1 where failures are left that are known.
    is_known = ran.exit_code == 1 and any(each["known"] for each in sources)
    is_green = is_good and (ran.exit_code == 0 or is_known) and not ran.timed_out
    return str(known) if known != "green" or is_green else "failing"


def _report(root: Path) -> dict[str, Any] | None:
    """The report that a red run leaves, shortened; None where there is none."""
    path = root / files.REPORT
    try:
        if path.stat().st_size > _MAX_REPORT:
            return None
        document = dict(json.loads(path.read_bytes()))
    except (OSError, ValueError, TypeError, RecursionError):
        return None
    return bounded({key: document[key] for key in _TOLD if key in document})


def _lines(prompt: str, output: str, limit: str) -> list[str]:
    lines = [f"The tests did not finish within {limit} and were stopped.", ""] if limit else []
    lines += [prompt.rstrip("\n") or "The run wrote no next prompt.", ""]
    return [*lines, "End of the output:", "", *fence(output)] if output else lines
