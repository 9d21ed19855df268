"""Passes of the exact model by compiled loops; they find what the plain passes find.

They serve problems of smoothness with the log-determinants of Laplacians, whose samples are single
and at hand.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict import native
from graphdict.core.operators import Laplacians, linear_of
from graphdict.core.problem import Problem
from graphdict.core.solvers.passes import shares, single_at_hand
from graphdict.core.terms import LogDet
from graphdict.native import log_determinant
from graphdict.native.log_barrier import CoefficientUpdates

__all__ = ["land", "push", "recode", "serves"]


def serves(problem: Problem, atoms: NDArray) -> bool:
    """Whether the problem is of this kind."""
    linear = linear_of(problem.operator)
    return (
        isinstance(linear, Laplacians)
        and type(problem.barrier) is LogDet
        and single_at_hand(problem, atoms)
    )


def push(
    problem: Problem, rows: slice, coefficients: NDArray, atoms: NDArray
) -> tuple[native.Job, NDArray]:
    """``A**(p Delta, B)`` (K, E) of some rows, where ``B`` is the slope of the barrier."""
    return log_determinant.atom_slopes(coefficients, problem.weights[rows], atoms)


def recode(
    problem: Problem,
    rows: slice,
    coefficients: NDArray,
    atoms: NDArray,
    shrinkage: float,
    rounds: int,
    stretch: bool,
) -> tuple[native.Job, CoefficientUpdates]:
    """``rounds`` updates of the coefficients; value, squares of the residual, ``(p Delta)' Z``."""
    signals, weights = problem.fit.signals[rows], problem.weights[rows]
    return log_determinant.update_coefficients(
        signals, weights, atoms, coefficients, shrinkage, rounds, stretch
    )


def land(problem: Problem, rows: slice, before: Any, moved: Any, step: Any) -> Any:
    """The dual step of BiPDS and all gradients where the coefficients have ``moved``.

    Finds coefficients, dual, gradient, energies; and as sums over samples the gradient in the
    atoms and the Gram matrix.
    """
    (coefficients, _, extra), atoms = moved, step.atoms
    ahead = 2 * coefficients - before.coefficients
    weighted = shares(problem, rows, coefficients) * coefficients
    lifted = np.empty_like(before.dual)
    log_determinant.add_laplacians(
        ahead, step.ahead, before.dual, atoms.dtype.type(step.sigma), lifted
    )
    dual = problem.barrier.prox_conjugate(lifted, step.sigma)
    energies, pulls = np.empty_like(weighted), np.empty_like(weighted)
    distances = np.zeros_like(atoms)
    log_determinant.gradients(
        problem.fit.signals[rows], atoms, weighted, dual, energies, pulls, distances
    )
    sums = distances, weighted.T @ coefficients
    return coefficients, dual, energies + pulls + extra, energies, sums
