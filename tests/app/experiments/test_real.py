"""The experiment on measured signals: its measures against definitions, its choices, its run."""

import csv
import os
from dataclasses import replace
from functools import partial
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.io import savemat
from scipy.stats import multivariate_normal, multivariate_t

from graphdict import GraphDictMarginal
from graphdict.app.cli import main
from graphdict.app.experiments import EXPERIMENTS
from graphdict.app.experiments.real import environments
from graphdict.app.experiments.real.figures import graphs_on_the_map, states_in_time
from graphdict.app.experiments.real.grid import RealGrid, grid
from graphdict.app.experiments.real.measure import (
    ENVIRONMENT_OF,
    _features,
    _fit,
    _ranked,
    run_cell_of,
)
from graphdict.app.experiments.real.methods import METHODS, density_of
from graphdict.app.experiments.real.report import tables, verdicts
from graphdict.app.experiments.real.selection import OURS, Scores, compare, gather
from graphdict.app.experiments.real.sets import ImaginedMoves, cut, state_trials
from graphdict.app.experiments.real.switching import SwitchingDensity, contrasts
from graphdict.datasets import MeasuredSignals
from graphdict.datasets.measured import nearest_neighbours


def a_density(rng, states, dimension, *, chain=False, tails=np.inf):
    roots = rng.normal(size=(states, dimension, dimension))
    covariances = roots @ roots.swapaxes(1, 2) + 0.5 * np.eye(dimension)
    return SwitchingDensity.from_covariances(
        rng.normal(size=(states, dimension)), covariances, start=rng.dirichlet(np.ones(states)),
        transitions=rng.dirichlet(np.ones(states), states) if chain else None, tails=tails,
    )  # fmt: skip


def states_log_likelihood(density, path, samples):
    """The joint log-density of samples and a path of states, by SciPy."""
    total = np.log(density.start[path[0]])
    for before, after in pairwise(path):
        weights = density.start if density.transitions is None else density.transitions[before]
        total += np.log(weights[after])
    for k, x in zip(path, samples):
        covariance = np.linalg.inv(density.precisions[k])
        if np.isinf(density.tails):
            total += multivariate_normal(density.means[k], covariance).logpdf(x)
        else:
            total += multivariate_t(density.means[k], covariance, df=density.tails).logpdf(x)
    return total


@pytest.mark.parametrize("chain", [False, True])
@pytest.mark.parametrize("tails", [np.inf, 5.0])
def test_likelihood_is_the_sum_over_all_paths(chain, tails):
    rng = np.random.default_rng(0)
    density = a_density(rng, 2, 3, chain=chain, tails=tails)
    samples = rng.normal(size=(4, 3))
    paths = product(range(2), repeat=4)
    expected = np.logaddexp.reduce([states_log_likelihood(density, p, samples) for p in paths])
    assert density.log_likelihood(samples) == pytest.approx(expected)


@pytest.mark.parametrize("chain", [False, True])
def test_hidden_entries_are_predicted_by_their_conditional_mean(chain):
    """Of a Gaussian on N nodes whose mean over nodes varies hugely, so that it says nothing."""
    rng = np.random.default_rng(1)
    nodes, length = 5, 3
    basis = contrasts(nodes)
    density = a_density(rng, 2, nodes - 1, chain=chain)
    signals = rng.normal(size=(length, nodes)) + 3
    hidden = np.array([[0, 3], [1, 2], [4, 0]])
    found = density.predict(signals, hidden)
    whole = [basis @ np.linalg.inv(p) @ basis.T + 1e7 * np.ones((nodes, nodes))
             for p in density.precisions]  # fmt: skip
    means = density.means @ basis.T
    weights, values = [], []
    for path in product(range(2), repeat=length):
        log = np.log(density.start[path[0]])
        for before, after in pairwise(path):
            log += np.log((density.start if not chain else density.transitions[before])[after])
        predicted = []
        for k, x, out in zip(path, signals, hidden):
            seen = np.setdiff1d(np.arange(nodes), out)
            inner = whole[k][np.ix_(seen, seen)]
            log += multivariate_normal(means[k][seen], inner, allow_singular=True).logpdf(x[seen])
            gain = whole[k][np.ix_(out, seen)] @ np.linalg.inv(inner)
            predicted.append(means[k][out] + gain @ (x[seen] - means[k][seen]))
        weights.append(log)
        values.append(predicted)
    shares = np.exp(np.array(weights) - np.logaddexp.reduce(weights))
    np.testing.assert_allclose(found, np.tensordot(shares, values, 1), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    "options",
    [
        {"filter_power": 1, "tails": "gaussian", "prior": "markov", "max_active": 1},
        {"filter_power": 2.0, "tails": 5.0, "max_active": 2},
    ],
)
def test_the_density_of_our_model_is_its_score(options):
    rng = np.random.default_rng(2)
    x = rng.normal(size=(400, 5)) @ rng.normal(size=(5, 5)) * np.exp(rng.normal(size=(400, 1)))
    model = GraphDictMarginal(2, n_init=2, max_iter=20, random_state=0, **options).fit(x[:300])
    density = SwitchingDensity(**{k: np.asarray(v) for k, v in density_of(model).items()})
    expected = model.score(x[300:]) - 4 * np.log(model.scale_)
    value = density.log_likelihood(x[300:] @ contrasts(5)) / 100
    assert value == pytest.approx(expected, rel=1e-6)


def test_blocks_are_held_out_once_and_centred_by_training():
    x = np.random.default_rng(3).normal(size=(205, 3)) + 7
    folds = [cut(x, fold) for fold in range(5)]
    assert sum(len(block) for fold in folds for block in fold.test) == 205
    for fold in folds:
        np.testing.assert_allclose(np.concatenate(fold.train).mean(axis=0), 0, atol=1e-12)
        parts = fold.train + fold.validation + fold.test
        assert sum(map(len, parts)) == 205
        assert not set(fold.positions["train"]) & set(fold.positions["test"])


def test_the_control_has_one_state_only():
    states = np.repeat(["open", "closed"], 1000)
    x = np.where(states == "open", 0.0, 100.0)[:, None] + np.zeros((2000, 2))
    trials = state_trials(MeasuredSignals(x, ["a", "b"], states=states), "eyes", 1)
    assert trials["states"].truth.tolist() == [0] * 6 + [1] * 6
    assert np.ptp(trials["states"].signals) > 0
    assert np.ptp(trials["control"].signals) == 0
    assert trials["control"].truth.tolist() == [0] * 3 + [1] * 3


def row(model, seed, data="set", task="signals", **measured):
    cell = {"data": data, "seed": seed, "model": model, "setting": {"task": task}}
    cell["setting"] |= {"number": measured.pop("number", 0)}
    return {
        "cell": cell, "status": "done", "seconds": {"cpu": 1.0, "wall": 1.0}, "megabytes": 2.0,
        **measured,
    }  # fmt: skip


def test_settings_are_chosen_without_what_scores_them():
    rows = [
        row(
            "A", 0, nats={"validation": [1.0], "test": [-9.0]},
            imputation={"validation": [0.3], "test": [0.1]}, number=0,
        ),
        row(
            "A", 0, nats={"validation": [0.0], "test": [9.0]},
            imputation={"validation": [0.2], "test": [0.4]}, number=1,
        ),
        row("A", 1, "eyes", "states", states=1.0, control=0.0, number=0),
        row("A", 2, "eyes", "states", states=0.0, control=0.0, number=0),
        row("A", 1, "eyes", "states", states=0.5, control=0.1, number=1),
        row("A", 2, "eyes", "states", states=0.6, control=0.2, number=1),
        row("A", 1, "imagery", "features", features=0.9, number=0),
        row("A", 2, "imagery", "features", features=0.6, number=0),
        row("A", 1, "imagery", "features", features=0.8, number=1),
        row("A", 2, "imagery", "features", features=0.7, number=1),
    ]  # fmt: skip
    found = {(s.measure, s.data): s for s in gather(rows)}
    assert found["nats", "set"].values == [-9.0]
    assert found["imputation", "set"].values == [0.4]  # by the error of validation blocks
    assert found["features", "imagery"].values == [0.8, 0.6]
    assert found["states", "eyes"].values == [0.5, 0.0]  # by the other subject's score
    assert found["control", "eyes"].values == [0.1, 0.0]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", ["GraphDictMarginal", "LogPower", "CSP"])
def test_features_tell_trials_of_other_runs_apart(method):
    pytest.importorskip("mne")
    rng = np.random.default_rng(5)
    right = np.tile([False, True], 12)
    trials = rng.normal(size=(24, 80, 6)).cumsum(axis=2)  # neighbours vary together
    trials[right, :, :2] *= 0.6
    moves = ImaginedMoves(trials, right, np.repeat([4, 8, 12], 8))
    setting = next(s for s in grid("quick").models[method] if s["task"] == "features")
    setting = {name: value for name, value in setting.items() if name != "task"}

    def fit(**given):
        return _fit(method, setting, {"task": "features", **given}, {})

    row = _features(moves, fit)
    assert row["features"] > 0.9
    assert len(row["runs"]) == 3
    shuffled = replace(moves, right=np.tile([False, True, True, False], 6))
    assert abs(_features(shuffled, fit)["features"] - 0.5) < 0.35


def test_pairs_without_an_edge_are_ranked_below_by_correlation():
    basis = contrasts(3)
    covariance = np.array([[2.0, 1.5, 0.1], [1.5, 2.0, 0.6], [0.1, 0.6, 2.0]])
    inner = np.linalg.inv(basis.T @ covariance @ basis)[None]
    density = SwitchingDensity(np.zeros((1, 2)), inner, start=np.ones(1))
    ranked = _ranked(np.array([0.0, 0.7, 0.0]), [density] * 2, basis)
    assert ranked[1] == 0.7
    assert ranked[2] < ranked[0] < 0  # nodes 0 and 1 vary together, 1 and 2 do not
    dense = np.array([0.1, 0.7, 0.2])
    np.testing.assert_array_equal(_ranked(dense, [density], basis), dense)
    np.testing.assert_array_equal(_ranked(dense, [], basis), dense)


def test_verdicts_compare_on_the_same_blocks():
    units = ["a", "b", "c"]
    ours = Scores("nats", "set", OURS, [1.0, 2.0, 3.0], units, [1.0])
    near = Scores("nats", "set", "near", [1.1, 1.9, 3.0], units, [1.0])
    far = Scores("nats", "set", "far", [0.0, 1.0, 2.0], units, [1.0])
    assert compare(ours, far) == (1.0, 0.0)
    assert [line["verdict"] for line in verdicts([ours, near, far])] == ["equal"]
    assert [line["verdict"] for line in verdicts([ours, far])] == ["better"]
    errors = [replace(s, measure="imputation") for s in (ours, far)]
    assert [line["verdict"] for line in verdicts(errors)] == ["worse"]


def test_every_method_is_declared_and_has_no_more_settings_than_ours():
    for scale in ("quick", "full"):
        declared = grid(scale)
        left_out = {"OslHMM"} if scale == "quick" else set()  # needs TensorFlow, minutes
        assert set(declared.models) == set(METHODS) | set(ENVIRONMENT_OF) - left_out
        for task in ("signals", "states", "features", "graphs"):
            counts = {
                name: sum(s["task"] == task for s in tried)
                for name, tried in declared.models.items()
            }
            assert max(counts.values()) == counts[OURS]
        assert {environments.REQUIREMENTS[name] for name in ENVIRONMENT_OF.values()}


def test_a_failing_environment_says_why(tmp_path, monkeypatch):
    monkeypatch.setattr(environments.sys, "executable", "false")
    with pytest.raises(environments.EnvironmentFailedError, match=r"for hmmlearn failed: no mess"):
        environments.make("hmmlearn", tmp_path)


@pytest.fixture
def folder(tmp_path):
    """Small files of some of the sets."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=(2, 60, 4)).cumsum(axis=2)
    savemat(tmp_path / "sim1.mat", {"ts": x.reshape(-1, 4), "net": np.stack([np.eye(4, k=1)] * 2)})
    names = ["WM", "Vent", "Brain", "LA", "LB", "RA", "RB"]
    table = rng.normal(size=(100, 7)) @ (np.eye(7) + 0.5 * np.eye(7, k=2))
    text = "\n".join([",".join(names), *(",".join(f"{v:.5f}" for v in r) for r in table)])
    (tmp_path / "fmri_timeseries.csv").write_text(text)
    return tmp_path


def small_grid(folder):
    whole = grid("quick", folder)
    sets = {name: whole.data[name] for name in ("fmri", "netsim-1")}
    return replace(
        whole, data=sets, seeds=[0], draw=partial(whole.draw.func, (folder,), {}),
        models={k: v for k, v in whole.models.items() if k not in ENVIRONMENT_OF},
    )  # fmt: skip


@pytest.mark.filterwarnings("ignore")
def test_cells_measure_what_their_task_asks(folder, tmp_path):
    declared = small_grid(folder)
    assert isinstance(declared, RealGrid)
    rows = []
    for cell in declared.cells():
        measured = declared.measure(declared, cell)
        rows.append({"cell": cell.describe(), "status": "done", **measured})
    found = {(r["cell"]["data"], r["cell"]["model"]): r for r in reversed(rows)}
    ours = found["fmri", OURS]  # the first setting
    assert len(ours["nats"]["test"]) == len(ours["imputation"]["test"]) == 3
    assert set(ours["map"]) == {"auc", "precision"}
    signed = [r for r in rows if r["cell"]["setting"].get("signed")]
    assert signed
    assert all("nats" in r and "map" not in r for r in signed)
    assert "nats" not in found["fmri", "Correlation"]
    assert len(found["netsim-1", OURS]["auc"]) == 2
    outcomes, paths = tables(declared, rows, tmp_path)
    assert {path.name for path in paths} == {"scores.csv", "verdicts.csv", "table.md"}
    drawn = EXPERIMENTS["real"].report(declared, outcomes, tmp_path)
    assert {path.name for path in drawn} == {"nats.png", "nats.pdf"}


def test_states_are_drawn_above_the_known_ones():
    shown = [
        row(model, seed, "eyes", "states", states=0.5, control=0.0, truth=[0, 0, 1, 1], found=found)
        for seed in (1, 2)
        for model, found in ((OURS, [1, 1, 0, 0]), ("PowerKMeans", [0, 1, 1, 1]))
    ]
    figure = states_in_time(shown)
    assert len(figure.axes) == 2
    image = figure.axes[0].images[0].get_array()
    np.testing.assert_array_equal(image, [[0, 0, 1, 1], [0, 1, 1, 1], [0, 0, 1, 1]])


def test_graphs_are_drawn_on_their_map(tmp_path):
    places = np.column_stack([np.arange(8.0), np.zeros(8)])
    names = np.array([f"state {i}" for i in range(8)], dtype=object)
    file = {"data_2d_state": np.zeros((9, 8)), "center_vector": places, "state_list": names}
    savemat(tmp_path / "us_temperature.mat", file)
    weights = np.linspace(0, 1, 28).tolist()
    figure = graphs_on_the_map([row(OURS, 0, "temperature", edges=weights)], (tmp_path,))
    assert len(figure.axes[0].collections[0].get_segments()) == nearest_neighbours(places).sum()


@pytest.mark.filterwarnings("ignore")
def test_the_command_leaves_out_what_is_absent(folder, tmp_path, monkeypatch):
    monkeypatch.delenv("GRAPHDICT_DATA", raising=False)
    monkeypatch.setattr("graphdict.app.experiments.real.grid._sets", lambda *_: {
        "fmri": {"kind": "fmri", "task": "signals", "parts": [0]},
        "temperature": {"kind": "temperature", "task": "signals", "parts": [0]},
    })  # fmt: skip
    out = tmp_path / "out"
    arguments = ["experiment", "real", "--data-dir", str(folder), "--output", str(out)]
    arguments += ["--models", "LedoitWolf,Correlation", "--jobs", "1"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    assert "us_temperature.mat was looked for" in result.output
    assert "--environments names no folder" in result.output
    lines = list(csv.DictReader((out / "scores.csv").open()))
    assert {line["data"] for line in lines} == {"fmri"}


ENVIRONMENTS = Path(os.environ.get("GRAPHDICT_ENVIRONMENTS", "no folder"))


@pytest.mark.parametrize("method", list(ENVIRONMENT_OF))
def test_a_peer_in_its_environment(method, folder):
    home = ENVIRONMENTS / ENVIRONMENT_OF[method]
    if not home.is_dir():
        pytest.skip(f"{home} is no environment; GRAPHDICT_ENVIRONMENTS says where they are")
    python = environments.make(ENVIRONMENT_OF[method], ENVIRONMENTS)
    setting = next(s for s in grid("quick").models[method] if s["task"] != "graphs")
    if setting["task"] != "signals":
        pytest.skip("finds states only, for which there is no small set")
    fmri = {"kind": "fmri"}
    pythons = {ENVIRONMENT_OF[method]: python}
    measured = run_cell_of(method, dict(setting), fmri, 0, (folder,), pythons)
    assert measured["seconds"]["cpu"] >= 0
    assert "nats" in measured or "map" in measured
