from hypothesis import given
from hypothesis import strategies as st

from loop_close.monitor.hits import CALLED, NOTHING, called, function_of, functions_of, line_of

NUMBERS = st.integers(0, 1 << 40)
LINES = st.one_of(st.sampled_from([CALLED, NOTHING]), st.integers(1, (1 << 31) - 1))


@given(NUMBERS, LINES)
def test_both_come_back(number, line):
    hit = called(number) + line
    assert (function_of(hit), line_of(hit)) == (number, line)
    assert line_of(called(number)) == CALLED


@given(st.lists(st.tuples(NUMBERS, LINES)))
def test_no_two_are_one(pairs):
    ran = [called(number) + line for number, line in pairs]
    assert len(set(ran)) == len(set(pairs))
    assert functions_of(ran) == {number for number, _ in pairs}
