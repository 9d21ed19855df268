"""Every operation of a backend in NumPy, from what the terms and the operator say."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphdict.core.annotations import Floats
from graphdict.core.problem import Problem
from graphdict.core.protocols import BlockStates, CompiledRun, CompiledRunResult, deferred
from graphdict.core.solvers.base import in_precision
from graphdict.core.solvers.interior_point import InteriorPoint
from graphdict.core.solvers.mm import Update, over_relax, stationarity
from graphdict.core.solvers.primal_dual import (
    BlockIterate,
    MovedCoefficients,
    PassMessage,
    evaluate,
)
from graphdict.core.terms import base
from graphdict.native.coefficients import LARGEST_RATIO


class PlainBackend:
    """The backend of any likelihood; see :class:`graphdict.core.protocols.Backend`."""

    name = "plain"
    moves_coefficients = False

    def __init__(self, problem: Problem):
        self.problem = problem

    @deferred
    def primal_dual_pass(
        self, rows: slice, before: BlockIterate, moved: MovedCoefficients, message: PassMessage
    ) -> Any:
        problem = self.problem
        extrapolated = 2 * moved.coefficients - before.coefficients
        mixed_images = problem.operator.forward(extrapolated, message.extrapolated)
        lifted = before.dual + message.sigma * mixed_images
        dual = in_precision(base.prox_conjugate(problem.barrier, lifted, message.sigma), lifted)
        after = BlockIterate(moved.coefficients, dual, None, moved.split_duals, before.energies)
        return evaluate(problem, rows, message, before=before, after=after, extra=moved.extra)

    @deferred
    def atom_slopes(
        self, rows: slice, coefficients: Floats, atoms: Floats, atom_images: Floats | None
    ) -> Any:
        operator = self.problem.operator
        weighted = self.problem.share_weighted(rows, coefficients)
        if atom_images is None:
            slope = self._slope(operator.forward(coefficients, atoms))
            return None, (operator.adjoint_atoms(weighted, slope), 0.0)
        slope = self._slope(np.tensordot(coefficients, atom_images, 1))
        return None, (0.0, np.tensordot(weighted.T, slope, 1))

    @deferred
    def update_coefficients(self, rows: slice, coefficients: Floats, update: Update) -> Any:
        problem, atoms = self.problem, update.atoms
        operator = problem.operator
        energies = update.energies
        if energies is None:
            energies = problem.signal_term.energies(atoms, rows)
        squares = (0.0, 0.0)
        if update.fixed != "coefficients":
            cost = energies + update.coefficient_alpha
            for inner in range(update.rounds):
                slope = self._slope(operator.forward(coefficients, atoms))
                slopes = operator.adjoint_coefficients(slope, atoms)
                if inner == 0:
                    squares = stationarity(coefficients, cost - slopes, cost, 1.0)
                largest = np.full_like(slopes, LARGEST_RATIO)
                ratio = np.divide(slopes, cost, out=largest, where=slopes < LARGEST_RATIO * cost)
                factor = over_relax(ratio) if update.over_relaxed else ratio
                coefficients = np.minimum(1, coefficients * factor)
        value = problem.rows_value(rows, coefficients, energies, atoms)
        distances: Any = 0.0
        if update.fixed is None:
            distances = problem.weighted_distances(rows, coefficients)
        return coefficients, (value, *squares, distances, 0.0)

    def solve_coefficients(
        self, costs: Floats, atom_images: Floats, max_iter: int, tol: float
    ) -> Floats:
        return InteriorPoint(self.problem.barrier, costs, atom_images).solve(max_iter, tol)

    def _slope(self, mixed_images: Floats) -> Floats:
        """Return minus the gradient of the barrier, in the precision of what it is shown."""
        barrier: Any = self.problem.barrier
        found: Floats = in_precision(barrier.slope(mixed_images), mixed_images)
        return found

    @classmethod
    def iterate(
        cls, shards: Any, states: BlockStates, run: CompiledRun, *, pool: Any, sums_at_a_time: int
    ) -> CompiledRunResult | None:
        return None
