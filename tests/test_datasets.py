"""Generators do what they say: statistics, seeds, disconnected graphs."""

import numpy as np
import pytest

from graphdict.core import graphs
from graphdict.datasets import (
    erdos_renyi,
    heat_kernel,
    make_emeg,
    make_sbg,
    make_superposition,
    sample_lgmrf,
)


def test_erdos_renyi_has_the_edge_probability_and_weight_range():
    weights = erdos_renyi(200, 20, 0.3, weight_range=(0.5, 2.0), random_state=0)
    present = weights > 0
    assert weights.shape == (200, 190)
    assert abs(present.mean() - 0.3) < 0.01
    assert weights[present].min() >= 0.5
    assert weights[present].max() <= 2.0
    assert abs(weights[present].mean() - 1.25) < 0.02


def test_lgmrf_covariance_is_the_pseudo_inverse():
    weights = erdos_renyi(1, 6, 0.7, random_state=1)[0]
    signals = sample_lgmrf(weights, 200_000, random_state=2)
    expected = np.linalg.pinv(graphs.laplacian(weights))
    assert signals.shape == (200_000, 6)
    np.testing.assert_allclose(signals.T @ signals / len(signals), expected, atol=0.01)


def test_lgmrf_on_a_graph_that_falls_apart():
    matrix = np.zeros((6, 6))
    matrix[0, 1] = matrix[1, 2] = 1.5
    matrix[3, 4] = 0.7
    weights = graphs.adjacency_to_weights(matrix)
    signals = sample_lgmrf(weights, 50_000, random_state=0)
    assert np.all(signals[:, 5] == 0)
    np.testing.assert_allclose(signals[:, :3].sum(axis=1), 0, atol=1e-12)
    np.testing.assert_allclose(signals[:, 3:5].sum(axis=1), 0, atol=1e-12)
    expected = np.linalg.pinv(graphs.laplacian(weights))
    np.testing.assert_allclose(signals.T @ signals / len(signals), expected, atol=0.02)


def test_lgmrf_of_several_graphs_keeps_their_order():
    weights = np.array([[100.0, 100, 100], [0.01, 0.01, 0.01], [100, 100, 100]])
    signals = sample_lgmrf(weights, 4, random_state=0)
    sizes = np.abs(signals).max(axis=1).reshape(3, 4)
    assert signals.shape == (12, 3)
    assert sizes[[0, 2]].max() < sizes[1].min()


def test_lgmrf_of_an_empty_graph_is_silent():
    assert np.all(sample_lgmrf(np.zeros(6), 3, random_state=0) == 0)


@pytest.mark.parametrize(
    "weights", [np.full(3, np.nan), np.array([1.0, -1, 0]), np.ones((2, 2, 3))]
)
def test_lgmrf_names_bad_weights(weights):
    with pytest.raises(ValueError, match="weights"):
        sample_lgmrf(weights)


@pytest.mark.parametrize(("s", "samples"), [(1, 2500), (2, 1666), (3, 1250), (4, 1000), (5, 833)])
def test_superposition_has_the_sizes_of_the_paper(s, samples):
    data = make_superposition(superposition=s, random_state=0)
    active = data.train.coefficients.sum(axis=1)
    assert data.train.signals.shape == (samples, 30)
    assert data.test.signals.shape == (500, 30)
    assert data.atoms.shape == (5, 435)
    assert active.min() == 1
    assert active.max() == s
    # Sizes are uniform on 1..s, and so are the atoms.
    np.testing.assert_allclose(np.bincount(active.astype(int))[1:] / samples, 1 / s, atol=0.06)
    np.testing.assert_allclose(data.train.coefficients.sum(axis=0), 500, rtol=0.15)
    np.testing.assert_array_equal(data.test.weights, data.test.coefficients @ data.atoms)


def test_superposition_signals_follow_their_graphs():
    data = make_superposition(2, 5, 0.9, 2, 60_000, 0, random_state=3)
    for pattern in ([1, 0], [0, 1], [1, 1]):
        rows = (data.train.coefficients == pattern).all(axis=1)
        chosen = data.train.signals[rows]
        expected = np.linalg.pinv(graphs.laplacian(np.array(pattern) @ data.atoms))
        np.testing.assert_allclose(chosen.T @ chosen / len(chosen), expected, atol=0.03)
    assert data.test.signals.shape == (0, 5)


def test_superposition_groups_share_coefficients():
    data = make_superposition(superposition=3, n_train=25, samples_per_graph=4, random_state=0)
    rows = data.train.coefficients
    assert len(rows) == 25
    assert all(np.ptp(rows[start : start + 4], axis=0).max() == 0 for start in range(0, 25, 4))
    assert len(np.unique(rows, axis=0)) > 2


def test_superposition_test_part_does_not_depend_on_the_training_part():
    short, long = (make_superposition(n_train=n, random_state=5) for n in (10, 100))
    other = make_superposition(superposition=4, random_state=5)
    np.testing.assert_array_equal(short.test.signals, long.test.signals)
    np.testing.assert_array_equal(short.atoms, other.atoms)


def test_emeg_edges_come_and_go_at_their_rates():
    data = make_emeg(400, 1, random_state=0, p_add=0.002, p_remove=0.03)
    before, after = data.atoms[:-1], data.atoms[1:]
    removed = ((before > 0) & (after == 0)).sum() / (before > 0).sum()
    added = ((before == 0) & (after > 0)).sum() / (before == 0).sum()
    kept = (before > 0) & (after > 0)
    assert abs(removed - 0.03) < 0.004
    assert abs(added - 0.002) < 0.0004
    np.testing.assert_array_equal(before[kept], after[kept])
    assert abs((make_emeg(1, 1, 200, random_state=0).atoms > 0).mean() - 0.1) < 0.01


def test_emeg_repeats_each_graph():
    data = make_emeg(random_state=0)
    assert data.signals.shape == (640, 36)
    np.testing.assert_array_equal(data.weights[:20], np.repeat(data.atoms[:1], 20, axis=0))
    np.testing.assert_array_equal(data.weights, data.coefficients @ data.atoms)


def test_sbg_stays_and_moves_uniformly():
    data = make_sbg(20_000, 1, n_nodes=3, p_stay=0.7, random_state=0)
    jumps = np.diff(data.states) % 6
    counts = np.bincount(jumps, minlength=6) / len(jumps)
    assert abs(counts[0] - 0.7) < 0.02
    np.testing.assert_allclose(counts[1:], 0.06, atol=0.01)
    np.testing.assert_allclose(np.bincount(data.states) / 20_000, 1 / 6, atol=0.03)


def test_sbg_shapes_and_a_single_state():
    data = make_sbg(random_state=0)
    assert data.signals.shape == (640, 36)
    assert data.atoms.shape == (6, 630)
    assert len(data) == 640
    assert set(make_sbg(n_states=1, p_stay=0.0, random_state=0).states) == {0}
    assert np.ptp(data.states.reshape(32, 20), axis=1).max() == 0


@pytest.mark.parametrize("make", [make_superposition, make_emeg, make_sbg])
def test_one_seed_decides_everything(make):
    def signals(seed):
        data = make(random_state=seed)
        return getattr(data, "train", data).signals

    np.testing.assert_array_equal(signals(7), signals(7))
    assert not np.array_equal(signals(7), signals(8))


@pytest.mark.parametrize(
    ("make", "settings", "name"),
    [
        (make_superposition, {"superposition": 6}, "superposition"),
        (make_superposition, {"n_train": 0}, "n_train"),
        (make_superposition, {"edge_probability": 1.5}, "edge_probability"),
        (make_superposition, {"weight_range": (2, 1)}, "weight_range"),
        (make_superposition, {"weight_range": 3}, "weight_range"),
        (make_emeg, {"p_add": -0.1}, "p_add"),
        (make_emeg, {"signals_per_graph": 0}, "signals_per_graph"),
        (make_sbg, {"p_stay": 2}, "p_stay"),
        (make_sbg, {"n_states": 2.5}, "n_states"),
    ],
)
def test_bad_settings_are_named(make, settings, name):
    with pytest.raises(ValueError, match=name):
        make(random_state=0, **settings)


def test_the_older_random_state_is_taken_too():
    one, two = (
        make_superposition(n_train=5, n_test=0, random_state=np.random.RandomState(3))
        for _ in range(2)
    )
    np.testing.assert_array_equal(one.train.signals, two.train.signals)


@pytest.mark.parametrize(
    ("filter", "precision"),
    [
        (1, lambda v: v), (2.5, lambda v: v**2.5), (heat_kernel(0.3), lambda v: np.exp(0.6 * v)),
        (lambda v: v + v**2, lambda v: v + v**2),
    ],
    ids=["one", "power", "heat", "own"],
)  # fmt: skip
def test_signals_of_a_filter_have_its_precision(filter, precision):
    weights = erdos_renyi(1, 7, 0.6, random_state=3)[0]
    x = sample_lgmrf(weights, 200_000, random_state=0, filter=filter)
    values, vectors = np.linalg.eigh(graphs.laplacian(weights))
    assert values[1] > 0.1
    variances = np.square(x @ vectors[:, 1:]).mean(axis=0)
    np.testing.assert_allclose(variances * precision(values[1:]), 1, atol=0.02)


def test_tails_make_a_student_t_field():
    weights = erdos_renyi(1, 6, 0.9, random_state=1)[0]
    calm = sample_lgmrf(weights, 40_000, random_state=0)
    loud = sample_lgmrf(weights, 40_000, random_state=0, tails=6)
    sizes = [np.square(x).sum(axis=1) for x in (calm, loud)]
    np.testing.assert_allclose(sizes[1].mean() / sizes[0].mean(), 6 / 4, rtol=0.05)
    assert np.quantile(sizes[1], 0.999) > 3 * np.quantile(sizes[0], 0.999)
    same = sample_lgmrf(weights, 40_000, random_state=0, tails=np.inf)
    np.testing.assert_array_equal(same, calm)


def test_generators_take_filters_tails_and_graded_coefficients():
    data = make_superposition(
        n_atoms=3, n_nodes=8, superposition=2, coefficient_range=(0.2, 1), filter=2, tails=4,
        random_state=0,
    )  # fmt: skip
    active = data.train.coefficients[data.train.coefficients > 0]
    assert active.min() >= 0.2
    assert active.max() <= 1
    assert len(np.unique(active)) > 100
    plain = make_sbg(n_nodes=8, edge_probability=0.5, random_state=0)
    smooth = make_sbg(n_nodes=8, edge_probability=0.5, filter=3, random_state=0)
    np.testing.assert_array_equal(plain.states, smooth.states)
    assert not np.allclose(plain.signals, smooth.signals)
    assert make_emeg(n_nodes=8, tails=5, random_state=0).signals.shape == (640, 8)


@pytest.mark.parametrize(
    "wrong",
    [{"filter": -1}, {"filter": np.nan}, {"filter": lambda v: -v}, {"tails": 0}],
    ids=["negative", "nan", "negative function", "no freedom"],
)
def test_filters_and_tails_that_are_none_are_said(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        sample_lgmrf(np.ones(6), 5, **wrong)
