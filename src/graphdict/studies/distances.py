"""Distances between recordings by their atoms, and a map on which they are kept."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphdict.core.annotations import Floats
from graphdict.core.marginal.filtered import FilteredLikelihood
from graphdict.core.marginal.likelihood import NOISE

MOST_PATTERNS = 32  # of which distances are means, the most frequent ones
NOTHING = 1e-8  # nats: rounding errors


def model_distances(model: Any, atoms: Floats, held: list[Any]) -> Floats:
    """Return distances (R, R) between recordings with atoms (R, K, E).

    The root of the mean, over patterns of active atoms and weighted as the group uses them, of the
    symmetrised Kullback-Leibler divergence between Gaussian signals of the two graphs, in nats. A
    filter is taken into account; tails are not.
    """
    if hasattr(model, "patterns_"):
        patterns, usage = np.asarray(model.patterns_, dtype=np.float64), held[0].usage
    else:
        mean = np.mean([one.coefficients.mean(axis=0) for one in held], axis=0)
        patterns, usage = np.eye(len(mean)), mean / mean.sum()
    order = np.argsort(usage)[::-1][:MOST_PATTERNS]
    order = order[usage[order] > 0]
    shares = usage[order] / usage[order].sum()
    noise = getattr(model, "noise_", NOISE)
    options: dict[str, Any] = {}
    if hasattr(held[0].likelihood, "filter"):
        options["filter"] = held[0].likelihood.filter
    divergence = np.zeros((len(atoms), len(atoms)))
    for pattern, share in zip(patterns[order], shares):
        likelihood = FilteredLikelihood.of(pattern[None], held[0].group, noise, **options)
        precisions, covariances = [], []
        for own in atoms:
            precisions.append(likelihood.factors(own).precision(0).ravel())
            covariances.append(likelihood.covariances(own)[0].ravel())
        traces = np.array(covariances) @ np.array(precisions).T
        dimension = likelihood.dimension
        divergence += share * (traces + traces.T - 2 * dimension) / 4
    np.fill_diagonal(divergence, 0)
    return np.sqrt(np.where(divergence > NOTHING, divergence, 0))


def map_of(distances: Floats) -> Floats:
    """Return positions (R, 2) by classical multidimensional scaling of distances (R, R).

    The axis of the largest spread comes first; signs are such that the largest entry is positive.
    """
    count = len(distances)
    centring = np.eye(count) - 1 / count
    values, vectors = np.linalg.eigh(-0.5 * centring @ np.square(distances) @ centring)
    positions = np.zeros((count, 2))
    for axis, place in enumerate(np.argsort(values)[::-1][:2]):
        column = vectors[:, place] * np.sqrt(max(values[place], 0.0))
        positions[:, axis] = column * (np.sign(column[np.abs(column).argmax()]) or 1.0)
    return positions
