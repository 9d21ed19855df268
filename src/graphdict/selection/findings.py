"""What was found, in sentences: how many graphs, when each holds, what sets it apart, how sure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from graphdict.core import graphs
from graphdict.results import describe_signals, thresholded_atoms

if TYPE_CHECKING:  # pragma: no cover
    from graphdict.models.base import GraphDictionary
    from graphdict.selection.one_graph import Evidence
    from graphdict.selection.stability import Stability

__all__ = ["describe_findings"]

ACTIVE = 0.5  # coefficient from which on an atom counts as active
MOST_ATOMS = 12  # of which sentences speak
NAMED = 3  # edges, columns or months that a sentence names
SAMPLES_FOR_WEIGHT = 2  # for each weight of each atom: with fewer they are too few
SECONDS = ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes"), (1.0, "seconds"))
MONTHS = "January February March April May June July August September October November December"
PLAIN = 1.05  # powers up to which are 1
SEASONAL = 0.25  # by how much the mean coefficient of months differs, from which on they are named


def describe_findings(
    model: GraphDictionary,
    *,
    evidence: Evidence | None = None,
    stability: Stability | None = None,
    times: NDArray[Any] | None = None,
    step: float | None = None,
    min_confidence: float = 0.5,
) -> list[str]:
    """Say in sentences what a fitted dictionary found.

    Parameters
    ----------
    model : fitted graph dictionary
        With the coefficients of its training samples.
    evidence : Evidence, optional
        Of :func:`graphdict.selection.evidence`.
    stability : Stability, optional
        Of :func:`graphdict.selection.stability`.
    times : array (T,), optional
        Times of the samples, numbers or datetimes.
    step : float, optional
        Seconds between samples.
    min_confidence : float, default=0.5
        Least confidence of an edge that counts.

    Returns
    -------
    list of str
        The most important sentence first.
    """
    said = [_how_many(model, evidence)]
    said += _copies(model, evidence)
    said += _atoms(model, times, step, min_confidence)
    if stability is not None:
        said.append(_again(stability))
    said += describe_signals(model)
    said += _caution(model, min_confidence)
    return said


def _how_many(model: Any, evidence: Evidence | None) -> str:
    count = len(model.atoms_)
    if evidence is None:
        return f"{_graphs(count)} learned; whether that is more than one was not asked."
    if count == 1 and not evidence.clear:
        return f"One graph. {evidence.in_words()}"
    if not evidence.clear:
        return f"{_graphs(count)} learned, though one would do. {evidence.in_words()}"
    return evidence.in_words()


def _graphs(count: int) -> str:
    return "1 graph was" if count == 1 else f"{count} graphs were"


def _copies(model: Any, evidence: Evidence | None) -> list[str]:
    pairs = getattr(model, "alike_atoms_", None) or []
    if not pairs:
        return []
    named = ", ".join(f"{i + 1} and {j + 1}" for i, j in pairs[:NAMED])
    if evidence is not None and evidence.clear:
        return [f"Atoms {named} differ in strength and in little else (cosine above 0.99)."]
    return [f"Atoms {named} are the same graph up to a factor: fewer atoms would do."]


def _atoms(
    model: Any, times: NDArray[Any] | None, step: float | None, min_confidence: float
) -> list[str]:
    """Return a sentence for each atom: when it holds, for how long, what sets it apart."""
    coefficients = np.asarray(model.coefficients_)
    atoms = np.asarray(thresholded_atoms(model, min_confidence), dtype=np.float64)
    said = []
    for k in range(min(len(atoms), MOST_ATOMS)):
        edges = int(np.count_nonzero(atoms[k]))
        joined = f"{edges} edge{'s' * (edges != 1)}"
        if negative := int(np.count_nonzero(atoms[k] < 0)):
            joined += f", {negative} of them negative"
        if len(atoms) == 1:
            said.append(f"The graph has {joined}, the strongest {_named(model, atoms[0])}.")
            continue
        active = coefficients[:, k] >= ACTIVE
        share = float(coefficients[:, k].mean())
        sentence = f"Atom {k + 1} ({joined}) holds in {share:.0%} of samples"
        lengths = _run_lengths(active)
        if len(lengths) and np.median(lengths) > 1:
            sentence += f", for {_duration(float(np.median(lengths)), step)} at a time"
        sentence += _when(coefficients[:, k], times)
        apart = atoms[k] - np.delete(atoms, k, axis=0).mean(axis=0)
        if edges and (apart > 0).any():
            sentence += f"; what sets it apart most is {_named(model, np.maximum(apart, 0))}"
        said.append(sentence + ".")
    if len(atoms) > MOST_ATOMS:
        said.append(f"And {len(atoms) - MOST_ATOMS} more atoms.")
    return said


def _named(model: Any, weights: NDArray[np.float64]) -> str:
    """Return the pairs of the largest weights (E,), of either sign, by their names."""
    rows, cols = graphs.edge_index(graphs.n_nodes(len(weights)))
    order = np.argsort(np.abs(weights))[::-1][:NAMED]
    names = model.node_names
    pairs = [f"{names[rows[e]]} - {names[cols[e]]}" for e in order if weights[e] != 0]
    return ", ".join(pairs) if pairs else "none that is sure"


def _run_lengths(active: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return how many samples each stay lasts."""
    ends = np.flatnonzero(np.diff(np.concatenate([[0], active.astype(np.int8), [0]])))
    return ends[1::2] - ends[::2]


def _duration(samples: float, step: float | None) -> str:
    if step is None:
        return f"{samples:.3g} samples"
    seconds = samples * step
    for length, name in SECONDS:
        if seconds >= length:
            return f"{seconds / length:.3g} {name}"
    return f"{seconds:.2g} seconds"


def _when(coefficients: NDArray[Any], times: NDArray[Any] | None) -> str:
    """Return when an atom holds, by months, or by the longest time that it does."""
    if times is None:
        return ""
    times = np.asarray(times)
    if times.dtype.kind == "M":
        months = times.astype("datetime64[M]").astype(int) % 12
        if len(np.unique(months)) == 12:
            means = np.array([coefficients[months == month].mean() for month in range(12)])
            if means.max() - means.min() > SEASONAL:
                high = np.flatnonzero(means > (means.max() + means.min()) / 2)
                return f", mostly in {_months(high)}"
    return ""


def _months(which: NDArray[np.intp]) -> str:
    """Return months by name, as a span where they follow one another round the year."""
    names = MONTHS.split()
    inside = np.zeros(12, dtype=bool)
    inside[which] = True
    starts = [month for month in which if not inside[month - 1]]
    if len(which) > 1 and len(starts) == 1:
        return f"{names[starts[0]]} to {names[(starts[0] + len(which) - 1) % 12]}"
    return ", ".join(names[month] for month in which)


def _again(stability: Stability) -> str:
    again = stability.again
    worst = np.minimum(stability.halves.min(axis=0), stability.starts)
    if len(again) == 1:
        how = "comes out again" if again[0] else "does not come out again"
        return f"Learned from each half of the time alone, the graph {how} (cosine {worst[0]:.2f})."
    if again.all():
        return (
            "Learned again from each half of the time and from other starts, all atoms come out "
            f"again (cosine at least {worst.min():.2f})."
        )
    named = ", ".join(f"{k + 1} ({worst[k]:.2f})" for k in np.flatnonzero(~again)[:MOST_ATOMS])
    return (
        "Learned again from each half of the time and from other starts, these atoms do not come "
        f"out again (cosine below 0.8): {named}. Do not build on them."
    )


def _caution(model: Any, min_confidence: float) -> list[str]:
    """Return what not to conclude: negative dependence, few samples, and what an edge is."""
    said = []
    intervals = getattr(model, "edge_intervals_", None)
    # Under a filter the sign of a weight is known to first order only.
    power = getattr(model, "filter_power_", 1.0)
    plain = getattr(model, "filter_", "power") == "power" and power < PLAIN
    if intervals is not None and plain and not getattr(model, "signed", False):
        negative = (intervals[..., 1] < 0).any(axis=0)
        expected = 0.025 * len(intervals)  # by accident
        share = float(negative.mean())
        if share > max(2 * expected, 0.05):
            rows, cols = graphs.edge_index(graphs.n_nodes(len(negative)))
            often = np.bincount(np.concatenate([rows[negative], cols[negative]]))
            which = ", ".join(str(model.node_names[i]) for i in np.argsort(often)[::-1][:NAMED])
            said.append(
                f"{share:.0%} of pairs depend negatively on one another, which graphs of "
                f"nonnegative weights cannot show; most of all with {which}. signed=True learns "
                "graphs that can."
            )
    samples, (count, pairs) = len(model.coefficients_), np.shape(model.atoms_)
    nodes = graphs.n_nodes(pairs)
    if samples * (nodes - 1) < SAMPLES_FOR_WEIGHT * count * pairs:
        enough = -(-SAMPLES_FOR_WEIGHT * count * pairs // (nodes - 1))
        said.append(
            f"{samples} samples are few for {count} x {pairs} weights: {enough} or more would do, "
            "or fewer atoms."
        )
    said.append(
        "An edge means that two nodes vary together beyond what the others explain, not that one "
        "drives the other."
    )
    return said
