"""Methods of this environment: ours, and what scikit-learn has.

Each function takes what is given for a task and a setting, as in ``peers.py``, and returns arrays
by the same names.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln
from sklearn.covariance import GraphicalLassoCV, LedoitWolf
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.mixture import GaussianMixture

from graphdict.app.experiments.real.peers import partial_correlations, several, two_means, windows
from graphdict.app.experiments.real.switching import contrasts
from graphdict.core.annotations import Floats
from graphdict.core.marginal.filtered import FilteredLikelihood
from graphdict.core.marginal.filters import FILTERS
from graphdict.core.marginal.signed import SignedLikelihood
from graphdict.models import GraphDictMarginal

DEGREES = (2.5, 3.0, 4.0, 5.0, 7.0, 10.0, 20.0, 50.0)
STUDENT_STEPS = 40


def marginal(given: dict[str, Any], setting: dict[str, Any]) -> dict[str, Any]:
    """Fit GraphDictMarginal, ours."""
    options = {"random_state": 0, **setting}
    if given["task"] == "features":
        return {"scores": _likelier_right(given, options)}
    if given["task"] == "graphs":
        fits = [GraphDictMarginal(**options).fit(x) for x in given["recordings"]]
        return {"edges": np.stack([_mean_graph(model) for model in fits])}
    if given["task"] == "states":
        model = GraphDictMarginal(2, window_size=int(given["window"]), **options)
        shares = model.fit(given["signals"]).coefficients_[:: int(given["window"])]
        return {"states": shares.argmax(axis=1), "shares": shares[:, 1]}
    model = GraphDictMarginal(**options).fit(given["signals"])
    found = density_of(model)
    # Nearness is no negative weight: graphs that have some are not asked for the map.
    return found if model.signed else {**found, "edges": _mean_graph(model)}


def _likelier_right(given: dict[str, Any], options: dict[str, Any]) -> Floats:
    """Return how much likelier new trials are under the graphs of right trials than of left."""
    trials, nodes = given["new"], given["new"].shape[2]
    scores = []
    for side in (False, True):
        signals = given["trials"][given["right"] == side].reshape(-1, nodes)
        model = GraphDictMarginal(**options).fit(signals)
        found = model.score_samples(trials.reshape(-1, nodes)).reshape(trials.shape[:2])
        scores.append(found.mean(axis=1) - (nodes - 1) * np.log(model.scale_))
    return np.asarray(scores[1] - scores[0])


def density_of(model: Any) -> dict[str, Any]:
    """Return what a fitted GraphDictMarginal takes signals to be, in N - 1 dimensions."""
    kind = SignedLikelihood if model.signed else FilteredLikelihood
    likelihood = kind.of(
        model.patterns_, model.atoms_, model.noise_,
        filter=FILTERS[model.filter_](model.filter_power_), tails=model.tails_,
    )  # fmt: skip
    basis = contrasts(model.n_features_in_)
    roots = basis.T @ likelihood.factors(model.atoms_).roots / model.scale_
    start = model.pattern_probabilities_
    found = {
        "means": np.zeros(roots.shape[:2]),
        "precisions": roots @ roots.swapaxes(1, 2),
        "start": start,
        "tails": np.array(model.tails_),
    }
    if model.prior == "markov":
        stay = model.stay_probability_
        found["transitions"] = stay * np.eye(len(start)) + (1 - stay) * start
    return found


def ledoit_wolf(given: dict[str, Any], setting: dict[str, Any]) -> dict[str, Any]:
    """Shrink the covariance as Ledoit and Wolf do."""
    return _static(given, lambda x: LedoitWolf().fit(x).covariance_)


def graphical_lasso(given: dict[str, Any], setting: dict[str, Any]) -> dict[str, Any]:
    """Fit the graphical lasso, its penalty by five-fold cross-validation."""
    return _static(given, lambda x: GraphicalLassoCV(max_iter=200).fit(x).covariance_)


def correlation(given: dict[str, Any], setting: dict[str, Any]) -> dict[str, Any]:
    """Return correlations as edges."""
    found = [np.corrcoef(x.T) for x in several(given)]
    return {"edges": np.stack([np.abs(c[np.triu_indices(len(c), 1)]) for c in found])}


def mixture(given: dict[str, Any], setting: dict[str, Any]) -> dict[str, Any]:
    """Fit scikit-learn's Gaussian mixture, four starts."""
    samples = given["coordinates"]
    model = GaussianMixture(
        setting["n_states"], reg_covar=setting["ridge"] * samples.var(), n_init=4, random_state=0
    ).fit(samples)
    if given["task"] == "states":
        logs = np.log(model.predict_proba(samples) + 1e-300)  # of samples; windows add them
        return {"states": windows(logs, int(given["window"])).sum(1).argmax(1)}
    return {"means": model.means_, "precisions": model.precisions_, "start": model.weights_}


def student(given: dict[str, Any], setting: dict[str, Any]) -> dict[str, Any]:
    """Fit one Student t with a full scatter matrix, by expectation-maximisation."""
    samples = given["coordinates"]
    size = samples.shape[1]
    ridge = setting["ridge"] * samples.var() * np.eye(size)
    best: tuple[float, Any] = (-np.inf, None)
    for nu in DEGREES:
        mean, scatter = samples.mean(0), np.cov(samples.T, bias=True) + ridge
        for _ in range(STUDENT_STEPS):
            centred = samples - mean
            energies = np.einsum("td,td->t", centred @ np.linalg.inv(scatter), centred)
            gains = (nu + size) / (nu + energies)
            mean = gains @ samples / gains.sum()
            centred = samples - mean
            scatter = (centred * gains[:, None]).T @ centred / len(samples) + ridge
        value = gammaln((nu + size) / 2) - gammaln(nu / 2) - size / 2 * np.log(nu * np.pi)
        value -= np.linalg.slogdet(scatter)[1] / 2
        value -= (nu + size) / 2 * np.log1p(energies / nu).mean()
        best = max(best, (float(value), (nu, mean, scatter)), key=lambda found: found[0])
    nu, mean, scatter = best[1]
    one = np.ones(1)
    return {"means": mean[None], "covariances": scatter[None], "start": one, "tails": np.array(nu)}


def power(given: dict[str, Any], setting: dict[str, Any]) -> dict[str, Any]:
    """Cluster windows by the logarithms of their nodes' variances."""
    return {"states": two_means(np.log(windows(given["signals"], int(given["window"])).var(1)))}


def log_power(given: dict[str, Any], setting: dict[str, Any]) -> dict[str, Any]:
    """Tell trials apart by linear discriminants of the logarithms of their nodes' variances."""
    learned, new = (np.log(given[name].var(axis=1)) for name in ("trials", "new"))
    return {"scores": _discriminant().fit(learned, given["right"]).decision_function(new)}


def common_spatial_patterns(given: dict[str, Any], setting: dict[str, Any]) -> dict[str, Any]:
    """Tell trials apart by MNE's common spatial patterns and linear discriminants."""
    from mne import set_log_level
    from mne.decoding import CSP

    set_log_level("error")
    csp = CSP(setting["n_components"], reg="ledoit_wolf", log=True, norm_trace=False)
    learned = csp.fit_transform(given["trials"].swapaxes(1, 2), given["right"])
    new = csp.transform(given["new"].swapaxes(1, 2))
    return {"scores": _discriminant().fit(learned, given["right"]).decision_function(new)}


def _discriminant() -> LinearDiscriminantAnalysis:
    return LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")


METHODS: dict[str, Callable[[dict[str, Any], dict[str, Any]], dict[str, Any]]] = {
    "GraphDictMarginal": marginal,
    "LedoitWolf": ledoit_wolf,
    "GraphicalLassoCV": graphical_lasso,
    "Correlation": correlation,
    "GaussianMixture": mixture,
    "StudentT": student,
    "PowerKMeans": power,
    "LogPower": log_power,
    "CSP": common_spatial_patterns,
}


def _static(
    given: dict[str, Any], estimate: Callable[[NDArray[Any]], NDArray[Any]]
) -> dict[str, Any]:
    """Return one covariance of the nodes, and partial correlations, of standardised signals."""
    covariances = []
    for signals in several(given):
        scale = signals.std(axis=0)
        covariances.append(estimate(signals / scale) * np.outer(scale, scale))
    edges = np.stack([partial_correlations(np.linalg.inv(c)) for c in covariances])
    return {"node_covariances": np.stack(covariances[:1]), "edges": edges}


def _mean_graph(model: Any) -> NDArray[Any]:
    """Return the mean graph (E,) of the training samples."""
    return np.asarray(model.coefficients_.mean(axis=0) @ model.atoms_)
