"""Dictionaries of graphs that are given: factors, their bounds, and edges that nobody saw."""

import numpy as np
import pytest
from scipy.optimize import check_grad, lsq_linear
from sklearn.base import clone

from graphdict.core import graphs
from graphdict.exceptions import ConvergenceWarning
from graphdict.related import GraphFactors
from graphdict.related.factors import _Factors
from graphdict.results import InstantaneousGraphs


def temporal_network(seed=0, noise=0.0, count=60, nodes=12):
    """Three graphs whose coefficients are slow waves: coefficients, atoms, snapshots."""
    rng = np.random.default_rng(seed)
    edges = graphs.n_edges(nodes)
    atoms = (rng.random((3, edges)) < 0.2) * rng.uniform(0.5, 2, (3, edges))
    time = np.linspace(0, 1, count)[:, None]
    coefficients = 0.5 + 0.5 * np.sin(2 * np.pi * (time * [1, 1.5, 2] + rng.random(3)))
    seen = coefficients @ atoms + noise * rng.standard_normal((count, edges))
    return coefficients, atoms, np.maximum(seen, 0)


def hide(snapshots, share, seed=0):
    mask = np.random.default_rng([seed, 1]).random(snapshots.shape) < share
    return np.where(mask, np.nan, snapshots), mask


@pytest.mark.parametrize("alpha_diff", [0.0, 0.7])
def test_slopes_are_those_of_the_objective(alpha_diff):
    _, _, snapshots = temporal_network(count=7, nodes=5)
    given, _ = hide(snapshots, 0.3)
    problem = _Factors(given, 2, 0.2, alpha_diff, 1e-5)
    point = np.random.default_rng(1).random(2 * (7 + 10))

    def split(point):
        return point[:14].reshape(7, 2), point[14:].reshape(2, 10)

    error = check_grad(
        lambda x: problem.value_and_slopes(*split(x))[0],
        lambda x: np.concatenate([s.ravel() for s in problem.value_and_slopes(*split(x))[1:]]),
        point,
    )
    assert error < 1e-5


def test_the_objective_is_what_the_class_says():
    _, _, snapshots = temporal_network(noise=0.2)
    model = GraphFactors(3, alpha_w=0.01, alpha_diff=0.5, random_state=0).fit(snapshots)
    given, atoms = snapshots / model.scale_, model.atoms_ / model.scale_
    changes = np.diff(model.coefficients_, axis=0)
    value = np.square(given - model.coefficients_ @ atoms).sum() / (2 * len(given))
    value += 0.01 * atoms.sum()
    value += 0.5 * np.square(np.einsum("tk,ke->tke", changes, atoms)).sum() / (2 * len(given))
    assert model.objective_ == pytest.approx(value, rel=1e-9)


def test_bounds_hold_and_the_largest_coefficient_is_one():
    _, _, snapshots = temporal_network(noise=0.3)
    model = GraphFactors(4, random_state=0).fit(snapshots)
    assert (model.atoms_ >= 0).all()
    assert (model.coefficients_ >= 0).all()
    np.testing.assert_allclose(model.coefficients_.max(axis=0), 1)


def test_coefficients_of_new_graphs_are_least_squares_in_the_box():
    _, _, snapshots = temporal_network()
    model = GraphFactors(3, tol=1e-9, random_state=0).fit(snapshots[:40])
    given, _ = hide(snapshots[40:44], 0.4)
    found = model.transform(given)
    for row, coefficients in zip(given, found, strict=True):
        seen = ~np.isnan(row)
        best = lsq_linear(model.atoms_[:, seen].T, row[seen], (0, 1), tol=1e-12).x
        np.testing.assert_allclose(coefficients, best, atol=1e-4)


def test_exact_mixtures_are_found_again():
    """Three sparse graphs whose mixtures are given come back, up to their scale."""
    _, atoms, snapshots = temporal_network()
    model = GraphFactors(3, alpha_w=1e-4, n_init=8, max_iter=3000, random_state=0).fit(snapshots)
    cosines = _unit(model.atoms_) @ _unit(atoms).T
    assert np.sort(cosines.max(axis=0))[0] > 0.98
    assert model.score(snapshots) > 0.999


def test_units_do_not_matter_and_matrices_are_as_good_as_vectors():
    _, _, snapshots = temporal_network(noise=0.1)
    first = GraphFactors(2, random_state=0).fit(snapshots)
    other = GraphFactors(2, random_state=0).fit(1e6 * graphs.adjacency(snapshots))
    np.testing.assert_allclose(other.coefficients_, first.coefficients_, atol=1e-6)
    np.testing.assert_allclose(other.atoms_, 1e6 * first.atoms_, rtol=1e-5, atol=1e-2)
    again = GraphFactors(2, random_state=0).fit(InstantaneousGraphs(np.eye(60), snapshots))
    np.testing.assert_array_equal(again.atoms_, first.atoms_)
    assert first.instantaneous_graphs().weights.shape == snapshots.shape
    assert clone(first).get_params() == first.get_params()


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_key_mode_graphs_predict_links_that_nobody_saw(seed):
    """Das and Isufi 2024: smooth modes explain a temporal network, and predict its links.

    Four fifths of the entries are hidden, and the others noisy. Modes that change slowly predict
    them better than the mean over time, than modes without memory, and than a low-rank matrix.
    """
    coefficients, atoms, _ = temporal_network(seed)
    truth = coefficients @ atoms
    snapshots = temporal_network(seed, noise=0.5)[2]
    given, hidden = hide(snapshots, 0.8, seed)

    def error(found):
        return np.sqrt(np.mean(np.square((found - truth)[hidden])))

    def modes(alpha_diff):
        model = GraphFactors(3, alpha_diff=alpha_diff, alpha_w=3e-3, random_state=seed)
        return error(model.fit(given).instantaneous_graphs().weights)

    mean = np.nan_to_num(np.nanmean(np.where(np.isnan(given).all(axis=0), 0, given), axis=0))
    assert modes(10.0) < 0.9 * modes(0.0)
    assert modes(10.0) < 0.9 * error(np.broadcast_to(mean, truth.shape))
    assert modes(10.0) < 0.9 * error(_low_rank(given, 3))


def _low_rank(given, rank, rounds=200):
    """A matrix of low rank with the values that were seen, by repeated truncation."""
    seen = ~np.isnan(given)
    filled = np.where(seen, given, np.nanmean(given))
    for _ in range(rounds):
        left, values, right = np.linalg.svd(filled, full_matrices=False)
        low = (left[:, :rank] * values[:rank]) @ right[:rank]
        filled = np.where(seen, given, low)
    return low


def _unit(atoms):
    return atoms / np.linalg.norm(atoms, axis=1, keepdims=True)


def test_an_unfinished_fit_says_so():
    _, _, snapshots = temporal_network(noise=0.3)
    with pytest.warns(ConvergenceWarning, match="max_iter=3"):
        GraphFactors(3, max_iter=3, n_init=1, random_state=0).fit(snapshots)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.ones((3, 4)), "1, 3, 6, 10"),
        (np.ones(3), "edge vectors"),
        (-np.ones((2, 3)), "must not be negative, got -1"),
        (np.full((2, 3), np.inf), "finite"),
        (np.triu(np.ones((2, 4, 4)), 1), "symmetric"),
    ],
)
def test_what_is_no_graph_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        GraphFactors(1).fit(given)


def test_graphs_on_other_nodes_are_refused():
    model = GraphFactors(1, random_state=0).fit(np.ones((3, 6)))
    with pytest.raises(ValueError, match="same nodes"):
        model.transform(np.ones((3, 3)))


def test_graphs_without_edges_and_one_graph_are_no_trouble():
    empty = GraphFactors(2, random_state=0).fit(np.zeros((4, 6)))
    assert np.isfinite(empty.objective_)
    assert not empty.instantaneous_graphs().weights.round(12).any()
    single = GraphFactors(1, random_state=0).fit(np.arange(6.0)[None])
    np.testing.assert_allclose(single.atoms_[0], np.arange(6.0), atol=1e-4)
