"""The pass of the log model over its samples, compiled: a tile of samples at a time.

A tile holds up to ``TILE`` samples with one row for each node, so that every inner loop runs along
the samples and fills vector registers. Four squared differences ``z_ij`` of all samples of a tile
are formed at a time; while they are in the first-level cache they serve both big products of an
iteration,

    e_tk = <z_t, w_k>   and   [C' Z]_k = sum_t c_tk z_t,

each with half the arithmetic that matrix products of the signals need (:mod:`graphdict.kernels`
holds those, as the plain reference). Degrees, their barrier and its dual are touched while the tile
is there, four nodes at a time, by the same loops: :func:`_add_four`, :func:`_dot_four`, and both at
once where both are wanted, so that each ``z`` is read once.
``python benchmarks/kernels.py`` compares both ways.

Arrays come as everywhere, samples first: signals (T, N), coefficients (T, K), degrees of the atoms
(K, N). Inside, nodes, edges and atoms are filled up with zeros to multiples of four. Compiled code
is cached on disk. Sums over the samples of a tile are reassociated, and nothing else: infinities
and NaN keep their meaning.
"""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["ascend", "degrees", "products", "push_on_atoms", "recode"]

TILE = 384
PITCH = TILE + 8  # rows that lie a power of two apart would share the same few lines of the cache
SUMS = {"reassoc", "contract", "arcp", "nsz"}
compiled = njit(cache=True, nogil=True, fastmath=SUMS, error_model="numpy")


@compiled
def degrees(atoms, nodes):  # pragma: no cover - compiled
    """Degrees (K, N) of the atoms (K, E)."""
    result = np.zeros((len(atoms), nodes), atoms.dtype)
    for k in range(len(atoms)):
        edge = 0
        for i in range(nodes - 1):
            for j in range(i + 1, nodes):
                result[k, i] += atoms[k, edge]
                result[k, j] += atoms[k, edge]
                edge += 1
    return result


@compiled
def products(signals, atoms, energies, coefficients, distances):  # pragma: no cover - compiled
    """``Z W'`` set in ``energies`` (T, K), and ``C' Z`` added to ``distances`` (K, E).

    Either is left out where the array to write has no rows.
    """
    nodes, count, edges = signals.shape[1], len(atoms), atoms.shape[1]
    # Edges beyond the last join node 0 with itself: their differences are zero.
    first, second = np.zeros(_fours(edges), np.int64), np.zeros(_fours(edges), np.int64)
    edge = 0
    for i in range(nodes - 1):
        for j in range(i + 1, nodes):
            first[edge] = i
            second[edge] = j
            edge += 1
    factors = _wider(atoms)
    sums = np.zeros_like(factors)
    x, c, e = _rows(nodes, atoms), _rows(count, atoms), _rows(count, atoms)
    z = _rows(4, atoms)
    for start in range(0, len(signals), TILE):
        size = min(TILE, len(signals) - start)
        _load(signals, start, x, size)
        if len(distances):
            _load(coefficients, start, c, size)
        _set(e, 0, size)
        for edge in range(0, len(first), 4):
            for f in range(4):
                _square(x[first[edge + f]], x[second[edge + f]], z[f], size)
            if len(energies) and len(distances):
                _add_and_dot_four(e, factors, c, sums, edge, z, size)
            elif len(energies):
                _add_four(e, factors, edge, z, size)
            elif len(distances):
                _dot_four(c, z, sums, edge, size)
        if len(energies):
            _store(e, start, energies, size)
    for k in range(len(distances)):
        for edge in range(edges):
            distances[k, edge] += sums[k, edge]


@compiled
def ascend(
    coefficients, degrees, ahead, degrees_ahead, dual, sigma, raised, pulls
):  # pragma: no cover - compiled
    """The dual step of BiPDS, ``Y+ = prox_{sigma h*}(Y + sigma A(ahead))``, set in ``raised``.

    Adds ``A*(Y+, W)`` to ``pulls`` (T, K), and returns ``C' Y+`` (K, at least N).
    """
    nodes, count = dual.shape[1], len(degrees)
    factors, factors_ahead = _wider(degrees), _turned(degrees_ahead, sigma)
    mixed = np.zeros_like(factors)
    y, c, pull = _rows(_fours(nodes), dual), _rows(count, dual), _rows(count, dual)
    a = _rows(_fours(count), dual)
    for start in range(0, len(dual), TILE):
        size = min(TILE, len(dual) - start)
        _load(coefficients, start, c, size)
        _load(ahead, start, a[:count], size)
        _load(dual, start, y[:nodes], size)
        _load(pulls, start, pull, size)
        for n in range(0, nodes, 4):
            rows = y[n : min(n + 4, nodes)]
            for k in range(0, len(a), 4):
                _add_four(rows, factors_ahead[n : n + 4], k, a[k : k + 4], size)
            for f in range(len(rows)):
                _negative_root(rows[f], sigma, size)
            _add_and_dot_four(pull, factors, c, mixed, n, y[n : n + 4], size)
        _store(y[:nodes], start, raised, size)
        _store(pull, start, pulls, size)
    return mixed


@compiled
def push_on_atoms(coefficients, weights, degrees):  # pragma: no cover - compiled
    """``(p C)' (1 / D)`` (K, at least N) with the degrees ``D = C degrees`` of the mixtures."""
    nodes, count = degrees.shape[1], len(degrees)
    factors = _turned(degrees, 1)
    push = np.zeros((count, _fours(nodes)), degrees.dtype)
    c, p = _rows(_fours(count), degrees), _rows(count, degrees)
    d = _rows(4, degrees)
    for start in range(0, len(coefficients), TILE):
        size = min(TILE, len(coefficients) - start)
        _load(coefficients, start, c[:count], size)
        _load(coefficients, start, p, size)
        _weigh(p, weights, start, size)
        for n in range(0, nodes, 4):
            rows = d[: min(4, nodes - n)]
            _mix(rows, c, factors, n, size)
            for f in range(len(rows)):
                _invert(rows[f], size)
            _dot_four(p, d, push, n, size)
    return push


@compiled
def recode(
    coefficients, weights, degrees, energies, shrinkage, rounds, stretch, recoded
):  # pragma: no cover - compiled
    """``rounds`` multiplicative updates of the coefficients, set in ``recoded`` (T, K).

    ``c <- min(1, c (push / pull)^q)`` with ``pull = e + shrinkage``, ``push = (1 / D) degrees'``,
    ``q`` = 1, or 1.5 to ``stretch``. Returns their share of the objective, and the squares of the
    projected gradient at the start and of its scale.
    """
    nodes, count = degrees.shape[1], len(degrees)
    factors, turned = _wider(degrees), _turned(degrees, 1)
    c, pull, push = _rows(_fours(count), degrees), _rows(count, degrees), _rows(count, degrees)
    d, logs = _rows(4, degrees), np.empty(TILE)
    value = gradient = scale = 0.0
    for start in range(0, len(coefficients), TILE):
        size = min(TILE, len(coefficients) - start)
        _load(coefficients, start, c[:count], size)
        _load(energies, start, pull, size)
        for k in range(count):
            for s in range(size):
                pull[k, s] += shrinkage
        for inner in range(rounds):
            _set(push, 0, size)
            for n in range(0, nodes, 4):
                rows = d[: min(4, nodes - n)]
                _mix(rows, c, turned, n, size)
                for f in range(len(rows)):
                    _invert(rows[f], size)
                _add_four(push, factors, n, d, size)
            if inner == 0:
                for k in range(count):
                    for s in range(size):
                        slope = pull[k, s] - push[k, s]
                        if c[k, s] < 1 or slope > 0:
                            gradient += (c[k, s] * slope) ** 2
                        scale += (c[k, s] * pull[k, s]) ** 2
            for k in range(count):
                _update(c[k], push[k], pull[k], stretch, size)
        _store(c[:count], start, recoded, size)
        _sum_logs(c, turned, d, logs, size)
        for s in range(size):
            energy = 0.0
            for k in range(count):
                energy += c[k, s] * energies[start + s, k]
            value += weights[start + s] * (energy - logs[s])
    return value, gradient, scale


# Loops along the samples of a tile ------------------------------------------------------------


@compiled
def _add_four(out, factors, at, z, size):  # pragma: no cover - compiled
    """Add ``factors[:, at : at + 4] z`` to the rows of ``out``."""
    for m in range(len(out)):
        a0, a1, a2, a3 = factors[m, at], factors[m, at + 1], factors[m, at + 2], factors[m, at + 3]
        for s in range(size):
            out[m, s] += a0 * z[0, s] + a1 * z[1, s] + a2 * z[2, s] + a3 * z[3, s]


@compiled
def _dot_four(c, z, sums, at, size):  # pragma: no cover - compiled
    """Add ``c z'`` to the columns ``at : at + 4`` of ``sums``."""
    for m in range(len(c)):
        b0 = b1 = b2 = b3 = z.dtype.type(0)
        for s in range(size):
            v = c[m, s]
            b0 += v * z[0, s]
            b1 += v * z[1, s]
            b2 += v * z[2, s]
            b3 += v * z[3, s]
        sums[m, at] += b0
        sums[m, at + 1] += b1
        sums[m, at + 2] += b2
        sums[m, at + 3] += b3


@compiled
def _add_and_dot_four(out, factors, c, sums, at, z, size):  # pragma: no cover - compiled
    """Both of the above, with four rows of ``z`` in registers."""
    for m in range(len(out)):
        a0, a1, a2, a3 = factors[m, at], factors[m, at + 1], factors[m, at + 2], factors[m, at + 3]
        b0 = b1 = b2 = b3 = z.dtype.type(0)
        for s in range(size):
            z0, z1, z2, z3 = z[0, s], z[1, s], z[2, s], z[3, s]
            v = c[m, s]
            out[m, s] += a0 * z0 + a1 * z1 + a2 * z2 + a3 * z3
            b0 += v * z0
            b1 += v * z1
            b2 += v * z2
            b3 += v * z3
        sums[m, at] += b0
        sums[m, at + 1] += b1
        sums[m, at + 2] += b2
        sums[m, at + 3] += b3


@compiled
def _mix(rows, c, factors, n, size):  # pragma: no cover - compiled
    """Degrees of the nodes from ``n`` on in the mixtures of a tile."""
    _set(rows, 0, size)
    for k in range(0, len(c), 4):
        _add_four(rows, factors[n : n + 4], k, c[k : k + 4], size)


@compiled
def _square(a, b, out, size):  # pragma: no cover - compiled
    for s in range(size):
        difference = a[s] - b[s]
        out[s] = difference * difference


@compiled
def _invert(row, size):  # pragma: no cover - compiled
    one = row.dtype.type(1)
    for s in range(size):
        row[s] = one / row[s]


@compiled
def _negative_root(row, sigma, size):  # pragma: no cover - compiled
    """``(y - sqrt(y^2 + 4 sigma)) / 2``, the prox of the conjugate of ``-log``, uncancelled."""
    half, two, four = row.dtype.type(0.5), row.dtype.type(2) * sigma, row.dtype.type(4) * sigma
    for s in range(size):
        y = row[s]
        reach = abs(y) + np.sqrt(y * y + four)
        row[s] = -half * reach if y < 0 else -two / reach


@compiled
def _update(c, push, pull, stretch, size):  # pragma: no cover - compiled
    one, most = c.dtype.type(1), c.dtype.type(1e6)
    for s in range(size):
        # Where the push is the stronger by far, the quotient could overflow.
        ratio = push[s] / pull[s] if push[s] < most * pull[s] else most
        if stretch:
            ratio *= np.sqrt(ratio)
        c[s] = min(one, c[s] * ratio)


@compiled
def _sum_logs(c, factors, d, logs, size):  # pragma: no cover - compiled
    """Set the sums of the logarithms of all degrees; four in one logarithm where in range."""
    nodes = len(factors)
    product = np.empty(TILE)
    _set(logs.reshape(1, -1), 0, size)
    for n in range(0, nodes, 4):
        rows = d[: min(4, nodes - n)]
        _mix(rows, c, factors, n, size)
        for s in range(size):
            product[s] = rows[0, s]
        for f in range(1, len(rows)):
            for s in range(size):
                product[s] *= rows[f, s]
        safe = True
        for s in range(size):
            safe &= 1e-280 < product[s] < 1e280
        for f in range(len(rows)):
            for s in range(size):
                safe &= rows[f, s] > 0
        if safe:
            for s in range(size):
                logs[s] += np.log(product[s])
        else:
            for f in range(len(rows)):
                for s in range(size):
                    logs[s] += np.log(rows[f, s]) if rows[f, s] > 0 else -np.inf


# Tiles ----------------------------------------------------------------------------------------


@compiled
def _rows(count, like):  # pragma: no cover - compiled
    """A tile of ``count`` rows of zeros."""
    return np.zeros((count, PITCH), like.dtype)


@compiled
def _fours(count):  # pragma: no cover - compiled
    """The next multiple of four."""
    return -(-count // 4) * 4


@compiled
def _wider(matrix):  # pragma: no cover - compiled
    """With columns of zeros up to a multiple of four."""
    wide = np.zeros((len(matrix), _fours(matrix.shape[1])), matrix.dtype)
    for m in range(len(matrix)):
        for f in range(matrix.shape[1]):
            wide[m, f] = matrix[m, f]
    return wide


@compiled
def _turned(matrix, scale):  # pragma: no cover - compiled
    """``scale`` times the transpose, with columns of zeros up to a multiple of four."""
    wide = np.zeros((matrix.shape[1], _fours(len(matrix))), matrix.dtype)
    for m in range(len(matrix)):
        for f in range(matrix.shape[1]):
            wide[f, m] = scale * matrix[m, f]
    return wide


@compiled
def _load(rows, start, tile, size):  # pragma: no cover - compiled
    """Samples (T, M) from ``start`` on as a tile (M, size)."""
    for s in range(size):
        for m in range(len(tile)):
            tile[m, s] = rows[start + s, m]


@compiled
def _store(tile, start, rows, size):  # pragma: no cover - compiled
    for s in range(size):
        for m in range(len(tile)):
            rows[start + s, m] = tile[m, s]


@compiled
def _weigh(tile, weights, start, size):  # pragma: no cover - compiled
    """Multiply by the shares of the samples."""
    for m in range(len(tile)):
        for s in range(size):
            tile[m, s] *= weights[start + s]


@compiled
def _set(tile, value, size):  # pragma: no cover - compiled
    for m in range(len(tile)):
        for s in range(size):
            tile[m, s] = value
