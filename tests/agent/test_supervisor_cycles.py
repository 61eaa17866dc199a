import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop_close.agent.supervisor import cycle_length


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("", 0),
        ("AA", 0),
        ("AAA", 1),
        ("BAAA", 1),
        ("AAAB", 0),
        ("ABABAB", 2),
        ("BABAB", 0),
        ("ABCABCABC", 3),
        ("ABCDEABCDEABCDE", 5),
        ("ABCDEFABCDEFABCDEF", 0),
        ("AAAAAAAAA", 1),
        ("AABAABAAB", 3),
    ],
)
def test_cycle_length(row, expected):
    assert cycle_length(row, 5, 3) == expected


@given(st.text("ABC", max_size=30), st.integers(1, 5), st.integers(2, 4))
def test_what_is_found_is_there_and_the_shortest(row, longest, rounds):
    length = cycle_length(row, longest, rounds)
    there = [n for n in range(1, longest + 1) if len(row) >= n * rounds and row.endswith(row[-n:] * rounds)]
    assert length == min(there, default=0)
