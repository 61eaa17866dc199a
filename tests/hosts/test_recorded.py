"""What hosts really sent, read as it should be; answers in the form that they took; the hook asked with all of it."""

import json
import re

import pytest
from cli.remembered import called, remember
from host_payloads import FOLDER, recorded

from loop_close.hosts import Payload, PayloadError, host_named

RECORDED = FOLDER / "recorded"
NAMES = {path.relative_to(RECORDED).as_posix().removesuffix(".json") for path in RECORDED.glob("*/*.json")}
ANSWERS = sorted(name.removesuffix(".answer") for name in NAMES if name.endswith(".answer"))
PROJECT = "/home/user/project"
SESSION = "00000001-0000-4000-8000-000000000000"
SUBAGENT = f"{SESSION} a0000000000000001"
COPILOT_SUBAGENT = "00000002-0000-4000-8000-000000000000"
COPILOT_SUBAGENT_STOPS = {"session": f"{SESSION} {COPILOT_SUBAGENT}", "event": "SubagentStop"}
LOOKED, FIXED, GREEN = "I looked at it and I am done.", "I fixed it.", "All tests pass."
PYTEST = "pytest --loop-close -q -p no:asyncio"
FOLDERS = {"openhands": "working_dir", "cline": "workspaceRoots"}


def stop(message, *, again=False, waiting=False, session=SESSION, event="Stop", **more):
    stopping = {"event": event, "is_stop": True, "is_again": again, "is_waiting": waiting}
    return Payload(session=session, cwd=PROJECT, message=message, **stopping, **more)


def codex(message, again=False):
    return stop(message, again=again, session="00000001-0000-7000-8000-000000000000")


def subagent(message, again=False):
    return stop(message, again=again, session=SUBAGENT, event="SubagentStop")


def gemini(*said, again=None):
    return stop("\n".join(said), again=again, event="AfterAgent", is_all_said=True)


def copilot(*, again=False, **more):
    return stop("", again=again, **more)


def tool(**more):
    return Payload(cwd=PROJECT, is_stop=False, **more)


READ = {
    "claude/posttoolusefailure-pytest": tool(session=SESSION, event="PostToolUseFailure"),
    "claude/stop-red": stop(LOOKED),
    "claude/stop-red-again": stop("Still done.", again=True),
    "claude/stop-edited": stop(FIXED),
    "claude/stop-green-again": stop(GREEN, again=True),
    "claude/stop-breaker-open": stop("I gave up."),
    "claude/stop-subagent-in-background": stop("Subagent says hello.", waiting=True),
    "claude/subagentstop-background": subagent("Second word."),
    "claude/subagentstop-foreground": subagent("Subagent done."),
    "claude/subagentstop-foreground-again": subagent("Subagent again.", again=True),
    "codex/stop-red": codex(LOOKED),
    "codex/stop-red-terminal": codex(LOOKED),
    "codex/stop-red-again": codex("Still done.", again=True),
    "codex/stop-edited": codex(FIXED),
    "codex/stop-green-again": codex(GREEN, again=True),
    "codex/stop-breaker-open": codex("I gave up."),
    "gemini/afteragent-red": gemini(LOOKED),
    "gemini/afteragent-red-again": gemini(LOOKED, "Still done.", again=True),
    "gemini/afteragent-edited": gemini("Let me fix it.", FIXED),
    "gemini/afteragent-green-after-tool": gemini("Let me fix it.", FIXED, GREEN),
    "gemini/afteragent-breaker-open": gemini("I gave up."),
    "openhands/stop-red": stop("", again=None),
    "openhands/stop-edited": stop("", again=None),
    "copilot/sessionstart": Payload(
        session=SESSION, cwd=PROJECT, event="SessionStart", is_stop=False, is_start=True, is_again=None
    ),
    "copilot/stop-red": copilot(),
    "copilot/stop-red-again": copilot(again=True),
    "copilot/stop-edited": copilot(),
    "copilot/stop-green-again": copilot(again=True),
    "copilot/stop-breaker-open": copilot(),
    "copilot/stop-of-a-subagent": copilot(session=f"{COPILOT_SUBAGENT} {COPILOT_SUBAGENT}", waiting=True),
    "copilot/subagentstop": stop("Subagent done.", **COPILOT_SUBAGENT_STOPS),
    "copilot/subagentstop-again": stop("Subagent again.", again=True, **COPILOT_SUBAGENT_STOPS),
    "copilot/camelcase-sessionstart": Payload(
        session=SESSION, cwd=PROJECT, event="SessionStart", is_stop=False, is_start=True, is_again=None
    ),
    "copilot/camelcase-agentstop-red": copilot(),
    "copilot/camelcase-subagentstop": stop("Subagent done.", **COPILOT_SUBAGENT_STOPS),
    "cline/tool_result-pytest": tool(
        session="conv_0000000000000_aaaaaa",
        event="tool_result",
    ),
}
UNANSWERED = "claude/posttooluse-echo"


def host_of(name):
    return host_named(name.partition("/")[0])


def test_each_recording_is_here_once():
    assert READ.keys() | {UNANSWERED} == {name for name in NAMES if not name.endswith(".answer")}
    assert READ.keys() > set(ANSWERS)


@pytest.mark.parametrize("name", sorted(NAMES))
def test_no_folder_of_a_machine_is_named(name):
    text = (RECORDED / f"{name}.json").read_text(encoding="utf-8")
    assert set(re.findall(r"/(?:home|root|tmp|var|work|mnt|opt|Users)\b/?[\w.]*", text)) <= {"/home/user"}


@pytest.mark.parametrize("name", READ)
def test_it_is_read(name):
    assert host_of(name).read(recorded(f"recorded/{name}")) == READ[name]


def test_an_event_that_is_not_answered():
    with pytest.raises(PayloadError, match="hook_event_name is 'PostToolUse'; loop-close handles"):
        host_of(UNANSWERED).read(recorded(f"recorded/{UNANSWERED}"))


def answered(name):
    """The line that was printed."""
    return (RECORDED / f"{name}.answer.json").read_text(encoding="utf-8").strip()


def text_in(answer):
    """The longest of the texts in it, which is what was said."""
    values = [text_in(value) if isinstance(value, dict) else value for value in answer.values()]
    return max((value for value in values if isinstance(value, str)), key=len)


@pytest.mark.parametrize("name", ANSWERS)
def test_answers_still_have_the_form_that_the_host_took(name):
    host, payload = host_of(name), READ[name]
    found = json.loads(answered(name))
    say = host.end if "continue" in found else host.go_on if payload.is_stop else host.inform
    assert say(payload, text_in(found)) == answered(name)


def asked(root, name):
    """What the hook of today answers to what was sent then; None for nothing."""
    host = name.partition("/")[0]
    folder = [str(root)] if host == "cline" else str(root)
    data = recorded(f"recorded/{name}", **{FOLDERS.get(host, "cwd"): folder})
    code, told, complained = called("hook", "--host", host, data=data)
    assert (code, complained) == (0, "")
    return json.loads(told) if told else None


@pytest.mark.parametrize(
    "names",
    [
        ("claude/stop-red", "claude/stop-red-again"),
        ("claude/subagentstop-foreground", "claude/subagentstop-foreground-again"),
        ("claude/subagentstop-background", "claude/subagentstop-foreground-again"),
        ("claude/posttoolusefailure-pytest", "claude/posttoolusefailure-pytest"),
        ("codex/stop-red", "codex/stop-red-again"),
        ("gemini/afteragent-red", "gemini/afteragent-red-again"),
        ("gemini/afteragent-edited", "gemini/afteragent-green-after-tool"),
        ("openhands/stop-red", "openhands/stop-red"),
        ("copilot/stop-red", "copilot/stop-red-again"),
        ("copilot/camelcase-agentstop-red", "copilot/stop-red-again"),
        ("copilot/subagentstop", "copilot/subagentstop-again"),
        ("copilot/camelcase-subagentstop", "copilot/subagentstop-again"),
        ("cline/tool_result-pytest", "cline/tool_result-pytest"),
    ],
    ids=" ".join,
)
def test_over_a_red_run_it_is_told_once(tmp_path, names):
    remember(tmp_path, "a")
    first, second = (asked(tmp_path, name) for name in names)
    assert "Run 1 of pytest has failures." in text_in(first)
    assert second is None


@pytest.mark.parametrize("name", READ)
def test_over_a_green_run_nothing_is_said(tmp_path, name):
    remember(tmp_path, "a", "", edit="effective")
    assert asked(tmp_path, name) is None


@pytest.mark.parametrize("name", ["claude/stop-subagent-in-background", "copilot/stop-of-a-subagent"])
def test_who_waits_for_a_subagent_is_let_be(tmp_path, name):
    remember(tmp_path, "a")
    assert asked(tmp_path, name) is None


@pytest.mark.parametrize("name", sorted(name for name in ANSWERS if name.endswith("breaker-open")))
def test_an_open_breaker_ends_the_run(tmp_path, name):
    remember(tmp_path, "a", "a", "a", "a")
    assert sorted(asked(tmp_path, name)) == sorted(json.loads(answered(name))) == ["continue", "stopReason"]
