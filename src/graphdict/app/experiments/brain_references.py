"""Reference decoders of motor imagery: common spatial patterns and Riemannian tangent spaces."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression

from graphdict.app.experiments.brain_data import Events
from graphdict.app.experiments.brain_scoring import nested_scores

PATTERNS = 4


def score_reference(
    events: Mapping[int, Events], model: str, setting: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the scores by subject of a reference, with features of ``phases`` parts of events."""
    right = {s: e.right for s, e in events.items()}
    return REFERENCES[model](events, right, setting["phases"])


def _csp(
    events: Mapping[int, Events], right: Mapping[int, NDArray[Any]], phases: int
) -> dict[str, Any]:
    """Classify log-powers of common spatial patterns by linear discriminants."""
    covariances = {s: _oas(e, phases, centred=False) for s, e in events.items()}
    scores = nested_scores(right, lambda s, _: covariances[s], lambda: _Patterns(phases))
    return {**scores, "features": PATTERNS * phases}


class _Patterns:
    """Classifier by pyRiemann's CSP of covariances (n, P, N, N), one for each phase."""

    def __init__(self, phases: int):
        self.phases = phases

    def fit(self, covariances: NDArray[Any], right: NDArray[Any]) -> _Patterns:
        from pyriemann.spatialfilters import CSP

        self.filters_ = [
            CSP(PATTERNS, log=True).fit(covariances[:, p], right) for p in range(self.phases)
        ]
        self.classifier_ = LinearDiscriminantAnalysis().fit(self._powers(covariances), right)
        return self

    def decision_function(self, covariances: NDArray[Any]) -> NDArray[Any]:
        return self.classifier_.decision_function(self._powers(covariances))

    def _powers(self, covariances: NDArray[Any]) -> NDArray[Any]:
        return np.hstack([f.transform(covariances[:, p]) for p, f in enumerate(self.filters_)])


def _riemann(
    events: Mapping[int, Events], right: Mapping[int, NDArray[Any]], phases: int
) -> dict[str, Any]:
    """Classify by logistic regression in the tangent space at each subject's mean covariance."""
    from pyriemann.tangentspace import TangentSpace

    vectors = {}
    for subject, given in events.items():
        covariances = _oas(given, phases, centred=True)
        flat = covariances.reshape(-1, *covariances.shape[2:])
        space = TangentSpace(metric="riemann").fit(flat)
        vectors[subject] = space.transform(flat).reshape(len(covariances), -1)
    scores = nested_scores(
        right, lambda s, _: vectors[s], lambda: LogisticRegression(C=0.01, max_iter=2000),
    )  # fmt: skip
    return {**scores, "features": next(iter(vectors.values())).shape[1]}


def _oas(events: Events, phases: int, *, centred: bool) -> NDArray[Any]:
    """Return shrunk covariances (n, P, N, N), scaled by the subject's power if ``centred``."""
    from pyriemann.estimation import Covariances

    signals = events.signals.astype(np.float64) * 1e6
    if centred:
        signals /= signals.std()
    length = signals.shape[2] // phases
    parts = [signals[:, :, p * length : (p + 1) * length] for p in range(phases)]
    return np.stack([Covariances("oas").transform(part) for part in parts], axis=1)


REFERENCES: dict[str, Callable[..., dict[str, Any]]] = {"CSP": _csp, "Riemann": _riemann}
