from unittest import mock

from hypothesis import given
from hypothesis import strategies as st

from loop_close.monitor.count import PassingCounts
from loop_close.monitor.executions import RETURNED_NONE, Function

CODE = (lambda: None).__code__
TESTS = st.lists(
    st.dictionaries(st.integers(0, 3), st.sets(st.integers(1, 5) | st.just(RETURNED_NONE), min_size=1))
)


@given(TESTS, st.integers(0, 9))
def test_adds_up_each_line(tests, most):
    functions = {number: Function(CODE) for number in range(4)}
    passing = PassingCounts(functions)
    with mock.patch("loop_close.monitor.count._MOST", most):
        for test in tests:
            passing.add({n: sum(functions[n].bit(line) for line in lines) for n, lines in test.items()})
            assert len(passing._masks) <= most
    found = passing.by_function()
    assert found.keys() == {number for test in tests for number in test}
    for number, passed in found.items():
        ran = [test[number] for test in tests if number in test]
        assert passed.tests == len(ran)
        lines = set().union(*ran)
        assert passed.lines == {line: sum(line in each for each in ran) for line in lines}
    assert passing.by_function() == found
