"""Passes of the exact model by compiled loops; they find what the plain passes find.

They serve problems of smoothness with the log-determinants of Laplacians, of a size for which the
dual step is compiled too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.operators import Bilinear, Laplacians
from graphdict.problem import Problem
from graphdict.solvers.passes import single_at_hand
from graphdict.terms import LogDet

__all__ = ["ascend", "serves"]

SMALL = 1 << 17  # numbers in the Laplacians of all mixtures


def serves(problem: Problem, atoms: NDArray) -> bool:
    """Whether the problem is of this kind and size."""
    linear = getattr(problem.operator, "linear", None)
    return (
        type(problem.operator) is Bilinear
        and isinstance(linear, Laplacians)
        and type(problem.barrier) is LogDet
        and single_at_hand(problem, atoms)
        and problem.total * linear.nodes**2 >= SMALL
    )


def ascend(
    problem: Problem,
    rows: slice,
    step: Any,
    weighted: NDArray,
    ahead: NDArray,
    dual: NDArray,
    extra: Any,
) -> tuple[NDArray, NDArray, NDArray, NDArray, float]:
    """The dual step of BiPDS at ``ahead``; energies, gradients in coefficients and atoms.

    ``weighted`` are the coefficients times shares, ``extra`` what else is in their gradient. The
    gradient in the atoms is complete.
    """
    from graphdict import exact

    atoms, lifted = step.atoms, np.empty_like(dual)
    exact.lift(ahead, step.ahead, dual, atoms.dtype.type(step.sigma), lifted)
    raised = problem.barrier.prox_conjugate(lifted, step.sigma)
    energies, pulls = np.empty_like(weighted), np.empty_like(weighted)
    distances = np.zeros_like(atoms)
    exact.gradients(problem.fit.signals[rows], atoms, weighted, raised, energies, pulls, distances)
    return raised, energies, energies + pulls + extra, distances, 0.0
