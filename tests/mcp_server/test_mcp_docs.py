"""What the page says can be copied."""

import json
import re
import shlex
import tomllib
from pathlib import Path

import pytest

from loop_close.cli.parser import parse
from loop_close.settings import parse_settings

PAGE = (Path(__file__).parents[2] / "docs" / "mcp.md").read_text(encoding="utf-8")
SERVER = ("loop-close", ["mcp"])


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_each_configuration_starts_the_server():
    servers = [json.loads(block)["mcpServers"]["loop-close"] for block in blocks("json")]
    tables = [tomllib.loads(block) for block in blocks("toml")]
    servers += [table["mcp_servers"]["loop-close"] for table in tables if "mcp_servers" in table]
    assert len(servers) == 3
    assert all((server["command"], server["args"]) == SERVER for server in servers)
    (words,) = [
        shlex.split(line) for block in blocks("sh") for line in block.splitlines() if "claude" in line
    ]
    assert words[-2:] == ["loop-close", "mcp"]
    assert callable(parse(["mcp"]).command)


def test_the_settings_are_settings():
    tables = [tomllib.loads(block).get("tool") for block in blocks("toml")]
    (settings,) = [parse_settings(table["loop-close"]) for table in tables if table]
    assert settings.test_command == "pytest --loop-close"


def test_every_tool_and_argument_is_told_of():
    pytest.importorskip("mcp_types")
    from loop_close.mcp_server.tools import TOOLS

    for tool in TOOLS:
        assert f"| `{tool.name}` |" in PAGE
        assert all(f"`{field.name}`" in PAGE for field in tool.fields)
