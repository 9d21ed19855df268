"""The loop of the solvers that lower the objective at every step; each says what a step is."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from graphdict.core.annotations import Floats
from graphdict.core.protocols import Backend, BlockStates, Executor
from graphdict.core.solvers.base import (
    Callback,
    History,
    Progress,
    Solution,
    in_precision,
    warn_interrupted,
)
from graphdict.core.solvers.coding import total_objective

FLOOR = 1e-4  # starting coefficients are at least this: a zero would never leave
STALL_TOLERANCE = 1e-2  # relative decrease of an iteration, as a share of tol, that counts as none


class Descent:
    """One run of a solver: a subclass says what a step is, and :meth:`minimise` takes them.

    It stops after a number of iterations, once all residuals are below ``tol``, or when an
    iteration lowers the objective by less than a hundredth of ``tol``, relatively. Points are named
    tuples with, at least, the ``iteration``, ``atoms``, ``coefficients`` and ``objective``.
    """

    def __init__(self, executor: Executor, fixed: str | None, tol: float):
        self.executor, self.problem = executor, executor.problem
        self.fixed, self.tol = fixed, tol

    def start(self, coefficients: Floats | BlockStates, atoms: Floats) -> Any:
        """Return the point to begin at."""
        raise NotImplementedError

    def restore(self, saved: dict[str, Any], states: BlockStates) -> Any:
        """Return the point that :meth:`save` stored; ``states`` are its coefficients."""
        raise NotImplementedError

    def save(self, point: Any, history: History) -> dict[str, Any]:
        """Return what a checkpoint keeps of a point."""
        return {
            "iteration": point.iteration, "atoms": point.atoms, "objective": point.objective,
            "coefficients": self.executor.gather(point.coefficients),
            "history": history.entries_until(point.iteration),
        }  # fmt: skip

    def update(self, point: Any) -> tuple[Any, dict[str, float]]:
        """Return the next point, and residuals by variable."""
        raise NotImplementedError

    def persist(self, point: Any) -> Any:
        """Return the point with its states computed, where an executor puts that off."""
        return point._replace(coefficients=self.executor.persist(point.coefficients)[0])

    def check_end(self, point: Any, stalled: bool, small: bool) -> tuple[Any, bool]:
        """Return the point to go on from, and whether that is the end.

        ``stalled`` says that the iteration hardly lowered the objective, ``small`` that its
        residuals are below the tolerance.
        """
        return point, stalled or small

    def finish(self, point: Any) -> Any:
        """Return the point to end with, unless the user interrupted."""
        return point

    def scatter(self, coefficients: Any, atoms: Floats) -> BlockStates:
        """Return coefficients (T, K) as states of the executor, in the precision of the atoms."""
        return self.executor.scatter(in_precision(coefficients, atoms))

    def lift_zeros(self, states: BlockStates) -> BlockStates:
        """Return coefficients that multiplicative updates can move: none is zero."""
        if self.fixed == "coefficients":
            return states
        lifted: BlockStates = self.executor.map_blocks(_lift_zeros, [states])[0]
        return lifted

    def objective(self, states: BlockStates, atoms: Floats) -> float:
        """Return the objective of coefficients and atoms."""
        value: float = self.problem.atom_priors.value(atoms)
        return total_objective(self.executor, states, atoms) + value

    @classmethod
    def minimise(
        cls,
        executor: Executor,
        coefficients: Floats | BlockStates,
        atoms: Floats,
        *,
        fixed: str | None = None,
        max_iter: int = 1000,
        tol: float = 1e-4,
        callback: Callback | None = None,
        stage: Any = None,
    ) -> Solution:
        """Minimise the problem of an executor from a starting point; see the class for the steps.

        Coefficients (T, K) may be states of the executor. ``stage`` of a checkpoint keeps what an
        interrupted run needs to go on; all else is as in :func:`graphdict.solvers.mm`, which opens
        an executor for a problem.
        """
        run = cls(executor, fixed, tol)
        converged, interrupted, stopped = False, False, False
        if stage is None or stage.saved is None:
            point, history = run.start(coefficients, atoms), History()
        else:
            saved = stage.saved
            point = run.restore(saved, run.executor.scatter(saved["coefficients"]))
            history = History.from_entries(saved["history"])
        iteration = point.iteration
        try:
            for iteration in range(point.iteration + 1, max_iter + 1):
                following, residuals = run.update(point)
                if not following.objective <= point.objective + 1e-6 * abs(point.objective):
                    # Rounding has taken over, or overflow.
                    converged = bool(np.isfinite(following.objective))
                    break
                history.add(following.objective, residuals, iteration)
                decrease = point.objective - following.objective
                point = run.persist(following)
                progress = Progress(
                    iteration, point.objective, history.residual[-1], point.atoms,
                    partial(run.executor.gather, point.coefficients),
                )  # fmt: skip
                stopped = callback is not None and bool(callback(progress))
                stalled = decrease <= STALL_TOLERANCE * run.tol * max(abs(point.objective), 1.0)
                point, done = run.check_end(point, stalled, history.residual[-1] <= run.tol)
                converged = done and not stopped
                if stopped or converged:
                    break
                if stage is not None:
                    stage.offer(partial(run.save, point, history))
        except KeyboardInterrupt as stop:
            interrupted = True
            point = stop.args[0] if stop.args else point  # how far a solver within came
            warn_interrupted(iteration)
        if not interrupted:
            point = run.finish(point)
        return Solution(
            point.atoms, partial(run.executor.gather, point.coefficients), lambda: None,
            objective=point.objective, history=history, n_iter=iteration,
            converged=converged, interrupted=interrupted, stopped=stopped,
        )  # fmt: skip


def _lift_zeros(backend: Backend, rows: slice, coefficients: Floats) -> Any:
    return np.clip(coefficients, FLOOR, 1), ()
