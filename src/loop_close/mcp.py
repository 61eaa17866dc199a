"""``loop-close mcp``: the server that hosts of agents speak to, on standard input and output.

Each tool is a function: its name, docstring and parameters are what the host gets, and what a call is checked against.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import logging
import os
import signal
import subprocess
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, TypeAlias, cast, get_type_hints

import anyio
import anyio.lowlevel
import anyio.to_thread
import mcp_types as types
import msgspec
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from msgspec import Meta

from loop_close import __version__, gate
from loop_close.checks import root_of
from loop_close.cli import UsageError, last_prompt, project_at
from loop_close.cli.check import lines_of
from loop_close.cli.history import edited_in, failing_of, read, table_of
from loop_close.cli.results import root_in
from loop_close.detectors import DEFAULT_DETECTORS
from loop_close.files import UnusablePathError
from loop_close.judge import report_of
from loop_close.log_files import Tail
from loop_close.process import OUR_CHECK, environment
from loop_close.prompt.compose import compose
from loop_close.prompt.report_json import report_document, state_document
from loop_close.prompt.sections import DEFAULT_SECTIONS
from loop_close.readers.streams import observe
from loop_close.seeds.supervisor import progress_meta
from loop_close.settings import DEFAULT_BUDGET, MIN_BUDGET
from loop_close.text import fault_text, fence, one_line
from loop_close.text.redact import clean

if TYPE_CHECKING:
    from loop_close.cli import Streams

#: Of the resource that holds the next prompt.
URI = "loop-close://nextprompt"
INSTRUCTIONS = (
    "loop-close says whether the work is done. After an edit, call loop_run: it runs the checks and returns the next"
    " prompt. Call loop_status to see whether every check is green on the present files. Call loop_close to read output"
    " that you already have."
)
_MARKDOWN = "text/markdown"
_MAX_ITEMS, _MAX_CHARACTERS, _MAX_ERROR, _MAX_NAME = 25, 600, 500, 100
_MAX_OUTPUT, _TAIL = 2_000, 64_000
_Context: TypeAlias = ServerRequestContext[Any, Any]


class ToolError(Exception):
    """A call that cannot be answered; the text says why, and what would be right."""


#: What went wrong outside of us, or was asked for wrongly.
_EXPECTED = (ToolError, UsageError, UnusablePathError, OSError)


def answer(
    text: str, document: Mapping[str, Any], meta: Mapping[str, bool] | None = None
) -> types.CallToolResult:
    """What a tool answers.

    :param text: for a model to read; ``document``: the same as plain values.
    :param meta: for the host, by reverse-DNS key.
    """
    content = types.TextContent(type="text", text=text)
    plain = json.loads(msgspec.json.encode(document))
    return types.CallToolResult(
        content=[content], structured_content=plain, _meta=dict(meta) if meta else None
    )


# --- the tools


def loop_close(
    *,
    stdout: Annotated[
        str, Meta(description="Output of the command. Only the last 1,000,000 characters are read.")
    ] = "",
    stderr: Annotated[
        str, Meta(description="Standard error of the command, if it is separate from stdout.")
    ] = "",
    exit_code: Annotated[
        int | None, Meta(description="Exit code of the command. Omit it if unknown.")
    ] = None,
    source: Annotated[str, Meta(description="Name of the source of this run.")] = "output",
    detectors: Annotated[
        tuple[str, ...], Meta(description="Only these detectors look at the output (default: all).")
    ] = (),
    budget: Annotated[
        int, Meta(ge=MIN_BUDGET, le=50_000, description="Maximum length of the prompt in tokens.")
    ] = DEFAULT_BUDGET,
) -> types.CallToolResult:
    """Read the output of a test command, type checker or linter.

    Returns what is wrong, grouped by root cause, and what to do next. No side effects: the same input gives the same
    answer.
    """
    known = {detector.id: detector for detector in DEFAULT_DETECTORS}
    if not set(detectors) <= known.keys():
        raise ToolError(f"loop_close: unknown name in detectors; known names: {', '.join(known)}")
    observation = observe(
        stdout,
        stderr,
        exit_code,
        root=root_in((stdout, stderr)),
        source=one_line(clean(source), _MAX_NAME),
    )
    report = report_of(observation, detectors=[known[name] for name in detectors or known])
    prompt = compose(report, DEFAULT_SECTIONS, budget=budget)
    return answer(prompt, bounded(report_document(report, prompt)))


def loop_status() -> types.CallToolResult:
    """Say whether every check is green on the present files, and where the loop is.

    Returns what `loop-close status --json` prints. Runs nothing.
    """
    project = project_at()
    state, loop = gate.state(project.root), gate.loop_of(project.history)
    meta = progress_meta(loop, is_green=state.verdict == "done", stuck_after=project.settings.stuck_after)
    return answer("\n".join(lines_of(state, loop)), state_document(state, loop), meta)


def loop_history(
    *, limit: Annotated[int, Meta(ge=1, le=200, description="Number of runs.")] = 20
) -> types.CallToolResult:
    """List the recorded test runs, newest last, with their results. Runs nothing."""
    runs = read(project_at(), lambda store: store.runs(limit))
    documents = [
        {
            "run": each.number,
            "check": each.check,
            "began": each.began,
            "result": each.result,
            "failing": failing_of(each),
            "edited": edited_in(each),
        }
        for each in runs
    ]
    return answer(table_of(runs), bounded({"schema": "loop-close.runs/2", "runs": documents}))


async def loop_run(
    context: _Context,
    *,
    time_limit: Annotated[
        int, Meta(ge=1, le=3_600, description="Time limit for the checks in seconds.")
    ] = 600,
) -> types.CallToolResult:
    """Run the project's checks as `loop-close check` does.

    Returns the next prompt (what is broken, by root cause) and whether the work is done. The caller cannot choose the
    command. To read the prompt again, take the resource, or `loop-close prompt`, which run nothing.
    """
    root = root_of(Path.cwd())
    code, printed = await _run_checks(root, time_limit, context)
    is_late = code is None
    seen: types.CallToolResult = await anyio.to_thread.run_sync(loop_status)
    prompt = await anyio.to_thread.run_sync(last_prompt, root)
    output = "" if prompt and not is_late else clean(printed, _MAX_OUTPUT)
    late = f"The checks did not finish within {time_limit} seconds and were stopped."
    state = getattr(seen.content[0], "text", "")
    said = [late * is_late, prompt, "\n".join(fence(output)) if output else "", state]
    document = {
        "schema": "loop-close.run/2",
        "exit_code": code,
        "timed_out": is_late,
        "next_prompt": prompt,
        "state": seen.structured_content,
        "output_end": output,
    }
    return answer("\n\n".join(filter(None, said)), document, seen.meta)


#: The tools with their titles. The last one runs the checks, which is arbitrary code.
_TITLES: Mapping[Callable[..., Any], str] = {
    loop_close: "Read test output",
    loop_status: "Is the work done?",
    loop_history: "Earlier test runs",
    loop_run: "Run the checks",
}
_TOOLS = {work.__name__: work for work in _TITLES}


def _arguments_of(work: Callable[..., Any]) -> type[msgspec.Struct]:
    """The record of a tool's arguments, from the parameters of its function."""
    hints = get_type_hints(work, include_extras=True)
    given = [
        (each.name, hints[each.name], each.default)
        for each in inspect.signature(work).parameters.values()
        if each.kind is each.KEYWORD_ONLY
    ]
    return msgspec.defstruct("Arguments", given, forbid_unknown_fields=True)


def _checked(name: str, given: Mapping[str, Any] | None) -> dict[str, Any]:
    """The arguments of a call; null counts as not given.

    :raises ToolError: naming the argument that does not exist or cannot have its value.
    """
    takes = _arguments_of(_TOOLS[name])
    try:
        kept = {key: value for key, value in (given or {}).items() if value is not None}
        return msgspec.structs.asdict(msgspec.convert(kept, takes))
    except msgspec.ValidationError as error:
        names = ", ".join(takes.__struct_fields__) or "none"
        raise ToolError(f"{name}: {error}; its arguments: {names}") from None


def bounded(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document with its lists and texts cut, and with what was left out counted as ``omitted``.

    A host cuts or refuses what is long, and the next prompt, which bounds itself, says what counts.
    """
    omitted: dict[str, int] = {}
    found = {
        key: value if key == "next_prompt" else _cut(value, key, omitted) for key, value in document.items()
    }
    return {**found, "omitted": omitted}


def _cut(value: Any, key: str, omitted: dict[str, int]) -> Any:
    if isinstance(value, Mapping):
        return {name: _cut(each, name, omitted) for name, each in value.items()}
    if isinstance(value, list):
        if len(value) > _MAX_ITEMS:
            omitted[key] = omitted.get(key, 0) + len(value) - _MAX_ITEMS
        return [_cut(each, key, omitted) for each in value[:_MAX_ITEMS]]
    if isinstance(value, str) and len(value) > _MAX_CHARACTERS:
        return f"{value[: _MAX_CHARACTERS - 1]}…"
    return value


# --- the checks, stopped at the time limit and when the call is cancelled

_REPORT_INTERVAL = 5.0
#: Seconds for the checks to end. A client of the official package kills the server 4 seconds after it has closed its
#: input.
_AT_LIMIT, _WHEN_CANCELLED = 10.0, 1.5


async def _run_checks(root: Path, seconds: float, context: _Context) -> tuple[int | None, str]:
    """Run ``loop-close check``: its exit code, None at the time limit; and the end of its output."""
    tail = Tail(_TAIL)
    async with (
        await anyio.open_process(
            OUR_CHECK, cwd=root, env=environment(), stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT
        ) as process,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(_report_progress, context)
        grace = _WHEN_CANCELLED
        assert process.stdout is not None
        try:
            with anyio.move_on_after(seconds) as limit:
                async for chunk in process.stdout:
                    tail.add(chunk)
                await process.wait()
            grace = _AT_LIMIT
        finally:
            with anyio.move_on_after(grace, shield=True):
                if process.returncode is None:
                    process.send_signal(signal.SIGINT) if os.name == "posix" else process.terminate()
                await process.wait()
        tasks.cancel_scope.cancel()
    return None if limit.cancelled_caught else process.returncode, tail.text()


async def _report_progress(context: _Context) -> None:
    """Report the seconds so far again and again, so that a waiting host sees that the run goes on."""
    begun = anyio.current_time()
    while True:
        await anyio.sleep(_REPORT_INTERVAL)
        await context.session.report_progress(anyio.current_time() - begun, message="the checks are running")


# --- the server, in the words of the protocol


def serve(streams: Streams) -> int:
    """Answer until the input ends: 0; 128 and the number of the signal that ended it."""
    logging.basicConfig(stream=streams.errors, level=logging.WARNING, format="loop-close: %(message)s")
    code: int = anyio.run(_serve, streams)
    return code


async def _serve(streams: Streams) -> int:
    server: Server[Any] = Server(
        "loop-close",
        version=__version__,
        title="loop-close",
        instructions=INSTRUCTIONS,
        on_list_tools=_list_tools,
        on_call_tool=partial(_call, anyio.Lock()),
        on_list_resources=_list_resources,
        on_read_resource=_read_resource,
    )
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
    """End the server on a signal, and the checks with it: they would go on without it."""
    if os.name != "posix":
        task_status.started()
        return
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as received:
        task_status.started()
        async for number in received:
            ended.append(number)
            scope.cancel()


async def _call(
    lock: anyio.Lock, context: _Context, params: types.CallToolRequestParams
) -> types.CallToolResult:
    """Answer a call.

    :param lock: held while the checks run.
    """
    if params.name not in _TOOLS:
        raise MCPError(types.INVALID_PARAMS, f"unknown tool; known tools: {', '.join(_TOOLS)}")
    try:
        given, work = _checked(params.name, params.arguments), _TOOLS[params.name]
        if work is not loop_run:
            done: types.CallToolResult = await anyio.to_thread.run_sync(partial(work, **given))
            return done
        if lock.locked():
            raise ToolError("the checks are already running; loop_status shows when they are done")
        async with lock:
            return await loop_run(context, **given)
    except _EXPECTED as error:
        why = str(error)
    except Exception as fault:
        why = f"internal error of loop-close: {fault_text(fault)}"
    content = types.TextContent(type="text", text=one_line(clean(why), _MAX_ERROR))
    return types.CallToolResult(content=[content], is_error=True)


async def _list_tools(context: _Context, params: object) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[*map(_described, _TITLES)])


def _described(work: Callable[..., Any]) -> types.Tool:
    # Checks are arbitrary code: what they do to files and to the network is unknown.
    runs = work is loop_run
    (schema,) = msgspec.json.schema_components([_arguments_of(work)])[1].values()
    return types.Tool(
        name=work.__name__,
        title=_TITLES[work],
        description=" ".join((inspect.getdoc(work) or "").split()),
        input_schema={"type": "object", "properties": schema["properties"], "additionalProperties": False},
        annotations=types.ToolAnnotations(
            title=_TITLES[work],
            read_only_hint=not runs,
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
        description="What is broken after the last run, by root cause, and what to do next.",
        mime_type=_MARKDOWN,
    )
    return types.ListResourcesResult(resources=[resource])


async def _read_resource(
    context: _Context, params: types.ReadResourceRequestParams
) -> types.ReadResourceResult:
    if str(params.uri) != URI:
        raise MCPError(types.INVALID_PARAMS, f"unknown resource; the only resource is {URI}")
    prompt = await anyio.to_thread.run_sync(lambda: last_prompt(root_of(Path.cwd())))
    text = prompt or "There is no next prompt: call loop_run, or run loop-close check.\n"
    content = types.TextResourceContents(uri=URI, mime_type=_MARKDOWN, text=text)
    return types.ReadResourceResult(contents=[content])


# --- the lines of standard input as the protocol's package can read them


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
        read: bytes = await anyio.to_thread.run_sync(self._stream.readline, abandon_on_cancel=True)
        if not read:
            raise StopAsyncIteration
        line = read.decode("utf-8", "replace")
        with contextlib.suppress(ValueError, RecursionError):  # it is no JSON, as the package will say
            whole = json.dumps(json.loads(line), ensure_ascii=False)
            line = whole.encode("utf-8", "replace").decode()
        return line
