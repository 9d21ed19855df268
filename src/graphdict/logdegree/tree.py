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
from numba import njit
from numpy.typing import NDArray

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
        shares = np.asarray(shares, dtype=np.float64)
        out = _columns(columns, float(alpha), shares, self.first, self.last, self.parent)
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


@njit(cache=True)
def _columns(columns, alpha, shares, first, last, parent):  # pragma: no cover - compiled
    count, windows = columns.shape
    nodes = len(first)
    out = np.empty_like(columns)
    # The knots of a node live where its windows do: no node has more knots than windows below.
    position = np.empty(windows)
    slope = np.empty(windows)
    begin = np.empty(nodes, np.intp)
    end = np.empty(nodes, np.intp)
    threshold = np.empty(nodes)
    held = np.empty(nodes)
    work_position = np.empty(windows)
    work_slope = np.empty(windows)
    left = np.full(nodes, -1, np.intp)
    right = np.full(nodes, -1, np.intp)
    for n in range(1, nodes):
        if left[parent[n]] < 0:
            left[parent[n]] = n
        else:
            right[parent[n]] = n
    for column in range(count):
        v = columns[column]
        for n in range(nodes - 1, -1, -1):
            if left[n] < 0:  # h' = p (b - v), which is -alpha at the knot
                window = first[n]
                threshold[n] = v[window] - alpha / shares[window]
                position[window], slope[window] = threshold[n], shares[window]
                begin[n], end[n] = window, window + 1
                continue
            a, stop_a, b, stop_b = begin[left[n]], end[left[n]], begin[right[n]], end[right[n]]
            size = 0
            while a < stop_a or b < stop_b:
                if b >= stop_b or (a < stop_a and position[a] <= position[b]):
                    work_position[size], work_slope[size] = position[a], slope[a]
                    a += 1
                else:
                    work_position[size], work_slope[size] = position[b], slope[b]
                    b += 1
                size += 1
            # The sum starts at -2 alpha; walk to where it reaches -alpha.
            height, steep, at, used = -2 * alpha, 0.0, work_position[0], 0
            while used < size:
                ahead = height + steep * (work_position[used] - at)
                if ahead > -alpha:
                    break
                height, at = ahead, work_position[used]
                steep += work_slope[used]
                used += 1
            threshold[n] = at + (-alpha - height) / steep
            begin[n] = first[n]
            position[first[n]], slope[first[n]] = threshold[n], steep
            rest = size - used
            for k in range(rest):
                position[first[n] + 1 + k] = work_position[used + k]
                slope[first[n] + 1 + k] = work_slope[used + k]
            end[n] = first[n] + 1 + rest
        held[0] = max(threshold[0], 0.0)
        for n in range(1, nodes):
            held[n] = max(threshold[n], held[parent[n]])
        for n in range(nodes):
            if left[n] < 0:
                out[column, first[n]] = held[n]
    return out
