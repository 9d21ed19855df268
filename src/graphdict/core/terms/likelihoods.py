"""How well a sample's graph explains its signal: smoothness, and the barriers that balance it.

For one sample the negative log-likelihood is (twice, up to a constant) ``x' L x + h(L)``. The first
part is linear in the graph and is :class:`Smoothness`; ``h`` keeps the graph from
vanishing, and is a term of what an operator of :mod:`graphdict.core.operators` returns.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.core import graphs
from graphdict.core.terms.coefficients import window_means
from graphdict.core.terms.missing import GappySmoothness, Gaps
from graphdict.native import contiguous, products, proxes
from graphdict.native.proxes import positive_root

__all__ = [
    "CachedSmoothness",
    "LogBarrier",
    "LogDet",
    "Smoothness",
    "keeps_distances",
    "log_determinants",
    "smoothness",
    "window_distances",
]


ALL = slice(None)
CACHED_BYTES = 1 << 25
BLOCK_BYTES = 1 << 24
LARGE_MATRIX = 256  # above, eigenvectors are found as fast as roots


class Smoothness:
    """``x_t' L_t x_t``: how much a signal varies over the edges of its graph.

    As a function of ``W`` and ``Delta`` this is ``<Delta W, Z>``, linear in each. Both methods take
    the rows (a slice) of the samples they are about; all of them by default.

    Parameters
    ----------
    signals : array (T, N)
    """

    signals: NDArray[np.float64]
    dtype: np.dtype[np.float64]

    kind = "signals"

    def __init__(self, signals: NDArray[np.float64]):
        # As compiled loops take them: row after row, in the order of bytes of this machine.
        self.signals = contiguous(signals, signals.dtype.newbyteorder("="))
        self.dtype = self.signals.dtype

    def part(self, rows: slice) -> Smoothness:
        """Return the term of some samples alone."""
        return Smoothness(self.signals[rows])

    def features(self, rows: slice = ALL) -> NDArray[np.float64]:
        """Return what samples are clustered by where a fit begins: the signals (T, N)."""
        return self.signals[rows]

    def energies(self, atoms: NDArray[np.float64], rows: slice = ALL) -> NDArray[np.float64]:
        """Return ``Z W'`` (T, K), the gradient in the coefficients: ``x_t' L_k x_t``."""
        return products.energies(self.signals[rows], atoms)

    def weighted_distances(
        self, coefficients: NDArray[np.float64], rows: slice = ALL
    ) -> NDArray[np.float64]:
        """Return ``Delta' Z`` (K, E), the gradient in the atoms."""
        return products.weighted_distances(self.signals[rows], coefficients)


class CachedSmoothness:
    """:class:`Smoothness` from a matrix ``Z`` that is kept: of windows, or of incomplete samples.

    Parameters
    ----------
    distances : array (B, E)
        ``Z``, mean squared differences of each window or sample.
    features : array (B, ...), optional
        What rows are clustered by where a fit begins; by default ``distances``.
    """

    kept_features: NDArray[np.float64]
    dtype: np.dtype[np.float64]

    def __init__(self, distances: NDArray[np.float64], features: NDArray[np.float64] | None = None):
        self.distances = distances
        self.kept_features = distances if features is None else features
        self.dtype = distances.dtype

    def part(self, rows: slice) -> CachedSmoothness:
        """Return the term of some rows alone."""
        return CachedSmoothness(self.distances[rows], self.kept_features[rows])

    def features(self, rows: slice = ALL) -> NDArray[np.float64]:
        """Return what rows are clustered by where a fit begins, (B, ...)."""
        return self.kept_features[rows]

    def energies(self, atoms: NDArray[np.float64], rows: slice = ALL) -> NDArray[np.float64]:
        """Return ``Z W'`` (B, K), the gradient in the coefficients."""
        return self.distances[rows] @ atoms.T

    def weighted_distances(
        self, coefficients: NDArray[np.float64], rows: slice = ALL
    ) -> NDArray[np.float64]:
        """Return ``Delta' Z`` (K, E), the gradient in the atoms."""
        return coefficients.T @ self.distances[rows]


def smoothness(
    signals: NDArray[np.float64],
    counts: NDArray[np.intp],
    keep: bool | None = None,
    gaps: Gaps | None = None,
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


def window_distances(signals: NDArray[np.float64], counts: NDArray[np.intp]) -> NDArray[np.float64]:
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


class LogBarrier:
    """``-sum_n log y_n`` for each sample: positive degrees, or positive spectra.

    ``rows`` (T, M) are degrees or spectra, one sample after the other.
    """

    kind = "log-barrier"

    def values(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the barrier of each sample (T,); ``inf`` where an entry is not positive."""
        rows = np.asarray(rows, dtype=np.result_type(rows, np.float32))
        low, high = (rows.min(), rows.max()) if rows.size else (0.0, 0.0)
        if low > 0 and high < np.inf:
            # One logarithm of as many entries as can be multiplied without leaving the range.
            digits = np.finfo(rows.dtype).maxexp * np.log10(2) - 1
            together = int(digits / max(-np.log10(low), np.log10(high), 1e-3))
            starts = np.arange(0, rows.shape[1], max(together, 1))
            logs = np.log(np.multiply.reduceat(rows, starts, axis=1))
        else:
            with np.errstate(divide="ignore", invalid="ignore"):
                logs = np.where(rows > 0, np.log(rows), -np.inf)
        result: NDArray[np.float64] = -np.einsum("tn->t", logs, dtype=np.float64)
        return result

    def value(self, rows: NDArray[np.float64]) -> float:
        """Return the sum of :meth:`values` over all samples."""
        return float(self.values(rows).sum())

    def slope(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return minus the gradient (T, M): ``1 / y``."""
        return 1 / rows

    def curvature(
        self, rows: NDArray[np.float64], images: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the Hessians (T, K, K) of the barrier of ``delta_t images`` in ``delta_t``.

        ``images`` (K, M) are degrees or spectra of the atoms.
        """
        count = len(images)
        pairs = (images[:, None, :] * images[None, :, :]).reshape(count * count, -1)
        return (np.square(1 / rows) @ pairs.T).reshape(-1, count, count)

    def prox(self, rows: NDArray[np.float64], step: float) -> NDArray[np.float64]:
        """Return ``(y + (y^2 + 4 step)^{1/2}) / 2`` (T, M) of every entry."""
        return positive_root(rows, step)

    def prox_conjugate(self, dual: NDArray[np.float64], step: float) -> NDArray[np.float64]:
        """Return ``(y - (y^2 + 4 step)^{1/2}) / 2`` (T, M) of every entry."""
        return -positive_root(-dual, step)


class LogDet:
    """``-log det_+ L_t`` for each sample: the exact Laplacian-constrained Gaussian likelihood.

    The pseudo-determinant is taken on the complement of the constant signals, so a graph that
    falls apart is outside the domain, as it has to be for the function to be continuous.
    ``laplacians`` (T, N, N) are those of one sample after the other.
    """

    kind = "log-determinant"

    def values(self, laplacians: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the barrier of each sample (T,); ``inf`` where a graph is not connected.

        What is not a Laplacian must be in double precision: else its diagonal is taken to be that
        of one.
        """
        basis = graphs.zero_sum_basis(laplacians.shape[-1])
        matrices = laplacians.astype(np.float64)
        if laplacians.dtype != np.float64:
            # Rows of a Laplacian sum to zero. In single precision, what one strong edge leaves of
            # that would hide the weak ones.
            np.einsum("tnn->tn", matrices)[...] -= matrices.sum(axis=-1)
        return -log_determinants(basis.T @ matrices @ basis)

    def value(self, laplacians: NDArray[np.float64]) -> float:
        """Return the sum of :meth:`values` over all samples."""
        return float(self.values(laplacians).sum())

    def slope(self, laplacians: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return minus the gradient (T, N, N): pseudo-inverses ``L^+`` of connected graphs."""
        nodes = laplacians.shape[-1]
        # A Laplacian plus s/N in every entry has the eigenvalue s along the constants.
        extra = np.trace(laplacians, axis1=-2, axis2=-1)[:, None, None] / nodes
        result: NDArray[np.float64] = np.linalg.inv(laplacians + extra / nodes) - 1 / (
            extra * nodes
        )
        return result

    def curvature(
        self, laplacians: NDArray[np.float64], images: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the Hessians (T, K, K) in the coefficients: ``tr(L^+ L_k L^+ L_l)``.

        ``images`` (K, N, N) are the Laplacians of the atoms.
        """
        products = self.slope(laplacians)[:, None] @ images[None]
        shape = (*products.shape[:2], -1)
        turned = np.swapaxes(products, -1, -2).reshape(shape)
        return products.reshape(shape) @ np.swapaxes(turned, -1, -2)

    def prox(self, laplacians: NDArray[np.float64], step: float) -> NDArray[np.float64]:
        """Return matrices (T, N, N) whose eigenvalues were moved as by :class:`LogBarrier`.

        What lies along the constants stays.
        """
        basis = graphs.zero_sum_basis(laplacians.shape[-1]).astype(laplacians.dtype)
        inner = basis.T @ laplacians @ basis
        values, vectors = np.linalg.eigh(inner)
        changed = positive_root(values, step) - values
        lifted = basis @ vectors
        result: NDArray[np.float64] = laplacians + (lifted * changed[:, None, :]) @ np.swapaxes(
            lifted, -1, -2
        )
        return result

    def prox_conjugate(self, dual: NDArray[np.float64], step: float) -> NDArray[np.float64]:
        """Return ``(Y - (Y^2 + 4 step I)^{1/2}) / 2`` off the constants, and zero along them.

        The root is taken without eigenvectors, unless matrices are large.
        """
        if dual.shape[-1] > LARGE_MATRIX:
            return self._prox_conjugate_by_eigenvectors(dual, step)
        raised, hard = proxes.log_det_prox_conjugate(dual, step)
        if hard.any():
            raised[hard] = self._prox_conjugate_by_eigenvectors(dual[hard], step)
        return raised

    def _prox_conjugate_by_eigenvectors(
        self, dual: NDArray[np.float64], step: float
    ) -> NDArray[np.float64]:
        return dual - step * self.prox(dual / step, 1 / step)


def log_determinants(matrices: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return log-determinants (T,) of semidefinite matrices; ``-inf`` where one is singular."""
    try:
        pivots = np.diagonal(np.linalg.cholesky(matrices), axis1=-2, axis2=-1)
        values = np.square(pivots)
    except np.linalg.LinAlgError:  # some matrix is singular: find out which
        values = np.linalg.eigvalsh(matrices)
    rounding = matrices.shape[-1] * np.finfo(np.float64).eps
    regular = values.min(axis=-1) > rounding * values.max(axis=-1)
    logs = np.log(np.where(regular[:, None], values, 1.0)).sum(axis=-1)
    return np.where(regular, logs, -np.inf)
