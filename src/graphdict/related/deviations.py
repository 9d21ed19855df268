"""The consensus of several graphs, how far they are from it, and the proximal operator of that."""

from __future__ import annotations

import numpy as np

from graphdict.core.annotations import Floats


def consensus_of(weights: Floats, shares: Floats, penalty: str) -> Floats:
    """Return the consensus (E,) of graphs (V, E): where the sum of their deviations is least."""
    if penalty == "l2":
        return shares @ weights
    return weighted_median(weights, shares)


def deviations(weights: Floats, shares: Floats, penalty: str) -> Floats:
    """Return ``psi`` (V,) of the deviations from the best consensus."""
    gaps = weights - consensus_of(weights, shares, penalty)
    sizes: Floats = np.abs(gaps) if penalty == "l1" else np.square(gaps) / 2
    total: Floats = sizes.sum(axis=1)
    return total


def weighted_median(values: Floats, shares: Floats) -> Floats:
    """Return the weighted median (E,) of the columns of ``values`` (V, E).

    Where half of the weight lies on either side of two values, it is the lower one.
    """
    order = np.argsort(values, axis=0)
    below = np.cumsum(shares[order], axis=0)
    middle = (below >= 0.5 * shares.sum() * (1 - 1e-12)).argmax(axis=0)
    columns = np.arange(values.shape[1])
    result: Floats = values[order[middle, columns], columns]
    return result


def consensus_prox(values: Floats, strength: float, shares: Floats, penalty: str) -> Floats:
    """Return the proximal operator of the deviations from the best consensus.

    It is ``argmin_{x >= 0} min_c sum_v p_v [strength psi(x_v - c) + (x_v - u_v)^2 / 2]`` for each
    column of ``u`` (V, E). For a given ``c >= 0``, ``x_v - c`` is the proximal operator of ``psi``
    at ``u_v - c``, as far as ``x_v >= 0`` allows. What is left to minimise in ``c`` is, for L1, a
    sum of Huber functions of ``u_v - c``: its derivative is piecewise linear with knots at ``u_v +-
    strength``, and its root lies between the two knots where it changes sign.
    """
    if strength == 0 or len(values) == 1:
        return np.maximum(values, 0)
    if penalty == "l2":
        centre = _clipped_mean(values, strength, shares)
        found = (values + strength * centre) / (1 + strength)
    else:
        centre = np.maximum(_huber_location(values, strength, shares), 0)
        gaps = values - centre
        found = centre + np.sign(gaps) * np.maximum(np.abs(gaps) - strength, 0)
    return np.maximum(found, 0)


def _clipped_mean(values: Floats, strength: float, shares: Floats) -> Floats:
    """Return the ``c`` (E,) that is the mean of ``max(0, (u_v + strength c) / (1 + strength))``.

    By Newton's method on a concave function, which ends after as many steps as there are views.
    """
    weights = (shares / shares.sum())[:, None]
    centre: Floats = np.maximum((weights * values).sum(axis=0), 0)
    for _ in range(len(values) + 1):
        free = values + strength * centre > 0
        slope = 1 + strength * (weights * ~free).sum(axis=0)
        centre = np.maximum((weights * values * free).sum(axis=0) / slope, 0)
    return centre


def _huber_location(values: Floats, strength: float, shares: Floats) -> Floats:
    """Return the ``c`` (E,) of least ``sum_v p_v huber(u_v - c)``, for each column."""
    reach = np.minimum(strength, np.ptp(values, axis=0))  # beyond which nothing changes
    knots = np.sort(np.concatenate([values - reach, values + reach]), axis=0)
    slopes = np.stack(
        [shares @ np.clip(knot - values, -reach, reach) for knot in knots]
    )  # ascending in each column
    columns = np.arange(values.shape[1])
    after = np.maximum((slopes >= 0).argmax(axis=0), 1)
    low, high = knots[after - 1, columns], knots[after, columns]
    below, above = slopes[after - 1, columns], slopes[after, columns]
    rise = above - below
    share = np.where(rise > 0, -below / np.where(rise > 0, rise, 1), 0.5)
    result: Floats = low + np.clip(share, 0, 1) * (high - low)
    return result
