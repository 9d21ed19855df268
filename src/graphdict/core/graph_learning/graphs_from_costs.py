"""Learn log-degree graphs from edge costs by Newton's method on N dual variables per graph.

Given costs ``c`` (E,) of the edges, a graph is the solution of the convex problem

    min over w >= 0   <w, c> + ridge/2 |w - v|^2 - alpha sum_n log d_n,      d = D w,

(Kalofolias 2016, with ``v = 0``). With ``y`` the multipliers of ``d = D w``, the best weights for
given ``y`` are ``w(y) = max(0, v + (D'y - c) / ridge)``, exactly zero on most edges, and the dual
is a smooth problem in ``y > 0``,

    min over y   ridge/2 |w(y)|^2 - alpha sum_n log y_n,

with gradient ``D w(y) - alpha / y`` and an N by N Hessian, so that Newton's method needs about a
dozen steps. Without a ridge it is the inner step of a proximal point method, with ``v`` the last
weights.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from graphdict import native
from graphdict.core import graphs
from graphdict.core.annotations import Booleans, Floats, Integers
from graphdict.core.graph_learning.windows import edges_between, without_single_nodes
from graphdict.core.terms import LogBarrier

OUTER = 100  # largest number of proximal point steps without a ridge
NEWTON = 100  # largest number of Newton steps in each of these, or in all with one
FAILED = 1e-2  # relative error of a degree from which on Newton's method did not succeed
LEAST_START = 1e-6  # of a cold start: less is no warm start


@dataclass(frozen=True)
class LearnedGraphs:
    """Weights (B, E), dual variables (B, N), relative residual (B,) and number of Newton steps.

    All are in double precision, since weights may be too large for single.
    """

    weights: Floats
    dual: Floats
    residual: Floats
    n_iter: int


def learn_graphs(
    costs: Floats,
    ridge: ArrayLike = 0.0,
    *,
    alpha: float = 1.0,
    centre: Floats | None = None,
    active: Booleans | None = None,
    dual: Floats | None = None,
    tol: float = 1e-8,
) -> LearnedGraphs:
    """Minimise the objective of the module for each row of ``costs``.

    Parameters
    ----------
    costs : array (B, E)
        Edge costs, not negative.
    ridge : float or array (B,)
        Zero for all graphs, or positive for all.
    alpha : float, default=1.0
        Weight of the barrier.
    centre : array (B, E), optional
        ``v``; zero by default. It needs a positive ridge.
    active : boolean array (B, N), optional
        Active nodes. The others get no edge and no barrier.
    dual : array (B, N), optional
        Warm start: the dual variables of an earlier solution.
    tol : float
        Largest relative error of a degree, and of an edge's optimality condition.

    Returns
    -------
    LearnedGraphs
    """
    costs = np.ascontiguousarray(np.atleast_2d(costs), dtype=np.float64)
    count, nodes = len(costs), graphs.n_nodes(costs.shape[1])
    ridges = np.broadcast_to(np.asarray(ridge, dtype=np.float64), (count,)).copy()
    if active is None:
        active = np.ones((count, nodes), dtype=bool)
    active = np.ascontiguousarray(without_single_nodes(active))
    cold = _start(costs, ridges, alpha, active)
    dual = cold.copy() if dual is None else np.maximum(dual, LEAST_START * cold, order="C")
    if (ridges > 0).all():
        weights = np.empty_like(costs)
        centre = (
            np.zeros_like(costs) if centre is None else np.ascontiguousarray(centre, np.float64)
        )
        problems = costs, centre, ridges, alpha, active
        steps = native.newton(problems, (tol, NEWTON), dual, weights)
        moved = np.zeros(count)
        failed = ~(_degree_errors(weights, dual, alpha, active) <= FAILED)
        if failed.any() and not centre.any():  # a ridge that is next to none beside the costs
            dual[failed] = cold[failed]
            some = dual[failed]
            weights[failed], moved[failed], more = _proximal_points(
                costs[failed], ridges[failed],
                active=active[failed], dual=some, alpha=alpha, tol=tol,
            )  # fmt: skip
            dual[failed], steps = some, steps + more
    elif (ridges == 0).all() and centre is None:
        weights, moved, steps = _proximal_points(
            costs, ridges, active=active, dual=dual, alpha=alpha, tol=tol
        )
    else:
        raise ValueError(
            f"ridge must be positive for every graph, or zero for all and without centre, got "
            f"values from {ridges.min():g} to {ridges.max():g}"
        )
    residual = np.maximum(_degree_errors(weights, dual, alpha, active), moved)
    return LearnedGraphs(weights, dual, residual, steps)


def log_degree_objective(
    weights: Floats, costs: Floats, ridge: ArrayLike, active: Booleans | None = None
) -> Floats:
    """Return ``<w, c> + ridge/2 |w|^2 - sum_n log d_n`` of each row (B,), over active nodes.

    Infinite where an active node has no edge.
    """
    degree = graphs.degrees(weights)
    if active is not None:
        degree = np.where(without_single_nodes(active), degree, 1)
    linear = np.einsum("be,be->b", weights, costs, dtype=np.float64)
    squares = np.einsum("be,be->b", weights, weights, dtype=np.float64)
    return linear + np.asarray(ridge) * squares / 2 + LogBarrier().values(degree)


def choose_ridge(
    costs: Floats, beta: float | None, avg_degree: float, active: Booleans | None = None
) -> Floats:
    """Return the ridge (B,): ``beta`` where given, else by `average_degree_ridge`."""
    if beta is None:
        return average_degree_ridge(costs, float(avg_degree), active=active)
    if beta == 0:
        present = True if active is None else edges_between(active)
        if np.any((costs <= 0) & present):
            raise ValueError(
                "beta=0, or next to it, has no solution where two nodes have the same signal; "
                "use a larger beta or alpha_w, or avg_degree"
            )
    return np.full(len(costs), float(beta))


def average_degree_ridge(
    costs: Floats, avg_degree: float, active: Booleans | None = None
) -> Floats:
    """Return the ridge (B,) that gives graphs about ``avg_degree`` edges at a node.

    Kalofolias and Perraudin (2018): if each node chose its weights alone, it would have exactly k
    edges for ``theta = sqrt(1 / (2 ridge))`` between

        (k c_{k+1}^2 - b_k c_{k+1})^{-1/2}   and   (k c_k^2 - b_k c_k)^{-1/2}

    with c its costs in ascending order and ``b_k`` the sum of the first k. The two bounds are
    averaged over nodes, their geometric mean is taken, and between integers it is interpolated. The
    upper bound for k = 1 is infinite, and counts as twice the lower one.
    """
    costs = np.atleast_2d(costs).astype(np.float64)
    nodes = graphs.n_nodes(costs.shape[1])
    matrix = _square(costs, active)
    ordered = np.sort(matrix, axis=2)[:, :, : nodes - 1]
    present = np.isfinite(ordered)
    others = present.sum(axis=2).max(axis=1)  # neighbours that a node can have
    sums = np.cumsum(np.where(present, ordered, 0), axis=2)
    wanted = np.clip(avg_degree, 1, np.maximum(others - 1, 1))
    low = np.floor(wanted).astype(int)
    share = wanted - low
    thetas = []
    for degree in (low, np.minimum(low + 1, np.maximum(others - 1, 1))):
        lower = _mean_theta(ordered, sums, degree, 1)
        typical = np.sqrt(np.square(np.where(present, ordered, 0)).max(axis=(1, 2)))
        lower = np.where(lower > 0, lower, 1 / np.where(typical > 0, typical, 1))
        upper = _mean_theta(ordered, sums, degree, 0)
        upper = np.where((degree > 1) & (upper > 0), upper, 2 * lower)
        thetas.append(np.sqrt(lower * upper))
    theta = thetas[0] ** (1 - share) * thetas[1] ** share
    return 1 / (2 * np.square(theta))


def _mean_theta(ordered: Floats, sums: Floats, degree: Integers, above: int) -> Floats:
    """Return the bound on theta for ``degree`` edges (B,), averaged over nodes that have one.

    It is the lower one for ``above`` of 1, with the cost of the next edge, and the upper for 0.
    """
    index = np.broadcast_to(degree[:, None, None] - 1, (*sums.shape[:2], 1))
    last = np.minimum(index + above, ordered.shape[2] - 1)
    partial = np.take_along_axis(sums, index, 2)[..., 0]
    cost = np.take_along_axis(ordered, last, 2)[..., 0]
    usable = np.isfinite(cost)
    cost = np.where(usable, cost, 0)
    square = degree[:, None] * np.square(cost) - partial * cost
    # Ties among the nearest neighbours make the bound infinite: such nodes are ignored.
    usable &= square > 1e-8 * np.square(cost).max(axis=1, keepdims=True)
    theta = np.where(usable, 1 / np.sqrt(np.where(usable, square, 1)), 0)
    return theta.sum(axis=1) / np.maximum(usable.sum(axis=1), 1)


def _square(costs: Floats, active: Booleans | None) -> Floats:
    """Return costs as matrices (B, N, N), infinite where no edge is allowed."""
    matrix = graphs.adjacency(costs)
    node = np.arange(matrix.shape[-1])
    matrix[:, node, node] = np.inf
    if active is not None:
        matrix[~(active[:, :, None] & active[:, None, :])] = np.inf
    return matrix


def _degree_errors(weights: Floats, dual: Floats, alpha: float, active: Booleans) -> Floats:
    """Return the largest relative error (B,) of a degree, which is to be ``alpha / dual``."""
    gap = np.where(active, graphs.degrees(weights) * dual / alpha - 1, 0)
    return np.abs(gap).max(axis=1)


def _start(costs: Floats, ridge: Floats, alpha: float, active: Booleans) -> Floats:
    """Return initial dual variables (B, N): half the cost of a near neighbour.

    They are at least those of the solution where all costs are zero, with a ridge (B,) alone.
    """
    matrix = _square(costs, active)
    rank = min(3, matrix.shape[1] - 2)
    near = np.partition(matrix, rank, axis=2)[:, :, : rank + 1]
    near = np.where(np.isfinite(near), near, 0).max(axis=2)
    largest = near.max(axis=1, keepdims=True)
    typical = np.where(largest > 0, largest, 1.0)
    free = np.sqrt(alpha * ridge / (2 * (matrix.shape[1] - 1)))[:, None]
    return np.where(active, np.maximum(np.maximum(near, 1e-3 * typical) / 2, free), 1.0)


def _proximal_points(
    costs: Floats, small: Floats, *, active: Booleans, dual: Floats,
    alpha: float, tol: float
) -> tuple[Floats, Floats, int]:  # fmt: skip
    """Return weights (B, E) with a small ridge (B,) or none, change in the last step, Newton steps.

    The change is relative to the costs. Where weights would grow without end, they stop growing.
    """
    typical = costs.mean(axis=1)
    typical = np.where(np.square(typical) >= np.finfo(np.float64).tiny, typical, 1.0)
    ridge = np.square(typical) * dual.shape[1] / alpha
    centre, weights = np.zeros_like(costs), np.empty_like(costs)
    moved, total = np.zeros(len(costs)), 0
    for _ in range(OUTER):
        both = small + ridge
        towards = np.ascontiguousarray(centre * (ridge / both)[:, None])
        problems = costs, towards, both, alpha, active
        total += native.newton(problems, (tol, NEWTON), dual, weights)
        moved = ridge * np.abs(weights - centre).max(axis=1) / typical
        if moved.max() <= tol:
            break
        centre = weights.copy()
        ridge = np.maximum(ridge / 4, 1e-3 * np.square(typical) / alpha)
    return weights, moved, total
