"""Measures of recovery: edges, atoms and coefficients against known ones.

An edge is present in a true graph where its weight is positive, and in a predicted graph where its
weight exceeds a threshold. With tp, fp, fn, tn the counts over all pairs of nodes of one graph,

    precision = tp / (tp + fp)        recall = tp / (tp + fn)
    mcc = (tp tn - fp fn) / sqrt((tp + fp) (tp + fn) (tn + fp) (tn + fn))

and each is zero where its denominator is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment

from graphdict.core.annotations import Floats, HasWeights, Integers

__all__ = [
    "AtomMatching",
    "EdgeScores",
    "best_threshold",
    "coefficient_error",
    "edge_scores",
    "match_atoms",
    "scores_by_threshold",
]

BLOCK_BYTES = 1 << 24


@dataclass(frozen=True)
class EdgeScores:
    """Edge recovery of each graph, or of each threshold.

    Attributes
    ----------
    mcc, precision, recall : arrays (T,) or (S,)
        Scores of T graphs, or means over graphs at S thresholds.
    """

    mcc: Floats
    precision: Floats
    recall: Floats

    def mean(self) -> dict[str, float]:
        """Return the mean of each score, by name.

        Returns
        -------
        dict of str to float
        """
        return {name: float(np.mean(values)) for name, values in asdict(self).items()}


@dataclass(frozen=True)
class AtomMatching:
    """Pairs of true and learned atoms.

    Attributes
    ----------
    true, learned : integer arrays (P,)
        ``true[i]`` is paired with ``learned[i]``.
    similarity : array (P,)
        Cosine of the weight vectors of each pair.
    """

    true: Integers
    learned: Integers
    similarity: Floats


def edge_scores(
    true: ArrayLike | HasWeights, predicted: ArrayLike | HasWeights, threshold: float = 0.0
) -> EdgeScores:
    """Return the edge recovery of each graph.

    Parameters
    ----------
    true, predicted : arrays (T, E) or (E,), or objects with ``weights``
        Edge weights. :class:`graphdict.results.InstantaneousGraphs` are expanded in blocks, never
        all at once.
    threshold : float, default=0.0
        Predicted weights above it are edges.

    Returns
    -------
    EdgeScores
        Arrays (T,); ``.mean()`` averages them.

    Examples
    --------
    >>> from graphdict.metrics import edge_scores
    >>> edge_scores([1.0, 0.0, 2.0], [0.5, 0.0, 0.0]).recall
    array([0.5])
    """
    counts = [_counts(*block, np.array([float(threshold)])) for block in _blocks(true, predicted)]
    return _scores(*(np.concatenate(parts)[:, 0] for parts in zip(*counts)))


def scores_by_threshold(
    true: ArrayLike | HasWeights, predicted: ArrayLike | HasWeights, thresholds: ArrayLike
) -> EdgeScores:
    """Return the edge recovery averaged over graphs, for each of several thresholds.

    Equals the mean of :func:`edge_scores` at each threshold, in one pass over the weights.

    Parameters
    ----------
    true, predicted
        As for :func:`edge_scores`.
    thresholds : array (S,)
        In any order.

    Returns
    -------
    EdgeScores
        Arrays (S,).
    """
    thresholds = np.asarray(thresholds, dtype=np.float64)
    if thresholds.ndim != 1 or not thresholds.size or np.isnan(thresholds).any():
        raise ValueError(f"thresholds must be a list of numbers, got {thresholds!r}")
    order = np.argsort(thresholds)
    sums = np.zeros((3, len(thresholds)))
    graphs = 0
    for block in _blocks(true, predicted):
        scores = _scores(*_counts(*block, thresholds[order]))
        sums[:, order] += [part.sum(axis=0) for part in asdict(scores).values()]
        graphs += len(block[0])
    return EdgeScores(*(sums / max(graphs, 1)))


def best_threshold(
    true: ArrayLike | HasWeights,
    predicted: ArrayLike | HasWeights,
    thresholds: ArrayLike | None = None,
) -> tuple[float, float]:
    """Return the threshold of the highest mean MCC, and that MCC.

    Parameters
    ----------
    true, predicted
        As for :func:`edge_scores`; use training graphs to tune a threshold.
    thresholds : array, optional
        Candidates; by default zero and 50 quantiles of the positive predicted weights.

    Returns
    -------
    threshold : float
        The lowest of equally good candidates.
    mcc : float
    """
    if thresholds is None:
        weights = _weights(predicted)
        positive = weights[weights > 0]
        levels = np.arange(50) / 50
        thresholds = np.quantile(positive, levels) if positive.size else []
        thresholds = np.concatenate(([0.0], thresholds))
    candidates = np.unique(np.asarray(thresholds, dtype=np.float64))
    mcc = scores_by_threshold(true, predicted, candidates).mcc
    best = int(np.argmax(mcc))
    return float(candidates[best]), float(mcc[best])


def match_atoms(true: ArrayLike, learned: ArrayLike) -> AtomMatching:
    """Pair true with learned atoms so that the sum of their cosines is largest.

    Parameters
    ----------
    true, learned : arrays (K, E) and (K', E)
        Edge weights. An atom without edges has similarity zero to all others.

    Returns
    -------
    AtomMatching
        min(K, K') pairs.
    """
    true, learned = (np.atleast_2d(np.asarray(a, dtype=np.float64)) for a in (true, learned))
    if true.shape[1] != learned.shape[1]:
        raise ValueError(
            "true and learned atoms must have the same number of edges, got "
            f"{true.shape[1]} and {learned.shape[1]}"
        )
    similarity = cosines(true, learned)
    rows, cols = linear_sum_assignment(similarity, maximize=True)
    return AtomMatching(rows, cols, similarity[rows, cols])


def coefficient_error(
    true: ArrayLike, learned: ArrayLike, matching: AtomMatching, *, rescale: bool = False
) -> float:
    """Return the root mean square error of coefficients after matching.

    Parameters
    ----------
    true, learned : arrays (T, K) and (T, K')
        Coefficients of the same samples.
    matching : AtomMatching
        From :func:`match_atoms`. True atoms without a partner count as learned with coefficient
        zero; learned atoms without a partner are ignored.
    rescale : bool, default=False
        Scale each learned column to the true one by least squares, since signals determine only the
        products of coefficients and atoms.

    Returns
    -------
    float
    """
    true, learned = (np.asarray(a, dtype=np.float64) for a in (true, learned))
    if len(true) != len(learned):
        raise ValueError(
            f"true and learned coefficients must have the same number of rows, got {len(true)} "
            f"and {len(learned)}"
        )
    paired = np.zeros_like(true)
    paired[:, matching.true] = learned[:, matching.learned]
    if rescale:
        energy = np.square(paired).sum(axis=0)
        paired *= (paired * true).sum(axis=0) / np.where(energy > 0, energy, 1)
    return float(np.sqrt(np.mean(np.square(paired - true))))


def _weights(graphs: Any) -> Floats:
    """Return edge weights (T, E) of an array or of InstantaneousGraphs."""
    return np.atleast_2d(np.asarray(getattr(graphs, "weights", graphs)))


def _blocks(true: Any, predicted: Any) -> Iterator[tuple[Floats, Floats]]:
    """Yield rows of both, as many at a time as fit in a block; raise where they do not match."""
    true, predicted = (
        graphs
        if hasattr(graphs, "weights") and hasattr(graphs, "__getitem__")
        else _weights(graphs)
        for graphs in (true, predicted)
    )
    if len(true) != len(predicted):
        raise ValueError(
            f"true and predicted must hold the same number of graphs, got {len(true)} and "
            f"{len(predicted)}"
        )
    if not len(true):
        raise ValueError("true and predicted hold no graphs; at least one is needed")
    edges = _weights(predicted[:1]).shape[1]
    size = max(1, BLOCK_BYTES // (8 * edges))
    for start in range(0, len(true), size):
        block = tuple(_weights(graphs[start : start + size]) for graphs in (true, predicted))
        if block[0].shape[1] != block[1].shape[1]:
            raise ValueError(
                "true and predicted graphs must have the same number of edges, got "
                f"{block[0].shape[1]} and {block[1].shape[1]}"
            )
        for name, weights in zip(("true", "predicted"), block):
            if np.isnan(weights).any():
                raise ValueError(f"{name} contains NaN; edge weights must be numbers")
        yield block  # type: ignore[misc]


def _counts(true: Floats, predicted: Floats, thresholds: Floats) -> tuple[Floats, ...]:
    """Return tp, fp, fn, tn, each (T, S), for ascending thresholds, by a histogram of each row."""
    present = true > 0
    passed = np.zeros(predicted.shape, dtype=np.intp)
    above = predicted > thresholds[0]  # few, where graphs are sparse
    passed[above] = np.searchsorted(thresholds, predicted[above], side="left")
    bins = len(thresholds) + 1
    cells = np.arange(len(true))[:, None] * (2 * bins) + present * bins + passed
    histogram = np.bincount(cells.ravel(), minlength=2 * bins * len(true))
    histogram = histogram.reshape(len(true), 2, bins)
    # A weight above threshold s is in a bin beyond s.
    beyond = histogram[:, :, :0:-1].cumsum(axis=2)[:, :, ::-1]
    total = histogram.sum(axis=2, keepdims=True) - beyond
    return beyond[:, 1], beyond[:, 0], total[:, 1], total[:, 0]


def _scores(tp: Floats, fp: Floats, fn: Floats, tn: Floats) -> EdgeScores:
    tp, fp, fn, tn = (count.astype(np.float64) for count in (tp, fp, fn, tn))
    scale = np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
    return EdgeScores(
        safe_ratio(tp * tn - fp * fn, scale), safe_ratio(tp, tp + fp), safe_ratio(tp, tp + fn)
    )


def safe_ratio(above: NDArray[Any], below: NDArray[Any]) -> Floats:
    """Return ``above / below``, zero where ``below`` is."""
    below = np.asarray(below, dtype=np.float64)
    return above / np.where(below > 0, below, 1) * (below > 0)


def cosines(first: NDArray[Any], second: NDArray[Any]) -> Floats:
    """Return cosines (K, L) between atoms (K, E) and (L, E); 0 where one has no edges."""
    units = []
    for atoms in (first, second):
        weights = np.asarray(atoms, dtype=np.float64)
        norms = np.linalg.norm(weights, axis=1, keepdims=True)
        units.append(weights / np.where(norms > 0, norms, 1))
    return units[0] @ units[1].T


def __dir__() -> list[str]:
    return sorted(__all__)
