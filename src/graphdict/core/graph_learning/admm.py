"""The alternating direction method of multipliers (ADMM): what its iterations share.

A problem brings a *state*, a named tuple of arrays and numbers (``weights``, ``tied`` and whatever
else the next iteration needs) with ``balanced(factor)``, the state with the penalty times a factor;
and a *step* from one state to the next. The loop here measures, stops, balances the penalty, and
keeps the state where a checkpoint asks for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from graphdict.core.annotations import Floats
from graphdict.core.solvers.base import Callback, History, Progress, warn_interrupted

RELAXATION = 1.6
BALANCE_EVERY = 10
BALANCE_UNTIL = 200


@dataclass(frozen=True)
class CoupledGraphs:
    """Result of ADMM.

    ``weights`` (B, E) are exactly sparse and have positive degrees; ``tied`` (B, E) is in the range
    of the proximal operator of ``g``. The two agree up to the tolerance.
    """

    weights: Floats
    tied: Floats
    history: History
    converged: bool
    interrupted: bool = False  # by Ctrl-C
    stopped: bool = False  # by the callback


class Step(NamedTuple):
    """What a step found: the next state, the objective there, and the relative residuals."""

    state: Any
    objective: float
    residuals: dict[str, float]
    exact: bool = True  # whether inner problems were solved well enough to stop here


def admm(
    step: Callable[[Any], Step],
    state: Any,
    *,
    max_iter: int,
    tol: float,
    callback: Callback | None = None,
    stage: Any = None,
) -> CoupledGraphs:
    """Iterate until the residuals are at most ``tol``.

    ``callback`` gets the tied graphs as atoms. With a ``stage`` of a checkpoint the iteration goes
    on from the state that it holds, and Ctrl-C ends it where it stands.
    """
    history, first = History(), 0
    converged = interrupted = stopped = False
    if stage is not None and stage.saved is not None:
        state = state._replace(**stage.saved["state"])
        history, first = History.from_entries(stage.saved["history"]), stage.saved["iteration"]
    iteration = first
    try:
        for iteration in range(first + 1, max_iter + 1):
            state, objective, residuals, exact = step(state)
            history.add(objective, residuals, iteration)
            residual = history.residual[-1]
            if callback is not None:
                every = partial(np.eye, len(state.tied))
                progress = Progress(iteration, objective, residual, state.tied, every)
                stopped = bool(callback(progress))
            converged = not stopped and exact and residual <= tol
            if stopped or converged:
                break
            state = state.balanced(_penalty_factor(iteration, residuals))
            if stage is not None:
                stage.offer(partial(_saved, state, iteration, history))
    except KeyboardInterrupt:
        if stage is None:
            raise
        interrupted = True
        warn_interrupted(iteration)
    return CoupledGraphs(
        state.weights, state.tied, history, converged, interrupted=interrupted, stopped=stopped
    )


def _saved(state: Any, iteration: int, history: History) -> dict[str, Any]:
    entries = history.entries_until(iteration)
    return {"iteration": iteration, "state": state._asdict(), "history": entries}


def _penalty_factor(iteration: int, residuals: dict[str, float]) -> float:
    """Return the factor of the ADMM penalty that balances the residuals, 1 in most iterations."""
    if iteration % BALANCE_EVERY or iteration > BALANCE_UNTIL:
        return 1.0
    ratio = residuals["primal"] / max(residuals["dual"], 1e-12)
    factor = float(np.clip(np.sqrt(ratio), 0.2, 5))
    return 1.0 if 0.5 < factor < 2 else factor
