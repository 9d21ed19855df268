"""Draw atoms as edges between electrodes on a head."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from graphdict.core.annotations import Floats

if TYPE_CHECKING:
    import mne
    from matplotlib.axes import Axes

INK = "#444444"
EQUATOR = 0.9
STRONGEST = 150  # edges drawn of each atom


def head_positions(info: mne.Info) -> Floats:
    """Return the positions of electrodes seen from above, nose up.

    Azimuthal equidistant projection: the distance from the vertex (Cz, if present) is the angle on
    the sphere that fits the electrodes best. The equator (Fpz, T7, Oz and T8) has radius 0.9, the
    outline of the head radius 1.

    Parameters
    ----------
    info : mne.Info
        Info with a montage.

    Returns
    -------
    array (N, 2)
        Positions of the channels, in their order.
    """
    points = np.array([channel["loc"][:3] for channel in info["chs"]], dtype=float)
    lost = ~np.isfinite(points).all(axis=1) | ~points.any(axis=1)
    if lost.any():
        names = [name for name, gone in zip(info["ch_names"], lost) if gone]
        raise ValueError(
            f"the positions of channels {names} are unknown; set a montage first: "
            "inst.set_montage(...)"
        )
    offsets = points - _centre(points)
    offsets /= np.linalg.norm(offsets, axis=1, keepdims=True)
    if "Cz" in info["ch_names"]:  # correct for heads with the nose somewhat up or down
        offsets = offsets @ _upright(offsets[info["ch_names"].index("Cz")])
    angle = np.arccos(np.clip(offsets[:, 2], -1, 1))
    flat = np.linalg.norm(offsets[:, :2], axis=1, keepdims=True)
    return (
        (EQUATOR * angle / (np.pi / 2))[:, None] * offsets[:, :2] / np.where(flat > 1e-9, flat, 1)
    )


def plot_head(
    info: mne.Info, ax: Axes | None = None, *, names: bool | Sequence[str] = False
) -> Axes:
    """Draw the outline of a head with its electrodes.

    Parameters
    ----------
    info : mne.Info
        Info with a montage.
    ax : Axes, optional
        Axes to draw on; the current ones by default.
    names : bool or names, default=False
        Write the names of all electrodes, or of some.

    Returns
    -------
    Axes
    """
    import matplotlib.pyplot as plt

    ax = plt.gca() if ax is None else ax
    positions = head_positions(info)
    turn = np.linspace(0, 2 * np.pi, 200)
    outline: dict[str, Any] = {"color": INK, "linewidth": 1.0, "zorder": 0}
    ax.plot(np.cos(turn), np.sin(turn), **outline)
    ax.plot([-0.12, 0, 0.12], [0.993, 1.14, 0.993], **outline)
    for side in (-1, 1):
        bend = np.linspace(-np.pi / 2, np.pi / 2, 30)
        ax.plot(side * (0.99 + 0.09 * np.cos(bend)), 0.18 * np.sin(bend) - 0.02, **outline)
    size = float(np.clip(500 / len(positions), 4, 30))
    ax.scatter(
        positions[:, 0],
        positions[:, 1],
        s=size,
        color="white",
        edgecolor=INK,
        linewidth=0.7,
        zorder=3,
    )
    wanted = set(info["ch_names"] if names is True else names or ())
    for (x, y), name in zip(positions, info["ch_names"]):
        if name in wanted:
            ax.annotate(
                name, (x, y), xytext=(0, 4), textcoords="offset points", ha="center",
                fontsize=5.5, color=INK, zorder=4,
            )  # fmt: skip
    ax.set_aspect("equal")
    reach = np.maximum([1.15, 1.18], np.abs(positions).max(axis=0) + 0.06)
    ax.set_xlim(-reach[0], reach[0])
    ax.set_ylim(-reach[1], reach[1])
    ax.set_axis_off()
    return ax


def plot_atoms_on_head(
    atoms: ArrayLike,
    info: mne.Info,
    axes: Sequence[Axes] | None = None,
    *,
    strongest: int = STRONGEST,
    share_scale: bool = False,
    titles: Sequence[str] | None = None,
    names: bool | Sequence[str] = False,
) -> list[Axes]:
    """Draw every atom as lines between electrodes; stronger edges are wider and darker.

    Width and darkness grow with the square root of the weight.

    Parameters
    ----------
    atoms : array (K, E) or (E,)
        Edge weights.
    info : mne.Info
        Info of the channels of the training signals, in their order, with a montage.
    axes : K Axes, optional
        Axes to draw on; a new figure by default.
    strongest : int, default=150
        Largest number of edges to draw of each atom; where there are more, the title says which
        share of the total weight is drawn.
    share_scale : bool, default=False
        One scale of widths for all atoms, instead of one for each.
    titles : K titles, optional
        "Atom 1", "Atom 2", ... by default.
    names : bool or names, default=False
        Write the names of all electrodes, or of some.

    Returns
    -------
    list of K Axes
    """
    import matplotlib.pyplot as plt

    from graphdict.core import graphs
    from graphdict.viz.drawing import COLOURS

    atoms = np.atleast_2d(np.asarray(atoms))
    nodes = len(info["ch_names"])
    if atoms.shape[1] != graphs.n_edges(nodes):
        raise ValueError(
            f"atoms have {atoms.shape[1]} edges, but {nodes} channels have "
            f"{graphs.n_edges(nodes)}; give the info of the channels the atoms were learned from"
        )
    if axes is None:
        columns = min(len(atoms), 4)
        lines = -(-len(atoms) // columns)
        _, grid = plt.subplots(
            lines, columns, figsize=(2.7 * columns, 3.0 * lines), squeeze=False,
            layout="constrained",
        )  # fmt: skip
        axes = list(grid.flat)
        for spare in axes[len(atoms) :]:
            spare.set_axis_off()
    axes = list(np.atleast_1d(np.asarray(axes, dtype=object)).flat)
    positions = head_positions(info)
    for k, (ax, weights) in enumerate(zip(axes, atoms)):
        top = float(atoms.max() if share_scale else weights.max()) or 1.0
        drawn = _draw_edges(ax, weights, positions, top, strongest, COLOURS[k % len(COLOURS)])
        plot_head(info, ax, names=names)
        title = titles[k] if titles is not None else f"Atom {k + 1}"
        if drawn < 0.995:
            title += f"\n{np.count_nonzero(weights > 1e-3 * weights.max())} edges, "
            title += f"the {strongest} shown carry {drawn:.0%}"
        ax.set_title(title, fontsize=8)
    return axes[: len(atoms)]


def _draw_edges(
    ax: Axes, weights: Floats, positions: Floats, top: float, strongest: int, colour: str
) -> float:
    """Draw the strongest edges; return their share of the total weight."""
    from matplotlib.collections import LineCollection
    from matplotlib.colors import to_rgba

    from graphdict.core import graphs

    rows, cols = graphs.edge_index(len(positions))
    order = np.argsort(weights)[-strongest:]
    shown = order[weights[order] > 1e-3 * top]
    # The square root, since edges of the nearest electrodes are far stronger than all others.
    strength = np.sqrt(np.clip(weights[shown] / top, 0, 1))
    segments = np.stack([positions[rows[shown]], positions[cols[shown]]], axis=1)
    lines = LineCollection(
        list(segments),
        colors=[to_rgba(colour, 0.12 + 0.88 * level) for level in strength],
        linewidths=0.3 + 3.2 * strength,
        capstyle="round",
        zorder=2,
    )
    ax.add_collection(lines)
    return float(weights[shown].sum() / (weights.sum() or 1.0)) if weights.any() else 1.0


def _upright(vertex: Floats) -> Floats:
    """Return the rotation (3, 3) of row vectors about the ears' axis with the vertex on top."""
    tilt = np.arctan2(vertex[1], vertex[2])
    cosine, sine = np.cos(tilt), np.sin(tilt)
    return np.array([[1, 0, 0], [0, cosine, sine], [0, -sine, cosine]])


def _centre(points: Floats) -> Floats:
    """Return the centre (3,) of the sphere fitted to electrodes (N, 3); zero for few of them."""
    if len(points) < 8:
        return np.zeros(3)
    # |p|^2 = 2 p.c + (r^2 - |c|^2) is linear in the centre c.
    system = np.column_stack((2 * points, np.ones(len(points))))
    solution, _, rank, _ = np.linalg.lstsq(system, np.square(points).sum(axis=1), rcond=None)
    return solution[:3] if rank == 4 else np.zeros(3)
