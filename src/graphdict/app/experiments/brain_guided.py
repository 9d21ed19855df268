"""Guided dictionaries: the labels of training subjects give the coefficients, graphs are learned.

With three atoms, one is active in all events, one in those of the left hand, one in those of the
right; with 2 P atoms, each hand has one for each of P phases of an event. A Gaussian likelihood
depends on a set of events only through their mean covariance, so each hand and phase enters as N
samples with that covariance.

The feature of an event and phase is ``log(tr(C L_left) / tr(C L_right))``: on which hand's graph it
is less smooth. Imagined movement of a hand weakens rhythms over the motor cortex of the other side,
where its graph gets strong edges.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from graphdict.app.experiments.brain_data import Events, phase_covariances, whiten_subject
from graphdict.app.experiments.brain_scoring import (
    DIGITS,
    forest,
    linear,
    nested_scores,
    standardise_features,
)
from graphdict.core import graphs
from graphdict.models import GraphDictExact, GraphDictLog

SHOWN = 50  # events whose coefficients are drawn


@dataclass(frozen=True)
class Ridge:
    """Prior ``beta / 2 |W|^2``, which gives many weak edges instead of few strong ones."""

    beta: float

    def value(self, atoms: NDArray[Any]) -> float:
        return self.beta / 2 * float(np.vdot(atoms, atoms))

    def gradient(self, atoms: NDArray[Any]) -> NDArray[Any]:
        return self.beta * atoms

    def lipschitz(self, atoms: NDArray[Any]) -> float:
        return self.beta


def guided_atoms(model: str, covariances: NDArray[Any], setting: Mapping[str, Any]) -> Any:
    """Return a dictionary fitted to mean covariances (2, P, N, N) of left and right hand.

    It has three atoms (all events, left, right) for one phase, else one for each hand and phase,
    those of the left first.
    """
    hands, phases, nodes, _ = covariances.shape
    samples = sample_roots(covariances.reshape(hands * phases, nodes, nodes))
    active = np.array([[1, 1, 0], [1, 0, 1]]) if phases == 1 else np.eye(hands * phases)
    options: dict[str, Any] = {
        "n_atoms": active.shape[1], "alpha_w": 0.0, "window_size": nodes, "fix": "coefficients",
        "coefficients": np.repeat(active, nodes, axis=0), "max_iter": 200, "tol": 1e-3,
    }  # fmt: skip
    if model == "GraphDictExact":
        return GraphDictExact(**options).fit(samples)
    return GraphDictLog(**options, atom_priors=[Ridge(setting["ridge"])]).fit(samples)


def sample_roots(covariances: NDArray[Any]) -> NDArray[Any]:
    """Return signals (B * N, N), N for each covariance (B, N, N) with these second moments."""
    values, vectors = np.linalg.eigh(covariances)
    roots = np.sqrt(np.maximum(values, 0) * covariances.shape[-1])
    return (roots[..., None] * np.swapaxes(vectors, -1, -2)).reshape(-1, covariances.shape[-1])


def hand_ratios(atoms: NDArray[Any], covariances: NDArray[Any]) -> NDArray[Any]:
    """Return ``log(tr(C L_left) / tr(C L_right))`` (n, P) of covariances (n, P, N, N)."""
    phases = covariances.shape[1]
    laplacians = graphs.laplacian(atoms[-2 * phases :].astype(np.float64))
    left, right = laplacians.reshape(2, phases, *laplacians.shape[1:])
    energies = [np.einsum("epnm,pnm->ep", covariances, hand) for hand in (left, right)]
    tiny = np.finfo(np.float64).tiny  # for atoms without edges
    return np.log(np.maximum(energies[0], tiny)) - np.log(np.maximum(energies[1], tiny))


class _Guided:
    """Features by dictionaries that exclude the labels of some subjects; each is fitted once."""

    def __init__(
        self, covariances: Mapping[int, NDArray[Any]], right: Any, model: str, setting: Any
    ):
        self.covariances, self.model, self.setting = covariances, model, setting
        self.sums = {
            s: np.stack([c[~right[s]].sum(axis=0), c[right[s]].sum(axis=0)])
            for s, c in covariances.items()
        }
        self.counts = {s: np.array([np.sum(~right[s]), np.sum(right[s])]) for s in covariances}
        self.found: dict[tuple[int, frozenset[int]], NDArray[Any]] = {}

    def means(self, unseen: frozenset[int]) -> NDArray[Any]:
        """Return the mean covariances (2, P, N, N) of the hands over all but some subjects."""
        seen = [s for s in self.covariances if s not in unseen]
        counts = sum(self.counts[s] for s in seen)
        return sum(self.sums[s] for s in seen) / np.asarray(counts)[:, None, None, None]

    def __call__(self, subject: int, unseen: frozenset[int]) -> NDArray[Any]:
        if (subject, unseen) not in self.found:
            describe = self._describe(self.means(unseen))
            for other in unseen:
                self.found[other, unseen] = standardise_features(describe(self.covariances[other]))
        return self.found[subject, unseen]

    def _describe(self, means: NDArray[Any]) -> Any:
        if self.model == "GaussianMixture":
            return _gaussian_ratios(means)
        atoms = guided_atoms(self.model, means, self.setting).atoms_
        return lambda covariances: hand_ratios(atoms, covariances)


def _gaussian_ratios(means: NDArray[Any]) -> Any:
    """Return a function for the same feature by unconstrained precisions."""
    precisions = np.linalg.pinv(means, rcond=1e-3, hermitian=True)
    return lambda c: np.einsum("epnm,pnm->ep", c, precisions[0] - precisions[1])


def score_guided(
    events: Mapping[int, Events],
    model: str,
    setting: Mapping[str, Any],
    *,
    portrait: bool = False,
) -> dict[str, Any]:
    """Return the scores by subject of linear discriminants (and random forests) on the ratios.

    Neither atoms nor classifiers see the held-out subject, except to whiten its own signals, which
    uses no labels.
    """
    phases = max(setting["n_states"] // 2, 1)
    right = {s: e.right for s, e in events.items()}
    covariances = {s: phase_covariances(whiten_subject(e), phases) for s, e in events.items()}
    features = _Guided(covariances, right, model, setting)
    row: dict[str, Any] = nested_scores(right, features, linear)
    # Settings are chosen by the plain sum over phases: a classifier trained on features of subjects
    # whose atoms have seen each other's labels would favour settings that overfit.
    row["training"] = _scores_without_classifier(right, features)
    row["features"] = phases
    row["forest"] = nested_scores(right, features, forest)["held_out"]
    if portrait:
        fitted = guided_atoms(model, features.means(frozenset()), setting)
        row["portrait"] = _portrait(fitted, covariances, right)
    return row


def _scores_without_classifier(
    right: Mapping[int, NDArray[Any]], features: _Guided
) -> dict[str, float]:
    """Return for each subject the mean AUROC of the others, by atoms that saw neither."""
    scores = {}
    for out in right:
        found = [
            roc_auc_score(right[s], features(s, frozenset({s, out})).sum(axis=1))
            for s in right
            if s != out
        ]
        scores[str(out)] = round(float(np.mean(found)), DIGITS)
    return scores


def _portrait(fitted: Any, covariances: Mapping[int, NDArray[Any]], right: Any) -> dict[str, Any]:
    """Return atoms of all subjects, and the coefficients of some events when they are estimated."""
    first: int = next(iter(covariances))
    half = SHOWN // 2
    which: Sequence[int] = np.concatenate(
        [np.flatnonzero(right[first])[:half], np.flatnonzero(~right[first])[:half]]
    ).tolist()
    samples = sample_roots(covariances[first][which, 0])
    coefficients = fitted.set_params(fix=None).transform(samples)[:: samples.shape[1]]
    return {
        "atoms": np.round(fitted.atoms_, 4).tolist(),
        "coefficients": np.round(coefficients, 4).tolist(),
        "right": right[first][which].tolist(),
        "titles": ["All events", "Left hand", "Right hand"],
        "unit": f"events of subject {first}",
    }
