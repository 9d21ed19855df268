"""Collect the content of the report: atoms, nodes, coefficients, settings, history, remarks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict import __version__
from graphdict.core import graphs
from graphdict.core.annotations import Booleans, Floats, Integers
from graphdict.core.spacing import spacing
from graphdict.results import thresholded_atoms
from graphdict.selection.findings import describe_findings
from graphdict.viz.report.communities import communities
from graphdict.viz.report.encode import packed, windows
from graphdict.viz.report.layout import node_layout
from graphdict.viz.report.recordings import describe_recordings, several_recordings

MOST_EDGES = 600_000
"""Largest number of edges of all atoms together in a report (4.8 MB)."""


def describe(
    model: Any,
    coefficients: Floats,
    *,
    own: bool = True,
    silent: Booleans | None = None,
    times: NDArray[Any] | None = None,
    time_unit: str = "samples",
    positions: Any = None,
    source: str | None = None,
    title: str | None = None,
    findings: Sequence[str] = (),
    remarks: Sequence[str] = (),
    min_confidence: float = 0.5,
) -> dict[str, Any]:
    """Return the content of the report as a dict for JSON; arguments as for `write_report`.

    ``own`` is whether the coefficients are those of the samples that the model was fitted to.
    """
    present = np.asarray(thresholded_atoms(model, min_confidence), dtype=np.float64)
    names = [str(name) for name in model.node_names]
    points, layout, about_nodes = node_layout(present, names, positions)
    several = several_recordings(model, len(coefficients)) if own else None
    starts = None if several is None else several.starts
    timeline, about_time = _timeline(coefficients, silent, times, time_unit, starts)
    described, about_atoms = _atoms(model, present, coefficients)
    active = np.asarray(getattr(model, "active_nodes_", np.ones(len(names))), dtype=bool)
    constant = np.flatnonzero(~active)
    if len(constant):
        which = ", ".join(names[i] for i in constant[:10]) + ", ..." * (len(constant) > 10)
        about_nodes.append(f"Nodes that never vary, and so have no edges: {which}")
    return {
        "title": title or (f"Graph dictionary of {source}" if source else "Graph dictionary"),
        "source": source,
        "model": type(model).__name__,
        "version": __version__,
        "samples": len(coefficients),
        "pairs": graphs.n_edges(len(names)),
        "nodes": {
            "names": names,
            "x": packed(points[:, 0], "f4"),
            "y": packed(points[:, 1], "f4"),
            "layout": layout,
        },
        "atoms": described,
        "time": timeline,
        "recordings": None if several is None else describe_recordings(several, coefficients),
        "averaged": hasattr(model, "edge_probabilities_"),
        "least": _least_probability(model),
        "settings": [[name, _shown(value)] for name, value in model.get_params(deep=False).items()],
        "results": _results(model),
        "history": _history(getattr(model, "history_", {})),
        "findings": list(findings) or _findings(model, times, min_confidence),
        "remarks": [*remarks, *about_time, *about_atoms, *about_nodes],
    }


def _findings(model: Any, times: NDArray[Any] | None, min_confidence: float) -> list[str]:
    """Return what was found, as far as a model says that has its training samples."""
    if getattr(model, "coefficients_", None) is None:
        return []
    given = times if times is not None and len(times) == len(model.coefficients_) else None
    return describe_findings(model, times=given, min_confidence=min_confidence)


def _atoms(
    model: Any, thresholded: Floats, coefficients: Floats
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return a dict for each atom (edges, degrees, communities, use), and remarks.

    Averaged atoms have all edges with their probabilities, since some are present only in samples
    with several active atoms; all other numbers are of the ``thresholded`` atoms (K, E).
    """
    atoms = np.asarray(model.atoms_, dtype=np.float64)
    probabilities = getattr(model, "edge_probabilities_", None)
    most = max(MOST_EDGES // len(atoms), 1)
    mean = coefficients.mean(axis=0, dtype=np.float64)
    often = (coefficients >= 0.5).mean(axis=0)
    described, cut = [], 0
    for k, (weights, present, degree) in enumerate(
        zip(atoms, thresholded, graphs.degrees(np.abs(thresholded)))
    ):
        edges = np.flatnonzero(present if probabilities is None else weights)
        if len(edges) > most:
            cut += 1
            strongest = np.lexsort((-np.abs(weights[edges]), present[edges] == 0))
            edges = np.sort(edges[strongest[:most]])
        described.append(
            {
                "edges": packed(edges, "u4"),
                "weights": packed(weights[edges], "f4"),
                "probabilities": (
                    None if probabilities is None else packed(probabilities[k, edges], "f4")
                ),
                "joined": int(np.count_nonzero(present)),
                "learned": int(np.count_nonzero(weights)),
                "degree": packed(degree, "f4"),
                "community": communities(np.maximum(present, 0)).tolist(),
                "mean": float(mean[k]),
                "often": float(often[k]),
            }
        )
    return described, _about_atoms(model, thresholded, cut, most)


def _about_atoms(model: Any, thresholded: Floats, cut: int, most: int) -> list[str]:
    """Return remarks on edges: averaged or negative ones, and those that ``cut`` atoms lack."""
    remarks = []
    if hasattr(model, "edge_probabilities_"):
        least = _least_probability(model)
        shown = f"edges less probable than {least:.3g} are left out" if least else "all are shown"
        remarks.append(
            f"Atoms are averages over their posterior: {shown}. Point at an edge for its "
            "probability."
        )
    if (thresholded < 0).any():
        remarks.append(
            "Dashed red edges are negative: the two nodes vary against one another beyond what the "
            "others explain. Communities are those of positive edges, and degrees count both."
        )
    if cut:
        remarks.append(
            f"{cut} of {len(thresholded)} atoms have more edges than this page can hold; it has "
            f"the strongest {most:,} of each."
        )
    return remarks


def _timeline(
    coefficients: Floats,
    silent: Booleans | None,
    times: NDArray[Any] | None,
    unit: str,
    starts: Integers | None = None,
) -> tuple[dict[str, Any], list[str]]:
    """Return coefficients and silent nodes by sample, or by window of many samples; and remarks.

    Windows cross neither gaps in time nor ``starts``, the first samples (R,) of recordings.
    """
    samples = len(coefficients)
    remarks = []
    if times is not None and (times[1:] < times[:-1]).any():
        why = "The times are not in order" if starts is None else "Each recording has its own times"
        remarks.append(f"{why}, so samples are counted instead.")
        times = None
    kind = "index" if times is None else "date" if times.dtype.kind == "M" else "number"
    clock = np.arange(samples, dtype=np.float64)
    if times is not None:
        clock = times.astype("datetime64[us]").astype(np.int64) / 1e3 if kind == "date" else times
    found = spacing(np.diff(clock))
    step, gap = (1.0, np.finfo(np.float64).max) if found is None else (found.step, found.gap)
    shown = windows(coefficients, np.flatnonzero(np.diff(clock) > gap) + 1, firm=starts)
    last = np.append(shown.start[1:], samples) - 1
    even = len(shown.start) == -(-samples // shown.size)
    if shown.size > 1:
        remarks.append(
            f"The {samples:,} samples are shown as {len(shown.start):,} windows of "
            f"{'' if even else 'up to '}{shown.size:,} consecutive samples. Lines and graphs are "
            "means of a window; the pale bands run from its smallest to its largest value."
        )
    if silent is not None:
        silent = np.logical_and.reduceat(silent, shown.start, axis=0)
        where = "samples in" if shown.size == 1 else "windows throughout"
        remarks.append(f"Nodes have no edges in {where} which they are exactly silent.")
    timeline = {
        "kind": kind,
        "unit": unit,
        "step": step,
        "gap": gap,
        "size": shown.size,
        "even": even,
        "points": len(shown.start),
        "start": packed(shown.start, "u4") if shown.size > 1 else None,
        "first": None if times is None else packed(clock[shown.start], "f8"),
        "last": None if times is None or shown.size == 1 else packed(clock[last], "f8"),
        "mean": packed(shown.mean, "f4"),
        "low": None if shown.low is None else packed(shown.low, "f4"),
        "high": None if shown.high is None else packed(shown.high, "f4"),
        "silent": None if silent is None else packed(np.packbits(silent, bitorder="little"), "u1"),
    }
    return timeline, remarks


def _least_probability(model: Any) -> float:
    """Return the probability below which the model leaves out an atom, or an averaged edge."""
    return float(getattr(model, "_least_probability", 0.0))


def _results(model: Any) -> list[list[str]]:
    """Return labels and values of fitted numbers."""
    labels = {
        "n_iter_": "iterations",
        "objective_": "objective",
        "log_likelihood_": "log-likelihood of a training sample",
        "stay_probability_": "probability to stay in a state",
        "filter_": "filter",
        "filter_power_": "power of the Laplacian",
        "tails_": "degrees of freedom of the tails",
        "scale_": "signals were divided by",
    }
    found = [(label, getattr(model, name, None)) for name, label in labels.items()]
    return [[label, _shown(value)] for label, value in found if value is not None]


def _shown(value: Any) -> str:
    """Return a setting as short text."""
    if isinstance(value, (float, np.floating)):
        return f"{value:.6g}"
    if isinstance(value, (bool, int, np.integer, str)) or value is None:
        return str(value)
    if hasattr(value, "__array__"):
        return f"array of shape {np.shape(value)}"
    if callable(value):
        return getattr(value, "__name__", type(value).__name__)
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _history(history: Any) -> dict[str, list[float | None]]:
    """Return objective and residual by iteration; None where a value is not finite."""
    series = {}
    for name in ("iteration", "objective", "residual"):
        values = np.asarray(history.get(name, []) if history else [], dtype=float).ravel()
        series[name] = [float(v) if np.isfinite(v) else None for v in values]
    if len(series["iteration"]) != len(series["objective"]):
        series["iteration"] = [float(i + 1) for i in range(len(series["objective"]))]
    return series
