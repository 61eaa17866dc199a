import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop_close.prompt.compose import estimate_tokens, lines_within

LOWER = "abcdefghijklmnopqrstuvwxyz"


def drawn(alphabet, number=1_000):
    return "".join(random.Random(1).choices(alphabet, k=number))


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("the answer", 3),
        ("    return total(order, rate=0.2)\n", 12),
        ("| a | b |\n|---|---|\n", 9),
        (" " * 1_000, 10),
    ],
)
def test_plain_text(text, tokens):
    assert estimate_tokens(text) == tokens


# Tokens as counted by o200k_base: an estimate far below them would let the prompt outgrow its budget.
@pytest.mark.parametrize(
    ("text", "counted"),
    [
        pytest.param("日本語のテキストをここに書きます。これは試験です。" * 5, 90, id="japanese"),
        pytest.param("😀🎉🚀🧪🔥" * 10, 80, id="emoji"),
        pytest.param("─│┌┐└┘├┤┬┴┼═║" * 20, 420, id="box drawing"),
        pytest.param("3f2504e0-4f89-11d3-9a0c-0305e82c3301 " * 20, 560, id="uuids"),
        pytest.param("\x01\x02\x7f" * 100, 300, id="control characters"),
        pytest.param(drawn(LOWER), 520, id="letters by chance"),
        pytest.param(drawn(LOWER + LOWER.upper() + "0123456789+/"), 700, id="base64"),
        pytest.param(drawn("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"), 660, id="punctuation"),
    ],
)
def test_hostile_text_is_never_taken_for_half_of_it(text, counted):
    assert counted * 0.55 < estimate_tokens(text) < counted * 2.5


@given(st.text(st.characters(exclude_categories=())), st.text())
def test_lines_are_never_less_than_the_whole(a, b):
    assert estimate_tokens(f"{a}\n{b}") <= estimate_tokens(a) + 1 + estimate_tokens(b)


@given(st.lists(st.text(max_size=30), max_size=20), st.integers(0, 60))
def test_lines_within(lines, tokens):
    number = lines_within(lines, tokens)
    assert not number or estimate_tokens("\n".join(lines[:number])) <= tokens
    assert number == len(lines) or estimate_tokens("\n".join(lines[: number + 1])) > tokens
