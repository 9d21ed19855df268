"""The Gaussian likelihood of signals under the graphs that a model gave them."""

from __future__ import annotations

import numpy as np

from graphdict.core import graphs
from graphdict.core.annotations import Floats

BLOCK_BYTES = 1 << 25
RELATIVE_FLOOR = 1e-9


def log_likelihoods(energies: Floats, coefficients: Floats, atoms: Floats) -> Floats:
    """Return ``log p(x_t | L_t)`` of each sample (T,) for ``L_t = sum_k delta_tk L_k``.

    The density is that of a Laplacian-constrained Gaussian Markov random field on signals of zero
    mean over nodes (N - 1 dimensions). Where a graph falls apart the density is degenerate; its
    vanishing eigenvalues then count as a small one, 1e-9 of the largest in the dictionary, which
    gives such graphs the very low likelihood they deserve and keeps it finite.
    """
    nodes = graphs.n_nodes(atoms.shape[1])
    laplacians = graphs.laplacian(atoms.astype(np.float64)).reshape(len(atoms), -1)
    largest = np.linalg.eigvalsh(laplacians.sum(axis=0).reshape(nodes, nodes))[-1]
    floor = max(RELATIVE_FLOOR * float(largest), np.finfo(float).tiny)
    logdets = np.empty(len(coefficients))
    size = max(1, BLOCK_BYTES // (8 * nodes * nodes))
    for start in range(0, len(coefficients), size):
        rows = slice(start, start + size)
        mixed = (coefficients[rows].astype(np.float64) @ laplacians).reshape(-1, nodes, nodes)
        values = np.linalg.eigvalsh(mixed)[:, 1:]  # the smallest belongs to the constants
        logdets[rows] = np.log(np.maximum(values, floor)).sum(axis=1)
    quadratic = np.einsum("tk,tk->t", coefficients, energies, dtype=np.float64)
    return (logdets - quadratic - (nodes - 1) * np.log(2 * np.pi)) / 2
