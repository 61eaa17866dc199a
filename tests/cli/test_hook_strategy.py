"""The exit strategy at the hook: its context, when it is asked, and what its answers do."""

import json

import pytest
from cli.remembered import called, remember
from cli_harness import loop_close

from loop_close.agent.guard import CAP

SAYS = "I changed the parser, but it still fails.\n\nAssertionError: assert 2 == 3\n"
SETTINGS = '[tool.loop-close]\nstrategy = "{}"\n'
MINE = """\
from loop_close import Decision, ExitStrategy

print("noise")
open("loaded", "w").close()


def decide(standing):
    {body}


def pytest_loop_close_exit_strategies():
    return [ExitStrategy(name="mine", decide=decide)]
"""


def settings(root, strategy):
    (root / "pyproject.toml").write_text(SETTINGS.format(strategy))


def mine(root, monkeypatch, body):
    monkeypatch.chdir(root)
    (root / "conftest.py").write_text(MINE.format(body=body))


def hook(root, said="", host="claude", session="s", **fields):
    """What it answers, and what it complains of."""
    fields = {"session_id": session, "cwd": str(root), "hook_event_name": "Stop", **fields}
    data = json.dumps({**fields, "last_assistant_message": said}).encode()
    code, told, complained = called("hook", "--host", host, data=data)
    assert code == 0
    return (json.loads(told) if told else {}), complained


def test_an_error_that_an_agent_tells_of_three_times_ends_the_run(tmp_path):
    remember(tmp_path, "a", "a")
    answers = [hook(tmp_path, SAYS.replace("2", str(number)))[0] for number in range(3)]
    assert [sorted(each) for each in answers] == [["decision", "reason"]] * 2 + [["continue", "stopReason"]]
    assert "(auto: the agent repeats itself: AssertionError: assert" in answers[2]["stopReason"]


def test_after_the_end_a_person_starts_anew(tmp_path):
    remember(tmp_path, "a", "a")
    for _ in range(2):
        assert [sorted(hook(tmp_path, SAYS)[0])[0] for _ in range(3)] == ["decision", "decision", "continue"]


def test_who_says_nothing_of_errors_is_sent_back_as_often_as_any(tmp_path):
    remember(tmp_path, "a", "a")
    answers = [hook(tmp_path, said)[0] for said in ("", "I am on it.", "", "More to come.", "", "")]
    assert [bool(each) for each in answers] == [True] * CAP + [False]


def test_what_was_said_before_a_run_advanced_does_not_count(tmp_path):
    remember(tmp_path, "a b", "a b")
    assert "decision" in hook(tmp_path, SAYS)[0]
    assert "decision" in hook(tmp_path, SAYS)[0]
    remember(tmp_path, "a", edit="effective", at=100.0)
    assert "decision" in hook(tmp_path, SAYS)[0]
    remember(tmp_path, "a", at=200.0)
    assert "decision" in hook(tmp_path, SAYS)[0]


def test_sessions_are_kept_apart(tmp_path):
    remember(tmp_path, "a", "a")
    for number in range(4):
        assert "decision" in hook(tmp_path, SAYS, session=str(number))[0]


def test_a_host_that_cannot_end_lets_the_agent_stop(tmp_path, monkeypatch):
    remember(tmp_path, "a")
    fields = {"working_dir": str(tmp_path), "event_type": "Stop", "message": None}
    assert hook(tmp_path, host="openhands", **fields)[0]["decision"] == "deny"
    settings(tmp_path, "mine")
    mine(tmp_path, monkeypatch, "return Decision(action='stuck', reason='enough')")
    remember(tmp_path, "a", at=100.0)
    assert hook(tmp_path, host="openhands", **fields) == ({}, "")
    assert (tmp_path / "loaded").exists()


@pytest.mark.parametrize(
    ("turns", "last"), [((SAYS, "I am on it.", "More to come."), "decision"), ((SAYS,) * 3, "continue")]
)
def test_what_a_host_says_again_is_heard_once(tmp_path, turns, last):
    answers = []
    for number in range(3):
        remember(tmp_path, "a", edit="effective", at=100.0 * number)
        said = "\n".join(turns[: number + 1])
        told, _ = hook(tmp_path, host="gemini", hook_event_name="AfterAgent", prompt_response=said)
        answers.append(sorted(told)[0])
    assert answers == ["decision", "decision", last]


def test_an_unknown_strategy_leaves_the_breaker(tmp_path):
    settings(tmp_path, "auto+nope")
    remember(tmp_path, "a", "a")
    told, complained = hook(tmp_path, SAYS)
    assert told["decision"] == "block"
    assert complained.startswith("loop-close: unknown exit strategy 'nope'; known strategies: auto, ")
    assert complained.endswith("; using only the circuit breaker\n")
    assert complained.count("\n") == 1


def test_context_of_a_plugin_strategy(tmp_path, monkeypatch):
    settings(tmp_path, "mine")
    mine(
        tmp_path,
        monkeypatch,
        "fields = ('verdict', 'failing', 'is_fresh', 'is_complete', 'tampered', 'iteration', 'fix_plan')\n"
        "    said = standing.analysis.work_summary\n"
        "    action = 'continue' if standing.iteration < 2 else 'stuck'\n"
        "    return Decision(action=action, reason=str([getattr(standing, f) for f in fields] + [said]))",
    )
    remember(tmp_path, "a b", "a b")
    assert hook(tmp_path) == ({"decision": "block", "reason": "Run 2 of pytest has failures."}, "")
    told, complained = hook(tmp_path, "I modified 3 files.")
    assert "(mine: ['no-progress', 2, False, True, '', 2, None, 'Modified 3 files'])" in told["stopReason"]
    assert complained == ""


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("return 7", "it returned int, not loop_close.Decision"),
        ("raise KeyError('x')", "the exit strategy mine failed: KeyError: 'x'"),
        ("raise SystemExit(3)", "the exit strategy failed: SystemExit: 3"),
        ("return Decision(action='done', reason='I like it')", ""),
        ("return Decision(action='continue', reason='')", ""),
        (
            "return Decision(action='continue', reason='', warnings=('look out', 'and up'))",
            "look out; and up",
        ),
    ],
)
def test_whatever_else_a_strategy_answers_the_agent_is_sent_back(tmp_path, monkeypatch, body, complaint):
    settings(tmp_path, "mine")
    mine(tmp_path, monkeypatch, body)
    remember(tmp_path, "a")
    told, complained = hook(tmp_path)
    assert told["decision"] == "block"
    assert complaint in complained
    assert bool(complaint) == bool(complained)


def test_no_strategy_is_asked_after_a_green_run(tmp_path, monkeypatch):
    settings(tmp_path, "mine")
    mine(tmp_path, monkeypatch, "return Decision(action='stuck', reason='never')")
    remember(tmp_path, "a", "", edit="effective")
    assert hook(tmp_path) == ({}, "")
    assert not (tmp_path / "loaded").exists()
    remember(tmp_path, "a", at=100.0)
    assert "never" in hook(tmp_path)[0]["stopReason"]
    assert (tmp_path / "loaded").exists()


def test_a_plan_that_is_not_kept_does_not_end_the_loop(tmp_path):
    settings(tmp_path, "fix_plan")
    remember(tmp_path, "a", "a")
    assert [hook(tmp_path, SAYS)[0].get("decision") for _ in range(CAP + 1)] == ["block"] * CAP + [None]


def test_what_a_conftest_starts_prints_nothing_into_the_answer(tmp_path):
    remember(tmp_path, "a")
    settings(tmp_path, "mine")
    body = "return Decision(action='continue', reason='x')"
    noisy = f"import os\nos.system('echo built')\n{MINE.format(body=body)}"
    (tmp_path / "conftest.py").write_text(noisy)
    data = json.dumps({"session_id": "s", "cwd": str(tmp_path), "hook_event_name": "Stop"}).encode()
    done = loop_close("hook", "--host", "claude", cwd=tmp_path, data=data)
    assert json.loads(done.stdout)["decision"] == "block"
    assert b"built" in done.stderr
