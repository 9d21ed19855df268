"""Majorise-minimise (MM): multiplicative updates that lower the objective at every step.

``h`` is convex and decreasing in what the operator returns, and the operator is a sum over atoms
and edges of nonnegative parts, so Jensen's inequality at the current point gives an upper bound
of ``F`` that separates over every weight, and one that separates over every coefficient. With
``B = -grad h(A(Delta, W))`` (``1/d`` for the log barrier, the pseudo-inverse for log-det) their
minimisers are

    w     <- 2 w R / (C + sqrt(C^2 + 4 O R))    R = A**(p Delta, B),  C = (p Delta)' Z + alpha_w
    delta <- min(1, delta A*(B, W) / (e + alpha_c))

where ``R`` and ``A*(B, W)`` are the slopes of the barrier in weights and in coefficients, and
``O = alpha_orth sum_{k' != k} w_k'`` comes from bounding each product of two atoms by squares. No
step size exists and nothing leaves its domain. While one block is updated its ``C`` (or ``e``) is
constant, so several inner updates share one pass over the data.

Factors raised to the power 1.5 take longer steps in the same direction. They are tried first and
kept where they lower ``F``; the power one always does.

Weights approach zero without reaching it; pruning ends with exact zeros, where setting an
edge to zero lowers ``F``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from graphdict.core.annotations import Floats
from graphdict.core.protocols import Backend, BlockStates, Deferred, Executor, returns_deferred
from graphdict.core.solvers.base import (
    History,
    relative_size,
    signal_precision,
)
from graphdict.core.solvers.descent import FLOOR, Descent
from graphdict.core.solvers.mm_terms import mm_lacks
from graphdict.core.terms import L1, Orthogonality
from graphdict.core.terms.base import total_alpha

INNER = 4  # updates of a block for each pass over the data
# Of the mean: without it, nodes that never differ would attract infinite weight. It is larger in
# single precision, since the weights of the other edges must survive beside that weight.
LEAST_COST = 1e-10


def at_least(cost: Floats, dtype: Any) -> Floats:
    """Return costs (K, E) raised to a small positive number, since updates divide by them."""
    precision = np.finfo(dtype)
    least = max(LEAST_COST, 100 * float(precision.eps))
    raised: Floats = np.maximum(cost, least * (float(cost.mean()) or 1.0) + precision.tiny)
    return raised


class Update(NamedTuple):
    """What multiplicative updates of the coefficients need, the same for all samples."""

    atoms: Floats
    atom_images: Floats | None  # ``M(W)``, where the operator lifts a map ``M``
    coefficient_alpha: float  # of the L1 prior: what a coefficient costs beside its energy
    over_relaxed: bool
    fixed: str | None = None
    energies: Floats | None = None  # of fixed atoms, else they are found
    rounds: int = INNER


def _refuse(lack: str | None) -> None:
    """Raise TypeError with what a problem lacks for MM, unless that is None."""
    if lack is not None:
        raise TypeError(f"solver='mm' cannot solve this problem: {lack}; solver='bipds' can")


class _Point(NamedTuple):
    """One point of the iteration, and the sums over samples that the next step needs."""

    iteration: int
    atoms: Floats
    coefficients: BlockStates
    energies: BlockStates  # of fixed atoms, else None for every block
    distances: Any  # (p Delta)' Z
    objective: float


class MajoriseMinimise(Descent):
    """Majorise-minimise updates, for problems where :func:`mm_lacks` names no lack.

    In the end, small weights are set to zero where that lowers the objective. Residuals are
    relative sizes of the projected gradient, each entry times that of its variable.
    """

    def __init__(self, executor: Executor, fixed: str | None, tol: float):
        super().__init__(executor, fixed, tol)
        problem = self.problem
        _refuse(mm_lacks(problem.barrier, problem.atom_terms, problem.coefficient_terms))
        self.linear = problem.linear
        self.atom_alpha = total_alpha(problem.atom_terms, L1)
        self.overlap_alpha = total_alpha(problem.atom_terms, Orthogonality)
        self.coefficient_alpha = total_alpha(problem.coefficient_terms, L1)

    def start(self, coefficients: Floats | BlockStates, atoms: Floats) -> _Point:
        problem = self.problem
        lack = mm_lacks(
            problem.barrier, problem.atom_terms, problem.coefficient_terms,
            self.linear, n_edges=atoms.shape[1],
        )  # fmt: skip
        _refuse(lack)
        atoms = signal_precision(atoms, problem)
        if self.fixed != "atoms":
            positive = atoms[atoms > 0]
            least = FLOOR * float(positive.mean()) if positive.size else 1.0
            atoms = np.maximum(atoms, least)
        states = self.lift_zeros(self.scatter(coefficients, atoms))
        energies, distances = self._begin(atoms, states)
        return _Point(
            iteration=0, atoms=atoms, coefficients=states, energies=energies, distances=distances,
            objective=self.objective(states, atoms),
        )  # fmt: skip

    def restore(self, saved: dict[str, Any], states: BlockStates) -> _Point:
        energies, _ = self._begin(saved["atoms"], states)
        kept = {name: saved[name] for name in ("iteration", "atoms", "distances", "objective")}
        return _Point(**kept, coefficients=states, energies=energies)

    def save(self, point: _Point, history: History) -> dict[str, Any]:
        return {**super().save(point, history), "distances": point.distances}

    def _begin(self, atoms: Floats, states: BlockStates) -> tuple[BlockStates, Any]:
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
        atom_images = self.problem.atom_images(atoms)
        message = Update(atoms, atom_images, self.coefficient_alpha, over_relaxed, fixed=self.fixed)
        columns = [point.coefficients, point.energies]
        states, sums = self.executor.map_blocks(update_coefficients, columns, message)
        value, square, scale, distances, before_adjoint = sums
        if isinstance(before_adjoint, np.ndarray):
            distances = self.linear.adjoint(before_adjoint)
        if self.fixed != "coefficients":
            residuals["coefficients"] = relative_size(square**0.5, scale**0.5)
        following = point._replace(
            iteration=point.iteration + 1, atoms=atoms, coefficients=states,
            objective=value + self.problem.atom_priors.value(atoms),
        )  # fmt: skip
        return following if self.fixed else following._replace(distances=distances), residuals

    def _update_atoms(
        self, point: _Point, over_relaxed: bool, residuals: dict[str, float]
    ) -> Floats:
        """Return the atoms after ``INNER`` updates; add their residual to ``residuals``."""
        atoms = updated = point.atoms
        cost = point.distances + self.atom_alpha
        tiny = np.finfo(atoms.dtype).tiny
        cost = at_least(cost, atoms.dtype)
        for inner in range(INNER):
            atom_images = self.problem.atom_images(updated)
            columns = [point.coefficients]
            found = self.executor.map_blocks(_atom_slopes, columns, updated, atom_images)
            slopes, before_adjoint = found[1]
            if isinstance(before_adjoint, np.ndarray):
                slopes = self.linear.adjoint(before_adjoint)
            # Never negative but for rounding, where resistances of strong edges cancel.
            slopes = np.maximum(slopes, tiny)
            others: Any = 0.0
            if self.overlap_alpha:
                others = self.overlap_alpha * (updated.sum(axis=0) - updated)
            if inner == 0:
                square, scale = stationarity(atoms, cost + others - slopes, cost, np.inf)
                residuals["atoms"] = relative_size(square**0.5, scale**0.5)
            factor = atom_factors(cost, others, slopes)
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


mm = MajoriseMinimise.minimise


# Steps ----------------------------------------------------------------------------------------


def _begin(backend: Backend, rows: slice, coefficients: Floats, atoms: Floats, keep: bool) -> Any:
    """Return energies as state, where atoms are to ``keep``, else ``(p Delta)' Z`` as sums."""
    if keep:
        return backend.problem.signal_term.energies(atoms, rows), (0.0,)
    return None, (backend.problem.weighted_distances(rows, coefficients),)


@returns_deferred
def _atom_slopes(
    backend: Backend, rows: slice, coefficients: Floats, atoms: Floats, atom_images: Floats | None
) -> Deferred:
    return backend.atom_slopes(rows, coefficients, atoms, atom_images)


@returns_deferred
def update_coefficients(
    backend: Backend, rows: slice, coefficients: Floats, energies: Floats | None, update: Update
) -> Deferred:
    """Return the coefficients of a block after multiplicative updates, and sums over them."""
    return backend.update_coefficients(rows, coefficients, update._replace(energies=energies))


def atom_factors(cost: Floats, others: Floats | float, slopes: Floats) -> Floats:
    """Return the factors (K, E) that take weights to the minimiser of the bound.

    ``cost``, ``others`` and ``slopes`` are ``C``, ``O`` and ``R`` of the module's formula.
    """
    root = np.sqrt(np.square(cost) + 4 * others * slopes) if np.any(others) else cost
    result: Floats = 2 * slopes / (cost + root)
    return result


def over_relax(factor: Floats) -> Floats:
    """Return the power 1.5 of multiplicative factors: a longer step in the same direction."""
    return factor * np.sqrt(factor)


def stationarity(x: Floats, gradient: Floats, scale: Floats, high: float) -> tuple[float, float]:
    """Return the squared norms of ``x`` times the projected gradient, and of ``x * scale``.

    ``x`` is in the interval from 0 to ``high``.
    """
    free = x * np.where((x >= high) & (gradient < 0), 0, gradient)
    return float(np.vdot(free, free)), float(np.vdot(x * scale, x * scale))
