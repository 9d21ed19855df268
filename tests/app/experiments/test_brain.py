"""The brain experiment: on simulated hands, on simulated files, and on the recordings."""

import csv
import json
import os
import sys
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from invoking import invoke

pytest.importorskip("mne", reason="mne is not installed: the extra eeg brings it")
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "eeg"))

from edf import write_subject

from graphdict.app.experiments import EXPERIMENTS, brain, brain_report
from graphdict.app.experiments.brain_data import (
    REGIONS,
    Events,
    phase_covariances,
    pick_region,
    whiten_subject,
)
from graphdict.app.experiments.brain_guided import (
    Ridge,
    guided_atoms,
    hand_ratios,
    sample_roots,
    score_guided,
)
from graphdict.app.experiments.brain_references import score_reference
from graphdict.app.experiments.brain_scoring import nested_scores, standardise_features
from graphdict.app.experiments.brain_states import best_forests, score_states
from graphdict.app.experiments.command import experiment
from graphdict.datasets.eegbci import EEGBCI_CHANNELS

NODES = 6
LEFT, RIGHT = [0, 1, 2], [3, 4, 5]  # electrodes over each side


def hands(seed=0, trials=24, effect=0.4, times=160):
    """Imagery of a hand weakens the rhythm of the other side; each subject has its own mixing."""
    rng = np.random.default_rng(seed)
    right = np.arange(trials) % 2 == 1
    signals = rng.standard_normal((trials, NODES, times))
    for trial, hand in zip(signals, right):
        trial[LEFT if hand else RIGHT] *= 1 - effect
    mixing = np.eye(NODES) + 0.2 * rng.random((NODES, NODES))
    return Events((1e-5 * mixing @ signals).astype(np.float32), right, 160.0)


@pytest.fixture(scope="module")
def subjects():
    return {number: hands(number) for number in range(1, 5)}


def test_recentring_whitens_without_labels(subjects):
    events = subjects[1]
    whitened = whiten_subject(events)
    swapped = whiten_subject(Events(events.signals, ~events.right, events.sfreq))
    np.testing.assert_array_equal(whitened.signals, swapped.signals)
    flat = np.moveaxis(whitened.signals.astype(float), 1, 0).reshape(NODES, -1)
    values = np.linalg.eigvalsh(flat @ flat.T / flat.shape[1])
    np.testing.assert_allclose(values, [0] + [1] * (NODES - 1), atol=1e-3)


def test_phases_have_equal_power_and_keep_their_order():
    events = hands()
    events.signals[:, 0, 80:] *= 100
    covariances = phase_covariances(events, 2)
    assert covariances.shape == (24, 2, NODES, NODES)
    np.testing.assert_allclose(np.trace(covariances, axis1=2, axis2=3), NODES)
    assert (covariances[:, 1, 0, 0] > 0.9 * NODES).all()
    assert (covariances[:, 0, 0, 0] < 0.9 * NODES).all()


def test_roots_of_covariances_have_their_second_moments(subjects):
    covariances = phase_covariances(subjects[1], 1)[:3, 0]
    samples = sample_roots(covariances).reshape(3, NODES, NODES)
    np.testing.assert_allclose(np.swapaxes(samples, 1, 2) @ samples / NODES, covariances, atol=1e-9)


def test_ridge_is_its_own_gradient():
    atoms, step = np.random.default_rng(0).random((2, 3, 10))
    term = Ridge(3.0)
    slope = (term.value(atoms + 1e-6 * step) - term.value(atoms - 1e-6 * step)) / 2e-6
    assert slope == pytest.approx(np.vdot(term.gradient(atoms), step))
    assert term.lipschitz(atoms) == 3.0


@pytest.mark.parametrize(("model", "size"), [("GraphDictExact", 3), ("GraphDictLog", 4)])
def test_the_graph_of_a_hand_is_strong_where_its_rhythm_is_weak(model, size):
    weak = np.stack([np.diag([1, 1, 1, 0.3, 0.3, 0.3]), np.diag([0.3, 0.3, 0.3, 1, 1, 1])])
    phases = size // 2
    means = np.repeat(weak[:, None], phases, axis=1)
    fitted = guided_atoms(model, means, {"ridge": 1.0})
    assert len(fitted.atoms_) == size
    ratios = hand_ratios(fitted.atoms_, np.swapaxes(means, 0, 1).transpose(1, 0, 2, 3))
    assert (ratios[0] < 0).all()
    assert (ratios[1] > 0).all()  # an event of the right hand is rougher through the left's graph


@pytest.mark.parametrize("model", ["GraphDictExact", "GraphDictLog", "GaussianMixture"])
@pytest.mark.parametrize("size", [3, 4])
def test_guided_dictionaries_read_hands_of_unseen_subjects(subjects, model, size):
    setting = {"n_states": size, "ridge": 1.0}
    row = score_guided(subjects, model, setting, portrait=model == "GraphDictExact" and size == 3)
    assert set(row["held_out"]) == {"1", "2", "3", "4"}
    assert np.mean(list(row["held_out"].values())) > 0.9
    assert np.mean(list(row["training"].values())) > 0.9
    assert ("portrait" in row) == (model == "GraphDictExact" and size == 3)


def test_nothing_but_the_score_depends_on_the_labels_of_the_held_out_subject(subjects):
    turned = {**subjects, 2: Events(subjects[2].signals, ~subjects[2].right, 160.0)}
    setting = {"n_states": 3}
    one, other = (score_guided(given, "GraphDictExact", setting) for given in (subjects, turned))
    assert other["held_out"]["2"] == pytest.approx(1 - one["held_out"]["2"], abs=1e-6)
    assert other["training"]["2"] == one["training"]["2"]
    assert other["training"]["1"] != one["training"]["1"]


def test_training_scores_are_those_of_two_subjects_left_out():
    rng = np.random.default_rng(0)
    features = {s: rng.standard_normal((20, 2)) for s in range(4)}
    labels = {s: features[s][:, 0] + rng.standard_normal(20) > 0 for s in features}
    scores = nested_scores(
        labels, lambda s, _: features[s], LogisticRegression, inner=LogisticRegression
    )
    found = []
    for other in (1, 2, 3):
        rest = [s for s in (1, 2, 3) if s != other]
        alone = {s: labels[s] for s in (*rest, other)}
        found.append(nested_scores(alone, lambda s, _: features[s], LogisticRegression)["held_out"])
    expected = np.mean([score[str(other)] for other, score in zip((1, 2, 3), found)])
    assert scores["training"]["0"] == pytest.approx(expected, abs=1e-6)


def test_standardised_features_survive_a_constant_one():
    values = standardise_features(np.column_stack([np.arange(4.0), np.ones(4)]))
    np.testing.assert_allclose(values.std(axis=0), [1, 0])


@pytest.mark.parametrize("model", ["CSP", "Riemann"])
def test_references_read_hands_too(subjects, model):
    row = score_reference(subjects, model, {"phases": 2})
    assert np.mean(list(row["held_out"].values())) > 0.9


@pytest.mark.parametrize("name", brain.STATES)
def test_every_model_of_states_goes_through_the_same_pipeline(subjects, name):
    setting = {"n_states": 3, "normalise": "gfp", **brain.STATES[name]}
    for adapted in (False, True):
        row = score_states(
            subjects, name, setting, 0, adapted=adapted, choose=adapted,
            portrait=name == "GraphDictLog",
        )  # fmt: skip
        assert row["features"] == (12 if adapted else 9)
        assert all(0 <= value <= 1 for value in row["held_out"].values())
        assert ("training" in row) == adapted
    if name == "GraphDictLog":
        assert np.shape(row["portrait"]["coefficients"]) == (50, 3)
        assert np.sum(row["portrait"]["importance"]) == pytest.approx(1, abs=1e-2)


@pytest.mark.parametrize("scale", ["quick", "full"])
def test_every_model_is_tried_equally_often_in_its_place(scale):
    budgets = defaultdict(Counter)
    for cell in brain.grid(scale).cells():
        place = [cell.setting.get(k) for k in ("pipeline", "start", "n_states", "phases")]
        budgets[tuple(place)][cell.model] += 1
    for counts in budgets.values():
        assert len(set(counts.values())) == 1, counts
    if scale == "full":
        for pipeline in ("paper", "adapted"):
            for size in (3, 4, 8, 16):
                assert set(budgets[pipeline, 0.0, size, None]) == set(brain.STATES)


def test_settings_are_chosen_by_the_other_subjects():
    def row(normalise, held_out, training):
        setting = {"pipeline": "paper", "start": 0.0, "n_states": 3, "normalise": normalise}
        return {
            "status": "done", "features": 9, "cell": {"model": "KMeans", "setting": setting},
            "held_out": {"1": held_out, "2": 0.5}, "training": {"1": training, "2": 0.5},
        }  # fmt: skip

    lines = brain_report.select_settings([row("gfp", 0.9, 0.6), row("recording", 0.2, 0.7)])
    assert [line["auroc"] for line in lines] == [0.2, 0.5]
    assert json.loads(lines[0]["setting"]) == {"normalise": "recording"}
    summary = brain_report.summarise(lines)
    assert summary[0]["auroc"] == pytest.approx(0.35)
    assert summary[0]["auroc_best"] == pytest.approx(0.7)  # of the setting best when held out


def test_errors_include_seeds():
    """Scores are means over seeds; what seeds move together is part of the error."""

    def row(seed, shift):
        setting = {"pipeline": "paper", "start": 0.0, "n_states": 3}
        return {
            "status": "done", "features": 9,
            "cell": {"model": "KMeans", "setting": setting, "seed": seed},
            "held_out": {"1": 0.4 + shift, "2": 0.6 + shift, "3": 0.5 + shift},
        }  # fmt: skip

    shifts = np.array([0.0, 0.05, 0.1])
    rows = [row(seed, shift) for seed, shift in enumerate(shifts)]
    other = {"status": "done", "as_seed": 0, "cell": rows[0]["cell"]}
    found = brain_report.summarise(brain_report.select_settings([*rows, other]))
    assert len(found) == 1
    assert found[0]["seeds"] == 3
    assert found[0]["subjects"] == 3
    assert found[0]["auroc"] == pytest.approx(0.55)
    by_subject, by_seed = np.var([0.45, 0.65, 0.55], ddof=1) / 3, np.var(shifts, ddof=1) / 3
    assert found[0]["auroc_error"] == pytest.approx((by_subject + by_seed) ** 0.5)
    alone = brain_report.summarise(brain_report.select_settings(rows[:1]))
    assert alone[0]["auroc_error"] == pytest.approx((0.01 / 3) ** 0.5)


def test_of_several_forests_the_best_on_other_subjects_is_taken():
    tried = [
        {"held_out": {"1": 0.9, "2": 0.3}, "training": {"1": 0.5, "2": 0.6}},
        {"held_out": {"1": 0.4, "2": 0.7}, "training": {"1": 0.6, "2": 0.5}},
    ]
    row = best_forests(tried)
    assert row["held_out"] == {"1": 0.4, "2": 0.3}
    assert row["forests"] == pytest.approx([0.6, 0.55])
    assert best_forests(tried[:1]) == tried[0]


def test_regions_of_the_head_do_not_overlap():
    signals = np.arange(64.0)[None, :, None] * np.ones((2, 64, 5))
    events = Events(signals, np.array([True, False]), 160.0)
    picked = {
        name: [EEGBCI_CHANNELS[int(i)] for i in pick_region(events, name).signals[0, :, 0]]
        for name in REGIONS
    }
    assert len(picked["motor"]) == 21
    assert {"C3", "Cz", "C4", "FCz", "CP4"} <= set(picked["motor"])
    assert {"Fp1", "AFz", "F7", "F8", "O1", "Oz", "Iz", "PO7"} <= set(picked["eyes"])
    assert not set(picked["motor"]) & set(picked["eyes"])
    assert not {"Fz", "F3", "Pz", "T7"} & {*picked["motor"], *picked["eyes"]}
    assert pick_region(events, "all") is events


def test_the_paper_s_claim_is_tried_with_every_term():
    grid = brain.grid("paper")
    assert len(grid.seeds) == 3
    tried = grid.models["GraphDictLog"]
    assert [setting["alpha_orth"] for setting in tried] == list(brain.ORTHOGONALITY)
    assert all(setting["solver"] == "bipds" and setting["peaks"] is None for setting in tried)
    assert all(len(setting["leaves"]) > 1 for setting in tried)
    places = {(s["start"], s.get("channels", "all")) for s in grid.models["GraphDictExact"]}
    assert places == {(t, c) for t in (0.0, 1.0) for c in ("all", "eyes", "motor")}
    again = grid.cells(["CSP"], None, [1])
    assert brain.measure(grid, again[0]) == {"as_seed": 0}


def run(*arguments):
    return invoke(experiment, "brain", *arguments)


@pytest.mark.filterwarnings("ignore")
def test_a_subject_that_cannot_be_read_is_named_and_the_others_go_on(tmp_path):
    for subject in (1, 2, 3, 4):
        paths = write_subject(tmp_path, subject)
    paths[1].write_bytes(paths[1].read_bytes()[:-100])
    asked = ("--data-dir", tmp_path, "--output", tmp_path / "out", "--jobs", 1)
    models = ("--models", "GraphDictExact,KMeans", "--subjects", "1,2,3,4")
    result = run(*asked, *models)
    assert result.exit_code == 0, result.output
    assert "left out: subject 4" in result.output
    assert "truncated" in result.output
    lines = list(csv.DictReader((tmp_path / "out" / "scores.csv").open()))
    assert {line["subject"] for line in lines} == {"1", "2", "3"}
    for name in ("scores.png", "atoms-guided.png", "summary.csv", "table.md"):
        assert (tmp_path / "out" / name).stat().st_size > 0
    before = (tmp_path / "out" / "scores.csv").read_bytes()
    assert run(*asked, *models).exit_code == 0  # finds everything there
    assert (tmp_path / "out" / "scores.csv").read_bytes() == before


def test_too_few_subjects_and_a_missing_extra_are_said_in_one_line(tmp_path, monkeypatch):
    result = run("--subjects", "1,2", "--output", tmp_path / "out")
    assert result.exit_code == 2
    assert "at least 3 subjects" in result.output
    monkeypatch.setitem(sys.modules, "mne", None)
    result = run("--output", tmp_path / "out")
    assert result.exit_code == 1
    assert "graphdict[eeg]" in result.output


@pytest.mark.filterwarnings("ignore")
def test_the_quick_experiment_on_the_recordings(tmp_path):
    default = Path(__file__).resolve().parents[4] / "shared" / "eegbci"
    folder = Path(os.environ.get("GRAPHDICT_EEGBCI", default))
    if not (folder / "MNE-eegbci-data").is_dir():
        pytest.skip(f"the EEGBCI recordings are not in {folder}; GRAPHDICT_EEGBCI says where")
    result = run("--data-dir", folder, "--output", tmp_path / "out", "--jobs", 1)
    assert result.exit_code == 0, result.output
    lines = list(csv.DictReader((tmp_path / "out" / "scores.csv").open()))
    found = {(line["pipeline"], line["model"]) for line in lines}
    assert {model for pipeline, model in found if pipeline == "paper"} == set(brain.STATES)
    assert {model for pipeline, model in found if pipeline == "reference"} == {"CSP", "Riemann"}
    assert (tmp_path / "out" / "atoms-paper.png").exists()


def test_the_experiment_is_declared():
    assert EXPERIMENTS["brain"].grid("full").data["eegbci"]["subjects"] == list(range(1, 16))
