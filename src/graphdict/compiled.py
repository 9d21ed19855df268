"""Loops that NumPy cannot express well, compiled by numba when they are first called.

:func:`total_variation_prox` solves

    argmin_u  |u - v|^2 / 2 + penalty * sum_t |u_{t+1} - u_t|

for each column of ``v`` exactly and in linear time, by dynamic programming (Johnson 2013): the
derivative of the cost of everything up to sample t, as a function of u_t, is piecewise linear and
increasing. Clipping it to [-penalty, penalty] and adding ``u - v_t`` moves to the next sample; only
its knots are kept. A backward pass then clips each value into the interval that its successor
allows.

:func:`positive_root` is the proximal operator of ``-log`` in one pass over memory instead of eight.
Compiled code is cached on disk, so a second process starts at once.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["positive_root", "total_variation_prox"]


def positive_root(x: NDArray, step: float) -> NDArray:
    """``(x + sqrt(x^2 + 4 step)) / 2``, without cancellation for very negative ``x``."""
    out = np.empty_like(x, order="C")
    flat = np.ascontiguousarray(x).reshape(-1)
    _roots(flat, x.dtype.type(step), out.reshape(-1))
    return out


@njit(cache=True, nogil=True, error_model="numpy")
def _roots(x, step, out):  # pragma: no cover - compiled
    four = x.dtype.type(4) * step
    two = x.dtype.type(2) * step
    half = x.dtype.type(0.5)
    for i in range(x.size):
        square = x[i] * x[i] + four
        root = np.sqrt(square) if square < np.inf else abs(x[i])
        reach = abs(x[i]) + root
        out[i] = reach * half if x[i] >= 0 else two / reach


def total_variation_prox(values: NDArray, penalty: float) -> NDArray:
    """Prox of ``penalty * TV`` along the first axis of ``values`` (T, K)."""
    columns = np.ascontiguousarray(values.T, dtype=np.float64)
    if penalty <= 0 or columns.shape[1] < 2:
        return values.copy()
    return _columns(columns, float(penalty)).T.astype(values.dtype, copy=False)


@njit(cache=True)
def _columns(columns, penalty):  # pragma: no cover - compiled
    out = np.empty_like(columns)
    for k in range(columns.shape[0]):
        _one(columns[k], penalty, out[k])
    return out


@njit(cache=True)
def _one(v, penalty, out):  # pragma: no cover - compiled
    """One signal. Knot i sits at position[i]; passing it adds slope[i] * u + shift[i]."""
    n = v.size
    position = np.empty(2 * n)
    slope = np.empty(2 * n)
    shift = np.empty(2 * n)
    lower = np.empty(n - 1)
    upper = np.empty(n - 1)
    first = n - 1
    last = n
    # After sample 0 the derivative is u - v[0]: it meets -penalty and +penalty at once.
    lower[0] = v[0] - penalty
    upper[0] = v[0] + penalty
    position[first], slope[first], shift[first] = lower[0], 1.0, -v[0] + penalty
    position[last], slope[last], shift[last] = upper[0], -1.0, v[0] + penalty
    left_slope, left_shift = 1.0, -penalty - v[1]
    right_slope, right_shift = 1.0, penalty - v[1]
    for t in range(1, n - 1):
        # From the left, to where the derivative passes -penalty.
        a, b = left_slope, left_shift
        low = first
        while low <= last and a * position[low] + b <= -penalty:
            a += slope[low]
            b += shift[low]
            low += 1
        lower[t] = (-penalty - b) / a
        # From the right, to where it passes +penalty.
        c, d = right_slope, right_shift
        high = last
        while high >= low and c * position[high] + d >= penalty:
            c -= slope[high]
            d -= shift[high]
            high -= 1
        upper[t] = (penalty - d) / c
        first = low - 1
        last = high + 1
        position[first], slope[first], shift[first] = lower[t], a, b + penalty
        position[last], slope[last], shift[last] = upper[t], -c, -d + penalty
        left_slope, left_shift = 1.0, -penalty - v[t + 1]
        right_slope, right_shift = 1.0, penalty - v[t + 1]
    # The last sample pays nothing further: its derivative is zero at the optimum.
    a, b = left_slope, left_shift
    low = first
    while low <= last and a * position[low] + b <= 0.0:
        a += slope[low]
        b += shift[low]
        low += 1
    out[n - 1] = -b / a
    for t in range(n - 2, -1, -1):
        out[t] = min(max(out[t + 1], lower[t]), upper[t])
