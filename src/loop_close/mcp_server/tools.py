"""The tools and their descriptions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from loop_close.detectors import DEFAULT_DETECTORS
from loop_close.mcp_server import schemas
from loop_close.mcp_server.answers import Answer
from loop_close.mcp_server.arguments import Field
from loop_close.mcp_server.outcome import TIME_LIMIT
from loop_close.mcp_server.reading import close_streams
from loop_close.mcp_server.remembered import loop_history, loop_status
from loop_close.settings import DEFAULT_BUDGET, MIN_BUDGET

_MAX_BUDGET = 50_000
_MAX_RUNS = 200
_MAX_SECONDS = 3_600
_SOURCE = Field(
    name="source",
    kind="string",
    description="Only this source of runs, for example 'pytest' (default: all sources).",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Tool:
    """A tool.

    :ivar work: what it does; None for ``loop_run``, which is no function that returns when it is done.
    :ivar is_read_only: it changes nothing, neither files nor what is remembered.
    """

    name: str
    title: str
    description: str
    fields: tuple[Field, ...]
    output: Mapping[str, Any]
    is_read_only: bool = True
    work: Callable[..., Answer] | None = None


_CLOSE = Tool(
    name="loop_close",
    title="Read test output",
    description="Reads the output of a test command, type checker or linter. Returns what is wrong, grouped by root"
    " cause, and what to do next. No side effects: the same input gives the same answer.",
    fields=(
        Field(
            name="stdout",
            kind="string",
            description="Output of the command. Only the last 1,000,000 characters are read.",
        ),
        Field(
            name="stderr",
            kind="string",
            description="Standard error of the command, if it is separate from stdout.",
        ),
        Field(name="exit_code", kind="integer", description="Exit code of the command. Omit it if unknown."),
        Field(name="source", kind="string", description="Name of the source of this run (default: output)."),
        Field(
            name="detectors",
            kind="names",
            among=tuple(detector.id for detector in DEFAULT_DETECTORS),
            description="Only these detectors look at the output (default: all).",
        ),
        Field(
            name="budget",
            kind="integer",
            least=MIN_BUDGET,
            most=_MAX_BUDGET,
            description=f"Maximum length of the next prompt in tokens (default: {DEFAULT_BUDGET}).",
        ),
    ),
    output=schemas.REPORT,
    work=close_streams,
)
_STATUS = Tool(
    name="loop_status",
    title="State of the loop",
    description="Returns for each source of test runs whether its last run left it green, failing or stuck, with the"
    " reasons. Runs nothing.",
    fields=(_SOURCE,),
    output=schemas.STATUS,
    work=loop_status,
)
_HISTORY = Tool(
    name="loop_history",
    title="Earlier test runs",
    description="Lists the recorded test runs, newest last, with verdict, failures and progress. Runs nothing.",
    fields=(
        _SOURCE,
        Field(
            name="limit",
            kind="integer",
            least=1,
            most=_MAX_RUNS,
            description="Number of runs (default: 20).",
        ),
    ),
    output=schemas.HISTORY,
    work=loop_history,
)
RUN = Tool(
    name="loop_run",
    title="Run the tests",
    description="Runs the project's tests with the command from its settings ([tool.loop-close] test_command), records"
    " the run, and returns the next prompt: what is broken, by root cause, whether the loop makes progress, and"
    " whether to continue. The caller cannot choose the command.",
    fields=(
        Field(
            name="time_limit",
            kind="integer",
            least=1,
            most=_MAX_SECONDS,
            description=f"Time limit for the tests in seconds (default: {TIME_LIMIT}).",
        ),
    ),
    output=schemas.RUN,
    is_read_only=False,
)

TOOLS: tuple[Tool, ...] = (_CLOSE, _STATUS, _HISTORY, RUN)
INSTRUCTIONS = (
    "loop-close reads and records test runs. After an edit, call loop_run: it runs the tests and returns the next"
    " prompt. Call loop_status to see whether the loop makes progress or is stuck. Call loop_close to read output that"
    " you already have."
)
