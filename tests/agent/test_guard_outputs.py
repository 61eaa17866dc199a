import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loop_close.agent.guard import LoopFound, SafetyGuard

anything = st.text(st.characters(exclude_categories=()))
#: No two of them are alike.
DISTINCT = ["a" * 20, "b" * 20, "c" * 20, "d" * 20, "e" * 20, "f" * 20, "g" * 20]


def found_in(outputs, **settings):
    guard = SafetyGuard(**settings)
    return [guard.detect_loop(output) for output in outputs]


@pytest.mark.parametrize(
    ("outputs", "expected"),
    [
        (DISTINCT, [False] * 7),
        (["I fixed it.", "I fixed it."], [False, True]),
        (
            ["Processing the user data...", "Creating the schema...", "Processing the user data…"],
            [False, False, True],
        ),
        (["a" * 20, "a" * 18 + "bb"], [False, True]),  # 0.90 to the digit
        (["a" * 20, "a" * 17 + "bbb"], [False, False]),
        (["", " \n\t", "", "\u200b\x1b[0m", None], [False] * 5),
        ([*DISTINCT[:5], DISTINCT[0]], [False] * 5 + [True]),
        ([*DISTINCT[:6], DISTINCT[0]], [False] * 7),  # the first is out of the window
        ([*DISTINCT[:5], "", " ", DISTINCT[0]], [False] * 7 + [True]),  # empty ones push nothing out
    ],
)
def test_loops(outputs, expected):
    assert found_in(outputs) == expected


def test_repeated_output_is_not_stored():
    first, near, far = "a" * 100, "a" * 91 + "b" * 9, "a" * 82 + "b" * 18
    assert found_in([first, near, far]) == [False, True, False]
    again = [*DISTINCT[:5], DISTINCT[4], DISTINCT[4], DISTINCT[4], DISTINCT[0]]
    assert found_in(again) == [False] * 5 + [True] * 4


@pytest.mark.parametrize(
    ("settings", "outputs", "expected"),
    [
        ({"threshold": 0.95}, ["a" * 20, "a" * 18 + "bb"], [False, False]),
        ({"threshold": 0.85}, ["a" * 20, "a" * 17 + "bbb"], [False, True]),
        ({"threshold": 1}, ["Hello world", "Hello world!", "Hello world"], [False, False, True]),
        ({"threshold": 0}, ["a", "b"], [False, True]),
        ({"window": 1}, ["a" * 9, "b" * 9, "a" * 9], [False, False, False]),
        ({"window": 7}, [*DISTINCT, DISTINCT[0]], [False] * 7 + [True]),
    ],
)
def test_settings(settings, outputs, expected):
    assert found_in(outputs, **settings) == expected


def test_the_loop_found_is_kept_until_the_next_output():
    guard = SafetyGuard()
    for output in ("a" * 20, "b" * 20, "a" * 19 + "b"):
        guard.detect_loop(output)
    assert guard.found == LoopFound(similarity=0.95)
    guard.detect_loop("c" * 20)
    assert guard.found is None


def test_cleared_history_holds_nothing():
    guard = SafetyGuard()
    guard.detect_loop("the same words")
    guard.record_failure()
    guard.clear_loop_history()
    assert not guard.detect_loop("the same words")
    assert guard.spent.failures == 1


def test_colour_makes_no_difference():
    assert found_in(["plain words", "\x1b[31mplain\x1b[0m words"]) == [False, True]


def test_of_long_outputs_ends_and_length_count():
    head, tail = "x" * 20_000, "y" * 20_000
    assert found_in([head + tail, head + "changed" + tail]) == [False, True]
    assert found_in([head + tail, head + "z" * 20_000 + tail]) == [False, False]
    assert found_in([head + tail, tail + head]) == [False, False]


@given(st.lists(anything, max_size=8), st.integers(1, 4), st.sampled_from([0.0, 0.5, 0.9, 1.0]))
def test_any_text_is_taken(outputs, window, threshold):
    guard = SafetyGuard(window=window, threshold=threshold)
    for output in outputs:
        is_loop = guard.detect_loop(output)
        assert (guard.found is not None) == is_loop
        assert not is_loop or guard.found.similarity >= threshold
        assert len(guard.state()["outputs"]) <= window


@given(st.text("abc", min_size=1, max_size=30))
def test_same_text_again_is_a_loop_under_every_threshold(output):
    assert found_in([output, output], threshold=1.0) == [False, True]


@given(st.lists(st.sampled_from("abcdefghij"), unique=True, min_size=1))
def test_different_outputs_never_loop(letters):
    assert not any(found_in([letter * 50 for letter in letters], window=10))


@settings(max_examples=10)
@given(st.sampled_from(["\ud800", "\0", "\x1b[31m", "`", "token=abcd1234 ", "\n", "(", "é\u200b"]))
def test_long_hostile_texts_are_kept_short(piece):
    guard = SafetyGuard()
    guard.detect_loop(piece * 60_000)
    assert all(len(output["text"]) < 20_000 for output in guard.state()["outputs"])
