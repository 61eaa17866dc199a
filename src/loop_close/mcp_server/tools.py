"""The tools, and what each of them says of itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

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
    description="Only this source of runs, such as 'pytest' (default: all of them).",
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
    description="Reads what a test command, type checker or linter printed, and says what is wrong, grouped by root"
    " cause, and what to do next. Without side effects: the same input gives the same answer.",
    fields=(
        Field(
            name="stdout", kind="string", description="What it printed; the last 1,000,000 characters count."
        ),
        Field(
            name="stderr",
            kind="string",
            description="What it printed on standard error, where that is apart.",
        ),
        Field(
            name="exit_code", kind="integer", description="Its exit code; leave it out where it is not known."
        ),
        Field(name="source", kind="string", description="What to call the run (default: output)."),
        Field(
            name="budget",
            kind="integer",
            least=MIN_BUDGET,
            most=_MAX_BUDGET,
            description=f"Tokens that the next prompt may cost (default: {DEFAULT_BUDGET}).",
        ),
    ),
    output=schemas.REPORT,
    work=close_streams,
)
_STATUS = Tool(
    name="loop_status",
    title="Where the loop stands",
    description="Says of every source of test runs where it stands after its last run: green, failing or stuck, with"
    " the reasons. Runs nothing.",
    fields=(_SOURCE,),
    output=schemas.STATUS,
    work=loop_status,
)
_HISTORY = Tool(
    name="loop_history",
    title="Earlier test runs",
    description="Lists the test runs that are remembered, the newest last: verdict, failures, progress. Runs nothing.",
    fields=(
        _SOURCE,
        Field(
            name="limit",
            kind="integer",
            least=1,
            most=_MAX_RUNS,
            description="How many runs (default: 20).",
        ),
    ),
    output=schemas.HISTORY,
    work=loop_history,
)
RUN = Tool(
    name="loop_run",
    title="Run the tests",
    description="Runs the project's tests by the command that its settings name ([tool.loop-close] test_command),"
    " remembers the run and answers with the next prompt: what is broken, by root cause, whether the loop advances,"
    " and whether to go on. The command cannot be chosen by the caller.",
    fields=(
        Field(
            name="time_limit",
            kind="integer",
            least=1,
            most=_MAX_SECONDS,
            description=f"Seconds after which the tests are ended (default: {TIME_LIMIT}).",
        ),
    ),
    output=schemas.RUN,
    is_read_only=False,
)

TOOLS: tuple[Tool, ...] = (_CLOSE, _STATUS, _HISTORY, RUN)
INSTRUCTIONS = (
    "loop-close reads test runs and remembers them. After an edit, loop_run runs the tests and answers with the next"
    " prompt; loop_status says whether the loop advances or is stuck; loop_close reads output that is already there."
)
