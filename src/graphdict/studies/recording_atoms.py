"""Atoms of each recording by dual estimation, shrunk toward the group's as far as data say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from sklearn.utils.validation import check_is_fitted

from graphdict.core import graphs
from graphdict.core.annotations import Booleans, Floats
from graphdict.engine.recordings import are_several, by_name, recording_names
from graphdict.selection.folds import error_of_mean
from graphdict.selection.held_out import CLEARLY
from graphdict.studies.distances import map_of, model_distances
from graphdict.studies.held_marginal import MarginalRecording
from graphdict.studies.held_soft import SoftRecording

if TYPE_CHECKING:  # pragma: no cover
    from graphdict.models.base import GraphDictionary

PULLS = (np.inf, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01)  # of the mean length of recordings
PATIENCE = 2  # weaker pulls to try after the best
BLOCKS = 10  # of time in each recording, of which every second one is held out
LEAST = 4 * BLOCKS  # samples that a recording needs


class HeldRecording(Protocol):
    """A recording with the group's activations held."""

    group: Floats

    @property
    def samples(self) -> int:
        """Number of samples."""

    def estimate(self, rows: Booleans, pseudo: float, start: Floats) -> Floats:
        """Return the atoms of some samples, pulled toward the group's."""

    def score(self, rows: Booleans, atoms: Floats) -> float:
        """Return the log-likelihood of a sample, given its activations."""


@dataclass(frozen=True)
class RecordingAtoms:
    """Atoms of each recording.

    Attributes
    ----------
    recordings : list of str
        Names of the R recordings.
    atoms : array (R, K, E)
        Edge weights in each recording, in the units of the group's atoms and with their support.
    group : array (K, E)
        The group's atoms.
    shrinkage : array (R,)
        Share of the group in each recording's atoms: 1 is the group's.
    pseudo_samples : float
        As how many samples the group counts; infinite where recordings do not differ.
    gain, error : float
        What recordings' own atoms gain over the group's on held-out blocks of time, with
        activations held, in nats a sample: a mean over recordings and its standard error.
    gains : array (R,)
        The gain in each recording.
    scores : dict of float to array (R,)
        Held-out log-likelihood of a sample by number of pseudo-samples that was tried.
    distances : array (R, R)
        Root of the symmetrised Kullback-Leibler divergence between the signals of two recordings,
        in nats a sample, where both use atoms as the group does.
    positions : array (R, 2)
        A map of the recordings: the plane in which distances are kept best (classical
        multidimensional scaling).
    node_names : sequence
        Names of the N nodes.
    """

    recordings: list[str]
    atoms: Floats = field(repr=False)
    group: Floats = field(repr=False)
    shrinkage: Floats
    pseudo_samples: float
    gain: float
    error: float
    gains: Floats = field(repr=False)
    scores: dict[float, Floats] = field(repr=False)
    distances: Floats = field(repr=False)
    positions: Floats = field(repr=False)
    node_names: Sequence[Any] = field(repr=False)

    def columns(
        self, measures: str | Sequence[str] | None = None
    ) -> tuple[Floats, list[tuple[str, str]]]:
        """Return the weights of all edges of the group's atoms, and what each column is.

        Parameters
        ----------
        measures : {"weight"}, optional
            The only measure that atoms have.

        Returns
        -------
        pair of array (R, M) and list of M pairs of str
            Weights, and the measure and edge of each column.
        """
        if measures not in (None, "weight", ("weight",), ["weight"]):
            raise ValueError(f'measures of atoms are "weight" alone, got {measures!r}')
        rows, cols = graphs.edge_index(len(self.node_names))
        which = np.argwhere(self.group > 0)
        names = self.node_names
        labels = [("weight", f"{k + 1}: {names[rows[e]]} - {names[cols[e]]}") for k, e in which]
        return self.atoms[:, which[:, 0], which[:, 1]], labels

    def in_words(self) -> str:
        """Return what was found in a sentence or two.

        Returns
        -------
        str
        """
        measured = f"{self.gain:+.3g} ± {self.error:.1g} nats a sample"
        if np.isinf(self.pseudo_samples):
            return (
                f"Held-out parts of {len(self.recordings)} recordings give no reason for atoms of "
                "their own: each has the group's."
            )
        share = float(np.mean(self.shrinkage))
        return (
            f"Atoms of their own predict held-out parts of {len(self.recordings)} recordings "
            f"better than the group's ({measured}); the group counts for {share:.0%} of them."
        )


def recording_atoms(
    model: GraphDictionary,
    recordings: Sequence[Any] | Mapping[Any, Any],
    *,
    names: Sequence[Any] | None = None,
    pseudo_samples: float | None = None,
) -> RecordingAtoms:
    """Give each recording atoms of its own, with the group's activations held (dual estimation).

    When each atom is active in a recording is inferred with the group's dictionary. Given that, the
    recording's own atoms are a convex problem, in which the group's dictionary stands for a number
    of pseudo-samples. This number is chosen: atoms learned from every second block of time of each
    recording have to predict the blocks between, and the number that does so best is taken, unless
    it gains less than two standard errors, over recordings: then each has the group's atoms. It is
    never less than the number of nodes for each atom, so that an atom which a recording hardly uses
    stays the group's. Edges are those of the group's atoms.

    Parameters
    ----------
    model : fitted GraphDictMarginal, GraphDictLog or GraphDictExact
        Fitted to all recordings.
    recordings : list or dict of what a fit takes for one recording
        Signals of each recording, of 40 samples at least.
    names : sequence, optional
        Names of the recordings; the keys of a dict by default, or 0, 1, ...
    pseudo_samples : float, optional
        As how many samples the group counts; ``numpy.inf`` gives the group's atoms, and 0 those of
        each recording alone. Chosen from the recordings by default.

    Returns
    -------
    RecordingAtoms
    """
    check_is_fitted(model, "atoms_")
    if not are_several(recordings):
        raise ValueError("recordings must be a list or a dict of signals (samples, nodes)")
    recordings = by_name(recordings)
    labels = recording_names(recordings, names)
    if getattr(model, "prior", None) == "hierarchy":
        raise ValueError(
            'recording_atoms does not take prior="hierarchy", whose activations are given by time'
        )
    if len(labels) < 2:
        raise ValueError(
            f"at least two recordings are needed to find how they differ, got {labels[0]} alone"
        )
    if pseudo_samples is not None and not pseudo_samples >= 0:
        raise ValueError(f"pseudo_samples must be 0 or more, got {pseudo_samples!r}")
    given = recordings.values() if isinstance(recordings, Mapping) else recordings
    held = _hold(model, labels, given)
    typical = float(np.mean([one.samples for one in held]))
    least = float(len(model.atoms_) * np.sum(model.active_nodes_))
    pulls = [*(share * typical for share in PULLS if share * typical > least), least]
    if pseudo_samples is not None:
        pulls = [np.inf, float(pseudo_samples)]
    scores, halves = _held_out_scores(held, pulls)
    chosen = _choose(scores) if pseudo_samples is None else float(pseudo_samples)
    own = np.stack([_estimate(one, chosen, start) for one, start in zip(held, halves[chosen])])
    gains = scores[chosen] - scores[np.inf]
    distances = model_distances(model, own, held)
    embedded = np.stack([model._preparation.embed(atoms) for atoms in own])
    return RecordingAtoms(
        labels, embedded, np.asarray(model.atoms_, dtype=np.float64),
        np.array([_share(chosen, one.samples) for one in held]), chosen, float(gains.mean()),
        error_of_mean(gains), gains, scores, distances, map_of(distances), model.node_names,
    )  # fmt: skip


def _hold(model: GraphDictionary, labels: list[str], given: Iterable[Any]) -> list[Any]:
    """Return recordings with the group's activations held; raise for one that is too short."""
    kind = MarginalRecording if hasattr(model, "patterns_") else SoftRecording
    held: list[Any] = [kind.of(model, part, label) for label, part in zip(labels, given)]
    for label, one in zip(labels, held):
        if one.samples < LEAST:
            raise ValueError(
                f"recording {label} has {one.samples} samples, and atoms of its own need at least "
                f"{LEAST}: leave it out"
            )
    if kind is MarginalRecording:
        lengths = np.array([one.samples for one in held])
        usage = lengths @ np.stack([one.usage for one in held]) / lengths.sum()
        for one in held:
            one.usage = usage
    return held


def _estimate(one: HeldRecording, pseudo: float, start: Floats) -> Floats:
    """Return the atoms of all samples of a recording."""
    if np.isinf(pseudo):
        return one.group
    return one.estimate(np.ones(one.samples, dtype=bool), pseudo, start)


def _share(pseudo: float, samples: int) -> float:
    return 1.0 if np.isinf(pseudo) else pseudo / (pseudo + samples)


def _halves(samples: int) -> tuple[Booleans, Booleans]:
    """Return every second block of time, and the others."""
    odd = np.arange(samples) * BLOCKS // samples % 2 == 1
    return ~odd, odd


def _held_out_scores(
    held: list[HeldRecording], pulls: list[float]
) -> tuple[dict[float, Floats], dict[float, list[Floats]]]:
    """Return scores (R,) of blocks that atoms were not learned from, by strength of the pull.

    And the atoms of each recording by strength, means of those of its halves. Weaker pulls are
    tried until two in a row do not improve the mean score.
    """
    halves = [_halves(one.samples) for one in held]
    found = [[one.group, one.group] for one in held]
    scores: dict[float, Floats] = {}
    atoms: dict[float, list[Floats]] = {}
    for pull in pulls:
        values = np.zeros(len(held))
        for place, (one, rows) in enumerate(zip(held, halves)):
            for half, (learned, other) in enumerate((rows, rows[::-1])):
                if np.isfinite(pull):
                    found[place][half] = one.estimate(learned, pull, found[place][half])
                score = one.score(other, found[place][half])
                values[place] += other.sum() / one.samples * score
        scores[pull], atoms[pull] = values, [(a + b) / 2 for a, b in found]
        best = max(scores, key=lambda key: scores[key].mean())
        if sum(key < best for key in scores) >= PATIENCE:
            break
    return scores, atoms


def _choose(scores: dict[float, Floats]) -> float:
    """Return the best pull; that of the group's atoms unless it gains two standard errors."""
    best = max(scores, key=lambda pull: scores[pull].mean())
    gains = scores[best] - scores[np.inf]
    return best if gains.mean() > CLEARLY * error_of_mean(gains) else np.inf
