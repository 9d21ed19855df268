"""Features of states for each event or recording: occurrences, coverage, durations.

A run is a maximal sequence of consecutive samples of one segment in which a state is active. With
labels, or "largest", exactly one state is active in every assigned sample, and samples without a
state do not count; with thresholds any number of states may be active at once, and all samples with
coefficients count.

=================== ====== ==================================================================
occurrences         1/s    runs of the state per second of assigned time
coverage            ratio  share of assigned time in which the state is active
mean_duration       s      coverage / occurrences: the mean length of its runs
mean_coefficient    ratio  mean of its coefficient
count               runs   number of runs
occupancy                  another name of coverage (fractional occupancy)
lifetime                   another name of mean_duration
interval            s      mean time from the end of a run to the next one of the same segment
=================== ====== ==================================================================

A state that never occurs has zeros; without an interval, its mean is zero, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphdict.core.annotations import Booleans, Floats, Integers
from graphdict.metrics import safe_ratio

PAPER_FEATURES = ("occurrences", "coverage", "mean_duration")
FEATURES = (
    *PAPER_FEATURES, "mean_coefficient", "count", "occupancy", "lifetime", "interval",
)  # fmt: skip


def hard_labels(coefficients: Floats) -> Integers:
    """Return the state with the largest coefficient (T,); -1 where they are NaN or all zero."""
    known = np.asarray(np.isfinite(coefficients).all(axis=1))
    filled = np.where(known[:, None], coefficients, 0)
    return np.where(filled.max(axis=1, initial=0) > 0, filled.argmax(axis=1), -1)


def active_states(coefficients: Floats, activity: str | ArrayLike) -> tuple[Booleans, Booleans]:
    """Return which states are active in each sample (T, K), and which samples count (T,)."""
    if isinstance(activity, str):
        if activity != "largest":
            raise ValueError(f"activity must be 'largest' or thresholds, got {activity!r}")
        labels = hard_labels(coefficients)
        return labels[:, None] == np.arange(coefficients.shape[1]), labels >= 0
    known = np.asarray(np.isfinite(coefficients).all(axis=1))
    with np.errstate(invalid="ignore"):
        return (coefficients >= np.asarray(activity)) & known[:, None], known


def count_runs(
    active: Booleans,
    counted: Booleans,
    segments: Integers,
    event: Integers,
    n_events: int,
    sfreq: float,
) -> dict[str, Floats]:
    """Return the statistics of runs by name, each an array (n_events, K).

    Parameters
    ----------
    active : boolean array (T, K)
        Whether each state is active in each sample.
    counted : boolean array (T,)
        Samples that count as time of their event.
    segments : integer array (S, 2)
        First sample and end of each segment; runs do not cross their ends.
    event : integer array (S,)
        Event of each segment.
    n_events : int
        Number of events.
    sfreq : float
        Samples per second.

    Returns
    -------
    dict of arrays (n_events, K)
        "count", "occurrences", "coverage", "mean_duration" and "interval".
    """
    samples, states = active.shape
    owner = np.full(samples, -1, dtype=np.intp)  # the segment of each sample
    opens = np.zeros(samples, dtype=bool)
    for number, (start, stop) in enumerate(segments):
        owner[start:stop] = number
        if start < stop:
            opens[start] = True
    inside = owner >= 0
    of_event = np.where(inside, np.asarray(event)[owner] if len(event) else 0, n_events)
    active = active & (inside & counted)[:, None]

    def total(values: Floats) -> NDArray[Any]:
        return np.bincount(of_event, weights=values, minlength=n_events + 1)[:n_events]

    time = total((inside & counted).astype(float)) / sfreq
    closes = np.append(opens[1:], True)  # of a segment that is followed by another
    before = np.vstack((np.zeros((1, states), bool), active[:-1]))
    after = np.vstack((active[1:], np.zeros((1, states), bool)))
    starts = active & (~before | opens[:, None])
    ends = active & (~after | closes[:, None])
    count, covered, interval = (np.zeros((n_events, states)) for _ in range(3))
    for k in range(states):
        count[:, k] = total(starts[:, k].astype(float))
        covered[:, k] = total(active[:, k].astype(float))
        first, last = np.flatnonzero(starts[:, k]), np.flatnonzero(ends[:, k])
        same = owner[first[1:]] == owner[last[:-1]]
        at = of_event[first[1:]][same]
        gaps = (first[1:] - last[:-1] - 1)[same] / sfreq
        sums = np.bincount(at, weights=gaps, minlength=n_events)[:n_events]
        interval[:, k] = safe_ratio(sums, np.bincount(at, minlength=n_events)[:n_events])
    return {
        "count": count,
        "occurrences": safe_ratio(count, time[:, None]),
        "coverage": safe_ratio(covered / sfreq, time[:, None]),
        "mean_duration": safe_ratio(covered / sfreq, count),
        "interval": interval,
    }


def feature_table(
    coefficients: Floats,
    activity: Any,
    segments: Integers,
    event: Integers,
    n_events: int,
    sfreq: float,
    features: Sequence[str],
) -> Floats:
    """Return the named features of each event and state, (n_events, K, F)."""
    unknown = [name for name in features if name not in FEATURES]
    if unknown:
        raise ValueError(f"features {unknown} are not known; there are {list(FEATURES)}")
    active, counted = active_states(coefficients, activity)
    known = count_runs(active, counted, segments, event, n_events, sfreq)
    known["occupancy"], known["lifetime"] = known["coverage"], known["mean_duration"]
    if "mean_coefficient" in features:
        known["mean_coefficient"] = _means(coefficients, segments, event, n_events)
    return np.stack([known[name] for name in features], axis=-1)


def switching_rates(
    active: Booleans,
    counted: Booleans,
    segments: Integers,
    event: Integers,
    n_events: int,
    sfreq: float,
) -> Floats:
    """Return how often the set of active states changes (n_events,), per second of counted time.

    A change is one between consecutive samples of a segment that both count. Parameters are those
    of :func:`count_runs`.
    """
    changes, samples = np.zeros(n_events), np.zeros(n_events)
    for (start, stop), number in zip(segments, event):
        own, known = active[start:stop], counted[start:stop]
        changed = (own[1:] != own[:-1]).any(axis=1)
        changes[number] += (changed & known[1:] & known[:-1]).sum()
        samples[number] += known.sum()
    return safe_ratio(changes * sfreq, samples)


def _means(coefficients: Floats, segments: Integers, event: Integers, n_events: int) -> Floats:
    """Return the mean coefficients (n_events, K) over the samples that have them."""
    sums, counts = np.zeros((n_events, coefficients.shape[1])), np.zeros((n_events, 1))
    for (start, stop), number in zip(segments, event):
        rows = coefficients[start:stop]
        rows = rows[np.isfinite(rows).all(axis=1)]
        sums[number] += rows.sum(axis=0, dtype=np.float64)
        counts[number] += len(rows)
    return safe_ratio(sums, counts)
