"""Proximal operators that NumPy cannot express well.

:func:`total_variation_prox` solves

    argmin_u  |u - v|^2 / 2 + penalty * sum_t |u_{t+1} - u_t|

for each column of ``v`` exactly and in linear time. :func:`log_det_prox_conjugate` takes a
symmetric ``Y``, made zero along the constants, to

    (Y - (Y^2 + 4 sigma I)^{1/2}) / 2 = sigma^{1/2} (A - (A^2 + I)^{1/2}),   A = Y / (2 sigma^{1/2})

off the constants, without eigenvectors. The root of ``B = A^2 + I`` is found by Newton's iteration,
in its product form (Cheng, Higham, Kenney and Laub 2001) and scaled: from ``X_0 = M_0 = B``,

    X_{k+1} = X_k (mu I + M_k^{-1} / mu) / 2,   M_{k+1} = I / 2 + (mu^2 M_k + M_k^{-1} / mu^2) / 4

tend to ``B^{1/2}`` and ``I``, and ``B^{1/2} = X_k M_k^{-1/2}`` all along. Eigenvalues of ``M_k``
lie in ``[1, b_k]``: ``b_0`` is a norm of ``B``, and ``mu^4 = 1 / b_k`` makes
``b_{k+1} = 1/2 + (b_k^{1/2} + b_k^{-1/2}) / 4``, close to one after two or three steps. The rest is
a polynomial of degree four or six in ``E = s M_k - I``, where ``s`` centres the interval. All
matrices are functions of ``A`` and commute, so products are symmetric and half of each is computed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from graphdict import native
from graphdict.native import contiguous

if TYPE_CHECKING:
    from graphdict.core.term_group import Box


def projected_step(
    before: NDArray[Any], gradient: NDArray[Any], tau: float, box: Box
) -> NDArray[Any]:
    """Return ``min(max(before - tau (gradient + alpha), low), high)``."""
    found = np.empty_like(before, order="C")
    native.projected_step(contiguous(before), contiguous(gradient), tau, box, found)
    return found


def positive_root(x: NDArray[Any], step: float) -> NDArray[Any]:
    """Return ``(x + sqrt(x^2 + 4 step)) / 2``, without cancellation for very negative ``x``."""
    out = np.empty_like(x, order="C")
    native.positive_root(contiguous(x).reshape(-1), step, out.reshape(-1))
    return out


def total_variation_prox(values: NDArray[Any], penalty: float) -> NDArray[Any]:
    """Return the minimiser (T, K) for each column of ``values``, in double precision inside."""
    columns = native.doubles(values.T)
    if penalty <= 0 or columns.shape[1] < 2:
        return values.copy()
    out = np.empty_like(columns)
    native.total_variation_prox(columns, penalty, out)
    return out.T.astype(values.dtype, copy=False)


def log_det_prox_conjugate(dual: NDArray[Any], step: float) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the prox of symmetric matrices (T, N, N), and for which of them (T,) it is inaccurate.

    Those are far from well conditioned: eigenvectors are more accurate there. Where a matrix, or
    its square, is not finite, the result is not.
    """
    dual = contiguous(dual)
    out, bounds = np.empty_like(dual), np.empty(len(dual), dual.dtype)
    limit = np.finfo(dual.dtype).eps ** (-1 / 3)
    native.log_det_prox_conjugate(dual, step, limit, out, bounds)
    return out, np.isfinite(bounds) & (bounds > limit)
