"""Compiled loops over samples with gaps: what was observed, under the graph of each pattern.

Signals are known up to a constant, so everything is measured from one observed node ("origin") of
each sample. With ``D`` the covariance of these differences under a pattern's graph, observed nodes
``o`` and missing nodes ``m``,

    x_o - x_origin ~ N(0, D_oo),      x_m | x_o ~ N(D_mo D_oo^-1 x_o, D_mm - D_mo D_oo^-1 D_om).
"""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["conditional_moments", "draw_missing", "observed_log_likelihoods"]

LOG_2PI = np.log(2 * np.pi)


@njit(cache=True)
def _split(row):  # pragma: no cover - compiled
    """Observed nodes, the origin first, and missing nodes of one sample."""
    nodes = len(row)
    observed = np.empty(nodes, np.int64)
    missing = np.empty(nodes, np.int64)
    n, m = 0, 0
    for i in range(nodes):
        if np.isnan(row[i]):
            missing[m] = i
            m += 1
        else:
            observed[n] = i
            n += 1
    return observed[:n], missing[:m]


@njit(cache=True)
def _same_gaps(row, other):  # pragma: no cover - compiled
    return not np.any(np.isnan(row) != np.isnan(other))


@njit(cache=True)
def _factor(covariance, observed, factor):  # pragma: no cover - compiled
    """Lower Cholesky factor of ``D_oo``, for the observed nodes after the origin."""
    n = len(observed) - 1
    r = observed[0]
    for i in range(n):
        a = observed[i + 1]
        for j in range(i + 1):
            b = observed[j + 1]
            value = covariance[a, b] - covariance[a, r] - covariance[b, r] + covariance[r, r]
            for k in range(j):
                value -= factor[i, k] * factor[j, k]
            if i == j:
                factor[i, i] = np.sqrt(max(value, 1e-14 * max(covariance[a, a], 1e-300)))
            else:
                factor[i, j] = value / factor[j, j]


@njit(cache=True)
def _whiten(factor, n, values, out):  # pragma: no cover - compiled
    """``out = factor^-1 values`` for the first ``n`` rows."""
    for i in range(n):
        total = values[i]
        for k in range(i):
            total -= factor[i, k] * out[k]
        out[i] = total / factor[i, i]


@njit(cache=True, nogil=True)
def observed_log_likelihoods(signals, covariances):  # pragma: no cover - compiled
    """``log p(x_o | c)`` (T, C): zero where fewer than two nodes were observed."""
    samples, nodes = signals.shape
    count = len(covariances)
    found = np.zeros((samples, count))
    factors = np.empty((count, nodes, nodes))
    values, white = np.empty(nodes), np.empty(nodes)
    for t in range(samples):
        observed, _ = _split(signals[t])
        n = len(observed) - 1
        if n < 1:
            continue
        for i in range(n):
            values[i] = signals[t, observed[i + 1]] - signals[t, observed[0]]
        again = t > 0 and _same_gaps(signals[t], signals[t - 1])
        for c in range(count):
            factor = factors[c]
            if not again:
                _factor(covariances[c], observed, factor)
            _whiten(factor, n, values, white)
            total = np.log(n + 1.0) - n * LOG_2PI
            for i in range(n):
                total -= white[i] * white[i] + 2 * np.log(factor[i, i])
            found[t, c] = total / 2
    return found


@njit(cache=True)
def _condition(
    covariance, row, observed, missing, factor, solved, mean, spread
):  # pragma: no cover - compiled
    """Mean (N,) and covariance (m, m) of a sample given what was observed, from its origin."""
    n, m = max(len(observed) - 1, 0), len(missing)
    r = observed[0] if len(observed) else missing[0]
    mean[:] = 0.0
    for i in range(n):
        mean[observed[i + 1]] = row[observed[i + 1]] - row[r]
    values, white = np.empty(n), np.empty(n)
    if n:
        _factor(covariance, observed, factor)
        for i in range(n):
            values[i] = mean[observed[i + 1]]
        _whiten(factor, n, values, white)
    for a in range(m):
        p = missing[a]
        for i in range(n):
            q = observed[i + 1]
            values[i] = covariance[p, q] - covariance[p, r] - covariance[q, r] + covariance[r, r]
        _whiten(factor, n, values, solved[a])
        total = 0.0
        for i in range(n):
            total += solved[a, i] * white[i]
        mean[p] = total
        for b in range(a + 1):
            q = missing[b]
            value = covariance[p, q] - covariance[p, r] - covariance[q, r] + covariance[r, r]
            for i in range(n):
                value -= solved[a, i] * solved[b, i]
            spread[a, b] = value
            spread[b, a] = value


@njit(cache=True, nogil=True)
def conditional_moments(signals, covariances, posterior):  # pragma: no cover - compiled
    """``sum_t posterior_tc E[x x' | x_o, c]`` (C, N, N), each sample measured from its origin."""
    samples, nodes = signals.shape
    count = len(covariances)
    moments = np.zeros((count, nodes, nodes))
    factor, solved = np.empty((nodes, nodes)), np.empty((nodes, nodes))
    spread, mean = np.empty((nodes, nodes)), np.empty(nodes)
    for t in range(samples):
        observed, missing = _split(signals[t])
        for c in range(count):
            share = posterior[t, c]
            if share < 1e-8:
                continue
            _condition(covariances[c], signals[t], observed, missing, factor, solved, mean, spread)
            for i in range(nodes):
                for j in range(nodes):
                    moments[c, i, j] += share * mean[i] * mean[j]
            for a in range(len(missing)):
                for b in range(len(missing)):
                    moments[c, missing[a], missing[b]] += share * spread[a, b]
    return moments


@njit(cache=True, nogil=True)
def draw_missing(signals, covariances, patterns, noise):  # pragma: no cover - compiled
    """Signals whose gaps are drawn given the rest and a pattern (T,), by normal ``noise``."""
    samples, nodes = signals.shape
    filled = np.empty((samples, nodes))
    factor, solved = np.empty((nodes, nodes)), np.empty((nodes, nodes))
    spread, mean = np.empty((nodes, nodes)), np.empty(nodes)
    for t in range(samples):
        observed, missing = _split(signals[t])
        m = len(missing)
        if m == 0:
            filled[t] = signals[t]
            continue
        covariance = covariances[patterns[t]]
        _condition(covariance, signals[t], observed, missing, factor, solved, mean, spread)
        origin = signals[t, observed[0]] if len(observed) else 0.0
        for a in range(m):  # Cholesky of the spread, in place
            for b in range(a + 1):
                value = spread[a, b]
                for k in range(b):
                    value -= spread[a, k] * spread[b, k]
                if a == b:
                    spread[a, a] = np.sqrt(max(value, 0.0))
                else:
                    spread[a, b] = value / spread[b, b] if spread[b, b] > 0 else 0.0
        for a in range(m):
            for b in range(a + 1):
                mean[missing[a]] += spread[a, b] * noise[t, missing[b]]
        for i in range(nodes):
            filled[t, i] = mean[i] + origin
    return filled
