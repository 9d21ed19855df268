"""Observed and expected transition matrices of labels, and their entropy."""

from __future__ import annotations

import numpy as np

from graphdict.core.annotations import Booleans, Floats, Integers

STATISTICS = ("probability", "count")


def observed_transitions(
    labels: Integers,
    segments: Integers,
    n_states: int,
    *,
    statistic: str = "probability",
    ignore_repetitions: bool = True,
) -> Floats:
    """Return the transitions (K, K) from the row's to the column's state, within segments (S, 2).

    They are probabilities or counts, by ``statistic``, of moves to another state, or of all pairs
    of consecutive samples. Samples with label -1 have no state and interrupt transitions.
    """
    if statistic not in STATISTICS:
        raise ValueError(f"statistic must be one of {STATISTICS}, got {statistic!r}")
    earlier, later = _pairs(labels, segments)
    if ignore_repetitions:
        moved = earlier != later
        earlier, later = earlier[moved], later[moved]
    counts = np.zeros((n_states, n_states))
    np.add.at(counts, (earlier, later), 1)
    return counts if statistic == "count" else _rows_to_one(counts)


def expected_transitions(
    labels: Integers, segments: Integers, n_states: int, *, ignore_repetitions: bool = True
) -> Floats:
    """Return the transition probabilities (K, K) of samples in random order.

    From a state with ``n_i`` samples the next sample is of state ``j`` in proportion to ``n_j``, or
    to ``n_i - 1`` for the state itself, which is left out where repetitions are ignored.
    """
    inside = inside_segments(labels, segments)
    counts = np.bincount(labels[inside & (labels >= 0)], minlength=n_states).astype(float)
    expected = np.tile(counts, (n_states, 1)) - np.eye(n_states)
    if ignore_repetitions:
        np.fill_diagonal(expected, 0)
    expected[counts == 0] = 0
    return _rows_to_one(np.maximum(expected, 0))


def sequence_entropy(
    labels: Integers, segments: Integers, *, ignore_repetitions: bool = False, base: float = 2.0
) -> float:
    """Return the Shannon entropy of the distribution of states over samples.

    Over runs, each of which counts once, where repetitions are ignored.
    """
    chosen = inside_segments(labels, segments) & (labels >= 0)
    if ignore_repetitions:
        for start, stop in segments:
            repeated = labels[start + 1 : stop] == labels[start : stop - 1]
            chosen[start + 1 : stop] &= ~repeated
    counts = np.bincount(labels[chosen])
    shares = counts[counts > 0] / max(counts.sum(), 1)
    return float(-(shares * np.log(shares)).sum() / np.log(base)) + 0.0


def _pairs(labels: Integers, segments: Integers) -> tuple[Integers, Integers]:
    """Return the labels of consecutive samples of one segment that both have a state."""
    together = np.zeros(max(len(labels) - 1, 0), dtype=bool)
    for start, stop in segments:
        together[start : max(stop - 1, start)] = True
    together &= (labels[:-1] >= 0) & (labels[1:] >= 0)
    return labels[:-1][together], labels[1:][together]


def inside_segments(labels: Integers, segments: Integers) -> Booleans:
    """Return which samples (T,) lie in a segment."""
    inside = np.zeros(len(labels), dtype=bool)
    for start, stop in segments:
        inside[start:stop] = True
    return inside


def _rows_to_one(matrix: Floats) -> Floats:
    """Return the matrix with rows that sum to one; zero rows stay zero."""
    sums = matrix.sum(axis=1, keepdims=True)
    return matrix / np.where(sums > 0, sums, 1)
