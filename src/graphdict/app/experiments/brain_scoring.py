"""Nested leave-one-subject-out scores: of held-out subjects, and to choose settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

Features = Callable[[int, frozenset[int]], NDArray[Any]]
DIGITS = 6


def forest(trees: int = 100, leaf: int = 5) -> RandomForestClassifier:
    """Return the paper's classifier, with at least so many events in a leaf."""
    return RandomForestClassifier(trees, min_samples_leaf=leaf, random_state=0)


def linear() -> Any:
    """Return a shrunk linear discriminant analysis of standardised features."""
    discriminant = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
    return make_pipeline(StandardScaler(), discriminant)


def standardise_features(values: NDArray[Any]) -> NDArray[Any]:
    """Return the features (n, F) of one subject with mean zero and unit deviation over events."""
    deviation = values.std(axis=0)
    return (values - values.mean(axis=0)) / np.where(deviation > 0, deviation, 1)


def auroc(model: Any, features: NDArray[Any], right: NDArray[Any]) -> float:
    """Return the AUROC of a fitted classifier; the right hand is the positive class."""
    if hasattr(model, "decision_function"):
        return float(roc_auc_score(right, model.decision_function(features)))
    return float(roc_auc_score(right, model.predict_proba(features)[:, 1]))


def nested_scores(
    labels: Mapping[int, NDArray[Any]],
    features: Features,
    build: Callable[[], Any],
    *,
    inner: Callable[[], Any] | None = None,
) -> dict[str, dict[str, float]]:
    """Return the AUROC of each held-out subject, and that of the others without it.

    Parameters
    ----------
    labels : dict of boolean arrays
        By subject; at least three.
    features : callable
        ``features(subject, unseen)`` returns the features (n, F) of a subject's events, by states
        learned without the labels of the subjects ``unseen``. The training events of a classifier
        play no part in their own features.
    build : callable
        Returns an unfitted classifier.
    inner : callable, optional
        Returns the classifier of the second score, for which features must not depend on labels.

    Returns
    -------
    dict with "held_out" and, with ``inner``, "training": scores by subject (a str, as in JSON).
        "training" of a subject is the mean AUROC of the other subjects by classifiers that saw
        neither its labels nor theirs: settings are chosen by it.
    """
    held_out = {}
    for out in labels:
        model = _learn(labels, features, build, out, [s for s in labels if s != out])
        held_out[out] = auroc(model, features(out, frozenset({out})), labels[out])
    scores = {"held_out": held_out}
    if inner is not None:
        found: dict[int, list[float]] = {out: [] for out in labels}
        for pair in combinations(labels, 2):
            model = _learn(labels, features, inner, pair[0], [s for s in labels if s not in pair])
            for out, other in (pair, pair[::-1]):  # one classifier has seen neither of the two
                found[out].append(auroc(model, features(other, frozenset(pair)), labels[other]))
        scores["training"] = {out: float(np.mean(found[out])) for out in labels}
    return {
        name: {str(subject): round(value, DIGITS) for subject, value in kept.items()}
        for name, kept in scores.items()
    }


def _learn(
    labels: Mapping[int, NDArray[Any]], features: Features, build: Any, out: int, train: list[int]
) -> Any:
    """Fit a classifier to the subjects ``train``, by states that saw neither each nor ``out``."""
    values = np.concatenate([features(s, frozenset({s, out})) for s in train])
    return build().fit(values, np.concatenate([labels[s] for s in train]))
