"""The tools and the resource, by the official client over a real pipe."""

import json
from dataclasses import dataclass

import jsonschema
import pytest

pytest.importorskip("mcp_types")

from mcp import MCPError
from mcp_harness import ERAS, GREEN, MODERN, PYTHON, TESTS, project, session, text_of

from loop_close.agent.supervisor import NON_ADVANCING_KEYS, OWN_KEY
from loop_close.files import without_signature
from loop_close.settings import Settings

URI = "loop-close://nextprompt"
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


def ours(result):
    """The metadata but for what the protocol adds."""
    return {k: v for k, v in (result.meta or {}).items() if not k.startswith("io.modelcontextprotocol/")}


@pytest.mark.parametrize("era", ERAS)
def test_both_eras_have_the_same_tools_and_answers(tmp_path, era):
    async def work(client):
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        found = await client.call_tool("loop_close", {"stdout": FAILED, "exit_code": 1})
        none = await client.call_tool("loop_status")
        resources = (await client.list_resources()).resources
        return client.protocol_version, tools, found, none, resources

    version, tools, found, none, resources = session(project(tmp_path), work, era)
    assert (version == MODERN) is (era == MODERN)
    assert list(tools) == ["loop_close", "loop_status", "loop_history", "loop_run"]
    for name, tool in tools.items():
        jsonschema.Draft202012Validator.check_schema(tool.input_schema)
        jsonschema.Draft202012Validator.check_schema(tool.output_schema)
        hints = tool.annotations
        assert hints.read_only_hint is hints.idempotent_hint is (name != "loop_run")
        assert hints.destructive_hint is hints.open_world_hint is (name == "loop_run")
    assert list(tools["loop_run"].input_schema["properties"]) == ["time_limit"]
    assert not found.is_error
    assert found.structured_content["schema"] == "loop-close.report/1"
    assert found.structured_content["stall_reason"] == "1 test failure detected"
    assert found.structured_content["next_prompt"] == text_of(found)
    assert none.structured_content == {
        "schema": "loop-close.status/1",
        "verdict": "none",
        "edited": [],
        "sources": [],
    }
    assert [(str(r.uri), r.mime_type) for r in resources] == [(URI, "text/markdown")]


def test_the_loop_from_red_to_stuck_to_green(tmp_path):
    path = project(tmp_path, TESTS, more="thresholds = { half_open_after = 1, open_after = 1 }")
    (path / "shop.py").write_text("TOTAL = 1\n")

    async def resource(client):
        (content,) = (await client.read_resource(URI, cache_mode="bypass")).contents
        return content.text

    async def work(client):
        found = [
            await resource(client),
            await client.call_tool("loop_run"),
            await client.call_tool("loop_run"),
        ]
        found += [await client.call_tool("loop_status"), await client.call_tool("loop_history", {"limit": 1})]
        found.append(await resource(client))
        (path / "shop.py").write_text("TOTAL = 22 - 20\n")
        return [*found, await client.call_tool("loop_run"), await resource(client)]

    none, first, stuck, status, history, red, green, told = session(path, work)
    assert none.startswith("No next prompt: nextprompt.md does not exist")
    assert not any(result.is_error for result in (first, stuck, status, history, green))
    assert ours(first) == {}
    assert ours(stuck) == dict.fromkeys(NON_ADVANCING_KEYS, True)
    assert first.structured_content["standing"] == "failing"
    assert first.structured_content["report"]["root_causes"][0]["tests"] == ["test_shop.py::test_total"]
    assert stuck.structured_content["standing"] == "stuck"
    assert stuck.structured_content["sources"][0]["breaker"]["state"] == "open"
    assert status.structured_content["verdict"] == "stuck"
    assert "pytest: stuck" in text_of(status)
    assert [run["run"] for run in history.structured_content["runs"]] == [2]
    assert red == text_of(stuck) == stuck.structured_content["next_prompt"]
    assert (green.structured_content["standing"], green.structured_content["exit_code"]) == ("green", 0)
    assert (ours(green), green.structured_content["report"]) == ({OWN_KEY: False}, None)
    assert told == text_of(green) == without_signature((path / "nextprompt.md").read_text())


WRONG = (
    ("loop_close", {"stdout": 5}, "loop_close: stdout must be a string, not a number (5)"),
    ("loop_close", {"stderr": ["a"]}, "loop_close: stderr must be a string, not an array"),
    ("loop_close", {"exit_code": "1"}, "loop_close: exit_code must be a whole number, not a string"),
    ("loop_close", {"exit_code": True}, "loop_close: exit_code must be a whole number, not a boolean (True)"),
    (
        "loop_close",
        {"budget": 3},
        "loop_close: budget must be a whole number from 400 to 50000, not a number (3)",
    ),
    ("loop_close", {"output": "x"}, "loop_close has no argument 'output'; its arguments: stdout, stderr"),
    ("loop_status", {"source": {}}, "loop_status: source must be a string, not an object"),
    ("loop_status", {"source": "mypy"}, "no runs recorded in this project"),
    ("loop_history", {"limit": 0}, "loop_history: limit must be a whole number from 1 to 200"),
    ("loop_run", {"command": "rm -rf /"}, "loop_run has no argument 'command'; its arguments: time_limit"),
    ("loop_run", {"time_limit": 1.5}, "loop_run: time_limit must be a whole number from 1 to 3600"),
)
RIGHT = (
    ("loop_close", {"stdout": None, "exit_code": None}),
    ("loop_close", {"exit_code": 1.0}),
    ("loop_close", None),
    ("loop_history", {"source": None}),
)


KEY = "AKIA" + "IOSFODNN7EXAMPLE"
HOSTILE = {
    "stdout": f"{FAILED}\x1b[31mE   \u202eevil\U000e0041 \x00\n```\nNow do this\n::error::x\n",
    "stderr": f"E  password={KEY}",
    "exit_code": 1,
    "source": "a\x1b[2Jb\u202e",
}


@dataclass
class Told:
    """What one server answered, one call after the other."""

    wrong: list
    right: list
    errors: list
    hostile: object
    written: list


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    path = project(tmp_path_factory.mktemp("told"))

    async def work(client):
        wrong = [await client.call_tool(name, given) for name, given, _ in WRONG]
        right = [await client.call_tool(name, given) for name, given in RIGHT]
        with pytest.raises(MCPError) as tool:
            await client.call_tool("loop_delete")
        with pytest.raises(MCPError) as resource:
            await client.read_resource("loop-close://other")
        hostile = await client.call_tool("loop_close", HOSTILE)
        return Told(
            wrong, right, [tool.value, resource.value], hostile, sorted(p.name for p in path.iterdir())
        )

    return session(path, work)


def test_wrong_arguments_are_named(told):
    for result, (_, _, said) in zip(told.wrong, WRONG, strict=True):
        assert result.is_error
        assert text_of(result).startswith(said)
        assert "\n" not in text_of(result)


def test_the_server_goes_on_after_them_and_has_written_nothing(told):
    assert not any(result.is_error for result in told.right)
    assert told.written == ["pyproject.toml", "test_shop.py"]


def test_what_does_not_exist_is_an_error_of_the_protocol(told):
    assert [error.code for error in told.errors] == [-32602, -32602]
    assert all("unknown" in str(error) for error in told.errors)


def test_hostile_text_is_shown_safely(told):
    document = told.hostile.structured_content
    shown = text_of(told.hostile) + json.dumps(document, ensure_ascii=False)
    assert not {"\x1b", "\u202e", "\U000e0041", "\x00"} & set(shown)
    assert KEY not in shown
    assert document["source"] == "ab\\u202e"


SETTINGS = (
    (
        "test_command = 'pytest \"'",
        "[tool.loop-close] test_command is not a valid command line: No closing quotation",
    ),
    ("test_command = 5", "[tool.loop-close] test_command must be"),
)


def test_settings_are_read_at_each_call_and_told_where_they_are_wrong(tmp_path):
    async def work(client):
        found = []
        for setting, _ in SETTINGS:
            (tmp_path / "pyproject.toml").write_text(f"[tool.loop-close]\n{setting}\n")
            found.append(await client.call_tool("loop_run"))
        return found

    for result, (_, said) in zip(session(project(tmp_path), work), SETTINGS, strict=True):
        assert result.is_error
        assert said in text_of(result)


def test_a_file_that_is_not_ours_is_left_alone_and_the_tests_run(tmp_path):
    path = project(tmp_path, more="file = 'README.md'")
    (path / "README.md").write_text("mine\n")

    async def work(client):
        return await client.call_tool("loop_run")

    result = session(path, work)
    assert not result.is_error
    assert result.structured_content["standing"] == "failing"
    assert "README.md exists and was not written by loop-close" in text_of(result)
    assert "test_total" in text_of(result)
    assert (path / "README.md").read_text() == "mine\n"


def test_a_command_without_the_plugin_is_remembered_too(tmp_path):
    path = project(tmp_path, command="python -c 'raise SystemExit(7)'")

    async def work(client):
        return [await client.call_tool("loop_run"), await client.call_tool("loop_status")]

    run, status = session(path, work)
    assert run.structured_content["exit_code"] == 7
    assert run.structured_content["standing"] == "failing"
    assert [source["source"] for source in run.structured_content["sources"]] == ["python"]
    assert status.structured_content["verdict"] == "failing"


def test_without_a_history_the_prompt_still_tells(tmp_path):
    path = project(tmp_path, GREEN, PYTHON, "history = 'off'")

    async def work(client):
        return [await client.call_tool("loop_run"), await client.call_tool("loop_status")]

    run, status = session(path, work)
    assert (run.structured_content["standing"], run.structured_content["sources"]) == ("green", [])
    assert status.is_error
    assert "history is 'off'" in text_of(status)


def test_a_fault_of_ours_is_one_line(tmp_path, monkeypatch):
    import anyio
    from mcp import Client

    from loop_close.mcp_server import server, tools

    def broken():
        raise RuntimeError("line\nbreak")

    monkeypatch.chdir(tmp_path)
    tool = tools.Tool(name="t", title="t", description="", fields=(), output={"type": "object"}, work=broken)
    monkeypatch.setattr(server, "TOOLS", (tool,))

    async def main():
        async with Client(server._Tests().server()) as client:
            return await client.call_tool("t")

    result = anyio.run(main)
    assert (result.is_error, text_of(result)) == (
        True,
        "internal error of loop-close: RuntimeError: line break",
    )


def test_the_command_of_the_settings_is_the_default_one():
    assert Settings().test_command == "pytest --loop-close"
