"""Draw signals from the Gaussian field whose precision is the Laplacian of a graph.

A Laplacian-constrained Gaussian Markov random field has covariance ``L^+``, the pseudo-inverse, so
a sample is ``L^{+1/2} z`` with white ``z``. The signal sums to zero on every connected component,
and is zero on isolated nodes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.csgraph import connected_components

from graphdict.core import graphs
from graphdict.core.annotations import RandomState
from graphdict.datasets.random_graphs import check_count, generator

__all__ = ["sample_lgmrf", "sample_states"]


def sample_lgmrf(
    weights: ArrayLike, n_signals: int = 1, random_state: RandomState | np.random.Generator = None
) -> NDArray[np.float64]:
    """Draw signals from the Gaussian fields of one or several graphs.

    Parameters
    ----------
    weights : array (E,) or (T, E)
        Edge weights, in the order of ``np.triu_indices(N, 1)``.
    n_signals : int, default=1
        Number of independent signals of each graph.
    random_state : int, numpy.random.Generator, numpy.random.SeedSequence or None
        Random seed or generator.

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
    distinct, which = np.unique(weights, axis=0, return_inverse=True)
    rng = generator(random_state)
    return sample_states(distinct, np.repeat(which.ravel(), count), rng)


def sample_states(
    atoms: NDArray[np.float64], states: NDArray[np.intp], rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return signals (T, N), one of the graph ``atoms[states[t]]`` for each t."""
    nodes = graphs.n_nodes(atoms.shape[1])
    noise = rng.standard_normal((len(states), nodes))
    signals = np.zeros_like(noise)
    order = np.argsort(states, kind="stable")
    present, firsts = np.unique(states[order], return_index=True)
    for state, rows in zip(present, np.split(order, firsts[1:])):
        for component, root in _component_roots(graphs.laplacian(atoms[state])):
            part = noise[np.ix_(rows, component)] @ root
            signals[np.ix_(rows, component)] = part - part.mean(axis=1, keepdims=True)
    return signals


def _component_roots(
    laplacian: NDArray[np.float64],
) -> list[tuple[NDArray[np.intp], NDArray[np.float64]]]:
    """Return for each component with an edge its nodes, and ``L^{+1/2}`` on them."""
    count, label = connected_components(laplacian != 0, directed=False)
    roots = []
    for component in range(count):
        nodes = np.flatnonzero(label == component)
        if len(nodes) > 1:
            values, vectors = np.linalg.eigh(laplacian[np.ix_(nodes, nodes)])
            # A connected component has exactly one vanishing eigenvalue: its constants.
            values, vectors = values[1:], vectors[:, 1:]
            roots.append((nodes, (vectors / np.sqrt(values)) @ vectors.T))
    return roots
