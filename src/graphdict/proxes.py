"""Proximal operators that NumPy cannot express well: of total variation, and of ``-log``.

:func:`total_variation_prox` solves

    argmin_u  |u - v|^2 / 2 + penalty * sum_t |u_{t+1} - u_t|

for each column of ``v`` exactly and in linear time. :func:`positive_root` takes one pass over
memory instead of eight.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphdict import native

__all__ = ["positive_root", "total_variation_prox"]


def positive_root(x: NDArray, step: float) -> NDArray:
    """``(x + sqrt(x^2 + 4 step)) / 2``, without cancellation for very negative ``x``."""
    out = np.empty_like(x, order="C")
    native.positive_root(np.ascontiguousarray(x).reshape(-1), step, out.reshape(-1))
    return out


def total_variation_prox(values: NDArray, penalty: float) -> NDArray:
    """Prox of ``penalty * TV`` along the first axis of ``values`` (T, K)."""
    columns = np.ascontiguousarray(values.T, dtype=np.float64)
    if penalty <= 0 or columns.shape[1] < 2:
        return values.copy()
    out = np.empty_like(columns)
    native.total_variation_prox(columns, penalty, out)
    return out.T.astype(values.dtype, copy=False)
