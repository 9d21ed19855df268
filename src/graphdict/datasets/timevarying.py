"""Graphs that change over time: edges that come and go, or states that switch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.datasets.lgmrf import sample_states
from graphdict.datasets.random_graphs import (
    check_count,
    check_probability,
    check_range,
    erdos_renyi,
    generator,
    random_weights,
)

__all__ = ["StateSignals", "make_emeg", "make_sbg"]


@dataclass(frozen=True)
class StateSignals:
    """A series of signals, each drawn from one of a list of graphs."""

    signals: NDArray
    """(T, N)"""
    states: NDArray
    """(T,): which of the graphs each sample has"""
    atoms: NDArray
    """(number of graphs, E)"""

    def __len__(self) -> int:
        return len(self.signals)

    @property
    def weights(self) -> NDArray:
        """The graph of every sample, (T, E), computed when asked for."""
        return self.atoms[self.states]

    @property
    def coefficients(self) -> NDArray:
        """The states as zero-one rows, (T, number of graphs)."""
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
    random_state: Any = None,
) -> StateSignals:
    """Edge-Markovian evolving graph: edges appear and disappear, each on its own.

    The series starts with a graph ER(N, p). From one graph to the next, an absent edge appears with
    probability ``p_add`` and a present one goes with probability ``p_remove``; the weight of an
    edge is drawn when it appears, and kept. The paper studies 32 graphs of 20 signals each, the
    default, and 512 graphs of one.

    Parameters
    ----------
    n_graphs, signals_per_graph : int
        Length of the series of graphs, and consecutive signals of each.
    n_nodes, edge_probability
        Of the first graph.
    p_add, p_remove : float
        Probabilities of a change, for each edge and step.
    weight_range : pair of floats, default=(0.1, 3)
        Weights are uniform on this interval.
    random_state : int, numpy.random.Generator, numpy.random.SeedSequence or None
        Decides everything random.

    Returns
    -------
    StateSignals
        With ``signals`` (n_graphs * signals_per_graph, N), ``states``, ``atoms``: all graphs in
        order, and ``weights``.
    """
    check_count("n_graphs", n_graphs, 1)
    check_count("signals_per_graph", signals_per_graph, 1)
    added = check_probability("p_add", p_add)
    removed = check_probability("p_remove", p_remove)
    interval = check_range("weight_range", weight_range)
    of_graphs, of_signals = generator(random_state).spawn(2)
    current = erdos_renyi(
        1, n_nodes, edge_probability, weight_range=interval, random_state=of_graphs
    )[0]
    atoms = np.empty((n_graphs, len(current)))
    for step in range(n_graphs):
        if step:
            chance = of_graphs.random(current.shape)
            fresh = random_weights(of_graphs, interval, current.shape)
            kept = np.where(chance < removed, 0.0, current)
            current = np.where(current > 0, kept, np.where(chance < added, fresh, 0.0))
        atoms[step] = current
    states = np.repeat(np.arange(n_graphs), signals_per_graph)
    return StateSignals(sample_states(atoms, states, of_signals), states, atoms)


def make_sbg(
    n_graphs: int = 32,
    signals_per_graph: int = 20,
    n_states: int = 6,
    n_nodes: int = 36,
    edge_probability: float = 0.05,
    p_stay: float = 0.98,
    *,
    weight_range: tuple[float, float] = (0.1, 3.0),
    random_state: Any = None,
) -> StateSignals:
    """Switching behaviour graph: a Markov chain over a few independent graphs.

    From one graph to the next the state stays with probability ``p_stay``, and otherwise moves to
    one of the others, uniformly. The first state is uniform. The paper studies 32 graphs of 20
    signals each, the default, and 512 graphs of one.

    Parameters
    ----------
    n_graphs, signals_per_graph : int
        Steps of the chain, and consecutive signals of each.
    n_states, n_nodes, edge_probability
        The states: independent graphs ER(N, p).
    p_stay : float, default=0.98
        Probability that the state stays at a step.
    weight_range : pair of floats, default=(0.1, 3)
        Weights are uniform on this interval.
    random_state : int, numpy.random.Generator, numpy.random.SeedSequence or None
        Decides everything random.

    Returns
    -------
    StateSignals
        With ``signals`` (n_graphs * signals_per_graph, N), ``states`` in 0, ..., n_states - 1,
        ``atoms``: the graph of each state, and ``weights``.
    """
    check_count("n_graphs", n_graphs, 1)
    check_count("signals_per_graph", signals_per_graph, 1)
    check_count("n_states", n_states, 1)
    stay = check_probability("p_stay", p_stay)
    of_graphs, of_chain, of_signals = generator(random_state).spawn(3)
    atoms = erdos_renyi(
        n_states, n_nodes, edge_probability, weight_range=weight_range, random_state=of_graphs
    )
    if n_states == 1:
        stay = 1.0
    moves = of_chain.random(n_graphs) >= stay
    # A move adds between 1 and n_states - 1 to the state, modulo their number.
    jumps = np.where(moves, of_chain.integers(1, max(n_states, 2), size=n_graphs), 0)
    jumps[0] = of_chain.integers(n_states)
    states = np.repeat(np.cumsum(jumps) % n_states, signals_per_graph)
    return StateSignals(sample_states(atoms, states, of_signals), states, atoms)
