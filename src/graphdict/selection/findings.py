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
YEAR = 31557600.0
SECONDS = (
    (2 * YEAR, YEAR, "years"), (86400.0, 86400.0, "days"), (3600.0, 3600.0, "hours"),
    (60.0, 60.0, "minutes"), (1.0, 1.0, "seconds"),
)  # fmt: skip
MONTHS = "January February March April May June July August September October November December"
LARGEST_GAIN = 20.0  # nats of which odds are told
PLAIN = 1.05  # powers up to which are 1
SAME_STRENGTH = 1.15  # ratio of the weights of two atoms up to which they are as strong
MORE = 1.25  # times its share in other atoms that an edge has at least where it is unlike them
STRONGER = 1.5  # times the weight of other atoms, from which on that is said
LONG_DAYS = 14  # of a series, from which on hours are not said
CORE, SHORT = 0.8, 0.5  # of an atom's samples lie in so much of the time: that is when it holds
YEARS_OF_SEASONS = 2  # that a series lasts at least: what happens once is no season
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
        tested = "" if count == 1 else "; whether one would do as well was not tested"
        return f"{_graphs(count)} learned, as asked for{tested}."
    if count == 1 and not evidence.clear:
        return f"One graph. {evidence.in_words()}"
    if not evidence.clear:
        return f"{_graphs(count)} learned, though one would do. {evidence.in_words()}"
    odds = np.exp(min(evidence.gain, LARGEST_GAIN))
    return f"{evidence.in_words()} That makes a held-out sample {_roughly(odds)} times as probable."


def _graphs(count: int) -> str:
    return "1 graph was" if count == 1 else f"{count} graphs were"


def _copies(model: Any, evidence: Evidence | None) -> list[str]:
    pairs = getattr(model, "alike_atoms_", None) or []
    if not pairs:
        return []
    if evidence is None or not evidence.clear:
        named = ", ".join(f"{i + 1} and {j + 1}" for i, j in pairs[:NAMED])
        return [f"Atoms {named} are the same graph up to a factor: fewer atoms would do."]
    sums = np.abs(np.asarray(model.atoms_, dtype=np.float64)).sum(axis=1)
    return [_alike(i, j, float(sums[j] / sums[i])) for i, j in pairs[:NAMED]]


def _alike(first: int, second: int, ratio: float) -> str:
    """Return how two atoms differ that join the same pairs, by the ratio of their strengths."""
    said = f"Atoms {first + 1} and {second + 1} join nearly the same pairs in the same proportions"
    strong, weak = (second, first) if ratio > 1 else (first, second)
    ratio = max(ratio, 1 / ratio)
    if ratio < SAME_STRENGTH:
        return f"{said}, equally strongly: only edges of little weight tell them apart."
    return (
        f"{said}: what tells them apart is mostly how strongly, {ratio:.2g} times in atom "
        f"{strong + 1} what it is in atom {weak + 1}."
    )


def _atoms(
    model: Any, times: NDArray[Any] | None, step: float | None, min_confidence: float
) -> list[str]:
    """Return a sentence for each atom: when it holds, for how long, what sets it apart."""
    coefficients = np.asarray(model.coefficients_)
    atoms = np.asarray(thresholded_atoms(model, min_confidence), dtype=np.float64)
    learned = np.count_nonzero(model.atoms_, axis=1) > 0
    sums = np.abs(atoms).sum(axis=1)
    shares = atoms / np.where(sums > 0, sums, 1)[:, None]
    said = []
    for k in range(min(len(atoms), MOST_ATOMS)):
        edges = int(np.count_nonzero(atoms[k]))
        joined = f"{edges} edge{'s' * (edges != 1)}"
        if negative := int(np.count_nonzero(atoms[k] < 0)):
            joined += f", {negative} of them negative"
        if len(atoms) == 1:
            heaviest = f", the heaviest {_named(model, atoms[0])}" if edges else ""
            said.append(f"The graph has {joined if edges else _none(learned[0])}{heaviest}.")
            continue
        sentence = f"Atom {k + 1} ({joined}{_strength(sums, k)}) holds in "
        sentence += f"{float(coefficients[:, k].mean()):.0%} of samples"
        stay = _usual_stay(coefficients[:, k] >= ACTIVE)
        if stay > 1:
            sentence += f", for about {_duration(stay, step)} at a time"
        sentence += _when(coefficients[:, k], times)
        if coefficients[:, k].sum() < 1:
            said.append(f"Atom {k + 1} is used by no sample: one atom fewer would do.")
            continue
        others = shares[(sums > 0) & (np.arange(len(sums)) != k)]
        apart = shares[k] - others.mean(axis=0) if len(others) else shares[k]
        apart[shares[k] < MORE * (shares[k] - apart)] = 0  # heavy edges differ a little everywhere
        if not edges:
            sentence += f"; it has {_none(learned[k])}"
        elif (apart > 0).any():
            sentence += f"; most unlike the others are {_named(model, np.maximum(apart, 0))}"
        elif len(others):
            sentence += "; none of its edges has a larger share of the weight than in the others"
        said.append(sentence + ".")
    if len(atoms) > MOST_ATOMS:
        said.append(f"And {len(atoms) - MOST_ATOMS} more atoms.")
    return said


def _named(model: Any, weights: NDArray[np.float64]) -> str:
    """Return the pairs of the largest weights (E,), of either sign, by their names."""
    rows, cols = graphs.edge_index(graphs.n_nodes(len(weights)))
    order = np.argsort(np.abs(weights))[::-1][:NAMED]
    names = model.node_names
    return _listed([f"{names[rows[e]]} - {names[cols[e]]}" for e in order if weights[e] != 0])


def _listed(words: list[str]) -> str:
    """Return words with commas, and the last with "and"."""
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


def _none(learned: bool) -> str:
    """Return why an atom has no edges to speak of."""
    if not learned:
        return "no edges"
    return "no edge that is sure: too few samples that do not repeat one another tell of it"


def _strength(sums: NDArray[np.float64], k: int) -> str:
    """Return how heavy the edges of an atom are beside the others', where that is unlike."""
    others = np.delete(sums, k)
    usual = float(others[others > 0].mean()) if others.any() else 0.0
    if usual <= 0 or not sums[k] or 1 / STRONGER < sums[k] / usual < STRONGER:
        return ""
    ratio = sums[k] / usual
    return f", {ratio:.2g} times the weight of the others"


def _usual_stay(active: NDArray[np.bool_]) -> float:
    """Return the length of the stay in which half of an atom's samples lie, or a longer one."""
    ends = np.flatnonzero(np.diff(np.concatenate([[0], active.astype(np.int8), [0]])))
    lengths = np.sort(ends[1::2] - ends[::2])
    if not len(lengths):
        return 0.0
    total = np.cumsum(lengths)
    return float(lengths[np.searchsorted(total, total[-1] / 2)])


def _duration(samples: float, step: float | None) -> str:
    if step is None:
        return f"{_roughly(samples)} samples"
    seconds = samples * step
    for least, length, name in SECONDS:
        if seconds >= least:
            count = _roughly(seconds / length)
            return f"{count} {name if count != '1' else name[:-1]}"
    return f"{seconds:.2g} seconds"


def _roughly(value: float) -> str:
    """Return a number to two digits, without powers of ten."""
    return f"{float(f'{value:.2g}'):,.6g}"


def _when(coefficients: NDArray[Any], times: NDArray[Any] | None) -> str:
    """Return when an atom holds, by months, or by the longest time that it does."""
    if times is None:
        return ""
    times = np.asarray(times)
    if times.dtype.kind == "M":
        months = times.astype("datetime64[M]").astype(int) % 12
        long = times.max() - times.min() > np.timedelta64(365 * YEARS_OF_SEASONS, "D")
        if long and len(np.unique(months)) == 12:
            means = np.array([coefficients[months == month].mean() for month in range(12)])
            if means.max() - means.min() > SEASONAL:
                high = np.flatnonzero(means > (means.max() + means.min()) / 2)
                return f", mostly in {_months(high)}"
    return _period(coefficients, times)


def _period(coefficients: NDArray[Any], times: NDArray[Any]) -> str:
    """Return from when to when an atom holds, where that is not nearly always."""
    total = np.cumsum(coefficients, dtype=np.float64)
    if times.dtype.kind != "M" or not total[-1] > 0 or (times[1:] < times[:-1]).any():
        return ""
    outside = (1 - CORE) / 2 * total[-1]
    first, last = np.searchsorted(total, [outside, total[-1] - outside])
    start, end = times[first], times[min(last, len(times) - 1)]
    if not (end - start) < SHORT * (times[-1] - times[0]):
        return ""
    long = times[-1] - times[0] > np.timedelta64(LONG_DAYS, "D")
    unit = "D" if long else "m"
    shown = [str(t.astype(f"datetime64[{unit}]")).replace("T", " ") for t in (start, end)]
    return f", mostly from {shown[0]} to {shown[1]}"


def _months(which: NDArray[np.intp]) -> str:
    """Return months by name, as a span where they follow one another round the year."""
    names = MONTHS.split()
    inside = np.zeros(12, dtype=bool)
    inside[which] = True
    starts = [month for month in which if not inside[month - 1]]
    if len(which) > 1 and len(starts) == 1:
        return f"{names[starts[0]]} to {names[(starts[0] + len(which) - 1) % 12]}"
    return _listed([names[month] for month in which])


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
        "What not to conclude: an edge says that two nodes vary together beyond what the others "
        "explain, not that one drives the other, and nodes without an edge may still vary "
        "together by way of others."
    )
    return said
