"""Square roots ``(A^2 + I)^{1/2}`` of many small symmetric matrices, without their eigenvectors.

Newton's iteration for the root of ``B = A^2 + I``, in its product form (Cheng, Higham, Kenney and
Laub 2001) and scaled: from ``X_0 = M_0 = B``,

    X_{k+1} = X_k (mu I + M_k^{-1} / mu) / 2,   M_{k+1} = I / 2 + (mu^2 M_k + M_k^{-1} / mu^2) / 4

tend to ``B^{1/2}`` and ``I``, and ``B^{1/2} = X_k M_k^{-1/2}`` all along. Eigenvalues of ``M_k`` lie
in ``[1, b_k]``: ``b_0`` is a norm of ``B``, and ``mu^4 = 1 / b_k`` makes
``b_{k+1} = 1/2 + (b_k^{1/2} + b_k^{-1/2}) / 4``, which is close to one after two or three steps. The
rest is a power series in ``E = s M_k - I``, where ``s`` centres the interval and ``|E| <= NEAR``.

Two inverses and six products of symmetric matrices, the common case, take a fifth of the time of
an eigendecomposition. All of them are functions of ``A`` and commute, so products are symmetric and
half of each is computed.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["root_of_square_plus_one"]

BLOCK = 4  # sizes are filled up to multiples of it, with matrices that are their own root
NEAR = 0.02  # the series to the sixth power of E is then exact to 3e-13
C1, C2, C3, C4, C5, C6 = -1 / 2, 3 / 8, -5 / 16, 35 / 128, -63 / 256, 231 / 1024
SUMS = {"reassoc", "contract", "arcp", "nsz"}
compiled = njit(cache=True, nogil=True, fastmath=SUMS, error_model="numpy")


def root_of_square_plus_one(matrices: NDArray) -> NDArray:
    """``(A^2 + I)^{1/2}`` of symmetric matrices ``A`` (T, N, N); NaN where ``A^2`` overflows."""
    size = -(-matrices.shape[-1] // BLOCK) * BLOCK
    roots = np.empty(matrices.shape, matrices.dtype)
    raw = np.zeros(5 * size * size + 16, matrices.dtype)
    skip = -raw.ctypes.data % 64 // raw.itemsize  # rows that begin on a cache line are read faster
    room = raw[skip : skip + 5 * size * size].reshape(5, size, size)
    _roots(np.ascontiguousarray(matrices), roots, *room)
    return roots


@compiled
def _roots(matrices, roots, x, m, inverse, factor, spare):  # pragma: no cover - compiled
    n, size = matrices.shape[1], len(x)
    one, half, quarter = x.dtype.type(1), x.dtype.type(0.5), x.dtype.type(0.25)
    for t in range(len(matrices)):
        for i in range(n):
            for j in range(n):
                factor[i, j] = matrices[t, i, j]
            for j in range(n, size):
                factor[i, j] = 0
        for i in range(n, size):
            for j in range(size):
                factor[i, j] = 0
        _product(factor, factor, m)
        bound = one
        for i in range(size):
            m[i, i] += one
            total = x.dtype.type(0)
            for j in range(size):
                total += abs(m[i, j])
                x[i, j] = m[i, j]
            bound = max(bound, total)
        steps = 0
        while bound - one > NEAR * (bound + one) and steps < 20:
            _invert(m, inverse)
            square = one / np.sqrt(bound)
            keep, add = half * np.sqrt(square), half / np.sqrt(square)
            for i in range(size):
                for j in range(size):
                    factor[i, j] = add * inverse[i, j]
                factor[i, i] += keep
            if steps == 0:  # X = M: no product is needed
                for i in range(size):
                    for j in range(size):
                        x[i, j] *= keep
                    x[i, i] += add
            else:
                _product(x, factor, spare)
                for i in range(size):
                    for j in range(size):
                        x[i, j] = spare[i, j]
            keep, add = quarter * square, quarter / square
            for i in range(size):
                for j in range(size):
                    m[i, j] = keep * m[i, j] + add * inverse[i, j]
                m[i, i] += half
            bound = half + quarter * (one / square + square)
            steps += 1
        scale = (one + one) / (one + bound)
        for i in range(size):
            for j in range(size):
                m[i, j] *= scale
            m[i, i] -= one
        # m, inverse, spare become E, E^2, E^3: the series of (I + E)^{-1/2} takes three products.
        _product(m, m, inverse)
        _product(m, inverse, spare)
        for i in range(size):
            for j in range(size):
                factor[i, j] = C4 * m[i, j] + C5 * inverse[i, j] + C6 * spare[i, j]
                m[i, j] = C1 * m[i, j] + C2 * inverse[i, j]
            factor[i, i] += C3
            m[i, i] += one
        _product(spare, factor, inverse)
        for i in range(size):
            for j in range(size):
                m[i, j] += inverse[i, j]
        _product(x, m, spare)
        scale = np.sqrt(scale)
        for i in range(n):
            for j in range(n):
                roots[t, i, j] = scale * spare[i, j]


@compiled
def _product(a, b, out):  # pragma: no cover - compiled
    """Of symmetric matrices that commute: two rows by four columns at a time, and mirrored."""
    zero = a.dtype.type(0)
    for i in range(0, len(a), 2):
        for j in range(i - i % BLOCK, len(a), BLOCK):
            c0 = c1 = c2 = c3 = d0 = d1 = d2 = d3 = zero
            for k in range(len(a)):
                u, v = a[i, k], a[i + 1, k]
                b0, b1, b2, b3 = b[j, k], b[j + 1, k], b[j + 2, k], b[j + 3, k]
                c0 += u * b0
                c1 += u * b1
                c2 += u * b2
                c3 += u * b3
                d0 += v * b0
                d1 += v * b1
                d2 += v * b2
                d3 += v * b3
            out[i, j], out[i, j + 1], out[i, j + 2], out[i, j + 3] = c0, c1, c2, c3
            out[i + 1, j], out[i + 1, j + 1], out[i + 1, j + 2], out[i + 1, j + 3] = d0, d1, d2, d3
    for i in range(len(a)):
        for j in range(i):
            out[i, j] = out[j, i]


@compiled
def _invert(a, out):  # pragma: no cover - compiled
    """Of a positive definite matrix, by Gauss-Jordan elimination of two pivots at a time."""
    size = len(a)
    zero = a.dtype.type(0)
    for i in range(size):
        for j in range(size):
            out[i, j] = a[i, j]
    for k in range(0, size, 2):
        p, q, r = out[k, k], out[k, k + 1], out[k + 1, k + 1]
        determinant = p * r - q * q
        p, q, r = r / determinant, -q / determinant, p / determinant
        for j in range(size):
            u, v = out[k, j], out[k + 1, j]
            out[k, j] = p * u + q * v
            out[k + 1, j] = q * u + r * v
        out[k, k], out[k, k + 1], out[k + 1, k], out[k + 1, k + 1] = p, q, q, r
        for i in range(0, size, 2):
            if i != k:
                e, f, g, h = out[i, k], out[i, k + 1], out[i + 1, k], out[i + 1, k + 1]
                out[i, k], out[i, k + 1], out[i + 1, k], out[i + 1, k + 1] = zero, zero, zero, zero
                for j in range(size):
                    u, v = out[k, j], out[k + 1, j]
                    out[i, j] -= e * u + f * v
                    out[i + 1, j] -= g * u + h * v
