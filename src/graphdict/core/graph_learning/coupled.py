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
from graphdict.core.graph_learning.admm import RELAXATION, CoupledGraphs, Step, admm
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
    tied: Floats
    scaled: Floats  # the multipliers of their difference, divided by rho
    dual: Floats  # of the windows' own problems (B, N)
    rho: float
    accuracy: float  # to which windows are solved; it follows that of the iteration

    def balanced(self, factor: float) -> _State:
        return self._replace(rho=self.rho * factor, scaled=self.scaled / factor)


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
) -> CoupledGraphs:
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
    CoupledGraphs
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
        weights=weights, tied=weights, scaled=np.zeros_like(weights), dual=dual, rho=rho,
        accuracy=1e-2,
    )  # fmt: skip

    def step(state: _State) -> Step:
        _, tied, scaled, dual, rho, accuracy = state
        centre = (tied - scaled) * (rho / (ridge + rho))
        found = learn_graphs(
            costs, ridge + rho, centre=centre, active=active, dual=dual, tol=accuracy
        )
        weights, dual = found.weights, found.dual
        relaxed = RELAXATION * weights + (1 - RELAXATION) * tied
        before, tied = tied, prox(relaxed + scaled, 1 / rho)
        scaled = scaled + relaxed - tied
        size = max(float(np.linalg.norm(tied)), float(np.linalg.norm(weights)), 1e-300)
        dual_size = max(float(np.linalg.norm(scaled)), 1e-3 * size)
        residuals = {
            "primal": float(np.linalg.norm(weights - tied)) / size,
            "dual": float(np.linalg.norm(tied - before)) / dual_size,
        }
        objective = shares @ log_degree_objective(weights, costs, ridge, active)
        accuracy = min(accuracy, max(1e-2 * max(residuals.values()), 1e-3 * tol))
        after = _State(
            weights=weights, tied=tied, scaled=scaled, dual=dual, rho=rho, accuracy=accuracy
        )
        exact = bool(found.residual.max() <= 1e-2 * tol)
        return Step(after, float(objective) + penalty(weights), residuals, exact)

    return admm(step, start, max_iter=max_iter, tol=tol, callback=callback, stage=stage)
