import pytest

from loop_close.seeds.analyzer import ResponseAnalyzer, errors_in

ANALYZER = ResponseAnalyzer()


@pytest.mark.parametrize(
    "text",
    [
        "KeyError: 'a'",
        "E   AssertionError: assert 3 == 4",
        "json.decoder.JSONDecodeError: Expecting value",
        "error: cannot find module",
        "FAILED tests/test_a.py::test_b",
        "a.py:3: error: Incompatible types",
        "make: *** exited with code 2",
        "bash: pytset: command not found",
    ],
)
def test_an_error(text):
    assert errors_in(text) == (text,)


@pytest.mark.parametrize(
    "text",
    [
        '{"is_error": false, "error": null}',
        '{"errors": []}',
        "0 errors, 0 warnings",
        "No errors.",
        "tests/test_x.py::test_exception PASSED",
        "tests/test_x.py::test_error_handling PASSED   [100%]",
        "I fixed the KeyError in `load`.",
        "2 errors fixed",
        "Error handling is better now.",
        "exited with code 0",
        "> KeyError: 'theirs'",
        "",
    ],
)
def test_no_error(text):
    assert errors_in(text) == ()


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
        ["KeyError: 'a'", *(f"{name}Error: x" for name in "ABCDEFGHI"), "KeyError: 'a'", "KeyError: 'a'"],
        ["AError: x\nBError: y"] * 3 + ["BError: y"],  # one of several is gone
        ["AError: x\nBError: y\nCError: z", "AError: x\nBError: y", "AError: x"],
        ["AError: x"] * 3 + ["BError: y"],  # another one has taken its place
    ],
)
def test_not_stuck(history):
    assert not ANALYZER.detect_stuck_loop(history).detected


def test_errors_in_turn_are_stuck():
    assert ANALYZER.detect_stuck_loop(["AError: x", "BError: y"] * 2 + ["AError: x"]).detected
