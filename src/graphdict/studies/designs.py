"""Designs of studies: what is exchangeable, the statistic of an arrangement, and effects.

A design has values (U, M) of U exchangeable units, NaN where a unit has none, and

- ``arrangements(count, rng)``: arrays whose first row is the observed arrangement, and whether they
  are all that exist (:mod:`graphdict.studies.arrangements`);
- ``statistics(rows)``: the statistic (P, M) of each arrangement and column;
- ``effects(confidence)``: effects and sizes with their intervals.

Statistics are sums over units, and thus products of matrices.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from graphdict.core.annotations import Booleans, Floats, Integers
from graphdict.studies import arrangements
from graphdict.studies.intervals import (
    correlation_interval,
    mean_interval,
    share_interval,
    size_interval,
)

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


class _Values:
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


def _divide(above: Floats, below: Floats) -> Floats:
    """Return the quotient; 0 where both are nothing, infinite where only ``below`` is."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((below == 0) & (np.abs(above) == 0), 0.0, above / below)


def _variances(count: Floats, sums: Floats, squares: Floats, nothing: Floats) -> Floats:
    """Return unbiased variances, exactly 0 where they are rounding errors, NaN for fewer than 2."""
    means = sums / np.maximum(count, 1)
    found = (squares - sums * means) / np.maximum(count - 1, 1)
    return np.where(count > 1, np.where(found > nothing, found, 0.0), np.nan)


def _third_moments(values: Floats, count: Floats) -> Floats:
    """Return unbiased third central moments (M,) of values (U, M) without NaN, centred already."""
    below = np.maximum((count - 1) * (count - 2), 1)
    return np.where(count > 2, count / below * (values**3).sum(axis=0), 0.0)


@dataclass
class Groups:
    """Independent units in two or more groups: Welch's t, or F for more than two.

    The effect is the difference of the means, second minus first, and its size Hedges' g; of more
    groups both are the share of the variance between groups (eta squared).
    """

    values: Floats  # (U, M)
    codes: Integers  # (U,) group of each unit

    @cached_property
    def _given(self) -> _Values:
        return _Values(self.values)

    @property
    def count(self) -> int:
        """Number of groups."""
        return int(self.codes.max()) + 1

    @property
    def statistic_name(self) -> str:
        """Of two groups Welch's t."""
        return "t" if self.count == 2 else "F"

    @property
    def size_name(self) -> str:
        """What the size of the effect is."""
        return "Hedges' g" if self.count == 2 else "eta squared"

    def arrangements(self, count: int, rng: np.random.RandomState) -> tuple[NDArray[Any], bool]:
        return arrangements.group_labels(self.codes, count, rng)

    def statistics(self, rows: NDArray[Any]) -> Floats:
        if self.count > 2:
            return self._variance_ratio([rows == code for code in range(self.count)])[0]
        ratio: Floats = self._two(rows == 0, rows == 1)[2]
        return ratio

    def effects(self, confidence: float) -> Effects:
        members = [self.codes == code for code in range(self.count)]
        if self.count > 2:
            ratio, share = self._variance_ratio([own[None] for own in members])
            total = self._given.mask.sum(axis=0)
            limits = share_interval(ratio[0], self.count - 1, total - self.count, total, confidence)
            return Effects(share[0], limits, share[0], limits)
        found = self._two(*(own[None] for own in members))
        difference, error, numbers, pooled = found[0][0], found[1][0], found[3], found[4][0]
        n1, n2 = (number[0] for number in numbers)
        variances, thirds = zip(*(self._spread(own) for own in members))
        shares = variances[0] / np.maximum(n1, 1), variances[1] / np.maximum(n2, 1)
        below = shares[0] ** 2 / np.maximum(n1 - 1, 1) + shares[1] ** 2 / np.maximum(n2 - 1, 1)
        free = _divide((shares[0] + shares[1]) ** 2, below)  # Welch's
        third = thirds[1] / np.maximum(n2, 1) ** 2 - thirds[0] / np.maximum(n1, 1) ** 2
        skewness = np.nan_to_num(_divide(third, error**3), posinf=0, neginf=0)
        total = n1 + n2
        correction = 1 - 3 / np.maximum(4 * total - 9, 1)
        size = correction * _divide(difference, np.sqrt(pooled))
        size_error = np.sqrt(total / np.maximum(n1 * n2, 1) + size**2 / (2 * np.maximum(total, 1)))
        return Effects(
            difference, mean_interval(difference, error, free, skewness, confidence),
            size, size_interval(size, size_error, confidence),
        )  # fmt: skip

    def _spread(self, own: Booleans) -> tuple[Floats, Floats]:
        """Return variance and third central moment (M,) of the values of some units."""
        mask, values = self._given.mask[own], self._given.values[own]
        count = mask.sum(axis=0)
        centred = np.where(mask > 0, values - values.sum(axis=0) / np.maximum(count, 1), 0.0)
        variance = np.square(centred).sum(axis=0) / np.maximum(count - 1, 1)
        return variance, _third_moments(centred, count)

    def _two(self, first: NDArray[Any], second: NDArray[Any]) -> tuple[Any, ...]:
        """Return difference of means, its error, their ratio, the numbers and pooled variance."""
        given = self._given
        n1, s1, q1 = given.moments(first)
        n2, s2, q2 = given.moments(second)
        v1, v2 = _variances(n1, s1, q1, given.nothing), _variances(n2, s2, q2, given.nothing)
        difference = s2 / np.maximum(n2, 1) - s1 / np.maximum(n1, 1)
        difference = np.where(difference**2 > given.nothing**2, difference, 0.0)
        error = np.sqrt(v1 / np.maximum(n1, 1) + v2 / np.maximum(n2, 1))
        ratio = np.where(np.isnan(error), 0.0, _divide(difference, error))
        pooled = ((n1 - 1) * v1 + (n2 - 1) * v2) / np.maximum(n1 + n2 - 2, 1)
        return difference, error, ratio, (n1, n2), pooled

    def _variance_ratio(self, parts: list[NDArray[Any]]) -> tuple[Floats, Floats]:
        """Return F (P, M), and the share of the variance that is between groups."""
        given = self._given
        moments = [given.moments(part) for part in parts]
        total, sums, squares = (sum(m[i] for m in moments) for i in range(3))
        explained = sum(s * s / np.maximum(n, 1) for n, s, _ in moments)
        between = explained - sums * sums / np.maximum(total, 1)
        within = np.maximum(squares - explained, 0)
        within = np.where(within > given.nothing, within, 0.0)
        between = np.where(between > given.nothing, between, 0.0)
        groups = len(parts)
        ratio = _divide(between / (groups - 1), within / np.maximum(total - groups, 1))
        return ratio, _divide(between, between + within)


@dataclass
class Pairs:
    """Differences between two conditions of the same subjects: their mean over its error, t.

    Under no effect each difference could have the other sign. The size is Cohen's d of the
    differences.
    """

    values: Floats  # (U, M) differences
    statistic_name: str = "t"
    size_name: str = "Cohen's d of differences"

    def arrangements(self, count: int, rng: np.random.RandomState) -> tuple[NDArray[Any], bool]:
        return arrangements.signs(len(self.values), count, rng)

    def statistics(self, rows: NDArray[Any]) -> Floats:
        known = np.isfinite(self.values)
        values = np.where(known, self.values, 0.0)
        count = known.sum(axis=0).astype(np.float64)
        squares = np.square(values).sum(axis=0)
        means = rows @ values / np.maximum(count, 1)
        return self._ratio(means, count, squares)

    def effects(self, confidence: float) -> Effects:
        known = np.isfinite(self.values)
        values = np.where(known, self.values, 0.0)
        count, sums = known.sum(axis=0).astype(np.float64), values.sum(axis=0)
        squares = np.square(values).sum(axis=0)
        variance = _variances(count, sums, squares, NOTHING * squares / len(values))
        number = np.maximum(count, 1)
        mean = sums / number
        error = np.sqrt(variance / number)
        third = _third_moments(np.where(known, values - mean, 0.0), count)
        skewness = np.nan_to_num(_divide(third / number**2, error**3), posinf=0, neginf=0)
        size = _divide(mean, np.sqrt(variance))
        size_error = np.sqrt(1 / number + size**2 / (2 * number))
        return Effects(
            mean, mean_interval(mean, error, count - 1, skewness, confidence),
            size, size_interval(size, size_error, confidence),
        )  # fmt: skip

    @staticmethod
    def _ratio(means: Floats, count: Floats, squares: Floats) -> Floats:
        spread = squares / np.maximum(count, 1) - means**2
        spread = np.where(spread > NOTHING * squares / np.maximum(count, 1), spread, 0.0)
        error = np.sqrt(spread / np.maximum(count - 1, 1))
        return np.where(count > 1, _divide(means, error), 0.0)


@dataclass
class Repeated:
    """Three or more conditions of the same subjects: F of repeated measures.

    Under no effect the conditions of a subject could have come in any order.
    """

    values: Floats  # (U, C, M)
    statistic_name: str = "F"
    size_name: str = "partial eta squared"

    @cached_property
    def _centred(self) -> tuple[Floats, Floats]:
        """Values without the subject's mean, 0 for subjects that lack one; numbers of subjects."""
        known = np.asarray(np.isfinite(self.values).all(axis=1))
        centred: Floats = self.values - self.values.mean(axis=1, keepdims=True)
        centred = np.where(known[:, None, :], centred, 0.0)
        return centred, known.astype(np.float64)

    def arrangements(self, count: int, rng: np.random.RandomState) -> tuple[NDArray[Any], bool]:
        units, conditions = self.values.shape[:2]
        return arrangements.condition_orders(units, conditions, count, rng)

    def statistics(self, rows: NDArray[Any]) -> Floats:
        centred, known = self._centred
        units = np.arange(len(centred))[:, None]
        sums = np.stack([centred[units, row].sum(axis=0) for row in rows])  # (P, C, M)
        number = np.broadcast_to(known.sum(axis=0), sums.shape[::2])
        total = np.broadcast_to(np.square(centred).sum(axis=(0, 1)), sums.shape[::2])
        return self._shares(sums, number, total)[0]

    def effects(self, confidence: float) -> Effects:
        centred, known = self._centred
        number, total = known.sum(axis=0), np.square(centred).sum(axis=(0, 1))
        ratio, share = self._shares(centred.sum(axis=0)[None], number[None], total[None])
        between = centred.shape[1] - 1
        within = (number - 1) * between
        limits = share_interval(ratio[0], between, within, number * between, confidence)
        return Effects(share[0], limits, share[0], limits)

    @staticmethod
    def _shares(sums: Floats, number: Floats, total: Floats) -> tuple[Floats, Floats]:
        conditions = sums.shape[1]
        between = np.square(sums).sum(axis=1) / np.maximum(number, 1)
        within = np.maximum(total - between, 0)
        within = np.where(within > NOTHING * total, within, 0.0)
        free = np.maximum((number - 1) * (conditions - 1), 1)
        ratio = _divide(between / (conditions - 1), within / free)
        return ratio, _divide(between, between + within)


@dataclass
class Regression:
    """Values on a covariate: the slope over its error, t; the size is the correlation.

    Under no effect the covariate of units of one block could have come in any order. With several
    blocks, values and covariate are taken relative to the means of their block.
    """

    values: Floats  # (U, M)
    covariate: Floats  # (U,)
    blocks: Integers  # (U,)
    statistic_name: str = "t"
    size_name: str = "correlation"

    @cached_property
    def _members(self) -> list[Integers]:
        """The units of each block."""
        return [np.flatnonzero(self.blocks == block) for block in np.unique(self.blocks)]

    @cached_property
    def _within(self) -> tuple[_Values, Floats]:
        """Values and covariate relative to the means of their block; values may be missing."""
        values, covariate = self.values.copy(), self.covariate.astype(np.float64)
        for own in self._members:
            covariate[own] -= covariate[own].mean()
            known = np.isfinite(values[own])
            sums = np.where(known, values[own], 0.0).sum(axis=0)
            values[own] -= sums / np.maximum(known.sum(axis=0), 1)
        return _Values(values), covariate

    def arrangements(self, count: int, rng: np.random.RandomState) -> tuple[NDArray[Any], bool]:
        return arrangements.block_orders(self.blocks, count, rng)

    def statistics(self, rows: NDArray[Any]) -> Floats:
        slope, error, _, _ = self._slopes(self._within[1][rows])
        return np.where(np.isnan(error), 0.0, _divide(slope, error))

    def effects(self, confidence: float) -> Effects:
        slopes, errors, correlations, free = self._slopes(self._within[1][None])
        slope, error, correlation = slopes[0], errors[0], correlations[0]
        pairs = free + 2  # with which one block has as many degrees of freedom
        x, values = self._centred_covariate, self._within[0].values
        spread = np.square(x).sum(axis=0)
        # What the error of each unit (U, M) adds to that of the slope.
        pulls = x * (values - slope * x) / np.where(spread > 0, spread, 1.0)
        if len(self._members) > 1:  # what recordings of a subject have in common is one error
            pulls = np.stack([pulls[own].sum(axis=0) for own in self._members])
            parts = np.stack([np.square(x[own]).sum(axis=0) for own in self._members])
            free = (parts > NOTHING * spread).sum(axis=0) - 1.0  # by subjects that say something
            scale = np.where(free > 0, (free + 1) / np.maximum(free, 1), np.nan)
            error = np.sqrt(scale * np.square(pulls).sum(axis=0))
        skewness = np.nan_to_num(_divide((pulls**3).sum(axis=0), error**3), posinf=0, neginf=0)
        return Effects(
            slope, mean_interval(slope, error, free, skewness, confidence), correlation,
            correlation_interval(correlation, pairs, confidence),
        )  # fmt: skip

    @cached_property
    def _centred_covariate(self) -> Floats:
        """The covariate (U, M) without its mean over what is known of a block; 0 for the rest."""
        mask, covariate = self._within[0].mask, self._within[1]
        centred = mask * covariate[:, None]
        for own in self._members:
            count = np.maximum(mask[own].sum(axis=0), 1)
            centred[own] -= mask[own] * centred[own].sum(axis=0) / count
        return centred

    def _slopes(self, covariates: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Return slopes, their errors and correlations (P, M), and degrees of freedom (M,)."""
        given = self._within[0]
        xx, free = np.square(covariates) @ given.mask, given.mask.sum(axis=0) - 1
        for own in self._members:
            mask = given.mask[own]
            free -= mask.any(axis=0)
            if not mask.all():  # the mean of what is left in the block
                xx -= np.square(covariates[:, own] @ mask) / np.maximum(mask.sum(axis=0), 1)
        xy, yy = covariates @ given.values, given.squares.sum(axis=0)
        tiny = NOTHING * float(np.square(covariates[0]).sum()) + np.finfo(float).tiny
        varied = xx > tiny
        slope = np.where(varied, xy / np.where(varied, xx, 1.0), 0.0)
        left = np.maximum(yy - slope * xy, 0)
        left = np.where(left > given.nothing, left, 0.0)
        error = np.sqrt(left / np.maximum(free, 1) / np.where(varied, xx, 1.0))
        error = np.where(varied & (free > 0), error, np.nan)
        correlation = _divide(xy, np.sqrt(np.where(varied, xx, 0.0) * yy))
        return slope, error, np.clip(np.nan_to_num(correlation), -1, 1), free
