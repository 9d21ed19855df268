"""Coding: the optimal coefficients of every sample for given atoms, written as they come."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from graphdict.core.annotations import Floats, Integers
from graphdict.core.problem import Problem
from graphdict.core.protocols import Backend, Executor
from graphdict.core.solvers.base import History, Solution, relative_size
from graphdict.core.solvers.bipds import bipds
from graphdict.core.solvers.coding import code_shard, codes_samples_alone
from graphdict.core.solvers.mm import stationarity
from graphdict.core.terms import L1
from graphdict.core.terms.base import total_alpha
from graphdict.engine.executor import add_tree
from graphdict.engine.sources import write_rows


class Coding(NamedTuple):
    """The best coefficients of samples for given atoms, and how they were found."""

    coefficients: Floats  # (T, K)
    value: float  # the objective there, but for the priors on atoms
    residual: float  # the largest of the optimality conditions, relatively
    interrupted: bool
    solution: Solution | None = None  # of BiPDS; None where each sample was coded by itself


def code(
    problem: Problem,
    atoms: Floats,
    executor: Any,
    *,
    max_iter: int,
    tol: float,
    out: Any = None,
    stage: Any = None,
) -> Coding:
    """Return the best coefficients of all samples: each alone, or by BiPDS where priors tie them.

    They are written to ``out`` if that is given (see :func:`write_rows`). ``stage`` is that of a
    checkpoint.
    """
    write = partial(
        write_rows, counts=problem.counts, columns=len(atoms), dtype=atoms.dtype, out=out
    )
    if codes_samples_alone(problem):
        sums: list[tuple[Any, ...]] = []

        def pieces() -> Iterator[Floats]:
            for coefficients, part in executor.iter_shards(code_shard, atoms):
                sums.append(part)
                yield coefficients

        return Coding(write(pieces()), add_tree(sums)[0], 0.0, False)
    start = np.full((problem.rows, len(atoms)), 0.5, dtype=atoms.dtype)
    solution = bipds(executor, start, atoms, fixed="atoms", max_iter=max_iter, tol=tol, stage=stage)
    if solution.interrupted and stage is not None:
        stage.flush()
    value = solution.objective - problem.atom_priors.value(atoms)
    coefficients = write([solution.coefficients])
    return Coding(coefficients, value, last_residual(solution), solution.interrupted, solution)


def history_of_coding(
    found: Coding, executor: Executor, atoms: Floats, history: History
) -> History:
    """Return the history of a fit with held atoms: of BiPDS, or ``history`` with one exact step."""
    if found.solution is not None:
        return found.solution.history
    problem = executor.problem
    rows = found.coefficients[np.cumsum(problem.counts) - problem.counts]
    square, scale = executor.map_blocks(_stationarity, [executor.scatter(rows)], atoms)[1]
    objective = found.value + problem.atom_priors.value(atoms)
    history.add(objective, {"coefficients": relative_size(square**0.5, scale**0.5)})
    return history


def _stationarity(backend: Backend, rows: slice, coefficients: Floats, atoms: Floats) -> Any:
    """Return squared sizes of the projected gradient in the coefficients and of their costs."""
    problem = backend.problem
    coefficient_alpha = total_alpha(problem.coefficient_terms, L1)
    costs = problem.signal_term.energies(atoms, rows) + coefficient_alpha
    barrier: Any = problem.barrier
    slope = barrier.slope(problem.operator.forward(coefficients, atoms))
    gains = problem.operator.adjoint_coefficients(slope, atoms)
    return None, stationarity(coefficients, costs - gains, costs, 1.0)


def by_sample(rows: Floats, counts: Integers) -> Floats:
    """Return the rows of windows repeated for each of their samples."""
    return rows if len(rows) == int(counts.sum()) else np.repeat(rows, counts, axis=0)


def last_residual(solution: Solution) -> float:
    """Return the largest relative residual at the end; infinite where none was computed."""
    return solution.history.residual[-1] if solution.history.residual else np.inf
