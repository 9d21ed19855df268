"""Matplotlib figures: each function draws on the axes it is given and returns them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from numpy.typing import NDArray

from graphdict import graphs

__all__ = ["plot_atoms", "plot_coefficients", "plot_convergence", "plot_graph", "plot_recovery"]

# Okabe and Ito's colours, told apart by readers of every colour vision.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")


def circle(nodes: int) -> NDArray:
    """Positions (N, 2) on a circle, the first node on top."""
    angle = np.pi / 2 - 2 * np.pi * np.arange(nodes) / nodes
    return np.column_stack([np.cos(angle), np.sin(angle)])


def plot_graph(
    weights: NDArray,
    ax: Axes | None = None,
    *,
    positions: NDArray | None = None,
    names: Sequence[Any] | None = None,
    colour: str = COLOURS[0],
    strongest: float | None = None,
    title: str | None = None,
) -> Axes:
    """One graph as nodes and lines, the wider and darker the stronger the edge.

    Parameters
    ----------
    weights : array (E,)
    ax : Axes, optional
    positions : array (N, 2), optional
        Where the nodes are; on a circle by default.
    names : N labels, optional
    colour : colour of the edges
    strongest : float, optional
        Weight drawn at full strength, so that several graphs can share a scale.
    title : str, optional
    """
    ax = plt.gca() if ax is None else ax
    nodes = graphs.n_nodes(len(weights))
    positions = circle(nodes) if positions is None else np.asarray(positions)
    rows, cols = graphs.edge_index(nodes)
    top = strongest or float(np.max(weights)) or 1.0
    shown = np.flatnonzero(weights > 1e-3 * top)
    shown = shown[np.argsort(weights[shown])]
    strength = np.clip(weights[shown] / top, 0, 1)
    segments = np.stack([positions[rows[shown]], positions[cols[shown]]], axis=1)
    shades = [to_rgba(colour, 0.15 + 0.85 * level) for level in strength]
    widths = 0.4 + 2.6 * strength
    lines = LineCollection(
        list(segments), colors=shades, linewidths=widths, capstyle="round", zorder=1
    )
    ax.add_collection(lines)
    size = np.clip(600 / nodes, 4, 36)
    ax.scatter(
        positions[:, 0],
        positions[:, 1],
        s=size,
        color="white",
        edgecolor="#333333",
        linewidth=0.8,
        zorder=2,
    )
    if names is not None:
        for (x, y), name in zip(positions * 1.14, names):
            ax.annotate(str(name), (x, y), ha="center", va="center", fontsize=6, color="#333333")
    if title:
        ax.set_title(title, fontsize=9)
    ax.set_aspect("equal")
    ax.margins(0.12)
    ax.set_axis_off()
    return ax


def plot_atoms(
    atoms: NDArray, axes: Sequence[Axes] | None = None, *, title: str = "Atom", **options: Any
) -> Sequence[Axes]:
    """Every atom of a dictionary (K, E), side by side and on one scale of edge widths."""
    if axes is None:
        columns = min(len(atoms), 5)
        lines = -(-len(atoms) // columns)
        _, grid = plt.subplots(lines, columns, figsize=(1.7 * columns, 1.9 * lines), squeeze=False)
        axes = list(grid.flat)
        for spare in axes[len(atoms) :]:
            spare.set_axis_off()
    top = float(np.max(atoms)) or 1.0
    for k, (ax, weights) in enumerate(zip(axes, atoms)):
        settings = {"colour": COLOURS[k % len(COLOURS)], "strongest": top, **options}
        plot_graph(weights, ax, title=f"{title} {k + 1}", **settings)
    return axes


def plot_coefficients(
    coefficients: NDArray,
    ax: Axes | None = None,
    *,
    times: NDArray | None = None,
    title: str | None = None,
) -> Axes:
    """Coefficients (T, K) as an image: atoms in rows, samples from left to right, 0 to 1."""
    ax = plt.gca() if ax is None else ax
    first, last = (0, len(coefficients)) if times is None else (times[0], times[-1])
    count = coefficients.shape[1]
    ax.imshow(
        coefficients.T, aspect="auto", interpolation="nearest", cmap="Greys", vmin=0, vmax=1,
        extent=(first, last, count + 0.5, 0.5),
    )  # fmt: skip
    ax.set_yticks(range(1, count + 1))
    ax.tick_params(labelsize=7)
    ax.set_ylabel("atom", fontsize=8)
    ax.set_xlabel("sample" if times is None else "time", fontsize=8)
    if title:
        ax.set_title(title, fontsize=9, loc="left")
    return ax


def plot_convergence(history: dict[str, NDArray], ax: Axes | None = None) -> Axes:
    """The objective by iteration, and the largest relative residual on a second axis."""
    ax = plt.gca() if ax is None else ax
    steps = history["iteration"]
    finite = np.isfinite(history["objective"])
    ax.plot(steps[finite], history["objective"][finite], color=COLOURS[0])
    ax.set_xlabel("iteration", fontsize=8)
    ax.set_ylabel("objective", fontsize=8, color=COLOURS[0])
    twin = ax.twinx()
    twin.semilogy(steps, history["residual"], color=COLOURS[1], linewidth=1)
    twin.set_ylabel("relative residual", fontsize=8, color=COLOURS[1])
    for axis in (ax, twin):
        axis.tick_params(labelsize=7)
    return ax


def plot_recovery(
    true_atoms: NDArray,
    atoms: NDArray,
    true_coefficients: NDArray,
    coefficients: NDArray,
    *,
    scores: Sequence[float] | None = None,
) -> Figure:
    """True atoms above learned ones, then both coefficient series; all matched beforehand."""
    count = len(true_atoms)
    figure = plt.figure(figsize=(max(1.9 * count, 5.4), 6.2), layout="constrained")
    grid = figure.add_gridspec(4, count, height_ratios=[1.9, 1.9, 0.8, 0.8])
    pairs = (("True atom", true_atoms), ("Learned atom", atoms))
    for line, (label, graphs_) in enumerate(pairs):
        axes = [figure.add_subplot(grid[line, k]) for k in range(count)]
        plot_atoms(graphs_, axes, title=label)
        if line == 1 and scores is not None:
            for ax, k in zip(axes, range(count)):
                ax.set_title(f"{label} {k + 1}\nMCC {scores[k]:.2f}", fontsize=9)
    above = figure.add_subplot(grid[2, :])
    plot_coefficients(true_coefficients, above, title="True coefficients")
    above.set_xlabel("")
    below = figure.add_subplot(grid[3, :], sharex=above)
    plot_coefficients(coefficients, below, title="Learned coefficients")
    return figure
