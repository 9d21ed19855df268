"""Graphs as small pictures in HTML, for notebooks: nodes on a circle, nothing to install."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from graphdict.core import graphs
from graphdict.core.annotations import Floats

SIDE = 150  # pixels of a picture
MOST_GRAPHS = 12
MOST_EDGES = 300  # the heaviest, in each
NEGATIVE = "#b2182b"  # edges of negative weight, which are dashed as well
MIXED = "#555555"
COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb", "#000000")


def graphs_html(
    weights: Floats,
    node_names: Sequence[Any],
    titles: Sequence[str],
    caption: str,
    *,
    count: int | None = None,
    atoms: Sequence[int | None] | None = None,
) -> str:
    """Return HTML with a picture of each graph beside the other, and a caption above.

    Parameters
    ----------
    weights : array (K, E)
        Edge weights; the first twelve graphs are drawn, and of each the 300 heaviest edges.
    node_names : sequence of N names
        Shown where the pointer rests on a node.
    titles : sequence of K str
        A line below each picture.
    caption : str
        A line above all of them.
    count : int, optional
        How many graphs there are, where ``weights`` holds the first of them only.
    atoms : sequence of K int or None, optional
        The atom whose colour each graph has, None for a mixture of several; its own number if
        this is not given.
    """
    shown = weights[:MOST_GRAPHS]
    heaviest = float(np.abs(shown).max(initial=0.0))
    own = range(len(shown)) if atoms is None else atoms
    pictures = "".join(
        f'<figure style="margin:0 8px 8px 0;width:{SIDE}px">'
        f"{_picture(graph, node_names, heaviest, _colour(atom))}"
        f'<figcaption style="text-align:center">{escape(title)}</figcaption></figure>'
        for graph, title, atom in zip(shown, titles, own)
    )
    left = (len(weights) if count is None else count) - len(shown)
    rest = f"<p>and {left} more</p>" if left > 0 else ""
    return (
        f'<div class="graphdict" style="font:12px sans-serif"><p>{escape(caption)}</p>'
        f'<div style="display:flex;flex-wrap:wrap">{pictures}</div>{rest}</div>'
    )


def _picture(weights: Floats, node_names: Sequence[Any], heaviest: float, colour: str) -> str:
    """Return the SVG of one graph; lines are as wide as their weights are to the heaviest."""
    nodes = len(node_names)
    turns = 2 * np.pi * np.arange(nodes) / nodes
    x = np.round(SIDE / 2 * (1 + 0.9 * np.sin(turns)), 1)
    y = np.round(SIDE / 2 * (1 - 0.9 * np.cos(turns)), 1)
    rows, cols = graphs.edge_index(nodes)
    sizes = np.abs(weights)
    kept = np.argsort(-sizes, kind="stable")[:MOST_EDGES]
    lines = "".join(
        f'<path d="M{x[rows[e]]} {y[rows[e]]}L{x[cols[e]]} {y[cols[e]]}" '
        f'{_dashed(weights[e])}stroke-width="{4 * sizes[e] / heaviest:.2f}"/>'
        for e in kept[sizes[kept] > 0.01 * heaviest]
    )
    circles = "".join(
        f'<circle cx="{a}" cy="{b}" r="3"><title>{escape(str(name))}</title></circle>'
        for a, b, name in zip(x, y, node_names)
    )
    return (
        f'<svg viewBox="0 0 {SIDE} {SIDE}" width="{SIDE}" height="{SIDE}" role="img">'
        f'<g stroke="{colour}" stroke-opacity="0.7" fill="none">{lines}</g>'
        f'<g fill="#888">{circles}</g></svg>'
    )


def _colour(atom: int | None) -> str:
    return MIXED if atom is None else COLOURS[atom % len(COLOURS)]


def _dashed(weight: float) -> str:
    """Return the attributes of a line of negative weight; none for others."""
    return f'stroke="{NEGATIVE}" stroke-dasharray="5 3" ' if weight < 0 else ""
