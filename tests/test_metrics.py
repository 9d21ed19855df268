"""Metrics against their definitions and against scikit-learn, one graph at a time."""

import warnings

import numpy as np
import pytest
from sklearn.metrics import matthews_corrcoef, precision_score, recall_score

from graphdict import metrics
from graphdict.results import InstantaneousGraphs


def _pair(samples=40, edges=45, seed=0):
    rng = np.random.default_rng(seed)
    true = rng.uniform(0.1, 3, (samples, edges)) * (rng.random((samples, edges)) < 0.2)
    predicted = np.maximum(true + rng.normal(size=true.shape), 0)
    return true, predicted


def _naive(true, predicted, threshold):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.array(
            [
                [
                    matthews_corrcoef(t > 0, p > threshold),
                    precision_score(t > 0, p > threshold, zero_division=0),
                    recall_score(t > 0, p > threshold, zero_division=0),
                ]
                for t, p in zip(true, predicted)
            ]
        ).T


@pytest.mark.parametrize("threshold", [0.0, 0.7, 100.0])
def test_edge_scores_equal_a_loop_over_scikit_learn(threshold):
    true, predicted = _pair()
    scores = metrics.edge_scores(true, predicted, threshold)
    np.testing.assert_allclose(
        [scores.mcc, scores.precision, scores.recall], _naive(true, predicted, threshold)
    )
    assert scores.mean()["mcc"] == pytest.approx(scores.mcc.mean())


def test_scores_are_zero_where_nothing_supports_them():
    empty, full = np.zeros((1, 6)), np.ones((1, 6))
    for true, predicted in [(empty, empty), (empty, full), (full, empty), (full, full)]:
        scores = metrics.edge_scores(true, predicted)
        assert scores.mcc[0] == 0
        assert scores.precision[0] == float(true is full and predicted is full)
        assert scores.recall[0] == float(true is full and predicted is full)


def test_blocks_do_not_change_scores(monkeypatch):
    true, predicted = _pair()
    whole = metrics.edge_scores(true, predicted, 0.3)
    tuned = metrics.best_threshold(true, predicted)
    monkeypatch.setattr(metrics, "BLOCK_BYTES", 8 * 45 * 7)
    np.testing.assert_array_equal(metrics.edge_scores(true, predicted, 0.3).mcc, whole.mcc)
    assert metrics.best_threshold(true, predicted) == pytest.approx(tuned)


def test_instantaneous_graphs_are_scored_like_their_weights():
    rng = np.random.default_rng(1)
    graphs = InstantaneousGraphs(rng.random((30, 3)), rng.random((3, 45)))
    true = _pair(30)[0]
    a, b = metrics.edge_scores(true, graphs, 0.5), metrics.edge_scores(true, graphs.weights, 0.5)
    np.testing.assert_array_equal(a.mcc, b.mcc)
    assert metrics.best_threshold(true, graphs) == metrics.best_threshold(true, graphs.weights)


def test_thresholds_together_equal_each_alone():
    true, predicted = _pair()
    thresholds = [0.9, 0.0, predicted[3, 5], 2.5, -1.0]
    together = metrics.scores_by_threshold(true, predicted, thresholds)
    for index, threshold in enumerate(thresholds):
        alone = metrics.edge_scores(true, predicted, threshold).mean()
        assert together.mcc[index] == pytest.approx(alone["mcc"])
        assert together.precision[index] == pytest.approx(alone["precision"])
        assert together.recall[index] == pytest.approx(alone["recall"])


def test_best_threshold_is_the_best_of_the_candidates():
    true, predicted = _pair()
    candidates = np.linspace(0, 3, 31)
    means = [metrics.edge_scores(true, predicted, c).mean()["mcc"] for c in candidates]
    threshold, mcc = metrics.best_threshold(true, predicted, candidates)
    assert threshold == candidates[np.argmax(means)]
    assert mcc == pytest.approx(max(means))
    assert metrics.best_threshold(true, true)[1] == pytest.approx(1.0)
    assert metrics.best_threshold(true, np.zeros_like(true)) == (0.0, 0.0)


def test_single_graphs_are_accepted():
    true, predicted = _pair(1)
    scores = metrics.edge_scores(true[0], predicted[0], 0.5)
    np.testing.assert_allclose(scores.mcc, _naive(true, predicted, 0.5)[0])


@pytest.mark.parametrize(
    ("true", "predicted", "message"),
    [
        (np.ones((3, 6)), np.ones((2, 6)), "same number of graphs"),
        (np.ones((3, 6)), np.ones((3, 10)), "same number of edges"),
        (np.ones((3, 6)), np.full((3, 6), np.nan), "predicted contains NaN"),
        (np.full((3, 6), np.nan), np.ones((3, 6)), "true contains NaN"),
        (np.ones((0, 6)), np.ones((0, 6)), "no graphs"),
    ],
)
def test_mismatches_are_named(true, predicted, message):
    with pytest.raises(ValueError, match=message):
        metrics.edge_scores(true, predicted)


def test_bad_thresholds_are_named():
    with pytest.raises(ValueError, match="thresholds"):
        metrics.scores_by_threshold(*_pair(), [])


@pytest.mark.parametrize("extra", [0, 2])
def test_atoms_are_matched_through_permutation_scale_and_noise(extra):
    rng = np.random.default_rng(0)
    true = rng.random((4, 45)) * (rng.random((4, 45)) < 0.3)
    order = rng.permutation(4)
    learned = np.vstack([3 * true[order], rng.random((extra, 45))])
    matching = metrics.match_atoms(true, learned)
    np.testing.assert_array_equal(matching.true, np.arange(4))
    np.testing.assert_array_equal(order[matching.learned], np.arange(4))
    np.testing.assert_allclose(matching.similarity, 1)


def test_matching_with_fewer_learned_atoms_and_dead_ones():
    true = np.eye(4, 45)
    learned = np.vstack([np.zeros(45), true[2]])
    matching = metrics.match_atoms(true, learned)
    assert len(matching.true) == 2
    assert (2, 1) in set(zip(matching.true, matching.learned))
    assert sorted(matching.similarity) == [0, 1]


def test_coefficient_error():
    rng = np.random.default_rng(0)
    true = rng.integers(0, 2, (50, 3)).astype(float)
    atoms = np.eye(3, 45)
    order = np.array([2, 0, 1])
    matching = metrics.match_atoms(atoms, atoms[order])
    assert metrics.coefficient_error(true, true[:, order], matching) == 0
    halved = metrics.coefficient_error(true, 0.5 * true[:, order], matching)
    assert halved == pytest.approx(np.sqrt(np.mean((0.5 * true) ** 2)))
    rescaled = metrics.coefficient_error(true, 0.5 * true[:, order], matching, rescale=True)
    assert rescaled == pytest.approx(0)
    few = metrics.match_atoms(atoms, atoms[:1])
    missing = metrics.coefficient_error(true, true[:, :1], few)
    assert missing == pytest.approx(np.sqrt(np.mean(true * [0, 1, 1])))


def test_mismatched_coefficients_and_atoms_are_named():
    matching = metrics.match_atoms(np.eye(2, 6), np.eye(2, 6))
    with pytest.raises(ValueError, match="same number of rows"):
        metrics.coefficient_error(np.ones((3, 2)), np.ones((4, 2)), matching)
    with pytest.raises(ValueError, match="same number of edges"):
        metrics.match_atoms(np.ones((2, 6)), np.ones((2, 10)))
