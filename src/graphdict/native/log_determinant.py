"""Compiled passes over samples of the exact model: those of BiPDS, and those of MM.

The dual of a sample is an N x N matrix, and what meets it is linear in the edges: a mixture of
atoms enters as a Laplacian, and an atom sees of the dual and of the signal

    <Y, L_w> + x' L_w x = sum_ij w_ij (Y_ii + Y_jj - 2 Y_ij + z_ij),   z_ij = (x_i - x_j)^2

Both take one sweep over the edges of a sample; the step between them is
:func:`graphdict.native.proxes.log_det_prox_conjugate`. To MM, the slope of the log-determinant at a
sample's graph is the effective resistance ``r_ij`` between the ends of each edge. Plain formulas
are in :mod:`graphdict.core.operators`, :mod:`graphdict.core.kernels` and
:class:`graphdict.core.terms.LogDet`; tests compare.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict import native
from graphdict.native import contiguous
from graphdict.native.log_barrier import CoefficientUpdates

__all__ = ["add_laplacians", "atom_slopes", "gradients", "update_coefficients"]


def add_laplacians(
    coefficients: NDArray[Any],
    atoms: NDArray[Any],
    dual: NDArray[Any],
    sigma: float,
    out: NDArray[Any],
) -> None:
    """Set ``out`` to ``Y + sigma L(Delta W)`` for symmetric duals ``Y`` (T, N, N)."""
    native.add_laplacians(contiguous(coefficients), contiguous(atoms), contiguous(dual), sigma, out)


def gradients(
    signals: NDArray[Any],
    atoms: NDArray[Any],
    weighted: NDArray[Any],
    dual: NDArray[Any],
    energies: NDArray[Any],
    inner_products: NDArray[Any],
    distances: NDArray[Any],
) -> None:
    """Set ``energies`` to ``Z W'`` and ``inner_products`` to ``<Y_t, L_k>`` (T, K).

    Adds ``C' (Z + L*(Y))`` to ``distances`` (K, E) with weights ``C`` of the samples; duals are
    symmetric.
    """
    native.log_det_gradients(
        contiguous(signals), contiguous(atoms), contiguous(weighted), contiguous(dual),
        energies, inner_products, distances,
    )  # fmt: skip


def atom_slopes(
    coefficients: NDArray[Any], weights: NDArray[Any], atoms: NDArray[Any]
) -> tuple[native.Job, NDArray[Any]]:
    """Return a job for ``(p C)' R`` (K, E), and where it goes.

    ``R`` (T, E) are the effective resistances of the graphs ``C W``, ``weights`` the shares ``p``.
    """
    found = np.empty_like(atoms, order="C")
    job = native.log_det_atom_slopes(
        contiguous(coefficients), contiguous(weights), contiguous(atoms), found
    )
    return job, found


def update_coefficients(
    signals: NDArray[Any],
    weights: NDArray[Any],
    atoms: NDArray[Any],
    coefficients: NDArray[Any],
    shrinkage: float,
    rounds: int,
    over_relaxed: bool,
) -> tuple[native.Job, CoefficientUpdates]:
    """Return a job for multiplicative updates, as :func:`log_barrier.update_coefficients` does."""
    found = CoefficientUpdates(
        np.empty_like(coefficients, order="C"), np.empty_like(atoms, order="C"), np.empty(3)
    )
    job = native.log_det_update_coefficients(
        contiguous(signals), contiguous(weights), contiguous(atoms), contiguous(coefficients),
        (shrinkage, rounds, over_relaxed), found,
    )  # fmt: skip
    return job, found
