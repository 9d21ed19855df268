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

Weights approach zero without reaching it; :func:`_prune` ends with exact zeros, where setting an
edge to zero lowers ``F``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphdict.problem import Problem
from graphdict.solvers.base import Callback, History, Progress, Solution, warn_interrupted
from graphdict.terms import L1, NonNegative, Orthogonality, UnitBox
from graphdict.terms.base import name_of

__all__ = ["mm", "mm_lacks"]

INNER = 4  # updates of a block for each pass over the data
FLOOR = 1e-4  # starting coefficients are at least this: a zero would never leave
LEAST_PULL = 1e-10  # of the mean: without it, nodes that never differ would attract infinite weight


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

    It stops once an iteration lowers the objective by less than ``tol`` times its own size for
    each atom-sized unit, and the stationarity of both variables is reported in the history.
    """
    lack = mm_lacks(problem)
    if lack is not None:
        raise TypeError(f"solver='mm' cannot solve this problem: {lack}; solver='bipds' can")
    weights = problem.weights.astype(coefficients.dtype)[:, None]
    sparsity = sum(t.alpha for t in problem.atom_terms if isinstance(t, L1))
    overlap = sum(t.alpha for t in problem.atom_terms if isinstance(t, Orthogonality))
    shrinkage = sum(t.alpha for t in problem.coefficient_terms if isinstance(t, L1))
    operator, barrier, fit = problem.operator, problem.barrier, problem.fit
    tiny = np.finfo(atoms.dtype).tiny

    if fixed != "coefficients":
        coefficients = np.clip(coefficients, FLOOR, 1)
    if fixed != "atoms":
        positive = atoms[atoms > 0]
        least = FLOOR * float(positive.mean()) if positive.size else 1.0
        atoms = np.maximum(atoms, least)

    history = History()
    objective = problem.objective(coefficients, atoms)
    iteration, converged, interrupted = 0, False, False
    energies = None
    try:
        for iteration in range(1, max_iter + 1):
            residuals = {}
            updated = atoms
            if fixed != "atoms":
                weighted = weights * coefficients
                pull = fit.sweep(weighted, atoms)[0] + sparsity
                pull = np.maximum(pull, LEAST_PULL * float(pull.mean()) + tiny)
                for inner in range(INNER):
                    slope = barrier.slope(operator.forward(coefficients, updated))
                    push = operator.adjoint_atoms(weighted, slope)
                    others = overlap * (updated.sum(axis=0) - updated) if overlap else 0.0
                    if inner == 0:
                        residuals["atoms"] = _stationarity(atoms, pull + others - push, pull)
                    root = np.sqrt(np.square(pull) + 4 * others * push) if overlap else pull
                    updated = updated * (2 * push / (pull + root))
            recoded = coefficients
            if fixed != "coefficients":
                if energies is None or fixed != "atoms":
                    energies = fit.energies(updated)
                pull = energies + shrinkage
                for inner in range(INNER):
                    slope = barrier.slope(operator.forward(recoded, updated))
                    push = operator.adjoint_coefficients(slope, updated)
                    if inner == 0:
                        residuals["coefficients"] = _stationarity(
                            coefficients, pull - push, pull, 1.0
                        )
                    pushed = recoded * push
                    recoded = np.divide(pushed, pull, out=np.ones_like(pushed), where=pushed < pull)
            lower = problem.objective(recoded, updated)
            if not lower <= objective + 1e-6 * abs(objective):
                converged = True  # rounding has taken over: the last point is as low as it gets
                break
            history.add(lower, residuals)
            gain = objective - lower
            atoms, coefficients, objective = updated, recoded, lower
            if callback is not None and callback(
                Progress(iteration, objective, history.residual[-1], atoms, coefficients)
            ):
                break
            if gain <= tol * 1e-2 * max(abs(objective), 1.0):
                converged = True
                break
    except KeyboardInterrupt:
        interrupted = True
        warn_interrupted(iteration)
    if fixed != "atoms" and not interrupted:
        atoms, objective = _prune(problem, coefficients, atoms, objective)
    return Solution(
        atoms, coefficients, None, objective, history, iteration, converged, interrupted
    )


def _stationarity(
    x: NDArray, gradient: NDArray, scale: NDArray, high: float = float("inf")
) -> float:
    """Size of the projected gradient, each entry weighted by its value, against ``scale``."""
    free = np.where((x >= high) & (gradient < 0), 0, gradient)
    size = float(np.linalg.norm(x * free))
    return size / max(float(np.linalg.norm(x * scale)), 1e-300)


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
