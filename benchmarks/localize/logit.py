"""The weights of a choice of one among many, by how likely they make what was chosen (a conditional logit)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize

#: Of one choice: how much it counts, and of each candidate its features and whether it is the one.
Choice = tuple[float, list[tuple[list[float], bool]]]


def weights_of(
    choices: Sequence[Choice], penalty: float = 0.0, near: Sequence[float] | None = None
) -> list[float]:
    """What makes the mean logarithm of the right candidates' share (softmax) the largest, by L-BFGS.

    :param choices: each with at least one right candidate, all of as many features.
    :param penalty: what the sum of the squares costs, of the weights or of how far they are from ``near``.
    :raises ValueError: where there is no choice.
    """
    if not choices:
        raise ValueError("no choices to fit weights to; there should be at least one")
    number = len(choices[0][1][0][0])
    begin = np.array(near, dtype=float) if near is not None else np.zeros(number)
    fitted = _Fitted(choices, penalty, begin)
    exact = {"ftol": 1e-14, "gtol": 1e-9, "maxiter": 10_000}
    return minimize(fitted.cost, begin, jac=True, method="L-BFGS-B", options=exact).x.tolist()


class _Fitted:
    """All candidates of all choices, one below the other.

    :ivar of: the number of each candidate's choice; ``starts`` the places of the first of each.
    """

    def __init__(self, choices: Sequence[Choice], penalty: float, near: np.ndarray) -> None:
        sizes = [len(candidates) for _, candidates in choices]
        self.starts = np.cumsum([0, *sizes[:-1]])
        self.of = np.repeat(np.arange(len(sizes)), sizes)
        self.features = np.array([row for _, candidates in choices for row, _ in candidates])
        self.right = np.array([is_it for _, candidates in choices for _, is_it in candidates], dtype=float)
        parts = np.array([part for part, _ in choices])
        self.parts = parts / parts.sum()
        self.penalty, self.near = penalty, near

    def cost(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        """What is to be as small as can be, and its gradient."""
        sums = self.features @ weights
        shares = np.exp(sums - np.maximum.reduceat(sums, self.starts)[self.of])
        total, right = (np.add.reduceat(each, self.starts) for each in (shares, shares * self.right))
        likelihood = self.parts @ np.log(right / total)
        pulls = (self.parts / right)[self.of] * self.right - (self.parts / total)[self.of]
        slope = (shares * pulls) @ self.features
        far = weights - self.near
        return self.penalty * (far @ far) - likelihood, 2 * self.penalty * far - slope
