"""The convex solvers against their optimality conditions and against SciPy."""

import numpy as np
import pytest
from scipy.optimize import minimize

from graphdict.baselines.tgfa import _change, _smooth
from graphdict.core import graphs
from graphdict.core.graph_learning import (
    average_degree_ridge,
    choose_ridge,
    coupled_graphs,
    learn_graphs,
    log_degree_objective,
)
from graphdict.core.graph_learning.tree import window_tree
from graphdict.core.graph_learning.windows import active_nodes, even_counts
from graphdict.core.terms.signal_terms import window_distances
from graphdict.datasets import erdos_renyi, sample_lgmrf
from optimality import optimality


def _costs(count=4, nodes=12, samples=40, seed=0):
    weights = erdos_renyi(count, nodes, 0.5, random_state=seed)
    signals = sample_lgmrf(weights, samples, random_state=seed + 1)
    return window_distances(signals, np.full(count, samples))


def _scipy(objective, start):
    """A bound-constrained quasi-Newton method, run to its end."""
    options = {"maxiter": 20_000, "maxfun": 10**6, "ftol": 1e-15, "gtol": 1e-10}
    bounds = [(0, None)] * start.size
    return minimize(objective, start.ravel(), jac=True, bounds=bounds, options=options)


def _objective_and_gradient(weights, costs, ridge):
    degree = graphs.degrees(weights)
    if (degree <= 0).any():
        return 1e10, np.zeros_like(weights)
    rows, cols = graphs.edge_index(degree.shape[1])
    gradient = costs + ridge * weights - 1 / degree[:, rows] - 1 / degree[:, cols]
    return log_degree_objective(weights, costs, ridge).sum(), gradient


@pytest.mark.parametrize("ridge", [1e-3, 0.1, 10.0])
def test_graphs_are_optimal(ridge):
    costs = _costs()
    found = learn_graphs(costs, ridge)
    assert found.residual.max() < 1e-8
    assert optimality(found.weights, costs, ridge).max() < 1e-6
    assert (found.weights == 0).any() or ridge > 1


def test_graphs_without_a_ridge_are_optimal():
    costs = _costs()
    found = learn_graphs(costs)
    assert found.residual.max() < 1e-7
    assert optimality(found.weights, costs).max() < 1e-7
    np.testing.assert_allclose(found.weights, learn_graphs(costs, 1e-9).weights, atol=1e-4)


def test_optimality_notices_a_perturbed_graph():
    costs = _costs()
    weights = learn_graphs(costs, 0.5).weights
    assert optimality(1.01 * weights, costs, 0.5).min() > 1e-3


def test_graph_agrees_with_scipy():
    costs = _costs(1, 6)

    def objective(flat):
        value, gradient = _objective_and_gradient(flat[None], costs, 0.3)
        return value, gradient[0]

    reference = _scipy(objective, np.ones(15))
    found = learn_graphs(costs, 0.3)
    np.testing.assert_allclose(found.weights[0], reference.x, atol=1e-5)
    assert log_degree_objective(found.weights, costs, 0.3)[0] <= reference.fun + 1e-10


def test_centre_pulls_the_graph():
    costs, centre = _costs(2), np.abs(np.random.default_rng(0).normal(size=(2, 66)))
    found = learn_graphs(costs, 1e8, centre=centre)
    np.testing.assert_allclose(found.weights, centre, atol=1e-6)


def test_barrier_weight_only_scales():
    costs = _costs()
    one = learn_graphs(costs, 0.5).weights
    three = learn_graphs(costs, 0.5 / 3, alpha=3.0).weights
    np.testing.assert_allclose(three, 3 * one, rtol=1e-6, atol=1e-9)


def test_warm_start_changes_the_path_and_not_the_end():
    costs = _costs()
    cold = learn_graphs(costs, 0.5)
    warm = learn_graphs(costs, 0.5, dual=cold.dual)
    assert warm.n_iter < cold.n_iter
    np.testing.assert_allclose(warm.weights, cold.weights, atol=1e-7)


def test_inactive_nodes_are_as_if_absent():
    costs = _costs(1, 7)
    active = np.ones((1, 7), dtype=bool)
    active[0, [2, 5]] = False
    found = graphs.adjacency(learn_graphs(costs, 0.5, active=active).weights)[0]
    kept = np.flatnonzero(active[0])
    smaller = graphs.adjacency_to_weights(graphs.adjacency(costs)[0][np.ix_(kept, kept)])
    alone = graphs.adjacency(learn_graphs(smaller[None], 0.5).weights)[0]
    np.testing.assert_allclose(found[np.ix_(kept, kept)], alone, atol=1e-8)
    assert not found[2].any()
    assert not found[5].any()
    lonely = np.zeros((1, 7), dtype=bool)
    lonely[0, 3] = True
    assert not learn_graphs(costs, 0.5, active=lonely).weights.any()


def test_coinciding_nodes_stay_finite():
    costs = _costs()
    costs[:, :5] = 0.0
    found = learn_graphs(costs, average_degree_ridge(costs, 3))
    assert np.isfinite(found.weights).all()
    assert found.residual.max() < 1e-6
    with pytest.raises(ValueError, match="beta=0"):
        choose_ridge(costs, 0.0, 5)
    assert np.isfinite(average_degree_ridge(np.zeros((1, 66)), 3)).all()


@pytest.mark.parametrize("wanted", [2, 4, 4.5, 8])
def test_average_degree_is_nearly_met(wanted):
    costs = _costs(6, 20, 60)
    weights = learn_graphs(costs, average_degree_ridge(costs, wanted)).weights
    degree = 2 * (weights > 0).sum(axis=1) / 20
    assert abs(degree.mean() - wanted) < 0.25 * wanted


def test_average_degree_is_monotone_and_clipped():
    costs = _costs(1, 9)
    ridges = [average_degree_ridge(costs, k)[0] for k in (1, 1.5, 2, 3, 4.7, 7, 8, 50)]
    assert np.diff(ridges[:6]).min() > 0
    assert ridges[-1] == ridges[-2] == ridges[-3]


def test_average_degree_of_a_single_node_problem():
    """With one node's distances everywhere, the bounds of Kalofolias and Perraudin, by hand."""
    costs = np.array([[1.0, 2.0, 4.0, 2.0, 4.0, 4.0]])  # four nodes
    ordered = np.array([[1, 2, 4], [1, 2, 4], [2, 2, 4], [4, 4, 4]], dtype=float)
    low, high = [], []
    for row in ordered:
        below = 2 * row[1] ** 2 - row[:2].sum() * row[1]
        above = 2 * row[2] ** 2 - row[:2].sum() * row[2]
        high += [below**-0.5] if below > 0 else []
        low += [above**-0.5] if above > 0 else []
    theta = np.sqrt(np.mean(low) * np.mean(high))
    assert average_degree_ridge(costs, 2)[0] == pytest.approx(1 / (2 * theta**2))


@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_smoothing_is_a_proximal_operator(penalty):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(7, 2))
    found = _smooth(values, 0.4, penalty)
    best = 0.4 * _change(found, penalty) + np.square(found - values).sum() / 2
    for _ in range(200):
        other = found + 0.05 * rng.normal(size=found.shape)
        assert best <= 0.4 * _change(other, penalty) + np.square(other - values).sum() / 2


def test_coupled_graphs_agree_with_scipy():
    costs, ridge, pull = _costs(3, 5), 0.4, 0.7

    def objective(flat):
        weights = flat.reshape(3, 10)
        value, gradient = _objective_and_gradient(weights, costs, ridge)
        jumps = np.diff(weights, axis=0)
        gradient = gradient.copy()
        gradient[1:] += pull * jumps
        gradient[:-1] -= pull * jumps
        return value + pull * np.square(jumps).sum() / 2, gradient.ravel()

    reference = _scipy(objective, np.ones((3, 10)))
    found = coupled_graphs(
        costs, ridge,
        lambda values, step: _smooth(values, step * pull, "l2"),
        lambda weights: pull * _change(weights, "l2"),
        tol=1e-8, max_iter=5000,
    )  # fmt: skip
    assert found.converged
    np.testing.assert_allclose(found.weights.ravel(), reference.x, atol=1e-5)
    assert found.history.objective[-1] == pytest.approx(reference.fun, abs=1e-8)


def test_no_coupling_leaves_windows_alone_and_strong_coupling_makes_them_one():
    costs = _costs(4)
    for strength, expected in [(0.0, costs), (1e4, np.repeat(costs.mean(0)[None], 4, axis=0))]:
        found = coupled_graphs(
            costs, 0.5,
            lambda values, step, alpha=strength: _smooth(values, step * alpha, "l1"),
            lambda weights, alpha=strength: alpha * _change(weights, "l1"),
            tol=1e-7, max_iter=5000,
        )  # fmt: skip
        np.testing.assert_allclose(found.weights, learn_graphs(expected, 0.5).weights, atol=1e-4)


@pytest.mark.parametrize("windows", [1, 2, 3, 5, 8, 13])
def test_tree_covers_windows(windows):
    tree = window_tree(windows)
    membership = tree.membership
    assert len(tree.parent) == 2 * windows - 1
    assert membership[:, 0].all()
    leaves = membership.sum(axis=0) == 1
    np.testing.assert_array_equal(membership[:, leaves].sum(axis=1), 1)
    depth = membership.sum(axis=1)
    assert depth.max() - 1 == np.ceil(np.log2(windows))
    for node in range(1, len(tree.parent)):
        above = membership[:, tree.parent[node]]
        assert (membership[:, node] <= above).all()
        assert membership[:, node].sum() < above.sum()


@pytest.mark.parametrize("windows", [1, 2, 3, 5, 8, 13])
@pytest.mark.parametrize("alpha", [0.02, 0.3])
def test_tree_proximal_operator_meets_its_optimality_conditions(windows, alpha):
    rng = np.random.default_rng(windows)
    tree = window_tree(windows)
    values, shares = rng.normal(0.5, 1, (windows, 40)), rng.uniform(0.2, 1, windows)
    found = tree.prox(values, alpha, shares)
    atoms = tree.split(found)
    gradient = tree.membership.T @ (shares[:, None] * (found - values)) + alpha
    np.testing.assert_allclose(tree.membership @ atoms, found, atol=1e-12)
    assert atoms.min() > -1e-12
    assert gradient.min() > -1e-10
    assert np.abs(gradient * atoms).max() < 1e-10
    assert tree.total(found) == pytest.approx(atoms.sum())


def test_even_counts_differ_by_one():
    for samples, windows in [(10, 3), (32, 32), (640, 7), (5, 1)]:
        counts = even_counts(samples, windows)
        assert counts.sum() == samples
        assert len(counts) == windows
        assert np.ptp(counts) <= 1


def test_window_distances_and_active_nodes():
    rng = np.random.default_rng(0)
    signals = rng.normal(size=(11, 4))
    signals[3:7, 2] = 0
    counts = np.array([3, 4, 4])
    distances = window_distances(signals, counts)
    expected = graphs.squared_differences(signals)[3:7].mean(axis=0)
    np.testing.assert_allclose(distances[1], expected)
    np.testing.assert_array_equal(active_nodes(signals, counts)[:, 2], [True, False, True])
    assert active_nodes(signals, counts)[:, [0, 1, 3]].all()


def test_a_centre_needs_a_ridge():
    with pytest.raises(ValueError, match="ridge"):
        learn_graphs(_costs(2), [0.0, 1.0])
