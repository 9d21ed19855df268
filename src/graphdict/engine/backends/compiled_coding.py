"""The backend where coding alone is compiled; those where more is compiled build on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphdict.core.annotations import Floats
from graphdict.core.plain_backend import PlainBackend
from graphdict.core.protocols import Deferred
from graphdict.core.solvers.interior_point import RULES, WARM_UP
from graphdict.core.solvers.mm import Update
from graphdict.native import coefficients

MOST_ATOMS = 128  # with more, systems of one sample fill the cache, and compiled steps gain nothing


class CompiledCodingBackend(PlainBackend):
    """The backend of windows and of samples with gaps, where either barrier is one of ours.

    Coding of single samples is compiled, and other operations are those of the plain backend.
    """

    name = "plain, with compiled coding"

    powers = False  # whether samples are powers in modes, not signals

    @property
    def _signal_term(self) -> Any:
        """The signal term, which is of the kind that the backend is for."""
        return self.problem.signal_term

    def solve_coefficients(
        self, costs: Floats, atom_images: Floats, max_iter: int, tol: float
    ) -> Floats:
        if len(atom_images) > MOST_ATOMS:
            return super().solve_coefficients(costs, atom_images, max_iter, tol)
        job, found = coefficients.solve_coefficients(
            costs, atom_images, max_iter, tol, warm_up=WARM_UP, rules=RULES
        )
        job()
        return found

    def deferred_updates(
        self, rows: slice, job: Callable[[], Any], found: coefficients.UpdateResult
    ) -> Deferred:
        """Return the state and sums of :meth:`update_coefficients`, once ``job`` filled ``found``.

        Compiled loops leave out the priors on coefficients, whose value is added here.
        """

        def read() -> Any:
            problem = self.problem
            value, *squares = found.numbers.tolist()
            value += problem.coefficient_priors.value(found.coefficients, rows) / problem.total
            sums = (0.0, found.distances) if self.powers else (found.distances, 0.0)
            return found.coefficients, (value, *squares, *sums)

        return Deferred(job, read)


def update_rule(update: Update) -> coefficients.UpdateRule:
    """Return the numbers of an update of coefficients that compiled loops take."""
    return coefficients.UpdateRule(update.coefficient_alpha, update.rounds, update.over_relaxed)
