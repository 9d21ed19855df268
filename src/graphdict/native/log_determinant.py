"""Compiled passes of MM over samples of the exact model.

The slope of the log-determinant at a sample's graph is the effective resistance ``r_ij`` between
the ends of each edge. Plain formulas are in :mod:`graphdict.core.operators`
and :class:`graphdict.core.terms.LogDet`; tests compare.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict import native
from graphdict.native import contiguous
from graphdict.native.coefficients import UpdateResult, UpdateRule


def atom_slopes(
    coefficients: NDArray[Any], shares: NDArray[Any], atoms: NDArray[Any]
) -> tuple[native.Job, NDArray[Any]]:
    """Return a job for ``(p C)' R`` (K, E), and the array that it fills.

    ``R`` (T, E) are the effective resistances of the graphs ``C W``, ``shares`` (T,) are ``p``.
    """
    found = np.empty_like(atoms, order="C")
    job = native.log_det_atom_slopes(
        contiguous(coefficients), contiguous(shares), contiguous(atoms), found
    )
    return job, found


def update_coefficients(
    signals: NDArray[Any],
    shares: NDArray[Any],
    atoms: NDArray[Any],
    coefficients: NDArray[Any],
    rule: UpdateRule,
) -> tuple[native.Job, UpdateResult]:
    """Return a job for multiplicative updates, as :func:`log_barrier.update_coefficients` does."""
    found = UpdateResult(
        np.empty_like(coefficients, order="C"), np.empty_like(atoms, order="C"), np.empty(3)
    )
    job = native.log_det_update_coefficients(
        contiguous(signals), contiguous(shares), contiguous(atoms), contiguous(coefficients),
        rule, found,
    )  # fmt: skip
    return job, found
