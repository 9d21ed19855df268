"""Compiled backend of the exact model; it finds what the plain backend finds."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphdict import native
from graphdict.core.annotations import Floats
from graphdict.core.protocols import Deferred, deferred
from graphdict.core.solvers.mm import Update
from graphdict.core.solvers.primal_dual import (
    BlockIterate,
    MovedCoefficients,
    PassMessage,
    PassSums,
    check_numbers,
    check_sums,
)
from graphdict.core.terms.base import prox_conjugate
from graphdict.engine.backends.compiled_coding import CompiledCodingBackend, update_rule
from graphdict.native import contiguous, log_determinant


class LogDetBackend(CompiledCodingBackend):
    """Smoothness of single samples with the log-determinants of Laplacians."""

    name = "compiled log-determinant"

    @deferred
    def primal_dual_pass(
        self, rows: slice, before: BlockIterate, moved: MovedCoefficients, message: PassMessage
    ) -> Any:
        if message.fixed is not None:
            return super().primal_dual_pass(rows, before, moved, message).result()
        problem, atoms, coefficients = self.problem, message.atoms, moved.coefficients
        extrapolated = 2 * coefficients - before.coefficients
        weighted = problem.share_weighted(rows, coefficients)
        lifted, sigma = np.empty_like(before.dual), atoms.dtype.type(message.sigma)
        native.add_laplacians(
            contiguous(extrapolated), contiguous(message.extrapolated), contiguous(before.dual),
            sigma, lifted,
        )  # fmt: skip
        dual = prox_conjugate(problem.barrier, lifted, message.sigma)
        energies, inner_products = np.empty_like(weighted), np.empty_like(weighted)
        distances = np.zeros_like(atoms)
        native.log_det_gradients(
            contiguous(self._signal_term.signals[rows]), contiguous(atoms), contiguous(weighted),
            contiguous(dual), energies, inner_products, distances,
        )  # fmt: skip
        gradient = energies + inner_products + moved.extra
        after = BlockIterate(coefficients, dual, gradient, moved.split_duals, None)
        sums = PassSums(distances, weighted.T @ coefficients)
        if message.check:
            numbers = check_numbers(
                problem, rows, message, before=before, after=after, energies=energies
            )
            sums = check_sums(
                problem, rows, message, sums, before=before, after=after, numbers=numbers
            )
        return after, sums

    def atom_slopes(
        self, rows: slice, coefficients: Floats, atoms: Floats, atom_images: Floats | None
    ) -> Deferred:
        job, found = log_determinant.atom_slopes(coefficients, self.problem.shares[rows], atoms)
        return Deferred(job, lambda: (None, (found, 0.0)))

    def update_coefficients(self, rows: slice, coefficients: Floats, update: Update) -> Deferred:
        if update.fixed is not None:
            return super().update_coefficients(rows, coefficients, update)
        job, found = log_determinant.update_coefficients(
            self._signal_term.signals[rows], self.problem.shares[rows],
            update.atoms, coefficients, update_rule(update),
        )  # fmt: skip
        return self.deferred_updates(rows, job, found)
