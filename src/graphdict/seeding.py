"""Spread-out samples as first clusters, whatever the sign and size of signals."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["spread_labels"]


def spread_labels(features: NDArray, count: int, rng: np.random.RandomState) -> NDArray[np.intp]:
    """Assign each sample (row) to the nearest of ``count`` spread-out samples.

    Seeds are drawn one by one with probability proportional to the squared distance from the
    nearest seed so far (k-means++), the distance of two signals being ``1 - cos^2``.
    """
    squares = np.einsum("tn,tn->t", features, features)
    squares = np.where(squares > 0, squares, 1)
    distance = np.ones(len(features))
    nearest = np.zeros(len(features), dtype=np.intp)
    for cluster in range(count):
        weights = np.maximum(distance, 0) + 1e-12
        seed = rng.choice(len(features), p=weights / weights.sum())
        alike = np.square(features @ features[seed]) / squares / squares[seed]
        to_seed = 1 - alike.astype(np.float64)
        closer = to_seed < distance
        nearest[closer] = cluster
        distance = np.minimum(distance, to_seed)
    return nearest
