"""Learn the graphs of several windows with a joint convex penalty ``g``.

    min over w_b >= 0   sum_b p_b [ <w_b, c_b> + ridge/2 |w_b|^2 - sum_n log (D w_b)_n ] + g(W)

by the alternating direction method of multipliers (ADMM): the windows are solved by
:func:`learn_graphs`, and ``g`` by its proximal operator over all windows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from graphdict.core.annotations import Booleans, Floats
from graphdict.core.graph_learning.admm import RELAXATION, ConsensusSolution, Step, admm
from graphdict.core.graph_learning.graphs_from_costs import (
    average_degree_ridge,
    learn_graphs,
    log_degree_objective,
)
from graphdict.core.solvers.base import Callback

START_DEGREE = 5
LEAST_RIDGE = 1e-6  # of the ridge for a typical degree, from which on it may be the first penalty


class _State(NamedTuple):
    weights: Floats  # (B, E)
    consensus: Floats
    scaled_dual: Floats  # multipliers of weights - consensus, divided by rho
    dual: Floats  # of the windows' own problems (B, N)
    rho: float  # penalty of the method
    inner_tol: float  # to which windows are solved; it falls with the residuals

    def with_penalty_scaled(self, factor: float) -> _State:
        return self._replace(rho=self.rho * factor, scaled_dual=self.scaled_dual / factor)


def coupled_graphs(
    costs: Floats,
    ridge: float,
    prox: Callable[[Floats, float], Floats],
    penalty: Callable[[Floats], float],
    *,
    shares: Floats | None = None,
    active: Booleans | None = None,
    max_iter: int = 500,
    tol: float = 1e-4,
    callback: Callback | None = None,
    stage: Any = None,
) -> ConsensusSolution:
    """Minimise the objective of the module.

    Parameters
    ----------
    costs : array (B, E)
        Edge costs of each window.
    ridge : float
        Ridge, zero or more.
    prox : callable
        ``prox(V, step) = argmin_W  step g(W) + sum_b p_b |w_b - v_b|^2 / 2``.
    penalty : callable
        ``g`` itself.
    shares : array (B,), optional
        ``p``; one by default.
    active : boolean array (B, N), optional
        Active nodes of each window; the others get no edges.
    max_iter, tol
        Stop after ``max_iter`` iterations, or once the relative primal and dual residuals are at
        most ``tol``.
    callback, stage
        As for :func:`graphdict.core.graph_learning.admm.admm`.

    Returns
    -------
    ConsensusSolution
        Its ``weights`` are exactly sparse and have positive degrees.
    """
    costs = costs.astype(np.float64)
    count = len(costs)
    shares = np.ones(count) if shares is None else shares
    average = (shares @ costs / shares.sum())[None]
    typical = float(average_degree_ridge(average, START_DEGREE)[0])
    rho = ridge if ridge > LEAST_RIDGE * typical else typical
    single = learn_graphs(average, rho)
    weights = np.repeat(single.weights, count, axis=0)
    dual = np.repeat(single.dual, count, axis=0)
    start = _State(
        weights=weights, consensus=weights, scaled_dual=np.zeros_like(weights), dual=dual, rho=rho,
        inner_tol=1e-2,
    )  # fmt: skip

    def step(state: _State) -> Step:
        _, consensus, scaled_dual, dual, rho, inner_tol = state
        centre = (consensus - scaled_dual) * (rho / (ridge + rho))
        found = learn_graphs(
            costs, ridge + rho, centre=centre, active=active, dual=dual, tol=inner_tol
        )
        weights, dual = found.weights, found.dual
        relaxed = RELAXATION * weights + (1 - RELAXATION) * consensus
        before, consensus = consensus, prox(relaxed + scaled_dual, 1 / rho)
        scaled_dual = scaled_dual + relaxed - consensus
        size = max(float(np.linalg.norm(consensus)), float(np.linalg.norm(weights)), 1e-300)
        dual_size = max(float(np.linalg.norm(scaled_dual)), 1e-3 * size)
        residuals = {
            "primal": float(np.linalg.norm(weights - consensus)) / size,
            "dual": float(np.linalg.norm(consensus - before)) / dual_size,
        }
        objective = shares @ log_degree_objective(weights, costs, ridge, active)
        inner_tol = min(inner_tol, max(1e-2 * max(residuals.values()), 1e-3 * tol))
        after = _State(weights, consensus, scaled_dual, dual, rho, inner_tol)
        exact = bool(found.residual.max() <= 1e-2 * tol)
        return Step(after, float(objective) + penalty(weights), residuals, exact)

    return admm(step, start, max_iter=max_iter, tol=tol, callback=callback, stage=stage)
