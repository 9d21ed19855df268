"""BiPDS on its two convex halves in turn: slower than both at once, and it never goes up.

With one variable held, the problem in the other is convex (but for products of atoms), and BiPDS is
the primal-dual splitting of Condat and Vu, which converges. Each half starts where the last one
ended and returns the best point it checked, its start included; so no half raises the objective.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.core.protocols import BlockStates, Executor
from graphdict.core.solvers.base import (
    Callback,
    History,
    Progress,
    Solution,
    in_precision,
    signal_precision,
    warn_interrupted,
)
from graphdict.core.solvers.bipds import bipds
from graphdict.core.solvers.coding import total_objective

__all__ = ["alternating"]

STEPS = 50  # of BiPDS in each half
STANDSTILL = 1e-2  # relative gain of an iteration, as a share of tol, that counts as none


def alternating(
    executor: Executor,
    coefficients: NDArray[np.float64] | BlockStates,
    atoms: NDArray[np.float64],
    *,
    fixed: str | None = None,
    max_iter: int = 1000,
    tol: float = 1e-4,
    callback: Callback | None = None,
    stage: Any = None,
) -> Solution:
    """Minimise the problem of an executor from a starting point, one variable after the other.

    An iteration is one half of each kind. It stops once both halves lower the objective by less
    than a hundredth of ``tol`` together, relatively.
    """
    problem = executor.problem
    atoms = signal_precision(atoms, problem)
    history, iteration, dual = History(), 0, None
    converged, interrupted, stopped = False, False, False
    halves = ("atoms", "coefficients") if fixed is None else (fixed,)
    if stage is not None and stage.saved is not None:
        saved = stage.saved
        atoms, coefficients, dual = saved["atoms"], saved["coefficients"], saved["dual"]
        history, iteration = History.resumed(saved["history"]), saved["iteration"]
    states = executor.scatter(in_precision(coefficients, atoms))
    objective = total_objective(executor, states, atoms) + problem.atoms.value(atoms)
    try:
        while iteration < max_iter:
            iteration += 1
            before, residuals = objective, {}
            for held in halves:
                half = bipds(
                    executor, states, atoms, dual=dual, fixed=held, max_iter=STEPS, tol=tol
                )
                gain = objective - half.objective
                moved = "coefficients" if held == "atoms" else "atoms"
                residuals[moved] = _relative(max(gain, 0.0), half.objective)
                if half.objective <= objective:  # infinity, too, is lowered
                    atoms, objective, dual = half.atoms, half.objective, half.dual
                    states = executor.scatter(in_precision(half.coefficients, atoms))
                if half.interrupted:
                    raise KeyboardInterrupt
            history.add(objective, residuals, iteration)
            progress = Progress(
                iteration, objective, history.residual[-1], atoms, partial(executor.gather, states)
            )
            stopped = callback is not None and bool(callback(progress))
            gained = _relative(before - objective, objective)
            converged = not stopped and gained <= STANDSTILL * tol
            if stopped or converged:
                break
            if stage is not None:
                stage.offer(
                    partial(_state, executor, iteration, atoms, states, dual, history.copy())
                )
    except KeyboardInterrupt:
        interrupted = True
        warn_interrupted(iteration)
    return Solution(
        atoms, partial(executor.gather, states), lambda: None, objective, history, iteration,
        converged, interrupted, stopped,
    )  # fmt: skip


def _state(
    executor: Executor,
    iteration: int,
    atoms: NDArray[np.float64],
    states: BlockStates,
    dual: NDArray[np.float64] | None,
    history: dict[str, list[Any]],
) -> dict[str, Any]:
    """Return what a run needs to go on from here."""
    return {
        "iteration": iteration, "atoms": atoms, "coefficients": executor.gather(states),
        "dual": dual, "history": history,
    }  # fmt: skip


def _relative(gain: float, objective: float) -> float:
    return gain / max(abs(objective), 1.0) if np.isfinite(gain) else 1.0
