"""The passes of BiPDS over samples whose image has a log-barrier, compiled.

The image of a sample is anything linear in its graph, ``A(delta, W) = delta G`` with the images
``G`` (K, M) of the atoms: degrees, or energies of modes. :func:`products` are both big products of
an iteration and :func:`raise_dual` is its dual step; :mod:`graphdict.kernels` and
:mod:`graphdict.operators` say the same in NumPy, and tests compare.

Samples are read a tile at a time, as rows along the samples, so that every inner loop has a fixed
length. Four squared differences (or four duals) at a time are multiplied into both results of a
function while they are in registers. Rows begin on a cache line, and are not a power of two apart,
which would make them fight for the same lines. Functions are long because numba compiles what they
call twice: alone, and where it is called.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["products", "raise_dual"]

TILE = 256
STRIDE = TILE + 8
FOUR = 4
SUMS = {"reassoc", "contract", "arcp", "nsz"}
compiled = njit(cache=True, nogil=True, fastmath=SUMS, error_model="numpy")


def products(
    signals: NDArray, atoms: NDArray, shares: NDArray, coefficients: NDArray
) -> tuple[NDArray, NDArray]:
    """``Z W'`` (T, K) and ``(p Delta)' Z`` (K, E), of samples that are shares ``p`` of all."""
    energies, distances = np.empty_like(coefficients), np.zeros_like(atoms)
    tile = _rows(FOUR + signals.shape[1] + 2 * len(atoms), atoms.dtype)
    _products(signals, atoms, shares, coefficients, energies, distances, tile)
    return energies, distances


def raise_dual(
    images: NDArray, images_ahead: NDArray, shares: NDArray, coefficients: NDArray, before: NDArray,
    dual: NDArray, sigma: float,
) -> tuple[NDArray, NDArray, NDArray, NDArray]:  # fmt: skip
    """The dual step from ``before`` to the coefficients, and what the new dual ``Y+`` does there.

    Returns ``Y+ = prox_{sigma h*}(Y + sigma (2 Delta - before) G_ahead)`` (T, M), ``Y+ G'`` (T, K),
    ``(p Delta)' Y+`` (K, M) and ``(p Delta)' Delta`` (K, K).
    """
    count, size = images.shape
    raised, pulls = np.empty_like(dual), np.empty_like(coefficients)
    # Rows and columns of zeros let loops run four at a time.
    padded, ahead = np.zeros((2, count + FOUR, size + FOUR), images.dtype)
    padded[:count, :size], ahead[:count, :size] = images, sigma * images_ahead
    mixed, gram = np.zeros_like(padded), np.zeros((count, count), images.dtype)
    tile = _rows(FOUR + 4 * (count + FOUR), images.dtype)
    step = images.dtype.type(sigma)
    _raise_dual(
        padded, ahead, shares, coefficients, before, dual, step, raised, pulls, mixed, gram, tile
    )
    return raised, pulls, mixed[:count, :size], gram


def _rows(count: int, dtype: Any) -> NDArray:
    """Zeros (count, STRIDE) that begin on a cache line, as do their rows."""
    raw = np.zeros(count * STRIDE + 16, dtype)
    skip = -raw.ctypes.data % 64 // raw.itemsize
    return raw[skip : skip + count * STRIDE].reshape(count, STRIDE)


@compiled
def _products(
    signals, atoms, shares, coefficients, energies, distances, t
):  # pragma: no cover - compiled
    """Rows of the tile: four squared differences, then signals, coefficients, energies."""
    nodes, count = signals.shape[1], len(atoms)
    zero = atoms.dtype.type(0)
    x, c, e = FOUR, FOUR + nodes, FOUR + nodes + count
    for start in range(0, len(signals), TILE):
        size = min(TILE, len(signals) - start)
        for s in range(size):
            for n in range(nodes):
                t[x + n, s] = signals[start + s, n]
            for k in range(count):
                t[c + k, s] = shares[start + s] * coefficients[start + s, k]
                t[e + k, s] = zero
        for row in range(x, e + count):
            for s in range(size, TILE):
                t[row, s] = zero
        edge = 0
        for i in range(x, x + nodes - 1):
            for j in range(i + 1, x + nodes, FOUR):
                together = min(FOUR, x + nodes - j)
                for f in range(together):
                    for s in range(TILE):
                        difference = t[i, s] - t[j + f, s]
                        t[f, s] = difference * difference
                for k in range(count):
                    w0 = atoms[k, edge]
                    w1 = atoms[k, edge + 1] if together > 1 else zero
                    w2 = atoms[k, edge + 2] if together > 2 else zero
                    w3 = atoms[k, edge + 3] if together > 3 else zero
                    d0 = d1 = d2 = d3 = zero
                    for s in range(TILE):
                        z0, z1, z2, z3 = t[0, s], t[1, s], t[2, s], t[3, s]
                        t[e + k, s] += w0 * z0 + w1 * z1 + w2 * z2 + w3 * z3
                        v = t[c + k, s]
                        d0 += v * z0
                        d1 += v * z1
                        d2 += v * z2
                        d3 += v * z3
                    sums = (d0, d1, d2, d3)
                    for f in range(together):
                        distances[k, edge + f] += sums[f]
                edge += together
        for s in range(size):
            for k in range(count):
                energies[start + s, k] = t[e + k, s]


@compiled
def _raise_dual(
    images, ahead, shares, coefficients, before, dual, sigma, raised, pulls, mixed, gram, t
):  # pragma: no cover - compiled
    """Rows of the tile: four duals, then coefficients, extrapolated, by share, pulls."""
    count, modes = coefficients.shape[1], dual.shape[1]
    zero, half = images.dtype.type(0), images.dtype.type(0.5)
    two, four = images.dtype.type(2) * sigma, images.dtype.type(4) * sigma
    c = FOUR
    a, p, g = c + len(images), c + 2 * len(images), c + 3 * len(images)
    for start in range(0, len(dual), TILE):
        size = min(TILE, len(dual) - start)
        for s in range(size):
            for k in range(count):
                now = coefficients[start + s, k]
                t[c + k, s] = now
                t[a + k, s] = now + now - before[start + s, k]
                t[p + k, s] = shares[start + s] * now
                t[g + k, s] = zero
        for row in range(c, len(t)):
            for s in range(size, TILE):
                t[row, s] = zero
        for m in range(0, modes, FOUR):
            together = min(FOUR, modes - m)
            if together == FOUR:
                for s in range(size):
                    t[0, s] = dual[start + s, m]
                    t[1, s] = dual[start + s, m + 1]
                    t[2, s] = dual[start + s, m + 2]
                    t[3, s] = dual[start + s, m + 3]
            else:
                for f in range(together):
                    for s in range(size):
                        t[f, s] = dual[start + s, m + f]
            for f in range(together):
                for k in range(0, count, FOUR):
                    w0, w1 = ahead[k, m + f], ahead[k + 1, m + f]
                    w2, w3 = ahead[k + 2, m + f], ahead[k + 3, m + f]
                    for s in range(TILE):
                        t[f, s] += (w0 * t[a + k, s] + w1 * t[a + k + 1, s]) + (
                            w2 * t[a + k + 2, s] + w3 * t[a + k + 3, s]
                        )
                for s in range(TILE):
                    # (y - sqrt(y^2 + 4 sigma)) / 2, the prox of the conjugate of -log, uncancelled.
                    y = t[f, s]
                    reach = abs(y) + np.sqrt(y * y + four)
                    t[f, s] = -half * reach if y < 0 else -two / reach
            for k in range(count):
                w0, w1, w2, w3 = images[k, m], images[k, m + 1], images[k, m + 2], images[k, m + 3]
                d0 = d1 = d2 = d3 = zero
                for s in range(TILE):
                    y0, y1, y2, y3 = t[0, s], t[1, s], t[2, s], t[3, s]
                    t[g + k, s] += w0 * y0 + w1 * y1 + w2 * y2 + w3 * y3
                    v = t[p + k, s]
                    d0 += v * y0
                    d1 += v * y1
                    d2 += v * y2
                    d3 += v * y3
                mixed[k, m] += d0
                mixed[k, m + 1] += d1
                mixed[k, m + 2] += d2
                mixed[k, m + 3] += d3
            if together == FOUR:
                for s in range(size):
                    raised[start + s, m] = t[0, s]
                    raised[start + s, m + 1] = t[1, s]
                    raised[start + s, m + 2] = t[2, s]
                    raised[start + s, m + 3] = t[3, s]
            else:
                for f in range(together):
                    for s in range(size):
                        raised[start + s, m + f] = t[f, s]
        for k in range(count):
            for other in range(count):
                total = zero
                for s in range(TILE):
                    total += t[p + k, s] * t[c + other, s]
                gram[k, other] += total
        for s in range(size):
            for k in range(count):
                pulls[start + s, k] = t[g + k, s]
