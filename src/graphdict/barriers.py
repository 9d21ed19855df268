"""The logarithmic barrier of mixtures, compiled: its dual step, its slopes, its value.

The barrier of a sample sees ``d_t = sum_k c_tk g_k``, where ``g_k`` are the degrees (or the
spectrum) of atom k. All passes go over tiles of samples as :mod:`graphdict.tiles` does, four nodes
at a time, and form ``d`` while the tile is in cache. Arrays come samples first: coefficients
(T, K), degrees of the atoms (K, N). Inside, nodes and atoms are filled up to multiples of four.
The plain formulas are in :mod:`graphdict.operators` and :class:`graphdict.terms.LogBarrier`; tests
compare.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.tiles import PITCH, TILE, compiled, wider

__all__ = ["ascend", "push_on_atoms", "recode"]


def ascend(
    coefficients: NDArray,
    degrees: NDArray,
    ahead: NDArray,
    degrees_ahead: NDArray,
    dual: NDArray,
    sigma: Any,
    pulls: NDArray,
) -> tuple[NDArray, NDArray]:
    """The dual step of BiPDS, ``Y+ = prox_{sigma h*}(Y + sigma A(ahead))``, and ``C' Y+`` (K, N).

    Adds ``A*(Y+, W)`` to ``pulls`` (T, K).
    """
    raised, factors = np.empty_like(dual), wider(degrees)
    mixed = np.zeros_like(factors)
    turned = _turned(sigma * degrees_ahead)
    _ascend(coefficients, factors, ahead, turned, dual, sigma, raised, pulls, mixed)
    return raised, mixed[:, : dual.shape[1]]


def push_on_atoms(coefficients: NDArray, weights: NDArray, degrees: NDArray) -> NDArray:
    """``(p C)' (1 / D)`` (K, N) with the degrees ``D = C degrees`` of the mixtures."""
    push = np.zeros_like(wider(degrees))
    _push(coefficients, weights, _turned(degrees), degrees.shape[1], push)
    return push[:, : degrees.shape[1]]


def recode(
    coefficients: NDArray,
    weights: NDArray,
    degrees: NDArray,
    energies: NDArray,
    shrinkage: Any,
    rounds: int,
    stretch: bool,
) -> tuple[NDArray, tuple[float, float, float]]:
    """``rounds`` multiplicative updates of the coefficients (T, K).

    ``c <- min(1, c (push / pull)^q)`` with ``pull = e + shrinkage``, ``push = (1 / D) degrees'``,
    ``q`` = 1, or 1.5 to ``stretch``. With them come their share of the objective, and the squares
    of the projected gradient at the start and of its scale.
    """
    recoded, turned = np.empty_like(coefficients), _turned(degrees)
    numbers = _recode(
        coefficients, weights, turned, degrees.shape[1], energies, shrinkage, rounds, stretch,
        recoded,
    )  # fmt: skip
    return recoded, numbers


# Passes ---------------------------------------------------------------------------------------


@compiled
def _ascend(
    coefficients, factors, ahead, turned, dual, sigma, raised, pulls, mixed
):  # pragma: no cover - compiled
    """Where ``turned`` are ``sigma`` times the degrees ahead, a row for each node."""
    nodes, count = dual.shape[1], len(factors)
    y = np.zeros((len(turned), PITCH), dual.dtype)
    a = np.zeros((turned.shape[1], PITCH), dual.dtype)
    c, pull = np.zeros((count, PITCH), dual.dtype), np.zeros((count, PITCH), dual.dtype)
    half, two, four = y.dtype.type(0.5), y.dtype.type(2) * sigma, y.dtype.type(4) * sigma
    for start in range(0, len(dual), TILE):
        size = TILE if start + TILE <= len(dual) else len(dual) - start
        for s in range(size):
            for n in range(nodes):
                y[n, s] = dual[start + s, n]
            for k in range(count):
                c[k, s] = coefficients[start + s, k]
                a[k, s] = ahead[start + s, k]
                pull[k, s] = pulls[start + s, k]
        for n in range(0, nodes, 4):
            for m in range(n, n + 4 if n + 4 <= nodes else nodes):
                for k in range(0, len(a), 4):
                    g0, g1 = turned[m, k], turned[m, k + 1]
                    g2, g3 = turned[m, k + 2], turned[m, k + 3]
                    for s in range(size):
                        y[m, s] += g0 * a[k, s] + g1 * a[k + 1, s]
                        y[m, s] += g2 * a[k + 2, s] + g3 * a[k + 3, s]
                # (y - sqrt(y^2 + 4 sigma)) / 2, the prox of the conjugate of -log, uncancelled
                for s in range(size):
                    reach = abs(y[m, s]) + math.sqrt(y[m, s] * y[m, s] + four)
                    y[m, s] = -half * reach if y[m, s] < 0 else -two / reach
            for k in range(count):
                a0, a1, a2, a3 = (
                    factors[k, n],
                    factors[k, n + 1],
                    factors[k, n + 2],
                    factors[k, n + 3],
                )
                b0 = b1 = b2 = b3 = y.dtype.type(0)
                for s in range(size):
                    y0, y1, y2, y3 = y[n, s], y[n + 1, s], y[n + 2, s], y[n + 3, s]
                    v = c[k, s]
                    pull[k, s] += a0 * y0 + a1 * y1 + a2 * y2 + a3 * y3
                    b0, b1, b2, b3 = b0 + v * y0, b1 + v * y1, b2 + v * y2, b3 + v * y3
                mixed[k, n] += b0
                mixed[k, n + 1] += b1
                mixed[k, n + 2] += b2
                mixed[k, n + 3] += b3
        for s in range(size):
            for n in range(nodes):
                raised[start + s, n] = y[n, s]
            for k in range(count):
                pulls[start + s, k] = pull[k, s]


@compiled
def _push(coefficients, weights, turned, nodes, push):  # pragma: no cover - compiled
    """Where ``turned`` are the degrees of the atoms, a row for each node."""
    count = coefficients.shape[1]
    c = np.zeros((turned.shape[1], PITCH), push.dtype)
    p, d = np.zeros((count, PITCH), push.dtype), np.zeros((4, PITCH), push.dtype)
    for start in range(0, len(coefficients), TILE):
        size = TILE if start + TILE <= len(coefficients) else len(coefficients) - start
        for s in range(size):
            for k in range(count):
                c[k, s] = coefficients[start + s, k]
                p[k, s] = weights[start + s] * coefficients[start + s, k]
        for n in range(0, nodes, 4):
            _mix(c, turned, n, n + 4 if n + 4 <= nodes else nodes, d, size, True)
            for k in range(count):
                b0 = b1 = b2 = b3 = push.dtype.type(0)
                for s in range(size):
                    v = p[k, s]
                    b0, b1 = b0 + v * d[0, s], b1 + v * d[1, s]
                    b2, b3 = b2 + v * d[2, s], b3 + v * d[3, s]
                push[k, n] += b0
                push[k, n + 1] += b1
                push[k, n + 2] += b2
                push[k, n + 3] += b3


@compiled
def _recode(
    coefficients, weights, turned, nodes, energies, shrinkage, rounds, stretch, recoded
):  # pragma: no cover - compiled
    """Where ``turned`` are the degrees of the atoms, a row for each node."""
    count = coefficients.shape[1]
    c = np.zeros((turned.shape[1], PITCH), recoded.dtype)
    e, push = np.zeros((count, PITCH), recoded.dtype), np.zeros((count, PITCH), recoded.dtype)
    d, terms = np.zeros((4, PITCH), recoded.dtype), np.zeros((1, PITCH), weights.dtype)
    zero, one, most = recoded.dtype.type(0), recoded.dtype.type(1), recoded.dtype.type(1e6)
    value = gradient = scale = 0.0
    for start in range(0, len(coefficients), TILE):
        size = TILE if start + TILE <= len(coefficients) else len(coefficients) - start
        for s in range(size):
            for k in range(count):
                c[k, s] = coefficients[start + s, k]
                e[k, s] = energies[start + s, k]
        for inner in range(rounds + 1):  # the last one is for the value where the others led
            last = inner == rounds
            for n in range(0, nodes, 4):
                _mix(c, turned, n, n + 4 if n + 4 <= nodes else nodes, d, size, not last)
                if last:
                    for s in range(size):  # one logarithm of four where their product is in range
                        d0, d1, d2, d3 = d[0, s], d[1, s], d[2, s], d[3, s]
                        product = float(d0) * float(d1) * float(d2) * float(d3)
                        if 1e-280 < product < 1e280:
                            terms[0, s] -= math.log(product)
                        else:
                            terms[0, s] -= math.log(d0) + math.log(d1) + math.log(d2) + math.log(d3)
                else:
                    for k in range(count):
                        a0, a1 = turned[n, k], turned[n + 1, k]
                        a2, a3 = turned[n + 2, k], turned[n + 3, k]
                        for s in range(size):
                            push[k, s] += a0 * d[0, s] + a1 * d[1, s] + a2 * d[2, s] + a3 * d[3, s]
            if last:
                break
            for k in range(count):
                for s in range(size):
                    pull = e[k, s] + shrinkage
                    if inner == 0:
                        slope = pull - push[k, s]
                        held = c[k, s] * (slope if c[k, s] < 1 or slope > 0 else zero)
                        gradient += held * held
                        scale += c[k, s] * pull * c[k, s] * pull
                    # Where the push is the stronger by far, the quotient could overflow.
                    ratio = push[k, s] / pull if push[k, s] < most * pull else most
                    moved = c[k, s] * (ratio * math.sqrt(ratio) if stretch else ratio)
                    c[k, s] = moved if moved < one else one
                    push[k, s] = zero
        for s in range(size):
            for k in range(count):
                terms[0, s] += c[k, s] * e[k, s]
                recoded[start + s, k] = c[k, s]
            value += weights[start + s] * terms[0, s]
            terms[0, s] = 0
    return value, gradient, scale


@compiled
def _mix(c, turned, first, last, d, size, invert):  # pragma: no cover - compiled
    """Set the degrees of four nodes in the mixtures of a tile, or their inverses."""
    one = d.dtype.type(1)
    for n in range(first, last):
        for k in range(0, len(c), 4):
            g0, g1, g2, g3 = turned[n, k], turned[n, k + 1], turned[n, k + 2], turned[n, k + 3]
            for s in range(size):
                degree = d.dtype.type(0) if k == 0 else d[n - first, s]
                degree += g0 * c[k, s] + g1 * c[k + 1, s] + g2 * c[k + 2, s] + g3 * c[k + 3, s]
                d[n - first, s] = degree
        if invert:
            for s in range(size):
                d[n - first, s] = one / d[n - first, s]
    for f in range(last - first, 4):  # neither a factor nor a logarithm of one changes anything
        for s in range(size):
            d[f, s] = one


def _turned(matrix: NDArray) -> NDArray:
    """The transpose, with rows and columns of zeros up to multiples of four."""
    rows, columns = matrix.shape
    turned = np.zeros((columns + -columns % 4, rows + -rows % 4), matrix.dtype)
    turned[:columns, :rows] = matrix.T
    return turned
