"""Which edges an atom can have: none at nodes that are silent with it, none that faded away."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import minimum_spanning_tree

from graphdict import graphs
from graphdict.marginal.em import Data, Dictionary, Fit

__all__ = ["cut_silent_nodes", "prune", "silent_share"]

MOSTLY = 0.9


def silent_share(data: Data, coefficients: NDArray, noise: float) -> NDArray:
    """For each atom and node, the share (K, N) of the atom's samples with a silent node."""
    silent = np.square(data.signals, dtype=np.float64) <= noise
    weights = data.by_sample(coefficients)
    mass = weights.sum(axis=0)[:, None]
    return (weights.T @ silent) / np.where(mass > 0, mass, 1)


def cut_silent_nodes(data: Data, fit: Fit) -> Dictionary:
    """Take from each atom the edges of nodes that are silent in most of its samples.

    Two silent nodes have no difference and would attract an edge of unbounded weight; a silent node
    carries no evidence of any. Cut off, it is expected to be silent, and samples in which it is not
    leave the atom's patterns.
    """
    dictionary = fit.dictionary
    silent = silent_share(data, fit.coefficients, dictionary.graphs.noise) >= MOSTLY
    if not silent.any():
        return dictionary
    rows, cols = graphs.edge_index(dictionary.graphs.nodes)
    gone = silent[:, rows] | silent[:, cols]
    return dictionary.with_atoms(np.where(gone, 0, dictionary.atoms))


def prune(dictionary: Dictionary, width: float) -> Dictionary:
    """Make exact zeros of the weights that the fading penalty drove below its width.

    The strongest tree that spans an atom stays, so that no graph falls apart by pruning.
    """
    atoms = dictionary.atoms
    kept = (atoms > width) | np.array([_strongest_tree(weights) for weights in atoms])
    return dictionary.with_atoms(np.where(kept, atoms, 0))


def _strongest_tree(weights: NDArray) -> NDArray[np.bool_]:
    """Edges (E,) of the spanning forest of largest weights."""
    with np.errstate(divide="ignore"):
        lengths = np.where(weights > 0, 1 / weights, 0)
    tree = minimum_spanning_tree(graphs.adjacency(lengths)).toarray()
    return graphs.adjacency_to_weights(tree + tree.T) > 0
