"""What failing tests ran themselves, and what ran at import and made what they use."""

import pytest
from called import called, calls, nodeid
from hypothesis import given
from hypothesis import strategies as st

from loop_close.calls import ImportEffect
from loop_close.causes.spectrum import Counted, spectra

LOOK_UP = called("look_up", 10, passed=2, uses=frozenset({1}))
MAKE = called("make", 30, at_import=(31, 32))
READ = called("read", 50, passed=9, uses=frozenset({2}))
OTHER = called("other", 70, at_import=(71,))
#: A table, another one that holds it, and one that only `read` uses.
MAKINGS = (
    ImportEffect(file="a.py", line=1, ran=frozenset({1})),
    ImportEffect(file="a.py", line=2, needs=frozenset({0})),
    ImportEffect(file="b.py", line=1, ran=frozenset({1, 3})),
)


def known(*functions, import_effects=MAKINGS, uses=(), passed=99, **failed):
    found = calls(*functions, passed=passed, **failed)
    uses = {nodeid(test): frozenset(numbers) for test, numbers in dict(uses).items()}
    return Counted(found._replace(import_effects=import_effects, uses=uses))


def of(counted, *tests):
    return counted.of([*map(nodeid, tests)])


FUNCTIONS = LOOK_UP, MAKE, READ, OTHER


def test_what_made_the_objects_that_its_functions_name_counts_for_a_test():
    (trace,) = of(known(*FUNCTIONS, test_a=[(0, 1)]), "test_a").traces
    assert trace.own == ((0, 11),)
    assert {*trace.before} == {(1, 31), (1, 32)}
    assert trace.hits == trace.before + trace.own


def test_what_it_names_itself_counts_as_well():
    counted = known(*FUNCTIONS, uses={"test_a": [2]}, test_a=[(0, 1)])
    assert {index for index, _ in of(counted, "test_a").traces[0].before} == {1, 3}


def test_of_a_line_that_it_ran_itself_there_is_but_one():
    (trace,) = of(known(*FUNCTIONS, test_a=[(0, 1), (1, 1)]), "test_a").traces
    assert (1, 31) not in trace.before


def test_passing_tests_that_ran_what_uses_it_are_estimated():
    """Two and nine of 99, were they to have nothing to do with each other; one function alone is as it is."""
    counted = known(*FUNCTIONS, test_a=[(0, 1)])
    assert (counted.used(1), counted.used(3)) == (11, 9)
    assert of(counted, "test_a").lines(1) == {31: 11, 32: 11}


def test_passing_tests_that_name_it_count():
    counted = known(LOOK_UP, MAKE._replace(named=12), READ, OTHER, test_a=[(0, 1)])
    assert (counted.used(1), counted.used(3)) == (12, 9)


def test_what_tests_ran_is_surer_than_what_they_may_use():
    """Most passing tests may use what it made, and only the failing one runs it."""
    counts = of(
        known(LOOK_UP, MAKE._replace(named=19), test_a=[(0, 1), (1, 1)], import_effects=MAKINGS[:2]), "test_a"
    )
    assert [index for index, _ in counts.traces[0].hits] == [0, 1]
    assert (counts.passed(1), counts.made[1]) == (0, 0)


def test_of_an_earlier_run_it_is_not_known_who_used_it():
    counted = known(*FUNCTIONS, test_a=[(0, 1)])
    earlier = Counted(counted.calls._replace(remembered=99))
    assert [index for index, _ in of(earlier, "test_a").traces[0].hits] == [0]


@pytest.mark.parametrize(("passed", "is_told"), [(99, True), (32, True), (31, False), (9, False)])
def test_what_many_passing_tests_may_use_tells_nothing(passed, is_told):
    """More than a quarter of them, and one: here nine."""
    counts = of(known(*FUNCTIONS, passed=passed, uses={"test_a": [2]}, test_a=[(0, 1)]), "test_a")
    assert (3 in counts.failed) is is_told


def test_import_tells_where_few_of_the_failing_tests_ran_it():
    functions = LOOK_UP._replace(passed=0), MAKE
    counted = known(*functions, import_effects=MAKINGS[:2], test_a=[(0, 1)], test_b=[(0, 1), (1, 1)])
    counts = of(counted, "test_a", "test_b")
    assert (counts.failed[1], counts.made[1]) == (2, 1)


def test_spectrum_of_what_only_ran_at_import():
    found = {
        each.function.function: each
        for each in spectra(known(*FUNCTIONS, test_a=[(0, 1)]), [nodeid("test_a")])
    }
    make = found["make"]
    assert (make.failed, make.made, make.passed, make.of_passed) == (1, 1, 11, 99)
    assert (make.line, make.line_passed) == (31, 11)
    assert found["look_up"].made == 0


@given(
    st.lists(st.frozensets(st.integers(0, 4)), min_size=5, max_size=5),
    st.frozensets(st.integers(0, 4)),
    st.integers(0, 9),
)
def test_no_test_has_more_than_all_and_no_function_more_than_all_tests(needs, uses, named):
    import_effects = tuple(
        ImportEffect(file="a.py", line=n, ran=frozenset({1}), needs=needs[n]) for n in range(5)
    )
    counted = known(
        called("f", passed=3, uses=uses),
        MAKE._replace(named=named),
        import_effects=import_effects,
        passed=9,
        test_a=[(0, 1)],
    )
    counts = of(counted, "test_a")
    assert {*counts.traces[0].hits} <= {(0, 11), (1, 31), (1, 32)}
    assert 0 <= counts.passed(1) <= 9


@pytest.mark.parametrize("tests", [(), ("test_unknown",)])
def test_nothing_is_known_of_others(tests):
    assert of(known(*FUNCTIONS, test_a=[(0, 1)]), *tests).traces == []
