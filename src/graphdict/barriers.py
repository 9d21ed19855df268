"""The logarithmic barrier of mixtures, compiled: its slopes, its value, and the updates of MM.

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

from graphdict.padding import TILE, rows_of_tile, transposed
from graphdict.tiles import compiled

__all__ = ["push_on_atoms", "recode"]


def push_on_atoms(coefficients: NDArray, weights: NDArray, degrees: NDArray) -> NDArray:
    """``(p C)' (1 / D)`` (K, N) with the degrees ``D = C degrees`` of the mixtures."""
    none = coefficients[:, :0]
    push = np.zeros((len(degrees), degrees.shape[1] + 3), degrees.dtype)
    _run(coefficients, weights, degrees, none, degrees.dtype.type(0), 0, False, none, push)
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
    recoded, none = np.empty_like(coefficients), degrees[:0]
    numbers = _run(
        coefficients, weights, degrees, energies, shrinkage, rounds, stretch, recoded, none
    )
    return recoded, numbers


def _run(
    coefficients: NDArray, weights: NDArray, degrees: NDArray, *others: Any
) -> tuple[float, float, float]:
    (count, nodes), dtype, turned = degrees.shape, degrees.dtype, transposed(degrees)
    scratch = rows_of_tile(dtype, turned.shape[1], count, count, 4)  # c, e, slopes, d below
    scratch[0][count:], scratch[2][:] = 0, 0
    terms = np.zeros(TILE)
    arrays = (coefficients, weights, turned, nodes, *others, *scratch, terms)
    return _pass(*arrays)


@compiled
def _pass(
    coefficients, weights, turned, nodes, energies, shrinkage, rounds, stretch, recoded, push,
    c, e, slopes, d, terms,
):  # pragma: no cover - compiled # fmt: skip
    """Updates of the coefficients and the value where they lead; or only the push on the atoms.

    Both are one function since most of it, and of the time to compile it, serves both. ``turned``
    are the degrees of the atoms, a row for each node.
    """
    count, pushes = coefficients.shape[1], len(push) > 0
    zero, one, most = c.dtype.type(0), c.dtype.type(1), c.dtype.type(1e6)
    value = gradient = scale = 0.0
    for start in range(0, len(coefficients), TILE):
        size = TILE if start + TILE <= len(coefficients) else len(coefficients) - start
        for s in range(size):
            for k in range(count):
                c[k, s] = coefficients[start + s, k]
                e[k, s] = weights[start + s] * c[k, s] if pushes else energies[start + s, k]
        for inner in range(rounds + 1):  # the last one is for the value where the others led
            last = inner == rounds
            for n in range(0, nodes, 4):
                for f in range(4):  # degrees of four nodes; beyond the last node, ones
                    for k in range(0, len(c), 4):
                        g0, g1 = turned[n + f, k], turned[n + f, k + 1]
                        g2, g3 = turned[n + f, k + 2], turned[n + f, k + 3]
                        for s in range(size):
                            before = d[f, s] if k > 0 else one if n + f >= nodes else zero
                            mixed = g0 * c[k, s] + g1 * c[k + 1, s]
                            d[f, s] = before + mixed + g2 * c[k + 2, s] + g3 * c[k + 3, s]
                if last and not pushes:
                    for s in range(size):  # one logarithm of four where their product is in range
                        d0, d1, d2, d3 = d[0, s], d[1, s], d[2, s], d[3, s]
                        product = float(d0) * float(d1) * float(d2) * float(d3)
                        if 1e-280 < product < 1e280:
                            terms[s] -= math.log(product)
                        else:
                            terms[s] -= math.log(d0) + math.log(d1) + math.log(d2) + math.log(d3)
                    continue
                for s in range(size):
                    d[0, s], d[1, s] = one / d[0, s], one / d[1, s]
                    d[2, s], d[3, s] = one / d[2, s], one / d[3, s]
                for k in range(count):
                    a0, a1 = turned[n, k], turned[n + 1, k]
                    a2, a3 = turned[n + 2, k], turned[n + 3, k]
                    b0 = b1 = b2 = b3 = zero
                    if pushes:
                        for s in range(size):
                            v = e[k, s]
                            b0, b1 = b0 + v * d[0, s], b1 + v * d[1, s]
                            b2, b3 = b2 + v * d[2, s], b3 + v * d[3, s]
                        push[k, n] += b0
                        push[k, n + 1] += b1
                        push[k, n + 2] += b2
                        push[k, n + 3] += b3
                    else:
                        for s in range(size):
                            slope = a0 * d[0, s] + a1 * d[1, s] + a2 * d[2, s] + a3 * d[3, s]
                            slopes[k, s] += slope
            for k in range(0 if last else count):
                for s in range(size):
                    pull = e[k, s] + shrinkage
                    if inner == 0:
                        slope = pull - slopes[k, s]
                        held = c[k, s] * (slope if c[k, s] < 1 or slope > 0 else zero)
                        gradient += held * held
                        scale += c[k, s] * pull * c[k, s] * pull
                    # Where the push is the stronger by far, the quotient could overflow.
                    ratio = slopes[k, s] / pull if slopes[k, s] < most * pull else most
                    moved = c[k, s] * (ratio * math.sqrt(ratio) if stretch else ratio)
                    c[k, s] = moved if moved < one else one
                    slopes[k, s] = zero
        for s in range(0 if pushes else size):
            for k in range(count):
                terms[s] += c[k, s] * e[k, s]
                recoded[start + s, k] = c[k, s]
            value += weights[start + s] * terms[s]
            terms[s] = 0
    return value, gradient, scale
