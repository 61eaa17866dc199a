"""``loop-close mcp`` as a process: its tools by the official client, its lines behind bare pipes, its end."""

import contextlib
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import jsonschema
import pytest
from processes import GUARD, PYTEST_INI, is_running, wait_until

pytest.importorskip("mcp_types")

import anyio
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client

from loop_close.cli.parser import parse

COMMAND = [sys.executable, "-m", "loop_close", "mcp"]
MODERN = "2026-07-28"
LEFT_OUT = ("PYTEST_", "COLUMNS", "LINES", "PYTHONWARNINGS", "COV_")
URI = "loop-close://nextprompt"
NON_ADVANCING = {"ai.nimblebrain/non-advancing": True, "dev.loop-close/non-advancing": True}
PAGE = (Path(__file__).parents[2] / "docs" / "mcp.md").read_text(encoding="utf-8")

TESTS = "from shop import TOTAL\n\n\ndef test_total():\n    assert TOTAL == 2\n"
#: A check that says where it and a process that it started are, then waits.
WAITS = """import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
open("pids.part", "w").write(f"{os.getpid()} {child.pid}")
os.rename("pids.part", "pids")
time.sleep(300)
"""
FAILED = """=================================== FAILURES ===================================
__________________________________ test_total __________________________________

    def test_total():
>       assert 1 == 2
E       assert 1 == 2

test_shop.py:2: AssertionError
=========================== short test summary info ============================
FAILED test_shop.py::test_total - assert 1 == 2
============================== 1 failed in 0.01s ===============================
"""

posix = pytest.mark.skipif(os.name != "posix", reason="groups of processes are those of POSIX")


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    root = tmp_path / "shop"
    (root / ".git").mkdir(parents=True)
    (root / "shop.py").write_text("TOTAL = 1\n")
    (root / "test_shop.py").write_text(TESTS)
    (root / "pytest.ini").write_text(PYTEST_INI)
    return root


def waits(project):
    """Give the project a check that does not end by itself."""
    command = json.dumps(shlex.join([sys.executable, "checks.py"]))
    settings = f'[tool.loop-close]\noutputs = ["pids*"]\nchecks.tests = {command}\n'
    (project / "pyproject.toml").write_text(settings)
    (project / "checks.py").write_text(WAITS)


def environment():
    return {name: value for name, value in os.environ.items() if not name.startswith(LEFT_OUT)}


def session(path, work, mode="auto"):
    """What ``work`` makes of a client that is connected to the server in this folder."""

    async def main():
        with anyio.fail_after(GUARD), (path.parent / "stderr").open("w") as errors:
            server = StdioServerParameters(command=COMMAND[0], args=COMMAND[1:], cwd=path, env=environment())
            async with Client(stdio_client(server, errlog=errors), mode=mode) as client:
                return await work(client)

    return anyio.run(main)


def text_of(result):
    (content,) = result.content
    return content.text


def meta_of(result):
    """The metadata but for what the protocol adds."""
    return {k: v for k, v in (result.meta or {}).items() if not k.startswith("io.modelcontextprotocol/")}


@contextlib.contextmanager
def piped(path):
    """The bare process."""
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(COMMAND, cwd=path, env=environment(), **pipes) as process:
        try:
            yield process
        finally:
            process.kill()


def call(number, tool, **arguments):
    named = {"protocolVersion": MODERN, "clientInfo": {"name": "t", "version": "1"}, "clientCapabilities": {}}
    meta = {f"io.modelcontextprotocol/{name}": value for name, value in named.items()}
    params = {"name": tool, "arguments": arguments, "_meta": meta}
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}) + "\n"


def send(process, text):
    process.stdin.write(text.encode())
    process.stdin.flush()


def pids_of(path):
    wait_until((path / "pids").exists)
    return [int(pid) for pid in (path / "pids").read_text().split()]


def wait_until_gone(pids):
    for pid in pids:
        wait_until(lambda pid=pid: not is_running(pid))


# --- the tools


@pytest.mark.parametrize("era", ["legacy", MODERN])
def test_both_eras_have_the_same_tools(project, era):
    async def work(client):
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        found = await client.call_tool("loop_close", {"stdout": FAILED, "exit_code": 1, "budget": None})
        resources = (await client.list_resources()).resources
        return client.protocol_version, tools, found, resources

    version, tools, found, resources = session(project, work, era)
    assert (version == MODERN) is (era == MODERN)
    assert list(tools) == ["loop_close", "loop_status", "loop_history", "loop_run"]
    for name, tool in tools.items():
        jsonschema.Draft202012Validator.check_schema(tool.input_schema)
        hints = tool.annotations
        assert hints.read_only_hint is hints.idempotent_hint is (name != "loop_run")
        assert hints.destructive_hint is hints.open_world_hint is (name == "loop_run")
        assert all(f"`{argument}`" in PAGE for argument in tool.input_schema["properties"])
        assert f"\n- `{name}`" in PAGE
    assert list(tools["loop_run"].input_schema["properties"]) == ["time_limit"]
    assert not found.is_error
    assert found.structured_content["schema"] == "loop-close.report/1"
    assert found.structured_content["next_prompt"] == text_of(found)
    assert "test_shop.py::test_total" in text_of(found)
    assert [(str(each.uri), each.mime_type) for each in resources] == [(URI, "text/markdown")]


def test_the_loop_from_unknown_to_done(project):
    async def resource(client):
        (content,) = (await client.read_resource(URI, cache_mode="bypass")).contents
        return content.text

    async def work(client):
        first = await client.call_tool("loop_status"), await resource(client)
        red = await client.call_tool("loop_run"), await resource(client)
        for number in range(3):
            (project / "shop.py").write_text(f"TOTAL = 1 + {number} - {number}\n")
            stuck = await client.call_tool("loop_run")
        (project / "shop.py").write_text("TOTAL = 2\n")
        edited = await client.call_tool("loop_status")
        green = await client.call_tool("loop_run")
        status = await client.call_tool("loop_status")
        return first, red, stuck, edited, green, status, await client.call_tool("loop_history", {"limit": 2})

    first, red, stuck, edited, green, status, history = session(project, work)
    assert first[0].structured_content["verdict"] == "unknown"
    assert first[1] == "There is no next prompt: call loop_run, or run loop-close check.\n"
    found = red[0].structured_content
    assert (found["exit_code"], found["state"]["verdict"], red[0].is_error) == (1, "failing", False)
    assert found["next_prompt"].startswith("# 1 test fails")
    assert red[1].strip() == found["next_prompt"]
    assert (stuck.structured_content["state"]["verdict"], stuck.is_error) == ("stuck", False)
    assert meta_of(stuck) == NON_ADVANCING
    assert edited.structured_content["verdict"] == "unknown"
    assert green.structured_content["exit_code"] == 0
    assert meta_of(green) == {"dev.loop-close/non-advancing": False}
    assert status.structured_content["verdict"] == "done"
    command = [*COMMAND[:-1], "status", "--json"]
    shown = subprocess.run(command, cwd=project, env=environment(), capture_output=True, timeout=GUARD)
    assert json.loads(shown.stdout) == status.structured_content
    assert [each["check"] for each in history.structured_content["runs"]] == ["tests", "tests"]


@pytest.mark.parametrize(
    ("tool", "arguments", "why"),
    [
        ("loop_run", {"command": "true"}, "loop_run: Object contains unknown field `command`"),
        ("loop_run", {"time_limit": 0}, "loop_run: Expected `int` >= 1 - at `$.time_limit`"),
        ("loop_status", {"source": "pytest"}, "; its arguments: none"),
        ("loop_close", {"detectors": ["other"]}, "known names: internal-error, "),
    ],
)
def test_wrong_arguments_are_named(project, tool, arguments, why):
    async def work(client):
        return await client.call_tool(tool, arguments)

    found = session(project, work)
    assert found.is_error
    assert why in text_of(found)


def test_wrong_settings_and_unknown_names_are_errors(project):
    (project / "pyproject.toml").write_text("[tool.loop-close]\nbudget = 'x'\n")

    async def work(client):
        found = await client.call_tool("loop_status")
        with pytest.raises(MCPError, match="unknown tool"):
            await client.call_tool("other")
        with pytest.raises(MCPError, match="the only resource is loop-close://nextprompt"):
            await client.read_resource("loop-close://other")
        return found

    found = session(project, work)
    assert found.is_error
    assert "budget" in text_of(found)


# --- the process


def test_only_the_protocol_is_on_the_output_and_no_line_is_lost(project):
    with piped(project) as process:
        send(process, "no JSON\n\n{}\n[1]\n")
        send(process, call(1, "loop_close", stdout="cut in two: \ud83d", exit_code=1))
        first = json.loads(process.stdout.readline())
        send(process, call(2, "loop_run"))
        second = json.loads(process.stdout.readline())
        process.stdin.close()
        assert process.wait(GUARD) == 0
        assert (process.stdout.read(), process.stderr.read()) == (b"", b"")
    assert (first["id"], first["result"]["isError"]) == (1, False)
    assert (second["id"], second["result"]["structuredContent"]["exit_code"]) == (2, 1)


@posix
@pytest.mark.parametrize(("by", "code"), [(None, 0), (signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_checks_end_with_the_server(project, by, code):
    waits(project)
    with piped(project) as process:
        send(process, call(1, "loop_run"))
        pids = pids_of(project)
        process.send_signal(by) if by else process.stdin.close()
        assert process.wait(GUARD) == code
        wait_until_gone(pids)


@posix
def test_a_cancelled_run_ends_and_another_one_is_refused_meanwhile(project):
    waits(project)

    async def work(client):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.call_tool, "loop_run")
            pids = await anyio.to_thread.run_sync(pids_of, project)
            refused = await client.call_tool("loop_run")
            tasks.cancel_scope.cancel()
        await anyio.to_thread.run_sync(wait_until_gone, pids)
        return refused

    refused = session(project, work)
    assert refused.is_error
    assert text_of(refused).startswith("the checks are already running")


@posix
def test_the_time_limit_ends_the_checks(project):
    waits(project)

    async def work(client):
        return await client.call_tool("loop_run", {"time_limit": 8})

    found = session(project, work)
    wait_until_gone(pids_of(project))
    assert not found.is_error
    assert found.structured_content["timed_out"] is True
    assert found.structured_content["state"]["verdict"] == "unknown"
    assert text_of(found).startswith("The checks did not finish within 8 seconds and were stopped.")


BLOCKED = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "mcp_types":
            raise ModuleNotFoundError("No module named 'mcp_types'", name=name)

sys.meta_path.insert(0, Blocker())
from loop_close.cli import main
sys.exit(main(["mcp"]))
"""


def test_without_the_extra_one_line_says_how_to_get_it():
    command = [sys.executable, "-c", BLOCKED]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=GUARD)
    assert (done.returncode, done.stdout) == (64, "")
    assert done.stderr.startswith("loop-close: mcp is not installed: pip install 'pytest-loop-close[mcp]' (")
    assert done.stderr.count("\n") == 1


def test_each_configuration_of_the_page_starts_the_server():
    def blocks(language):
        return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)

    servers = [json.loads(block)["mcpServers"]["loop-close"] for block in blocks("json")]
    servers += [tomllib.loads(block)["mcp_servers"]["loop-close"] for block in blocks("toml")]
    assert len(servers) == 2
    assert all((server["command"], server["args"]) == ("loop-close", ["mcp"]) for server in servers)
    assert parse(["mcp"]).name == "mcp"
