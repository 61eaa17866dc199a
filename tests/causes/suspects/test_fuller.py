import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop_close.calls import Called, Calls
from loop_close.causes.spectrum import merge_baseline


def called(function="f", line=10, passed=0, lines=(), digest="d", span=9, **fields):
    place = {"file": "shop.py", "line": line, "end_line": line + span}
    return Called(function=function, passed=passed, lines=dict(lines), digest=digest, **place, **fields)


def calls(passed, *functions, **fields):
    return Calls(passed=passed, functions=functions, **fields)


ALONE = calls(0, called(lines={}), failed={"t": ((0, 11), (0, 12))})


def test_counts_of_a_function_that_moved_come_from_the_fuller_run():
    before = calls(5, called(line=0, passed=4, lines={1: 4, 2: 3, 7: 1}))
    found = merge_baseline(ALONE, before, {"t"})
    assert (found.passed, found.remembered) == (5, 5)
    assert found.functions == (called(passed=4, lines={11: 4, 12: 3, 17: 1}),)
    assert found.failed == ALONE.failed


def test_test_that_passed_then_is_taken_out():
    before = calls(5, called(line=0, passed=4, lines={1: 4, 2: 1, 7: 4}))
    found = merge_baseline(ALONE, before, ())
    assert (found.passed, found.remembered) == (4, 4)
    assert found.functions == (called(passed=3, lines={11: 3, 17: 3}),)


def test_line_that_a_test_ran_twice_is_taken_out_once():
    before = calls(5, called(line=0, passed=4, lines={1: 4}))
    twice = ALONE._replace(failed={"t": ((0, 11), (0, 11))})
    assert merge_baseline(twice, before, ()).functions[0].lines == {11: 3}


def test_fuller_run_is_returned_as_it_is():
    now = calls(4, called(passed=2, lines={11: 2}), failed={"t": ((0, 11),)})
    same = calls(4, called(line=0, passed=4, lines={1: 4}))
    assert merge_baseline(now, same, {"t"}) is now
    assert merge_baseline(now, same._replace(passed=5), ()) is now  # the fifth is the one that fails now
    assert merge_baseline(now, same._replace(passed=5), {"t"}).passed == 5


def test_tests_of_which_nothing_was_kept_are_taken_for_passed():
    now = ALONE._replace(omitted=3)
    assert merge_baseline(now, calls(4, called(line=0, passed=4)), {"t"}).passed == 1
    assert merge_baseline(now, calls(3, called(line=0, passed=3)), {"t"}) is now


@pytest.mark.parametrize("change", [{"digest": "other"}, {"end_line": 8}, {"digest": ""}])
def test_each_line_of_a_changed_function_is_as_if_all_that_ran_it_had_run_it(change):
    before = called(line=0, passed=4, lines={1: 4})._replace(**change)
    (found,) = merge_baseline(ALONE, calls(5, before), {"t"}).functions
    (own,) = ALONE.functions
    assert found.is_changed
    assert (found.passed, found.lines) == (4, dict.fromkeys(range(own.line, own.end_line + 1), 4))


@pytest.mark.parametrize("change", [{"function": "g"}, {"file": "other.py"}])
def test_function_that_was_not_there_keeps_its_counts(change):
    before = called(line=0, passed=4, lines={1: 4})._replace(**change)
    assert counts(merge_baseline(ALONE, calls(5, before), {"t"})) == counts(ALONE)


def counts(found):
    return [(each.passed, each.lines) for each in found.functions]


@pytest.mark.parametrize(
    ("change", "is_changed"),
    [({}, False), ({"digest": "other"}, True), ({"end_line": 8}, True), ({"function": "g"}, False)],
)
def test_a_function_that_was_counted_otherwise_is_marked(change, is_changed):
    before = called(line=0, passed=4, lines={1: 4})._replace(**change)
    (found,) = merge_baseline(ALONE, calls(5, before), {"t"}).functions
    assert found.is_changed == is_changed


def test_functions_that_cannot_be_told_apart_are_marked():
    before = called(line=0, passed=4, lines={1: 4})
    assert [each.is_changed for each in merge_baseline(ALONE, calls(5, before, before), {"t"}).functions] == [
        True
    ]
    twins = ALONE._replace(functions=(called(), called(line=30)))
    assert [each.is_changed for each in merge_baseline(twins, calls(5, before), {"t"}).functions] == [
        True
    ] * 2


COUNTS = st.integers(0, 6)


@st.composite
def functions(draw, passed):
    found = []
    for name in "abc":
        ran = draw(st.integers(0, passed))
        lines = draw(st.dictionaries(st.integers(0, 4), st.integers(1, max(ran, 1)), max_size=4))
        line, digest = draw(st.integers(0, 50)), draw(st.sampled_from("de"))
        counts = {line + offset: number for offset, number in sorted(lines.items()) if ran}
        found.append(called(name, line, ran, counts, digest))
    return tuple(found)


@st.composite
def runs(draw):
    passed = draw(COUNTS)
    found = draw(functions(passed))
    hits = st.tuples(st.integers(0, 2), st.integers(0, 4))
    traces = draw(st.dictionaries(st.sampled_from(["t1", "t2", "t3"]), st.lists(hits, max_size=6)))
    failed = {
        name: tuple(dict.fromkeys((index, found[index].line + offset) for index, offset in trace))
        for name, trace in traces.items()
    }
    return calls(passed, *found, failed=failed, omitted=draw(st.integers(0, 1)))


NOT_PASSED = st.sets(st.sampled_from(["t1", "t2", "t3"]))


@given(runs(), runs(), NOT_PASSED)
def test_counts_stay_within_those_of_the_two_runs(now, before, not_passed):
    found = merge_baseline(now, before, not_passed)
    assert now.passed <= found.passed <= max(now.passed, before.passed)
    then = {each.function: each for each in before.functions}
    for own, each in zip(now.functions, found.functions, strict=True):
        old = then.get(own.function)
        assert each._replace(passed=own.passed, lines=own.lines, is_changed=False) == own
        assert own.passed <= each.passed <= max(own.passed, old.passed if old else 0)
        assert all(count <= each.lines[line] for line, count in own.lines.items())
        assert all(0 < count <= each.passed <= found.passed for count in each.lines.values())
