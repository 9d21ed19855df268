"""Passes over samples that solvers and starts share; see :mod:`graphdict.engine.executor`."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from graphdict.core.problem import Problem
from graphdict.core.terms.likelihoods import Smoothness
from graphdict.core.terms.modal import ModalSmoothness

__all__ = [
    "keep_value",
    "powers_at_hand",
    "shares",
    "single_at_hand",
    "total_objective",
    "weighted_distances",
]


def shares(problem: Problem, rows: slice, like: NDArray) -> NDArray:
    """Share (rows, 1) of all samples that each row stands for, in the precision of ``like``."""
    return problem.weights[rows, None].astype(like.dtype, copy=False)


def single_at_hand(problem: Problem, atoms: NDArray) -> bool:
    """Whether rows are single samples whose signals a compiled pass can take as they are."""
    # What is on disk is not read to find out.
    kind = getattr(problem.fit, "stands_for", type(problem.fit))
    return kind is Smoothness and problem.fit.dtype == atoms.dtype


def powers_at_hand(problem: Problem, atoms: NDArray) -> bool:
    """Whether rows are known by their powers in modes."""
    kind = getattr(problem.fit, "stands_for", type(problem.fit))
    return kind is ModalSmoothness and problem.fit.dtype == atoms.dtype


def weighted_distances(problem: Problem, rows: slice, coefficients: NDArray) -> NDArray:
    """``(p Delta)' Z`` of some rows."""
    return problem.fit.weighted_distances(shares(problem, rows, coefficients) * coefficients, rows)


def total_objective(crew: Any, coefficients: Any, atoms: NDArray) -> float:
    """``F`` at a point whose coefficients are with a crew, but for the priors on atoms."""
    return crew.run(keep_value, [coefficients], atoms)[1][0]


def keep_value(problem: Problem, rows: slice, coefficients: NDArray, atoms: NDArray) -> Any:
    """The pass that leaves coefficients as they are and adds up the objective."""
    energies = problem.fit.energies(atoms, rows)
    image = problem.operator.forward(coefficients, atoms)
    value = problem.samples_value(rows, coefficients, energies, image)
    return coefficients, (value + problem.coefficients.value(coefficients, rows) / problem.total,)
