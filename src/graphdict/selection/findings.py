"""What was found, in sentences: how many graphs, when each holds, what sets it apart, how sure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from graphdict.core import graphs
from graphdict.core.annotations import Booleans, Floats, Integers
from graphdict.engine.marginal.redundant import are_one_graph
from graphdict.results import thresholded_atoms
from graphdict.selection.signal_sentences import describe_signals
from graphdict.selection.when import (
    described_duration,
    described_times,
    listed,
    rounded,
    usual_stay,
)

if TYPE_CHECKING:  # pragma: no cover
    from graphdict.models.base import GraphDictionary
    from graphdict.selection.one_graph import Evidence
    from graphdict.selection.stability import Stability

ACTIVE = 0.5  # coefficient from which on an atom counts as active
MOST_ATOMS = 12  # of which sentences speak
NAMED = 3  # edges, columns or months that a sentence names
SAMPLES_FOR_WEIGHT = 2  # for each weight of each atom: with fewer they are too few
LARGEST_GAIN, LITTLE_ODDS = 20.0, 1.1  # nats of which odds are told, and odds that are not much
PLAIN = 1.05  # powers up to which are 1
SAME_STRENGTH = 1.15  # ratio of the weights of two atoms up to which they are as strong
MORE = 1.25  # times its share in other atoms that an edge has at least where it is unlike them
SAME_TIMES = 0.5  # correlation of coefficients learned again from which on they are the same
STRONGER = 1.5  # times the weight of other atoms, from which on that is said


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
    said = [_sentence_on_number(model, evidence)]
    said += _sentences_on_copies(model, evidence)
    clear = evidence is not None and evidence.clear
    copies = not clear and [len(group) for group in _groups_of_copies(model)] == [len(model.atoms_)]
    if copies:
        said.append(_sentence_on_one_graph(model, min_confidence))
    else:
        said += _sentences_on_atoms(model, times, step, min_confidence)
    if stability is not None:
        said.append(_sentence_on_stability(stability, copies))
    said += describe_signals(model)
    said += _sentences_of_caution(model, min_confidence)
    return said


def _sentence_on_number(model: Any, evidence: Evidence | None) -> str:
    """Return how many graphs were learned, and how sure it is that there are several."""
    count = len(model.atoms_)
    if are_one_graph(model.atoms_):
        said = f"One graph was learned: all {count} atoms are this graph."
        return said if evidence is None else f"{said} {evidence.in_words()}"
    if evidence is None:
        tested = "" if count == 1 else ", as asked for; whether one would do as well was not tested"
        return f"{_count_in_words(count)} learned{tested}."
    if count == 1 and not evidence.clear:
        return f"One graph. {evidence.in_words()}"
    if not evidence.clear:
        return f"{_count_in_words(count)} learned, though one would do. {evidence.in_words()}"
    odds = np.exp(min(evidence.gain, LARGEST_GAIN))
    more = f"only {odds - 1:.1%} more" if odds < LITTLE_ODDS else f"{rounded(odds)} times as"
    return f"{evidence.in_words()} That makes a held-out sample {more} probable."


def _count_in_words(count: int) -> str:
    """Return a number of graphs with its verb."""
    return "1 graph was" if count == 1 else f"{count} graphs were"


def _sentences_on_copies(model: Any, evidence: Evidence | None) -> list[str]:
    """Return which atoms are nearly the same graph, and what tells them apart all the same."""
    said = []
    for group in [] if are_one_graph(model.atoms_) else _groups_of_copies(model):
        which = f"Atoms {listed([str(k + 1) for k in group])}"
        if evidence is None or not evidence.clear:
            said.append(f"{which} are the same graph up to a factor: fewer atoms would do.")
            continue
        atoms = np.abs(np.asarray(model.atoms_, dtype=np.float64)[group])
        heaviest = _heaviest_pairs(model, atoms.mean(axis=0))
        sums = atoms.sum(axis=1)
        ratio = float(sums.max() / sums.min())
        apart = "lighter edges set them apart"
        if ratio >= SAME_STRENGTH:
            strong, weak = group[int(sums.argmax())], group[int(sums.argmin())]
            apart = (
                f"mostly strength sets them apart, edges of atom {strong + 1} being {ratio:.2g} "
                f"times as heavy as those of atom {weak + 1}"
            )
        said.append(f"{which} have the same heavy edges, such as {heaviest}: {apart}.")
    return said[:NAMED]


def _groups_of_copies(model: Any) -> list[list[int]]:
    """Return groups of atoms that are nearly the same graph up to a factor."""
    groups: list[set[int]] = []
    for pair in getattr(model, "alike_atoms_", None) or []:
        joined = [group for group in groups if group & set(pair)]
        groups = [group for group in groups if group not in joined]
        groups.append(set(pair).union(*joined))
    return [sorted(group) for group in groups]


def _sentences_on_atoms(
    model: Any, times: NDArray[Any] | None, step: float | None, min_confidence: float
) -> list[str]:
    """Return a sentence for each atom: when it holds, for how long, what sets it apart."""
    coefficients = np.asarray(model.coefficients_)
    atoms = np.asarray(thresholded_atoms(model, min_confidence), dtype=np.float64)
    if len(atoms) == 1:
        return [_sentence_on_one_graph(model, min_confidence)]
    learned = np.count_nonzero(model.atoms_, axis=1) > 0
    sums = np.abs(atoms).sum(axis=1)
    shares = atoms / np.where(sums > 0, sums, 1)[:, None]
    rest = "other" if len(atoms) == 2 else "others"
    said = []
    for k in range(min(len(atoms), MOST_ATOMS)):
        edges = int(np.count_nonzero(atoms[k]))
        sentence = (
            f"Atom {k + 1} ({_edges_in_words(atoms[k])}{_weight_in_words(sums, k)}) holds in "
        )
        sentence += f"{float(coefficients[:, k].mean()):.0%} of samples"
        stay = usual_stay(coefficients[:, k] >= ACTIVE)
        if stay > 1:
            sentence += f", for about {described_duration(stay, step)} at a time"
        sentence += described_times(coefficients[:, k], times)
        if coefficients[:, k].sum() < 1:
            said.append(f"Atom {k + 1} is used by no sample: one atom fewer would do.")
            continue
        others = np.flatnonzero((sums > 0) & (np.arange(len(sums)) != k))
        apart = shares[k] - shares[others].mean(axis=0) if len(others) else shares[k]
        apart[shares[k] < MORE * (shares[k] - apart)] = 0  # heavy edges differ a little everywhere
        if not edges:
            sentence += f"; it has {_lack_in_words(learned[k])}"
        elif not len(others):
            sentence += f"; the heaviest are {_heaviest_pairs(model, atoms[k])}"
        else:
            apart = np.where(_surely_heavier(model, sums, k, others), np.maximum(apart, 0), 0)
            sentence += (
                f"; more of its weight than in the {rest} is on {_heaviest_pairs(model, apart)}"
                if apart.any()
                else f"; no edge clearly has more of its weight than in the {rest}"
            )
        said.append(sentence + ".")
    if len(atoms) > MOST_ATOMS:
        said.append(f"And {len(atoms) - MOST_ATOMS} more atoms.")
    return said


def _sentence_on_one_graph(model: Any, min_confidence: float) -> str:
    """Return a sentence on the only graph, or on the first of several that are the same."""
    graph = np.asarray(thresholded_atoms(model, min_confidence), dtype=np.float64)[0]
    if not graph.any():
        return f"The graph has {_lack_in_words(bool(np.any(model.atoms_[0])))}."
    return f"The graph has {_edges_in_words(graph)}, the heaviest {_heaviest_pairs(model, graph)}."


def _edges_in_words(graph: Floats) -> str:
    """Return how many edges a graph (E,) has."""
    edges, negative = int(np.count_nonzero(graph)), int(np.count_nonzero(graph < 0))
    counted = f"{edges} edge{'s' * (edges != 1)}"
    return f"{counted}, {negative} of them negative" if negative else counted


def _surely_heavier(model: Any, sums: Floats, k: int, others: Integers) -> Booleans:
    """Return which edges (E,) have a larger share of atom ``k`` than of others, beyond errors.

    Where no errors are known, all may have.
    """
    intervals = getattr(model, "edge_intervals_", None)
    if intervals is None:
        return np.ones(np.shape(model.atoms_)[1], dtype=bool)
    units = np.where(sums > 0, sums, 1)
    low, high = (np.asarray(intervals, dtype=np.float64)[..., i].T / units for i in (0, 1))
    with np.errstate(invalid="ignore"):  # nothing is known of some
        centres, reaches = (low + high).T / 2, np.abs(high - low).T / 2
        reach = np.hypot(reaches[k], np.linalg.norm(reaches[others], axis=0) / len(others))
        sure: Booleans = centres[k] - centres[others].mean(axis=0) > reach
    return sure


def _heaviest_pairs(model: Any, weights: Floats) -> str:
    """Return the pairs of the largest weights (E,), of either sign, by their names."""
    rows, cols = graphs.edge_index(graphs.n_nodes(len(weights)))
    order = np.argsort(np.abs(weights))[::-1][:NAMED]
    names = model.node_names
    return listed([f"{names[rows[e]]} - {names[cols[e]]}" for e in order if weights[e] != 0])


def _lack_in_words(learned: bool) -> str:
    """Return why an atom has no edges to speak of."""
    if not learned:
        return "no edges"
    return "no edge that is sure: there is none, or samples are too few to show it"


def _weight_in_words(sums: Floats, k: int) -> str:
    """Return how heavy an atom is compared with the others; nothing where that is about equal."""
    others = np.delete(sums, k)
    usual = float(others[others > 0].mean()) if others.any() else 0.0
    if usual <= 0 or not sums[k] or 1 / STRONGER < sums[k] / usual < STRONGER:
        return ""
    ratio = sums[k] / usual
    return f", {ratio:.2g} times the weight of the other{'s' * (len(sums) > 2)}"


def _sentence_on_stability(stability: Stability, copies: bool) -> str:
    """Return which atoms come out again from halves of the time, and whether their times do."""
    again = stability.again
    worst = np.minimum(stability.halves.min(axis=0), stability.starts)
    if len(again) == 1:
        how = "comes out again" if again[0] else "does not come out again"
        return f"Learned from each half of the time alone, the graph {how} (cosine {worst[0]:.2f})."
    if again.all():
        least = stability.coefficients.min(axis=0)
        unlike = np.flatnonzero(least < SAME_TIMES)
        when = f"and so does when each holds (correlation at least {least.min():.2f})"
        if len(unlike):
            which = listed([f"{k + 1} ({least[k]:.2f})" for k in unlike[:MOST_ATOMS]])
            when = f"but not when these hold (correlation below {SAME_TIMES}): {which}"
        return (
            "Learned again from each half of the time and from other starts, all atoms come out "
            f"again (cosine at least {worst.min():.2f}){'' if copies else ', ' + when}."
        )
    named = ", ".join(f"{k + 1} ({worst[k]:.2f})" for k in np.flatnonzero(~again)[:MOST_ATOMS])
    return (
        "Learned again from each half of the time and from other starts, these atoms do not come "
        f"out again (cosine below 0.8): {named}. Do not build on them."
    )


def _sentences_of_caution(model: Any, min_confidence: float) -> list[str]:
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
