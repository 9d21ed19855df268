"""Permutation tests of any design, corrected by the maximum statistic."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from graphdict.core.annotations import Floats, RandomState
from graphdict.studies.designs import Design

CHUNK = 1 << 21  # values of statistics at a time
TIES = 1e-9  # relative difference of statistics that are the same but for rounding


class PermutationResult(NamedTuple):
    """What a permutation test finds for each of M columns."""

    statistic: Floats  # (M,)
    p_values: Floats  # (M,) of each column alone
    p_corrected: Floats  # (M,) over all columns, by the maximum statistic
    largest: Floats  # (P,) largest absolute statistic of each arrangement
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
