"""The dual step of ``-log det_+`` for many small matrices, without their eigenvectors.

The prox of the conjugate takes a symmetric ``Y``, made zero along the constants, to

    (Y - (Y^2 + 4 sigma I)^{1/2}) / 2 = sigma^{1/2} (A - (A^2 + I)^{1/2}),   A = Y / (2 sigma^{1/2})

off the constants. The root of ``B = A^2 + I`` is found by Newton's iteration, in its product form
(Cheng, Higham, Kenney and Laub 2001) and scaled: from ``X_0 = M_0 = B``,

    X_{k+1} = X_k (mu I + M_k^{-1} / mu) / 2,   M_{k+1} = I / 2 + (mu^2 M_k + M_k^{-1} / mu^2) / 4

tend to ``B^{1/2}`` and ``I``, and ``B^{1/2} = X_k M_k^{-1/2}`` all along. Eigenvalues of ``M_k``
lie in ``[1, b_k]``: ``b_0`` is a norm of ``B``, and ``mu^4 = 1 / b_k`` makes
``b_{k+1} = 1/2 + (b_k^{1/2} + b_k^{-1/2}) / 4``, close to one after two or three steps. The rest is
a polynomial of degree four or six in ``E = s M_k - I``, where ``s`` centres the interval.

The common case, two inverses and five products of symmetric matrices, takes a fraction of the time
of eigenvectors. All matrices are functions of ``A`` and commute, so products are symmetric and half
of each is computed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphdict import native

__all__ = ["prox_conjugate"]


def prox_conjugate(dual: NDArray, step: float) -> tuple[NDArray, NDArray]:
    """The step of symmetric matrices (T, N, N), and for which of them it is not accurate.

    Those are far from well conditioned: eigenvectors serve them better. Where a matrix, or its
    square, is not finite, so is the result.
    """
    dual = np.ascontiguousarray(dual)
    raised, bounds = np.empty_like(dual), np.empty(len(dual), dual.dtype)
    limit = np.finfo(dual.dtype).eps ** (-1 / 3)
    native.root_steps(dual, step, limit, raised, bounds)
    return raised, np.isfinite(bounds) & (bounds > limit)
