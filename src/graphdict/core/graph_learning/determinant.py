"""Learn the graphs of several windows with a joint penalty under the exact Gaussian likelihood.

    min over w_b >= 0   sum_b p_b [ <w_b, c_b> + ridge/2 |w_b|^2 - log det_+ L_b ] + g(W)

by ADMM with three blocks: the weights, by a linear system in closed form, since
``L* L = 2 I + D'D`` and ``D D' = (N - 2) I + 1 1'``; the Laplacians, by the proximal operator of
the log-determinant; and non-negative copies of the weights, by that of ``g``. The
pseudo-determinant of a window is that of the graph on its active nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from graphdict.core import graphs
from graphdict.core.annotations import Booleans, Floats
from graphdict.core.gaussian import RELATIVE_FLOOR
from graphdict.core.graph_learning.admm import RELAXATION, ConsensusSolution, Step, admm
from graphdict.core.graph_learning.coupled import START_DEGREE
from graphdict.core.graph_learning.graphs_from_costs import average_degree_ridge, learn_graphs
from graphdict.core.graph_learning.windows import edges_between, without_single_nodes
from graphdict.core.solvers.base import Callback
from graphdict.core.terms import LogBarrier
from graphdict.core.terms.barriers import log_determinants

LAPLACIAN_SHARE = 0.15  # ADMM penalty of the Laplacians, relative to that of the weights


class _State(NamedTuple):
    weights: Floats  # (B, E)
    consensus: Floats
    laplacians: Floats  # (B, N, N)
    scaled_dual: Floats  # multipliers of weights - consensus, divided by rho
    scaled_laplacian_dual: Floats
    rho: float  # penalty of the method

    def with_penalty_scaled(self, factor: float) -> _State:
        return self._replace(
            rho=self.rho * factor, scaled_dual=self.scaled_dual / factor,
            scaled_laplacian_dual=self.scaled_laplacian_dual / factor,
        )  # fmt: skip


def coupled_likelihood(
    costs: Floats,
    ridge: float,
    prox: Callable[[Floats, float], Floats],
    penalty: Callable[[Floats], float],
    *,
    shares: Floats,
    active: Booleans,
    max_iter: int = 500,
    tol: float = 1e-4,
    callback: Callback | None = None,
    stage: Any = None,
) -> ConsensusSolution:
    """Minimise the objective of the module; arguments and result as for `coupled_graphs`."""
    costs = costs.astype(np.float64)
    active = without_single_nodes(active)
    system = _Windows(active)
    average = (shares @ costs / shares.sum())[None]
    rho = float(average_degree_ridge(average, START_DEGREE)[0])
    weights = np.repeat(learn_graphs(average, rho).weights, len(costs), axis=0) * system.edges
    weight_laplacians = graphs.laplacian(weights)
    start = _State(
        weights=weights, consensus=weights, laplacians=weight_laplacians,
        scaled_dual=np.zeros_like(weights),
        scaled_laplacian_dual=np.zeros_like(weight_laplacians), rho=rho,
    )  # fmt: skip

    def step(state: _State) -> Step:
        _, consensus, laplacians, scaled_dual, scaled_laplacian_dual, rho = state
        share = LAPLACIAN_SHARE * rho
        right = share * graphs.laplacian_adjoint(laplacians - scaled_laplacian_dual)
        right += rho * (consensus - scaled_dual) - costs
        weights = system.solve(right, ridge + rho + 2 * share, share)
        weight_laplacians = graphs.laplacian(weights)

        relaxed = RELAXATION * weights + (1 - RELAXATION) * consensus
        relaxed_laplacians = RELAXATION * weight_laplacians + (1 - RELAXATION) * laplacians
        before, consensus = consensus, prox(relaxed + scaled_dual, 1 / rho)
        before_laplacians = laplacians
        laplacians = system.prox(relaxed_laplacians + scaled_laplacian_dual, 1 / share)
        scaled_dual = scaled_dual + relaxed - consensus
        scaled_laplacian_dual = scaled_laplacian_dual + relaxed_laplacians - laplacians

        size = max(_norm(consensus, laplacians), 1e-300)
        dual_size = max(_norm(scaled_dual, scaled_laplacian_dual), 1e-300)
        residuals = {
            "primal": _norm(weights - consensus, weight_laplacians - laplacians) / size,
            "dual": _norm(consensus - before, laplacians - before_laplacians) / dual_size,
        }
        fit = shares @ likelihood_objective(consensus, costs, ridge, active)
        after = _State(
            weights=weights, consensus=consensus, laplacians=laplacians, scaled_dual=scaled_dual,
            scaled_laplacian_dual=scaled_laplacian_dual, rho=rho,
        )  # fmt: skip
        return Step(after, float(fit) + penalty(consensus), residuals)

    found = admm(step, start, max_iter=max_iter, tol=tol, callback=callback, stage=stage)
    return replace(found, weights=np.maximum(found.weights, 0))


def likelihood_objective(weights: Floats, costs: Floats, ridge: float, active: Booleans) -> Floats:
    """Return ``<w, c> + ridge/2 |w|^2 - log det_+ L`` of each window (B,), on its active nodes.

    Infinite where a node has no edge. Other vanishing eigenvalues (from edges too weak for the
    arithmetic) count as small, as in :func:`graphdict.core.gaussian.log_likelihoods`.
    """
    linear = np.einsum("be,be->b", weights, costs)
    squares = np.einsum("be,be->b", weights, weights)
    # Along the constants of the active nodes, and on silent nodes, eigenvalues are set to the mean
    # degree, by which they then count.
    rest = np.eye(active.shape[1]) - _projectors(active)
    weights = weights * edges_between(active)
    degree = graphs.degrees(weights).mean(axis=1)
    unit = np.where(degree > 0, degree, 1.0)
    inner = graphs.laplacian(weights) + unit[:, None, None] * rest
    logs = log_determinants(inner) - np.log(unit) * np.einsum("bnn->b", rest)
    connected = (graphs.degrees(weights) > 0) | ~active
    underflow = ~np.isfinite(logs) & connected.all(axis=1)
    if underflow.any():
        values = np.linalg.eigvalsh(inner[underflow])
        values = np.maximum(values, RELATIVE_FLOOR * values[:, -1:]) / unit[underflow, None]
        freedom = active.shape[1] - np.einsum("bnn->b", rest)[underflow]
        logs[underflow] = np.log(values).sum(axis=1) + freedom * np.log(unit[underflow])
    return linear + ridge * squares / 2 - logs


class _Windows:
    """The steps of the weights (:meth:`solve`) and Laplacians (:meth:`prox`) of all windows."""

    def __init__(self, active: Booleans):
        self.active = active
        self.edges = edges_between(active)
        self.count = active.sum(axis=1)
        self.projector = _projectors(active)
        self.outside = active.shape[1] - np.maximum(self.count - 1, 0)  # dimensions not in use

    def solve(self, right: Floats, scale: float, share: float) -> Floats:
        """Return ``(scale I + share D'D)^{-1} right`` (B, E) on the edges between active nodes."""
        right = right * self.edges
        degree = graphs.degrees(right)
        # (scale I + share D D')^{-1} D r, with D D' = (n - 2) I + 1 1' on n active nodes.
        inner = scale + share * (self.count - 2.0)
        total = degree.sum(axis=1) / (inner + share * self.count)
        nodal = self.active * (degree - share * total[:, None]) / inner[:, None]
        rows, cols = graphs.edge_index(self.active.shape[1])
        return self.edges * (right - share * (nodal[:, rows] + nodal[:, cols])) / scale

    def prox(self, matrices: Floats, step: float) -> Floats:
        """Return the prox of ``-step log det_+`` at matrices (B, N, N), on centred signals."""
        inner = self.projector @ matrices @ self.projector
        # Shift the other dimensions above the spectrum, to separate them.
        largest = np.abs(inner).sum(axis=2).max(axis=1)
        bound = np.where(largest > 0, 2 * largest, 1.0)
        rest = np.eye(matrices.shape[1]) - self.projector
        values, vectors = np.linalg.eigh(inner + bound[:, None, None] * rest)
        found = LogBarrier().prox(values, step)
        kept = np.arange(matrices.shape[1]) < (matrices.shape[1] - self.outside)[:, None]
        return (vectors * np.where(kept, found, 0)[:, None, :]) @ np.swapaxes(vectors, 1, 2)


def _projectors(active: Booleans) -> Floats:
    """Return the projectors (B, N, N) to signals of zero mean on active nodes, zero elsewhere."""
    count = np.maximum(active.sum(axis=1), 1)[:, None, None]
    pairs = active[:, :, None] & active[:, None, :]
    return active[:, :, None] * np.eye(active.shape[1]) - pairs / count


def _norm(*arrays: Floats) -> float:
    """Return the norm of several arrays together."""
    return float(np.sqrt(sum(np.vdot(array, array) for array in arrays)))
