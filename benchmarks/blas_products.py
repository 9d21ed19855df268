"""The two products of signals with graphs by BLAS, which the compiled ones are timed against.

The (T, E) matrix ``Z`` of squared differences is never formed. With ``S_k = X' diag(c_k) X``,

    [C' Z]_k,ij = S_ii + S_jj - 2 S_ij          [Z W']_tk = x_t' L_k x_t,

and both are matrix products of the signals with something the size of K graphs. The compiled
products (:mod:`graphdict.native.products`) take half the arithmetic.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphdict.core import graphs

__all__ = ["energies", "weighted_distances"]

BLOCK_BYTES = 1 << 20


def weighted_distances(
    signals: NDArray[np.float64], coefficients: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return ``C' Z`` (K, E): squared differences of signals (T, N), summed with weights (T, K)."""
    nodes, count = signals.shape[1], coefficients.shape[1]
    moments = np.zeros((nodes, count * nodes), dtype=signals.dtype)
    for rows in _blocks(signals, count):
        block = signals[rows]
        weighted = coefficients[rows, :, None] * block[:, None, :]
        moments += block.T @ weighted.reshape(len(block), -1)
    return graphs.laplacian_adjoint(moments.reshape(nodes, count, nodes).transpose(1, 0, 2))


def energies(signals: NDArray[np.float64], atoms: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ``Z W'`` (T, K): ``x_t' L_k x_t`` of every sample (T, N) and atom (K, E)."""
    nodes, count = signals.shape[1], len(atoms)
    laplacians = graphs.laplacian(atoms)
    stacked = np.ascontiguousarray(laplacians.transpose(1, 0, 2).reshape(nodes, -1))
    energy = np.empty((len(signals), count), dtype=signals.dtype)
    for rows in _blocks(signals, count):
        block = signals[rows]
        filtered = (block @ stacked).reshape(len(block), count, nodes)
        np.einsum("tkn,tn->tk", filtered, block, out=energy[rows])
    return energy


def _blocks(signals: NDArray[np.float64], count: int) -> list[slice]:
    """Yield slices of rows whose (rows, K N) intermediate is about ``BLOCK_BYTES``."""
    row_bytes = signals.shape[1] * count * signals.itemsize
    size = max(64, BLOCK_BYTES // row_bytes)
    if len(signals) < 2 * size:
        return [slice(0, len(signals))]
    return [slice(start, start + size) for start in range(0, len(signals), size)]
