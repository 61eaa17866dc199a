"""Lines, sentences, test output, echoes: what a response is taken apart into."""

import pytest

from loop_close.agent.completion import echo_of, mentions, words_of_task
from loop_close.agent.response import (
    MAX_LINE,
    MAX_LINES,
    MAX_SENTENCE,
    MAX_SENTENCES,
    PrintedCounts,
    clause_at,
    clauses_of,
    is_test_line,
    lines_of,
    printed_counts,
    read_response,
    sentences_of,
)


def kinds(text):
    return [line.kind for line in lines_of(text)]


def sentences(text):
    return [sentence.text for sentence in sentences_of(lines_of(text))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("words", ["prose"]),
        ("# head\n- item\n- [ ] open\n- [x] closed", ["heading", "item", "todo", "item"]),
        ("```py\ncode\n```\nwords", ["code", "code", "code", "prose"]),
        ("~~~\n```\n~~~\nwords", ["code", "code", "code", "prose"]),
        ("````\n```\n````\nwords", ["code", "code", "code", "prose"]),
        ("```\nnever closed", ["code", "code"]),
        ("> theirs\nand more\n\nours", ["quote", "quote", "blank", "prose"]),
        ("User: do it\n\nours", ["quote", "blank", "prose"]),
        ("    indented", ["code"]),
        ("words\n    wrapped", ["prose", "prose"]),
        ("```\n1 passed in 0.01s\n```", ["test", "test", "test"]),
        ("``` not a fence `", ["prose"]),
    ],
)
def test_kinds_of_lines(text, expected):
    assert kinds(text) == expected


@pytest.mark.large
def test_lines_are_bounded():
    assert len(lines_of("\n" * (3 * MAX_LINES))) == MAX_LINES
    assert len(lines_of("x" * (3 * MAX_LINE))[0].text) == MAX_LINE


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three?", ["one.", "two!", "three?"]),
        ("**Bold** and _thin_ and ~~gone~~", ["bold and thin and"]),
        ("Say \"all done\" or `done` or 'done' it's", ["say “…” or `…` or “…” it's"]),
        ("It’s", ["it's"]),
        ("- [x] one\n- two", ["one", "two"]),
        (
            "A line that was wrapped by hand, as it is long\nenough",
            ["a line that was wrapped by hand, as it is long enough"],
        ),
        ("Done\nNot wrapped", ["done", "not wrapped"]),
        ("Acceptance criteria:\n- all tests pass\n\nDone", ["acceptance criteria:", "done"]),
        ("see https://example.com/done", ["see `…`"]),
        ("_private", ["private"]),
    ],
)
def test_sentences(text, expected):
    assert sentences(text) == expected


def test_sentences_are_bounded():
    found = sentences("a. " * 3 * MAX_SENTENCES)
    assert len(found) == MAX_SENTENCES
    assert all(len(text) <= MAX_SENTENCE for text in sentences("a" * 3 * MAX_SENTENCE))


def test_clauses():
    text = "tests done but build failing, sadly (today)"
    assert clauses_of(text) == ["tests done", "build failing", "sadly", "today"]
    left, right = clause_at(text, text.index("build"), text.index("build") + 5)
    assert text[left:right] == " build failing"


PYTEST = "=== 1 failed, 11 passed, 2 warnings in 0.80s ==="


@pytest.mark.parametrize(
    ("lines", "tally"),
    [
        ([PYTEST], PrintedCounts(is_green=False, passed=11, failed=1)),
        (["12 passed, 1 skipped in 0.10s"], PrintedCounts(is_green=True, passed=12)),
        (["no tests ran in 0.01s"], PrintedCounts(is_green=False)),
        (["1 error in 0.10s"], PrintedCounts(is_green=False, failed=1)),
        (["Ran 3 tests in 0.1s", "", "OK"], PrintedCounts(is_green=True, passed=3)),
        (["Ran 3 tests in 0.1s", "", "OK (skipped=1)"], PrintedCounts(is_green=True, passed=3)),
        (
            ["Ran 3 tests in 0.1s", "FAILED (failures=1, errors=1)"],
            PrintedCounts(is_green=False, passed=1, failed=2),
        ),
        (["Ran 0 tests in 0.0s", "OK"], PrintedCounts(is_green=False)),
        (["  congratulations :) (1.20 seconds)"], PrintedCounts(is_green=True)),
        (["  evaluation failed :( (1.20 seconds)"], PrintedCounts(is_green=False)),
        (["Tests:       1 failed, 7 passed, 8 total"], PrintedCounts(is_green=False, passed=7, failed=1)),
        (["  14 passing (20ms)"], PrintedCounts(is_green=True, passed=14)),
        (["3 tests passed"], PrintedCounts(is_green=True, passed=3)),
        (["test result: ok. 5 passed; 0 failed; 0 ignored"], PrintedCounts(is_green=True, passed=5)),
    ],
)
def test_tally(lines, tally):
    assert list(printed_counts(lines)) == [tally]


@pytest.mark.parametrize(
    "line",
    [
        "tests/test_x.py::test_exception PASSED     [ 50%]",
        "FAILED tests/test_a.py::test_b - assert 3 == 4",
        "tests/test_a.py ..F.                                                     [100%]",
        "test_add (tests.test_calc.TestCalc.test_add) ... ok",
        "py311: OK ✔ in 2.1 seconds",
        "  py312: FAIL code 1 (4.02 seconds)",
        "PASS src/a.test.ts",
        "Test Suites: 1 passed, 1 total",
        "$ python -m pytest -q",
        "collected 3 items",
    ],
)
def test_line_of_a_test_runner(line):
    assert is_test_line(line)


@pytest.mark.parametrize(
    "line", ["All tests pass.", "I ran 3 tests.", "- done", "PASSED means ok", "== x", "", "...", "pytest"]
)
def test_line_of_somebody(line):
    assert not is_test_line(line)


@pytest.mark.parametrize("text", ["OK", "ok", "Sure.\n\nOK"])
def test_ok_alone_is_a_word(text):
    assert not read_response(text).is_test_only


@pytest.mark.parametrize(
    ("text", "is_test_only"),
    [
        ("1 passed in 0.01s", True),
        ("Running the tests:\n\n1 passed in 0.01s", True),
        ("I fixed `a`.\n\n1 passed in 0.01s", False),
        ("```diff\n--- a/x\n+++ b/x\n```\n1 passed in 0.01s", False),
        ("```python\nx = 1\n```\n\n1 passed in 0.01s", False),
        ("no output", False),
        ("", False),
    ],
)
def test_test_only(text, is_test_only):
    assert read_response(text).is_test_only is is_test_only


@pytest.mark.parametrize(
    ("sentence", "task", "echo"),
    [
        ("so the parser is done by friday", "make sure the parser is done by Friday", "phrase"),
        ("all tests pass", "Work until ALL tests pass!", "bare"),
        ("all 12 tests pass", "work until all tests pass", ""),
        ("done", "say done", ""),
        ("the lexer is done", "the parser is done", ""),
        ("the task is done", "", ""),
    ],
)
def test_echo(sentence, task, echo):
    assert echo_of(sentence, mentions(sentence)[0], words_of_task(task)) == echo
