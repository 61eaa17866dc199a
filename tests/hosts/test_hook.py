"""The hook as hosts call it, between runs of ``loop-close check`` as users start them."""

import json
import os
import subprocess
import sys

import pytest
from cli.cli_harness import environment, loop_close
from host_payloads import FOLDER, recorded

from loop_close import baseline

pytestmark = pytest.mark.slow  # each test runs checks as processes of their own

RED = "def total(xs):\n    return sum(xs) - 1\n"
GREEN = "def total(xs):\n    return sum(xs)\n"
TEST = "from shop import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n"


@pytest.fixture
def state_home(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def project(tmp_path, state_home):
    root = tmp_path / "shop"
    (root / ".git").mkdir(parents=True)
    (root / "shop.py").write_text(RED)
    (root / "test_shop.py").write_text(TEST)
    return root


def edit(project, name, text):
    (project / name).write_text(text)


def check(project):
    return loop_close("check", cwd=project).returncode


def payload(project, event="Stop", session="s", **fields):
    document = {"session_id": session, "cwd": str(project), "hook_event_name": event, **fields}
    return json.dumps(document).encode()


def called(project, data, host="claude"):
    done = loop_close("hook", "--host", host, cwd=project, data=data)
    assert done.returncode == 0
    return done.stdout.decode(), done.stderr.decode()


def hook(project, **fields):
    told, complained = called(project, payload(project, **fields))
    assert complained == ""
    return json.loads(told) if told else None


def start(project, **fields):
    return hook(project, event="SessionStart", source="startup", **fields)


def test_from_red_to_done(project):
    assert check(project) == 1
    red = hook(project)
    assert red["decision"] == "block"
    assert red["reason"].startswith("Not done: tests: 1 failed\n\n# 1 test fails: ")
    assert red["reason"].endswith("nextprompt.md")
    assert hook(project, stop_hook_active=True)["continue"] is False
    edit(project, "shop.py", GREEN)
    assert "`loop-close check`" in hook(project)["reason"]
    assert check(project) == 0
    assert hook(project, stop_hook_active=True) is None


def test_a_project_that_does_not_use_loop_close_is_let_be(project, state_home):
    assert start(project) is None
    assert hook(project) is None
    assert not (project / ".loop-close").exists()
    assert not list(state_home.glob("**/baseline*"))


def test_a_session_above_a_project_is_answered_for_the_project_that_it_goes_to(project):
    start(project, cwd=str(project))
    inner = project / "packages" / "api"
    inner.mkdir(parents=True)
    edit(inner, "pyproject.toml", "[tool.loop-close]\nbudget = 900\n")
    edit(inner, "test_ok.py", "def test_ok(): pass\n")
    assert "`loop-close check`" in hook(project, cwd=str(inner))["reason"]
    assert check(inner) == 0
    assert hook(project, cwd=str(inner)) is None


@pytest.mark.parametrize("uses", ["[tool.loop-close]\nbudget = 900\n", "", "broken"])
def test_it_asks_for_a_first_check_where_the_project_uses_loop_close(project, uses):
    if uses == "broken":
        (project / ".loop-close").mkdir()
        edit(project, "pyproject.toml", "[tool.loop-close]\nchecks = 7\n")
    elif uses:
        edit(project, "pyproject.toml", uses)
    else:
        assert loop_close("install", "--host", "claude", cwd=project).returncode == 0
    assert hook(project)["reason"].startswith("Not done: ")
    assert hook(project)["continue"] is False


def test_a_history_that_was_removed_or_damaged_is_unknown(project):
    edit(project, "shop.py", GREEN)
    assert check(project) == 0
    assert hook(project) is None
    history = project / ".loop-close" / "history.sqlite3"
    content = history.read_bytes()
    history.write_bytes(b"no database" * 500)
    assert hook(project)["decision"] == "block"
    for path in sorted((project / ".loop-close").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    (project / ".loop-close").rmdir()
    assert hook(project, session="s")["continue"] is False  # once a tree
    (project / ".loop-close").mkdir()
    history.write_bytes(content)
    assert hook(project) is None


def test_a_green_project_inside_does_not_answer_for_the_one_of_the_session(project):
    assert check(project) == 1
    assert hook(project)["decision"] == "block"
    inner = project / "inner"
    (inner / ".git").mkdir(parents=True)
    edit(inner, "test_ok.py", "def test_ok(): pass\n")
    assert check(inner) == 0
    edit(project, "shop.py", RED.replace("- 1", "- 2"))
    assert hook(project, cwd=str(inner))["decision"] == "block"


def test_failures_from_before_the_session_are_named_once(project):
    assert check(project) == 1
    start(project)
    reason = hook(project)["reason"]
    assert "All tests that fail failed before this session began: test_shop.py::test_total." in reason
    edit(project, "notes.py", "X = 1\n")
    assert check(project) == 1
    ended = hook(project, stop_hook_active=True)
    assert ended["stopReason"].startswith("NOT done: tests: 1 failed")
    assert hook(project, session="other")["decision"] == "block"


def test_changed_tests_are_objected_to_once_with_the_diff(project):
    assert check(project) == 1
    start(project)
    edit(project, "test_shop.py", TEST.replace("== 3", "== 2"))
    assert check(project) == 4
    reason = hook(project)["reason"]
    assert "-    assert total([1, 2]) == 3" in reason
    assert "loop-close accept" in reason
    assert hook(project, stop_hook_active=True)["stopReason"].startswith("NOT done: ")


def test_an_objection_of_a_check_that_could_not_write_it_holds_for_the_next_session(project):
    """As in a sandbox, where only the history is written."""
    assert check(project) == 1
    start(project)
    edit(project, "test_shop.py", TEST.replace("== 3", "== 2"))
    before = baseline.load(project)
    assert check(project) == 4
    baseline._keep(project, before)
    assert hook(project)["reason"].startswith("Not done: ")
    start(project, session="other")
    assert baseline.load(project).files == before.files
    assert hook(project, session="other")["reason"].startswith("Not done: ")


def test_the_baseline_is_that_of_the_start_of_the_session(project):
    edit(project, "pyproject.toml", "[tool.loop-close]\nbudget = 900\n")
    start(project)
    edit(project, "test_shop.py", TEST.replace("== 3", "== 2"))  # before any check
    assert check(project) == 4


def test_a_failed_tool_is_told_once(project):
    assert check(project) == 1
    event = {"event": "PostToolUseFailure", "tool_name": "Bash", "tool_input": {"command": "pytest"}}
    told = hook(project, **event)["hookSpecificOutput"]
    assert told["additionalContext"].startswith("# 1 test fails: ")
    assert hook(project, **event) is None


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b"\xff\xfe", b'{"session_id": 1}', b'{"hook_event_name": "Stop"}']
)
def test_broken_input_lets_the_agent_stop(project, data):
    told, complained = called(project, data)
    assert told == ""
    assert complained.startswith("loop-close: ")
    assert complained.count("\n") == 1


def test_a_project_that_is_not_there_lets_the_agent_stop(project):
    told, complained = called(project, payload(project / "gone"))
    assert told == ""
    assert complained.count("\n") <= 1


@pytest.mark.skipif(os.name == "nt", reason="modes do not keep a file from being written there")
def test_a_session_that_cannot_be_kept_lets_the_agent_stop(project, state_home):
    assert check(project) == 1
    folder = state_home / "loop-close" / "sessions"
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.write_text("in its place")
    told, complained = called(project, payload(project))
    assert (told, complained) == (
        "",
        "loop-close: the session cannot be kept, so turns cannot be counted; the agent may stop\n",
    )


def test_an_input_that_does_not_end_holds_nobody_up(project):
    code = "import sys; from loop_close import cli, hook; hook._LONGEST = 0.1; sys.exit(cli.main())"
    command = [sys.executable, "-c", code, "hook", "--host", "claude"]
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, cwd=project, env=environment(), **streams) as process:
        assert process.wait(60) == 0
        assert process.stdout.read() == b""
        assert process.stderr.read() == b"loop-close: gave up after 5 seconds; the agent may stop\n"


FOLDERS = {"openhands": "working_dir", "cline": "workspaceRoots"}
AGAIN = [
    ("claude/stop-red", "claude/stop-red-again"),
    ("claude/subagentstop-foreground", "claude/subagentstop-foreground-again"),
    ("codex/stop-red", "codex/stop-red-again"),
    ("gemini/afteragent-red", "gemini/afteragent-red-again"),
    ("openhands/stop-red", "openhands/stop-red"),
    ("copilot/stop-red", "copilot/stop-red-again"),
    ("copilot/camelcase-agentstop-red", "copilot/stop-red-again"),
    ("cline/tool_result-pytest", "cline/tool_result-pytest"),
]


def test_what_hosts_really_sent_is_answered(project):
    """Over a failing check they are told once, over a green one nothing is said."""

    def answered(name):
        host = name.partition("/")[0]
        folder = [str(project)] if host == "cline" else str(project)
        data = recorded(f"recorded/{name}", **{FOLDERS.get(host, "cwd"): folder})
        return called(project, data, host)[0]

    assert check(project) == 1
    for first, second in AGAIN:
        assert "1 test fails" in answered(first)
        assert "1 test fails" not in answered(second)
    edit(project, "shop.py", GREEN)
    assert check(project) == 0
    for path in sorted((FOLDER / "recorded").glob("*/*.json")):
        if not path.stem.endswith(".answer") and path.stem != "posttooluse-echo":
            assert answered(f"{path.parent.name}/{path.stem}") == ""
