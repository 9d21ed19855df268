"""Communities of a graph by the Louvain method, without randomness."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from graphdict.core import graphs
from graphdict.core.annotations import Booleans, Floats, Integers

EDGES_PER_NODE = 20


def communities(weights: Floats) -> Integers:
    """Return the community (N,) of each node, 0 for the largest; -1 for nodes without edges.

    Nodes are visited in order and join the neighbouring community that gains most modularity;
    communities then become nodes, until nothing changes. In dense graphs only the strongest edges
    count.
    """
    nodes = graphs.n_nodes(len(weights))
    rows, cols = graphs.edge_index(nodes)
    kept = np.flatnonzero(weights > 0)
    most = EDGES_PER_NODE * nodes
    if len(kept) > most:
        kept = kept[np.argsort(-weights[kept], kind="stable")[:most]]
    shape = (nodes, nodes)
    upper = sparse.coo_array((weights[kept].astype(float), (rows[kept], cols[kept])), shape=shape)
    matrix = sparse.csr_array(upper + upper.T)
    alone = np.asarray(matrix.sum(axis=1)).ravel() == 0

    member = np.arange(nodes)
    while matrix.nnz:
        moved = _local_moves(matrix)
        names, moved = np.unique(moved, return_inverse=True)
        member = moved[member]
        if len(names) == matrix.shape[0]:
            break
        gather = sparse.csr_array((np.ones(len(moved)), (moved, np.arange(len(moved)))))
        matrix = sparse.csr_array(gather @ matrix @ gather.T)
    return _by_size(member, alone)


def _local_moves(matrix: sparse.csr_array) -> Integers:
    """Return the community of each node once no single move gains modularity."""
    nodes = matrix.shape[0]
    degree = np.asarray(matrix.sum(axis=1)).ravel()
    total = degree.sum()
    group, group_degree = np.arange(nodes), degree.copy()
    for _ in range(50):  # ties could alternate for ever
        changed = False
        for node in range(nodes):
            span = slice(matrix.indptr[node], matrix.indptr[node + 1])
            links: dict[int, float] = {int(group[node]): 0.0}
            for other, weight in zip(matrix.indices[span], matrix.data[span]):
                if other != node:
                    links[int(group[other])] = links.get(int(group[other]), 0.0) + float(weight)
            own = int(group[node])
            group_degree[own] -= degree[node]
            gains = {g: w - degree[node] * group_degree[g] / total for g, w in links.items()}
            best = max(sorted(gains), key=gains.__getitem__)
            if gains[best] <= gains[own] + 1e-12 * total:
                best = own
            group_degree[best] += degree[node]
            group[node] = best
            changed |= best != own
        if not changed:
            break
    return group


def _by_size(member: Integers, alone: Booleans) -> Integers:
    """Number communities from the largest, ties by their first node."""
    found = np.full(len(member), -1)
    groups = [np.flatnonzero((member == g) & ~alone) for g in np.unique(member[~alone])]
    for number, nodes in enumerate(sorted(groups, key=lambda nodes: (-len(nodes), nodes[0]))):
        found[nodes] = number
    return found
