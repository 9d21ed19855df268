"""The dual step of ``-log det_+`` for many small matrices, without their eigenvectors.

The prox of the conjugate takes a symmetric ``Y``, made zero along the constants, to

    (Y - (Y^2 + 4 sigma I)^{1/2}) / 2 = sigma^{1/2} (A - (A^2 + I)^{1/2}),   A = Y / (2 sigma^{1/2})

off the constants. The root of ``B = A^2 + I`` is found by Newton's iteration, in its product form
(Cheng, Higham, Kenney and Laub 2001) and scaled: from ``X_0 = M_0 = B``,

    X_{k+1} = X_k (mu I + M_k^{-1} / mu) / 2,   M_{k+1} = I / 2 + (mu^2 M_k + M_k^{-1} / mu^2) / 4

tend to ``B^{1/2}`` and ``I``, and ``B^{1/2} = X_k M_k^{-1/2}`` all along. Eigenvalues of ``M_k``
lie in ``[1, b_k]``: ``b_0`` is a norm of ``B``, and ``mu^4 = 1 / b_k`` makes
``b_{k+1} = 1/2 + (b_k^{1/2} + b_k^{-1/2}) / 4``, close to one after two or three steps. The rest is
a power series in ``E = s M_k - I``, where ``s`` centres the interval and ``|E| <= NEAR``.

The common case, two inverses and six products of symmetric matrices, takes a fifth of the time of
eigenvectors. All matrices are functions of ``A`` and commute, so products are symmetric and half of
each is computed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["prox_conjugate"]

BLOCK = 4  # sizes are filled up to multiples of it, with matrices that are their own root
NEAR = 0.02  # the series to the sixth power of E is then exact to 3e-13
C1, C2, C3, C4, C5, C6 = -1 / 2, 3 / 8, -5 / 16, 35 / 128, -63 / 256, 231 / 1024
OPTIONS: Any = {
    "cache": True, "nogil": True, "fastmath": {"reassoc", "contract", "arcp", "nsz"},
    "error_model": "numpy", "no_cfunc_wrapper": True,
}  # fmt: skip
compiled = njit(**OPTIONS)
# Called by the other alone, these are not wrapped for Python and compile sooner.
inner = njit(**{**OPTIONS, "no_cpython_wrapper": True})


def prox_conjugate(dual: NDArray, step: float) -> tuple[NDArray, NDArray]:
    """The step of symmetric matrices (T, N, N), and for which of them it is not accurate.

    Those are far from well conditioned: eigenvectors serve them better. Where a matrix, or its
    square, is not finite, so is the result.
    """
    size = -(-dual.shape[-1] // BLOCK) * BLOCK
    raised, bounds = np.empty(dual.shape, dual.dtype), np.empty(len(dual), dual.dtype)
    raw = np.zeros(6 * size * size + 16, dual.dtype)
    skip = -raw.ctypes.data % 64 // raw.itemsize  # rows that begin on a cache line are read faster
    room = raw[skip : skip + 6 * size * size].reshape(6, size, size)
    limit = dual.dtype.type(np.finfo(dual.dtype).eps ** (-1 / 3))
    _ascend(np.ascontiguousarray(dual), dual.dtype.type(step), limit, raised, bounds, *room)
    return raised, np.isfinite(bounds) & (bounds > limit)


@compiled
def _ascend(
    dual, sigma, limit, raised, bounds, a, x, m, inverse, factor, spare
):  # pragma: no cover - compiled
    n, size = dual.shape[1], len(x)
    one, half, quarter = x.dtype.type(1), x.dtype.type(0.5), x.dtype.type(0.25)
    reach = np.sqrt(sigma)
    for t in range(len(dual)):
        _centre(dual[t], half / reach, a, factor[0])
        _product(a, a, m)
        bound = one
        for i in range(size):
            m[i, i] += one
            total = x.dtype.type(0)
            for j in range(size):
                total += abs(m[i, j])
                x[i, j] = m[i, j]
            bound = max(bound, total) if total == total else total
        bounds[t] = bound
        if not bound <= limit:
            raised[t] = np.nan
            continue
        steps = 0
        while bound - one > NEAR * (bound + one):
            _invert(m, inverse)
            square = one / np.sqrt(bound)
            keep, add = half * np.sqrt(square), half / np.sqrt(square)
            if steps == 0:  # X = M: no product is needed
                for i in range(size):
                    for j in range(size):
                        x[i, j] *= keep
                    x[i, i] += add
            else:
                for i in range(size):
                    for j in range(size):
                        factor[i, j] = add * inverse[i, j]
                    factor[i, i] += keep
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
        # Along the constants A is zero and its root one, which is to be left out.
        scale = np.sqrt(scale)
        for i in range(n):
            for j in range(n):
                raised[t, i, j] = reach * (a[i, j] - scale * spare[i, j] + one / n)


@inner
def _centre(matrix, scale, a, means):  # pragma: no cover - compiled
    """``scale (I - J) Y (I - J)`` with the matrix ``J`` of means, beside which ``a`` stays zero."""
    n = len(matrix)
    mean = a.dtype.type(0)
    for i in range(n):
        means[i] = 0
        for j in range(n):
            means[i] += matrix[i, j] / n
        mean += means[i] / n
    for i in range(n):
        for j in range(n):
            a[i, j] = scale * (matrix[i, j] - means[i] - means[j] + mean)


@inner
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


@inner
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
