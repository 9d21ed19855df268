"""Matplotlib figures: each function draws on given axes and returns them.

Without axes, they make a figure one column (3.4 inches) wide. An atom has the same colour in every
figure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray

from graphdict.core.annotations import Floats
from graphdict.results import InstantaneousGraphs, thresholded_atoms
from graphdict.viz.drawing import (
    COLOURS,
    COLUMN,
    GraphOptions,
    MixtureOptions,
    Positions,
    colour_of,
    draw_graph,
    grid_axes,
)

if TYPE_CHECKING:  # pragma: no cover
    from graphdict.engine.estimator import SignalEstimator

COLUMNS_SHOWN = 2000  # of an image; more cannot be printed


def plot_graph(
    weights: ArrayLike,
    ax: Axes | None = None,
    *,
    positions: Positions | None = None,
    names: Sequence[Any] | None = None,
    colour: str = COLOURS[0],
    strongest: float | None = None,
    threshold: float = 0.0,
    title: str | None = None,
) -> Axes:
    """Draw a graph as nodes and lines; stronger edges are wider and darker.

    Parameters
    ----------
    weights : array (E,)
        Edge weights, in the order of ``np.triu_indices(N, 1)``.
    ax : Axes, optional
        Axes to draw on; the current ones by default.
    positions : array (N, 2) or dict of name to (x, y), optional
        Positions of the nodes; by default on a circle, clockwise from the top.
    names : N labels, optional
        Labels of the nodes.
    colour : str
        Colour of the edges.
    strongest : float, optional
        Weight that is drawn at full width, so that several graphs can share a scale.
    threshold : float, default=0
        Edges of at most this weight are left out, as are those below a thousandth of the strongest.
    title : str, optional
        Title of the axes.

    Returns
    -------
    Axes
    """
    ax = plt.gca() if ax is None else ax
    weights = np.asarray(weights)
    draw_graph(
        ax, weights, [colour] * len(weights), positions=positions, names=names,
        strongest=strongest, threshold=threshold, title=title,
    )  # fmt: skip
    return ax


def plot_atoms(
    atoms: ArrayLike | SignalEstimator,
    axes: Axes | Sequence[Axes] | NDArray[Any] | None = None,
    *,
    title: str = "Atom",
    **options: Unpack[GraphOptions],
) -> Sequence[Axes]:
    """Draw every atom of a dictionary on a common scale of edge widths.

    Parameters
    ----------
    atoms : array (K, E), or a fitted model
        Improbable edges of averaged atoms are left out.
    axes : K Axes, optional
        Axes to draw on; a new figure by default.
    title : str, default="Atom"
        Title of each atom, followed by its number from 1.
    **options
        Options of :func:`plot_graph`: ``positions``, ``names``, ``threshold``, ...

    Returns
    -------
    list of Axes
    """
    atoms = thresholded_atoms(atoms) if hasattr(atoms, "atoms_") else np.atleast_2d(atoms)
    axes = grid_axes(len(atoms), axes, across=_across(options))
    top = float(np.max(np.abs(atoms))) or 1.0
    for k, (ax, weights) in enumerate(zip(axes, atoms)):
        settings: dict[str, Any] = {
            "colour": colour_of(k),
            "strongest": top,
            "title": f"{title} {k + 1}",
        }
        plot_graph(weights, ax, **{**settings, **options})
    return axes


def plot_instantaneous(
    mixtures: InstantaneousGraphs | SignalEstimator,
    samples: Sequence[int],
    axes: Axes | Sequence[Axes] | NDArray[Any] | None = None,
    *,
    times: Sequence[Any] | NDArray[Any] | None = None,
    **options: Unpack[MixtureOptions],
) -> Sequence[Axes]:
    """Draw the graphs of chosen samples as mixtures of atoms.

    An edge has the colour of the atom that contributes most of its weight; bars below each graph
    are the coefficients of its atoms, from 0 to 1. All graphs share a scale of edge widths.

    Parameters
    ----------
    mixtures : InstantaneousGraphs, or a fitted model
        The result of ``model.instantaneous_graphs(X)``; a model stands for its training signals.
    samples : sequence of int
        Indices of the samples to draw.
    axes : Axes, optional
        One for each sample; a new figure by default.
    times : array (T,), optional
        Times of all samples, used as titles.
    **options
        Options of :func:`plot_graph`: ``positions``, ``names``, ``threshold``, ``strongest``.

    Returns
    -------
    list of Axes
    """
    graphs: Any = mixtures
    if hasattr(mixtures, "instantaneous_graphs"):
        graphs = mixtures.instantaneous_graphs()
    samples = [int(t) for t in np.atleast_1d(samples)]
    outside = [t for t in samples if not -len(graphs) <= t < len(graphs)]
    if outside:
        raise IndexError(f"samples: {outside} are not among the {len(graphs)} of the graphs")
    axes = grid_axes(len(samples), axes, panel=1.45, across=_across(options))
    chosen = graphs[np.array(samples, dtype=np.intp)]
    options.setdefault("strongest", float(np.max(np.abs(chosen.weights), initial=0)) or 1.0)
    for ax, t, coefficients, weights in zip(axes, samples, chosen.coefficients, chosen.weights):
        largest = np.argmax(coefficients[:, None] * np.abs(graphs.atoms), axis=0)
        title = f"sample {t}" if times is None else f"{times[t]}"
        colours = [colour_of(k) for k in largest]
        reach = draw_graph(ax, weights, colours, title=title, **options)
        _draw_mix(ax, coefficients, reach)
    return axes


def plot_coefficients(
    coefficients: ArrayLike | SignalEstimator,
    ax: Axes | None = None,
    *,
    times: ArrayLike | None = None,
    title: str | None = None,
) -> Axes:
    """Draw coefficients as an image: atoms in rows, samples in columns, 0 white, 1 black.

    Of more than 2,000 samples, means of consecutive ones are drawn; the label of the axis says of
    how many.

    Parameters
    ----------
    coefficients : array (T, K), or a fitted model
        A model stands for the coefficients of its training signals.
    ax : Axes, optional
        Axes to draw on; a new figure by default.
    times : array (T,) of numbers or datetimes in ascending order, optional
        Times of the samples.
    title : str, optional
        Title of the axes.

    Returns
    -------
    Axes
    """
    if ax is None:
        ax = plt.subplots(figsize=(COLUMN, 1.4), layout="constrained")[1]
    shown: Any = coefficients
    image = np.atleast_2d(getattr(coefficients, "coefficients_", shown))
    samples, count = image.shape
    edges = np.arange(samples + 1) if times is None else _between(_as_numbers(ax, times, samples))
    size = -(-samples // COLUMNS_SHOWN)
    if size > 1:
        starts = np.arange(0, samples, size)
        lengths = np.diff(np.append(starts, samples))
        image = np.add.reduceat(image, starts, axis=0) / lengths[:, None]
        edges = edges[np.append(starts, samples)]
    ax.pcolormesh(
        edges, np.arange(count + 1) + 0.5, image.T, cmap="Greys", vmin=0, vmax=1, rasterized=True
    )
    ax.set_ylim(count + 0.5, 0.5)
    step = -(-count // 8)
    ax.set_yticks(range(1, count + 1, step))
    for label, atom in zip(ax.get_yticklabels(), range(0, count, step)):
        label.set(color=colour_of(atom), fontweight="bold")
    ax.tick_params(labelsize=7)
    ax.set_ylabel("atom", fontsize=8)
    unit = "sample" if times is None else "time"
    ax.set_xlabel(f"{unit} (means of {size} samples)" if size > 1 else unit, fontsize=8)
    if title:
        ax.set_title(title, fontsize=8, loc="left")
    return ax


def plot_convergence(
    history: Mapping[str, ArrayLike] | SignalEstimator, ax: Axes | None = None
) -> Axes:
    """Draw the objective by iteration, and the relative residual, dashed, on a second axis.

    Parameters
    ----------
    history : dict of arrays, or a fitted model
        ``history_`` of a model: ``iteration``, ``objective`` and ``residual``.
    ax : Axes, optional
        Axes to draw on; a new figure by default.

    Returns
    -------
    Axes
        The axes of the objective; the axes of the residual are their twin.
    """
    if ax is None:
        ax = plt.subplots(figsize=(COLUMN, 2.1), layout="constrained")[1]
    by_name: Any = getattr(history, "history_", history)
    steps = np.asarray(by_name["iteration"])
    objective, residual = np.asarray(by_name["objective"]), np.asarray(by_name["residual"])
    finite = np.isfinite(objective)
    ax.plot(steps[finite], objective[finite], color=COLOURS[0])
    ax.set_xlabel("iteration", fontsize=8)
    ax.set_ylabel("objective", fontsize=8, color=COLOURS[0])
    twin = ax.twinx()
    positive = np.isfinite(residual) & (residual > 0)
    twin.semilogy(steps[positive], residual[positive], "--", color=COLOURS[1], linewidth=1)
    twin.set_ylabel("relative residual", fontsize=8, color=COLOURS[1])
    for axis in (ax, twin):
        axis.tick_params(labelsize=7)
        axis.spines["top"].set_visible(False)
    return ax


def _draw_mix(ax: Axes, coefficients: Floats, reach: float) -> None:
    """Draw bars of the coefficients below a graph whose names extend ``reach`` points down."""
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    height = top - bottom
    points = 72 * ax.get_window_extent().height / ax.figure.dpi
    base = bottom - height * (0.17 + reach / points)
    frame = (left + 0.2 * (right - left), base, 0.6 * (right - left), 0.15 * height)
    bars = ax.inset_axes(frame, transform=ax.transData)
    count = len(coefficients)
    bars.bar(range(1, count + 1), coefficients, color=[colour_of(k) for k in range(count)])
    bars.set(xlim=(0.4, count + 0.6), ylim=(0, 1), xticks=[], yticks=[])
    bars.spines[["top", "left", "right"]].set_visible(False)
    ax.set_ylim(base - 0.02 * height, top)


def _across(options: MixtureOptions) -> int:
    """Return the number of graphs in a row: fewer where nodes have names."""
    return 4 if options.get("names") is None else 2


def _as_numbers(ax: Axes, times: Any, samples: int) -> Floats:
    """Return times as numbers of the x axis, which formats them as dates where they are."""
    times = np.asarray(times)
    if times.shape != (samples,):
        raise ValueError(f"times must have shape ({samples},), got {times.shape}")
    axis: Any = ax.xaxis  # whose methods have no types
    axis.update_units(times)
    numbers = np.asarray(axis.convert_units(times), dtype=np.float64)
    if (np.diff(numbers) <= 0).any():
        raise ValueError("times must ascend from sample to sample")
    return numbers


def _between(times: Floats) -> Floats:
    """Return the boundaries (T + 1,) half way between times (T,)."""
    if len(times) == 1:
        return np.array([times[0] - 0.5, times[0] + 0.5])
    middle = (times[1:] + times[:-1]) / 2
    return np.concatenate(([2 * times[0] - middle[0]], middle, [2 * times[-1] - middle[-1]]))
