"""Coding: the optimal coefficients of every sample for given atoms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphdict.core.annotations import Floats
from graphdict.core.problem import Problem
from graphdict.core.protocols import Backend, Executor
from graphdict.core.terms import L1, UnitBox
from graphdict.core.terms.base import Barrier, is_exactly, total_alpha

BLOCK_BYTES = 1 << 24


def codes_samples_alone(problem: Problem) -> bool:
    """Whether the problem in the coefficients is a small one for each sample on its own."""
    return problem.linear is not None and has_small_problems(
        problem.barrier, problem.coefficient_terms
    )


def has_small_problems(barrier: Barrier, coefficient_terms: Sequence[Any]) -> bool:
    """Whether these terms leave a small problem for each sample, which Newton steps can solve.

    So it is for a barrier with both derivatives and sparsity as the only prior on coefficients.
    """
    return all(hasattr(barrier, method) for method in ("slope", "curvature")) and all(
        is_exactly(term, UnitBox, L1) for term in coefficient_terms
    )


def code_samples(
    executor: Executor, atoms: Floats, *, max_iter: int = 100, tol: float = 1e-12
) -> Floats:
    """Return the optimal coefficients (T, K) of every row of the executor's problem.

    A sample is done when its duality gap (in units of log-likelihood) is below ``tol`` and its
    gradient is met to 1,000 ``tol``, relatively. Where several coefficient vectors are equally
    good, a small one is returned; atoms without edges get zero.
    """
    return executor.gather(executor.map_shards(code_shard, [], atoms, max_iter, tol)[0])


def code_shard(
    shard: Any, columns: Any, atoms: Floats, max_iter: int = 100, tol: float = 1e-12
) -> Any:
    """Find the coefficients of a shard for each of its blocks, and their share of the objective."""
    backend, problem = shard.backend, shard.backend.problem
    coefficient_alpha = total_alpha(problem.coefficient_terms, L1)
    atom_images = problem.atom_images(atoms.astype(np.float64))
    alive = atoms.any(axis=1)
    coefficients = np.zeros((problem.rows, len(atoms)), dtype=atoms.dtype)
    if alive.any():
        atom_images = atom_images[alive]
        size = max(1, BLOCK_BYTES // (8 * (atom_images.size + 4 * len(atom_images) ** 2)))
        for start in range(0, problem.rows, size):
            rows = slice(start, min(start + size, problem.rows))
            costs = problem.signal_term.energies(atoms, rows).astype(np.float64) + coefficient_alpha
            coefficients[rows, alive] = backend.solve_coefficients(
                costs[:, alive], atom_images, max_iter, tol
            )
    return shard.map(keep_value, [[coefficients[rows] for rows in shard.blocks]], atoms)


def total_objective(executor: Executor, coefficients: Any, atoms: Floats) -> float:
    """Return ``F`` at a point whose coefficients are with an executor, but for priors on atoms."""
    problem = executor.problem
    if problem.coefficient_priors.separable:
        result: float = executor.map_blocks(keep_value, [coefficients], atoms)[1][0]
        return result
    result = executor.map_blocks(_samples_value, [coefficients], atoms)[1][0]
    result += problem.coefficient_priors.value(executor.gather(coefficients)) / problem.total
    return result


def keep_value(backend: Backend, rows: slice, coefficients: Floats, atoms: Floats) -> Any:
    """Leave coefficients as they are and find their share of the objective."""
    energies = backend.problem.signal_term.energies(atoms, rows)
    return coefficients, (backend.problem.rows_value(rows, coefficients, energies, atoms),)


def _samples_value(backend: Backend, rows: slice, coefficients: Floats, atoms: Floats) -> Any:
    """Find the share of the objective that is the likelihood of a block."""
    problem = backend.problem
    energies = problem.signal_term.energies(atoms, rows)
    mixed_images = problem.operator.forward(coefficients, atoms)
    return None, (problem.samples_value(rows, coefficients, energies, mixed_images),)
