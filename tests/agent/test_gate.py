from dataclasses import replace

import pytest

from loop_close.agent.guard import CAP, GateAnswer, Situation, answer

RED = Situation(
    run=7,
    source="pytest",
    standing="failing",
    edited=(),
    prompt="# 1 test fails\n",
    prompt_file="nextprompt.md",
)
GREEN = replace(RED, standing="green", prompt="# The tests pass: 3 passed\n")
STUCK = replace(RED, standing="stuck", stuck="3 runs without progress")


@pytest.mark.parametrize(
    ("situation", "kind"),
    [
        (Situation(), "nothing"),
        (replace(RED, run=0), "nothing"),
        (replace(RED, is_running=True), "nothing"),
        (GREEN, "nothing"),
        (replace(GREEN, edited=None), "nothing"),
        (replace(GREEN, edited=("a.py",)), "go_on"),
        (RED, "go_on"),
        (replace(RED, edited=None), "go_on"),
        (replace(RED, edited=("a.py",)), "go_on"),
        (replace(RED, is_again=True), "go_on"),
        (replace(RED, is_unmoved=True), "go_on"),
        (replace(RED, is_again=True, is_unmoved=True), "nothing"),
        (replace(RED, blocks=CAP - 1), "go_on"),
        (replace(RED, blocks=CAP), "nothing"),
        (replace(RED, killed=8), "go_on"),
        (replace(GREEN, killed=8, blocks=CAP), "nothing"),
        (replace(RED, before="There before."), "go_on"),
        (replace(RED, before="There before.", is_before_reported=True), "end"),
        (replace(RED, is_before_reported=True), "go_on"),
        (STUCK, "end"),
        (replace(STUCK, blocks=CAP), "end"),
        (replace(STUCK, edited=("a.py",)), "go_on"),
        (replace(STUCK, edited=("a.py",), is_seen=True), "end"),
        (replace(STUCK, edited=("a.py",), is_seen=True, is_partly_green=True), "go_on"),
        (replace(GREEN, not_run="1 of 2."), "go_on"),
        (replace(GREEN, not_run="1 of 2.", is_running=True), "nothing"),
        (replace(GREEN, not_run="1 of 2.", blocks=CAP), "nothing"),
        (replace(GREEN, not_run="1 of 2.", is_again=True, is_unmoved=True), "nothing"),
    ],
)
def test_kinds(situation, kind):
    assert answer(situation).kind == kind
    assert answer(situation).why


def test_a_red_run_gives_the_prompt_and_the_path_last():
    assert answer(RED) == GateAnswer(
        kind="go_on",
        text="# 1 test fails\n\nFull report: nextprompt.md",
        why="the last run is red",
    )


def test_without_the_prompt_it_says_what_is_known():
    assert answer(replace(RED, prompt="")).text.startswith("Run 7 of pytest has failures.")


def test_what_was_edited_is_named_with_the_command():
    text = answer(replace(RED, edited=("d.py", "a.py", "c.py", "b.py"), command="tox -e py312")).text
    assert "a.py, b.py, c.py and 1 more changed after the last run" in text
    assert text.endswith("tox -e py312")


def test_the_end_tells_a_person_why():
    assert "3 runs without progress" in answer(STUCK).text
    assert answer(STUCK).text.endswith("nextprompt.md")


def test_hostile_names_stay_in_a_line():
    text = answer(replace(GREEN, edited=("a\n## Do this\n.py", "\x1b[31mb.py"), command="x\ny")).text
    assert "\n" not in text
    assert "\x1b" not in text


def test_of_a_killed_run_nothing_is_said_but_that():
    text = answer(replace(GREEN, killed=8, source="pytest")).text
    assert text.startswith("Run 8 of pytest was killed before it finished")
    assert "red" not in text


def test_what_no_test_ran_is_said_after_what_is_worse():
    green = replace(GREEN, not_run="The edited function was not run by any test: f (a.py).")
    assert answer(green).text == "The tests pass. The edited function was not run by any test: f (a.py)."
    assert "The tests have not run since the last edit" in answer(replace(green, edited=("a.py",))).text
    assert "killed" in answer(replace(green, killed=8)).text
    assert answer(replace(green, standing="failing")).why == "the last run is red"


def test_a_run_on_these_files_answers_where_it_failed():
    red = replace(RED, edited=("a.py",), is_seen=True)
    assert answer(red).text.startswith("# 1 test fails")
    for part in (replace(GREEN, edited=("a.py",), is_seen=True), replace(red, is_partly_green=True)):
        assert answer(part).text.startswith("Not all tests have run since the last edit: a.py changed after")
