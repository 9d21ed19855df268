"""Compiled passes of the exact model over its samples: those of BiPDS, and those of MM.

The dual of a sample is an N x N matrix, and what meets it is linear in the edges: a mixture of
atoms enters as a Laplacian, and an atom sees of the dual and of the signal

    <Y, L_w> + x' L_w x = sum_ij w_ij (Y_ii + Y_jj - 2 Y_ij + z_ij),   z_ij = (x_i - x_j)^2

Both take one sweep over the edges of a sample. The step between them is in :mod:`graphdict.roots`.

To MM, the slope of the log-determinant at a sample's graph is the effective resistance ``r_ij``
between the ends of each edge. The plain formulas are in :mod:`graphdict.operators`,
:mod:`graphdict.kernels` and :class:`graphdict.terms.LogDet`; tests compare.
"""

from __future__ import annotations

import numpy as np
from numpy import ascontiguousarray as in_order
from numpy.typing import NDArray

from graphdict import native
from graphdict.tiles import Recoding

__all__ = ["gradients", "lift", "push_on_atoms", "recode"]


def lift(
    coefficients: NDArray, atoms: NDArray, dual: NDArray, sigma: float, lifted: NDArray
) -> None:
    """Set ``Y + sigma L(Delta W)`` of symmetric duals (T, N, N) in ``lifted``."""
    native.lift(in_order(coefficients), in_order(atoms), in_order(dual), sigma, lifted)


def gradients(
    signals: NDArray,
    atoms: NDArray,
    weighted: NDArray,
    dual: NDArray,
    energies: NDArray,
    pulls: NDArray,
    distances: NDArray,
) -> None:
    """Set ``Z W'`` in ``energies`` and ``<Y_t, L_k>`` in ``pulls`` (T, K) of symmetric duals.

    Adds ``C' (Z + L*(Y))`` to ``distances`` (K, E) with weights ``C`` of the samples.
    """
    native.gradients(
        in_order(signals), in_order(atoms), in_order(weighted), in_order(dual),
        energies, pulls, distances,
    )  # fmt: skip


def push_on_atoms(
    coefficients: NDArray, weights: NDArray, atoms: NDArray
) -> tuple[native.Job, NDArray]:
    """``(p C)' R`` (K, E) with the resistances ``R`` (T, E) of the graphs ``C W``."""
    found = np.empty_like(atoms, order="C")
    return native.exact_push(in_order(coefficients), weights, in_order(atoms), found), found


def recode(
    signals: NDArray,
    weights: NDArray,
    atoms: NDArray,
    coefficients: NDArray,
    shrinkage: float,
    rounds: int,
    stretch: bool,
) -> tuple[native.Job, Recoding]:
    """``rounds`` multiplicative updates of the coefficients (T, K), as by :func:`tiles.recode`."""
    found = Recoding(
        np.empty_like(coefficients, order="C"), np.empty_like(atoms, order="C"), np.empty(3)
    )
    given = signals, weights, in_order(atoms), in_order(coefficients)
    return native.exact_recode(*given, shrinkage, rounds, stretch, *found), found
