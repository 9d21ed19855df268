"""The two products of samples with their squared differences: compiled tiles, or BLAS for few.

With the tiles of :mod:`graphdict.tiles` they take half the arithmetic or less; a fit to few samples
is done before these would be loaded. How many there are in all decides, not how they are cut.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphdict import kernels

__all__ = ["energies", "weighted_distances"]

SMALL = 1 << 17  # numbers in all samples, times atoms


def energies(signals: NDArray, atoms: NDArray, total: int) -> NDArray:
    """``Z W'`` (T, K) of some of ``total`` samples: see :func:`graphdict.kernels.energies`."""
    if total * signals.shape[1] * len(atoms) < SMALL:
        return kernels.energies(signals, atoms)
    from graphdict import tiles

    return tiles.energies(signals, atoms)


def weighted_distances(signals: NDArray, weights: NDArray, total: int) -> NDArray[np.float64]:
    """``C' Z`` (K, E): see :func:`graphdict.kernels.weighted_distances`."""
    if total * signals.shape[1] * weights.shape[1] < SMALL:
        return kernels.weighted_distances(signals, weights).astype(np.float64)
    from graphdict import tiles

    return tiles.weighted_distances(signals, weights).astype(np.float64)
