"""Coefficients of samples under a known dictionary: a small convex problem for each sample.

    min over delta in [0, 1]^K   <delta, e_t + alpha_c> + h(A(delta, W))

Samples do not interact, so a primal-dual interior-point method runs on all of them at once, each
with its own multipliers, steps and end. Its coefficients do not depend on other samples. With
``a`` and ``b`` the multipliers of the two bounds, a Newton step for the conditions

    gradient - a + b = 0,    a delta = mu,    b (1 - delta) = mu

keeps everything strictly inside, and ``mu`` falls by a factor of ten or so from step to step. Here
is this method for any barrier; compiled backends have the same for theirs.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from graphdict.core.annotations import Floats

WARM_UP = 4  # multiplicative updates that bring a start to the right magnitude
TIE_BREAK = 1e-6  # curvature, relative to a sample's costs, that picks the smallest of equal optima
CENTRING = 0.1  # how much of the complementarity the next step aims to leave
REACH = 0.99  # of the way to the nearest bound that a step may go
AT_BOUND = 1e-6
DAMPING = 1e-13  # atoms that are alike would make the system singular


class InteriorPointRules(NamedTuple):
    """The constants of the method.

    Compiled loops unpack the fields in this order: ``InteriorPointRules`` in interior_point.hpp.
    """

    tie_break: float
    centring: float
    reach: float
    at_bound: float
    damping: float


RULES = InteriorPointRules(TIE_BREAK, CENTRING, REACH, AT_BOUND, DAMPING)


class InteriorPoint:
    """The method on some samples: costs (T, K) and the images ``M(W)`` (K, ...) of atoms."""

    def __init__(self, barrier: Any, costs: Floats, atom_images: Floats):
        self.barrier = barrier
        self.atom_images = atom_images
        self.flattened = atom_images.reshape(len(atom_images), -1)
        self.start = np.full(costs.shape, 0.5)
        # A cost of zero would let a coefficient rest anywhere.
        self.costs = np.maximum(costs, TIE_BREAK * self.slopes(self.start)[0])
        self.ridge = TIE_BREAK * self.costs

    def slopes(self, x: Floats) -> tuple[Floats, Floats]:
        """Return the slopes (T, K) of the barrier at coefficients ``x``, and what it sees there."""
        mixed_images = (x @ self.flattened).reshape(len(x), *self.atom_images.shape[1:])
        slope = self.barrier.slope(mixed_images)
        return slope.reshape(len(x), -1) @ self.flattened.T, mixed_images

    def solve(self, max_iter: int, tol: float) -> Floats:
        """Return the coefficients (T, K) of all samples, each solved until its gap is closed."""
        inside = self.start
        for _ in range(WARM_UP):
            inside = np.clip(inside * self.slopes(inside)[0] / self.costs, 1e-3 * inside, 0.9)
        spread = 0.1 * np.mean(self.costs * inside, axis=1, keepdims=True)
        # Distances from the two bounds, kept apart since one of them may be tiny.
        result, rest = inside, 1 - inside
        low, high = spread / result, spread / rest
        todo = np.arange(len(result))
        for _ in range(max_iter):
            slopes, mixed_images = self.slopes(result[todo])
            costs = self.costs[todo]
            gradient = costs + self.ridge[todo] * result[todo] - slopes
            gap = low[todo] * result[todo] + high[todo] * rest[todo]
            gap = gap.mean(axis=1, keepdims=True) / 2
            residual = np.abs(gradient - low[todo] + high[todo]) / (costs + np.abs(slopes))
            unsolved = (gap[:, 0] > tol) | (residual.max(axis=1) > 1e3 * tol)
            if not unsolved.any():
                break
            todo, mixed_images = todo[unsolved], mixed_images[unsolved]
            x, y, a, b = result[todo], rest[todo], low[todo], high[todo]
            target = CENTRING * gap[unsolved]
            curvature = self.barrier.curvature(mixed_images, self.atom_images)
            hessian = np.array(curvature)  # the barrier may keep its own
            extra = a / x + b / y + self.ridge[todo]
            hessian += extra[:, :, None] * np.eye(x.shape[1])
            step = _solve(hessian, target / x - target / y - gradient[unsolved])
            step_a = target / x - a - a / x * step
            step_b = target / y - b + b / y * step
            length = np.minimum(_step_length(x, step), _step_length(y, -step))
            dual_length = np.minimum(_step_length(a, step_a), _step_length(b, step_b))
            result[todo], rest[todo] = x + length * step, y - length * step
            low[todo], high[todo] = a + dual_length * step_a, b + dual_length * step_b
        # At a bound, not merely near it: the multiplier is of the size of the costs.
        result[rest < AT_BOUND * high / self.costs] = 1
        result[result < AT_BOUND * low / self.costs] = 0
        return result


def _solve(matrices: Floats, right: Floats) -> Floats:
    """Solve positive definite systems, scaled to a unit diagonal for accuracy."""
    unit = np.sqrt(np.einsum("tkk->tk", matrices))
    scaled = matrices / (unit[:, :, None] * unit[:, None, :])
    scaled += DAMPING * np.eye(matrices.shape[-1])
    result: Floats = np.linalg.solve(scaled, (right / unit)[..., None])[..., 0] / unit
    return result


def _step_length(x: Floats, step: Floats) -> Floats:
    """Return how far each sample may go along ``step`` with ``x`` positive: at most one."""
    ratio = np.divide(-REACH * x, step, out=np.ones_like(x), where=step < 0)
    result: Floats = np.minimum(ratio.min(axis=1, keepdims=True), 1.0)
    return result
