"""Fits of other packages: a script for the environment of each, which has no graphdict.

    python peers.py METHOD GIVEN.npz FOUND.npz

``GIVEN`` has ``task`` ("signals", "states", "features" or "graphs"), settings as scalars and the
signals that the functions below name; ``FOUND`` gets what they return, CPU seconds of the fit and,
on Linux, the memory that it took at its peak.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

STARTS = 4  # of methods that depend on where they begin; the likeliest counts
FLOOR = 1e-6  # least variance of hmmlearn's states, whose covariances may else be singular or worse


def hmm(given: dict[str, Any], setting: dict[str, Any]) -> dict[str, Any]:
    """Fit hmmlearn's GaussianHMM; return its parameters, or the state of every window."""
    from hmmlearn.hmm import GaussianHMM

    samples, lengths = given["coordinates"], given["lengths"]
    if setting.get("components"):  # leading principal components
        axes = np.linalg.svd(samples - samples.mean(0), full_matrices=False)[2]
        samples = samples @ axes[: setting["components"]].T
    states = setting["n_states"]
    scale = float(np.sqrt(samples.var()))  # its priors are for signals of unit variance
    samples = samples / scale
    prior = {}
    if setting["ridge"] is not None:
        # A matrix: hmmlearn would add a number to all entries, not to the diagonal.
        added = setting["ridge"] * len(samples) / states
        prior = {"covars_prior": added * np.eye(samples.shape[1])}
    best: tuple[float, Any] = (-np.inf, None)
    for seed in range(setting.get("starts", STARTS)):
        model = GaussianHMM(states, "full", n_iter=60, random_state=seed, **prior)
        try:
            model.fit(samples, lengths)
            score = model.score(samples, lengths)
        except ValueError:  # a state that lost all its samples
            continue
        if score > best[0]:
            best = score, model
    model = best[1]
    if model is None:
        raise ValueError("no start of GaussianHMM succeeded")
    if given["task"] == "states":
        shares = model.predict_proba(samples, lengths)
        return {"states": _by_window(shares, int(given["window"])).argmax(1)}
    values, vectors = np.linalg.eigh(model.covars_)
    covariances = vectors * np.maximum(values, FLOOR)[:, None, :] @ vectors.swapaxes(1, 2)
    return {
        "means": model.means_ * scale,
        "covariances": covariances * scale**2,
        "start": model.get_stationary_distribution(),
        "transitions": model.transmat_,
    }


def riemann(given: dict[str, Any], setting: dict[str, Any]) -> dict[str, Any]:
    """Cluster the windows' covariances by pyriemann's k-means."""
    from pyriemann.clustering import Kmeans
    from pyriemann.estimation import Covariances

    signals = windows(given["coordinates"], int(given["window"])).swapaxes(1, 2)
    matrices = Covariances(estimator=setting["estimator"]).transform(signals)
    model = Kmeans(2, metric=setting["metric"], n_init=STARTS, random_state=0).fit(matrices)
    return {"states": model.predict(matrices)}


def tangent_space(given: dict[str, Any], setting: dict[str, Any]) -> dict[str, Any]:
    """Tell trials apart by pyriemann's tangent space and logistic regression."""
    from pyriemann.estimation import Covariances
    from pyriemann.tangentspace import TangentSpace
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    model = make_pipeline(
        Covariances(setting["estimator"]), TangentSpace(metric="riemann"),
        LogisticRegression(C=setting["C"], max_iter=1000),
    )  # fmt: skip
    model.fit(given["trials"].swapaxes(1, 2), given["right"])
    return {"scores": model.decision_function(given["new"].swapaxes(1, 2))}


def osl_hmm(given: dict[str, Any], setting: dict[str, Any]) -> dict[str, Any]:
    """Fit osl-dynamics' hidden Markov model to principal components, as its tutorials do."""
    import tempfile

    import tensorflow as tf
    from osl_dynamics.data import Data
    from osl_dynamics.models.hmm import Config, Model

    tf.keras.utils.set_random_seed(0)
    samples, window = given["coordinates"], int(given["window"])
    axes = np.linalg.svd(samples - samples.mean(0), full_matrices=False)[2]
    samples = samples @ axes[: setting["components"]].T
    samples = (samples - samples.mean(0)) / samples.std(0)
    with tempfile.TemporaryDirectory() as scratch:
        data = Data([samples.astype(np.float32)], store_dir=scratch)
        model = Model(
            Config(
                n_states=2, n_channels=samples.shape[1], sequence_length=window,
                learn_means=False, learn_covariances=True, batch_size=16, learning_rate=0.01,
                n_epochs=setting["epochs"],
            )
        )  # fmt: skip
        model.random_state_time_course_initialization(data, n_epochs=1, n_init=STARTS, verbose=0)
        model.fit(data, verbose=0)
        found = model.get_alpha(data)
    shares = np.asarray(found[0] if isinstance(found, list) else found)
    return {"states": _by_window(shares, window).argmax(1)}


def microstates(given: dict[str, Any], setting: dict[str, Any]) -> dict[str, Any]:
    """Cluster windows by how much of each pycrostates microstate they have."""
    import mne
    from pycrostates.cluster import ModKMeans

    mne.set_log_level("ERROR")
    names = [str(name) for name in given["names"]]
    info = mne.create_info(names, float(given["sfreq"]), "eeg")
    raw = mne.io.RawArray(given["signals"].T * 1e-6, info).set_eeg_reference("average")
    model = ModKMeans(setting["n_microstates"], n_init=10, random_state=0)
    model.fit(raw, n_jobs=1, verbose="ERROR")
    labels = model.predict(raw, factor=0, half_window_size=0, verbose="ERROR").labels
    one_hot = (labels[:, None] == np.arange(setting["n_microstates"])).astype(float)
    shares = _by_window(one_hot, int(given["window"]))
    return {"states": two_means(shares)}


def time_varying_lasso(given: dict[str, Any], setting: dict[str, Any]) -> dict[str, Any]:
    """Fit regain's TimeGraphicalLasso to blocks of time; return a covariance for each block."""
    from regain.covariance import TimeGraphicalLasso

    blocks = np.repeat(np.arange(len(given["lengths"])), given["lengths"])
    scale = given["signals"].std(0)
    model = TimeGraphicalLasso(
        alpha=setting["alpha"], beta=setting["beta"], psi="laplacian", max_iter=200
    )
    model.fit(given["signals"] / scale, blocks)
    precisions = np.asarray(model.precision_) / np.outer(scale, scale)
    return {"series": np.linalg.inv(precisions), "edges": partial_correlations(precisions.mean(0))}


def graphical_lasso(given: dict[str, Any], setting: dict[str, Any]) -> dict[str, Any]:
    """Fit GGLasso's single graphical lasso, its penalty by the extended Bayesian criterion."""
    from gglasso.problem import glasso_problem

    found = []
    for signals in several(given):
        scale = signals.std(0)
        covariance = np.corrcoef(signals.T)
        problem = glasso_problem(covariance, len(signals), latent=False, do_scaling=False)
        grid = {"lambda1_range": np.geomspace(0.5, 0.005, 12)}
        problem.model_selection(modelselect_params=grid, method="eBIC", gamma=setting["gamma"])
        found.append(problem.solution.precision_ / np.outer(scale, scale))
    edges = np.stack([partial_correlations(precision) for precision in found])
    return {"node_covariances": np.linalg.inv(found[:1]), "edges": edges}


def authors(given: dict[str, Any], setting: dict[str, Any]) -> dict[str, Any]:
    """Fit the authors' GraphDictLog; return its mean graph, or the state of every window."""
    from graph_learn.dictionary import GraphDictLog

    samples = given["signals"] / given["signals"].std()
    window = int(given["window"]) if given["task"] == "states" else 1
    model = GraphDictLog(
        n_atoms=setting["n_atoms"], window_size=window, l1_w=setting["l1_w"],
        max_iter=setting["max_iter"], random_state=0,
    )  # fmt: skip
    model.fit(samples)
    coefficients = np.asarray(model.coefficients_).T
    if given["task"] == "states":
        if len(coefficients) > len(samples) // window:  # one row for each sample
            coefficients = _by_window(coefficients, window)
        return {"states": two_means(coefficients[: len(samples) // window])}
    return {"edges": coefficients.mean(0) @ model.weights_}


METHODS = {  # and what to import before time is taken
    "GaussianHMM": (hmm, "hmmlearn.hmm"),
    "RiemannKmeans": (riemann, "pyriemann.clustering"),
    "TangentSpace": (tangent_space, "pyriemann.tangentspace"),
    "OslHMM": (osl_hmm, "osl_dynamics.models.hmm"),
    "Microstates": (microstates, "pycrostates.cluster"),
    "TimeGraphicalLasso": (time_varying_lasso, "regain.covariance"),
    "GGLasso": (graphical_lasso, "gglasso.problem"),
    "AuthorsGraphDictLog": (authors, "graph_learn.dictionary"),
}


def several(given: dict[str, Any]) -> list[Any]:
    """Return the recordings, one or more."""
    if given["task"] == "graphs":
        return list(given["recordings"])
    return [given["signals"]]


def windows(samples: Any, length: int) -> Any:
    """Return whole windows (n, length, d) of samples (T, d)."""
    count = len(samples) // length
    return samples[: count * length].reshape(count, length, -1)


def _by_window(values: Any, length: int) -> Any:
    """Return the mean over each window (n, K) of values (T, K)."""
    return windows(values, length).mean(1)


def partial_correlations(precision: Any) -> Any:
    """Return the sizes (E,) of partial correlations."""
    scale = np.sqrt(np.diag(precision))
    return np.abs(precision / np.outer(scale, scale))[np.triu_indices(len(scale), 1)]


def two_means(features: Any) -> Any:
    """Return the best of several runs of two-means of features (n, p)."""
    from sklearn.cluster import KMeans

    return KMeans(2, n_init=10, random_state=0).fit_predict(features)


def peak_memory() -> float:
    """Return the largest memory of this process so far, in bytes, where the system says it."""
    try:
        text = Path("/proc/self/status").read_text()
    except OSError:
        return float("nan")
    return 1024.0 * float(text.split("VmHWM:")[1].split()[0])


def reset_peak() -> None:
    """Let the peak of this process's memory begin anew, where the system can."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def timed(fit: Any, given: dict[str, Any], setting: dict[str, Any]) -> dict[str, Any]:
    """Return what a method finds, with ``cpu`` and ``wall`` seconds and ``memory`` in bytes."""
    reset_peak()
    before = peak_memory()
    wall, cpu = time.perf_counter(), time.process_time()
    found = fit(given, setting)
    return {
        **found,
        "cpu": time.process_time() - cpu,
        "wall": time.perf_counter() - wall,
        "memory": peak_memory() - before,
    }


def main() -> None:
    """Fit one method and write what it found."""
    method, source, target = sys.argv[1:]
    with np.load(source, allow_pickle=False) as file:
        given = {name: file[name] for name in file.files}
    setting = json.loads(str(given.pop("setting")))
    given["task"] = str(given["task"])
    warnings.simplefilter("ignore")
    fit, module = METHODS[method]
    importlib.import_module(module)
    found = timed(fit, given, setting)
    np.savez(target, **found)


if __name__ == "__main__":
    main()
