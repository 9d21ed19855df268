"""The pass of BiPDS over samples with a logarithmic barrier, compiled: all of an iteration's work.

It moves the coefficients to ``C`` where nobody has, finds both big products of the signals, takes
the dual step

    Y+ = prox_{sigma h*}(Y + sigma A(2 C - before, ahead))

and finds the gradients there: ``e + A*(Y+, W)`` of every sample, and ``(p C)' Z`` and ``(p C)' Y+``
summed over samples. The samples of a tile lie along the vector registers, as in
:mod:`graphdict.tiles`. Of edges there are four at a time: their squared differences serve both
products while they are in the first-level cache. Then come the nodes, four at a time.

The spectral model has no edges: its samples are powers in modes, which act where the dual does.

The three compiled functions hold no lock. Between them there is next to no Python, so that threads
that share the samples do not wait for each other. Arrays to work in are made inside: they overlap
with nothing, which loops would have to find out each time they begin.
The plain formulas are in
:mod:`graphdict.kernels`, :mod:`graphdict.operators` and :class:`graphdict.terms.LogBarrier`; tests
compare.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphdict.padding import PITCH, TILE, Packed, pairs_of
from graphdict.tiles import compiled

__all__ = ["Landing", "Move", "Moved", "advance"]


class Moved(NamedTuple):
    """New coefficients ``C``, and what is in the gradient there beside the signals and the dual."""

    coefficients: NDArray
    extra: Any


class Move(NamedTuple):
    """How to find them: ``min(max(before - tau gradient - off, low), high)``."""

    gradient: NDArray
    tau: float
    off: float
    low: float
    high: float
    extra: float


class Landing(NamedTuple):
    """What a pass finds where it leads: samples first, then sums over them."""

    coefficients: NDArray
    dual: NDArray
    energies: NDArray  # of the atoms (T, K)
    gradient: NDArray  # in the coefficients
    distances: Any  # (p C)' Z (K, E); zero where samples are powers
    mixed: NDArray  # (p C)' Y+ (K, N), powers included
    gram: NDArray  # (p C)' C


def advance(
    samples: NDArray,
    weights: NDArray,
    packed: Packed,
    before: NDArray,
    dual: NDArray,
    goal: Moved | Move,
    modal: bool,
) -> Landing:
    """The dual step at ``2 C - before``, and the gradients at the new coefficients ``C``.

    ``samples`` (T, N) are signals, or powers where ``modal``; ``weights`` (T,) the shares ``p``.
    """
    factors, slopes, reach, sigma, nodes, edges = packed
    after, ahead, weighted, gradient, gram = _move(before, weights, goal)
    if modal:
        distances: Any = 0.0
        energies = samples @ slopes[:, :nodes].T
    else:
        distances, energies = np.zeros_like(factors), np.empty_like(before)
        _products(samples, pairs_of(nodes), factors, weighted, energies, distances)
        distances = distances[:, :edges]
    raised, mixed = np.empty_like(dual), np.zeros_like(slopes)
    _ascend(weighted, ahead, slopes, reach, dual, sigma, energies, raised, gradient, mixed)
    mixed = mixed[:, :nodes]
    if modal:
        mixed += weighted.T @ samples
    return Landing(after, raised, energies, gradient, distances, mixed, gram)


def _move(before: NDArray, weights: NDArray, goal: Moved | Move) -> tuple[NDArray, ...]:
    """``C``, ``2 C - before``, ``p C``, what else is in the gradient, and ``(p C)' C``."""
    if isinstance(goal, Moved):
        after = np.ascontiguousarray(goal.coefficients)
        weighted = weights[:, None] * after
        gradient = np.array(np.broadcast_to(goal.extra, before.shape), before.dtype)
        return after, 2 * after - before, weighted, gradient, weighted.T @ after
    after, ahead, weighted, gradient = (np.empty_like(before) for _ in range(4))
    gram = np.zeros((before.shape[1], before.shape[1]), before.dtype)
    numbers = np.array(goal[1:], before.dtype)
    _moves(before, goal.gradient, weights, numbers, after, ahead, weighted, gradient, gram)
    return after, ahead, weighted, gradient, gram


@compiled
def _moves(
    before, slope, weights, numbers, after, ahead, weighted, gradient, gram
):  # pragma: no cover - compiled
    tau, off, low, high, extra = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]
    for t in range(len(before)):
        for k in range(before.shape[1]):
            v = before[t, k] - tau * slope[t, k] - off
            v = low if v < low else high if v > high else v
            after[t, k], ahead[t, k] = v, v + (v - before[t, k])
            weighted[t, k], gradient[t, k] = weights[t] * v, extra
            for j in range(k + 1):
                gram[k, j] += weighted[t, k] * after[t, j]
    for k in range(len(gram)):
        for j in range(k):
            gram[j, k] = gram[k, j]


@compiled
def _products(signals, pairs, factors, coefficients, energies, sums):  # pragma: no cover - compiled
    nodes, count = signals.shape[1], len(factors)
    # Made here, they overlap with nothing, and no loop has to find that out.
    x, z = np.empty((nodes, PITCH), factors.dtype), np.empty((4, PITCH), factors.dtype)
    c, e = np.empty((count, PITCH), factors.dtype), np.empty((count, PITCH), factors.dtype)
    for start in range(0, len(signals), TILE):
        size = TILE if start + TILE <= len(signals) else len(signals) - start
        for s in range(size):
            for n in range(nodes):
                x[n, s] = signals[start + s, n]
            for k in range(count):
                c[k, s] = coefficients[start + s, k]
                e[k, s] = 0
        for at in range(0, pairs.shape[1], 4):
            i0, i1, i2, i3 = pairs[0, at], pairs[0, at + 1], pairs[0, at + 2], pairs[0, at + 3]
            j0, j1, j2, j3 = pairs[1, at], pairs[1, at + 1], pairs[1, at + 2], pairs[1, at + 3]
            for k in range(count):
                a0, a1 = factors[k, at], factors[k, at + 1]
                a2, a3 = factors[k, at + 2], factors[k, at + 3]
                b0 = b1 = b2 = b3 = z.dtype.type(0)
                if k == 0:  # the first atom finds the differences, and keeps them for the others
                    for s in range(size):
                        z0, z1 = x[i0, s] - x[j0, s], x[i1, s] - x[j1, s]
                        z2, z3 = x[i2, s] - x[j2, s], x[i3, s] - x[j3, s]
                        z0, z1, z2, z3 = z0 * z0, z1 * z1, z2 * z2, z3 * z3
                        z[0, s], z[1, s], z[2, s], z[3, s] = z0, z1, z2, z3
                        v = c[k, s]
                        e[k, s] += a0 * z0 + a1 * z1 + a2 * z2 + a3 * z3
                        b0, b1, b2, b3 = b0 + v * z0, b1 + v * z1, b2 + v * z2, b3 + v * z3
                else:
                    for s in range(size):
                        z0, z1, z2, z3 = z[0, s], z[1, s], z[2, s], z[3, s]
                        v = c[k, s]
                        e[k, s] += a0 * z0 + a1 * z1 + a2 * z2 + a3 * z3
                        b0, b1, b2, b3 = b0 + v * z0, b1 + v * z1, b2 + v * z2, b3 + v * z3
                sums[k, at] += b0
                sums[k, at + 1] += b1
                sums[k, at + 2] += b2
                sums[k, at + 3] += b3
        for s in range(size):
            for k in range(count):
                energies[start + s, k] = e[k, s]


@compiled
def _ascend(
    weighted, ahead, slopes, reach, dual, sigma, energies, raised, gradient, mixed
):  # pragma: no cover - compiled
    nodes, count = dual.shape[1], len(slopes)
    y = np.empty((len(reach), PITCH), dual.dtype)
    a = np.empty((reach.shape[1], PITCH), dual.dtype)
    p, e = np.empty((count, PITCH), dual.dtype), np.empty((count, PITCH), dual.dtype)
    for s in range(PITCH):
        for n in range(nodes, len(y)):
            y[n, s] = 0
        for k in range(count, len(a)):
            a[k, s] = 0
    half, two, four = y.dtype.type(0.5), y.dtype.type(2) * sigma, y.dtype.type(4) * sigma
    for start in range(0, len(dual), TILE):
        size = TILE if start + TILE <= len(dual) else len(dual) - start
        for s in range(size):
            for n in range(nodes):
                y[n, s] = dual[start + s, n]
            for k in range(count):
                a[k, s] = ahead[start + s, k]
                p[k, s] = weighted[start + s, k]
                e[k, s] = energies[start + s, k]
        for n in range(0, nodes, 4):
            for m in range(n, n + 4 if n + 4 <= nodes else nodes):
                for k in range(0, len(a), 4):
                    g0, g1 = reach[m, k], reach[m, k + 1]
                    g2, g3 = reach[m, k + 2], reach[m, k + 3]
                    for s in range(size):
                        y[m, s] += g0 * a[k, s] + g1 * a[k + 1, s]
                        y[m, s] += g2 * a[k + 2, s] + g3 * a[k + 3, s]
                # (y - sqrt(y^2 + 4 sigma)) / 2, the prox of the conjugate of -log, uncancelled
                for s in range(size):
                    length = abs(y[m, s]) + math.sqrt(y[m, s] * y[m, s] + four)
                    y[m, s] = -half * length if y[m, s] < 0 else -two / length
            for k in range(count):
                a0, a1, a2, a3 = slopes[k, n], slopes[k, n + 1], slopes[k, n + 2], slopes[k, n + 3]
                b0 = b1 = b2 = b3 = y.dtype.type(0)
                for s in range(size):
                    y0, y1, y2, y3 = y[n, s], y[n + 1, s], y[n + 2, s], y[n + 3, s]
                    v = p[k, s]
                    e[k, s] += a0 * y0 + a1 * y1 + a2 * y2 + a3 * y3
                    b0, b1, b2, b3 = b0 + v * y0, b1 + v * y1, b2 + v * y2, b3 + v * y3
                mixed[k, n] += b0
                mixed[k, n + 1] += b1
                mixed[k, n + 2] += b2
                mixed[k, n + 3] += b3
        for s in range(size):
            for n in range(nodes):
                raised[start + s, n] = y[n, s]
            for k in range(count):
                gradient[start + s, k] += e[k, s]
