"""The pass over the samples: everything of an iteration that costs O(T K E).

``sweep`` never forms the (T, E) matrix ``Z`` of squared differences. With ``S_k = X' diag(c_k) X``,

    [C' Z]_k,ij = S_ii + S_jj - 2 S_ij          [Z W']_tk = x_t' L_k x_t,

both are matrix products of the signals with something the size of K graphs, taken over blocks of
samples that stay in cache.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphdict import graphs

__all__ = ["energies", "sweep"]

BLOCK_BYTES = 1 << 20


def sweep(signals: NDArray, coefficients: NDArray, atoms: NDArray) -> tuple[NDArray, NDArray]:
    """``coefficients' Z`` (K, E) and ``Z atoms'`` (T, K) in one pass over ``signals`` (T, N)."""
    samples, nodes = signals.shape
    count = len(atoms)
    stacked = _stacked_laplacians(atoms)
    moments = np.zeros((nodes, count * nodes), dtype=signals.dtype)
    energy = np.empty((samples, count), dtype=signals.dtype)
    for rows in _blocks(signals, count):
        block = signals[rows]
        weighted = coefficients[rows, :, None] * block[:, None, :]
        moments += block.T @ weighted.reshape(len(block), -1)
        filtered = (block @ stacked).reshape(len(block), count, nodes)
        np.einsum("tkn,tn->tk", filtered, block, out=energy[rows])
    pairs = moments.reshape(nodes, count, nodes).transpose(1, 0, 2)
    return graphs.laplacian_adjoint(pairs), energy


def energies(signals: NDArray, atoms: NDArray) -> NDArray:
    """``x_t' L_k x_t`` for every sample and atom, (T, K)."""
    nodes = signals.shape[1]
    stacked = _stacked_laplacians(atoms)
    energy = np.empty((len(signals), len(atoms)), dtype=signals.dtype)
    for rows in _blocks(signals, len(atoms)):
        block = signals[rows]
        filtered = (block @ stacked).reshape(len(block), len(atoms), nodes)
        np.einsum("tkn,tn->tk", filtered, block, out=energy[rows])
    return energy


def _stacked_laplacians(atoms: NDArray) -> NDArray:
    """Laplacians of the atoms side by side, (N, K N)."""
    matrices = graphs.laplacian(atoms)
    return np.ascontiguousarray(matrices.transpose(1, 0, 2).reshape(matrices.shape[1], -1))


def _blocks(signals: NDArray, count: int) -> list[slice]:
    """Row blocks whose (rows, K N) intermediate is about ``BLOCK_BYTES``."""
    row_bytes = signals.shape[1] * count * signals.itemsize
    size = max(64, BLOCK_BYTES // row_bytes)
    return [slice(start, start + size) for start in range(0, len(signals), size)]
