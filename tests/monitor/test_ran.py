from hypothesis import given
from hypothesis import strategies as st

from loop_close.monitor.executions import NO_EXECUTION, RETURNED_NONE, Execution, Function, merge_executions

MASKS = st.dictionaries(st.integers(0, 3), st.integers(1, 7), max_size=4)


@given(st.sets(st.one_of(st.integers(0, 2**31), st.integers(2_990, 3_600), st.just(RETURNED_NONE))))
def test_each_line_has_a_bit_of_its_own(lines):
    function = Function(compile("\n" * 3_000 + "def f(): 1", "a.py", "exec").co_consts[0])
    bits = {line: function.bit(line) for line in lines}
    assert all(bit.bit_count() == 1 for bit in bits.values())
    assert bits == {line: function.bit(line) for line in lines}
    assert sorted(function.lines(sum(bits.values()))) == sorted(lines)


@given(st.lists(MASKS))
def test_joined_masks(parts):
    found = merge_executions(Execution(masks) for masks in parts).masks
    bits = {
        (number, bit) for masks in parts for number, mask in masks.items() for bit in (1, 2, 4) if mask & bit
    }
    assert {(number, bit) for number, mask in found.items() for bit in (1, 2, 4) if mask & bit} == bits


def test_joined_in_order():
    one = Execution({1: 3}, {(1, 5): None, (1, 4): None}, {1})
    other = Execution({1: 1, 2: 1}, {(2, 9): None, (1, 5): None}, {2})
    assert [*merge_executions((one, NO_EXECUTION, other)).lines] == [(1, 5), (1, 4), (2, 9)]
    assert merge_executions((one, other)).returned_none == {1, 2}
    assert merge_executions((NO_EXECUTION, one)) is one
    assert merge_executions([]) == Execution()
