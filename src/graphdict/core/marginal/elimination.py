"""Edges that do not pay: what the likelihood would lose without each, and which to take.

The expected second derivative of the loss in two weights of a pattern's atoms is

    H_ef = sum_c n_c a_e a_f sum_ij F_ij^2 / (f_i f_j) (u_i' b_e)(u_j' b_e)(u_i' b_f)(u_j' b_f)

with the activations ``a`` of their atoms and the divided differences ``F`` of the filter. Without
edge e, all others adjusting, the loss grows by about ``w_e^2 / (2 [H^-1]_ee)``, and T times that is
twice what T samples lose in log-likelihood.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dtrtri

from graphdict.core import graphs
from graphdict.core.annotations import Booleans
from graphdict.core.graphs import zero_sum_basis
from graphdict.core.marginal.filtered import FilteredLikelihood
from graphdict.core.marginal.filtered_loss import log_filter
from graphdict.core.marginal.filters import divided_differences
from graphdict.core.marginal.spectra import Eigenpairs, pattern_spectra

TOGETHER = 3000  # edges that adjust together
PAIRS = 4096  # products of eigenvectors at a time
STEADY = 1e-9  # of the diagonal, so that an inverse exists


def unprofitable_edges(
    likelihood: FilteredLikelihood,
    atoms: NDArray,
    usage: NDArray,
    samples: float,
    price: float,
    *,
    last: bool,
) -> Booleans:
    """Return edges (K, E) whose loss is below ``price`` times ``log(n)``; n samples use the atom.

    Where one goes, others may come to pay: only the worse half is returned unless it is the
    ``last`` round. ``usage`` (C,) is the share of the samples of each pattern.
    """
    losses = edge_losses(likelihood, atoms, usage, samples)
    mass = likelihood.activations.T @ usage * samples
    ratios = losses / (price * np.log(np.maximum(mass, 2.0)))[:, None]
    bad = (atoms != 0) & (ratios < 1)
    if not last and bad.any():
        bad &= ratios <= np.median(ratios[bad])
    return bad


def edge_losses(
    likelihood: FilteredLikelihood, atoms: NDArray, usage: NDArray, samples: float
) -> NDArray:
    """Return twice the log-likelihood (K, E) that samples lose without each edge."""
    spectra = pattern_spectra(likelihood.activations, atoms)
    losses = np.zeros_like(atoms)
    for atom, edge in _groups(likelihood, atoms):
        information = _information(likelihood, spectra, usage, atom, edge)
        sizes = np.sqrt(np.maximum(np.diagonal(information), 1e-300))
        scaled = information / np.outer(sizes, sizes)
        adjusted = np.maximum(_inverse_diagonal(scaled + STEADY * np.eye(len(sizes))), 1e-12)
        losses[atom, edge] = 0.5 * samples * (atoms[atom, edge] * sizes) ** 2 / adjusted
    return losses


def _inverse_diagonal(matrix: NDArray) -> NDArray:
    """Return the diagonal (n,) of the inverse of a positive definite matrix.

    It is that of ``R R'`` for the inverse ``R`` of the upper Cholesky factor, which costs a third
    of the whole inverse.
    """
    factor, failed = dpotrf(matrix)
    if failed:  # in floating point it is not definite
        return np.diagonal(np.linalg.inv(matrix))
    inverse, _ = dtrtri(factor)
    return np.square(inverse).sum(axis=1)


def _groups(likelihood: FilteredLikelihood, atoms: NDArray) -> list[tuple[NDArray, NDArray]]:
    """Return indices (atom, edge) of edges that adjust together: all, or those of an atom."""
    atom, edge = np.nonzero(atoms)
    if likelihood.alone.all() or len(atom) > TOGETHER:
        parts = [np.flatnonzero(atom == index) for index in range(len(atoms))]
    else:
        parts = [np.arange(len(atom))]
    pieces = [
        piece for part in parts for piece in np.array_split(part, -(-len(part) // TOGETHER) or 1)
    ]
    return [(atom[piece], edge[piece]) for piece in pieces if len(piece)]


def _information(
    likelihood: FilteredLikelihood,
    spectra: Eigenpairs,
    usage: NDArray,
    atom: NDArray,
    edge: NDArray,
) -> NDArray:
    """Return the expected second derivative of the loss in some weights (n, n)."""
    ends = graphs.edge_index(likelihood.nodes)
    basis = zero_sum_basis(likelihood.nodes)
    first, second = np.triu_indices(likelihood.dimension)
    twice = np.where(first == second, 1.0, np.sqrt(2.0))
    logs = log_filter(likelihood.filter, spectra)
    slopes = likelihood.filter.log_derivatives(spectra.eigenvalues)
    found = np.zeros((len(atom), len(atom)))
    for index in np.flatnonzero(usage > 0):
        rows = np.flatnonzero(likelihood.activations[index, atom] > 0)
        if not len(rows):
            continue
        roots = np.exp(0.5 * (logs[index] - logs[index].mean()))
        differences = divided_differences(
            spectra.eigenvalues[index], roots**2, roots**2 * slopes[index]
        )
        weights = (differences / np.outer(roots, roots))[first, second] * twice
        weights[first < likelihood.flat[index]] = 0  # directions that no edge changes
        used, positions = np.unique(edge[rows], return_inverse=True)
        vectors = basis @ spectra.vectors[index]
        vectors = np.ascontiguousarray((vectors[ends[0][used]] - vectors[ends[1][used]]).T)
        products = np.zeros((len(used), len(used)))
        for start in range(0, len(first), PAIRS):
            pairs = slice(start, start + PAIRS)
            part = vectors[first[pairs]] * vectors[second[pairs]]
            part *= weights[pairs, None]
            products += part.T @ part
        active = likelihood.activations[index, atom[rows]]
        shares = usage[index] * np.outer(active, active)
        found[np.ix_(rows, rows)] += shares * products[np.ix_(positions, positions)]
    return found
