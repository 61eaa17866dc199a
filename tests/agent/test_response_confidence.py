import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from loop_close.agent.response import WEIGHTS, ConfidenceParts, combined, confidence

PART = st.floats(0, 100)
PARTS = st.builds(ConfidenceParts, keywords=PART, tests=PART, quality=PART, no_errors=PART)
NAMES = [*ConfidenceParts.__struct_fields__]


def test_weights_are_those_of_the_seed():
    assert [getattr(WEIGHTS, name) for name in NAMES] == [0.35, 0.25, 0.20, 0.20]


@pytest.mark.parametrize(
    ("name", "expected"), [("keywords", 35), ("tests", 25), ("quality", 20), ("no_errors", 20)]
)
def test_one_part_alone(name, expected):
    assert confidence(ConfidenceParts(**{name: 100.0})) == expected


def test_all_and_nothing():
    assert confidence(ConfidenceParts(keywords=100, tests=100, quality=100, no_errors=100)) == 100
    assert confidence(ConfidenceParts()) == 0


@given(st.builds(ConfidenceParts, **dict.fromkeys(NAMES, st.floats())))
def test_any_numbers_give_a_percentage(parts):
    assert 0 <= confidence(parts) <= 100


@given(PARTS, st.sampled_from(NAMES), PART)
def test_a_higher_part_never_lowers_it(parts, name, value):
    higher = replace(parts, **{name: max(value, getattr(parts, name))})
    assert confidence(higher) >= confidence(parts)


@given(st.lists(st.floats(allow_nan=False)), st.floats(0, 1))
def test_another_signal_never_lowers_a_claim(signals, more):
    assert 0 <= combined(*signals) <= combined(*signals, more) <= 100


def test_signals_add_up():
    assert combined() == 0
    assert combined(0.9) == 90
    assert combined(0.5, 0.5) == 75
    assert combined(math.inf) == 100
