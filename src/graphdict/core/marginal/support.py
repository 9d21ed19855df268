"""The support of atoms: graphs that fall apart, edges that signals rule out, edges to prune."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from graphdict.core import graphs
from graphdict.core.annotations import Booleans, Integers
from graphdict.core.marginal.dictionary import PatternDictionary

SILENT_SHARE = 0.9  # of an atom's samples in which a node is silent, from which on it has no edges


def pattern_components(patterns: NDArray, atoms: NDArray) -> dict[int, NDArray]:
    """Return the connected components of every pattern whose graph is disconnected.

    The keys are indices into ``patterns`` (C, K), the values (N, components) unit vectors that are
    constant on one component each and zero elsewhere.
    """
    support = atoms != 0
    found: dict[int, NDArray] = {}
    if support.all():
        return found
    active, first = np.unique(patterns > 0, axis=0, return_inverse=True)
    bases = [_components(support[pattern].any(axis=0)) for pattern in active]
    for index, which in enumerate(first.ravel()):
        basis = bases[which]
        if basis is not None:
            found[index] = basis
    return found


def _components(edges: Booleans) -> NDArray | None:
    """Return the unit vectors (N, components) of a graph of edges (E,); None if it is connected."""
    if edges.all():
        return None
    count, labels = connected_components(graphs.adjacency(edges), directed=False)
    return np.eye(count)[labels] / np.sqrt(np.bincount(labels)) if count > 1 else None


def impossible_edges(
    mass: NDArray, silent: NDArray, moments: NDArray, noise: float, share: float = SILENT_SHARE
) -> Booleans:
    """Return the edges (K, E) that an atom cannot have, since its signals have no variance there.

    Two silent nodes have no difference and would attract an edge of unbounded weight; a silent node
    carries no evidence of any. Likewise nodes of different components, where groups of nodes sum to
    zero in all samples of an atom.

    Parameters
    ----------
    mass : array (K,)
        Expected number of samples in which each atom is active.
    silent : array (K, N)
        In how many of them each node is silent.
    moments : array (K, N, N)
        The sum of ``x x'`` over them.
    noise : float
        Variance that counts as none.
    share : float
        Of an atom's samples in which a node is silent, from which on it has no edges.
    """
    rows, cols = graphs.edge_index(moments.shape[1])
    quiet = (silent >= share * mass[:, None]) & (mass[:, None] >= 1)
    labels = _zero_sum_groups(mass, moments, noise)
    return quiet[:, rows] | quiet[:, cols] | (labels[:, rows] != labels[:, cols])


def _zero_sum_groups(mass: NDArray, moments: NDArray, noise: float) -> Integers:
    """Return a label (K, N) for the group of each node; groups sum to zero whenever atom k is on.

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


def prune_edges(dictionary: PatternDictionary, keep: Booleans) -> PatternDictionary:
    """Return the dictionary with exact zeros for weights not in ``keep`` (K, E).

    No pattern's graph is disconnected by it: where one would be, the spanning tree of its strongest
    edges stays, each edge in the atom that has most of it.
    """
    atoms, patterns = dictionary.atoms, dictionary.patterns
    keep = keep.copy()
    before = pattern_components(patterns, atoms)
    for index, basis in pattern_components(patterns, np.where(keep, atoms, 0)).items():
        if index in before and before[index].shape[1] == basis.shape[1]:
            continue
        parts = patterns[index][:, None] * np.abs(atoms)
        edges = np.flatnonzero(_strongest_tree(parts.sum(axis=0)))
        keep[parts[:, edges].argmax(axis=0), edges] = True
    return dictionary.with_atoms(np.where(keep, atoms, 0))


def _strongest_tree(weights: NDArray) -> Booleans:
    """Return the edges (E,) of the spanning forest of largest weights (E,)."""
    lengths = np.divide(1, weights, out=np.zeros_like(weights), where=weights > 0)
    tree = minimum_spanning_tree(graphs.adjacency(lengths)).toarray()
    return graphs.adjacency_to_weights(tree + tree.T) > 0
