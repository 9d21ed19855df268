"""The paper's pipeline: states at peaks of global field power, features, random forests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from graphdict.app.experiments.brain_data import Events, whiten_subject
from graphdict.app.experiments.brain_scoring import forest, nested_scores, standardise_features
from graphdict.app.experiments.methods import build as build_method
from graphdict.eeg import PAPER_FEATURES, StateEmbedding, model_coefficients
from graphdict.eeg.embedding import normalised

MAX_PEAKS = 4000  # of 75,000 in the events of 15 subjects, to which a model is fitted
LEAVES = (5,)  # fewest events in a leaf of the forests, of which one is chosen
SHOWN = 50  # peaks whose coefficients the paper's figure shows


def _build_states(model: str, states: int, setting: Mapping[str, Any], seed: int) -> Any:
    """Return an unfitted model with a number of states."""
    if model == "KMeans":
        return KMeans(states, n_init=4, random_state=seed)
    name = "GaussianMixtureGraphs" if model == "GaussianMixture" else model
    size = "n_atoms" if model.startswith("GraphDict") else "n_clusters"
    return build_method(name, {size: states, **setting}, seed)


def score_states(
    events: Mapping[int, Events],
    model: str,
    setting: Mapping[str, Any],
    seed: int,
    *,
    adapted: bool,
    choose: bool,
    portrait: bool = False,
) -> dict[str, Any]:
    """Return the scores by subject of random forests on the features of states.

    States are learned once from peaks of all subjects, the held-out one included, without labels.

    Parameters
    ----------
    events : dict of Events by subject
    model, setting, seed
        What :func:`_build_states` takes. In the setting are also ``n_states``, ``normalise`` and,
        where they are not the usual ones, ``peaks``, how many of them a model is fitted to (None
        for all), and ``leaves``, the least leaves of several forests, of which the best on the
        other subjects is taken.
    adapted : bool
        False is the paper's pipeline. True whitens the signals and standardises the features of
        each subject, and has mean coefficients among the features.
    choose : bool
        Whether to compute the scores that settings are chosen by.
    portrait : bool, default=False
        Also return atoms, coefficients of some peaks and feature importances, for a figure.
    """
    options = dict(setting)
    states, normalise = options.pop("n_states"), options.pop("normalise")
    peaks, leaves = options.pop("peaks", MAX_PEAKS), options.pop("leaves", LEAVES)
    signals = {s: (whiten_subject(e) if adapted else e).signals for s, e in events.items()}
    embedding = StateEmbedding(
        _build_states(model, states, options, seed),
        normalise=normalise,
        max_peaks=peaks,
        sfreq=next(iter(events.values())).sfreq,
        random_state=seed,
    ).fit(list(signals.values()))
    names = (*PAPER_FEATURES, "mean_coefficient") if adapted else PAPER_FEATURES
    described = {}
    for subject, given in signals.items():
        values = embedding.transform(given).feature_array(names)
        values = np.nan_to_num(values.reshape(len(values), -1))  # NaN of states that never occur
        described[subject] = standardise_features(values) if adapted else values
    labels = {s: e.right for s, e in events.items()}
    tried = [
        nested_scores(
            labels, lambda s, _: described[s], partial(forest, leaf=leaf),
            inner=partial(forest, 30, leaf=leaf) if choose else None,
        )
        for leaf in leaves
    ]  # fmt: skip
    row: dict[str, Any] = best_forests(tried)
    row["features"] = states * len(names)
    if portrait:
        row["portrait"] = _portrait(embedding, events, described, names)
    return row


def best_forests(tried: Sequence[Mapping[str, Mapping[str, float]]]) -> dict[str, Any]:
    """Return the scores of the forest that is best on the other subjects, for each subject.

    With several forests, ``"forests"`` is the mean held-out score of each.
    """
    if len(tried) == 1:
        return dict(tried[0])
    chosen = {
        subject: max(tried, key=lambda scores: scores["training"][subject])
        for subject in tried[0]["held_out"]
    }
    row: dict[str, Any] = {
        name: {subject: scores[name][subject] for subject, scores in chosen.items()}
        for name in ("held_out", "training")
    }
    row["forests"] = [float(np.mean(list(scores["held_out"].values()))) for scores in tried]
    return row


def _portrait(
    embedding: StateEmbedding,
    events: Mapping[int, Events],
    described: Mapping[int, NDArray[Any]],
    names: Any,
) -> dict[str, Any]:
    """Return atoms, coefficients of some peaks of the first subject, feature importances."""
    first = next(iter(events))
    peaks = embedding.peaks(events[first].signals)
    maps = normalised(peaks, embedding.normalise)
    right = events[first].right[peaks.event]
    half = SHOWN // 2
    chosen = np.concatenate([np.flatnonzero(right)[:half], np.flatnonzero(~right)[:half]])
    coefficients = model_coefficients(embedding.model_, maps[chosen])
    labels = np.concatenate([e.right for e in events.values()])
    fitted = forest().fit(np.concatenate(list(described.values())), labels)
    importance = fitted.feature_importances_.reshape(-1, len(names))
    return {
        "atoms": np.round(embedding.model_.atoms_, 4).tolist(),
        "coefficients": np.round(coefficients, 4).tolist(),
        "right": right[chosen].tolist(),
        "importance": np.round(importance, 4).tolist(),
        "names": list(names),
        "titles": [f"Atom {k + 1}" for k in range(len(importance))],
        "unit": f"GFP peaks of subject {first}",
    }
