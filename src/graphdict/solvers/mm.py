"""Majorise-minimise (MM): multiplicative updates that lower the objective at every step.

``h`` is convex and decreasing in what the operator returns, and the operator is a sum over atoms
and edges of nonnegative parts, so Jensen's inequality at the current point gives an upper bound
of ``F`` that separates over every weight, and one that separates over every coefficient. With
``B = -grad h(A(Delta, W))`` (``1/d`` for the log barrier, the pseudo-inverse for log-det) their
minimisers are

    w     <- 2 w R / (C + sqrt(C^2 + 4 O R))    R = A**(p Delta, B),  C = (p Delta)' Z + alpha_w
    delta <- min(1, delta A*(B, W) / (e + alpha_c))

where ``O = alpha_orth sum_{k' != k} w_k'`` comes from bounding each product of two atoms by
squares. No step size exists and nothing leaves its domain. While one block is updated its ``C``
(or ``e``) is constant, so several inner updates share one pass over the data.

Factors raised to the power 1.5 take longer steps in the same direction. They are tried first and
kept where they lower ``F``; the power one always does.

Weights approach zero without reaching it; :func:`_prune` ends with exact zeros, where setting an
edge to zero lowers ``F``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.problem import Problem
from graphdict.solvers.base import Callback, History, Progress, Solution, warn_interrupted
from graphdict.solvers.blocks import Blocks, parallel_blocks, row_blocks
from graphdict.terms import L1, NonNegative, Orthogonality, UnitBox
from graphdict.terms.base import name_of

__all__ = ["mm", "mm_lacks"]

INNER = 4  # updates of a block for each pass over the data
FLOOR = 1e-4  # starting coefficients are at least this: a zero would never leave
STANDSTILL = 1e-2  # relative gain of an iteration, as a share of tol, that counts as none
# Of the mean: without it, nodes that never differ would attract infinite weight. It is larger in
# single precision, since the weights of the other edges must survive beside that weight.
LEAST_PULL = 1e-10


def mm_lacks(problem: Problem) -> str | None:
    """Why this problem is beyond the solver, or None where it is not."""
    if not hasattr(problem.barrier, "slope"):
        return f"the barrier {name_of(problem.barrier)} lacks slope(rows)"
    for term in problem.atom_terms:
        if not isinstance(term, (NonNegative, L1, Orthogonality)):
            return f"the atom prior {name_of(term)} has no multiplicative update"
    for term in problem.coefficient_terms:
        if not isinstance(term, (UnitBox, L1)):
            return f"the coefficient prior {name_of(term)} has no multiplicative update"
    return None


def mm(
    problem: Problem,
    coefficients: NDArray,
    atoms: NDArray,
    *,
    fixed: str | None = None,
    max_iter: int = 1000,
    tol: float = 1e-4,
    callback: Callback | None = None,
) -> Solution:
    """Minimise a problem from a starting point; arguments as for :func:`bipds`.

    It stops when the relative size of the projected gradient, each entry weighted by its variable,
    is below ``tol`` for both variables, or when an iteration lowers the objective by less than a
    hundredth of ``tol``, relatively.
    """
    lack = mm_lacks(problem)
    if lack is not None:
        raise TypeError(f"solver='mm' cannot solve this problem: {lack}; solver='bipds' can")
    if fixed != "coefficients":
        coefficients = np.clip(coefficients, FLOOR, 1)
    if fixed != "atoms":
        positive = atoms[atoms > 0]
        least = FLOOR * float(positive.mean()) if positive.size else 1.0
        atoms = np.maximum(atoms, least)
    image_bytes = problem.operator.forward(coefficients[:1], atoms).nbytes
    slices = row_blocks(len(coefficients), image_bytes * len(atoms))
    history = History()
    iteration, converged, interrupted, stopped = 0, False, False, False
    objective = problem.objective(coefficients, atoms)
    with parallel_blocks(slices) as blocks:
        run = _Run(problem, fixed, blocks, coefficients)
        try:
            for iteration in range(1, max_iter + 1):
                updated, recoded, lower, residuals = run.update(coefficients, atoms, stretch=True)
                if not lower <= objective:
                    updated, recoded, lower, residuals = run.update(
                        coefficients, atoms, stretch=False
                    )
                if not lower <= objective + 1e-6 * abs(objective):
                    converged = bool(np.isfinite(lower))  # rounding has taken over, or overflow
                    break
                run.commit()
                history.add(lower, residuals, iteration)
                gain = objective - lower
                atoms, coefficients, objective = updated, recoded, lower
                if callback is not None and callback(
                    Progress(iteration, objective, history.residual[-1], atoms, coefficients)
                ):
                    stopped = True
                    break
                settled = gain <= STANDSTILL * tol * max(abs(objective), 1.0)
                if history.residual[-1] <= tol or settled:
                    converged = True
                    break
        except KeyboardInterrupt:
            interrupted = True
            warn_interrupted(iteration)
    if fixed != "atoms" and not interrupted:
        atoms, objective = _prune(problem, coefficients, atoms, objective)
    return Solution(
        atoms, coefficients, None, objective, history, iteration, converged, interrupted, stopped
    )


class _Run:
    """One call: the penalties, and the two block updates over the blocks of samples."""

    def __init__(self, problem: Problem, fixed: str | None, blocks: Blocks, coefficients: NDArray):
        self.problem = problem
        self.fixed = fixed
        self.blocks = blocks
        self.weights = problem.weights.astype(coefficients.dtype)[:, None]
        self.sparsity = _strength(problem.atom_terms, L1)
        self.overlap = _strength(problem.atom_terms, Orthogonality)
        self.shrinkage = _strength(problem.coefficient_terms, L1)
        self.energies: NDArray | None = None  # of fixed atoms
        self.distances: Any = sum(
            blocks.map(lambda rows: self._distances(rows, coefficients[rows]))
        )
        self.next_distances = self.distances

    def _distances(self, rows: slice, coefficients: NDArray) -> NDArray:
        return self.problem.fit.weighted_distances(self.weights[rows] * coefficients, rows)

    def update(
        self, coefficients: NDArray, atoms: NDArray, stretch: bool
    ) -> tuple[NDArray, NDArray, float, dict[str, float]]:
        """New atoms and coefficients, the objective they reach, residuals where they began."""
        residuals: dict[str, float] = {}
        updated = self._update_atoms(coefficients, atoms, stretch, residuals)
        recoded, lower = self._update_coefficients(coefficients, updated, stretch, residuals)
        return updated, recoded, lower, residuals

    def commit(self) -> None:
        """Take the last update as the point to go on from."""
        self.distances = self.next_distances

    def _update_atoms(
        self, coefficients: NDArray, atoms: NDArray, stretch: bool, residuals: dict[str, float]
    ) -> NDArray:
        """``INNER`` updates of the atoms, for which ``Delta' Z`` is constant."""
        if self.fixed == "atoms":
            return atoms
        operator, barrier = self.problem.operator, self.problem.barrier

        def push_of(rows: slice) -> NDArray:
            mixed = coefficients[rows]
            slope = barrier.slope(operator.forward(mixed, updated))
            return operator.adjoint_atoms(self.weights[rows] * mixed, slope)

        pull = self.distances + self.sparsity
        precision = np.finfo(atoms.dtype)
        tiny = precision.tiny
        least = max(LEAST_PULL, 100 * float(precision.eps))
        pull = np.maximum(pull, least * float(pull.mean()) + tiny)
        updated = atoms
        for inner in range(INNER):
            # Never negative but for rounding, where resistances of strong edges cancel.
            push = np.maximum(sum(self.blocks.map(push_of)), tiny)
            others = self.overlap * (updated.sum(axis=0) - updated) if self.overlap else 0.0
            if inner == 0:
                residuals["atoms"] = _relative(
                    *_stationarity(atoms, pull + others - push, pull, np.inf)
                )
            root = np.sqrt(np.square(pull) + 4 * others * push) if self.overlap else pull
            updated = updated * _stretched(2 * push / (pull + root), stretch)
        return updated

    def _update_coefficients(
        self, coefficients: NDArray, atoms: NDArray, stretch: bool, residuals: dict[str, float]
    ) -> tuple[NDArray, float]:
        """``INNER`` updates of the coefficients, and the objective that they reach.

        All of a block is done while it is in cache: its energies, its updates, its share of the
        objective, and its share of the ``Delta' Z`` that the atoms need next.
        """
        problem, operator, barrier = self.problem, self.problem.operator, self.problem.barrier
        result = np.empty_like(coefficients)
        if self.fixed == "atoms" and self.energies is None:
            self.energies = problem.fit.energies(atoms)

        def visit(rows: slice) -> tuple[Any, ...]:
            recoded = coefficients[rows]
            if self.energies is None:
                energies = problem.fit.energies(atoms, rows)
            else:
                energies = self.energies[rows]
            squares = (0.0, 0.0)
            if self.fixed != "coefficients":
                pull = energies + self.shrinkage
                for inner in range(INNER):
                    slope = barrier.slope(operator.forward(recoded, atoms))
                    push = operator.adjoint_coefficients(slope, atoms)
                    if inner == 0:
                        squares = _stationarity(recoded, pull - push, pull, 1.0)
                    # Where the push is the stronger by far, the quotient could overflow.
                    ratio = np.divide(
                        push, pull, out=np.full_like(push, 1e6), where=push < 1e6 * pull
                    )
                    recoded = np.minimum(1, recoded * _stretched(ratio, stretch))
            result[rows] = recoded
            image = operator.forward(recoded, atoms)
            value = problem.samples_value(rows, recoded, energies, image)
            learned = self.fixed is None
            return value, *squares, self._distances(rows, recoded) if learned else 0.0

        parts = list(zip(*self.blocks.map(visit)))
        if self.fixed != "coefficients":
            residuals["coefficients"] = _relative(sum(parts[1]), sum(parts[2]))
        if self.fixed is None:
            self.next_distances = sum(parts[3])
        return result, sum(parts[0]) + problem.priors_value(result, atoms)


def _stretched(factor: NDArray, stretch: bool) -> NDArray:
    """``factor``, or its power 1.5, which is cheaper than other powers."""
    return factor * np.sqrt(factor) if stretch else factor


def _strength(terms: Sequence[Any], kind: Any) -> float:
    return float(sum(term.alpha for term in terms if isinstance(term, kind)))


def _stationarity(
    x: NDArray, gradient: NDArray, scale: NDArray, high: float
) -> tuple[float, float]:
    """Squared size of the projected gradient, and of ``scale``, each weighted by ``x``."""
    free = x * np.where((x >= high) & (gradient < 0), 0, gradient)
    return float(np.vdot(free, free)), float(np.vdot(x * scale, x * scale))


def _relative(square: float, reference: float) -> float:
    return (square / max(reference, 1e-300)) ** 0.5


def _prune(
    problem: Problem, coefficients: NDArray, atoms: NDArray, objective: float
) -> tuple[NDArray, float]:
    """Set to zero the small weights of each atom, as many as lower the objective."""
    for share in 10.0 ** np.arange(-2, -13, -1):
        small = atoms < share * atoms.max(axis=1, keepdims=True)
        if not small.any():
            break
        candidate = np.where(small, 0, atoms)
        lower = problem.objective(coefficients, candidate)
        if lower <= objective:
            return candidate, lower
    return atoms, objective
