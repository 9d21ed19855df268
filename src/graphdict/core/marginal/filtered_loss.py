"""The loss of atoms at given second moments under a filter, and its derivatives.

With ``L_c = U diag(lambda) U'``, ``B = U' S_c U`` and the divided differences ``F`` of ``f``,

    loss      = sum_c sum_i B_ii f(lambda_i) - n_c log f(lambda_i)
    gradient  = sum_{c contains k} b_e' U (B o F - n_c diag(f' / f)) U' b_e   in weight e of atom k
    slope     = sum_c sum_i (B_ii f(lambda_i) - n_c) dlog f_i                 in the log-parameter.

Directions in which a pattern's graph is flat (null space of a disconnected one) are left out:
nothing that is learned changes them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphdict.core.marginal.filters import GraphFilter, divided_differences
from graphdict.core.marginal.spectra import Eigenpairs, adjoint, pattern_spectra

LARGEST = 600.0  # exponent before it overflows
BLOCK_BYTES = 1 << 25  # of the matrices of some patterns


class Targets(NamedTuple):
    """What atoms are fitted to, per sample of all."""

    moments: NDArray  # (C, d, d)
    usage: NDArray  # (C,)


class FilteredLoss(NamedTuple):
    """The loss with its gradient, zeros where none was asked for."""

    value: float
    gradient: NDArray  # (K, E)
    parameter_derivative: float


def log_filter(filter_: GraphFilter, spectra: Eigenpairs) -> NDArray:
    """Return ``log f`` (C, d) of eigenvalues, kept from overflowing in ``exp``."""
    return np.minimum(filter_.log_values(spectra.eigenvalues), LARGEST)


def filtered_loss(
    filter_: GraphFilter,
    activations: NDArray,
    atoms: NDArray,
    targets: Targets,
    flat: NDArray,
    *,
    gradient: bool = True,
) -> FilteredLoss:
    """Return the loss of atoms (K, E) active in patterns as in ``activations`` (C, K).

    ``flat`` (C, d) marks eigenvectors, smallest first, that are left out.
    """
    size = targets.moments.shape[-1]
    value = slope = 0.0
    total = np.zeros((len(atoms), size * size))
    step = max(1, BLOCK_BYTES // (8 * size * size))
    for first in range(0, len(activations), step):
        rows = slice(first, first + step)
        part = Targets(targets.moments[rows], targets.usage[rows])
        spectra = pattern_spectra(activations[rows], atoms)
        found = _of_patterns(filter_, spectra, part, flat[rows], gradient)
        value, slope = value + found[0], slope + found[1]
        if gradient:
            total += activations[rows].T @ found[2].reshape(len(part.usage), -1)
    edges = adjoint(total.reshape(-1, size, size)) if gradient else np.zeros_like(atoms)
    return FilteredLoss(value, edges, slope)


def _of_patterns(
    filter_: GraphFilter, spectra: Eigenpairs, targets: Targets, flat: NDArray, gradient: bool
) -> tuple[float, float, NDArray]:
    """Return value, slope in the log-parameter, and the derivative in each ``L_c`` (C, d, d)."""
    eigenvalues, vectors = spectra
    seen = ~flat
    usage = targets.usage[:, None]
    logs = np.where(seen, log_filter(filter_, spectra), 0.0)
    values = np.exp(logs)
    rotated = vectors.swapaxes(1, 2) @ targets.moments @ vectors
    if flat.any():
        rotated = rotated * (seen[:, :, None] & seen[:, None, :])
    energies = np.diagonal(rotated, axis1=1, axis2=2) * values
    value = float((energies - usage * logs).sum())
    if not gradient:
        return value, 0.0, rotated
    turns = np.where(seen, filter_.parameter_derivatives(eigenvalues), 0.0)
    slope = float(((energies - usage * seen) * turns).sum())
    log_derivatives = np.where(seen, filter_.log_derivatives(eigenvalues), 0.0)
    rotated = rotated * divided_differences(eigenvalues, values, values * log_derivatives)
    diagonal = np.arange(rotated.shape[1])
    rotated[:, diagonal, diagonal] -= usage * log_derivatives
    return value, slope, vectors @ rotated @ vectors.swapaxes(1, 2)
