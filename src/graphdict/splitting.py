"""The pass of BiPDS over samples with a logarithmic barrier, compiled: all of an iteration's work.

Where new coefficients ``C`` and extrapolated ones are known, it takes the dual step

    Y+ = prox_{sigma h*}(Y + sigma A(ahead))

and finds the gradients there: ``e + A*(Y+, W)`` of every sample, and ``(p C)' Z`` and ``(p C)' Y+``
summed over samples. The samples of a tile lie along the vector registers, as in
:mod:`graphdict.tiles`. First come the edges, four at a time: their squared differences serve both
big products while they are in the first-level cache. Then come the nodes, four at a time.

The spectral model has no edges: its samples are powers in modes, which act where the dual does.

The plain formulas are in :mod:`graphdict.kernels`, :mod:`graphdict.operators` and
:class:`graphdict.terms.LogBarrier`; tests compare.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphdict.padding import TILE, Packed, pairs_of, rows_of_tile
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
    energies: NDArray  # of the atoms (T, K); zeros where samples are powers
    gradient: NDArray  # in the coefficients
    distances: NDArray  # (p C)' Z (K, E)
    mixed: NDArray  # (p C)' Y+ (K, N), powers included
    gram: NDArray  # (p C)' C
    seen: tuple[float, float, float]  # where asked for: p' h(A), squares of the dual gap and of A


def advance(
    samples: NDArray,
    weights: NDArray,
    packed: Packed,
    before: NDArray,
    dual: NDArray,
    goal: Moved | Move,
    modal: bool,
    check: bool,
) -> Landing:
    """The dual step at ``2 C - before``, and the gradients at the new coefficients ``C``.

    ``samples`` (T, N) are signals, or powers where ``modal``; ``weights`` (T,) the shares ``p``.
    The gap of the dual, for a check, is the distance of ``A(C, W)`` from ``-1 / Y+``.
    """
    factors, slopes, reach, sigma, nodes, edges = packed
    count, dtype = len(slopes), slopes.dtype
    if modal:
        factors = factors[:, :0]
    if moves := isinstance(goal, Move):
        slope, numbers = goal.gradient, np.array(goal[1:], dtype)
        after, gradient = np.empty_like(before), np.empty_like(before)
    else:
        slope, numbers = before, np.zeros(5, dtype)
        after = goal.coefficients
        gradient = np.array(np.broadcast_to(goal.extra, before.shape), dtype)
    arrays = (
        after, np.empty_like(dual), np.empty_like(before), gradient, np.zeros_like(factors),
        np.zeros_like(slopes), np.zeros((count, count), dtype),
    )  # fmt: skip
    rows, columns = reach.shape
    scratch = rows_of_tile(dtype, rows, rows, columns, 4, count, count, count)
    for array, used in zip(scratch, (nodes, nodes, count), strict=False):
        array[used:] = 0
    seen = _advance(
        samples, weights, before, slope, numbers, moves, dual, sigma, dtype.type(modal), check,
        pairs_of(nodes), factors, slopes, reach, *arrays, *scratch,
    )  # fmt: skip
    found = Landing(*arrays, seen)
    return found._replace(distances=found.distances[:, :edges], mixed=found.mixed[:, :nodes])


@compiled
def _advance(
    samples, weights, before, slope, numbers, moves, dual, sigma, modal, check, pairs, factors,
    slopes, reach, after, raised, energies, gradient, distances, mixed, gram, x, y, a, z, c, p, e,
):  # pragma: no cover - compiled # fmt: skip
    nodes, count = dual.shape[1], len(slopes)
    tau, off, low, high, extra = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]
    value = gaps = squares = 0.0
    half, two, four = y.dtype.type(0.5), y.dtype.type(2) * sigma, y.dtype.type(4) * sigma
    for start in range(0, len(dual), TILE):
        size = TILE if start + TILE <= len(dual) else len(dual) - start
        for s in range(size):
            for n in range(nodes):
                x[n, s] = samples[start + s, n]
                y[n, s] = dual[start + s, n]
            for k in range(count):
                if moves:
                    v = before[start + s, k] - tau * slope[start + s, k] - off
                    after[start + s, k] = low if v < low else high if v > high else v
                c[k, s] = after[start + s, k]
                a[k, s] = c[k, s] + (c[k, s] - before[start + s, k])
                p[k, s] = weights[start + s] * c[k, s]
                e[k, s] = 0
        for at in range(0, factors.shape[1], 4):
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
                        v = p[k, s]
                        e[k, s] += a0 * z0 + a1 * z1 + a2 * z2 + a3 * z3
                        b0, b1, b2, b3 = b0 + v * z0, b1 + v * z1, b2 + v * z2, b3 + v * z3
                else:
                    for s in range(size):
                        z0, z1, z2, z3 = z[0, s], z[1, s], z[2, s], z[3, s]
                        v = p[k, s]
                        e[k, s] += a0 * z0 + a1 * z1 + a2 * z2 + a3 * z3
                        b0, b1, b2, b3 = b0 + v * z0, b1 + v * z1, b2 + v * z2, b3 + v * z3
                distances[k, at] += b0
                distances[k, at + 1] += b1
                distances[k, at + 2] += b2
                distances[k, at + 3] += b3
        for s in range(size):
            for k in range(count):
                energies[start + s, k] = e[k, s]
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
                    x[m, s] = y[m, s] + modal * x[m, s]
            for k in range(count):
                a0, a1, a2, a3 = slopes[k, n], slopes[k, n + 1], slopes[k, n + 2], slopes[k, n + 3]
                b0 = b1 = b2 = b3 = y.dtype.type(0)
                for s in range(size):
                    y0, y1, y2, y3 = x[n, s], x[n + 1, s], x[n + 2, s], x[n + 3, s]
                    v = p[k, s]
                    e[k, s] += a0 * y0 + a1 * y1 + a2 * y2 + a3 * y3
                    b0, b1, b2, b3 = b0 + v * y0, b1 + v * y1, b2 + v * y2, b3 + v * y3
                mixed[k, n] += b0
                mixed[k, n + 1] += b1
                mixed[k, n + 2] += b2
                mixed[k, n + 3] += b3
        for n in range(nodes if check else 0):
            for s in range(size):
                z[0, s] = slopes[0, n] * c[0, s]
            for k in range(1, count):
                for s in range(size):
                    z[0, s] += slopes[k, n] * c[k, s]
            for s in range(size):
                gap = z[0, s] + 1 / y[n, s]
                gaps += gap * gap
                squares += z[0, s] * z[0, s]
            for s in range(size):
                value -= weights[start + s] * math.log(z[0, s])
        for k in range(count):
            for j in range(count):
                total = y.dtype.type(0)
                for s in range(size):
                    total += p[k, s] * c[j, s]
                gram[k, j] += total
        for s in range(size):
            for n in range(nodes):
                raised[start + s, n] = y[n, s]
            for k in range(count):
                gradient[start + s, k] = e[k, s] + (extra if moves else gradient[start + s, k])
    return value, gaps, squares
