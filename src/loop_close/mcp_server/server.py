"""The server on standard input and output: its tools and its resource in the words of the protocol."""

from __future__ import annotations

import json
import logging
import os
import re
import signal
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias, cast

import anyio
import anyio.lowlevel
import anyio.to_thread
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from loop_close import __version__, files
from loop_close.agent.supervisor import progress_meta
from loop_close.child import Channel, Child, Ended, InterruptionError, Stop, run
from loop_close.cli import UsageError
from loop_close.cli.project import (
    environment,
    remembered,
    root_of,
    settings_of,
    targets_of,
    words_of,
)
from loop_close.cli.recorded import shown
from loop_close.cli.status import document_of, latest_run_numbers, run_result
from loop_close.files import UnusablePathError
from loop_close.lazy import dataclass
from loop_close.mcp_server.tools import (
    INSTRUCTIONS,
    RUN,
    TIME_LIMIT,
    TOOLS,
    Tool,
    ToolAnswer,
    ToolError,
    bounded,
    checked,
    failed,
    input_schema,
)
from loop_close.text import fault_text, fence, sanitize
from loop_close.text.redact import clean

if TYPE_CHECKING:
    from loop_close.cli import Streams


_BUSY = "the tests are already running; loop_status shows when they are done"
_MARKDOWN = "text/markdown"
_Context: TypeAlias = ServerRequestContext[Any, Any]
#: What went wrong outside of us, or was asked for wrongly.
_EXPECTED = (ToolError, UsageError, UnusablePathError, OSError)


def serve(streams: Streams) -> int:
    """Answer until the input ends: 0; 128 and the number of the signal that ended it."""
    logging.basicConfig(stream=streams.errors, level=logging.WARNING, format="loop-close: %(message)s")
    code: int = anyio.run(_serve, streams)
    return code


async def _serve(streams: Streams) -> int:
    server = _Tests().server()
    async with anyio.create_task_group() as tasks:
        ended: list[int] = []
        await tasks.start(partial(_until_signal, tasks.cancel_scope, ended))
        # Its own reader for the input, as the package's own loses lines; the output the package guards itself.
        lines = cast("anyio.AsyncFile[str]", InputLines(streams.input))
        async with stdio_server(stdin=lines) as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())
        tasks.cancel_scope.cancel()
    return 128 + ended[0] if ended else 0


async def _until_signal(
    scope: anyio.CancelScope,
    ended: list[int],
    *,
    task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
) -> None:
    """End the server on a signal, and the tests with it: they would go on without it."""
    names = ("SIGINT", "SIGTERM", "SIGHUP")
    numbers = [signal.Signals[name] for name in names if hasattr(signal, name)]
    if os.name != "posix":
        task_status.started()
        return
    with anyio.open_signal_receiver(*numbers) as received:
        task_status.started()
        async for number in received:
            ended.append(number)
            scope.cancel()


class _Tests:
    """What the server keeps between calls: whether the tests are running."""

    def __init__(self) -> None:
        self._is_running = False

    def server(self) -> Server[Any]:
        """The server of the protocol, for both of its eras."""
        return Server(
            "loop-close",
            version=__version__,
            title="loop-close",
            instructions=INSTRUCTIONS,
            on_list_tools=_list_tools,
            on_call_tool=self._call,
            on_list_resources=_list_resources,
            on_read_resource=_read_resource,
        )

    async def _call(self, context: _Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = next((tool for tool in TOOLS if tool.name == params.name), None)
        if tool is None:
            named = ", ".join(tool.name for tool in TOOLS)
            raise MCPError(types.INVALID_PARAMS, f"unknown tool; known tools: {named}")
        try:
            arguments = checked(tool.name, tool.fields, params.arguments)
            return _result(await self._answer(tool, arguments, context))
        except _EXPECTED as error:
            return _result(failed(str(error)))
        except Exception as fault:
            return _result(failed(f"internal error of loop-close: {fault_text(fault)}"))

    async def _answer(self, tool: Tool, arguments: dict[str, Any], context: _Context) -> ToolAnswer:
        if tool.work is not None:
            done: ToolAnswer = await anyio.to_thread.run_sync(partial(tool.work, **arguments))
            return done
        if self._is_running:
            return failed(_BUSY)
        self._is_running = True
        try:
            return await loop_run(_progress_reporter(context), **arguments)
        finally:
            self._is_running = False


def _progress_reporter(context: _Context) -> Callable[[float], Awaitable[None]]:
    async def report_seconds(seconds: float) -> None:
        await context.session.report_progress(seconds, message="the tests are running")

    return report_seconds


def _result(answer: ToolAnswer) -> types.CallToolResult:
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=answer.text)],
        structured_content=answer.document,
        is_error=answer.is_error,
        _meta=dict(answer.meta) or None,
    )


async def _list_tools(context: _Context, params: object) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[_described(tool) for tool in TOOLS])


def _described(tool: Tool) -> types.Tool:
    # Tests are arbitrary code: what they do to files and to the network is unknown.
    runs = tool is RUN
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=input_schema(tool.fields),
        output_schema=dict(tool.output),
        annotations=types.ToolAnnotations(
            title=tool.title,
            read_only_hint=tool.is_read_only,
            destructive_hint=runs,
            idempotent_hint=not runs,
            open_world_hint=runs,
        ),
    )


async def _list_resources(context: _Context, params: object) -> types.ListResourcesResult:
    resource = types.Resource(
        uri=URI,
        name="nextprompt",
        title="The next prompt",
        description="What is broken after the last test run, by root cause, and what to do next.",
        mime_type=_MARKDOWN,
    )
    return types.ListResourcesResult(resources=[resource])


async def _read_resource(
    context: _Context, params: types.ReadResourceRequestParams
) -> types.ReadResourceResult:
    if str(params.uri) != URI:
        raise MCPError(types.INVALID_PARAMS, f"unknown resource; the only resource is {URI}")
    try:
        text = await anyio.to_thread.run_sync(next_prompt)
    except _EXPECTED as error:
        raise MCPError(types.INTERNAL_ERROR, failed(str(error)).text) from None
    content = types.TextResourceContents(uri=URI, mime_type=_MARKDOWN, text=text)
    return types.ReadResourceResult(contents=[content])


# --- the lines of standard input as the protocol's package can read them

_ESCAPE = re.compile(
    r"\\(?:u[dD][89aAbB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<lone>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)"
)
_REPLACEMENT = "\\ufffd"


class InputLines:
    r"""Lines of JSON, without halves of characters.

    A host written in JavaScript that cuts a text within an emoji sends half of it as ``\ud83d``. The package
    reads no such line and drops the request, whose answer the host then never gets.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def __aiter__(self) -> InputLines:
        return self

    async def __anext__(self) -> str:
        """The next line."""
        line = await anyio.to_thread.run_sync(self._stream.readline, abandon_on_cancel=True)
        if not line:
            raise StopAsyncIteration
        return mended(line.decode("utf-8", "replace"))


def mended(line: str) -> str:
    """A line of JSON with a replacement character for every escape that is half of a character."""
    return _ESCAPE.sub(_whole, line) if "\\ud" in line.lower() else line


def _whole(escape: re.Match[str]) -> str:
    return _REPLACEMENT if escape["lone"] else escape[0]


# --- the tool ``loop_run``: run the tests that the project names, and report the state of the loop

_MAX_OUTPUT = 2_000
_MAX_REPORT = 20_000_000
#: Fields of the report that are sent; the prompt is sent beside it, the rest is in the state folder.
_REPORT_FIELDS = (
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


async def loop_run(report_seconds: ReportSeconds, time_limit: int = TIME_LIMIT) -> ToolAnswer:
    """Run ``test_command`` of ``[tool.loop-close]``.

    :param report_seconds: called again and again with the seconds so far.
    :param time_limit: in seconds.
    :raises UsageError: for settings that are wrong, a command that makes no words, and files that cannot be written.
    :raises OSError: when nothing can be started.
    """
    plan: _Plan = await anyio.to_thread.run_sync(_plan)
    ran = await run_tests(plan.words, plan.root, time_limit, report_seconds)
    answer: ToolAnswer = await anyio.to_thread.run_sync(_answer, plan, ran, time_limit)
    return answer


def _plan() -> _Plan:
    root = root_of(Path.cwd())
    command = targets_of(root).settings.test_command
    words = words_of(command, "[tool.loop-close] test_command")
    return _Plan(root=root, command=command, words=words, before=latest_run_numbers(root))


def _answer(plan: _Plan, ran: Ended, time_limit: int) -> ToolAnswer:
    result = run_result(plan.root, plan.before)
    sources = document_of((*result.statuses, *result.beside))["sources"] if result.statuses else []
    prompt, report = written_prompt(), _report(plan.root)
    if prompt.startswith(files.RUNNING):
        prompt = ""  # it was killed before it could say anything
    targets = targets_of(plan.root)
    # Without a history only the exit code says whether the run is green; a red run leaves its report.
    is_good = bool(sources) or (targets.history is None and bool(prompt) and report is None)
    standing = _standing(sources, ran, is_good=is_good)
    unexplained = any(each["stall_reason"] == _UNEXPLAINED for each in sources)
    is_clear = bool(prompt) and not ran.is_late and not unexplained
    is_explained = bool(sources) or report is not None or standing == "green"
    output = "" if is_clear and is_explained else clean(ran.output, _MAX_OUTPUT)
    document = {
        "schema": "loop-close.run/1",
        "command": shown(plan.command),
        "exit_code": ran.returncode if ran.returncode >= 0 else None,
        "timed_out": ran.is_late,
        "standing": standing,
        "next_prompt": prompt,
        "prompt_file": targets.name,
        "sources": sources,
        "report": report,
        "output_end": output,
    }
    text = "\n".join(_lines(prompt, output, f"{time_limit} seconds" if ran.is_late else ""))
    return ToolAnswer(
        text=text, document=document, meta=progress_meta(result.progress, is_green=standing == "green")
    )


def _standing(sources: Sequence[Mapping[str, Any]], ran: Ended, *, is_good: bool) -> str:
    """The worst that is known: a command that failed is not green, whatever else is known.

    :param is_good: what is known of the run says nothing else.
    """
    known = next((each["standing"] for each in sources if each["standing"] != "green"), "green")
    # pytest ends with 1 where failures are left that are known.
    is_known = ran.returncode == 1 and any(each["known"] for each in sources)
    is_green = is_good and (ran.returncode == 0 or is_known) and not ran.is_late
    return str(known) if known != "green" or is_green else "failing"


def _report(root: Path) -> dict[str, Any] | None:
    """The report that a red run leaves, shortened; None if there is none."""
    path = root / files.REPORT
    try:
        if path.stat().st_size > _MAX_REPORT:
            return None
        document = dict(json.loads(path.read_bytes()))
    except (OSError, ValueError, TypeError, RecursionError):
        return None
    return bounded({key: document[key] for key in _REPORT_FIELDS if key in document})


def _lines(prompt: str, output: str, limit: str) -> list[str]:
    lines = [f"The tests did not finish within {limit} and were stopped.", ""] if limit else []
    lines += [prompt.rstrip("\n") or "The run wrote no next prompt.", ""]
    return [*lines, "End of the output:", "", *fence(output)] if output else lines


# --- run the project's tests in a process group of their own, and stop them when the call is cancelled

#: Called again and again during a run with the seconds so far, so that a waiting host sees that it goes on.
ReportSeconds = Callable[[float], Awaitable[None]]

_REPORT_INTERVAL = 5.0
_TAIL = 64_000
#: How the tests are asked to end when the call is cancelled. A client of the official package kills the server 4
#: seconds after it has closed its input.
_CANCELLED = (("SIGINT", 1.0), ("SIGTERM", 0.5))
_SWEEP_SECONDS = 0.2


async def run_tests(words: Sequence[str], root: Path, seconds: float, report_seconds: ReportSeconds) -> Ended:
    """Run a command under ``loop-close run``, which records the run and writes the prompt.

    :param seconds: its time limit.
    :raises OSError: when it cannot be started.
    """
    child = Child(
        words=remembered(words),
        root=root,
        environment=environment(),
        channels=[Channel(limit=_TAIL)],
        seconds=seconds,
        forwards=True,
        graces_on_stop=_CANCELLED,
        sweep_seconds=_SWEEP_SECONDS,
        keeps_rest=True,
    )
    stop = Stop()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_report_seconds, report_seconds)
        tasks.start_soon(_stop_when_cancelled, stop)
        ended: Ended | OSError | None = await anyio.to_thread.run_sync(_run, child, stop)
        tasks.cancel_scope.cancel()
    await anyio.lowlevel.checkpoint()  # raises if the call was cancelled
    if isinstance(ended, OSError):  # raised only here, as a task group would wrap it
        raise ended
    assert ended is not None
    return ended


def _run(child: Child, stop: Stop) -> Ended | OSError | None:
    try:
        return run(child, stop)
    except InterruptionError:
        return None
    except OSError as error:
        return error


async def _stop_when_cancelled(stop: Stop) -> None:
    try:
        await anyio.sleep_forever()
    finally:
        stop.asked += 1


async def _report_seconds(report_seconds: ReportSeconds) -> None:
    begun = anyio.current_time()
    while True:
        await anyio.sleep(_REPORT_INTERVAL)
        await report_seconds(anyio.current_time() - begun)


# --- the next prompt as the project's file has it

#: Of the resource.
URI = "loop-close://nextprompt"
# The budget is a setting without an upper bound; a host's context has one.
_MAX_BYTES = 400_000


def prompt_file() -> Path:
    """Where the next prompt of the project lies, or would.

    :raises UsageError: for settings that are wrong.
    :raises UnusablePathError: for a path that leads out of the project.
    """
    root = root_of(Path.cwd())
    return files.check_inside(root, files.path_of_setting(root, "file", settings_of(root).file))


def written_prompt() -> str:
    """What the last run wrote; empty if there is nothing, or nothing of ours."""
    path = prompt_file()
    try:
        is_ours = files.is_prompt(path)
        with path.open("rb") as file:
            text = file.read(_MAX_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
    # Tests may have written into it: remove invisible characters.
    return sanitize(files.without_signature(text)) if is_ours else ""


def next_prompt() -> str:
    """The text of the resource: the prompt, or that there is none."""
    return written_prompt() or (
        f"No next prompt: {prompt_file().name} does not exist, or loop-close did not write it."
        " A test run writes it: call loop_run, or run pytest --loop-close.\n"
    )
