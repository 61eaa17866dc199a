"""What hosts really sent, read as it should be; answers in the form that they took."""

import json
import re

import pytest
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


def stop(*, again=False, session=SESSION, event="Stop", **more):
    return Payload(session=session, cwd=PROJECT, event=event, is_again=again, **more)


def codex(again=False):
    return stop(again=again, session="00000001-0000-7000-8000-000000000000")


def subagent(again=False):
    return stop(again=again, session=SUBAGENT, event="SubagentStop")


def gemini(again=None):
    return stop(again=again, event="AfterAgent")


def start():
    return Payload(session=SESSION, cwd=PROJECT, event="SessionStart", is_start=True)


READ = {
    "claude/posttoolusefailure-pytest": Payload(session=SESSION, cwd=PROJECT, event="PostToolUseFailure"),
    "claude/stop-red": stop(),
    "claude/stop-red-again": stop(again=True),
    "claude/stop-edited": stop(),
    "claude/stop-green-again": stop(again=True),
    "claude/stop-breaker-open": stop(),
    "claude/stop-subagent-in-background": stop(is_left_alone=True),
    "claude/subagentstop-background": subagent(),
    "claude/subagentstop-foreground": subagent(),
    "claude/subagentstop-foreground-again": subagent(again=True),
    "codex/stop-red": codex(),
    "codex/stop-red-terminal": codex(),
    "codex/stop-red-again": codex(again=True),
    "codex/stop-edited": codex(),
    "codex/stop-green-again": codex(again=True),
    "codex/stop-breaker-open": codex(),
    "gemini/afteragent-red": gemini(),
    "gemini/afteragent-red-again": gemini(again=True),
    "gemini/afteragent-edited": gemini(),
    "gemini/afteragent-green-after-tool": gemini(),
    "gemini/afteragent-breaker-open": gemini(),
    "openhands/stop-red": stop(again=None),
    "openhands/stop-edited": stop(again=None),
    "copilot/sessionstart": start(),
    "copilot/stop-red": stop(),
    "copilot/stop-red-again": stop(again=True),
    "copilot/stop-edited": stop(),
    "copilot/stop-green-again": stop(again=True),
    "copilot/stop-breaker-open": stop(),
    "copilot/stop-of-a-subagent": stop(session=f"{COPILOT_SUBAGENT} {COPILOT_SUBAGENT}", is_left_alone=True),
    "copilot/subagentstop": stop(**COPILOT_SUBAGENT_STOPS),
    "copilot/subagentstop-again": stop(again=True, **COPILOT_SUBAGENT_STOPS),
    "copilot/camelcase-sessionstart": start(),
    "copilot/camelcase-agentstop-red": stop(),
    "copilot/camelcase-subagentstop": stop(**COPILOT_SUBAGENT_STOPS),
    "cline/tool_result-pytest": Payload(
        session="conv_0000000000000_aaaaaa agent_0000000000000_aaaaaa", cwd=PROJECT, event="tool_result"
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
    with pytest.raises(PayloadError, match="the event is 'PostToolUse'; handled are"):
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
    say = host.end if "continue" in found else host.go_on if payload.event in host.stops else host.inform
    assert say(payload, text_in(found)) == answered(name)
