"""Graphs of patterns by their spectra, on signals that sum to zero over nodes.

Signals orthogonal to constants have ``d = N - 1`` coordinates in an orthonormal basis (Helmert's),
in which the Laplacian of a connected graph is a positive definite (d, d) matrix.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphdict.core import graphs
from graphdict.core.graphs import zero_sum_basis

TINY = 1e-13  # of the largest eigenvalue: none is smaller


class Eigenpairs(NamedTuple):
    """Eigenvalues, smallest first, and eigenvectors in the coordinates of the basis."""

    eigenvalues: NDArray  # (C, d), all positive
    vectors: NDArray  # (C, d, d), in columns


def reduced_laplacians(atoms: NDArray) -> NDArray:
    """Return the Laplacians of atoms (K, E) in the coordinates of the basis: (K, d, d)."""
    basis = zero_sum_basis(graphs.n_nodes(atoms.shape[1]))
    return basis.T @ graphs.laplacian(atoms) @ basis


def pattern_spectra(activations: NDArray, atoms: NDArray) -> Eigenpairs:
    """Return the spectra of ``L_c = sum_k activations_ck L_k`` for (C, K) and atoms (K, E)."""
    reduced = reduced_laplacians(atoms)
    size = reduced.shape[-1]
    mixed = (activations @ reduced.reshape(len(atoms), -1)).reshape(-1, size, size)
    eigenvalues, vectors = np.linalg.eigh(mixed)
    largest = eigenvalues[:, -1:]
    least = np.where(largest > 0, TINY * largest, 1.0)  # 1 where a pattern has no edges
    return Eigenpairs(np.maximum(eigenvalues, least), vectors)


def reduce_moments(moments: NDArray) -> NDArray:
    """Return second moments (C, N, N) of signals in the coordinates of the basis: (C, d, d)."""
    basis = zero_sum_basis(moments.shape[-1])
    return basis.T @ moments @ basis


def adjoint(matrices: NDArray) -> NDArray:
    """Return the adjoint (..., E) of the map from weights to reduced Laplacians (..., d, d)."""
    basis = zero_sum_basis(matrices.shape[-1] + 1)
    return graphs.laplacian_adjoint(basis @ matrices @ basis.T)
