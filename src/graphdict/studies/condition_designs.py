"""The designs of several conditions of the same subjects: two, or more."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.core.annotations import Floats
from graphdict.studies import arrangements
from graphdict.studies.designs import NOTHING, Effects, divide, third_moments, variances
from graphdict.studies.intervals import mean_interval, share_interval, size_interval


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
        variance = variances(count, sums, squares, NOTHING * squares / len(values))
        number = np.maximum(count, 1)
        mean = sums / number
        error = np.sqrt(variance / number)
        third = third_moments(np.where(known, values - mean, 0.0), count)
        skewness = np.nan_to_num(divide(third / number**2, error**3), posinf=0, neginf=0)
        size = divide(mean, np.sqrt(variance))
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
        return np.where(count > 1, divide(means, error), 0.0)


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
        ratio = divide(between / (conditions - 1), within / free)
        return ratio, divide(between, between + within)
