"""Spread-out samples as first clusters, whatever the sign and size of signals."""

from __future__ import annotations

import numpy as np

from graphdict.core.annotations import Floats, Integers


def spread_labels(features: Floats, count: int, rng: np.random.RandomState) -> Integers:
    """Assign each sample (row) to the nearest of ``count`` spread-out samples.

    Seeds are drawn one by one with probability proportional to the squared distance from the
    nearest seed so far (k-means++), the distance of two signals being ``1 - cos^2``.
    """
    distance = np.ones(len(features))
    nearest = np.zeros(len(features), dtype=np.intp)
    for cluster in range(count):
        seed = draw(odds(distance), rng.random_sample())
        to_seed = distances_to(features, features[seed])
        nearest[to_seed < distance] = cluster
        distance = np.minimum(distance, to_seed)
    return nearest


def odds(distance: Floats) -> Floats:
    """Return how likely each sample is to be the next seed, up to a factor."""
    return np.maximum(distance, 0) + 1e-12


def draw(weights: Floats, uniform: float) -> int:
    """Return the index that a number ``uniform`` on [0, 1] draws, in proportion to ``weights``."""
    sums = np.cumsum(weights)
    return min(int(np.searchsorted(sums / sums[-1], uniform, side="right")), len(sums) - 1)


def distances_to(features: Floats, seed: Floats) -> Floats:
    """Return ``1 - cos^2`` between each sample (T, N) and one (N,); one where either is zero."""
    squares = np.einsum("tn,tn->t", features, features)
    squares = np.where(squares > 0, squares, 1)
    size = np.einsum("tn,tn->t", seed[None], seed[None])[0] or 1
    alike = np.square(features @ seed) / squares / size
    return 1 - alike.astype(np.float64)
