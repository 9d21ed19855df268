"""The compiled loop beneath :func:`graphdict.logdegree.learn_graphs`: Newton, graph by graph."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["newton"]

ARMIJO = 1e-4
TO_BOUNDARY = 0.95
HALVINGS = 40
LEAST_PIVOT = 1e-15


@njit(cache=True)
def newton(
    costs: NDArray,
    centre: NDArray,
    ridge: NDArray,
    alpha: float,
    active: NDArray,
    dual: NDArray,
    tol: float,
    max_iter: int,
    weights: NDArray,
) -> int:  # pragma: no cover - compiled
    """Solve for every row of ``costs`` (B, E), from and into ``dual`` (B, N).

    A graph is done when ``d_n y_n / alpha`` is one for every active node, up to ``tol``. Writes
    ``weights`` (B, E) and returns the largest number of steps that a graph took.
    """
    count, nodes = dual.shape
    degree = np.empty(nodes)
    gradient = np.empty(nodes)
    hessian = np.empty((nodes, nodes))
    move = np.empty(nodes)
    trial = np.empty(nodes)
    most = 0
    for b in range(count):
        y = dual[b]
        value = _evaluate(costs[b], centre[b], ridge[b], alpha, active[b], y, weights[b], degree)
        for step in range(max_iter):
            wrong = 0.0
            for n in range(nodes):
                gradient[n] = degree[n] - alpha / y[n] if active[b, n] else 0.0
                wrong = max(wrong, abs(gradient[n]) * y[n])
            if wrong <= tol * alpha:
                break
            most = max(most, step + 1)
            _fill(weights[b], ridge[b], alpha, y, hessian)
            _solve(hessian, gradient, move)
            length, promise = 1.0, 0.0
            for n in range(nodes):
                promise += gradient[n] * move[n]
                if move[n] < 0:
                    length = min(length, -TO_BOUNDARY * y[n] / move[n])
            start = value
            for _ in range(HALVINGS):
                for n in range(nodes):
                    trial[n] = y[n] + length * move[n]
                value = _evaluate(
                    costs[b], centre[b], ridge[b], alpha, active[b], trial, weights[b], degree
                )
                if value <= start + ARMIJO * length * promise + 1e-12 * abs(start):
                    break
                length *= 0.5
            y[:] = trial
    return most


@njit(cache=True)
def _evaluate(
    costs, centre, ridge, alpha, active, y, weights, degree
):  # pragma: no cover - compiled
    """The dual objective; fills the weights and degrees of ``y``."""
    nodes = len(y)
    degree[:] = 0.0
    value = 0.0
    edge = 0
    for i in range(nodes):
        for j in range(i + 1, nodes):
            weight = centre[edge] + (y[i] + y[j] - costs[edge]) / ridge
            if weight > 0.0 and active[i] and active[j]:
                weights[edge] = weight
                degree[i] += weight
                degree[j] += weight
                value += 0.5 * ridge * weight * weight
            else:
                weights[edge] = 0.0
            edge += 1
        if active[i]:
            value -= alpha * np.log(y[i])
    return value


@njit(cache=True)
def _fill(weights, ridge, alpha, y, hessian):  # pragma: no cover - compiled
    """Lower triangle of ``D diag(w > 0) D' / ridge + diag(alpha / y^2)``."""
    nodes = len(y)
    for i in range(nodes):
        hessian[i, i] = alpha / (y[i] * y[i])
    edge = 0
    for i in range(nodes):
        for j in range(i + 1, nodes):
            present = 1.0 / ridge if weights[edge] > 0.0 else 0.0
            hessian[j, i] = present
            hessian[i, i] += present
            hessian[j, j] += present
            edge += 1


@njit(cache=True)
def _solve(hessian, gradient, move):  # pragma: no cover - compiled
    """``move = -hessian^{-1} gradient`` by Cholesky, in place."""
    nodes = len(gradient)
    diagonal = np.diag(hessian).copy()
    for j in range(nodes):
        for k in range(j):
            factor = hessian[j, k]
            if factor != 0.0:
                for i in range(j, nodes):
                    hessian[i, j] -= hessian[i, k] * factor
        # Where rounding leaves no pivot, a small one keeps the step finite; the search shortens it.
        root = np.sqrt(max(hessian[j, j], LEAST_PIVOT * diagonal[j]))
        hessian[j, j] = root
        for i in range(j + 1, nodes):
            hessian[i, j] /= root
    for i in range(nodes):
        total = -gradient[i]
        for k in range(i):
            total -= hessian[i, k] * move[k]
        move[i] = total / hessian[i, i]
    for i in range(nodes - 1, -1, -1):
        total = move[i]
        for k in range(i + 1, nodes):
            total -= hessian[k, i] * move[k]
        move[i] = total / hessian[i, i]
