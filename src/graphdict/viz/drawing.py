"""Draw nodes, edges and labels on Matplotlib axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias, TypedDict

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba
from numpy.typing import ArrayLike, NDArray

from graphdict.core import graphs
from graphdict.core.annotations import Floats

# Okabe and Ito's colours, distinct for all kinds of colour vision.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")
COLUMN = 3.4  # inches: one column of a two-column paper
INK = "#333333"
NEGATIVE = "#B2182B"  # edges of negative weight, which are dashed as well
FAINTEST = 1e-3  # of the strongest edge: weaker edges are invisible


AxesLike: TypeAlias = Axes | Sequence[Axes] | NDArray[Any]
Positions: TypeAlias = ArrayLike | dict[Any, Any]


class MixtureOptions(TypedDict, total=False):
    """Options of :func:`graphdict.viz.plot_graph` for graphs whose edges have colours already."""

    positions: Positions | None
    names: Sequence[Any] | None
    strongest: float | None
    threshold: float


class GraphOptions(MixtureOptions, total=False):
    """Options of :func:`graphdict.viz.plot_graph` that other figures pass on."""

    colour: str


def colour_of(atom: int) -> str:
    """Return the colour of an atom, the same in every figure; colours repeat after eight atoms."""
    return COLOURS[atom % len(COLOURS)]


def circle(nodes: int) -> Floats:
    """Return positions (N, 2) on a circle, the first node on top."""
    angle = np.pi / 2 - 2 * np.pi * np.arange(nodes) / nodes
    return np.column_stack([np.cos(angle), np.sin(angle)])


def grid_axes(
    count: int, axes: AxesLike | None, *, panel: float = 1.2, across: int = 4
) -> list[Axes]:
    """Return ``count`` axes: those given, or of a new figure with up to ``across`` in a row."""
    if axes is not None:
        flat = [axes] if isinstance(axes, Axes) else list(np.asarray(axes, dtype=object).flat)
        if len(flat) < count:
            raise ValueError(f"axes: {count} are needed, got {len(flat)}")
        return flat
    rows = -(-count // across)
    columns = -(-count // rows)
    height = rows * panel * min(COLUMN / columns, 1.7)
    _, grid = plt.subplots(
        rows, columns, figsize=(COLUMN, height), squeeze=False, layout="constrained"
    )
    for spare in grid.flat[count:]:
        spare.set_axis_off()
    return list(grid.flat[:count])


def draw_graph(
    ax: Axes,
    weights: Floats,
    colours: Sequence[Any],
    *,
    positions: Positions | None = None,
    names: Sequence[Any] | None = None,
    strongest: float | None = None,
    threshold: float = 0.0,
    title: str | None = None,
) -> float:
    """Draw a graph with edge weights (E,) in the given colours (E,); negative ones red and dashed.

    Returns how many points the names extend above and below the nodes.
    """
    weights = np.asarray(weights)
    if weights.ndim != 1:
        raise ValueError(f"weights must be one vector (E,) of edge weights, got {weights.shape}")
    nodes = graphs.n_nodes(len(weights))
    points = _node_positions(positions, nodes, names)
    rows, cols = graphs.edge_index(nodes)
    sizes = np.abs(weights)
    top = strongest or float(np.max(sizes)) or 1.0
    shown = np.flatnonzero(sizes > max(threshold, FAINTEST * top))
    shown = shown[np.argsort(sizes[shown], kind="stable")]
    strength = np.clip(sizes[shown] / top, 0, 1)
    colours = [NEGATIVE if weight < 0 else each for weight, each in zip(weights, colours)]
    thick = 2.2 * np.sqrt(np.clip(20 / nodes, 0.1, 1))  # thinner where there are many nodes
    lines = LineCollection(
        list(np.stack([points[rows[shown]], points[cols[shown]]], axis=1)),
        colors=[to_rgba(colours[int(e)], 0.1 + 0.9 * level) for e, level in zip(shown, strength)],
        linewidths=0.3 + thick * strength,
        linestyles=["--" if weight < 0 else "-" for weight in weights[shown]],
        capstyle="round",
        zorder=1,
    )
    ax.add_collection(lines)
    size = np.clip(300 / nodes, 3, 20)
    x, y = points.T
    ax.scatter(x, y, s=size, color="white", edgecolor=INK, linewidth=0.7, zorder=2)
    reach = 0.0
    if names is not None:
        reach = _label(ax, points, names, on_circle=positions is None)
    if title:
        ax.set_title(title, fontsize=8, pad=3 + reach)
    ax.set_aspect("equal")
    ax.margins(0.08)
    ax.set_axis_off()
    return reach


def _node_positions(positions: Positions | None, nodes: int, names: Sequence[Any] | None) -> Floats:
    """Return positions (N, 2): given as an array or by name, else on a circle."""
    if names is not None and len(names) != nodes:
        raise ValueError(f"names: {nodes} are needed, one for each node, got {len(names)}")
    if positions is None:
        return circle(nodes)
    if isinstance(positions, dict):
        if names is None:
            raise ValueError("positions by name need names= to say which node is which")
        missing = [name for name in names if name not in positions]
        if missing:
            raise ValueError(f"positions lack the nodes {missing[:5]}")
        positions = [positions[name] for name in names]
    points = np.asarray(positions, dtype=float)
    if points.shape != (nodes, 2):
        raise ValueError(f"positions must have shape ({nodes}, 2), got {points.shape}")
    return points


def _label(ax: Axes, points: Floats, names: Sequence[Any], *, on_circle: bool) -> float:
    """Write names next to their nodes, along the radius on a crowded circle.

    Returns how many points the names extend above and below the nodes.
    """
    outward = points - points.mean(axis=0)
    norms = np.linalg.norm(outward, axis=1, keepdims=True)
    outward = outward / np.where(norms > 0, norms, 1)
    longest = max(len(str(name)) for name in names)
    radial = on_circle and len(points) > (12 if longest > 2 else 30)
    size = 5.5 if radial else 6.5
    for point, (x, y), name in zip(points, outward, names):
        turn = np.degrees(np.arctan2(y, x)) if radial else 0.0
        if abs(turn) > 90:  # read from left to right on either side
            turn -= np.copysign(180, turn)
        sides = ("right", "left") if radial or abs(x) > 0.3 else ("center", "center")
        level = "center" if radial or abs(y) < 0.3 else ("bottom" if y > 0 else "top")
        ax.annotate(
            str(name), point, xytext=(4 * x, 4 * y), textcoords="offset points",
            ha=sides[int(x > -1e-9)], va=level, rotation=turn, rotation_mode="anchor",
            fontsize=size, color=INK, annotation_clip=False,
            parse_math=False,
        )  # fmt: skip
    return 0.6 * size * longest if radial else size
