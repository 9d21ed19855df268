"""Learn the graphs of several windows with a joint convex penalty ``g``.

    min over w_b >= 0   sum_b p_b [ <w_b, c_b> + ridge/2 |w_b|^2 - sum_n log (D w_b)_n ] + g(W)

by the alternating direction method of multipliers (ADMM): the windows are solved by
:func:`learn_graphs`, and ``g`` by its proximal operator over all windows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.core.graph_learning.graphs_from_costs import (
    average_degree_ridge,
    learn_graphs,
    log_degree_objective,
)
from graphdict.core.solvers.base import History

__all__ = ["CoupledGraphs", "coupled_graphs", "penalty_factor"]

RELAXATION = 1.6
BALANCE_EVERY = 10
BALANCE_UNTIL = 200
START_DEGREE = 5
LEAST_RIDGE = 1e-6  # of the ridge for a typical degree, from which on it may be the first penalty


@dataclass(frozen=True)
class CoupledGraphs:
    """Result of ADMM.

    ``weights`` (B, E) are exactly sparse and have positive degrees; ``tied`` (B, E) is in the range
    of the proximal operator of ``g``. The two agree up to the tolerance.
    """

    weights: NDArray[Any]
    tied: NDArray[Any]
    history: History
    converged: bool


def coupled_graphs(
    costs: NDArray[Any],
    ridge: float,
    prox: Callable[[NDArray[Any], float], NDArray[Any]],
    penalty: Callable[[NDArray[Any]], float],
    *,
    shares: NDArray[Any] | None = None,
    active: NDArray[Any] | None = None,
    max_iter: int = 500,
    tol: float = 1e-4,
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
    tied, scaled = weights, np.zeros_like(weights)
    accuracy = 1e-2
    history, converged = History(), False
    for iteration in range(1, max_iter + 1):
        centre = (tied - scaled) * (rho / (ridge + rho))
        # The accuracy of the windows follows that of the iteration.
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
        history.add(float(objective) + penalty(weights), residuals)
        if history.residual[-1] <= tol and found.residual.max() <= 1e-2 * tol:
            converged = True
            break
        accuracy = min(accuracy, max(1e-2 * history.residual[-1], 1e-3 * tol))
        factor = penalty_factor(iteration, residuals)
        rho, scaled = rho * factor, scaled / factor
    return CoupledGraphs(weights, tied, history, converged)


def penalty_factor(iteration: int, residuals: dict[str, float]) -> float:
    """Return the factor of the ADMM penalty that balances the residuals, 1 in most iterations."""
    if iteration % BALANCE_EVERY or iteration > BALANCE_UNTIL:
        return 1.0
    ratio = residuals["primal"] / max(residuals["dual"], 1e-12)
    factor = float(np.clip(np.sqrt(ratio), 0.2, 5))
    return 1.0 if 0.5 < factor < 2 else factor
