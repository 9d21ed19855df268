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
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphdict.core.problem import Problem
from graphdict.core.protocols import Backend, BlockStates, Deferred, Executor, deferred
from graphdict.core.solvers.base import History, signal_precision
from graphdict.core.solvers.descent import FLOOR, Descent
from graphdict.core.terms import L1, NonNegative, Orthogonality, UnitBox
from graphdict.core.terms.base import name_of

__all__ = [
    "Update",
    "at_least",
    "mm",
    "mm_lacks",
    "over_relax",
    "stationarity",
    "update_coefficients",
]

INNER = 4  # updates of a block for each pass over the data
# Of the mean: without it, nodes that never differ would attract infinite weight. It is larger in
# single precision, since the weights of the other edges must survive beside that weight.
LEAST_COST = 1e-10


def at_least(cost: NDArray[np.float64], dtype: Any) -> NDArray[np.float64]:
    """Return what weights cost (K, E), with no cost next to nothing in numbers of that type."""
    precision = np.finfo(dtype)
    least = max(LEAST_COST, 100 * float(precision.eps))
    raised: NDArray[np.float64] = np.maximum(
        cost, least * (float(cost.mean()) or 1.0) + precision.tiny
    )
    return raised


def mm_lacks(problem: Problem) -> str | None:
    """Return why MM cannot solve this problem, or None where it can."""
    if not hasattr(problem.barrier, "slope"):
        return f"the barrier {name_of(problem.barrier)} lacks slope(rows)"
    for term in problem.atom_terms:
        if not isinstance(term, (NonNegative, L1, Orthogonality)):
            return f"the atom prior {name_of(term)} has no multiplicative update"
    for term in problem.coefficient_terms:
        if not isinstance(term, (UnitBox, L1)):
            return f"the coefficient prior {name_of(term)} has no multiplicative update"
    return None


class Update(NamedTuple):
    """What multiplicative updates of the coefficients need, the same for all samples."""

    atoms: NDArray[np.float64]
    images: NDArray[np.float64] | None  # ``M(W)``, where the operator is the lift of an ``M``
    energies: NDArray[np.float64] | None  # of fixed atoms, else they are found
    fixed: str | None
    shrinkage: float  # what a coefficient costs beside its energy
    rounds: int
    over_relaxed: bool


class _Point(NamedTuple):
    """One point of the iteration, and the sums over samples that the next step needs."""

    iteration: int
    atoms: NDArray[np.float64]
    coefficients: BlockStates
    energies: BlockStates  # of fixed atoms, else None for every block
    distances: Any  # (p Delta)' Z
    objective: float


class _Run(Descent):
    """Steps that lower the objective, until one gains next to nothing or both residuals are small.

    Residuals are relative sizes of the projected gradient, each entry weighted by its variable.
    """

    def __init__(self, executor: Executor, fixed: str | None, tol: float):
        super().__init__(executor, fixed, tol)
        problem = self.problem
        if (lack := mm_lacks(problem)) is not None:
            raise TypeError(f"solver='mm' cannot solve this problem: {lack}; solver='bipds' can")
        self.linear = problem.linear
        self.sparsity = _strength(problem.atom_terms, L1)
        self.overlap = _strength(problem.atom_terms, Orthogonality)
        self.shrinkage = _strength(problem.coefficient_terms, L1)

    def start(
        self, coefficients: NDArray[np.float64] | BlockStates, atoms: NDArray[np.float64]
    ) -> _Point:
        atoms = signal_precision(atoms, self.problem)
        if self.fixed != "atoms":
            positive = atoms[atoms > 0]
            least = FLOOR * float(positive.mean()) if positive.size else 1.0
            atoms = np.maximum(atoms, least)
        states = self.raised(self.scatter(coefficients, atoms))
        energies, distances = self._begin(atoms, states)
        return _Point(0, atoms, states, energies, distances, self.objective(states, atoms))

    def restore(self, saved: dict[str, Any], states: BlockStates) -> _Point:
        atoms = saved["atoms"]
        energies, _ = self._begin(atoms, states)
        return _Point(
            saved["iteration"], atoms, states, energies, saved["distances"], saved["objective"]
        )

    def save(self, point: _Point, history: History) -> dict[str, Any]:
        return {**super().save(point, history), "distances": point.distances}

    def _begin(self, atoms: NDArray[np.float64], states: BlockStates) -> tuple[BlockStates, Any]:
        energies, (distances,) = self.executor.map_blocks(
            _begin, [states], atoms, self.fixed == "atoms"
        )
        return energies, distances

    def persist(self, point: _Point) -> _Point:
        coefficients, energies = self.executor.persist(point.coefficients, point.energies)
        return point._replace(coefficients=coefficients, energies=energies)

    def update(self, point: _Point) -> tuple[_Point, dict[str, float]]:
        """Return the next point, by longer steps where these descend, and residuals before it."""
        found = self._update(point, over_relaxed=True)
        if found[0].objective <= point.objective:
            return found
        return self._update(point, over_relaxed=False)

    def _update(self, point: _Point, over_relaxed: bool) -> tuple[_Point, dict[str, float]]:
        residuals: dict[str, float] = {}
        atoms = point.atoms
        if self.fixed != "atoms":
            atoms = self._update_atoms(point, over_relaxed, residuals)
        message = Update(
            atoms, self.problem.images(atoms), None, self.fixed, self.shrinkage, INNER,
            over_relaxed,
        )  # fmt: skip
        columns = [point.coefficients, point.energies]
        states, sums = self.executor.map_blocks(update_coefficients, columns, message)
        value, square, scale, distances, of_images = sums
        if isinstance(of_images, np.ndarray):
            distances = self.linear.adjoint(of_images)
        if self.fixed != "coefficients":
            residuals["coefficients"] = _relative(square, scale)
        return _Point(
            point.iteration + 1, atoms, states, point.energies,
            distances if self.fixed is None else point.distances,
            value + self.problem.atoms.value(atoms),
        ), residuals  # fmt: skip

    def _update_atoms(
        self, point: _Point, over_relaxed: bool, residuals: dict[str, float]
    ) -> NDArray[np.float64]:
        """Take ``INNER`` updates of the atoms, for which ``Delta' Z`` is constant."""
        atoms = updated = point.atoms
        cost = point.distances + self.sparsity
        tiny = np.finfo(atoms.dtype).tiny
        cost = at_least(cost, atoms.dtype)
        for inner in range(INNER):
            images = self.problem.images(updated)
            columns = [point.coefficients]
            _, (gain, of_images) = self.executor.map_blocks(_atom_slopes, columns, updated, images)
            if isinstance(of_images, np.ndarray):
                gain = self.linear.adjoint(of_images)
            # Never negative but for rounding, where resistances of strong edges cancel.
            gain = np.maximum(gain, tiny)
            others = self.overlap * (updated.sum(axis=0) - updated) if self.overlap else 0.0
            if inner == 0:
                squares = stationarity(atoms, cost + others - gain, cost, np.inf)
                residuals["atoms"] = _relative(*squares)
            root = np.sqrt(np.square(cost) + 4 * others * gain) if self.overlap else cost
            factor = 2 * gain / (cost + root)
            updated = updated * (over_relax(factor) if over_relaxed else factor)
        return updated

    def finish(self, point: _Point) -> _Point:
        """Set to zero the small weights of each atom, as many as lower the objective."""
        atoms = point.atoms
        if self.fixed == "atoms":
            return point
        for share in 10.0 ** np.arange(-2, -13, -1):
            small = atoms < share * atoms.max(axis=1, keepdims=True)
            if not small.any():
                break
            candidate = np.where(small, 0, atoms)
            lower = self.objective(point.coefficients, candidate)
            if lower <= point.objective:
                return point._replace(atoms=candidate, objective=lower)
        return point


mm = _Run.solve


# Steps ----------------------------------------------------------------------------------------


def _begin(
    backend: Backend,
    rows: slice,
    coefficients: NDArray[np.float64],
    atoms: NDArray[np.float64],
    keep: bool,
) -> Any:
    """Find the energies of atoms that stay as they are; ``(p Delta)' Z`` of those that do not."""
    if keep:
        return backend.problem.fit.energies(atoms, rows), (0.0,)
    return None, (backend.problem.weighted_distances(rows, coefficients),)


@deferred
def _atom_slopes(
    backend: Backend,
    rows: slice,
    coefficients: NDArray[np.float64],
    atoms: NDArray[np.float64],
    images: NDArray[np.float64] | None,
) -> Deferred:
    return backend.atom_slopes(rows, coefficients, atoms, images)


@deferred
def update_coefficients(
    backend: Backend,
    rows: slice,
    coefficients: NDArray[np.float64],
    energies: NDArray[np.float64] | None,
    update: Update,
) -> Deferred:
    """Take the multiplicative updates of a block."""
    return backend.update_coefficients(rows, coefficients, update._replace(energies=energies))


def over_relax(factor: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the power 1.5 of multiplicative factors: a longer step in the same direction."""
    return factor * np.sqrt(factor)


def _strength(terms: Sequence[Any], kind: Any) -> float:
    return float(sum(term.alpha for term in terms if isinstance(term, kind)))


def stationarity(
    x: NDArray[np.float64], gradient: NDArray[np.float64], scale: NDArray[np.float64], high: float
) -> tuple[float, float]:
    """Return squared sizes of the projected gradient and of ``scale``, each weighted by ``x``."""
    free = x * np.where((x >= high) & (gradient < 0), 0, gradient)
    return float(np.vdot(free, free)), float(np.vdot(x * scale, x * scale))


def _relative(square: float, reference: float) -> float:
    result: float = (square / max(reference, 1e-300)) ** 0.5
    return result
