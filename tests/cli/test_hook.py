"""The hook as hosts call it, after runs of pytest as users start them."""

import contextlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys

import pytest
from cli.cli_harness import environment, loop_close, started
from cli.remembered import called

from loop_close.agent.guard import CAP
from loop_close.cli import project_state
from loop_close.cli.hook import sessions

RED = "def total(xs):\n    return sum(xs) - 1\n"
GREEN = "def total(xs):\n    return sum(xs)\n"
TEST = "from shop import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n"


@pytest.fixture
def project(tmp_path):
    (tmp_path / "shop.py").write_text(RED)
    (tmp_path / "test_shop.py").write_text(TEST)
    return tmp_path


def run(project, *words):
    command = [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--loop-close", *words]
    return subprocess.run(
        command, cwd=project, env=environment(), capture_output=True, check=False
    ).returncode


def payload(project, event="Stop", session="s", **fields):
    return json.dumps(
        {"session_id": session, "cwd": str(project), "hook_event_name": event, **fields}
    ).encode()


def hook(project, host="claude", data=None, **fields):
    code, told, complained = called(
        "hook", "--host", host, data=payload(project, **fields) if data is None else data
    )
    assert code == 0
    assert complained == "" or data is not None
    return json.loads(told) if told else None


def test_nothing_was_run(project):
    assert hook(project) is None


@pytest.mark.slow
def test_red_then_edited_then_green(project):
    run(project)
    red = hook(project)
    assert red["decision"] == "block"
    assert red["reason"].startswith("# 1 test fails: ")
    assert red["reason"].endswith("nextprompt.md")
    (project / "shop.py").write_text(GREEN)
    edited = hook(project, stop_hook_active=True)
    assert "shop.py changed after the last run" in edited["reason"]
    assert edited["reason"].endswith("pytest --loop-close")
    run(project)
    assert hook(project, stop_hook_active=True) is None


def test_a_comment_is_no_edit(project):
    (project / "shop.py").write_text(GREEN)
    run(project)
    (project / "shop.py").write_text(f"# the sum\n{GREEN}")
    assert hook(project) is None
    (project / "notes.txt").write_text("no code\n")
    assert hook(project) is None


@pytest.mark.slow
@pytest.mark.parametrize("name", ["new.py", "conftest.py", "pytest.ini", "pytest.toml"])
def test_new_files_that_count(project, name):
    (project / "shop.py").write_text(GREEN)
    run(project)
    (project / name).write_text("[pytest]\n" if name.endswith("ini") else "X = 1\n")
    assert f"{name} changed after the last run" in hook(project)["reason"]


def test_who_did_nothing_since_it_was_sent_back_may_stop(project):
    run(project)
    assert hook(project)["decision"] == "block"
    assert hook(project, stop_hook_active=True) is None
    assert hook(project, session="other", stop_hook_active=False)["decision"] == "block"


@pytest.mark.slow
def test_it_ends_by_itself(project):
    run(project)
    answers = [hook(project) for _ in range(CAP + 2)]
    assert [answer is not None for answer in answers] == [*([True] * CAP), False, False]


@pytest.mark.slow
def test_a_loop_that_does_not_advance_is_ended(project):
    for number in range(4):
        (project / "shop.py").write_text(RED.replace("- 1", f"- {number + 1}"))
        run(project)
    ended = hook(project)
    assert ended["continue"] is False
    assert "the loop is stuck" in ended["stopReason"]


@pytest.mark.slow
def test_a_failed_tool_tells_once(project):
    run(project)
    event = {"event": "PostToolUseFailure", "tool_name": "Bash", "tool_input": {"command": "pytest"}}
    told = hook(project, **event)["hookSpecificOutput"]
    assert told["additionalContext"].startswith("# 1 test fails: ")
    assert hook(project, **event) is None


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b"\xff\xfe", b'{"session_id": 1}', b'{"hook_event_name": "Stop"}']
)
def test_broken_input_lets_the_agent_stop(project, data):
    code, told, complained = called("hook", "--host", "claude", data=data)
    assert (code, told) == (0, "")
    assert complained.startswith("loop-close: ")
    assert complained.count("\n") == 1


def test_a_project_that_is_not_there(project):
    code, told, _ = called("hook", "--host", "claude", data=payload(project / "gone"))
    assert (code, told) == (0, "")


@pytest.mark.slow
def test_a_damaged_history_lets_the_agent_stop(project):
    run(project)
    (project / ".loop-close" / "history.sqlite3").write_bytes(b"\0" * 5_000)
    code, told, complained = called("hook", "--host", "claude", data=payload(project))
    assert (code, told) == (0, "")
    assert "history.sqlite3" in complained


def test_an_unknown_host_is_wrong_usage():
    code, told, complained = called("hook", "--host", "emacs", data=b"{}")
    assert (code, told) == (64, "")
    assert "claude, codex, gemini" in complained


@pytest.mark.slow
def test_as_a_process_of_its_own(project):
    run(project)
    done = loop_close("hook", "--host", "codex", cwd=project, data=payload(project, turn_id="t", model="m"))
    assert (done.returncode, done.stderr) == (0, b"")
    assert set(json.loads(done.stdout)) == {"decision", "reason"}


HEAVY = {
    *("pytest", "_pytest", "pluggy", "rapidfuzz", "asyncio", "importlib.metadata", "loop_close.syntax"),
    *(
        "argparse",
        "loop_close.model",
        "loop_close.text.redact",
        "loop_close.agent.analyzer",
        "loop_close.hosts.codex",
    ),
    *(
        "loop_close.cli.parser",
        "loop_close.hosts.config_file",
        "loop_close.agent.strategies",
        "loop_close.workspace.edits",
    ),
}


@pytest.mark.slow
def test_what_it_loads_for_a_green_run_stays_small(project):
    edit(project, GREEN)
    run(project)
    code = (
        "import sys; from loop_close.cli import main; assert main(['hook', '--host', 'claude']) == 0;"
        "print(*sorted(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=payload(project),
        capture_output=True,
        check=True,
        env=environment(),
    )
    assert set(done.stdout.decode().split()) & HEAVY == set()
    assert done.stderr == b""


@pytest.mark.slow
@pytest.mark.parametrize("words", [("--host", "claude"), ("--host=claude",)])
def test_either_way_to_write_the_option(project, words):
    run(project)
    done = loop_close("hook", *words, cwd=project, data=payload(project))
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["decision"] == "block"


@pytest.mark.slow
def test_settings_that_would_keep_a_reader_waiting_are_none(project):
    run(project)
    os.mkfifo(project / "pyproject.toml")
    os.unlink(project / "nextprompt.md")
    os.mkfifo(project / "nextprompt.md")
    done = loop_close("hook", "--host", "claude", cwd=project, data=payload(project))
    assert json.loads(done.stdout)["reason"].startswith("Run 1 of pytest has failures.")
    assert done.stderr == b""


def touched(project):
    for path in project.glob("*.py"):
        os.utime(path, (1_000_000_000, 1_000_000_000))


@pytest.mark.slow
def test_files_that_were_only_touched_are_not_edited(project, monkeypatch):
    edit(project, GREEN)
    run(project)
    touched(project)
    assert hook(project) is None
    monkeypatch.setattr(project_state, "MOST_READ", 0)
    assert hook(project) is None


@pytest.mark.slow
def test_of_more_files_than_are_read_those_of_another_size_are_edited(project, monkeypatch):
    edit(project, GREEN)
    run(project)
    edit(project, GREEN + "X = 1\n")
    touched(project)
    monkeypatch.setattr(project_state, "MOST_READ", 0)
    assert "last edit: shop.py changed" in hook(project)["reason"]


@pytest.mark.slow
def test_of_more_files_than_are_read_the_last_written_are(project, monkeypatch):
    edit(project, GREEN)
    run(project)
    touched(project)
    edit(project, GREEN.replace("xs", "ys"))
    monkeypatch.setattr(project_state, "MOST_READ", 1)
    assert "last edit: shop.py changed" in hook(project)["reason"]


@pytest.fixture
def beside(project):
    """Code in a folder next to the project, in one repository with it, which its tests import."""
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    inside, lib = project / "inside", project / "lib"
    for folder in (inside, lib):
        folder.mkdir()
    (project / "shop.py").rename(lib / "shop.py")
    (project / "test_shop.py").rename(inside / "test_shop.py")
    (inside / "pytest.ini").write_text("[pytest]\npythonpath = ../lib\n")
    edit(lib, GREEN)
    run(inside)
    return inside


@pytest.mark.slow
def test_code_outside_of_the_root_is_looked_at(beside):
    lib = beside.parent / "lib"
    assert hook(beside) is None
    edit(lib, f"# the sum\n{GREEN}")
    assert hook(beside) is None
    edit(lib, RED)
    assert "last edit: ../lib/shop.py changed" in hook(beside)["reason"]
    run(beside)
    edit(lib, GREEN)
    run(beside)
    assert hook(beside) is None


@pytest.mark.slow
def test_a_project_that_was_moved_away_from_code_outside_is_let_be(beside):
    (beside.parent / "lib").rename(beside.parent / "gone")
    assert hook(beside) is None


def edit(project, text, name="shop.py"):
    (project / name).write_text(text)


@pytest.mark.slow
def test_another_tool_makes_no_edit_tested(project):
    edit(project, GREEN)
    run(project)
    edit(project, RED)
    loop_close("run", "--", sys.executable, "-c", "pass", cwd=project)
    assert "shop.py changed" in hook(project)["reason"]


@pytest.mark.slow
def test_another_tool_makes_no_red_run_green(project):
    run(project)
    loop_close("run", "--", sys.executable, "-c", "pass", cwd=project)
    assert "- `pytest`: 1 test fails" in hook(project)["reason"]


@pytest.mark.slow
def test_a_green_part_says_nothing_of_the_rest(project):
    edit(project, GREEN)
    edit(project, TEST + "\n\ndef test_more():\n    assert total([]) == 0\n", "test_shop.py")
    run(project)
    edit(project, GREEN.replace("sum(xs)", "sum(xs) or 5"))
    run(project, "-k", "test_total")
    assert "shop.py changed" in hook(project)["reason"]
    edit(project, GREEN)
    assert hook(project, session="other") is None


@pytest.mark.slow
def test_where_nobody_can_count_the_agent_may_stop(project):
    run(project)
    (project / ".loop-close" / "sessions.json").mkdir()
    code, told, complained = called("hook", "--host", "claude", data=payload(project, stop_hook_active=True))
    assert (code, told) == (0, "")
    assert "sessions.json, so turns cannot be counted" in complained


def test_what_tests_write_is_no_edit(project):
    edit(project, GREEN)
    edit(project, TEST + "    open('made.py', 'w').write('X = 1')\n", "test_shop.py")
    run(project)
    assert (project / "made.py").exists()
    assert hook(project) is None


@pytest.mark.slow
def test_a_prompt_that_somebody_else_wrote(project, tmp_path):
    run(project)
    path = project / "nextprompt.md"
    path.write_text("# 1 test fails: x\n\n\x1b[31mred\u202e\n\n<!-- loop-close -->\n")
    reason = hook(project)["reason"]
    assert "\x1b" not in reason
    assert "\u202e" not in reason
    path.unlink()
    (project / "secret").write_text("# 1 test fails: of another project\n\n<!-- loop-close -->\n")
    path.symlink_to(project / "secret")
    assert "another project" not in hook(project, session="other")["reason"]


@pytest.mark.slow
def test_subagents_have_a_count_of_their_own(project):
    run(project)
    for _ in range(CAP):
        assert hook(project, event="SubagentStop")
    assert hook(project, event="SubagentStop") is None
    assert hook(project)["decision"] == "block"


@pytest.mark.slow
def test_subagents_are_told_apart(project):
    run(project)
    for agent in ("a", "b"):
        fields = {"event": "SubagentStop", "agent_id": agent}
        fields["background_tasks"] = [{"id": agent, "type": "subagent", "status": "running"}]
        assert hook(project, **fields)["decision"] == "block"
        assert hook(project, stop_hook_active=True, **fields) is None


def openhands(project):
    fields = {"event_type": "Stop", "message": None, "working_dir": str(project), "session_id": "s"}
    return hook(project, "openhands", json.dumps(fields).encode())


def gemini(project, *said, **fields):
    event = {"event": "AfterAgent", "prompt_response": "\n".join(said), "stop_hook_active": False}
    return hook(project, "gemini", **{**event, **fields})


@pytest.mark.slow
@pytest.mark.parametrize("ask", [openhands, gemini])
def test_where_the_host_does_not_say_that_it_was_sent_back(project, ask):
    run(project)
    # Let go, the agent is at work again when a person said something: it is sent back once in each turn.
    assert [ask(project) is not None for _ in range(6)] == [True, False] * 3
    edit(project, GREEN)
    assert "shop.py changed" in repr(ask(project))
    run(project)
    assert ask(project) is None


@pytest.mark.slow
@pytest.mark.parametrize("ask", [openhands, gemini])
def test_turns_without_any_advance_have_an_end(project, ask):
    run(project)
    answers = [ask(project) is not None for _ in range(2 * CAP + 2)]
    assert answers == [True, False] * CAP + [False, False]


@pytest.mark.slow
def test_who_ran_or_edited_since_is_sent_back_whatever_the_host_says(project):
    run(project)
    assert gemini(project) is not None
    edit(project, RED.replace("- 1", "- 2"))
    assert "shop.py changed" in gemini(project, stop_hook_active=True)["reason"]
    run(project)
    assert gemini(project)["reason"].startswith("# 1 test fails: ")
    assert gemini(project, stop_hook_active=True) is None


def errors_kept(project):
    (session,) = sessions(project / ".loop-close" / "sessions.json").values()
    return session.errors


@pytest.mark.slow
def test_what_was_said_over_an_edit_is_not_heard_later(project):
    said = ["I look.", "It was\n\nKeyError: 'a'\n", "I changed more."]
    run(project)
    assert gemini(project, *said[:1]) is not None
    edit(project, RED.replace("- 1", "- 2"))
    assert gemini(project, *said[:2]) is not None
    run(project)
    assert gemini(project, *said) is not None
    assert errors_kept(project) == ("", "")
    assert gemini(project, *said) is None
    edit(project, RED.replace("- 1", "- 3"))
    run(project)
    assert gemini(project, *said[:2]) is not None
    assert errors_kept(project) == ("", "", "KeyError: <str>")


@pytest.mark.slow
def test_input_that_does_not_end_costs_no_more_than_its_time(project):
    reader = started("hook", "--host", "claude", cwd=project, stdin=subprocess.PIPE)
    try:
        assert reader.wait(60) == 0
        assert b"gave up after 5 seconds; the agent may stop" in reader.stderr.read()
    finally:
        for stream in (reader.stdin, reader.stdout, reader.stderr):
            stream.close()


LEFT = "1 of 2 edited functions was not run by any test: rest (shop.py)."
MORE = "def rest():\n    return 1\n"


def is_asked(project, setting="true"):
    (project / "pyproject.toml").write_text(f"[tool.loop-close]\nrequire_edits_run = {setting}\n")


def green(project, *functions):
    """A green run after which it is known that no test ran these."""
    edit(project, GREEN)
    run(project)
    summary = {"verdict": "green", "edits_run": {"edited": 2, "not_run": [["shop.py", f] for f in functions]}}
    with contextlib.closing(sqlite3.connect(project / ".loop-close" / "history.sqlite3")) as connection:
        last = "UPDATE runs SET summary = ? WHERE id = (SELECT max(id) FROM runs)"
        connection.execute(last, (json.dumps(summary),))
        connection.commit()


@pytest.mark.parametrize("setting", ["", "false"])
def test_edits_that_no_test_ran_are_let_be(project, setting):
    if setting:
        is_asked(project, setting)
    green(project, "rest")
    assert hook(project) is None


@pytest.mark.slow
def test_edits_that_no_test_ran_are_told_once(project):
    is_asked(project)
    green(project, "rest")
    told = hook(project)
    assert told == {"decision": "block", "reason": f"The tests pass. {LEFT}"}
    assert hook(project, stop_hook_active=True) is None
    assert hook(project, stop_hook_active=False) is None
    green(project, "rest")  # the same ones in another run
    assert hook(project) is None
    assert hook(project, session="other")["decision"] == "block"


@pytest.mark.slow
def test_other_functions_are_told_again(project):
    is_asked(project)
    green(project, "rest")
    assert hook(project) is not None
    green(project, "rest", "more")
    assert "2 of 2 edited functions were not run" in hook(project, stop_hook_active=True)["reason"]
    green(project, "rest")
    assert hook(project, stop_hook_active=True) is None


@pytest.mark.slow
def test_what_is_worse_is_told_first(project):
    is_asked(project)
    green(project, "rest")
    edit(project, RED)
    assert "shop.py changed after the last run" in hook(project)["reason"]
    run(project)
    assert "# 1 test fails: " in hook(project)["reason"]


@pytest.mark.slow
def test_a_tool_is_not_told_of_them(project):
    is_asked(project)
    green(project, "rest")
    assert hook(project, event="PostToolUseFailure", tool_name="Bash", tool_input={}) is None


@pytest.mark.skipif(not hasattr(sys, "monitoring"), reason="calls are seen from Python 3.12 on")
def test_edits_that_a_real_run_did_not_run(project):
    is_asked(project)
    edit(project, GREEN)
    run(project)
    assert hook(project) is None
    edit(project, GREEN.replace("xs", "numbers") + MORE)
    run(project)
    assert hook(project)["reason"] == f"The tests pass. {LEFT}"
    edit(
        project,
        f"{TEST}\n\ndef test_rest():\n    import shop\n\n    assert shop.rest() == 1\n",
        "test_shop.py",
    )
    run(project)
    assert hook(project, stop_hook_active=True) is None


# What was done to tests

GUTTED = TEST.replace("    assert", "    return\n    assert")


def write(project, **texts):
    for name, text in texts.items():
        (project / f"{name}.py").write_text(text)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "command"),
    [
        ("tox.ini", "tox -e py311,py312 -- --loop-close"),
        ("noxfile.py", "nox -s py311 py312 -- --loop-close"),
        ("other.py", "pytest --loop-close"),
    ],
)
def test_the_command_is_that_of_the_environments(project, monkeypatch, file, command):
    (project / file).write_text("")
    for name in ("py312", "py311"):
        run(project, f"--loop-close-source=pytest:{name}")
    (project / "shop.py").write_text(RED.replace("- 1", "- 2"))
    assert hook(project)["reason"].endswith(f"To run the tests: {command}")


@pytest.mark.slow
def test_environments_that_passed_before_the_fix_have_to_pass_again(project):
    (project / "tox.ini").write_text("")
    (project / "shop.py").write_text(RED)
    run(project, "--loop-close-source=pytest:py312")
    checker = [sys.executable, "-c", "print('fine')"]
    loop_close("run", "--source", "tox:lint", "--", *checker, cwd=project)
    (project / "shop.py").write_text(GREEN)
    run(project, "--loop-close-source=pytest:py312")
    said = hook(project)["reason"]
    assert said.startswith("Not all tests have run since the last edit: shop.py changed")
    assert said.endswith("To run them all: tox -e py312,lint --loop-close")
    assert loop_close("status", cwd=project).returncode == 1
    loop_close("run", "--source", "tox:lint", "--", *checker, cwd=project)
    assert hook(project) is None
    assert loop_close("status", cwd=project).returncode == 0


@pytest.mark.slow
def test_agent_that_gutted_a_test_and_ran_it_twice_is_sent_back_and_then_handed_over(project):
    run(project)
    write(project, test_shop=GUTTED)
    assert [run(project), run(project)] == [0, 0]
    told = hook(project)
    assert told["decision"] == "block"
    assert told["reason"].startswith("# Tests were changed, and pass: 1 passed")
    assert "- `test_shop.py::test_total` (weakened): " in told["reason"]
    ended = hook(project, stop_hook_active=True)  # it did nothing
    assert ended["continue"] is False
    assert "tests are not what they were when the loop began" in ended["stopReason"]
    write(project, test_shop=TEST, shop=GREEN)
    run(project)
    assert hook(project, session="next") is None


@pytest.mark.slow
def test_changed_tests_of_a_source_that_the_prompt_does_not_show_are_no_failures(project, monkeypatch):
    run(project, "--loop-close-source=one")
    write(project, test_shop=GUTTED)
    assert run(project, "--loop-close-source=one") == 0
    assert run(project, "--loop-close-source=two") == 0
    told = hook(project)["reason"]
    assert told.startswith("Tests were changed, and pass in run 2 of one.\n\n")
    assert "- `test_shop.py::test_total` (weakened): " in told
    monkeypatch.chdir(project)
    said = called("explain")[1]
    assert "\nnot green either: one (tests changed in run 2); explain one with --source\n" in said


@pytest.mark.slow
def test_change_that_cannot_be_decided_is_asked_about_once(project):
    write(project, shop=GREEN)
    run(project)
    assert hook(project) is None
    write(project, shop=RED, test_shop=TEST.replace("== 3", "== 2"))
    assert [run(project) for _ in range(3)] == [0, 0, 0]
    told = hook(project)
    assert told["reason"].startswith(
        "The tests pass.\n\nIt cannot be decided whether these tests still demand"
    )
    assert hook(project, stop_hook_active=True) is None
    assert hook(project) is None
    write(project, test_shop=TEST.replace("== 3", "== 2\n    assert total([]) == -1"))
    run(project)
    assert "test_total` (" in hook(project, session="next")["reason"], "it is still there, under another edit"


@pytest.mark.slow
@pytest.mark.parametrize("times", [1, 2])
def test_change_that_was_undone_is_not_asked_about_and_one_that_is_left_is(project, times):
    two = f"{TEST}\n\ndef test_more():\n    assert total([2]) == 2\n"
    write(project, shop=GREEN, test_shop=two)
    run(project)
    write(project, test_shop=TEST)
    assert [run(project) for _ in range(times)] == [0] * times
    assert "test_more` (deleted): " in hook(project)["reason"]
    write(project, test_shop=f"# edited\n{TEST}", shop=f"{GREEN}\n\nMORE = 1\n")
    run(project)
    assert "test_more` (deleted): " in hook(project, session="other")["reason"]
    write(project, test_shop=f"{two}# restored\n")
    assert run(project) == 0
    assert hook(project, session="next") is None


@pytest.mark.slow
@pytest.mark.parametrize("has_git", [True, False])
@pytest.mark.parametrize("way", ["reset", "remove"])
def test_history_that_was_taken_away_in_the_session_is_noticed(project, way, has_git):
    if has_git:
        about = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]
        for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "start"]):
            subprocess.run(["git", *about, *words], cwd=project, check=True, capture_output=True)
    run(project)
    assert hook(project)["decision"] == "block"
    write(project, test_shop=GUTTED)
    if way == "reset":
        loop_close("reset", cwd=project)
    else:
        shutil.rmtree(project / ".loop-close")
    run(project)
    told = hook(project)
    assert told["reason"].startswith("The history of test runs was removed in this session")
    assert ("`test_shop.py::test_total` (weakened)" in told["reason"]) == has_git
    (project / "notes.py").write_text("X = 1\n")
    run(project)
    assert (hook(project, stop_hook_active=True) is not None) == has_git


@pytest.mark.slow
def test_history_that_is_gone_when_the_agent_stops(project):
    run(project)
    assert hook(project)["decision"] == "block"
    shutil.rmtree(project / ".loop-close")
    told = hook(project, stop_hook_active=True)
    assert told["reason"].startswith("The history of test runs was removed in this session")
    assert told["reason"].endswith("To run the tests: pytest --loop-close")
    assert hook(project, stop_hook_active=True) is None


KNOWN = "[tool.loop-close]\nknown = [{test = 'test_shop.py::test_total'}]\n"


@pytest.mark.slow
def test_known_failures_send_nobody_back(project):
    (project / "pyproject.toml").write_text(KNOWN)
    assert run(project) == 1
    assert hook(project) is None


@pytest.mark.slow
def test_an_entry_that_the_agent_adds_sends_it_back(project):
    run(project)
    hook(project)
    (project / "pyproject.toml").write_text(KNOWN)
    run(project)
    told = hook(project)
    assert told["decision"] == "block"
    assert "`test_shop.py::test_total` was added to the known failures" in told["reason"]


BEFORE = "This failure was there before this session began (run 1 of pytest): test_shop.py::test_total."


@pytest.mark.slow
def test_failures_of_before_the_session_send_it_back_once(project):
    run(project)
    assert hook(project, event="SessionStart", source="startup") is None
    (project / "shop.py").write_text(f"{RED}\n\ndef more():\n    return 1\n")
    run(project)
    told = hook(project)
    assert told["decision"] == "block"
    assert told["reason"].startswith(f"{BEFORE}\n\n# 1 test fails: ")
    assert hook(project, stop_hook_active=True) == {"continue": False, "stopReason": f"loop-close: {BEFORE}"}
    (project / "shop.py").write_text(f"{RED}\n\ndef more():\n    return 2\n")
    run(project)
    assert hook(project) == {"continue": False, "stopReason": f"loop-close: {BEFORE}"}
    assert hook(project, session="other")["decision"] == "block"


@pytest.mark.slow
def test_failures_of_the_session_itself_are_none_of_before(project):
    run(project)
    hook(project, event="SessionStart", source="startup")
    (project / "test_new.py").write_text("def test_new():\n    assert 0\n")
    run(project)
    some = "1 of the 2 failing tests failed before this session began (run 1 of pytest): test_shop.py::test_total."
    for _ in range(2):
        assert hook(project)["reason"].startswith(f"{some}\n\n# 2 tests fail")
    (project / "test_new.py").write_text("def test_new():\n    assert 1\n")
    run(project)
    assert hook(project)["reason"].startswith(BEFORE)


@pytest.mark.slow
def test_another_failure_of_the_same_test_is_none_of_before(project):
    run(project)
    hook(project, event="SessionStart", source="startup")
    (project / "shop.py").write_text(RED.replace("- 1", "- undefined"))
    run(project)
    assert hook(project)["reason"].startswith("# 1 test fails: ")


@pytest.mark.slow
def test_where_no_run_was_before_the_session_nothing_was_there(project):
    hook(project, event="SessionStart", source="startup")
    run(project)
    for _ in range(3):
        assert hook(project)["reason"].startswith("# 1 test fails: ")


@pytest.mark.slow
def test_without_its_start_nothing_is_known_to_be_of_before(project):
    """Runs before the first call may be of the session itself, and so may what fails in them."""
    run(project)
    for number in range(CAP):
        (project / "shop.py").write_text(RED.replace("- 1", "- 1" + number * " - 0"))
        run(project)
        told = hook(project)
        assert told.get("continue") is False or told["reason"].startswith("# 1 test fails: ")
    assert "before this session" not in json.dumps(told)


@pytest.mark.slow
def test_a_run_of_some_tests_says_nothing_of_before(project):
    run(project)
    hook(project, event="SessionStart", source="startup")
    run(project, "-k", "test_total")
    assert hook(project)["reason"].startswith("# 1 test fails: ")


@pytest.mark.slow
def test_a_shortened_context_is_no_beginning(project):
    hook(project, event="SessionStart", source="startup")
    run(project)
    hook(project, event="SessionStart", source="compact")
    run(project)
    assert hook(project)["reason"].startswith("# 1 test fails: ")
