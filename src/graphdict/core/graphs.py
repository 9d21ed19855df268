"""Graphs as vectors of edge weights, and the matrices they stand for.

An undirected graph on N nodes is a vector of E = N (N - 1) / 2 weights, ordered as
``np.triu_indices(N, 1)``. Every function accepts any number of leading axes, so one graph, a
dictionary (K, E) and a sequence (T, E) are handled alike.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import helmert

from graphdict.core.annotations import Floats, Integers


def n_edges(nodes: int) -> int:
    """Return the number of node pairs among ``nodes`` nodes.

    Parameters
    ----------
    nodes : int

    Returns
    -------
    int
        ``nodes (nodes - 1) / 2``.
    """
    return nodes * (nodes - 1) // 2


def n_nodes(edges: int) -> int:
    """Return the number of nodes of a graph whose weight vector has ``edges`` entries.

    Parameters
    ----------
    edges : int
        A number N (N - 1) / 2; any other is refused.

    Returns
    -------
    int
        N.
    """
    nodes: int = round((1 + (1 + 8 * edges) ** 0.5) / 2)
    if edges < 1 or n_edges(nodes) != edges:
        raise ValueError(
            f"a weight vector has N (N - 1) / 2 entries (1, 3, 6, 10, ...), got {edges}"
        )
    return nodes


@lru_cache(maxsize=64)
def edge_index(nodes: int) -> tuple[Integers, Integers]:
    """Return row and column of every edge: ``np.triu_indices(nodes, 1)``, shared and read-only.

    Parameters
    ----------
    nodes : int

    Returns
    -------
    pair of integer arrays (E,)
        The smaller and the larger node of each edge.
    """
    rows, cols = np.triu_indices(nodes, 1)
    rows.setflags(write=False)
    cols.setflags(write=False)
    return rows, cols


def adjacency(weights: ArrayLike) -> Floats:
    """Return the symmetric adjacency matrices of weight vectors.

    Parameters
    ----------
    weights : array (..., E)
        Edge weights.

    Returns
    -------
    array (..., N, N)
    """
    weights = np.asarray(weights)
    nodes = n_nodes(weights.shape[-1])
    rows, cols = edge_index(nodes)
    matrix = np.zeros((*weights.shape[:-1], nodes, nodes), dtype=weights.dtype)
    matrix[..., rows, cols] = weights
    matrix[..., cols, rows] = weights
    return matrix


def adjacency_to_weights(matrix: ArrayLike) -> Floats:
    """Return the weight vectors of symmetric adjacency matrices.

    Parameters
    ----------
    matrix : array (..., N, N)
        Symmetric; what is below the diagonal is not read.

    Returns
    -------
    array (..., E)
    """
    matrix = np.asarray(matrix)
    rows, cols = edge_index(matrix.shape[-1])
    return matrix[..., rows, cols]


def degrees(weights: ArrayLike) -> Floats:
    """Return the sum of the weights at each node.

    Parameters
    ----------
    weights : array (..., E)
        Edge weights.

    Returns
    -------
    array (..., N)
    """
    weights = np.asarray(weights)
    nodes = n_nodes(weights.shape[-1])
    row_starts, by_column, column_starts = _edge_runs(nodes)
    total = np.zeros((*weights.shape[:-1], nodes), dtype=weights.dtype)
    total[..., :-1] = np.add.reduceat(weights, row_starts, axis=-1)
    total[..., 1:] += np.add.reduceat(weights[..., by_column], column_starts, axis=-1)
    return total


@lru_cache(maxsize=64)
def _edge_runs(nodes: int) -> tuple[Integers, Integers, Integers]:
    """Return where runs of edges start: of one first node, and of one second node once sorted.

    Three arrays: starts by first node, the order that sorts edges by second node, starts in that.
    """
    rows, cols = edge_index(nodes)
    by_column = np.argsort(cols, kind="stable")
    row_starts = np.searchsorted(rows, np.arange(nodes - 1))
    column_starts = np.searchsorted(cols[by_column], np.arange(1, nodes))
    return row_starts, by_column, column_starts


def laplacian(weights: ArrayLike) -> Floats:
    """Return the Laplacians ``diag(degrees) - adjacency`` of weight vectors.

    Parameters
    ----------
    weights : array (..., E)
        Edge weights.

    Returns
    -------
    array (..., N, N)
    """
    matrix = adjacency(weights)
    node = np.arange(matrix.shape[-1])
    diagonal = matrix.sum(axis=-1)
    np.negative(matrix, out=matrix)
    matrix[..., node, node] = diagonal
    return matrix


def laplacian_to_weights(matrix: ArrayLike) -> Floats:
    """Return the weight vectors of Laplacians: minus the upper triangle.

    Parameters
    ----------
    matrix : array (..., N, N)
        Symmetric; what is below the diagonal is not read.

    Returns
    -------
    array (..., E)
    """
    return -adjacency_to_weights(matrix)


def laplacian_adjoint(matrix: ArrayLike) -> Floats:
    """Return ``M_ii + M_jj - M_ij - M_ji``, the adjoint of Laplacians.

    Parameters
    ----------
    matrix : array (..., N, N)
        Any matrices.

    Returns
    -------
    array (..., E)
    """
    matrix = np.asarray(matrix)
    rows, cols = edge_index(matrix.shape[-1])
    diagonal = np.diagonal(matrix, axis1=-2, axis2=-1)
    pair_sum = diagonal[..., rows] + diagonal[..., cols]
    result: Floats = pair_sum - matrix[..., rows, cols] - matrix[..., cols, rows]
    return result


def squared_differences(signals: ArrayLike) -> Floats:
    """Return the matrix ``Z`` of ``(x_ti - x_tj)^2`` over edges.

    Parameters
    ----------
    signals : array (..., N)

    Returns
    -------
    array (..., E)
    """
    signals = np.asarray(signals)
    rows, cols = edge_index(signals.shape[-1])
    result: Floats = np.square(signals[..., rows] - signals[..., cols])
    return result


def moments_of_distances(distances: ArrayLike) -> Floats:
    """Return second moments from sums of squared differences, of signals that sum to zero.

    Parameters
    ----------
    distances : array (..., E)
        ``sum_t c_t (x_ti - x_tj)^2`` over edges.

    Returns
    -------
    array (..., N, N)
        ``sum_t c_t x_t x_t'`` for signals whose mean over nodes is zero.
    """
    matrix = adjacency(distances)
    of_node = matrix.mean(axis=-1, keepdims=True)
    overall = of_node.mean(axis=-2, keepdims=True)
    result: Floats = (of_node + np.swapaxes(of_node, -1, -2) - overall - matrix) / 2
    return result


def fourier_basis(weights: ArrayLike) -> tuple[Floats, Floats]:
    """Return the graph frequencies and modes: eigenvalues and eigenvectors of Laplacians.

    Parameters
    ----------
    weights : array (..., E)
        Edge weights.

    Returns
    -------
    pair of arrays (..., N) and (..., N, N)
        Frequencies, ascending and not negative, and modes, in columns.
    """
    frequencies, modes = np.linalg.eigh(laplacian(weights))
    return np.maximum(frequencies, 0), modes


def fourier_transform(signals: ArrayLike, modes: ArrayLike) -> Floats:
    """Return the graph Fourier transform of the rows of ``signals``: ``X U``.

    Parameters
    ----------
    signals : array (T, N)
    modes : array (N, M)
        Columns, as :func:`fourier_basis` returns them.

    Returns
    -------
    array (T, M)
    """
    result: Floats = np.asarray(signals) @ np.asarray(modes)
    return result


def inverse_fourier_transform(spectra: ArrayLike, modes: ArrayLike) -> Floats:
    """Return the signals whose graph Fourier transform is ``spectra``: ``X_hat U'``.

    Parameters
    ----------
    spectra : array (T, M)
    modes : array (N, M)
        Columns, as :func:`fourier_basis` returns them.

    Returns
    -------
    array (T, N)
    """
    result: Floats = np.asarray(spectra) @ np.swapaxes(modes, -1, -2)
    return result


@lru_cache(maxsize=64)
def zero_sum_basis(nodes: int) -> Floats:
    """Return an orthonormal basis of the signals that sum to zero; read-only.

    Parameters
    ----------
    nodes : int

    Returns
    -------
    array (N, N - 1)
        In columns; the same array for every call.
    """
    basis = np.ascontiguousarray(helmert(nodes).T)
    basis.setflags(write=False)
    return basis
