"""BiPDS on its two convex halves in turn: slower than both at once, and it never goes up.

With one variable held, the problem in the other is convex (but for products of atoms), and BiPDS is
the primal-dual splitting of Condat and Vu, which converges. Each half starts where the last one
ended and returns the best point it checked, its start included; so no half raises the objective.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from graphdict.core.annotations import Floats
from graphdict.core.protocols import BlockStates
from graphdict.core.solvers.base import History, signal_precision
from graphdict.core.solvers.bipds import bipds
from graphdict.core.solvers.descent import Descent

STEPS = 50  # of BiPDS in each half


class _Point(NamedTuple):
    iteration: int
    atoms: Floats
    coefficients: BlockStates
    dual: Floats | None
    objective: float


class Alternating(Descent):
    """BiPDS with one variable held, then the other, for problems of any terms.

    An iteration is one half of each kind, or the one that ``fixed`` leaves. It stops when that
    hardly lowers the objective; residuals are relative decreases. There is no dual variable.
    """

    def start(self, coefficients: Floats | BlockStates, atoms: Floats) -> _Point:
        atoms = signal_precision(atoms, self.problem)
        states = self.scatter(coefficients, atoms)
        return _Point(0, atoms, states, None, self.objective(states, atoms))

    def save(self, point: _Point, history: History) -> dict[str, Any]:
        return {**super().save(point, history), "dual": point.dual}

    def restore(self, saved: dict[str, Any], states: BlockStates) -> _Point:
        objective = self.objective(states, saved["atoms"])
        return _Point(saved["iteration"], saved["atoms"], states, saved["dual"], objective)

    def check_end(self, point: _Point, stalled: bool, small: bool) -> tuple[_Point, bool]:
        return point, stalled

    def update(self, point: _Point) -> tuple[_Point, dict[str, float]]:
        """Return the point after a half of each kind, and the relative decrease in each."""
        residuals = {}
        point = point._replace(iteration=point.iteration + 1)
        for held in ("atoms", "coefficients") if self.fixed is None else (self.fixed,):
            half = bipds(
                self.executor, point.coefficients, point.atoms, dual=point.dual, fixed=held,
                max_iter=STEPS, tol=self.tol,
            )  # fmt: skip
            decrease = max(point.objective - half.objective, 0.0)
            moved = "coefficients" if held == "atoms" else "atoms"
            residuals[moved] = _relative_decrease(decrease, half.objective)
            if half.objective <= point.objective:  # infinity, too, is lowered
                states = self.scatter(half.coefficients, half.atoms)
                point = _Point(point.iteration, half.atoms, states, half.dual, half.objective)
            if half.interrupted:
                raise KeyboardInterrupt(point)
        return point, residuals


alternating = Alternating.minimise


def _relative_decrease(decrease: float, objective: float) -> float:
    """Return a decrease as a share of the objective, or of 1 where that is more; 1 if infinite."""
    return decrease / max(abs(objective), 1.0) if np.isfinite(decrease) else 1.0
