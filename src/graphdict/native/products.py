"""Products of signals with graphs: the two passes over samples that every model needs.

With ``z_t`` (E,) the squared differences of sample t over all pairs of nodes,

    energies            Z W'  (T, K)     x_t' L_k x_t of every sample and graph
    weighted_distances  C' Z  (K, E)     squared differences summed with weights

``Z`` is never formed, and these take half the arithmetic of matrix products of the signals.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict import native
from graphdict.native import contiguous


def energies(signals: NDArray[Any], atoms: NDArray[Any]) -> NDArray[Any]:
    """Return ``Z W'`` (T, K) for signals (T, N) and atoms (K, E)."""
    found = np.empty((len(signals), len(atoms)), signals.dtype)
    native.energies(contiguous(signals), contiguous(atoms.astype(signals.dtype, copy=False)), found)
    return found


def weighted_distances(signals: NDArray[Any], coefficients: NDArray[Any]) -> NDArray[Any]:
    """Return ``C' Z`` (K, E) for signals (T, N) and weights (T, K)."""
    nodes, count = signals.shape[1], coefficients.shape[1]
    found = np.empty((count, nodes * (nodes - 1) // 2), signals.dtype)
    coefficients = coefficients.astype(signals.dtype, copy=False)
    native.weighted_distances(contiguous(signals), contiguous(coefficients), found)
    return found


def degrees(weights: NDArray[Any], nodes: int) -> NDArray[Any]:
    """Return the node degrees (K, N) of graphs (K, E)."""
    found = np.empty((len(weights), nodes), weights.dtype)
    native.degrees(contiguous(weights), found)
    return found


def degrees_adjoint(values: NDArray[Any]) -> NDArray[Any]:
    """Return for each edge (K, E) the sum of the values (K, N) at its two ends."""
    count, nodes = values.shape
    found = np.empty((count, nodes * (nodes - 1) // 2), values.dtype)
    native.degrees_adjoint(contiguous(values), found)
    return found
