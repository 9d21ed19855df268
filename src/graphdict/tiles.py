"""The pass of the log model over its samples, compiled: a tile of samples at a time.

A tile holds ``TILE`` samples with one row for each node, so that every inner loop runs along the
samples, has a fixed length and fills vector registers. Four squared differences ``z_ij`` of all
samples of a tile are formed at a time; while they are in the first-level cache they serve both big
products of an iteration,

    e_tk = <z_t, w_k>   and   [C' Z]_k = sum_t c_tk z_t,

each with half the arithmetic that matrix products of the signals need (:mod:`graphdict.kernels`
holds those, as the plain reference). Degrees, their barrier and its dual are touched while the tile
is there. ``python benchmarks/kernels.py`` compares both.

Arrays come as everywhere, samples first: signals (T, N), coefficients (T, K), degrees of the atoms
(K, N). Compiled code is cached on disk. Sums over the samples of a tile are reassociated, and
nothing else: infinities and NaN keep their meaning.
"""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["ascend", "degrees", "products", "push_on_atoms", "recode"]

TILE = 256
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
    nodes, count = signals.shape[1], len(atoms)
    x = np.empty((nodes, TILE), signals.dtype)
    c = np.zeros((count, TILE), signals.dtype)
    e = np.zeros((count, TILE), signals.dtype)
    z = np.empty((4, TILE), signals.dtype)
    for start in range(0, len(signals), TILE):
        _load(signals, start, x)
        if len(distances):
            _load(coefficients, start, c)
        edge = 0
        for i in range(nodes - 1):
            j = i + 1
            while j < nodes:
                together = min(4, nodes - j)
                for f in range(together):
                    _square(x[i], x[j + f], z[f])
                if len(energies):
                    _add_edges(e, atoms, edge, together, z)
                if len(distances):
                    _dot_edges(c, z, distances, edge, together)
                edge += together
                j += together
        if len(energies):
            _store(e, start, energies)
            _set(e, 0)


@compiled
def ascend(
    coefficients, weights, degrees, ahead, degrees_ahead, dual, sigma, raised, pulls
):  # pragma: no cover - compiled
    """The dual step of BiPDS, ``Y+ = prox_{sigma h*}(Y + sigma A(ahead))``, set in ``raised``.

    Adds ``A*(Y+, W)`` to ``pulls`` (T, K), and returns ``(p C)' Y+`` (K, N) with shares ``p`` of
    the samples.
    """
    nodes, count = dual.shape[1], len(degrees)
    y = np.empty((nodes, TILE), dual.dtype)
    c, a, pull = (
        np.empty((count, TILE), dual.dtype),
        np.empty((count, TILE), dual.dtype),
        np.empty((count, TILE), dual.dtype),
    )
    mixed = np.zeros(degrees.shape, dual.dtype)
    for start in range(0, len(dual), TILE):
        _load(coefficients, start, c)
        _load(ahead, start, a)
        _load(dual, start, y)
        _load(pulls, start, pull)
        _weigh(c, weights, start)
        for n in range(nodes):
            row = y[n]
            for k in range(count):
                _add_scaled(row, sigma * degrees_ahead[k, n], a[k])
            _negative_root(row, sigma)
            for k in range(count):
                mixed[k, n] += _dot(c[k], row)
                _add_scaled(pull[k], degrees[k, n], row)
        _store(y, start, raised)
        _store(pull, start, pulls)
    return mixed


@compiled
def push_on_atoms(coefficients, weights, degrees):  # pragma: no cover - compiled
    """``(p C)' (1 / D)`` (K, N) with the degrees ``D = C degrees`` of the mixtures."""
    c = np.empty((len(degrees), TILE), coefficients.dtype)
    p = np.empty_like(c)
    row = np.empty(TILE, coefficients.dtype)
    push = np.zeros(degrees.shape, coefficients.dtype)
    for start in range(0, len(coefficients), TILE):
        _load(coefficients, start, c)
        _load(coefficients, start, p)
        _weigh(p, weights, start)
        _fill(c, len(coefficients) - start, 1)
        for n in range(degrees.shape[1]):
            _mix(row, c, degrees, n)
            _invert(row)
            for k in range(len(c)):
                push[k, n] += _dot(p[k], row)
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
    c, pull, push = (
        np.empty((count, TILE), coefficients.dtype),
        np.empty((count, TILE), coefficients.dtype),
        np.empty((count, TILE), coefficients.dtype),
    )
    row, logs, product = np.empty(TILE, coefficients.dtype), np.empty(TILE), np.empty(TILE)
    value = gradient = scale = 0.0
    for start in range(0, len(coefficients), TILE):
        size = min(TILE, len(coefficients) - start)
        _load(coefficients, start, c)
        _fill(c, size, 1)
        _load(energies, start, pull)
        for k in range(count):
            for s in range(TILE):
                pull[k, s] += shrinkage
        for inner in range(rounds):
            _set(push, 0)
            for n in range(nodes):
                _mix(row, c, degrees, n)
                _invert(row)
                for k in range(count):
                    _add_scaled(push[k], degrees[k, n], row)
            if inner == 0:
                for k in range(count):
                    for s in range(size):
                        slope = pull[k, s] - push[k, s]
                        if c[k, s] < 1 or slope > 0:
                            gradient += (c[k, s] * slope) ** 2
                        scale += (c[k, s] * pull[k, s]) ** 2
            for k in range(count):
                _update(c[k], push[k], pull[k], stretch)
        _store(c, start, recoded)
        if not _sum_logs(c, degrees, size, 4, row, logs, product):
            _sum_logs(c, degrees, size, 1, row, logs, product)
        for s in range(size):
            energy = 0.0
            for k in range(count):
                energy += c[k, s] * energies[start + s, k]
            value += weights[start + s] * (energy - logs[s])
    return value, gradient, scale


@compiled
def _square(a, b, out):  # pragma: no cover - compiled
    for s in range(TILE):
        difference = a[s] - b[s]
        out[s] = difference * difference


@compiled
def _add_edges(e, atoms, edge, together, z):  # pragma: no cover - compiled
    z0, z1, z2, z3 = z[0], z[1], z[2], z[3]
    for k in range(len(atoms)):
        out = e[k]
        if together < 4:
            for f in range(together):
                _add_scaled(out, atoms[k, edge + f], z[f])
            continue
        w0, w1, w2, w3 = atoms[k, edge], atoms[k, edge + 1], atoms[k, edge + 2], atoms[k, edge + 3]
        for s in range(TILE):
            out[s] += w0 * z0[s] + w1 * z1[s] + w2 * z2[s] + w3 * z3[s]


@compiled
def _dot_edges(c, z, distances, edge, together):  # pragma: no cover - compiled
    z0, z1, z2, z3 = z[0], z[1], z[2], z[3]
    for k in range(len(c)):
        row = c[k]
        if together < 4:
            for f in range(together):
                distances[k, edge + f] += _dot(row, z[f])
            continue
        d0 = d1 = d2 = d3 = row.dtype.type(0)
        for s in range(TILE):
            v = row[s]
            d0 += v * z0[s]
            d1 += v * z1[s]
            d2 += v * z2[s]
            d3 += v * z3[s]
        distances[k, edge] += d0
        distances[k, edge + 1] += d1
        distances[k, edge + 2] += d2
        distances[k, edge + 3] += d3


@compiled
def _dot(a, b):  # pragma: no cover - compiled
    total = a.dtype.type(0)
    for s in range(TILE):
        total += a[s] * b[s]
    return total


@compiled
def _add_scaled(out, factor, row):  # pragma: no cover - compiled
    for s in range(TILE):
        out[s] += factor * row[s]


@compiled
def _mix(row, c, degrees, n):  # pragma: no cover - compiled
    """Degrees of node n in the mixtures of a tile."""
    first = degrees[0, n]
    for s in range(TILE):
        row[s] = first * c[0, s]
    for k in range(1, len(c)):
        _add_scaled(row, degrees[k, n], c[k])


@compiled
def _invert(row):  # pragma: no cover - compiled
    one = row.dtype.type(1)
    for s in range(TILE):
        row[s] = one / row[s]


@compiled
def _negative_root(row, sigma):  # pragma: no cover - compiled
    """``(y - sqrt(y^2 + 4 sigma)) / 2``, the prox of the conjugate of ``-log``, uncancelled."""
    half, two, four = row.dtype.type(0.5), row.dtype.type(2) * sigma, row.dtype.type(4) * sigma
    for s in range(TILE):
        y = row[s]
        reach = abs(y) + np.sqrt(y * y + four)
        row[s] = -half * reach if y < 0 else -two / reach


@compiled
def _update(c, push, pull, stretch):  # pragma: no cover - compiled
    one, most = c.dtype.type(1), c.dtype.type(1e6)
    for s in range(TILE):
        # Where the push is the stronger by far, the quotient could overflow.
        ratio = push[s] / pull[s] if push[s] < most * pull[s] else most
        if stretch:
            ratio *= np.sqrt(ratio)
        c[s] = min(one, c[s] * ratio)


@compiled
def _sum_logs(c, degrees, size, together, row, logs, product):  # pragma: no cover - compiled
    """Logarithms of ``together`` degrees at a time; False where their product left the range."""
    for s in range(TILE):
        logs[s] = 0.0
        product[s] = 1.0
    nodes = degrees.shape[1]
    safe = True
    for n in range(nodes):
        _mix(row, c, degrees, n)
        for s in range(TILE):
            product[s] *= row[s]
        if n % together == together - 1 or n == nodes - 1:
            for s in range(size):
                safe &= 1e-280 < product[s] < 1e280
                logs[s] += np.log(product[s])
                product[s] = 1.0
    return safe


@compiled
def _load(rows, start, tile):  # pragma: no cover - compiled
    """Samples (T, M) from ``start`` on as a tile (M, TILE), zero beyond the last."""
    size = min(TILE, len(rows) - start)
    for s in range(size):
        for m in range(len(tile)):
            tile[m, s] = rows[start + s, m]
    _fill(tile, size, 0)


@compiled
def _store(tile, start, rows):  # pragma: no cover - compiled
    for s in range(min(TILE, len(rows) - start)):
        for m in range(len(tile)):
            rows[start + s, m] = tile[m, s]


@compiled
def _weigh(tile, weights, start):  # pragma: no cover - compiled
    """Multiply by the shares of the samples; what is beyond the last becomes zero."""
    size = min(TILE, len(weights) - start)
    for m in range(len(tile)):
        for s in range(size):
            tile[m, s] *= weights[start + s]
    _fill(tile, size, 0)


@compiled
def _fill(tile, size, value):  # pragma: no cover - compiled
    """One value beyond the last sample; ones where a zero would be divided by."""
    for m in range(len(tile)):
        for s in range(size, TILE):
            tile[m, s] = value


@compiled
def _set(tile, value):  # pragma: no cover - compiled
    for m in range(len(tile)):
        for s in range(TILE):
            tile[m, s] = value
