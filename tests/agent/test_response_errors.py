import pytest

from loop_close.agent.analyzer import ResponseAnalyzer, error_pattern, errors_in
from loop_close.agent.response import lines_of

ANALYZER = ResponseAnalyzer()


@pytest.mark.parametrize(
    "text",
    [
        "Traceback (most recent call last):",
        "KeyError: 'a'",
        "E   AssertionError: assert 3 == 4",
        "json.decoder.JSONDecodeError: Expecting value",
        "error: cannot find module",
        "ERROR: no such option",
        "FAILED tests/test_a.py::test_b",
        "a.py:3: error: Incompatible types",
        "make: *** exited with code 2",
        '{"is_error": true}',
        '{"error": "rate limit"}',
        "1 failed, 3 passed in 0.1s",
        "bash: pytset: command not found",
    ],
)
def test_an_error(text):
    assert errors_in(lines_of(text)) == (text,)


@pytest.mark.parametrize(
    "text",
    [
        '{"is_error": false, "error": null}',
        '{"error": ""}',
        '{"errors": []}',
        '{"failures": 0}',
        "0 errors, 0 warnings",
        "No errors.",
        "finished without errors",
        "tests/test_x.py::test_exception PASSED",
        "tests/test_x.py::test_error_handling PASSED   [100%]",
        "test_error (tests.test_x.T.test_error) ... ok",
        "I fixed the KeyError in `load`.",
        "2 errors fixed",
        "Error handling is better now.",
        "exited with code 0",
        "> KeyError: 'theirs'",
        "",
        "1 failed in 0.1s\n\nthen\n\n1 passed in 0.1s",
    ],
)
def test_no_error(text):
    assert errors_in(lines_of(text)) == ()


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("KeyError: 'a'", "KeyError: <str>"),
        ("Traceback (most recent call last):\n  File 'x'\nValueError: 3 > 2", "ValueError: <n> > <n>"),
        ("E   TypeError: bad at 0x7f3a2b1c", "TypeError: bad at <id>"),
        ("first line\nsecond", "first line"),
        ("", ""),
        ('{"is_error": false}', ""),
        ("0 errors", ""),
    ],
)
def test_pattern(text, pattern):
    assert error_pattern(text) == pattern


def test_pattern_is_bounded():
    assert len(error_pattern("ValueError: " + "x " * 100_000)) <= 300


def test_same_error_with_other_values_is_stuck_at_the_third():
    history = [f"KeyError: 'user-{n}'" for n in range(3)]
    assert not ANALYZER.detect_stuck_loop(history[:2]).detected
    signal = ANALYZER.detect_stuck_loop(history)
    assert signal.detected
    assert signal.repeated_patterns == ("KeyError: <str>",)
    assert signal.error_frequency == {"KeyError: <str>": 3}
    assert signal.confidence == 75


@pytest.mark.parametrize(
    "history",
    [
        [],
        ["KeyError: 'a'", "TypeError: b", "ValueError: c"],
        ['{"is_error": false}'] * 5,
        ["0 errors"] * 5,
        ["tests/test_x.py::test_exception PASSED"] * 5,
        ["KeyError: 'a'", *(f"{name}Error: x" for name in "ABCDEFGHI"), "KeyError: 'a'", "KeyError: 'a'"],
    ],
)
def test_not_stuck(history):
    assert not ANALYZER.detect_stuck_loop(history).detected


def test_patterns_are_ordered_by_frequency():
    signal = ANALYZER.detect_stuck_loop(
        ["B: x", "AError: y", "AError: y", "B: x", "AError: y", "B: x", "B: x"]
    )
    assert signal.repeated_patterns == ("B: x", "AError: y")
