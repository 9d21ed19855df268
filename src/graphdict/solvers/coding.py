"""Coefficients of new samples under a known dictionary: a small convex problem for each sample.

    min over delta in [0, 1]^K   <delta, e_t + alpha_c> + h(A(delta, W))

Samples do not interact, so a projected Newton method runs on all of them at once, each with its own
active set, line search and end. What one sample gets does not depend on its company.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.problem import Problem
from graphdict.terms import L1, UnitBox

__all__ = ["code", "codes_samples_alone"]

BLOCK_BYTES = 1 << 24
ARMIJO = 1e-4
SHRINK = 0.25
TIE_BREAK = 1e-6  # curvature, relative to a sample's costs, that picks the smallest of equal optima
DAMPING = 1e-10  # keeps the Newton system regular where atoms outnumber what tells them apart
NEAR = 1e-2  # a coefficient this close to a bound may be treated as bound
TRUSTED = 1e-8  # relative decrement from which full Newton steps need no line search


def codes_samples_alone(problem: Problem) -> bool:
    """Whether the problem in the coefficients falls apart into samples this module can solve."""
    return hasattr(problem.barrier, "curvature") and all(
        isinstance(term, (UnitBox, L1)) for term in problem.coefficient_terms
    )


def code(problem: Problem, atoms: NDArray, *, max_iter: int = 100, tol: float = 1e-8) -> NDArray:
    """Optimal coefficients (T, K) of every row of the problem's samples.

    A sample is done when no coefficient moves by more than ``tol``. Where several coefficient
    vectors are equally good, the smallest is returned; atoms without edges get zero.
    """
    shrinkage = sum(t.alpha for t in problem.coefficient_terms if isinstance(t, L1))
    costs = problem.fit.energies(atoms).astype(np.float64) + shrinkage
    images = problem.operator.linear.apply(atoms.astype(np.float64))  # type: ignore[attr-defined]
    alive = atoms.any(axis=1)
    coefficients = np.zeros(costs.shape)
    if alive.any():
        images = images[alive]
        row_bytes = 8 * (images.size + 4 * len(images) ** 2)
        size = max(1, BLOCK_BYTES // row_bytes)
        for start in range(0, len(costs), size):
            rows = slice(start, start + size)
            block = _Block(problem.barrier, costs[rows][:, alive], images)
            coefficients[rows, alive] = block.newton(max_iter, tol)
    return coefficients.astype(atoms.dtype)


class _Block:
    """Some samples, coded together: costs (T, K) and the images (K, ...) of the atoms."""

    def __init__(self, barrier: Any, costs: NDArray, images: NDArray):
        self.barrier = barrier
        self.costs = costs
        self.images = images
        self.flat = images.reshape(len(images), -1)
        self.ridge = TIE_BREAK * costs.mean(axis=1, keepdims=True)

    def image(self, x: NDArray) -> NDArray:
        return (x @ self.flat).reshape(len(x), *self.images.shape[1:])

    def value(self, x: NDArray, rows: NDArray) -> NDArray:
        linear = self.costs[rows] + 0.5 * self.ridge[rows] * x
        return np.einsum("tk,tk->t", x, linear) + self.barrier.values(self.image(x))

    def direction(self, x: NDArray, rows: NDArray) -> tuple[NDArray, NDArray]:
        """Gradient and direction: Newton's, but plain descent for coefficients about to be bound.

        A coefficient near the bound that its gradient points to would cut the Newton step short,
        so it is left out of the system; "near" narrows as the sample comes to rest.
        """
        image = self.image(x)
        slope = self.barrier.slope(image).reshape(len(x), -1)
        gradient = self.costs[rows] + self.ridge[rows] * x - slope @ self.flat.T
        hessian = self.barrier.curvature(image, self.images)
        identity = np.eye(x.shape[1])
        hessian += self.ridge[rows][:, :, None] * identity
        diagonal = np.einsum("tkk->tk", hessian).copy()
        diagonal[diagonal <= 0] = 1.0
        descent = -gradient / diagonal
        rest = np.abs(np.clip(x + descent, 0, 1) - x).max(axis=1, keepdims=True)
        near = np.minimum(rest, NEAR)
        free = ~(((x <= near) & (gradient > 0)) | ((x >= 1 - near) & (gradient < 0)))
        # Scaled to a unit diagonal, so that the damping means the same for every coefficient.
        unit = np.sqrt(diagonal)
        hessian /= unit[:, :, None] * unit[:, None, :]
        hessian *= free[:, :, None] * free[:, None, :]
        hessian += np.where(free, DAMPING, 1.0)[:, :, None] * identity
        slopes = np.where(free, gradient / unit, 0)
        newton = -np.linalg.solve(hessian, slopes[..., None])[..., 0] / unit
        return gradient, np.where(free, newton, descent)

    def newton(self, max_iter: int, tol: float) -> NDArray:
        """Projected Newton (Bertsekas 1982), each sample until it stands still."""
        result = np.full(self.costs.shape, 0.5)
        todo = np.arange(len(result))
        current = self.value(result, todo)
        todo = todo[np.isfinite(current)]
        for _ in range(max_iter):
            if not todo.size:
                break
            x = result[todo]
            gradient, direction = self.direction(x, todo)
            moved = np.clip(x + direction, 0, 1)
            decrement = np.einsum("tk,tk->t", gradient, x - moved)
            trusted = np.abs(decrement) <= TRUSTED * (1 + np.abs(current[todo]))
            far = np.flatnonzero(~trusted)
            if far.size:
                moved[far] = self.line_search(
                    x[far], todo[far], current[todo[far]], gradient[far], direction[far]
                )
            result[todo] = moved
            current[todo] = self.value(moved, todo)
            todo = todo[np.abs(moved - x).max(axis=1) > tol]
        return result

    def line_search(self, x, rows, start, gradient, direction) -> NDArray:
        """Backtracking along the projected Newton direction, for each sample on its own."""
        best = x.copy()
        rest = np.arange(len(x))
        step = 1.0
        for _ in range(30):
            trial = np.clip(x[rest] + step * direction[rest], 0, 1)
            promise = np.einsum("tk,tk->t", gradient[rest], trial - x[rest])
            good = self.value(trial, rows[rest]) <= start[rest] + ARMIJO * promise
            best[rest[good]] = trial[good]
            rest = rest[~good]
            if not rest.size:
                break
            step *= SHRINK
        return best
