"""Random weighted graphs, and checks of the arguments of generators."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

from graphdict.core import graphs
from graphdict.core.annotations import Floats, RandomState


def erdos_renyi(
    n_graphs: int,
    n_nodes: int,
    edge_probability: float,
    *,
    weight_range: tuple[float, float] = (0.1, 3.0),
    random_state: RandomState | np.random.Generator = None,
) -> Floats:
    """Draw independent graphs ER(N, p) with uniform weights.

    Parameters
    ----------
    n_graphs, n_nodes : int
        Number of graphs, and of their nodes N.
    edge_probability : float
        Probability p of each edge, independently.
    weight_range : pair of floats, default=(0.1, 3)
        Weights of the edges are uniform on this interval.
    random_state : int, numpy.random.Generator, numpy.random.SeedSequence or None
        Random seed or generator.

    Returns
    -------
    array (n_graphs, E)
        Edge weights, zero where there is no edge.

    Examples
    --------
    >>> from graphdict.datasets import erdos_renyi
    >>> erdos_renyi(5, 10, 0.3, random_state=0).shape
    (5, 45)
    """
    count = check_count("n_graphs", n_graphs, 1)
    edges = graphs.n_edges(check_count("n_nodes", n_nodes, 2))
    probability = check_probability("edge_probability", edge_probability)
    low, high = check_range("weight_range", weight_range)
    rng = generator(random_state)
    present = rng.random((count, edges)) < probability
    return np.where(present, rng.uniform(low, high, size=present.shape), 0.0)


def generator(random_state: RandomState | np.random.Generator) -> np.random.Generator:
    """Return a generator from a seed, a generator, or a RandomState."""
    seed: Any = random_state
    if isinstance(random_state, np.random.RandomState):
        seed = random_state.randint(2**32, dtype=np.uint32)
    return np.random.default_rng(seed)


def check_count(name: str, value: Any, least: int) -> int:
    """Return an integer; raise ValueError unless it is at least ``least``."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}")
    return int(value)


def check_probability(name: str, value: Any) -> float:
    """Return a float; raise ValueError unless it is between 0 and 1."""
    if not isinstance(value, Real) or not 0 <= float(value) <= 1:
        raise ValueError(f"{name} must be a probability between 0 and 1, got {value!r}")
    return float(value)


def check_range(name: str, value: Any) -> tuple[float, float]:
    """Return a pair of floats; raise ValueError unless ``0 < low <= high``."""
    try:
        low, high = (float(end) for end in value)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a pair (low, high), got {value!r}") from None
    if not 0 < low <= high < float("inf"):
        raise ValueError(f"{name} must satisfy 0 < low <= high, got {value!r}")
    return low, high
