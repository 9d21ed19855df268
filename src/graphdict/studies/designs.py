"""Designs of studies: what each has to offer, and the moments that all are made of.

A design has values (U, M) of U exchangeable units, NaN where a unit has none, and

- ``arrangements(count, rng)``: arrays whose first row is the observed arrangement, and whether they
  are all that exist (:mod:`graphdict.studies.arrangements`);
- ``statistics(rows)``: the statistic (P, M) of each arrangement and column;
- ``effects(confidence)``: effects and sizes with their intervals.

Statistics are sums over units, and thus products of matrices. There are designs of
:mod:`groups <graphdict.studies.group_design>`, of :mod:`conditions
<graphdict.studies.condition_designs>` and on a :mod:`covariate
<graphdict.studies.regression_design>`.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from graphdict.core.annotations import Floats

NOTHING = 1e-12  # of the variance of a column, that counts as none


class Effects(NamedTuple):
    """Observed effects (M,) with their intervals (M, 2)."""

    effect: Floats  # in the unit of the values
    effect_interval: Floats
    size: Floats  # without unit
    size_interval: Floats


class Design(Protocol):
    """What a permutation test and intervals ask of a study."""

    @property
    def size_name(self) -> str:
        """What the size of the effect is."""

    @property
    def statistic_name(self) -> str:
        """What the statistic is."""

    def arrangements(self, count: int, rng: np.random.RandomState) -> tuple[NDArray[Any], bool]:
        """Return arrangements, the observed one first, and whether they are all."""

    def statistics(self, rows: NDArray[Any]) -> Floats:
        """Return the statistic (P, M) of each arrangement."""

    def effects(self, confidence: float) -> Effects:
        """Return the observed effects, and intervals of such confidence."""


class CentredValues:
    """Values (U, M) centred by column, with what is missing set to zero and masked."""

    def __init__(self, values: Floats):
        known = np.isfinite(values)
        self.mask = known.astype(np.float64)
        count = np.maximum(self.mask.sum(axis=0), 1)
        filled = np.where(known, values, 0)
        self.values = np.where(known, filled - filled.sum(axis=0) / count, 0)
        self.squares = np.square(self.values)
        self.nothing = NOTHING * self.squares.sum(axis=0) / count + np.finfo(float).tiny

    def moments(self, weights: NDArray[Any]) -> tuple[Floats, Floats, Floats]:
        """Return numbers, sums and sums of squares (P, M) under weights (P, U)."""
        weights = weights.astype(np.float64, copy=False)
        return weights @ self.mask, weights @ self.values, weights @ self.squares


def divide(above: Floats, below: Floats) -> Floats:
    """Return the quotient; 0 where both are nothing, infinite where only ``below`` is."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((below == 0) & (np.abs(above) == 0), 0.0, above / below)


def variances(count: Floats, sums: Floats, squares: Floats, nothing: Floats) -> Floats:
    """Return unbiased variances, exactly 0 where they are rounding errors, NaN for fewer than 2."""
    means = sums / np.maximum(count, 1)
    found = (squares - sums * means) / np.maximum(count - 1, 1)
    return np.where(count > 1, np.where(found > nothing, found, 0.0), np.nan)


def third_moments(values: Floats, count: Floats) -> Floats:
    """Return unbiased third central moments (M,) of values (U, M) without NaN, centred already."""
    below = np.maximum((count - 1) * (count - 2), 1)
    return np.where(count > 2, count / below * (values**3).sum(axis=0), 0.0)
