from dataclasses import replace

import pytest
from called import called, calls, nodeid
from hypothesis import given
from hypothesis import strategies as st
from records import failure, verdict

from loop_close.causes.suspects.bodies import with_bodies
from loop_close.causes.suspects.rank import found_for, scored, suspects_among
from loop_close.causes.suspects.spectrum import spectra
from loop_close.model import Evidence, RootCause

FILE, OTHER = "tests/test_cart.py", "tests/test_tax.py"
MADE = called("made", line=10, passed=1, lines={1: 1}, passed_by_body={0: 2, 11: 2})
USED = called("used", line=30, passed=6, lines={1: 6}, passed_by_body={0: 3, 31: 3})
TESTS = [nodeid("test_a"), nodeid("test_b")]


def known(**fields):
    """Two tests fail that run one function themselves, and one in the body of their module, where two others pass."""
    found = calls(MADE, USED, passed=10, test_a=[(1, 1)], test_b=[(1, 1)])
    return replace(found, **{"bodies": {FILE: ((0, 11),)}, **fields})


def whole(found, tests=TESTS):
    return {each.function.function: each for each in with_bodies(spectra(found, tests), found, tests)}


def test_body_counts_for_the_tests_of_its_module():
    made = whole(known())["made"]
    assert made.in_body
    assert (made.failed, made.of_failed, made.passed, made.of_passed) == (2, 2, 3, 10)
    assert (made.line, made.line_failed, made.line_passed) == (11, 2, 3)


def test_what_the_tests_ran_themselves_is_as_it_was():
    found = known()
    assert whole(found)["used"] == spectra(found, TESTS)[-1]


def test_of_what_few_ran_the_others_have_it_from_the_body():
    found = replace(known(), failed={**known().failed, nodeid("test_c"): ((0, 11), (0, 12))})
    made = whole(found, [*TESTS, nodeid("test_c")])["made"]
    assert made.in_body
    assert (made.failed, made.of_failed) == (3, 3)


def test_of_what_all_ran_the_body_is_not_asked():
    found = replace(known(), failed=dict.fromkeys(TESTS, ((0, 11), (1, 31))))
    made = whole(found)["made"]
    assert not made.in_body
    assert (made.failed, made.passed) == (2, 1)


def test_of_what_no_more_tests_have_by_it_the_body_is_not_asked():
    other = "tests/test_other.py::test_c"
    found = replace(
        known(), failed={**known().failed, TESTS[0]: ((0, 11),), TESTS[1]: ((0, 11),), other: ((1, 31),)}
    )
    made = whole(found, [*TESTS, other])["made"]
    assert not made.in_body
    assert (made.failed, made.of_failed, made.passed) == (2, 3, 1)


def test_no_more_than_all_passing_tests():
    found = known(functions=(replace(MADE, passed_by_body={0: 99, 11: 99}), USED))
    assert (whole(found)["made"].passed, whole(found)["made"].line_passed) == (10, 10)


@pytest.mark.parametrize("fields", [{"bodies": {}}, {"bodies": {OTHER: ((0, 11),)}}, {"remembered": 10}])
def test_nothing_to_count(fields):
    found = known(**fields)
    assert with_bodies(spectra(found, TESTS), found, TESTS) == spectra(found, TESTS)


def test_no_failing_test_is_known():
    assert with_bodies([], known(failed={}), TESTS) == []


def test_it_is_a_suspect_and_says_why():
    evidence = tuple(
        Evidence(kind="test-failure", snippet="", failure=failure(verdict(), nodeid=test)) for test in TESTS
    )
    found = found_for(RootCause(id="1", kind="test-failure", evidence=evidence), known())
    assert {c.function: c.features["body"] for c in found} == {"made": 1.0, "used": 0.0}
    made = next(each for each in suspects_among(scored(found)) if each.function == "made")
    assert made.reasons == ("the body of the tests' module ran it",)


LINES = st.lists(st.tuples(st.integers(0, 1), st.integers(10, 12)), max_size=4, unique=True).map(tuple)


@given(LINES, LINES, LINES, st.integers(0, 20))
def test_each_function_once_and_never_more_tests_than_there_are(body, one, two, passed):
    counts = dict.fromkeys((0, 10, 11, 12), passed)
    functions = tuple(replace(each, passed_by_body=counts) for each in (MADE, USED))
    found = known(failed={TESTS[0]: one, TESTS[1]: two}, bodies={FILE: body}, functions=functions)
    after = with_bodies(spectra(found, TESTS), found, TESTS)
    names = [each.function.function for each in after]
    assert len(names) == len({*names})
    assert {*names} >= {each.function.function for each in spectra(found, TESTS)}
    for each in after:
        assert 0 < each.failed <= each.of_failed == 2
        assert each.passed <= each.of_passed == 10
