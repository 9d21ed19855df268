"""Draw signals from the Gaussian field whose precision is the Laplacian of a graph.

A Laplacian-constrained Gaussian Markov random field has covariance ``L^+``, the pseudo-inverse, so
a sample is ``L^{+1/2} z`` with white ``z``. The signal sums to zero on every connected component,
and is zero on isolated nodes.

Other filters make other fields of the same graph: signals ``k(L) z`` with precision ``f(L)``, where
``f = 1 / k^2`` is any positive function of the graph frequencies. ``f(L) = L^p`` with p > 1 is
smoother than a Markov field. With ``tails``, every sample is as loud as its gain says: precision
``g_t f(L)`` with ``g_t`` from a Gamma distribution, a Student t field.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse.csgraph import connected_components

from graphdict.core import graphs
from graphdict.core.annotations import Floats, Integers, RandomState
from graphdict.datasets.random_graphs import check_count, generator

Precision = Callable[[Floats], Floats]
Filter = float | Precision
"""A power ``p >= 0`` of the graph frequencies, or the precision as any function of them."""


def sample_lgmrf(
    weights: ArrayLike,
    n_signals: int = 1,
    random_state: RandomState | np.random.Generator = None,
    *,
    filter: Filter = 1.0,
    tails: float | None = None,
) -> Floats:
    """Draw signals from the Gaussian fields of one or several graphs.

    Parameters
    ----------
    weights : array (E,) or (T, E)
        Edge weights, in the order of ``np.triu_indices(N, 1)``.
    n_signals : int, default=1
        Number of independent signals of each graph.
    random_state : int, numpy.random.Generator, numpy.random.SeedSequence or None
        Random seed or generator.
    filter : float or callable, default=1.0
        The precision of signals as a function of the graph: the power p of ``L^p``, or any function
        of an array of positive graph frequencies, such as :func:`heat_kernel`.
    tails : float, optional
        Degrees of freedom of a Student t field: the fewer, the more loudness varies from sample to
        sample. By default signals are Gaussian.

    Returns
    -------
    array (n_signals, N) or (T * n_signals, N)
        Signals in rows, grouped by graph.

    Examples
    --------
    >>> from graphdict.datasets import erdos_renyi, sample_lgmrf
    >>> sample_lgmrf(erdos_renyi(3, 10, 0.3, random_state=0), 100, random_state=1).shape
    (300, 10)
    """
    weights = np.atleast_2d(np.asarray(weights, dtype=np.float64))
    if weights.ndim != 2:
        raise ValueError(f"weights must have shape (E,) or (T, E), got {weights.shape}")
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise ValueError(
            f"weights must be finite and not negative, got values from {weights.min():g} to "
            f"{weights.max():g}"
        )
    count = check_count("n_signals", n_signals, 1)
    precision, tails = check_filter(filter), check_tails(tails)
    distinct, which = np.unique(weights, axis=0, return_inverse=True)
    rng = generator(random_state)
    return sample_states(distinct, np.repeat(which.ravel(), count), rng, precision, tails)


def heat_kernel(tau: float) -> Precision:
    """Return the filter of signals that diffuse over a graph for a time ``tau``.

    Parameters
    ----------
    tau : float
        How long; positive.

    Returns
    -------
    callable
        The precision ``exp(2 tau lambda)`` of signals ``exp(-tau L) z``, for ``filter=``.
    """
    if not (np.isfinite(tau) and tau > 0):
        raise ValueError(f"tau must be positive and finite, got {tau!r}")
    return lambda frequencies: np.exp(2 * tau * frequencies)


def check_filter(filter: Filter) -> Precision:
    """Return a filter as a function of graph frequencies, or say what is wrong with it."""
    if callable(filter):
        return filter
    if not (isinstance(filter, Real) and 0 <= filter < np.inf):
        raise ValueError(
            "filter must be a power of at least 0 or a function of graph frequencies, got "
            f"{filter!r}"
        )
    power = float(filter)
    return lambda frequencies: frequencies**power


def check_tails(tails: float | None) -> float | None:
    """Return degrees of freedom, or say what is wrong with them."""
    if tails is not None and not tails > 0:
        raise ValueError(f"tails must be positive degrees of freedom or None, got {tails!r}")
    return None if tails is None or np.isinf(tails) else float(tails)


def sample_states(
    atoms: Floats,
    states: Integers,
    rng: np.random.Generator,
    precision: Precision | None = None,
    tails: float | None = None,
) -> Floats:
    """Return signals (T, N), one of the graph ``atoms[states[t]]`` for each t."""
    precision = check_filter(1.0) if precision is None else precision
    nodes = graphs.n_nodes(atoms.shape[1])
    noise = rng.standard_normal((len(states), nodes))
    signals = np.zeros_like(noise)
    order = np.argsort(states, kind="stable")
    present, firsts = np.unique(states[order], return_index=True)
    for state, rows in zip(present, np.split(order, firsts[1:])):
        for component, root in _component_roots(graphs.laplacian(atoms[state]), precision):
            part = noise[np.ix_(rows, component)] @ root
            signals[np.ix_(rows, component)] = part - part.mean(axis=1, keepdims=True)
    if tails is not None:
        signals /= np.sqrt(rng.chisquare(tails, (len(signals), 1)) / tails)
    return signals


def _component_roots(laplacian: Floats, precision: Precision) -> list[tuple[Integers, Floats]]:
    """Return for each component with an edge its nodes, and ``f(L)^{-1/2}`` on them."""
    count, label = connected_components(laplacian != 0, directed=False)
    roots = []
    for component in range(count):
        nodes = np.flatnonzero(label == component)
        if len(nodes) > 1:
            values, vectors = np.linalg.eigh(laplacian[np.ix_(nodes, nodes)])
            # A connected component has exactly one vanishing eigenvalue: its constants.
            values, vectors = values[1:], vectors[:, 1:]
            scale = np.asarray(precision(values), dtype=np.float64)
            if scale.shape != values.shape or not (scale > 0).all():
                raise ValueError(
                    "filter must return a positive precision for each graph frequency, got "
                    f"{scale!r}"
                )
            roots.append((nodes, (vectors / np.sqrt(scale)) @ vectors.T))
    return roots
