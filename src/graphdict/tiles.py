"""Squared differences of signals, compiled: their products with atoms and with coefficients.

A tile holds up to ``TILE`` samples with one row for each node, so that every inner loop runs along
the samples and fills vector registers. Four squared differences ``z_ij`` of all samples of a tile
are formed at a time; while they are in the first-level cache they serve both big products of an
iteration,

    e_tk = <z_t, w_k>   and   [C' Z]_k = sum_t c_tk z_t,

each with half the arithmetic that matrix products of the signals need (:mod:`graphdict.kernels`
holds those, as the plain reference). ``python benchmarks/kernels.py`` compares both ways.

Arrays come as everywhere, samples first: signals (T, N), coefficients (T, K), atoms (K, E). Inside,
edges are filled up with zeros to a multiple of four. Sums over the samples of a tile are
reassociated, and nothing else: infinities and NaN keep their meaning.

Compiled code is cached on disk. Each pass is one flat function: parts of it would be compiled once
alone and once more in each place that uses them, and a user would wait for that.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["PITCH", "TILE", "compiled", "energies", "products", "weighted_distances", "wider"]

TILE = 384
PITCH = TILE + 8  # rows that lie a power of two apart would share the same few lines of the cache
SUMS = {"reassoc", "contract", "arcp", "nsz"}
compiled = njit(cache=True, nogil=True, fastmath=SUMS, error_model="numpy")


def products(signals: NDArray, atoms: NDArray, coefficients: NDArray) -> tuple[NDArray, NDArray]:
    """``Z W'`` (T, K) and ``C' Z`` (K, E) in one pass."""
    found, factors = np.empty_like(coefficients), wider(atoms)
    sums = np.zeros_like(factors)
    _products(signals, *_pairs(signals.shape[1]), factors, coefficients, found, sums)
    return found, sums[:, : atoms.shape[1]]


def energies(signals: NDArray, atoms: NDArray) -> NDArray:
    """``Z W'`` (T, K) alone."""
    found = np.empty((len(signals), len(atoms)), atoms.dtype)
    _energies(signals, *_pairs(signals.shape[1]), wider(atoms), found)
    return found


def weighted_distances(signals: NDArray, coefficients: NDArray) -> NDArray:
    """``C' Z`` (K, E) alone."""
    nodes = signals.shape[1]
    first, second = _pairs(nodes)
    sums = np.zeros((coefficients.shape[1], len(first)), coefficients.dtype)
    _distances(signals, first, second, coefficients, sums)
    return sums[:, : nodes * (nodes - 1) // 2]


# Passes ---------------------------------------------------------------------------------------


@compiled
def _products(
    signals, first, second, factors, coefficients, energies, sums
):  # pragma: no cover - compiled
    nodes, count = signals.shape[1], len(factors)
    x, z = np.zeros((nodes, PITCH), factors.dtype), np.zeros((4, PITCH), factors.dtype)
    c, e = np.zeros((count, PITCH), factors.dtype), np.zeros((count, PITCH), factors.dtype)
    for start in range(0, len(signals), TILE):
        size = TILE if start + TILE <= len(signals) else len(signals) - start
        for s in range(size):
            for n in range(nodes):
                x[n, s] = signals[start + s, n]
            for k in range(count):
                c[k, s] = coefficients[start + s, k]
                e[k, s] = 0
        for at in range(0, len(first), 4):
            i0, i1, i2, i3 = first[at], first[at + 1], first[at + 2], first[at + 3]
            j0, j1, j2, j3 = second[at], second[at + 1], second[at + 2], second[at + 3]
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
def _energies(signals, first, second, factors, energies):  # pragma: no cover - compiled
    nodes, count = signals.shape[1], len(factors)
    x, z = np.zeros((nodes, PITCH), factors.dtype), np.zeros((4, PITCH), factors.dtype)
    e = np.zeros((count, PITCH), factors.dtype)
    for start in range(0, len(signals), TILE):
        size = TILE if start + TILE <= len(signals) else len(signals) - start
        for s in range(size):
            for n in range(nodes):
                x[n, s] = signals[start + s, n]
            for k in range(count):
                e[k, s] = 0
        for at in range(0, len(first), 4):
            for f in range(4):
                i, j = first[at + f], second[at + f]
                for s in range(size):
                    difference = x[i, s] - x[j, s]
                    z[f, s] = difference * difference
            for k in range(count):
                a0, a1 = factors[k, at], factors[k, at + 1]
                a2, a3 = factors[k, at + 2], factors[k, at + 3]
                for s in range(size):
                    e[k, s] += a0 * z[0, s] + a1 * z[1, s] + a2 * z[2, s] + a3 * z[3, s]
        for s in range(size):
            for k in range(count):
                energies[start + s, k] = e[k, s]


@compiled
def _distances(signals, first, second, coefficients, sums):  # pragma: no cover - compiled
    nodes, count = signals.shape[1], len(sums)
    x, z = np.zeros((nodes, PITCH), sums.dtype), np.zeros((4, PITCH), sums.dtype)
    c = np.zeros((count, PITCH), sums.dtype)
    for start in range(0, len(signals), TILE):
        size = TILE if start + TILE <= len(signals) else len(signals) - start
        for s in range(size):
            for n in range(nodes):
                x[n, s] = signals[start + s, n]
            for k in range(count):
                c[k, s] = coefficients[start + s, k]
        for at in range(0, len(first), 4):
            for f in range(4):
                i, j = first[at + f], second[at + f]
                for s in range(size):
                    difference = x[i, s] - x[j, s]
                    z[f, s] = difference * difference
            for k in range(count):
                b0 = b1 = b2 = b3 = z.dtype.type(0)
                for s in range(size):
                    v = c[k, s]
                    b0, b1 = b0 + v * z[0, s], b1 + v * z[1, s]
                    b2, b3 = b2 + v * z[2, s], b3 + v * z[3, s]
                sums[k, at] += b0
                sums[k, at + 1] += b1
                sums[k, at + 2] += b2
                sums[k, at + 3] += b3


# Shapes of what they take ---------------------------------------------------------------------


@lru_cache(maxsize=16)
def _pairs(nodes: int) -> tuple[NDArray, NDArray]:
    """The nodes of each edge; edges beyond the last join node 0 with itself."""
    rows, columns = np.triu_indices(nodes, 1)
    beyond = (0, -len(rows) % 4)
    return np.pad(rows, beyond), np.pad(columns, beyond)


def wider(matrix: NDArray) -> NDArray:
    """With columns of zeros up to a multiple of four."""
    rows, columns = matrix.shape
    if columns % 4 == 0 and matrix.flags.c_contiguous:
        return matrix
    wide = np.zeros((rows, columns + -columns % 4), matrix.dtype)
    wide[:, :columns] = matrix
    return wide
