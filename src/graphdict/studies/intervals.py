"""Intervals of effects and of their sizes, for any number of columns at once.

Effects have Student's interval, widened on the side to which the values are skewed by Hall's cubic
transformation of t: unlike those of a bootstrap, its limits stay bounded where one unit dominates.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats

from graphdict.core.annotations import Floats

STRAIGHT = 1e-6  # skewness below which the transformation is the identity
BISECTIONS = 60


def mean_interval(
    mean: Floats, error: Floats, free: Any, skewness: Floats, confidence: float
) -> Floats:
    """Return limits (M, 2) of a mean, a difference of means or a slope.

    Where T = (estimate - truth) / error has the skewness that its numerator has, kappa, Hall's
    ``T + kappa T^2 / 3 + kappa^2 T^3 / 27 + kappa / 6`` is nearly t-distributed. The interval holds
    the one that this gives, and Student's.

    Parameters
    ----------
    mean, error : arrays (M,)
        The estimate and its standard error; limits are NaN where the error is 0 or unknown.
    free : array (M,) or float
        Degrees of freedom.
    skewness : array (M,)
        Of the distribution of the estimate: for a mean, that of the values over the root of their
        number.
    confidence : float
    """
    reach = stats.t.ppf((1 + confidence) / 2, np.maximum(free, 1))
    bent = np.abs(skewness) > STRAIGHT
    kappa = np.where(bent, skewness, 1.0)

    def untransformed(value: Any) -> Any:
        found = 3 / kappa * (np.cbrt(1 + kappa * (value - kappa / 6)) - 1)
        return np.where(bent, found, value)

    high = np.maximum(untransformed(reach), reach)
    low = np.minimum(untransformed(-reach), -reach)
    limits = np.stack((mean - high * error, mean - low * error), axis=-1)
    known = np.isfinite(error) & (error > 0)
    return np.where(known[:, None], limits, np.nan)


def size_interval(size: Floats, error: Floats, confidence: float) -> Floats:
    """Return limits (M, 2) of a standardised difference by its large-sample error."""
    reach = stats.norm.ppf((1 + confidence) / 2)
    known = np.isfinite(size) & np.isfinite(error)
    size, error = np.where(known, size, np.nan), np.where(known, error, np.nan)
    return np.stack((size - reach * error, size + reach * error), axis=-1)


def correlation_interval(correlation: Floats, count: Floats, confidence: float) -> Floats:
    """Return limits (M, 2) of a correlation of so many pairs, by Fisher's transformation."""
    reach = stats.norm.ppf((1 + confidence) / 2) / np.sqrt(np.maximum(count - 3, 1))
    middle = np.arctanh(np.clip(correlation, -1 + 1e-15, 1 - 1e-15))
    return np.stack((np.tanh(middle - reach), np.tanh(middle + reach)), axis=-1)


def share_interval(
    ratio: Floats, between: float, within: Floats, count: Floats, confidence: float
) -> Floats:
    """Return limits (M, 2) of the share of the variance that groups explain, by noncentral F.

    ``ratio`` is F with ``between`` and ``within`` degrees of freedom. The limits of its
    noncentrality, lambda, are where F is at its tails; the share is lambda / (lambda + count).
    """
    known = np.isfinite(ratio) & (within > 0)
    observed, free = np.where(known, ratio, 1.0), np.maximum(within, 1)
    limits = []
    for tail in ((1 + confidence) / 2, (1 - confidence) / 2):
        low, high = np.zeros_like(observed), np.ones_like(observed)
        for _ in range(BISECTIONS):  # until the limit is below ``high``
            beyond = _noncentral(observed, between, free, high) > tail
            if not beyond.any():
                break
            high = np.where(beyond, 2 * high, high)
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            above = _noncentral(observed, between, free, middle) > tail
            low, high = np.where(above, middle, low), np.where(above, high, middle)
        limits.append(low / (low + count))
    return np.where(known[:, None], np.stack(limits, axis=-1), np.nan)


def _noncentral(ratio: Floats, between: float, within: Floats, noncentrality: Floats) -> Floats:
    """Return the probability of a smaller F; 0 where SciPy finds none."""
    with np.errstate(all="ignore"):
        found: Floats = stats.ncf.cdf(ratio, between, within, noncentrality)
    return np.nan_to_num(found)
