import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop_close.seeds.analyzer import WEIGHTS, AnalysisContext, AnalysisResult, ResponseAnalyzer

ANALYZER = ResponseAnalyzer()
NOTHING = AnalysisContext()
REPORT = "I fixed `load()` in `a.py`. All tests pass. The task is complete."


def test_result_of_a_report():
    result = ANALYZER.analyze(REPORT, NOTHING)
    assert result.should_exit
    assert result.exit_reason == "completion: all tests passing, complete"
    assert result.confidence == ANALYZER.calculate_confidence(REPORT, NOTHING)
    assert result.completion_signal == ANALYZER.detect_completion(REPORT)
    assert result.work_summary == "Modified 1 file"
    assert 60 <= result.confidence <= 80


def test_nothing_said():
    result = ANALYZER.analyze("", NOTHING)
    assert result == AnalysisResult()


@pytest.mark.parametrize(
    ("text", "detected"),
    [
        ("The task is done.", False),
        ("The task is done. The work is done.", False),  # one keyword twice
        ("The task is done and finished.", True),
        ("The task is done. The tests pass.", True),
        ("I fixed `a`.\n\n3 passed in 0.1s\n\nThe task is done.", True),
        ("No remaining issues.", True),
    ],
)
def test_two_signals_or_a_very_strong_one(text, detected):
    assert ANALYZER.detect_completion(text).detected is detected


def test_test_output_counts_more_than_claims():
    told = ANALYZER.analyze("I fixed `a`. All tests pass.", NOTHING).tests
    shown = ANALYZER.analyze("I fixed `a`. All tests pass.\n\n3 passed in 0.1s", NOTHING).tests
    failed = ANALYZER.analyze("I fixed `a`. All tests pass.\n\n1 failed in 0.1s", NOTHING).tests
    assert (told, shown, failed) == (50, 100, 0)


def test_an_error_costs_its_share():
    with_error = ANALYZER.analyze(f"{REPORT}\n\n> \n\nKeyError: 'a'", NOTHING).confidence
    assert with_error < ANALYZER.analyze(REPORT, NOTHING).confidence - 15


def test_echo_of_the_task_is_discounted():
    task = "Fix it so that the whole project is done and complete by Friday, all tests passing on main."
    response = (
        "The plan is clear: the whole project is done and complete by Friday, all tests passing on main."
    )
    assert ANALYZER.detect_completion(response).detected
    assert not ANALYZER.detect_completion(response, task).detected
    assert not ANALYZER.analyze(response, AnalysisContext(task_description=task)).should_exit


OUTPUT = "```\n3 passed in 0.1s\n```"


@pytest.mark.parametrize(
    ("previous", "is_stuck"),
    [
        ((), False),
        ((OUTPUT,), False),
        ((OUTPUT, OUTPUT), True),
        ((OUTPUT, "I fixed `a.py`."), False),
        (("I fixed `a.py`.", OUTPUT, OUTPUT), True),
    ],
)
def test_test_only_loop_is_stuck_and_not_complete(previous, is_stuck):
    context = AnalysisContext(previous_responses=previous)
    result = ANALYZER.analyze(f"All tests passing. Done.\n\n{OUTPUT}", context)
    assert result.stuck_signal.detected is is_stuck
    assert result.completion_signal.detected is not is_stuck
    assert result.completion_signal.test_only
    assert result.exit_reason.startswith("stuck" if is_stuck else "completion")


@pytest.mark.parametrize(
    ("text", "qualifiers"),
    [
        ("The work is done and complete. 9/12 tests pass.", ("9/12 tests pass.",)),
        (
            "The work is done and complete. The docs are not done.",
            ("the docs are not done.",),
        ),
        ("Half of the work is done.", ("half of the work is done.",)),
        ("The work is done and complete, but 3 tests fail.", ()),
        ("The work is done and complete.\n\n1 failed in 0.1s", ()),
        ("The work is done and complete.\n\nno tests ran in 0.1s", ()),
    ],
)
def test_what_fails_takes_a_claim_back_and_only_what_is_left_is_a_qualifier(text, qualifiers):
    signal = ANALYZER.detect_completion(text)
    assert not signal.detected
    assert signal.qualifiers == qualifiers


@pytest.mark.parametrize(
    "text",
    [
        "I fixed `add`; it didn't handle negative numbers.",
        "4 tests were failing. I swapped the calls.",
        "One of the helpers returned None.",
        "I have not touched the tests.",
        "The request is blocked by the proxy, so I mocked it.",
    ],
)
def test_words_about_the_program_are_no_qualifier(text):
    assert ANALYZER.detect_completion(text).qualifiers == ()


def test_stuck_outranks_a_claim():
    context = AnalysisContext(error_history=("KeyError: 'a'",) * 3)
    assert ANALYZER.analyze(REPORT, context).exit_reason == "stuck: KeyError: <str> (3 times)"


PIECES = (
    "done",
    "all tests passing",
    "complete",
    "not",
    "```",
    "\n",
    "> ",
    "- [ ] ",
    "# ",
    "1 failed in 0.1s",
    "=" * 70,
    "FAIL: test_x",
    "OK",
    "Ran 3 tests in 1s",
    "KeyError: 'a'",
    '{"is_error": true',
    "\ud800",
    "\u202e",
    "\x1b[31m",
    "İ",
    "“",
    "if",
    "3 of 4",
    "fixed two bugs",
)
TEXT = st.one_of(st.text(), st.lists(st.sampled_from(PIECES), max_size=40).map(" ".join))


@given(TEXT, TEXT, st.lists(TEXT, max_size=3), st.lists(TEXT, max_size=4))
def test_any_text_gives_a_result(response, task, previous, errors):
    context = AnalysisContext(
        task_description=task, previous_responses=tuple(previous), error_history=tuple(errors)
    )
    result = ANALYZER.analyze(response, context)
    signal = result.completion_signal
    assert 0 <= result.confidence <= 100
    assert 0 <= signal.confidence <= 100
    assert 0 <= result.stuck_signal.confidence <= 100
    assert result.should_exit == (result.exit_reason is not None)
    assert not (signal.detected and (signal.qualifiers or not signal.keywords))
    assert result == ANALYZER.analyze(response, context)


@given(TEXT)
def test_red_output_at_the_end_is_never_completion(text):
    assert not ANALYZER.detect_completion(f"{text}\n```\n\n2 failed, 1 passed in 0.1s").detected


HOSTILE = [
    "done ",
    '"',
    "“",
    "`a",
    "\n",
    "not ",
    "0",
    "=== ",
    "```\n",
    "~~a",
    "- [ ] a\n",
    "exited with code ",
    '{"error": ',
    "aaaa.Error",
    "\ud800",
]


@pytest.mark.slow
@pytest.mark.parametrize("piece", HOSTILE)
def test_a_megabyte_is_looked_at_within_bounds(piece):
    """By counted work and not by the clock: no more lines, sentences and characters than the limits."""
    text = piece * (1_000_000 // len(piece))
    calls = 0

    def count(frame, event, _argument):
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        ANALYZER.analyze(text, NOTHING)
    finally:
        sys.setprofile(None)
    assert calls < 600_000


# --- the seed's weights, and the markers of ralph loops


def test_weights():
    assert WEIGHTS == {"keywords": 0.35, "tests": 0.25, "quality": 0.2, "no_errors": 0.2}


def test_answer_without_a_completion_word_may_reach_forty_and_is_none():
    result = ANALYZER.analyze(
        "I changed `normalize()` in `src/text.py` so that combining marks are kept, added 3 lines for them, and "
        "removed the second pass over the text, which had dropped every mark that follows a digit.",
        NOTHING,
    )
    assert 35 <= result.confidence <= 40
    assert not result.completion_signal.keywords


@pytest.mark.parametrize(
    ("text", "detected"),
    [
        ("- [x] TASK_COMPLETE", True),
        ("[x] TASK_COMPLETE", True),
        ("* [X] **TASK_COMPLETE**", True),
        ("All tests pass.\n\n- [ ] TASK_COMPLETE", False),
        ("The work is done.\nEXIT_SIGNAL: true", True),
        ("All tests pass, done.\nEXIT_SIGNAL: false", False),
        ("EXIT_SIGNAL: true", False),  # one signal
        ("```\n- [x] TASK_COMPLETE\n```", False),
    ],
)
def test_markers(text, detected):
    assert ANALYZER.detect_completion(text).detected is detected


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        (
            "Modified 3 files, 12 tests passing, 2 errors fixed.",
            "Modified 3 files, 12 tests passing, 2 errors fixed",
        ),
        ("I fixed the `KeyError` bug in `a/b.py` and updated c.py.", "Modified 2 files, 1 error fixed"),
        ("Changed one file. All 7 tests pass.", "Modified 1 file, 7 tests passing"),
        ("```\n1 failed, 2 passed in 0.1s\n```", "2 tests passing, 1 test failing"),
        ("I read a.py.", ""),
        ("", ""),
    ],
)
def test_summary(text, summary):
    assert ANALYZER.extract_work_summary(text) == summary
