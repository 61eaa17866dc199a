"""The server on standard input and output: the tools and the resource in the words of the protocol."""

from __future__ import annotations

import logging
import os
import re
import signal
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias, cast

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from loop_close import __version__
from loop_close.cli.streams import UsageError
from loop_close.files import UnusablePathError
from loop_close.mcp_server.arguments import ToolAnswer, ToolError, checked, failed, input_schema
from loop_close.mcp_server.outcome import URI, loop_run, next_prompt
from loop_close.mcp_server.tools import INSTRUCTIONS, RUN, TOOLS, Tool
from loop_close.text import fault_text

if TYPE_CHECKING:
    from loop_close.cli.streams import Streams


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
            return await loop_run(_teller(context), **arguments)
        finally:
            self._is_running = False


def _teller(context: _Context) -> Callable[[float], Awaitable[None]]:
    async def tell(seconds: float) -> None:
        await context.session.report_progress(seconds, message="the tests are running")

    return tell


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
    # Tests are anybody's code: of what they do to files and to the network nothing can be promised.
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


# The lines of standard input as the protocol's package can read them.

_ESCAPE = re.compile(
    r"\\(?:u[dD][89aAbB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<lone>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)"
)
_REPLACEMENT = "\\ufffd"


class InputLines:
    r"""Lines of JSON, without halves of characters.

    A host written in JavaScript that cuts a text within an emoji sends half of it as ``\ud83d``. The package
    reads no such line and drops the request, for whose answer the host then waits in vain.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def __aiter__(self) -> InputLines:
        return self

    async def __anext__(self) -> str:
        """The next line; the end where there is none any more."""
        line = await anyio.to_thread.run_sync(self._stream.readline, abandon_on_cancel=True)
        if not line:
            raise StopAsyncIteration
        return mended(line.decode("utf-8", "replace"))


def mended(line: str) -> str:
    """A line of JSON with a replacement character for every escape that is half of a character."""
    return _ESCAPE.sub(_whole, line) if "\\ud" in line.lower() else line


def _whole(escape: re.Match[str]) -> str:
    return _REPLACEMENT if escape["lone"] else escape[0]
