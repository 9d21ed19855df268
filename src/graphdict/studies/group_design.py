"""The design of independent units in groups."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.core.annotations import Booleans, Floats, Integers
from graphdict.studies import arrangements
from graphdict.studies.designs import CentredValues, Effects, divide, third_moments, variances
from graphdict.studies.intervals import mean_interval, share_interval, size_interval


@dataclass
class Groups:
    """Independent units in two or more groups: Welch's t, or F for more than two.

    The effect is the difference of the means, second minus first, and its size Hedges' g; of more
    groups both are the share of the variance between groups (eta squared).
    """

    values: Floats  # (U, M)
    codes: Integers  # (U,) group of each unit

    @cached_property
    def _centred(self) -> CentredValues:
        return CentredValues(self.values)

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
            total = self._centred.mask.sum(axis=0)
            limits = share_interval(ratio[0], self.count - 1, total - self.count, total, confidence)
            return Effects(share[0], limits, share[0], limits)
        found = self._two(*(own[None] for own in members))
        difference, error, numbers, pooled = found[0][0], found[1][0], found[3], found[4][0]
        n1, n2 = (number[0] for number in numbers)
        spreads, thirds = zip(*(self._spread(own) for own in members))
        shares = spreads[0] / np.maximum(n1, 1), spreads[1] / np.maximum(n2, 1)
        below = shares[0] ** 2 / np.maximum(n1 - 1, 1) + shares[1] ** 2 / np.maximum(n2 - 1, 1)
        free = divide((shares[0] + shares[1]) ** 2, below)  # Welch's
        third = thirds[1] / np.maximum(n2, 1) ** 2 - thirds[0] / np.maximum(n1, 1) ** 2
        skewness = np.nan_to_num(divide(third, error**3), posinf=0, neginf=0)
        total = n1 + n2
        correction = 1 - 3 / np.maximum(4 * total - 9, 1)
        size = correction * divide(difference, np.sqrt(pooled))
        size_error = np.sqrt(total / np.maximum(n1 * n2, 1) + size**2 / (2 * np.maximum(total, 1)))
        return Effects(
            difference, mean_interval(difference, error, free, skewness, confidence),
            size, size_interval(size, size_error, confidence),
        )  # fmt: skip

    def _spread(self, own: Booleans) -> tuple[Floats, Floats]:
        """Return variance and third central moment (M,) of the values of some units."""
        mask, values = self._centred.mask[own], self._centred.values[own]
        count = mask.sum(axis=0)
        centred = np.where(mask > 0, values - values.sum(axis=0) / np.maximum(count, 1), 0.0)
        variance = np.square(centred).sum(axis=0) / np.maximum(count - 1, 1)
        return variance, third_moments(centred, count)

    def _two(self, first: NDArray[Any], second: NDArray[Any]) -> tuple[Any, ...]:
        """Return difference of means, its error, their ratio, the numbers and pooled variance."""
        centred = self._centred
        n1, s1, q1 = centred.moments(first)
        n2, s2, q2 = centred.moments(second)
        v1, v2 = variances(n1, s1, q1, centred.nothing), variances(n2, s2, q2, centred.nothing)
        difference = s2 / np.maximum(n2, 1) - s1 / np.maximum(n1, 1)
        difference = np.where(difference**2 > centred.nothing**2, difference, 0.0)
        error = np.sqrt(v1 / np.maximum(n1, 1) + v2 / np.maximum(n2, 1))
        ratio = np.where(np.isnan(error), 0.0, divide(difference, error))
        pooled = ((n1 - 1) * v1 + (n2 - 1) * v2) / np.maximum(n1 + n2 - 2, 1)
        return difference, error, ratio, (n1, n2), pooled

    def _variance_ratio(self, parts: list[NDArray[Any]]) -> tuple[Floats, Floats]:
        """Return F (P, M), and the share of the variance that is between groups."""
        centred = self._centred
        moments = [centred.moments(part) for part in parts]
        total, sums, squares = (sum(m[i] for m in moments) for i in range(3))
        explained = sum(s * s / np.maximum(n, 1) for n, s, _ in moments)
        between = explained - sums * sums / np.maximum(total, 1)
        within = np.maximum(squares - explained, 0)
        within = np.where(within > centred.nothing, within, 0.0)
        between = np.where(between > centred.nothing, between, 0.0)
        groups = len(parts)
        ratio = divide(between / (groups - 1), within / np.maximum(total - groups, 1))
        return ratio, divide(between, between + within)
