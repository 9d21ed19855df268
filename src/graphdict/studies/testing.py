"""Permutation tests corrected by the maximum statistic, and bootstrap intervals, of any design."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from graphdict.core.annotations import RandomState
from graphdict.studies.designs import Design, Estimates

__all__ = ["PermutationResult", "bootstrap_intervals", "permutation_test"]

CHUNK = 1 << 21  # values of statistics at a time
TIES = 1e-9  # relative difference of statistics that are the same but for rounding


class PermutationResult(NamedTuple):
    """What a permutation test finds for each of M columns."""

    statistic: NDArray[np.float64]  # (M,)
    p_values: NDArray[np.float64]  # (M,) of each column alone
    p_corrected: NDArray[np.float64]  # (M,) over all columns, by the maximum statistic
    largest: NDArray[np.float64]  # (P,) largest absolute statistic of each arrangement
    exact: bool  # whether all arrangements were enumerated


def permutation_test(design: Design, count: int, random_state: RandomState) -> PermutationResult:
    """Compare the observed statistics with those of other arrangements.

    The observed arrangement is one of them: with ``b`` of ``m`` drawn ones as extreme, the p-value
    is ``(b + 1) / (m + 1)``. Where ``count`` or fewer exist, all are enumerated. Tests are
    two-sided.
    """
    if count < 1:
        raise ValueError(f"n_permutations must be 1 or more, got {count}")
    rng = check_random_state(random_state)
    rows, exact = design.arrangements(count, rng)
    statistic = design.statistics(rows[:1])[0]
    least = np.abs(statistic) * (1 - TIES)
    size = max(1, CHUNK // len(statistic))
    alone, together = np.zeros(len(statistic)), np.zeros(len(statistic))
    largest = []
    for start in range(0, len(rows), size):
        found = np.abs(design.statistics(rows[start : start + size]))
        alone += (found >= least).sum(axis=0)
        largest.append(found.max(axis=1))
        ordered = np.sort(largest[-1])
        together += len(ordered) - np.searchsorted(ordered, least)
    return PermutationResult(
        statistic, alone / len(rows), together / len(rows), np.concatenate(largest), exact
    )


def bootstrap_intervals(
    design: Design, units: int, count: int, confidence: float, random_state: RandomState
) -> tuple[Estimates, NDArray[np.float64], NDArray[np.float64]]:
    """Return the observed effects, and intervals (M, 2) of effects and of their sizes.

    Units are drawn with replacement. Where standard errors are known, quantiles are those of
    deviations in units of them (bootstrap-t), which holds its level with few units; otherwise they
    are those of the effects themselves.
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence}")
    if count < 1:
        raise ValueError(f"n_bootstrap must be 1 or more, got {count}")
    rng = check_random_state(random_state)
    observed = Estimates(*(value[0] for value in design.estimates(np.ones((1, units)))))
    size = max(1, CHUNK // len(observed.effect))
    weights = design.resample(count, rng)
    parts = [design.estimates(weights[i : i + size]) for i in range(0, count, size)]
    drawn = Estimates(*(np.concatenate(values) for values in zip(*parts)))
    given = confidence, observed.effect, observed.effect_error, drawn.effect, drawn.effect_error
    sizes = confidence, observed.size, observed.size_error, drawn.size, drawn.size_error
    return observed, _interval(*given), _interval(*sizes)


def _interval(
    confidence: float,
    value: NDArray[np.float64],
    error: NDArray[np.float64],
    values: NDArray[np.float64],
    errors: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return limits (M, 2); NaN where nothing varies."""
    tails = [(1 - confidence) / 2, (1 + confidence) / 2]
    limits = np.full((len(value), 2), np.nan)
    for m in range(len(value)):
        own = values[:, m]
        if np.isfinite(error[m]):
            usable = np.isfinite(own) & (errors[:, m] > 0)
            if usable.any():
                pivots = (own[usable] - value[m]) / errors[usable, m]
                low, high = np.quantile(pivots, tails)
                limits[m] = value[m] - high * error[m], value[m] - low * error[m]
        elif np.isfinite(own).any():
            limits[m] = np.quantile(own[np.isfinite(own)], tails)
    return limits
