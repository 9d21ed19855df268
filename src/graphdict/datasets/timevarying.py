"""Simulate signals of time-varying graphs: edges that appear and disappear, or switching states."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphdict.core.annotations import Floats, Integers, RandomState
from graphdict.datasets.lgmrf import Filter, check_filter, check_tails, sample_states
from graphdict.datasets.random_graphs import (
    check_count,
    check_probability,
    check_range,
    erdos_renyi,
    generator,
)


@dataclass(frozen=True)
class StateSignals:
    """A series of signals, each with one of several graphs.

    Attributes
    ----------
    signals : array (T, N)
    states : integer array (T,)
        Index of the graph of each sample.
    atoms : array (K, E)
        Edge weights of the graphs.
    """

    signals: Floats
    states: Integers
    atoms: Floats

    def __len__(self) -> int:
        return len(self.signals)

    @property
    def weights(self) -> Floats:
        """Edge weights (T, E) of the graph of each sample."""
        return self.atoms[self.states]

    @property
    def coefficients(self) -> Floats:
        """States as one-hot rows (T, K)."""
        return np.eye(len(self.atoms))[self.states]


def make_emeg(
    n_graphs: int = 32,
    signals_per_graph: int = 20,
    n_nodes: int = 36,
    edge_probability: float = 0.1,
    p_add: float = 0.001,
    p_remove: float = 0.01,
    *,
    weight_range: tuple[float, float] = (0.1, 3.0),
    filter: Filter = 1.0,
    tails: float | None = None,
    random_state: RandomState | np.random.Generator = None,
) -> StateSignals:
    """Simulate an edge-Markovian evolving graph: edges appear and disappear independently.

    The series starts with a graph ER(N, p). From one graph to the next, an absent edge appears with
    probability ``p_add`` and a present one disappears with probability ``p_remove``; the weight of
    an edge is drawn when it appears. The paper studies 32 graphs with 20 signals each, the default,
    and 512 graphs with one.

    Parameters
    ----------
    n_graphs, signals_per_graph : int
        Length of the series of graphs, and number of consecutive signals of each.
    n_nodes, edge_probability
        The first graph: ER(N, p).
    p_add, p_remove : float
        Probabilities of a change, for each edge and step.
    weight_range : pair of floats, default=(0.1, 3)
        Weights are uniform on this interval.
    filter, tails
        What signals are of their graph: see :func:`sample_lgmrf`.
    random_state : int, numpy.random.Generator, numpy.random.SeedSequence or None
        Random seed or generator.

    Returns
    -------
    StateSignals
        ``signals`` (n_graphs * signals_per_graph, N), ``states``, ``atoms`` (all graphs in order)
        and ``weights``.
    """
    check_count("n_graphs", n_graphs, 1)
    check_count("signals_per_graph", signals_per_graph, 1)
    added = check_probability("p_add", p_add)
    removed = check_probability("p_remove", p_remove)
    interval = check_range("weight_range", weight_range)
    graph_rng, signal_rng = generator(random_state).spawn(2)
    current = erdos_renyi(
        1, n_nodes, edge_probability, weight_range=interval, random_state=graph_rng
    )[0]
    atoms = np.empty((n_graphs, len(current)))
    for step in range(n_graphs):
        if step:
            uniform = graph_rng.random(current.shape)
            new = graph_rng.uniform(*interval, size=current.shape)
            kept = np.where(uniform < removed, 0.0, current)
            current = np.where(current > 0, kept, np.where(uniform < added, new, 0.0))
        atoms[step] = current
    states = np.repeat(np.arange(n_graphs), signals_per_graph)
    signals = sample_states(atoms, states, signal_rng, check_filter(filter), check_tails(tails))
    return StateSignals(signals, states, atoms)


def make_sbg(
    n_graphs: int = 32,
    signals_per_graph: int = 20,
    n_states: int = 6,
    n_nodes: int = 36,
    edge_probability: float = 0.05,
    p_stay: float = 0.98,
    *,
    weight_range: tuple[float, float] = (0.1, 3.0),
    filter: Filter = 1.0,
    tails: float | None = None,
    random_state: RandomState | np.random.Generator = None,
) -> StateSignals:
    """Simulate a switching behaviour graph: a Markov chain over a few independent graphs.

    From one graph to the next the state stays with probability ``p_stay``, and otherwise moves to
    one of the others, uniformly. The first state is uniform. The paper studies 32 graphs with 20
    signals each, the default, and 512 graphs with one.

    Parameters
    ----------
    n_graphs, signals_per_graph : int
        Number of steps of the chain, and of consecutive signals of each.
    n_states, n_nodes, edge_probability
        The states: independent graphs ER(N, p).
    p_stay : float, default=0.98
        Probability that the state stays the same in a step.
    weight_range : pair of floats, default=(0.1, 3)
        Weights are uniform on this interval.
    filter, tails
        What signals are of their graph: see :func:`sample_lgmrf`.
    random_state : int, numpy.random.Generator, numpy.random.SeedSequence or None
        Random seed or generator.

    Returns
    -------
    StateSignals
        ``signals`` (n_graphs * signals_per_graph, N), ``states`` in 0, ..., n_states - 1, ``atoms``
        (the graph of each state) and ``weights``.
    """
    check_count("n_graphs", n_graphs, 1)
    check_count("signals_per_graph", signals_per_graph, 1)
    check_count("n_states", n_states, 1)
    stay = check_probability("p_stay", p_stay)
    graph_rng, chain_rng, signal_rng = generator(random_state).spawn(3)
    atoms = erdos_renyi(
        n_states, n_nodes, edge_probability, weight_range=weight_range, random_state=graph_rng
    )
    if n_states == 1:
        stay = 1.0
    moves = chain_rng.random(n_graphs) >= stay
    # A move adds between 1 and n_states - 1 to the state, modulo their number.
    jumps = np.where(moves, chain_rng.integers(1, max(n_states, 2), size=n_graphs), 0)
    jumps[0] = chain_rng.integers(n_states)
    states = np.repeat(np.cumsum(jumps) % n_states, signals_per_graph)
    signals = sample_states(atoms, states, signal_rng, check_filter(filter), check_tails(tails))
    return StateSignals(signals, states, atoms)
