"""Coding: the optimal coefficients of every sample for given atoms, written as they come."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphdict.core.problem import Problem
from graphdict.core.solvers.base import Solution
from graphdict.core.solvers.bipds import bipds
from graphdict.core.solvers.coding import code_shard, codes_samples_alone
from graphdict.engine.executor import add_tree
from graphdict.engine.sources import put_together

__all__ = ["Code", "by_sample", "code", "last_residual"]


class Code(NamedTuple):
    """Coefficients of samples, and how they were found."""

    coefficients: NDArray[np.float64]  # (T, K)
    value: float  # the objective there, but for the priors on atoms
    residual: float  # the largest of the optimality conditions, relatively
    interrupted: bool


def code(
    problem: Problem,
    atoms: NDArray[np.float64],
    executor: Any,
    *,
    max_iter: int,
    tol: float,
    out: Any = None,
    stage: Any = None,
) -> Code:
    """Find the best coefficients of all samples: each alone, or by BiPDS where priors tie them.

    ``out`` is where to write coefficients (see :func:`put_together`), and ``stage`` keeps what is
    done of a fit.
    """
    shape = (problem.counts, len(atoms), atoms.dtype, out)
    if codes_samples_alone(problem):
        sums: list[tuple[Any, ...]] = []

        def pieces() -> Iterator[NDArray[np.float64]]:
            for coefficients, part in executor.stream(code_shard, atoms):
                sums.append(part)
                yield coefficients

        return Code(put_together(pieces(), *shape), add_tree(sums)[0], 0.0, False)
    start = np.full((problem.rows, len(atoms)), 0.5, dtype=atoms.dtype)
    solution = bipds(executor, start, atoms, fixed="atoms", max_iter=max_iter, tol=tol, stage=stage)
    if solution.interrupted and stage is not None:
        stage.flush()
    value = solution.objective - problem.atoms.value(atoms)
    coefficients = put_together([solution.coefficients], *shape)
    return Code(coefficients, value, last_residual(solution), solution.interrupted)


def by_sample(rows: NDArray[np.float64], counts: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the rows of windows repeated for each of their samples."""
    return rows if len(rows) == int(counts.sum()) else np.repeat(rows, counts, axis=0)


def last_residual(solution: Solution) -> float:
    """Return the largest relative residual at the end; infinite where none was computed."""
    return solution.history.residual[-1] if solution.history.residual else np.inf
