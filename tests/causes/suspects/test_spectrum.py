from math import sqrt

import pytest
from called import called, calls, nodeid

from loop_close.causes.spectrum import ochiai, spectra

TOTAL = called("total", 10, passed=3, lines={1: 3, 2: 0, 3: 2})
TAX = called("tax", 30, passed=1, lines={1: 1})


def by_name(found):
    return {spectrum.function.function: spectrum for spectrum in found}


@pytest.mark.parametrize(
    ("failed", "passed", "of", "score"),
    [(0, 5, 2, 0.0), (2, 0, 2, 1.0), (1, 0, 4, 0.5), (2, 6, 2, 0.5), (3, 1, 3, 3 / sqrt(12))],
)
def test_ochiai(failed, passed, of, score):
    assert ochiai(failed, passed, of) == pytest.approx(score)


def test_counts_of_a_function():
    found = by_name(
        spectra(
            calls(TOTAL, TAX, passed=9, test_a=[(0, 1), (1, 1)], test_b=[(0, 1)]),
            [*map(nodeid, ("test_a", "test_b"))],
        )
    )
    assert (found["total"].failed, found["total"].of_failed) == (2, 2)
    assert (found["total"].passed, found["total"].of_passed) == (3, 9)
    assert found["total"].score == pytest.approx(ochiai(2, 3, 2))
    assert found["tax"].score == pytest.approx(ochiai(1, 1, 2))


def test_the_line_that_only_failing_tests_ran():
    (found,) = spectra(calls(TOTAL, passed=9, test_a=[(0, 1), (0, 2), (0, 3)]), [nodeid("test_a")])
    assert (found.line, found.line_failed, found.line_passed) == (12, 1, 0)


def test_contrast_is_that_of_the_line_that_tells_most():
    function = called("total", passed=9, lines={1: 9, 2: 4})
    made = calls(function, passed=15, test_a=[(0, 1), (0, 2)], test_b=[(0, 1)])
    (found,) = spectra(made, [*map(nodeid, ("test_a", "test_b"))])
    assert found.contrast == 1 - 0.75  # of both failing tests and nine of fifteen; the other one: 1/2 - 1/2


def test_failing_tests_of_other_causes_count_neither_way():
    one = calls(TOTAL, passed=9, test_a=[(0, 1)])
    both = calls(TOTAL, passed=9, test_a=[(0, 1)], test_b=[(0, 2)])
    assert spectra(one, [nodeid("test_a")]) == spectra(both, [nodeid("test_a")])


def test_a_test_that_ran_nothing():
    assert spectra(calls(TOTAL, passed=9, test_a=[]), [nodeid("test_a")]) == []
