"""Which edges an atom can have: none that silence rules out, none that faded away."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from graphdict.core import graphs
from graphdict.core.marginal.dictionary import Dictionary
from graphdict.engine.marginal.passes import second_moments
from graphdict.engine.marginal.samples import Data

__all__ = ["cut", "prune"]

MOSTLY = 0.9


def cut(data: Data, dictionary: Dictionary) -> Dictionary:
    """Take from each atom the edges that signals of no variance rule out.

    Two silent nodes have no difference and would attract an edge of unbounded weight; a silent node
    carries no evidence of any. Likewise nodes of different components, where groups of nodes sum to
    zero in all samples of an atom. Once cut off, silence and zero sums are expected, and samples
    that lack them leave the patterns of the atom.
    """
    mass, silent, moments = second_moments(data, dictionary)
    rows, cols = graphs.edge_index(dictionary.graphs.nodes)
    quiet = (silent >= MOSTLY * mass[:, None]) & (mass[:, None] >= 1)
    labels = _components(mass, moments, dictionary.graphs.noise)
    gone = quiet[:, rows] | quiet[:, cols] | (labels[:, rows] != labels[:, cols])
    if not (gone & (dictionary.atoms > 0)).any():
        return dictionary
    return dictionary.with_atoms(np.where(gone, 0, dictionary.atoms))


def _components(mass: NDArray, moments: NDArray, noise: float) -> NDArray:
    """A label (K, N) for the group of each node such that groups sum to zero whenever atom k is on.

    Indicators of such groups span the null space of the atom's second moments, whose projector then
    has an entry ``1 / size`` for each pair of one group and zeros elsewhere. Anything else (too few
    samples, a null space of another kind) is taken for one group.
    """
    nodes = moments.shape[1]
    labels = np.zeros((len(mass), nodes), dtype=np.intp)
    for atom in np.flatnonzero(mass >= nodes):
        values, vectors = np.linalg.eigh(moments[atom] / mass[atom])
        basis = vectors[:, values <= noise]
        projector = basis @ basis.T
        count, groups = connected_components(projector > 0.5 / nodes, directed=False)
        ideal = (groups[:, None] == groups) / np.bincount(groups)[groups]
        if count == basis.shape[1] and np.allclose(projector, ideal, atol=1e-3 / nodes):
            labels[atom] = groups
    return labels


def prune(dictionary: Dictionary, kept: NDArray[np.bool_]) -> Dictionary:
    """Make exact zeros of the weights (K, E) that are not to be ``kept``.

    No graph falls apart by it: where that of a pattern would, the strongest tree that spans it
    stays, each edge in the atom that has most of it.
    """
    atoms, patterns = dictionary.atoms, dictionary.graphs.patterns
    kept = kept.copy()
    pruned = dictionary.with_atoms(np.where(kept, atoms, 0))
    before = dictionary.graphs.components
    for index, basis in pruned.graphs.components.items():
        if index in before and before[index].shape[1] == basis.shape[1]:
            continue
        parts = patterns[index][:, None] * atoms
        edges = np.flatnonzero(_strongest_tree(parts.sum(axis=0)))
        kept[parts[:, edges].argmax(axis=0), edges] = True
    return dictionary.with_atoms(np.where(kept, atoms, 0))


def _strongest_tree(weights: NDArray) -> NDArray[np.bool_]:
    """Edges (E,) of the spanning forest of largest weights."""
    lengths = np.divide(1, weights, out=np.zeros_like(weights), where=weights > 0)
    tree = minimum_spanning_tree(graphs.adjacency(lengths)).toarray()
    return graphs.adjacency_to_weights(tree + tree.T) > 0
