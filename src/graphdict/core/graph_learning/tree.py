"""A binary tree of windows, and the proximal operator of its total weight.

Every node of the tree has a graph, and the graph of a window is the sum of those from the root to
its leaf. For one edge, with ``x_l`` its weight in window l, the least total weight of the nodes is

    g(x) = sum over nodes u_n,      u_n = m_n - m_parent,      m_n = min of x over the leaves below,

since what all leaves below a node share costs least at that node. The proximal operator is computed
exactly. Let ``b`` be the sum of the weights of a node and its ancestors. The cost of the leaves
below as a function of ``b`` is convex, with a piecewise linear derivative ``h'``; the node adds
weight, at cost ``alpha`` per unit, until ``h' = -alpha``, so that the derivative for its parent is
``max(h', -alpha)``. The knots of this function are computed from the leaves to the root, and the
weights from the root to the leaves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphdict import native
from graphdict.core.annotations import Floats, Integers


@dataclass(frozen=True)
class WindowTree:
    """A binary tree over consecutive windows; parents precede their children.

    Node n covers the windows ``first[n] <= l < last[n]``; ``parent[0] = -1``.
    """

    first: Integers
    last: Integers
    parent: Integers

    @property
    def windows(self) -> int:
        """Number W of windows."""
        return int(self.last[0])

    @property
    def membership(self) -> Floats:
        """Array (W, K), one where a window is below a node."""
        window = np.arange(self.windows)[:, None]
        return ((window >= self.first) & (window < self.last)).astype(np.float64)

    def split(self, weights: Floats) -> Floats:
        """Return the graphs (K, E) of least total weight whose sums are ``weights`` (W, E)."""
        least = np.stack([weights[a:b].min(axis=0) for a, b in zip(self.first, self.last)])
        least[1:] -= least[self.parent[1:]]
        return least

    def total(self, weights: Floats) -> float:
        """Return ``g`` of weights (W, E), summed over edges."""
        return float(self.split(weights).sum(dtype=np.float64))

    def prox(self, values: Floats, alpha: float, shares: Floats) -> Floats:
        """Return ``argmin_{x >= 0} alpha g(x) + sum_l p_l (x_l - v_l)^2 / 2`` for each column."""
        columns = np.ascontiguousarray(values.T, dtype=np.float64)
        shares = np.ascontiguousarray(shares, dtype=np.float64)
        out = np.empty_like(columns)
        native.tree_prox(columns, alpha, shares, self.first, self.last, self.parent, out)
        return out.T.astype(values.dtype, copy=False)


def window_tree(windows: int) -> WindowTree:
    """Return the tree that halves the windows down to single ones; it has 2 W - 1 nodes.

    The left half of an odd number is the smaller one.
    """
    nodes = [(0, windows, -1)]
    for node, (first, last, _) in enumerate(nodes):
        if last - first > 1:
            middle = (first + last) // 2
            nodes += [(first, middle, node), (middle, last, node)]
    table = np.array(nodes, dtype=np.intp)
    return WindowTree(*(np.ascontiguousarray(column) for column in table.T))
