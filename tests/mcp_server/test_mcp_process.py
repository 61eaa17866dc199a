"""The server as a process: its lines, its end, and what becomes of tests that run then."""

import signal

import pytest

pytest.importorskip("mcp_types")

import anyio
from mcp_harness import (
    GREEN,
    IGNORES,
    PYTHON,
    RED,
    SCRIPT,
    WAITS,
    answer,
    call,
    end,
    line,
    pids_of,
    piped,
    project,
    send,
    session,
    text_of,
    wait_until_gone,
)

pytestmark = pytest.mark.skipif(
    not hasattr(signal, "SIGKILL"), reason="groups of processes are those of POSIX"
)


def test_only_the_protocol_is_on_the_output_and_no_line_is_lost(tmp_path):
    with piped(project(tmp_path, "print('noise')\nraise SystemExit(1)", PYTHON)) as process:
        send(process, "no JSON\n\n{}\n[1]\n")
        send(process, call(1, "loop_close", stdout="cut in two: \ud83d", exit_code=1))
        first = answer(process)
        send(process, line("tools/call", 2, name="loop_close", arguments="text"))
        second = answer(process)
        send(process, call(3, "loop_run"))
        third = answer(process)
        assert end(process, None) == 0
        rest, errors = process.stdout.read(), process.stderr.read()
    assert (first["id"], first["result"]["isError"]) == (1, False)
    assert first["result"]["resultType"] == "complete"
    assert (second["id"], second["error"]["code"]) == (2, -32602)
    assert (third["id"], third["result"]["structuredContent"]["exit_code"]) == (3, 1)
    assert (rest, errors) == (b"", b"")


def test_it_speaks_the_handshake_of_older_hosts(tmp_path):
    asked = {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    with piped(project(tmp_path)) as process:
        send(process, line("initialize", 1, "old", **asked))
        begun = answer(process)["result"]
        send(process, line("notifications/initialized", None, "old") + line("tools/list", 2, "old"))
        tools = answer(process)["result"]["tools"]
        assert end(process, None) == 0
    assert (begun["protocolVersion"], begun["serverInfo"]["name"]) == ("2024-11-05", "loop-close")
    assert len(tools) == 4


@pytest.mark.parametrize(
    ("script", "by", "code"),
    [
        (SCRIPT, None, 0),
        (IGNORES, signal.SIGTERM, 128 + signal.SIGTERM),
    ],
    ids=["end of input", "SIGTERM, of tests that ignore Ctrl-C"],
)
def test_tests_end_with_the_server(tmp_path, script, by, code):
    path = project(tmp_path, script, PYTHON)
    with piped(path) as process:
        send(process, call(1, "loop_run"))
        pids = pids_of(path)
        assert end(process, by) == code
        wait_until_gone(pids)


def test_ctrl_c_ends_it_though_its_input_is_open(tmp_path):
    with piped(project(tmp_path)) as process:
        send(process, call(1, "loop_status"))
        answer(process)
        assert end(process, signal.SIGINT) == 128 + signal.SIGINT


def test_a_cancelled_run_ends_and_another_one_is_refused_meanwhile(tmp_path):
    path = project(tmp_path, GREEN, PYTHON.replace("test_shop.py", "checks.py"))
    (path / "checks.py").write_text(SCRIPT)

    async def work(client):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.call_tool, "loop_run")
            pids = await anyio.to_thread.run_sync(pids_of, path)
            refused = await client.call_tool("loop_run")
            tasks.cancel_scope.cancel()
        await anyio.to_thread.run_sync(wait_until_gone, pids)
        (path / "checks.py").write_text(GREEN)
        again = await client.call_tool("loop_run")
        while again.is_error:  # until the server has seen the end of what it ended
            again = await client.call_tool("loop_run")
        return refused, again

    refused, again = session(path, work)
    assert refused.is_error
    assert text_of(refused).startswith("the tests are already running")
    assert again.structured_content["standing"] == "green"


def test_the_time_limit_ends_the_tests_and_they_tell_what_they_know(tmp_path):
    path = project(tmp_path, f"{RED}\n\n{WAITS}")

    async def work(client):
        limit = 1
        while not (path / "pids").exists():  # it came to the test that waits
            limit *= 2
            result = await client.call_tool("loop_run", {"time_limit": limit})
        return limit, result

    limit, result = session(path, work)
    found = result.structured_content
    wait_until_gone(pids_of(path))
    assert not result.is_error
    assert (found["timed_out"], found["standing"]) == (True, "failing")
    assert text_of(result).startswith(f"The tests did not finish within {limit} seconds and were stopped.")
    assert "test_shop.py::test_total" in found["next_prompt"]
    assert found["output_end"]


def test_a_command_that_cannot_be_started_is_an_os_error(tmp_path):
    from loop_close.mcp_server.server import run_tests

    async def no_report(done: float, total: float | None = None) -> None:
        return None

    words = ["pytest", "x" * 3_000_000]  # longer than any system takes
    with pytest.raises(OSError, match="too long"):
        anyio.run(run_tests, words, tmp_path, 5.0, no_report)
