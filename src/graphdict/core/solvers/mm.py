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

Weights approach zero without reaching it; pruning ends with exact zeros, where setting an
edge to zero lowers ``F``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphdict.core.operators import linear_of
from graphdict.core.problem import Problem
from graphdict.core.solvers.base import Callback, History, Progress, Solution, warn_interrupted
from graphdict.core.solvers.passes import shares, total_objective, weighted_distances
from graphdict.core.terms import L1, NonNegative, Orthogonality, UnitBox
from graphdict.core.terms.base import name_of
from graphdict.engine.backends import compiled_exact, compiled_log
from graphdict.engine.executor import Staged, States, alike, as_precise, at_once, crew_for

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
    coefficients: NDArray | States,
    atoms: NDArray,
    *,
    fixed: str | None = None,
    max_iter: int = 1000,
    tol: float = 1e-4,
    callback: Callback | None = None,
    crew: Any = None,
    stage: Any = None,
) -> Solution:
    """Minimise a problem from a starting point; arguments as for :func:`bipds`.

    It stops when the relative size of the projected gradient, each entry weighted by its variable,
    is below ``tol`` for both variables, or when an iteration lowers the objective by less than a
    hundredth of ``tol``, relatively.
    """
    lack = mm_lacks(problem)
    if lack is not None:
        raise TypeError(f"solver='mm' cannot solve this problem: {lack}; solver='bipds' can")
    converged, interrupted, stopped = False, False, False
    with crew_for(problem, atoms, crew) as team:
        run = _Run(problem, fixed, team)
        if stage is None or stage.saved is None:
            point, history = run.start(coefficients, atoms), History()
        else:
            point, history = run.restore(stage.saved), History.resumed(stage.saved["history"])
        iteration = point.iteration
        try:
            for iteration in range(point.iteration + 1, max_iter + 1):
                following, residuals = run.update(point, stretch=True)
                if not following.objective <= point.objective:
                    following, residuals = run.update(point, stretch=False)
                if not following.objective <= point.objective + 1e-6 * abs(point.objective):
                    # Rounding has taken over, or overflow.
                    converged = bool(np.isfinite(following.objective))
                    break
                history.add(following.objective, residuals, iteration)
                gain = point.objective - following.objective
                point = run.settle(following)
                progress = Progress(
                    iteration, point.objective, history.residual[-1], point.atoms,
                    partial(team.collect, point.coefficients),
                )  # fmt: skip
                stopped = callback is not None and bool(callback(progress))
                settled = gain <= STANDSTILL * tol * max(abs(point.objective), 1.0)
                converged = not stopped and (history.residual[-1] <= tol or settled)
                if stopped or converged:
                    break
                if stage is not None:
                    stage.offer(partial(run.save, point, history))
        except KeyboardInterrupt:
            interrupted = True
            warn_interrupted(iteration)
        if fixed != "atoms" and not interrupted:
            point = run.prune(point)
    return Solution(
        point.atoms, partial(team.collect, point.coefficients), lambda: None, point.objective,
        history, iteration, converged, interrupted, stopped,
    )  # fmt: skip


class _Point(NamedTuple):
    """Where an iteration is, and what the next one needs of its samples."""

    iteration: int
    atoms: NDArray
    coefficients: States
    energies: States  # of fixed atoms, else None for every block
    distances: Any  # (p Delta)' Z
    objective: float


class _Run:
    """One call: the penalties, and the two updates by passes over the samples."""

    def __init__(self, problem: Problem, fixed: str | None, crew: Any):
        self.problem = problem
        self.linear = linear_of(problem.operator)
        self.fixed = fixed
        self.crew = crew
        self.sparsity = _strength(problem.atom_terms, L1)
        self.overlap = _strength(problem.atom_terms, Orthogonality)
        self.shrinkage = _strength(problem.coefficient_terms, L1)

    def start(self, coefficients: NDArray | States, atoms: NDArray) -> _Point:
        atoms = as_precise(atoms, self.problem)
        if self.fixed != "atoms":
            positive = atoms[atoms > 0]
            least = FLOOR * float(positive.mean()) if positive.size else 1.0
            atoms = np.maximum(atoms, least)
        states = self.crew.place(alike(coefficients, atoms))
        if self.fixed != "coefficients":
            states, _ = self.crew.run(_raise, [states])
        energies, distances = self._begin(atoms, states)
        objective = total_objective(self.crew, states, atoms) + self.problem.atoms.value(atoms)
        return _Point(0, atoms, states, energies, distances, objective)

    def restore(self, saved: dict[str, Any]) -> _Point:
        states, atoms = self.crew.place(saved["coefficients"]), saved["atoms"]
        energies, _ = self._begin(atoms, states)
        return _Point(
            saved["iteration"], atoms, states, energies, saved["distances"], saved["objective"]
        )

    def save(self, point: _Point, history: History) -> dict[str, Any]:
        """All that :meth:`restore` needs to go on as if nothing had happened."""
        return {
            "iteration": point.iteration, "atoms": point.atoms, "objective": point.objective,
            "coefficients": self.crew.collect(point.coefficients), "distances": point.distances,
            "history": history.until(point.iteration),
        }  # fmt: skip

    def _begin(self, atoms: NDArray, states: States) -> tuple[States, Any]:
        energies, (distances,) = self.crew.run(_begin, [states], atoms, self.fixed == "atoms")
        return energies, distances

    def settle(self, point: _Point) -> _Point:
        coefficients, energies = self.crew.settle(point.coefficients, point.energies)
        return point._replace(coefficients=coefficients, energies=energies)

    def update(self, point: _Point, stretch: bool) -> tuple[_Point, dict[str, float]]:
        """The next point, and residuals where it began."""
        residuals: dict[str, float] = {}
        atoms = point.atoms
        if self.fixed != "atoms":
            atoms = self._update_atoms(point, stretch, residuals)
        columns = [point.coefficients, point.energies]
        message = (atoms, self._images(atoms), self.fixed, self.shrinkage, stretch)
        states, sums = self.crew.run(_recode, columns, *message)
        value, square, scale, distances, in_modes = sums
        if isinstance(in_modes, np.ndarray):
            distances = self.linear.adjoint(in_modes)
        if self.fixed != "coefficients":
            residuals["coefficients"] = _relative(square, scale)
        return _Point(
            point.iteration + 1, atoms, states, point.energies,
            distances if self.fixed is None else point.distances,
            value + self.problem.atoms.value(atoms),
        ), residuals  # fmt: skip

    def _update_atoms(self, point: _Point, stretch: bool, residuals: dict[str, float]) -> NDArray:
        """``INNER`` updates of the atoms, for which ``Delta' Z`` is constant."""
        atoms = updated = point.atoms
        pull = point.distances + self.sparsity
        precision = np.finfo(atoms.dtype)
        tiny = precision.tiny
        least = max(LEAST_PULL, 100 * float(precision.eps))
        pull = np.maximum(pull, least * float(pull.mean()) + tiny)
        for inner in range(INNER):
            images = self._images(updated)
            _, (push, on_images) = self.crew.run(_push, [point.coefficients], updated, images)
            if isinstance(on_images, np.ndarray):
                push = self.linear.adjoint(on_images)
            # Never negative but for rounding, where resistances of strong edges cancel.
            push = np.maximum(push, tiny)
            others = self.overlap * (updated.sum(axis=0) - updated) if self.overlap else 0.0
            if inner == 0:
                residuals["atoms"] = _relative(
                    *_stationarity(atoms, pull + others - push, pull, np.inf)
                )
            root = np.sqrt(np.square(pull) + 4 * others * push) if self.overlap else pull
            updated = updated * _stretched(2 * push / (pull + root), stretch)
        return updated

    def _images(self, atoms: NDArray) -> NDArray | None:
        """What the operator sees of each atom, where it is the lift of a map of single graphs."""
        return None if self.linear is None else self.linear.apply(atoms)

    def prune(self, point: _Point) -> _Point:
        """Set to zero the small weights of each atom, as many as lower the objective."""
        atoms = point.atoms
        for share in 10.0 ** np.arange(-2, -13, -1):
            small = atoms < share * atoms.max(axis=1, keepdims=True)
            if not small.any():
                break
            candidate = np.where(small, 0, atoms)
            lower = total_objective(self.crew, point.coefficients, candidate)
            lower += self.problem.atoms.value(candidate)
            if lower <= point.objective:
                return point._replace(atoms=candidate, objective=lower)
        return point


# Passes ---------------------------------------------------------------------------------------


def _raise(problem: Problem, rows: slice, coefficients: NDArray) -> Any:
    return np.clip(coefficients, FLOOR, 1), ()


def _begin(problem: Problem, rows: slice, coefficients: NDArray, atoms: NDArray, keep: bool) -> Any:
    """The energies of atoms that stay as they are; ``(p Delta)' Z`` of those that do not."""
    if keep:
        return problem.fit.energies(atoms, rows), (0.0,)
    return None, (weighted_distances(problem, rows, coefficients),)


@Staged
def _push(
    problem: Problem, rows: slice, coefficients: NDArray, atoms: NDArray, images: NDArray | None
) -> Any:
    """``R = A**(p Delta, B)``, in two places: ``M*`` of the second is still to be taken."""
    if images is not None and compiled_log.serves(problem, atoms):
        job, on_images = compiled_log.push(problem, rows, coefficients, images)
        return job, lambda: (None, (0.0, on_images))
    if compiled_exact.serves(problem, atoms):
        job, push = compiled_exact.push(problem, rows, coefficients, atoms)
        return job, lambda: (None, (push, 0.0))
    return at_once(_push_plainly, problem, rows, coefficients, atoms, images)


def _push_plainly(
    problem: Problem, rows: slice, coefficients: NDArray, atoms: NDArray, images: NDArray | None
) -> Any:
    weighted = shares(problem, rows, coefficients) * coefficients
    if images is None:
        slope = problem.barrier.slope(problem.operator.forward(coefficients, atoms))
        return None, (problem.operator.adjoint_atoms(weighted, slope), 0.0)
    slope = problem.barrier.slope(np.tensordot(coefficients, images, 1))
    return None, (0.0, np.tensordot(weighted.T, slope, 1))


@Staged
def _recode(
    problem: Problem,
    rows: slice,
    coefficients: NDArray,
    energies: NDArray | None,
    atoms: NDArray,
    images: NDArray | None,
    fixed: str | None,
    shrinkage: float,
    stretch: bool,
) -> Any:
    """``INNER`` updates of the coefficients; the objective, residuals and ``(p Delta)' Z`` there.

    The last is in two places: of powers in modes, ``M*`` of the second is still to be taken.
    """
    given = problem, rows, coefficients
    how = shrinkage, INNER, stretch
    if fixed is None and images is not None and compiled_log.serves(problem, atoms):
        job, found = compiled_log.recode(*given, atoms, images, *how)
    elif fixed is None and compiled_exact.serves(problem, atoms):
        job, found = compiled_exact.recode(*given, atoms, *how)
    else:
        return at_once(_recode_plainly, *given, energies, atoms, fixed, shrinkage, stretch)

    def read() -> Any:
        value, *squares = found.numbers.tolist()
        value += problem.coefficients.value(found.coefficients, rows) / problem.total
        powers = compiled_log.of_powers(problem)
        sums = (0.0, found.distances) if powers else (found.distances, 0.0)
        return found.coefficients, (value, *squares, *sums)

    return job, read


def _recode_plainly(
    problem: Problem,
    rows: slice,
    coefficients: NDArray,
    energies: NDArray | None,
    atoms: NDArray,
    fixed: str | None,
    shrinkage: float,
    stretch: bool,
) -> Any:
    operator, barrier = problem.operator, problem.barrier
    if energies is None:
        energies = problem.fit.energies(atoms, rows)
    squares = (0.0, 0.0)
    if fixed != "coefficients":
        pull = energies + shrinkage
        for inner in range(INNER):
            slope = barrier.slope(operator.forward(coefficients, atoms))
            push = operator.adjoint_coefficients(slope, atoms)
            if inner == 0:
                squares = _stationarity(coefficients, pull - push, pull, 1.0)
            # Where the push is the stronger by far, the quotient could overflow.
            ratio = np.divide(push, pull, out=np.full_like(push, 1e6), where=push < 1e6 * pull)
            coefficients = np.minimum(1, coefficients * _stretched(ratio, stretch))
    image = operator.forward(coefficients, atoms)
    value = problem.samples_value(rows, coefficients, energies, image)
    value += problem.coefficients.value(coefficients, rows) / problem.total
    distances = weighted_distances(problem, rows, coefficients) if fixed is None else 0.0
    return coefficients, (value, *squares, distances, 0.0)


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
