"""How much signals vary over their graphs, ``x' L x``: the part of a likelihood that sees them.

It is linear in the graph. What keeps a graph from vanishing is a barrier
(:mod:`graphdict.core.terms.barriers`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from graphdict.core import graphs
from graphdict.core.annotations import Floats, Integers
from graphdict.core.terms.coefficients import window_means
from graphdict.core.terms.missing import GappySmoothness, Gaps
from graphdict.native import contiguous, products

ALL = slice(None)
CACHED_BYTES = 1 << 25
BLOCK_BYTES = 1 << 24


class Smoothness:
    """``x_t' L_t x_t``: how much a signal varies over the edges of its graph.

    As a function of ``W`` and ``Delta`` this is ``<Delta W, Z>``, linear in each. Both methods take
    the rows (a slice) of the samples they are about; all of them by default.

    Parameters
    ----------
    signals : array (T, N)
    """

    signals: Floats
    dtype: np.dtype[np.float64]

    kind = "signals"

    def __init__(self, signals: Floats):
        # As compiled loops take them: row after row, in the order of bytes of this machine.
        self.signals = contiguous(signals, signals.dtype.newbyteorder("="))
        self.dtype = self.signals.dtype

    def part(self, rows: slice) -> Smoothness:
        """Return the term of some samples alone."""
        return Smoothness(self.signals[rows])

    def features(self, rows: slice = ALL) -> Floats:
        """Return what samples are clustered by where a fit begins: the signals (T, N)."""
        return self.signals[rows]

    def energies(self, atoms: Floats, rows: slice = ALL) -> Floats:
        """Return ``Z W'`` (T, K), the gradient in the coefficients: ``x_t' L_k x_t``."""
        return products.energies(self.signals[rows], atoms)

    def weighted_distances(self, coefficients: Floats, rows: slice = ALL) -> Floats:
        """Return ``Delta' Z`` (K, E), the gradient in the atoms."""
        return products.weighted_distances(self.signals[rows], coefficients)


class CachedSmoothness:
    """:class:`Smoothness` from a matrix ``Z`` that is kept: of windows, or of incomplete samples.

    Parameters
    ----------
    distances : array (B, E)
        ``Z``, mean squared differences of each window or sample.
    features : array (B, F), optional
        What rows are clustered by where a fit begins; by default ``distances``.
    """

    kept_features: Floats
    dtype: np.dtype[np.float64]

    def __init__(self, distances: Floats, features: Floats | None = None):
        self.distances = distances
        self.kept_features = distances if features is None else features
        self.dtype = distances.dtype

    def part(self, rows: slice) -> CachedSmoothness:
        """Return the term of some rows alone."""
        return CachedSmoothness(self.distances[rows], self.kept_features[rows])

    def features(self, rows: slice = ALL) -> Floats:
        """Return what rows are clustered by where a fit begins, (B, ...)."""
        return self.kept_features[rows]

    def energies(self, atoms: Floats, rows: slice = ALL) -> Floats:
        """Return ``Z W'`` (B, K), the gradient in the coefficients."""
        return self.distances[rows] @ atoms.T

    def weighted_distances(self, coefficients: Floats, rows: slice = ALL) -> Floats:
        """Return ``Delta' Z`` (K, E), the gradient in the atoms."""
        return coefficients.T @ self.distances[rows]


def smoothness(
    signals: Floats, counts: Integers, keep: bool | None = None, gaps: Gaps | None = None
) -> Smoothness | CachedSmoothness | GappySmoothness:
    """Return the smoothness term of samples in consecutive windows.

    Parameters
    ----------
    signals : array (T, N)
    counts : integer array (B,)
        Number of samples in each window: ones for samples alone.
    keep : bool, optional
        Whether to keep ``Z`` of samples alone with gaps; by default where it is small.
    gaps : Gaps, optional
        How observed pairs stand for all, where values are missing.

    Returns
    -------
    Smoothness, CachedSmoothness or GappySmoothness
        With windows ``Z`` is kept, which then has a row for each of them.
    """
    if len(counts) == len(signals):
        if gaps is None:
            return Smoothness(signals)
        keep = keeps_distances(signals.shape, signals.dtype) if keep is None else keep
        gappy = GappySmoothness(signals, gaps)
        if not keep:
            return gappy
        return CachedSmoothness(gaps.distances(signals, counts), gappy.features())
    if gaps is not None:
        return CachedSmoothness(gaps.distances(signals, counts))
    return CachedSmoothness(window_distances(signals, counts))


def keeps_distances(shape: tuple[int, int], dtype: Any) -> bool:
    """Whether ``Z`` of all samples is small enough to be kept."""
    result: bool = shape[0] * graphs.n_edges(shape[1]) * np.dtype(dtype).itemsize <= CACHED_BYTES
    return result


def window_distances(signals: Floats, counts: Integers) -> Floats:
    """Return the mean over each of B windows of ``(x_i - x_j)^2``, (T, N) -> (B, E)."""
    if np.isnan(signals).any():
        return Gaps.learn(signals, counts).distances(signals, counts)
    edges = graphs.n_edges(signals.shape[1])
    distances = np.empty((len(counts), edges), dtype=signals.dtype)
    ends = np.cumsum(counts)
    size = max(1, BLOCK_BYTES // (int(counts.max()) * edges * signals.itemsize))
    for start in range(0, len(counts), size):
        windows = slice(start, start + size)
        rows = slice(ends[start] - counts[start], ends[windows][-1])
        squared = graphs.squared_differences(signals[rows])
        distances[windows] = window_means(squared, counts[windows])
    return distances
