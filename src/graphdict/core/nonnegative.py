"""Minimise a smooth function of nonnegative variables in a few evaluations: projected L-BFGS.

Variables at zero whose gradient is positive are held. The others move along the quasi-Newton
direction of limited memory, projected, as far as the function falls enough (Armijo).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

MEMORY = 10  # steps remembered
ENOUGH = 1e-4  # of the fall that the slope promises
SHORTEST = 1e-10  # step worth trying
WINDOW = 5  # steps by which progress is told
NEAR = 1e-2  # distance from a bound, in units of the variables, from which they go there at once
CURVED = 1e-10  # least curvature of a step that is remembered, relative


def minimise_nonnegative(
    function: Callable[[NDArray], tuple[float, NDArray]],
    start: NDArray,
    steps: int,
    evaluations: int,
    *,
    lower: NDArray | None = None,
    upper: NDArray | None = None,
    settled: float = -np.inf,
) -> NDArray:
    """Return a point (n,) of lower value than ``start``, or ``start`` where none is found.

    Parameters
    ----------
    function : callable
        Returns value and gradient (n,) at a point.
    start : array (n,)
    steps, evaluations : int
        Most steps to take, and most calls of the function.
    lower, upper : array (n,), optional
        Other bounds than zero and infinity.
    settled : float, optional
        Decrease of the value over ``WINDOW`` steps below which no more are taken. Where it is
        given, variables that come within ``NEAR`` of a bound go there at once, which is sooner at
        the minimum, but not lower after a few steps.
    """
    least = np.zeros_like(start) if lower is None else lower
    most = np.full_like(start, np.inf) if upper is None else upper
    point = np.clip(start, least, most)
    value, gradient = function(point)
    calls = 1
    pairs: deque[tuple[NDArray, NDArray]] = deque(maxlen=MEMORY)
    before = deque([np.inf] * WINDOW)  # values of the last steps
    for _ in range(steps):
        # Next to a bound that it is drawn to a variable goes there at once. Along a direction that
        # takes no notice of bounds, projection would leave little of the fall that it promises.
        projected = np.clip(point - gradient, least, most) - point
        margin = 0.0 if settled == -np.inf else NEAR
        near = margin * min(1.0, float(np.abs(projected).max(initial=0.0)))
        falls = (point <= least + near) & (gradient > 0)
        rises = (point >= most - near) & (gradient < 0)
        held = falls | rises
        free = np.where(held, 0.0, gradient)
        if not projected.any():
            break
        direction = np.where(held, 0.0, -_quasi_newton(free, pairs, held))
        if not direction @ free < 0:  # also where that is NaN
            pairs.clear()
            direction = -free
        norm = float(np.linalg.norm(free))  # zero where squares underflow
        length = 1.0 if pairs or norm <= 1 else 1 / norm
        direction = np.where(falls, least - point, np.where(rises, most - point, direction))
        while True:
            moved = np.clip(point + length * direction, least, most)
            new_value, new_gradient = function(moved)
            calls += 1
            promised = float(gradient @ (moved - point))
            if new_value <= value + ENOUGH * min(promised, 0.0):
                break
            if calls >= evaluations or length < SHORTEST:
                return point
            length *= _shorter(value, new_value, promised)
        pairs.append((moved - point, new_gradient - gradient))
        if _curvature(pairs[-1]) <= 0:
            pairs.pop()
        point, value, gradient = moved, new_value, new_gradient
        before.append(value)
        if calls >= evaluations or before.popleft() - value < settled:
            break
    return point


def _quasi_newton(
    gradient: NDArray, pairs: deque[tuple[NDArray, NDArray]], held: NDArray
) -> NDArray:
    """Return the inverse Hessian of limited memory times the gradient, on variables not held."""
    free = ~held
    masked = [(step * free, change * free) for step, change in pairs]
    masked = [pair for pair in masked if _curvature(pair) > 0]
    if not masked:
        return gradient
    result = gradient.copy()
    shares = []
    for step, change in reversed(masked):
        share = (step @ result) / (step @ change)
        result -= share * change
        shares.append(share)
    step, change = masked[-1]
    result *= (step @ change) / (change @ change)
    for (step, change), share in zip(masked, reversed(shares), strict=True):
        result += step * (share - (change @ result) / (step @ change))
    return result


def _curvature(pair: tuple[NDArray, NDArray]) -> float:
    """Return the curvature along a step, 0 where it is too small to count on."""
    step, change = pair
    product = float(step @ change)
    return product if product > CURVED * float(step @ step) else 0.0


def _shorter(value: float, new_value: float, slope: float) -> float:
    """Return by which factor to shorten a step: where an interpolating parabola is least.

    The parabola has the value and the slope where the step begins and the value where it ends; the
    factor is 0.1 at least and 0.5 at most.
    """
    if not np.isfinite(new_value) or slope >= 0:
        return 0.1
    factor = -slope / (2 * (new_value - value - slope))
    return float(np.clip(factor, 0.1, 0.5))
