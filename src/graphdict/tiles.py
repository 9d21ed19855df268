"""Squared differences of signals, compiled: their products with atoms and with coefficients.

A tile holds up to ``TILE`` samples with one row for each node, so that every inner loop runs along
the samples and fills vector registers. Four squared differences ``z_ij`` of all samples of a tile
are formed at a time, and serve while they are in the first-level cache. Both big products of an
iteration,

    e_tk = <z_t, w_k>   and   [C' Z]_k = sum_t c_tk z_t,

take half the arithmetic that matrix products of the signals need (:mod:`graphdict.kernels` holds
those, as the plain reference). ``python benchmarks/kernels.py`` compares both ways.

Arrays come as everywhere, samples first: signals (T, N), coefficients (T, K), atoms (K, E). Inside,
edges are filled up with zeros to a multiple of four (:mod:`graphdict.padding`). Sums over the
samples of a tile are reassociated, and nothing else: infinities and NaN keep their meaning.

Compiled code is cached on disk. Each pass is one flat function: parts of it would be compiled once
alone and once more in each place that uses them, and a user would wait for that.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from graphdict.padding import TILE, pairs_of, rows_of_tile, wider

__all__ = ["compiled", "energies", "weighted_distances"]

SUMS = {"reassoc", "contract", "arcp", "nsz"}
compiled = njit(cache=True, nogil=True, fastmath=SUMS, error_model="numpy")


def energies(signals: NDArray, atoms: NDArray) -> NDArray:
    """``Z W'`` (T, K)."""
    return _run(signals, atoms, signals[:, :0])[0]


def weighted_distances(signals: NDArray, coefficients: NDArray) -> NDArray:
    """``C' Z`` (K, E)."""
    nodes = signals.shape[1]
    none = np.empty((0, nodes * (nodes - 1) // 2), coefficients.dtype)
    return _run(signals, none, coefficients)[1]


def _run(signals: NDArray, atoms: NDArray, coefficients: NDArray) -> tuple[NDArray, NDArray]:
    (samples, nodes), (many, edges), few = signals.shape, atoms.shape, coefficients.shape[1]
    found, pairs = np.empty((samples, many), atoms.dtype), pairs_of(nodes)
    sums = np.zeros((few, pairs.shape[1]), atoms.dtype)
    scratch = rows_of_tile(atoms.dtype, nodes, 4, few, many)
    _products(signals, pairs, wider(atoms), coefficients, found, sums, *scratch)
    return found, sums[:, :edges]


@compiled
def _products(
    signals, pairs, factors, coefficients, energies, sums, x, z, c, e
):  # pragma: no cover - compiled
    """Either product, where there are ``factors`` (the atoms) or ``coefficients``."""
    nodes, many, few = signals.shape[1], len(factors), len(sums)
    for start in range(0, len(signals), TILE):
        size = TILE if start + TILE <= len(signals) else len(signals) - start
        for s in range(size):
            for n in range(nodes):
                x[n, s] = signals[start + s, n]
            for k in range(few):
                c[k, s] = coefficients[start + s, k]
            for k in range(many):
                e[k, s] = 0
        for at in range(0, pairs.shape[1], 4):
            i0, i1, i2, i3 = pairs[0, at], pairs[0, at + 1], pairs[0, at + 2], pairs[0, at + 3]
            j0, j1, j2, j3 = pairs[1, at], pairs[1, at + 1], pairs[1, at + 2], pairs[1, at + 3]
            for s in range(size):
                z0, z1 = x[i0, s] - x[j0, s], x[i1, s] - x[j1, s]
                z2, z3 = x[i2, s] - x[j2, s], x[i3, s] - x[j3, s]
                z[0, s], z[1, s], z[2, s], z[3, s] = z0 * z0, z1 * z1, z2 * z2, z3 * z3
            for k in range(many):
                a0, a1 = factors[k, at], factors[k, at + 1]
                a2, a3 = factors[k, at + 2], factors[k, at + 3]
                for s in range(size):
                    e[k, s] += a0 * z[0, s] + a1 * z[1, s] + a2 * z[2, s] + a3 * z[3, s]
            for k in range(few):
                b0 = b1 = b2 = b3 = z.dtype.type(0)
                for s in range(size):
                    v = c[k, s]
                    b0, b1 = b0 + v * z[0, s], b1 + v * z[1, s]
                    b2, b3 = b2 + v * z[2, s], b3 + v * z[3, s]
                sums[k, at] += b0
                sums[k, at + 1] += b1
                sums[k, at + 2] += b2
                sums[k, at + 3] += b3
        for s in range(size):
            for k in range(many):
                energies[start + s, k] = e[k, s]
