"""Run one cell: give a method its signals, and measure what it found by code that all share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score, roc_auc_score

from graphdict.app.experiments.real import environments
from graphdict.app.experiments.real.methods import METHODS
from graphdict.app.experiments.real.peers import timed
from graphdict.app.experiments.real.sets import ImaginedMoves, TaskBlocks, cut, load, state_trials
from graphdict.app.experiments.real.switching import SwitchingDensity, contrasts

ENVIRONMENT_OF = {
    "GaussianHMM": "hmmlearn",
    "RiemannKmeans": "pyriemann",
    "Microstates": "pycrostates",
    "TimeGraphicalLasso": "regain",
    "GGLasso": "gglasso",
    "AuthorsGraphDictLog": "graph_structure_learning",
    "OslHMM": "osl_dynamics",
    "TangentSpace": "pyriemann",
}
HIDDEN = 0.1  # share of entries to predict
DIGITS = 6


def measure(grid: Any, cell: Any) -> dict[str, Any]:
    """Return the row of a cell: what its task measures, CPU seconds and memory."""
    return run_cell_of(
        cell.model, dict(cell.setting), grid.data[cell.data], cell.seed, *grid.draw.args
    )


def run_cell_of(
    method: str,
    setting: dict[str, Any],
    arguments: Any,
    part: int,
    folders: tuple[Path | None, ...],
    pythons: dict[str, Path],
) -> dict[str, Any]:
    """Return the row of a method with a setting on a part (fold or subject) of a set."""
    task = setting.pop("task")
    if task == "features" or (task == "states" and arguments["kind"] == "eyes"):
        arguments = {**arguments, "subject": part}
    found = load(arguments, folders)

    def fit(**given: Any) -> dict[str, Any]:
        return _fit(method, setting, {"task": task, **given}, pythons)

    if task == "graphs":
        return _graphs(found, fit)
    if task == "features":
        return _features(found, fit)
    if task == "states":
        trials = state_trials(found, arguments["kind"], part)
        return _states(trials, fit)
    return _signals(found, cut(found.signals, part), fit)


def _fit(
    method: str, setting: dict[str, Any], given: dict[str, Any], pythons: dict[str, Path]
) -> dict[str, Any]:
    """Return what a method finds, with ``cpu``, ``wall`` and ``memory``."""
    if method in ENVIRONMENT_OF:
        python = pythons[ENVIRONMENT_OF[method]]
        return environments.run(python, method, {**given, "setting": json.dumps(setting)})
    return timed(METHODS[method], given, setting)


def _cost(*fits: dict[str, Any]) -> dict[str, Any]:
    """Return CPU and wall seconds of some fits together, and the largest memory in megabytes."""
    memory = max(float(found["memory"]) for found in fits) / 2**20
    return {
        "seconds": {name: round(sum(float(f[name]) for f in fits), 3) for name in ("cpu", "wall")},
        "megabytes": round(memory, 1) if np.isfinite(memory) else None,
    }


# Signals: held-out blocks, hidden entries, the map ----------------------------------------------


def _signals(known: Any, blocks: TaskBlocks, fit: Any) -> dict[str, Any]:
    basis = contrasts(known.signals.shape[1])
    train = np.concatenate(blocks.train)
    lengths = np.array([len(block) for block in blocks.train])
    found = fit(signals=train, coordinates=train @ basis, lengths=lengths)
    row = _cost(found)
    if known.edges is not None and "edges" in found:
        weights = np.atleast_2d(found["edges"])[0]
        densities = _densities(found, basis, blocks, "test")
        row["map"] = _edge_scores(known.edges, _ranked(weights, densities, basis))
        row["edges"] = _rounded(weights)
    for part in ("validation", "test"):
        held_out = getattr(blocks, part)
        densities = _densities(found, basis, blocks, part)
        if not densities:
            continue
        nats = [d.log_likelihood(b @ basis) / len(b) for d, b in zip(densities, held_out)]
        row.setdefault("nats", {})[part] = _rounded(nats)
        errors = _imputation(densities, held_out, train)
        row.setdefault("imputation", {})[part] = _rounded(errors)
    return row


def _densities(
    found: dict[str, Any], basis: NDArray[Any], blocks: TaskBlocks, part: str
) -> list[SwitchingDensity]:
    """Return the density for each held-out block; none where a method has no likelihood."""
    held_out = getattr(blocks, part)
    one = np.ones(1)
    mean = np.zeros((1, basis.shape[1]))
    if "series" in found:  # one for each block of training: the nearest in time counts
        places = np.array(blocks.positions["train"])
        nearest = [int(np.argmin(np.abs(places - at))) for at in blocks.positions[part]]
        inner = basis.T @ found["series"] @ basis
        return [SwitchingDensity.from_covariances(mean, inner[[i]], start=one) for i in nearest]
    if "node_covariances" in found:
        inner = basis.T @ found["node_covariances"] @ basis
        return [SwitchingDensity.from_covariances(mean, inner, start=one)] * len(held_out)
    if "means" not in found:
        return []
    others = {"start": found["start"], "transitions": found.get("transitions")}
    others["tails"] = float(found.get("tails", np.inf))
    if "precisions" in found:
        density = SwitchingDensity(found["means"], found["precisions"], **others)
    else:
        density = SwitchingDensity.from_covariances(found["means"], found["covariances"], **others)
    return [density] * len(held_out)


def _ranked(
    weights: NDArray[Any], densities: list[SwitchingDensity], basis: NDArray[Any]
) -> NDArray[Any]:
    """Return weights (E,) in whose place pairs without one have something to be ranked by.

    It is the correlation of the two nodes under the density of the method, scaled to lie below all
    weights: graphs with exact zeros would else leave most pairs in no order.
    """
    if not densities or (weights > 0).all():
        return weights
    inner = np.mean([density.covariance for density in densities], axis=0)
    covariance = basis @ inner @ basis.T
    deviations = np.sqrt(np.diag(covariance))
    correlations = (covariance / np.outer(deviations, deviations))[np.triu_indices(len(basis), 1)]
    least = weights[weights > 0].min(initial=np.inf)
    return np.where(weights > 0, weights, (correlations - 2) * (least if np.isfinite(least) else 1))


def _imputation(
    densities: list[SwitchingDensity], held_out: list[NDArray[Any]], train: NDArray[Any]
) -> list[float]:
    """Return the error of hidden entries of each block: root mean square over nodes' deviations."""
    rng = np.random.default_rng(0)
    nodes = train.shape[1]
    count = max(1, round(HIDDEN * nodes))
    deviations = train.std(axis=0)
    errors = []
    for density, block in zip(densities, held_out):
        hidden = np.argsort(rng.random(block.shape), axis=1)[:, :count]
        truth = np.take_along_axis(block, hidden, axis=1)
        gap = (density.predict(block, hidden) - truth) / deviations[hidden]
        errors.append(float(np.sqrt(np.square(gap).mean())))
    return errors


# States, features and graphs --------------------------------------------------------------------


def _states(trials: dict[str, Any], fit: Any) -> dict[str, Any]:
    row: dict[str, Any] = {}
    fits = []
    for name, trial in trials.items():
        basis = contrasts(trial.signals.shape[1])
        fits.append(
            fit(
                signals=trial.signals, coordinates=trial.signals @ basis, window=trial.window,
                lengths=np.array([len(trial.signals)]), names=np.array(trial.names),
                sfreq=trial.sfreq,
            )
        )  # fmt: skip
        found = np.asarray(fits[-1]["states"])[: len(trial.truth)]
        row[name] = round(float(adjusted_rand_score(trial.truth, found)), DIGITS)
        if name == "states":
            row["truth"] = trial.truth.tolist()
            row["found"] = found.tolist()
            if "shares" in fits[-1]:
                row["shares"] = _rounded(fits[-1]["shares"])
    return {**row, **_cost(*fits)}


def _features(found: ImaginedMoves, fit: Any) -> dict[str, Any]:
    """Return the mean AUROC of each run's trials, told apart by what the other runs say."""
    fits, scores = [], []
    for run in np.unique(found.runs):
        new = found.runs == run
        learned = found.trials[~new]
        fits.append(fit(trials=learned, right=found.right[~new], new=found.trials[new]))
        scores.append(float(roc_auc_score(found.right[new], fits[-1]["scores"])))
    return {"features": round(float(np.mean(scores)), DIGITS), "runs": scores, **_cost(*fits)}


def _graphs(subjects: list[Any], fit: Any) -> dict[str, Any]:
    found = fit(recordings=np.stack([known.signals - known.signals.mean(0) for known in subjects]))
    scores = [_edge_scores(s.edges, edges) for s, edges in zip(subjects, found["edges"])]
    return {**{key: [s[key] for s in scores] for key in scores[0]}, **_cost(found)}


def _edge_scores(truth: NDArray[Any], weights: NDArray[Any]) -> dict[str, float]:
    """Return AUC of the pairs' weights, and the share of true pairs among as many strongest."""
    strongest = np.argsort(-weights, kind="stable")[: int(truth.sum())]
    return {
        "auc": round(float(roc_auc_score(truth, weights)), DIGITS),
        "precision": round(float(truth[strongest].mean()), DIGITS),
    }


def _rounded(values: Any) -> list[float]:
    return [round(float(value), DIGITS) for value in values]
