"""Windows as leaves of a binary tree, and the proximal operator of the tree's total weight.

Every node of the tree owns a graph, and a window's graph is the sum of those from the root to its
leaf. For one edge, with ``x_l`` its weight in window l, the least total weight that nodes need is

    g(x) = sum over nodes u_n,      u_n = m_n - m_parent,      m_n = min of x over the leaves below,

since whatever all leaves below a node have in common is cheapest there. Its proximal operator is
exact. Let ``b`` be what a node and its ancestors hold together. The cost of the leaves below as a
function of ``b`` is convex, with a piecewise linear derivative ``h'``; the node adds weight, at
price ``alpha`` a unit, up to the point where ``h' = -alpha``, so that its parent sees
``max(h', -alpha)``. Only the knots of that function are kept, from the leaves to the root; the way
back reads off the weights.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphdict import native

__all__ = ["WindowTree", "window_tree"]


@dataclass(frozen=True)
class WindowTree:
    """A binary tree over consecutive windows; nodes in order, root first, parents before children.

    Node n covers the windows ``first[n] <= l < last[n]``; ``parent[0] = -1``.
    """

    first: NDArray[np.intp]
    last: NDArray[np.intp]
    parent: NDArray[np.intp]

    @property
    def windows(self) -> int:
        return int(self.last[0])

    @property
    def membership(self) -> NDArray[np.float64]:
        """One where a window (row) lies below a node (column)."""
        window = np.arange(self.windows)[:, None]
        return ((window >= self.first) & (window < self.last)).astype(np.float64)

    def split(self, weights: NDArray) -> NDArray:
        """The cheapest graphs of the nodes (K, E) whose sums are ``weights`` (windows, E)."""
        least = np.stack([weights[a:b].min(axis=0) for a, b in zip(self.first, self.last)])
        least[1:] -= least[self.parent[1:]]
        return least

    def total(self, weights: NDArray) -> float:
        """``g`` summed over edges."""
        return float(self.split(weights).sum(dtype=np.float64))

    def prox(self, values: NDArray, alpha: float, shares: NDArray) -> NDArray:
        """``argmin_{x >= 0} alpha g(x) + sum_l p_l (x_l - v_l)^2 / 2`` for each column."""
        columns = np.ascontiguousarray(values.T, dtype=np.float64)
        shares = np.ascontiguousarray(shares, dtype=np.float64)
        out = np.empty_like(columns)
        native.tree_prox(columns, alpha, shares, self.first, self.last, self.parent, out)
        return out.T.astype(values.dtype, copy=False)


def window_tree(windows: int) -> WindowTree:
    """Halve the windows until each stands alone; where their number is odd, the left part is less.

    A tree over W windows has 2 W - 1 nodes.
    """
    nodes = [(0, windows, -1)]
    for node, (first, last, _) in enumerate(nodes):
        if last - first > 1:
            middle = (first + last) // 2
            nodes += [(first, middle, node), (middle, last, node)]
    table = np.array(nodes, dtype=np.intp)
    return WindowTree(*(np.ascontiguousarray(column) for column in table.T))
