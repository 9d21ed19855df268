"""Positions of the nodes: given ones, or a layout without randomness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph
from scipy.sparse.linalg import eigsh
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from graphdict.core import graphs
from graphdict.core.annotations import Booleans, Floats

LARGEST_CIRCLE = 32
LARGEST_STRESS = 1500
STEPS = 150


def node_layout(
    atoms: Floats, names: Sequence[str], positions: Any = None
) -> tuple[Floats, str, list[str]]:
    """Return positions (N, 2) in [-1, 1], the kind of layout, and remarks.

    The layout is "given", "circle" for up to 32 nodes (neighbours close to each other), or "stress"
    (stress majorisation of the distances in the graph of all atoms).
    """
    if positions is not None:
        given = _given(positions, names)
        finite = np.asarray(np.isfinite(given).all(axis=1))
        if np.ptp(given[finite], axis=0).max(initial=0) > 0:
            lost = [name for name, known in zip(names, finite) if not known]
            remark = (
                [f"Drawn below the others, without a position: {', '.join(lost)}"] if lost else []
            )
            return _fit(_below(given, finite)), "given", remark
        remarks = ["Nodes have the same given position; a layout was computed instead."]
    else:
        remarks = []
    union = _union(atoms)
    if len(names) <= LARGEST_CIRCLE:
        return _circle(union), "circle", remarks
    return _fit(_stress(union)), "stress", remarks


def _given(positions: Any, names: Sequence[str]) -> Floats:
    """Return given positions (N, 2), NaN where a node has none."""
    nodes = len(names)
    if isinstance(positions, Mapping):
        known = {str(name): xy for name, xy in positions.items()}
        given = np.full((nodes, 2), np.nan)
        for i, name in enumerate(names):
            if name in known:
                given[i] = np.asarray(known[name], dtype=float)[:2]
        return given
    given = np.asarray(positions, dtype=float)
    if given.ndim != 2 or given.shape[0] != nodes or given.shape[1] < 2:
        raise ValueError(
            f"positions have shape {given.shape}; they need to be ({nodes}, 2), or a dict of "
            "name -> (x, y)"
        )
    return given[:, :2]


def _below(given: Floats, finite: Booleans) -> Floats:
    """Place nodes without a position in a row below the others."""
    placed = given.copy()
    low, high = given[finite].min(axis=0), given[finite].max(axis=0)
    size = max(*(high - low), 1e-12)
    missing = np.flatnonzero(~finite)
    along = (np.arange(len(missing)) + 0.5) / max(len(missing), 1) - 0.5
    placed[missing, 0] = (low[0] + high[0]) / 2 + along * size
    placed[missing, 1] = low[1] - 0.15 * size
    return placed


def _fit(points: Floats) -> Floats:
    """Scale points to [-1, 1], keeping proportions."""
    low, high = points.min(axis=0), points.max(axis=0)
    result: Floats = (points - (low + high) / 2) / (max(*(high - low), 1e-12) / 2)
    return result


def _union(atoms: Floats) -> Floats:
    """Return the adjacency (N, N) of the sum of all atoms, each scaled to maximum one."""
    atoms = np.abs(atoms)
    top = atoms.max(axis=1, keepdims=True)
    return graphs.adjacency((atoms / np.where(top > 0, top, 1)).sum(axis=0, dtype=np.float64))


def _circle(union: Floats) -> Floats:
    """Return points on a circle, ordered by the angle in the first two Laplacian eigenvectors."""
    nodes = len(union)
    order = np.arange(nodes)
    if nodes > 4 and union.any():
        modes = np.linalg.eigh(np.diag(union.sum(axis=1)) - union)[1][:, 1:3]
        modes = modes * np.sign(modes[np.abs(modes).argmax(axis=0), [0, 1]])
        order = np.argsort(np.round(np.arctan2(modes[:, 1], modes[:, 0]), 9), kind="stable")
        order = np.roll(order, -int(np.flatnonzero(order == 0)[0]))
    angle = np.empty(nodes)
    top = np.pi if nodes == 2 else np.pi / 2
    angle[order] = top - 2 * np.pi * np.arange(nodes) / nodes
    return np.column_stack([np.cos(angle), np.sin(angle)])


def _stress(union: Floats) -> Floats:
    """Return a layout by stress majorisation of hop distances over the strongest edges."""
    backbone = _backbone(union)
    if len(union) > LARGEST_STRESS:
        return _apart(_level(_modes(backbone)))
    distance = csgraph.shortest_path(backbone, directed=False, unweighted=True)
    longest = distance[np.isfinite(distance)].max()
    distance[~np.isfinite(distance)] = longest / 2 + 1  # components close to each other
    closeness = 1 / np.square(np.where(distance > 0, distance, np.inf))
    wanted = closeness * distance
    laplacian = np.diag(closeness.sum(axis=1)) - closeness
    inverse = np.linalg.pinv(laplacian, hermitian=True)
    points = _start(distance)
    for _ in range(min(STEPS, 30_000 // len(union))):
        ratio = wanted / np.maximum(cdist(points, points), 1e-9)
        points = inverse @ (ratio.sum(axis=1)[:, None] * points - ratio @ points)
    return _apart(_level(points))


def _modes(backbone: sparse.csr_array) -> Floats:
    """Return a spectral layout by the ranks of eigenvectors, for graphs too large for stress."""
    nodes = backbone.shape[0]
    links = sparse.csr_array(backbone + backbone.T)
    degree = np.asarray(links.sum(axis=1)).ravel() + 1e-3
    scale = sparse.dia_array((1 / np.sqrt(degree)[None], [0]), shape=(nodes, nodes))
    first = np.cos(np.arange(nodes) * (1 + np.sqrt(5)))  # a fixed, generic start
    modes = eigsh(scale @ links @ scale, k=3, which="LA", v0=first)[1][:, :2]
    modes = modes / np.sqrt(degree)[:, None]
    modes = modes * np.sign(modes[np.abs(modes).argmax(axis=0), [0, 1]])
    result: Floats = modes.argsort(axis=0, kind="stable").argsort(axis=0, kind="stable") / nodes
    return result


def _level(points: Floats) -> Floats:
    """Rotate points so that the drawing is wider than high."""
    points = points - points.mean(axis=0)
    axes = np.linalg.svd(points, full_matrices=False)[2]
    result: Floats = points @ (axes * np.sign(axes[[0, 1], np.abs(axes).argmax(axis=1)])[:, None]).T
    return result


def _apart(points: Floats) -> Floats:
    """Move nodes apart that are closer than about half the distance of an even spread."""
    least = 0.55 * np.sqrt(np.prod(np.ptp(points, axis=0)) / len(points))
    for _ in range(STEPS):
        pairs = cKDTree(points).query_pairs(least, output_type="ndarray")
        if len(pairs) == 0:
            break
        between = points[pairs[:, 0]] - points[pairs[:, 1]]
        apart = np.linalg.norm(between, axis=1, keepdims=True)
        push = 0.3 * np.clip(least - apart, 0, None) / np.maximum(apart, 1e-9) * between
        points = points.copy()
        np.add.at(points, pairs[:, 0], push)
        np.add.at(points, pairs[:, 1], -push)
    return points


def _start(distance: Floats) -> Floats:
    """Return classical scaling plus a small spiral, so that no two nodes coincide."""
    nodes = len(distance)
    centre = np.eye(nodes) - 1 / nodes
    values, modes = np.linalg.eigh(-0.5 * centre @ np.square(distance) @ centre)
    modes = modes[:, -2:] * np.sign(modes[np.abs(modes[:, -2:]).argmax(axis=0), [-2, -1]])
    turn = np.arange(nodes) * np.pi * (3 - np.sqrt(5))
    spiral = np.sqrt(np.arange(nodes) / nodes)[:, None] * np.column_stack(
        [np.cos(turn), np.sin(turn)]
    )
    result: Floats = modes * np.sqrt(np.maximum(values[-2:], 0)) + 0.3 * spiral
    return result


def _backbone(union: Floats) -> sparse.csr_array:
    """Return the strongest edges, three per node, and a spanning tree to keep nodes connected."""
    nodes = len(union)
    rows, cols = graphs.edge_index(nodes)
    weights = union[rows, cols]
    strongest = np.argsort(-weights, kind="stable")[: 3 * nodes]
    strongest = strongest[weights[strongest] > 0]
    kept = np.zeros_like(union)
    kept[rows[strongest], cols[strongest]] = 1
    lengths = sparse.csr_array(np.where(union > 0, 1 / np.where(union > 0, union, 1), 0))
    tree = csgraph.minimum_spanning_tree(lengths).toarray() > 0
    return sparse.csr_array(np.maximum(kept, tree))
