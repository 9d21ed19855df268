"""Coefficients of new samples under a known dictionary: a small convex problem for each sample.

    min over delta in [0, 1]^K   <delta, e_t + alpha_c> + h(A(delta, W))

Samples do not interact, so a primal-dual interior-point method runs on all of them at once, each
with its own multipliers, steps and end. What one sample gets does not depend on its company. With
``a`` and ``b`` the multipliers of the two bounds, a Newton step for the conditions

    gradient - a + b = 0,    a delta = mu,    b (1 - delta) = mu

keeps everything strictly inside, and ``mu`` falls by a factor of ten or so from step to step. Below
is this method for any barrier; for ours it is compiled (``native/interior_point.hpp``).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.core.problem import Problem
from graphdict.core.solvers.passes import keep_value
from graphdict.core.terms import L1, LogBarrier, LogDet, UnitBox
from graphdict.engine.executor import Part, crew_for, in_blocks, row_blocks
from graphdict.native import log_barrier

__all__ = ["Block", "code", "code_part", "codes_samples_alone", "solve"]

BLOCK_BYTES = 1 << 24
WARM_UP = 4  # multiplicative updates that bring a start to the right magnitude
TIE_BREAK = 1e-6  # curvature, relative to a sample's costs, that picks the smallest of equal optima
CENTRING = 0.1  # how much of the complementarity the next step aims to leave
REACH = 0.99  # of the way to the nearest bound that a step may go
AT_BOUND = 1e-6
DAMPING = 1e-13  # atoms that nothing tells apart would make the system singular
MOST_ATOMS = 128  # with more, systems of one sample fill the cache, and compiled steps gain nothing
RULES = log_barrier.InteriorPointRules(TIE_BREAK, CENTRING, REACH, AT_BOUND, DAMPING)


def codes_samples_alone(problem: Problem) -> bool:
    """Whether the problem in the coefficients falls apart into samples this module can solve."""
    return (
        hasattr(problem.barrier, "curvature")
        and hasattr(problem.operator, "linear")
        and all(isinstance(term, (UnitBox, L1)) for term in problem.coefficient_terms)
    )


def code(problem: Problem, atoms: NDArray, *, max_iter: int = 100, tol: float = 1e-12) -> NDArray:
    """Optimal coefficients (T, K) of every row of the problem's samples.

    A sample is done when its duality gap (in units of log-likelihood) is below ``tol`` and its
    gradient is met to 1,000 ``tol``, relatively. Where several coefficient vectors are equally
    good, a small one is returned; atoms without edges get zero.
    """
    with crew_for(problem, atoms) as crew:
        return crew.collect(crew.run_parts(code_part, [], atoms, max_iter, tol)[0])


def code_part(
    part: Part, columns: Any, atoms: NDArray, max_iter: int = 100, tol: float = 1e-12
) -> Any:
    """The coefficients of a part for each of its blocks, and their share of the objective."""
    problem = part.problem
    shrinkage = sum(t.alpha for t in problem.coefficient_terms if isinstance(t, L1))
    images = problem.operator.linear.apply(atoms.astype(np.float64))  # type: ignore[attr-defined]
    alive = atoms.any(axis=1)
    coefficients = np.zeros((problem.rows, len(atoms)), dtype=atoms.dtype)
    if alive.any():
        images = images[alive]
        row_bytes = 8 * (images.size + 4 * len(images) ** 2)
        for rows in row_blocks(problem.rows, row_bytes, BLOCK_BYTES):
            costs = problem.fit.energies(atoms, rows).astype(np.float64) + shrinkage
            coefficients[rows, alive] = solve(
                problem.barrier, costs[:, alive], images, max_iter, tol
            )
    states = [coefficients[rows] for rows in part.blocks]
    return in_blocks(keep_value, part, [states], atoms)


def solve(
    barrier: Any, costs: NDArray, images: NDArray, max_iter: int = 100, tol: float = 1e-12
) -> NDArray:
    """Coefficients of samples with known costs (T, K) and images (K, ...) of the atoms."""
    if type(barrier) not in (LogBarrier, LogDet) or len(images) > MOST_ATOMS:
        return Block(barrier, costs, images).solve(max_iter, tol)
    job, found = log_barrier.solve_coefficients(costs, images, max_iter, tol, WARM_UP, RULES)
    job()
    return found


class Block:
    """Some samples, coded together: costs (T, K) and the images (K, ...) of the atoms."""

    def __init__(self, barrier: Any, costs: NDArray, images: NDArray):
        self.barrier = barrier
        self.images = images
        self.flat = images.reshape(len(images), -1)
        self.start = np.full(costs.shape, 0.5)
        # A cost of zero would let a coefficient rest anywhere.
        self.costs = np.maximum(costs, TIE_BREAK * self.push(self.start)[0])
        self.ridge = TIE_BREAK * self.costs

    def push(self, x: NDArray) -> tuple[NDArray, NDArray]:
        """What the barrier gives to every coefficient, and the image it saw."""
        image = (x @ self.flat).reshape(len(x), *self.images.shape[1:])
        return self.barrier.slope(image).reshape(len(x), -1) @ self.flat.T, image

    def solve(self, max_iter: int, tol: float) -> NDArray:
        """All samples, each until its gap is closed."""
        inside = self.start
        for _ in range(WARM_UP):
            inside = np.clip(inside * self.push(inside)[0] / self.costs, 1e-3 * inside, 0.9)
        spread = 0.1 * np.mean(self.costs * inside, axis=1, keepdims=True)
        # Distances from the two bounds, kept apart since one of them may be tiny.
        result, rest = inside, 1 - inside
        low, high = spread / result, spread / rest
        todo = np.arange(len(result))
        for _ in range(max_iter):
            push, image = self.push(result[todo])
            costs = self.costs[todo]
            gradient = costs + self.ridge[todo] * result[todo] - push
            gap = low[todo] * result[todo] + high[todo] * rest[todo]
            gap = gap.mean(axis=1, keepdims=True) / 2
            residual = np.abs(gradient - low[todo] + high[todo]) / (costs + push)
            unsolved = (gap[:, 0] > tol) | (residual.max(axis=1) > 1e3 * tol)
            if not unsolved.any():
                break
            todo, image = todo[unsolved], image[unsolved]
            x, y, a, b = result[todo], rest[todo], low[todo], high[todo]
            target = CENTRING * gap[unsolved]
            hessian = self.barrier.curvature(image, self.images)
            extra = a / x + b / y + self.ridge[todo]
            hessian += extra[:, :, None] * np.eye(x.shape[1])
            step = _solve(hessian, target / x - target / y - gradient[unsolved])
            step_a = target / x - a - a / x * step
            step_b = target / y - b + b / y * step
            length = np.minimum(_room(x, step), _room(y, -step))
            dual_length = np.minimum(_room(a, step_a), _room(b, step_b))
            result[todo], rest[todo] = x + length * step, y - length * step
            low[todo], high[todo] = a + dual_length * step_a, b + dual_length * step_b
        # At a bound, not merely near it: the multiplier is of the size of the costs.
        result[rest < AT_BOUND * high / self.costs] = 1
        result[result < AT_BOUND * low / self.costs] = 0
        return result


def _solve(matrices: NDArray, right: NDArray) -> NDArray:
    """Solutions of positive definite systems, scaled to a unit diagonal for accuracy."""
    unit = np.sqrt(np.einsum("tkk->tk", matrices))
    scaled = matrices / (unit[:, :, None] * unit[:, None, :])
    scaled += DAMPING * np.eye(matrices.shape[-1])
    return np.linalg.solve(scaled, (right / unit)[..., None])[..., 0] / unit


def _room(x: NDArray, step: NDArray) -> NDArray:
    """How far each sample may go along ``step`` with ``x`` positive: at most one."""
    ratio = np.divide(-REACH * x, step, out=np.ones_like(x), where=step < 0)
    return np.minimum(ratio.min(axis=1, keepdims=True), 1.0)
