"""Compiled backend of the exact model; it finds what the plain backend finds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict import native
from graphdict.core.protocols import Deferred, put_off
from graphdict.core.solvers.mm import Update
from graphdict.core.solvers.primal_dual import (
    BlockIterate,
    Moved,
    PassMessage,
    PassSums,
    check_numbers,
    check_sums,
)
from graphdict.engine.backends.log_barrier import CompiledBackend
from graphdict.native import contiguous, log_determinant

__all__ = ["LogDetBackend"]


class LogDetBackend(CompiledBackend):
    """Smoothness of single samples with the log-determinants of Laplacians."""

    name = "compiled log-determinant"

    @put_off
    def primal_dual_pass(
        self, rows: slice, before: BlockIterate, moved: Moved, step: PassMessage
    ) -> Any:
        if step.fixed is not None:
            return super().primal_dual_pass(rows, before, moved, step).result()
        problem, atoms, coefficients = self.problem, step.atoms, moved.coefficients
        extrapolated = 2 * coefficients - before.coefficients
        weighted = problem.shares(rows, coefficients) * coefficients
        lifted, sigma = np.empty_like(before.dual), atoms.dtype.type(step.sigma)
        mixed = contiguous(extrapolated), contiguous(step.extrapolated)
        native.add_laplacians(*mixed, contiguous(before.dual), sigma, lifted)
        dual = problem.barrier.prox_conjugate(lifted, step.sigma)
        energies, inner_products = np.empty_like(weighted), np.empty_like(weighted)
        distances = np.zeros_like(atoms)
        native.log_det_gradients(
            contiguous(problem.fit.signals[rows]), contiguous(atoms), contiguous(weighted),
            contiguous(dual), energies, inner_products, distances,
        )  # fmt: skip
        gradient = energies + inner_products + moved.extra
        after = BlockIterate(coefficients, dual, gradient, moved.split_duals, None)
        sums = PassSums(distances, weighted.T @ coefficients)
        if step.check:
            numbers = check_numbers(problem, rows, before, after, energies, step)
            sums = check_sums(problem, rows, before, after, sums, step, numbers)
        return after, sums

    def atom_slopes(
        self,
        rows: slice,
        coefficients: NDArray[Any],
        atoms: NDArray[Any],
        images: NDArray[Any] | None,
    ) -> Deferred:
        job, found = log_determinant.atom_slopes(coefficients, self.problem.weights[rows], atoms)
        return Deferred(job, lambda: (None, (found, 0.0)))

    def update_coefficients(
        self, rows: slice, coefficients: NDArray[Any], update: Update
    ) -> Deferred:
        if update.fixed is not None:
            return super().update_coefficients(rows, coefficients, update)
        job, found = log_determinant.update_coefficients(
            self.problem.fit.signals[rows], self.problem.weights[rows], update.atoms, coefficients,
            update.shrinkage, update.rounds, update.over_relaxed,
        )  # fmt: skip
        return self.updates_of(rows, job, found)
