"""Read graphs that are given: edge vectors, adjacency matrices, or graphs of another model."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphdict.core import graphs
from graphdict.core.annotations import Floats
from graphdict.engine.containers import as_numbers

ASYMMETRY = 1e-6  # of the largest weight: differences of the two halves that are rounding


def read_weights(given: Any, *, missing: bool = False) -> Floats:
    """Return graphs on the same nodes as edge weights (T, E).

    Parameters
    ----------
    given : array (T, E) or (T, N, N), or InstantaneousGraphs
        Edge vectors, symmetric adjacency matrices whose diagonal is ignored, or the graphs that
        another model found.
    missing : bool, default=False
        Whether NaN is let through, for edges that nobody has seen.
    """
    given = getattr(given, "weights", given)
    values = as_numbers("graphs", given, np.float64)
    if values.ndim == 3:
        values = graphs.adjacency_to_weights(_symmetric(values, "graphs"))
    if values.ndim != 2 or len(values) == 0:
        raise ValueError(
            "graphs must be edge vectors (T, E) or adjacency matrices (T, N, N), got an array of "
            f"shape {values.shape}"
        )
    graphs.n_nodes(values.shape[1])
    return _check_values(values, missing)


def read_adjacencies(given: Any) -> list[Floats]:
    """Return graphs, each on nodes of its own, as adjacency matrices (N_t, N_t) without diagonal.

    Parameters
    ----------
    given : sequence of arrays (N_t, N_t) or (E_t,), or array (T, N, N) or (T, E)
        Adjacency matrices or edge vectors, of any number of nodes each.
    """
    given = getattr(given, "weights", given)
    read = []
    for index, graph in enumerate(given):
        values = as_numbers(f"graph {index}", graph, np.float64)
        if values.ndim == 2:
            values = graphs.adjacency_to_weights(_symmetric(values[None], f"graph {index}"))[0]
        if values.ndim != 1:
            raise ValueError(
                f"graph {index} must be an adjacency matrix (N, N) or an edge vector (E,), got an "
                f"array of shape {values.shape}"
            )
        read.append(graphs.adjacency(_check_values(values[None], False)[0]))
    if not read:
        raise ValueError("graphs is empty: give at least one graph")
    return read


def _symmetric(matrices: Floats, name: str) -> Floats:
    """Return adjacency matrices (T, N, N), known to be symmetric."""
    if matrices.shape[-1] != matrices.shape[-2] or matrices.shape[-1] < 2:
        raise ValueError(
            f"{name}: an adjacency matrix has as many rows as columns, at least two, got shape "
            f"{matrices.shape[-2:]}"
        )
    difference = np.abs(np.nan_to_num(matrices - np.swapaxes(matrices, -1, -2))).max()
    if difference > ASYMMETRY * np.nanmax(np.abs(matrices), initial=0.0):
        raise ValueError(
            f"{name}: adjacency matrices must be symmetric, and two halves differ by up to "
            f"{difference:.3g}; take (A + A.T) / 2 where edges have no direction"
        )
    return matrices


def _check_values(weights: Floats, missing: bool) -> Floats:
    """Return weights that are numbers, none of them negative, not all of them zero or missing."""
    if np.isinf(weights).any() or (not missing and np.isnan(weights).any()):
        raise ValueError(
            "weights of graphs must be finite numbers"
            + (" or NaN where an edge was not seen" if missing else "")
        )
    least = np.nanmin(weights, initial=0.0)
    if least < 0:
        raise ValueError(
            f"weights of graphs must not be negative, got {least:.3g}; give positive and negative "
            "parts as graphs of their own"
        )
    return weights
