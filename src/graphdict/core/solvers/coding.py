"""Coding: the optimal coefficients of every sample for given atoms."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.core.problem import Problem
from graphdict.core.protocols import Backend, Executor
from graphdict.core.terms import L1, UnitBox

__all__ = ["code_samples", "code_shard", "codes_samples_alone", "keep_value", "total_objective"]

BLOCK_BYTES = 1 << 24


def codes_samples_alone(problem: Problem) -> bool:
    """Whether the problem in the coefficients is a small one for each sample on its own."""
    return (
        all(hasattr(problem.barrier, method) for method in ("slope", "curvature"))
        and problem.linear is not None
        and all(isinstance(term, (UnitBox, L1)) for term in problem.coefficient_terms)
    )


def code_samples(
    executor: Executor, atoms: NDArray[np.float64], *, max_iter: int = 100, tol: float = 1e-12
) -> NDArray[np.float64]:
    """Return the optimal coefficients (T, K) of every row of the executor's problem.

    A sample is done when its duality gap (in units of log-likelihood) is below ``tol`` and its
    gradient is met to 1,000 ``tol``, relatively. Where several coefficient vectors are equally
    good, a small one is returned; atoms without edges get zero.
    """
    return executor.gather(executor.map_shards(code_shard, [], atoms, max_iter, tol)[0])


def code_shard(
    shard: Any, columns: Any, atoms: NDArray[np.float64], max_iter: int = 100, tol: float = 1e-12
) -> Any:
    """Find the coefficients of a shard for each of its blocks, and their share of the objective."""
    backend, problem = shard.backend, shard.backend.problem
    shrinkage = sum(t.alpha for t in problem.coefficient_terms if isinstance(t, L1))
    images = problem.images(atoms.astype(np.float64))
    alive = atoms.any(axis=1)
    coefficients = np.zeros((problem.rows, len(atoms)), dtype=atoms.dtype)
    if alive.any():
        images = images[alive]
        size = max(1, BLOCK_BYTES // (8 * (images.size + 4 * len(images) ** 2)))
        for start in range(0, problem.rows, size):
            rows = slice(start, min(start + size, problem.rows))
            costs = problem.fit.energies(atoms, rows).astype(np.float64) + shrinkage
            coefficients[rows, alive] = backend.solve_coefficients(
                costs[:, alive], images, max_iter, tol
            )
    return shard.map(keep_value, [[coefficients[rows] for rows in shard.blocks]], atoms)


def total_objective(executor: Executor, coefficients: Any, atoms: NDArray[np.float64]) -> float:
    """Return ``F`` at a point whose coefficients are with an executor, but for priors on atoms."""
    problem = executor.problem
    if problem.coefficients.separable:
        result: float = executor.map_blocks(keep_value, [coefficients], atoms)[1][0]
        return result
    result = executor.map_blocks(_samples_value, [coefficients], atoms)[1][0]
    result += problem.coefficients.value(executor.gather(coefficients)) / problem.total
    return result


def keep_value(
    backend: Backend, rows: slice, coefficients: NDArray[np.float64], atoms: NDArray[np.float64]
) -> Any:
    """Leave coefficients as they are and find their share of the objective."""
    energies = backend.problem.fit.energies(atoms, rows)
    return coefficients, (backend.problem.rows_value(rows, coefficients, energies, atoms),)


def _samples_value(
    backend: Backend, rows: slice, coefficients: NDArray[np.float64], atoms: NDArray[np.float64]
) -> Any:
    """Find the share of the objective that is the likelihood of a block."""
    problem = backend.problem
    energies = problem.fit.energies(atoms, rows)
    image = problem.operator.forward(coefficients, atoms)
    return None, (problem.samples_value(rows, coefficients, energies, image),)
