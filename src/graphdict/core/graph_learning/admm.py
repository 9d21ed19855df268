"""The alternating direction method of multipliers (ADMM): what its iterations share.

A problem brings a *state*, a named tuple of ``weights``, ``consensus`` and whatever else the next
iteration needs, and a *step* from one state to the next. Its ``with_penalty_scaled(factor)`` is the
state with the penalty of the method times a factor. The loop here stops, balances the residuals by
that penalty, and keeps the state where a checkpoint asks for it.
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
SAVED_AS = {  # in checkpoints, where all else has the names of states
    "consensus": "tied", "scaled_dual": "scaled", "scaled_laplacian_dual": "scaled_laplacians",
    "inner_tol": "accuracy",
}  # fmt: skip


@dataclass(frozen=True)
class ConsensusSolution:
    """Result of ADMM: two copies of the graphs, which agree up to the tolerance.

    ``weights`` (B, E) are those of the likelihood, ``consensus`` (B, E) those of the joint penalty:
    what its proximal operator returned.
    """

    weights: Floats
    consensus: Floats
    history: History
    converged: bool
    interrupted: bool = False  # by Ctrl-C
    stopped: bool = False  # by the callback


class Step(NamedTuple):
    """The next state, the objective there, and the relative ``primal`` and ``dual`` residual."""

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
) -> ConsensusSolution:
    """Iterate until the residuals are at most ``tol``.

    ``callback`` gets the consensus as atoms. With a ``stage`` of a checkpoint the iteration goes
    on from the state that it holds, and Ctrl-C ends it where it stands.
    """
    history, first = History(), 0
    converged = interrupted = stopped = False
    if stage is not None and stage.saved is not None:
        names = {old: new for new, old in SAVED_AS.items()}
        arrays = stage.saved["state"]
        state = state._replace(**{names.get(name, name): arrays[name] for name in arrays})
        history, first = History.from_entries(stage.saved["history"]), stage.saved["iteration"]
    iteration = first
    try:
        for iteration in range(first + 1, max_iter + 1):
            state, objective, residuals, exact = step(state)
            history.add(objective, residuals, iteration)
            residual = history.residual[-1]
            if callback is not None:
                every = partial(np.eye, len(state.consensus))
                progress = Progress(iteration, objective, residual, state.consensus, every)
                stopped = bool(callback(progress))
            converged = not stopped and exact and residual <= tol
            if stopped or converged:
                break
            state = state.with_penalty_scaled(_penalty_factor(iteration, residuals))
            if stage is not None:
                stage.offer(partial(_saved, state, iteration, history))
    except KeyboardInterrupt:
        if stage is None:
            raise
        interrupted = True
        warn_interrupted(iteration)
    return ConsensusSolution(
        state.weights, state.consensus, history, converged, interrupted=interrupted, stopped=stopped
    )


def _saved(state: Any, iteration: int, history: History) -> dict[str, Any]:
    entries = history.entries_until(iteration)
    arrays = {SAVED_AS.get(name, name): value for name, value in state._asdict().items()}
    return {"iteration": iteration, "state": arrays, "history": entries}


def _penalty_factor(iteration: int, residuals: dict[str, float]) -> float:
    """Return the factor of the ADMM penalty that balances the residuals, 1 in most iterations."""
    if iteration % BALANCE_EVERY or iteration > BALANCE_UNTIL:
        return 1.0
    ratio = residuals["primal"] / max(residuals["dual"], 1e-12)
    factor = float(np.clip(np.sqrt(ratio), 0.2, 5))
    return 1.0 if 0.5 < factor < 2 else factor
