"""Compiled loops over matrices, graphs and trees: both builds, odd shapes, and what is refused."""

from importlib import import_module

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from graphdict import native
from graphdict.core import graphs
from graphdict.core.graph_learning.graphs_from_costs import learn_graphs
from graphdict.core.graph_learning.tree import window_tree
from graphdict.core.solvers.interior_point import RULES

BUILDS = [import_module("graphdict.native._portable"), native.compiled]
RNG = np.random.default_rng(11)
builds = pytest.mark.parametrize("build", BUILDS, ids=["portable", "chosen"])
dtypes = pytest.mark.parametrize("dtype", [np.float64, np.float32])


def symmetric(samples, nodes, dtype):
    made = np.random.default_rng(nodes).normal(size=(samples, nodes, nodes))
    return (made + np.swapaxes(made, 1, 2)).astype(dtype)


def root_by_eigenvectors(dual, sigma):
    """``(Y - (Y^2 + 4 sigma I)^{1/2}) / 2`` off the constants."""
    nodes = dual.shape[-1]
    off = np.eye(nodes) - 1 / nodes
    values, vectors = np.linalg.eigh(off @ dual.astype(np.float64) @ off)
    changed = (values - np.sqrt(values**2 + 4 * sigma)) / 2
    return off @ ((vectors * changed[:, None]) @ np.swapaxes(vectors, 1, 2)) @ off


@builds
@dtypes
@pytest.mark.parametrize("side", [1, 2, 3, 5, 12, 40])
@pytest.mark.parametrize("rank", [0, 1, 4, 60])
@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e12])
def test_largest_eigenvalues(build, dtype, side, rank, unit):
    rows = (unit * np.random.default_rng(rank).normal(size=(side, rank))).astype(dtype)
    wanted = np.linalg.norm(rows.astype(np.float64), 2) ** 2 if rank else 0.0
    assert_allclose(build.largest_eigenvalue_of_products(rows), wanted, rtol=1e-12)
    gram = rows @ rows.T
    rounding = 1e-11 if dtype == np.float64 else 1e-5
    assert_allclose(build.largest_eigenvalue(gram), wanted, rtol=rounding)


@builds
@pytest.mark.parametrize("unit", [1e-300, 1e-170, 1e-100, 1e100, 1e150, 1e300])
def test_largest_eigenvalues_in_any_unit(build, unit):
    gram = unit * np.array([[1.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 0.7]])
    wanted = unit * np.linalg.eigvalsh(gram / unit)[-1]
    assert_allclose(build.largest_eigenvalue(gram), wanted, rtol=1e-12)


@builds
def test_largest_eigenvalues_of_the_smallest_numbers_come_to_an_end(build):
    tiny = np.full(2, 5e-324)
    assert 0 <= build.largest_eigenvalue(np.diag(tiny)) <= 1e-322
    assert 0 <= build.largest_eigenvalue_of_products(np.full((2, 4), 1e-158)) <= 1e-300


@builds
def test_largest_eigenvalues_of_what_is_hard(build):
    assert build.largest_eigenvalue(np.diag([1.0, 5.0, 5.0, 0.0])) == pytest.approx(5)
    close = np.diag([1.0, 1.0 + 1e-9])
    assert build.largest_eigenvalue(close) == pytest.approx(1 + 1e-9, rel=1e-12)
    assert build.largest_eigenvalue(np.ones((6, 6))) == pytest.approx(6)
    assert not np.isfinite(build.largest_eigenvalue(np.array([[np.inf]])))
    with pytest.raises(ValueError, match="square"):
        build.largest_eigenvalue(np.ones((2, 3)))


@builds
@dtypes
@pytest.mark.parametrize("nodes", [2, 3, 9, 33])
def test_degrees_and_their_adjoint(build, dtype, nodes):
    weights = RNG.normal(size=(3, graphs.n_edges(nodes))).astype(dtype)
    values = RNG.normal(size=(3, nodes)).astype(dtype)
    degrees, sums = np.full_like(values, np.nan), np.full_like(weights, np.nan)
    build.degrees(weights, degrees)
    build.degrees_adjoint(values, sums)
    first, second = np.triu_indices(nodes, 1)
    tolerance = 1e-12 if dtype == np.float64 else 1e-4
    assert_allclose(degrees, graphs.degrees(weights), atol=tolerance)
    assert_array_equal(sums, values[:, first] + values[:, second])


@builds
@dtypes
@pytest.mark.parametrize("nodes", [1, 2, 3, 4, 5, 8, 9, 17, 30, 32, 45])
@pytest.mark.parametrize("size", [1e-3, 0.05, 0.3, 2.0])  # from no step of Newton's to several
def test_roots_at_every_size(build, dtype, nodes, size):
    dual = (size * symmetric(3, nodes, np.float64)).astype(dtype)
    raised, bounds = np.full_like(dual, np.nan), np.full(3, np.nan, dtype)
    build.log_det_prox_conjugate(dual, 0.7, 1e5, raised, bounds)
    tolerance = 1e-11 if dtype == np.float64 else 1e-4
    assert_allclose(raised, root_by_eigenvectors(dual, 0.7), atol=tolerance * (1 + bounds.max()))
    largest = np.linalg.norm(dual.astype(np.float64), 2, axis=(1, 2)) ** 2 / 2.8 + 1
    assert (bounds >= 1).all()
    assert (bounds <= 2 * nodes * largest).all()


@builds
@dtypes
def test_roots_of_no_matrices(build, dtype):
    build.log_det_prox_conjugate(
        np.empty((0, 7, 7), dtype), 0.7, 1e5, np.empty((0, 7, 7), dtype), np.empty(0, dtype)
    )


@builds
@dtypes
def test_positive_root_of_what_is_not_finite_or_empty(build, dtype):
    x = np.array([np.nan, np.inf, -np.inf, 0.0, -1e30, 1e30, 3.0, -3.0, 1.0], dtype)
    out = np.empty_like(x)
    build.positive_root(x, 4.0, out)
    assert_allclose(out, [np.nan, np.inf, 0, 2, 4e-30, 1e30, 4, 1, (1 + 17**0.5) / 2], rtol=1e-6)
    build.positive_root(x[:0], 4.0, out[:0])


@builds
@dtypes
@pytest.mark.parametrize(("samples", "nodes"), [(0, 5), (1, 2), (2, 1), (3, 7), (4, 30)])
def test_sweeps_equal_products_with_laplacians(build, dtype, samples, nodes):
    count, edges = 3, nodes * (nodes - 1) // 2
    signals, coefficients, atoms = (
        RNG.uniform(size=shape).astype(dtype)
        for shape in ((samples, nodes), (samples, count), (count, edges))
    )
    dual = symmetric(samples, nodes, dtype)
    laplacians = np.zeros((count, nodes, nodes))
    rows, columns = np.triu_indices(nodes, 1)
    laplacians[:, rows, columns] = -atoms
    laplacians += np.swapaxes(laplacians, 1, 2)
    laplacians[:, range(nodes), range(nodes)] = -laplacians.sum(axis=2)
    tolerance = 1e-12 if dtype == np.float64 else 1e-4

    lifted = np.full_like(dual, np.nan)
    build.add_laplacians(coefficients, atoms, dual, 0.3, lifted)
    expected = dual + 0.3 * np.einsum("tk,kij->tij", coefficients, laplacians)
    assert_allclose(lifted, expected, atol=10 * tolerance)

    energies, pulls = np.full_like(coefficients, np.nan), np.full_like(coefficients, np.nan)
    distances = np.ones_like(atoms)
    build.log_det_gradients(signals, atoms, coefficients, dual, energies, pulls, distances)
    assert_allclose(
        energies, np.einsum("ti,kij,tj->tk", signals, laplacians, signals), atol=100 * tolerance
    )
    assert_allclose(pulls, np.einsum("tij,kij->tk", dual, laplacians), atol=1000 * tolerance)
    diagonal = np.einsum("tii->ti", dual)
    seen = (signals[:, rows] - signals[:, columns]) ** 2 - 2 * dual[:, rows, columns]
    seen += diagonal[:, rows] + diagonal[:, columns]
    assert_allclose(distances, 1 + coefficients.T @ seen, atol=100 * tolerance)


@builds
@pytest.mark.parametrize("windows", [1, 2, 3, 5, 8])
def test_prox_of_the_tree_is_stationary_or_at_zero(build, windows):
    """No small change of any window, or of all windows below a node, does better."""
    tree, alpha = window_tree(windows), 0.2
    shares = RNG.uniform(0.5, 2, windows)
    values = RNG.normal(size=(20, windows))
    found = np.empty_like(values)
    build.tree_prox(values, alpha, shares, tree.first, tree.last, tree.parent, found)

    def cost(x):
        return alpha * tree.split(x.T).sum(axis=0) + (shares * (x - values) ** 2 / 2).sum(axis=1)

    assert (found >= 0).all()
    for direction in tree.membership.T:
        for step in (1e-3, -1e-3):
            moved = np.maximum(found + step * direction, 0)
            assert (cost(moved) >= cost(found) - 1e-12).all()


@builds
@pytest.mark.parametrize("nodes", [2, 3, 10])
def test_newton_makes_degrees_and_multipliers_agree(build, nodes):
    count, edges = 4, graphs.n_edges(nodes)
    costs, ridge = RNG.exponential(size=(count, edges)), RNG.uniform(0.5, 2, count)
    active = np.ones((count, nodes), dtype=bool)
    active[1, 0] = nodes == 2  # alone, two nodes need each other
    dual, weights = np.ones((count, nodes)), np.empty((count, edges))
    zeros = np.zeros_like(costs)
    steps = build.newton((costs, zeros, ridge, 1.5, active), (1e-10, 100), dual, weights)
    rows, columns = np.triu_indices(nodes, 1)
    best = np.maximum(0, (dual[:, rows] + dual[:, columns] - costs) / ridge[:, None])
    best *= active[:, rows] & active[:, columns]
    assert 0 < steps < 100
    assert_allclose(weights, best, atol=1e-12)
    assert_allclose((graphs.degrees(weights) * dual)[active], 1.5, rtol=1e-9)
    none = costs[:0], zeros[:0], ridge[:0], 1.5, active[:0]
    assert build.newton(none, (1e-10, 9), dual[:0], weights[:0]) == 0


@builds
def test_wrong_shapes_are_refused(build):
    cube, row = np.ones((2, 4, 4)), np.ones(2)
    with pytest.raises(ValueError, match="square"):
        build.log_det_prox_conjugate(cube[:, :3].copy(), 1.0, 9.0, cube[:, :3].copy(), row)
    with pytest.raises(ValueError, match="differ in shape"):
        build.log_det_prox_conjugate(cube, 1.0, 9.0, cube[:1].copy(), row)
    with pytest.raises(ValueError, match="one number for each matrix"):
        build.log_det_prox_conjugate(cube, 1.0, 9.0, cube.copy(), row[:1])
    with pytest.raises(ValueError, match="differ in size"):
        build.positive_root(np.ones(3), 1.0, row)
    coefficients, atoms, signals = np.ones((2, 3)), np.ones((3, 6)), np.ones((2, 4))
    with pytest.raises(ValueError, match="edges"):
        build.add_laplacians(coefficients, np.ones((3, 5)), cube, 1.0, cube.copy())
    with pytest.raises(ValueError, match="coefficients"):
        build.add_laplacians(coefficients[:1], atoms, cube, 1.0, cube.copy())
    for wrong in range(7):
        given = [
            signals,
            atoms,
            coefficients,
            cube,
            coefficients.copy(),
            coefficients.copy(),
            atoms,
        ]
        given[wrong] = given[wrong][1:].copy()
        with pytest.raises(ValueError, match=r"must be|do not have"):
            build.log_det_gradients(*given)
    with pytest.raises(TypeError):  # nothing is converted
        build.positive_root(np.ones(2), 1.0, np.ones(2, np.float32))


@builds
@pytest.mark.parametrize("wrong", [0.0, -1.0, np.nan])
def test_newton_refuses_what_has_no_minimum(build, wrong):
    costs, active, dual = np.ones((2, 3)), np.ones((2, 3), dtype=bool), np.ones((2, 3))
    for ridge, alpha, match in (
        (np.array([1.0, wrong]), 1.0, "ridge must be positive"),
        (np.ones(2), wrong, "alpha must be positive"),
    ):
        with pytest.raises(ValueError, match=match):
            build.newton((costs, 0 * costs, ridge, alpha, active), (1e-6, 9), dual, costs.copy())


@pytest.mark.parametrize("unit", [1e-300, 1e-170, 1e-160])
def test_costs_whose_squares_vanish_are_not_refused_for_their_ridge(unit):
    learned = learn_graphs(np.full((1, 3), unit))
    assert np.isfinite(learned.weights).all()
    assert learned.residual == pytest.approx(1)  # not solved, and says so


@builds
@pytest.mark.parametrize("wrong", [-1e-9, np.nan])
def test_total_variation_is_not_rewarded(build, wrong):
    signals = np.ones((2, 4))
    with pytest.raises(ValueError, match="penalty must not be negative"):
        build.total_variation_prox(signals, wrong, signals.copy())
    build.total_variation_prox(signals, 0.0, found := np.empty_like(signals))
    assert_array_equal(found, signals)


@builds
@pytest.mark.parametrize("images", [np.ones((0, 4)), np.ones((0, 4, 4))])
def test_coefficients_of_no_atoms_are_refused(build, images):
    costs = np.ones((3, 0))
    with pytest.raises(ValueError, match="at least one atom"):
        build.solve_coefficients(costs, images, (9, 1e-6, 4), RULES, costs.copy())


@builds
def test_what_is_no_binary_tree_is_refused(build):
    tree = window_tree(3)
    values, shares, out = np.ones((2, 3)), np.ones(3), np.empty((2, 3))
    good = [tree.first, tree.last, tree.parent]
    build.tree_prox(values, 0.1, shares, *good, out)
    changes = [(0, 1, 1), (1, 0, 4), (2, 1, 3), (2, 4, 0), (1, 2, 2), (0, 4, -1), (1, 3, 9)]
    for which, node, value in changes:
        wrong = [part.copy() for part in good]
        wrong[which][node] = value
        with pytest.raises(ValueError, match=r"must|two children"):
            build.tree_prox(values, 0.1, shares, *wrong, out)
    with pytest.raises(ValueError, match="shares"):
        build.tree_prox(values, 0.1, shares[:2].copy(), *good, out)


def test_both_builds_agree():
    dual = symmetric(5, 19, np.float64)
    results = []
    for build in BUILDS:
        raised, bounds = np.empty_like(dual), np.empty(5)
        build.log_det_prox_conjugate(dual, 0.4, 1e5, raised, bounds)
        results.append(raised)
    assert_allclose(results[0], results[1], atol=1e-11)
    assert_array_equal(results[1], np.swapaxes(results[1], 1, 2))
