"""Weights fitted to choices whose odds are known."""

from math import log

import pytest

pytestmark = pytest.mark.slow  # SciPy is not among what the suite needs


def chosen(part: float, *, is_first: bool) -> tuple[float, list[tuple[list[float], bool]]]:
    """Of two candidates, of which the first has the one feature."""
    return part, [([1.0], is_first), ([0.0], not is_first)]


def test_weight_is_the_logarithm_of_the_odds() -> None:
    from benchmarks.localize.logit import weights_of

    three_of_four = [chosen(1.0, is_first=n < 3) for n in range(4)]
    assert weights_of(three_of_four) == pytest.approx([log(3)], abs=1e-4)


def test_penalty_draws_to_the_weights_that_are_given() -> None:
    from benchmarks.localize.logit import weights_of

    always = [chosen(1.0, is_first=True)]
    assert 0 < weights_of(always, 1.0)[0] < 1 < weights_of(always, 1.0, [2.0])[0] - 1 < 1.5
