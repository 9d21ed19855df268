"""What decides which setting and threshold a model is judged by."""

import numpy as np
import pytest
from fake_experiment import FAKE, make_grid

from graphdict.app.experiments import EXPERIMENTS
from graphdict.app.experiments.cells import run_cell
from graphdict.app.experiments.command import run_experiment
from graphdict.app.experiments.grids import THRESHOLDS
from graphdict.app.experiments.tables import METRICS, choose, summarise
from graphdict.metrics import edge_scores


def rows_of(grid):
    return [run_cell(grid, cell) for cell in grid.cells()]


def test_least_noise_is_chosen_and_scored_on_the_test_set():
    grid = make_grid()
    rows = rows_of(grid)
    choices = choose(rows, grid.thresholds)
    assert len(choices) == 8
    for choice in choices:
        assert choice.setting["noise"] == {"Careful": 0.1, "Sloppy": 0.5}[choice.model]
        assert choice.tried == 3
        samples = grid.draw(grid.data[choice.data], choice.seed)
        model = grid.build(choice.model, choice.setting, choice.seed).fit(samples.signals)
        cut = choice.threshold * model.instantaneous_graphs().weights.mean()
        predicted = model.instantaneous_graphs(samples.test_signals).weights
        expected = edge_scores(samples.test_graphs, predicted, cut).mean()
        assert choice.scores == pytest.approx(expected, abs=1e-6)


def test_test_scores_have_no_say():
    grid = make_grid()
    rows = rows_of(grid)
    before = choose(rows, grid.thresholds)
    for row in rows:  # tempting test scores for everything that training scores advise against
        row["test"]["mcc"] = [1 - x for x in row["train"]["mcc"]]
    after = choose(rows, grid.thresholds)
    assert [(c.setting, c.threshold, c.train) for c in before] == [
        (c.setting, c.threshold, c.train) for c in after
    ]
    assert [c.scores["mcc"] for c in after] == pytest.approx([1 - c.train["mcc"] for c in before])


def test_training_scores_do_have_a_say():
    grid = make_grid()
    rows = rows_of(grid)
    worst = rows[0]
    worst["train"]["mcc"][7] = 2.0
    assert choose(rows, grid.thresholds)[0].threshold == grid.thresholds[7]
    assert choose(rows, grid.thresholds)[0].setting == worst["cell"]["setting"]


def test_without_a_test_set_the_series_itself_is_scored():
    grid = make_grid(data={"series": {"size": 20, "no_test": True}})
    for choice in choose(rows_of(grid), grid.thresholds):
        assert choice.scores == choice.train


def test_every_cell_meets_the_same_thresholds():
    grid = make_grid()
    for row in rows_of(grid):
        for part in ("train", "test"):
            for metric in METRICS:
                assert len(row[part][metric]) == len(grid.thresholds)


def test_thresholds_do_not_depend_on_the_unit_of_the_weights():
    class Scaled:
        def __init__(self, model, factor):
            self.model, self.factor = model, factor

        def fit(self, X):
            self.model.fit(X)
            return self

        def instantaneous_graphs(self, X=None):
            graphs = self.model.instantaneous_graphs(X)
            graphs.weights = graphs.weights * self.factor
            return graphs

    plain = make_grid()
    scaled = make_grid(build=lambda *a: Scaled(plain.build(*a), 1024.0))
    for one, other in zip(rows_of(plain), rows_of(scaled)):
        assert one["train"] == other["train"]
        assert one["test"] == other["test"]


def test_summary_is_mean_and_sample_standard_deviation():
    choices = choose(rows_of(make_grid()), THRESHOLDS)
    line = summarise(choices)[0]
    scores = [c.scores["mcc"] for c in choices if (c.data, c.model) == ("small", "Careful")]
    assert line["seeds"] == 2
    assert line["mcc"] == pytest.approx(np.mean(scores))
    assert line["mcc_std"] == pytest.approx(abs(scores[0] - scores[1]) / np.sqrt(2))


def test_part_of_a_grid_first_and_the_rest_later(tmp_path):
    grid = make_grid()
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    run_experiment(FAKE, grid, whole)
    run_experiment(FAKE, grid, parts, models=["Sloppy"], seeds=[1])
    assert "Careful" not in (parts / "results.csv").read_text()
    run_experiment(FAKE, grid, parts)
    for name in ("results.csv", "cells.csv", "summary.csv"):
        assert (parts / name).read_bytes() == (whole / name).read_bytes()


@pytest.mark.parametrize("name", ["superposition", "time-varying"])
@pytest.mark.parametrize("scale", ["quick", "full", "paper"])
def test_declared_grids_give_every_model_the_same_budget(name, scale):
    grid = EXPERIMENTS[name].grid(scale)
    budgets = {model: len(tried) for model, tried in grid.models.items()}
    assert len(set(budgets.values())) == 1, budgets
    assert len(grid.seeds) == (1 if scale == "quick" else 5)
    assert scale == "quick" or not {0, 1} & set(grid.seeds)  # those served to choose the ranges
    keys = [cell.key for cell in grid.cells()]
    assert len(set(keys)) == len(keys)
    for model, tried in grid.models.items():
        for setting in tried:
            grid.build(model, setting, 0)


@pytest.mark.parametrize(
    ("name", "terms"),
    [
        ("superposition", {"alpha_w", "alpha_c", "alpha_orth"}),
        ("time-varying", {"alpha_w", "alpha_c", "alpha_orth", "alpha_diff", "window_size"}),
    ],
)
def test_grids_of_the_paper_try_every_term_and_the_same_windows(name, terms):
    models = EXPERIMENTS[name].grid("paper").models
    for model in ("GraphDictLog", "GraphDictSpectral"):
        for term in terms:
            assert len({setting[term] for setting in models[model]}) > 1, (model, term)
    windows = [
        {setting["window_size"] for setting in tried}
        for tried in models.values()
        if "window_size" in tried[0]
    ]
    assert all(found == windows[0] for found in windows)
