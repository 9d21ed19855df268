"""The pass of the exact model over its samples, compiled: what goes into its dual step, and out.

The dual of a sample is an N x N matrix, and what meets it is linear in the edges: a mixture of
atoms enters as a Laplacian, and an atom sees of the dual and of the signal

    <Y, L_w> + x' L_w x = sum_ij w_ij (Y_ii + Y_jj - 2 Y_ij + z_ij),   z_ij = (x_i - x_j)^2

Both take one sweep over the edges of a sample. The step between them is in :mod:`graphdict.roots`,
the plain formulas in :mod:`graphdict.operators` and :mod:`graphdict.kernels`; tests compare.
"""

from __future__ import annotations

import numpy as np

from graphdict.roots import compiled

__all__ = ["gradients", "lift"]


@compiled
def lift(coefficients, atoms, dual, sigma, lifted):  # pragma: no cover - compiled
    """Set ``Y + sigma L(Delta W)`` of symmetric duals (T, N, N) in ``lifted``."""
    nodes = dual.shape[1]
    weights = np.empty(atoms.shape[1], atoms.dtype)
    for t in range(len(dual)):
        weights[:] = 0
        for k in range(len(atoms)):
            share = sigma * coefficients[t, k]
            for e in range(len(weights)):
                weights[e] += share * atoms[k, e]
        for i in range(nodes):
            lifted[t, i, i] = dual[t, i, i]
        edge = 0
        for i in range(nodes - 1):
            for j in range(i + 1, nodes):
                weight = weights[edge]
                lifted[t, i, j] = lifted[t, j, i] = dual[t, i, j] - weight
                lifted[t, i, i] += weight
                lifted[t, j, j] += weight
                edge += 1


@compiled
def gradients(
    signals, atoms, weighted, dual, energies, pulls, distances
):  # pragma: no cover - compiled
    """Set ``Z W'`` in ``energies`` and ``<Y_t, L_k>`` in ``pulls`` (T, K) of symmetric duals.

    Adds ``C' (Z + L*(Y))`` to ``distances`` (K, E) with weights ``C`` of the samples.
    """
    nodes = signals.shape[1]
    z, y = np.empty(atoms.shape[1], atoms.dtype), np.empty(atoms.shape[1], atoms.dtype)
    diagonal = np.empty(nodes, atoms.dtype)
    for t in range(len(signals)):
        for i in range(nodes):
            diagonal[i] = dual[t, i, i]
        edge = 0
        for i in range(nodes - 1):
            for j in range(i + 1, nodes):
                difference = signals[t, i] - signals[t, j]
                z[edge] = difference * difference
                y[edge] = diagonal[i] + diagonal[j] - 2 * dual[t, i, j]
                edge += 1
        for k in range(len(atoms)):
            energy = pull = atoms.dtype.type(0)
            share = weighted[t, k]
            for e in range(len(z)):
                energy += atoms[k, e] * z[e]
                pull += atoms[k, e] * y[e]
                distances[k, e] += share * (z[e] + y[e])
            energies[t, k] = energy
            pulls[t, k] = pull
