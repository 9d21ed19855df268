"""Graphs as vectors: round trips, adjoints, and agreement with NetworkX."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from graphdict.core import graphs

nodes = st.integers(2, 12)
leading = st.lists(st.integers(1, 3), max_size=2).map(tuple)
seeds = st.integers(0, 10_000)


def draw(seed, lead, count):
    rng = np.random.default_rng(seed)
    return rng, rng.uniform(0, 2, (*lead, graphs.n_edges(count)))


@given(seeds, leading, nodes)
def test_round_trips(seed, lead, count):
    _, weights = draw(seed, lead, count)
    assert graphs.n_nodes(weights.shape[-1]) == count
    assert_array_equal(graphs.adjacency_to_weights(graphs.adjacency(weights)), weights)
    assert_array_equal(graphs.laplacian_to_weights(graphs.laplacian(weights)), weights)


@given(seeds, leading, nodes)
def test_laplacians_are_symmetric_with_zero_rows_and_degrees_on_the_diagonal(seed, lead, count):
    _, weights = draw(seed, lead, count)
    matrices = graphs.laplacian(weights)
    assert_array_equal(matrices, np.swapaxes(matrices, -1, -2))
    assert_allclose(matrices.sum(axis=-1), 0, atol=1e-12)
    assert_allclose(np.diagonal(matrices, axis1=-2, axis2=-1), graphs.degrees(weights))


@given(seeds, nodes)
def test_laplacian_is_that_of_networkx(seed, count):
    _, weights = draw(seed, (), count)
    graph = nx.Graph()
    graph.add_nodes_from(range(count))
    pairs = [(i, j) for i in range(count) for j in range(i + 1, count)]
    graph.add_weighted_edges_from((i, j, w) for (i, j), w in zip(pairs, weights))
    matrix = np.diag([d for _, d in graph.degree(weight="weight")]) - nx.to_numpy_array(graph)
    assert_allclose(graphs.laplacian(weights), matrix, atol=1e-12)


@given(seeds, leading, nodes)
def test_laplacian_adjoint_of_any_matrix(seed, lead, count):
    rng, weights = draw(seed, lead, count)
    matrices = rng.standard_normal((*lead, count, count))
    left = np.sum(graphs.laplacian(weights) * matrices)
    right = np.sum(weights * graphs.laplacian_adjoint(matrices))
    assert_allclose(left, right, atol=1e-10)


@given(seeds, nodes, st.integers(1, 6))
def test_squared_differences_are_quadratic_forms(seed, count, samples):
    rng, weights = draw(seed, (), count)
    signals = rng.standard_normal((samples, count))
    energies = [x @ graphs.laplacian(weights) @ x for x in signals]
    assert_allclose(graphs.squared_differences(signals) @ weights, energies)


@given(seeds, nodes, st.integers(1, 6))
def test_moments_follow_from_distances_of_signals_that_sum_to_zero(seed, count, samples):
    rng = np.random.default_rng(seed)
    signals = rng.standard_normal((samples, count))
    signals -= signals.mean(axis=1, keepdims=True)
    shares = rng.random((samples, 3))
    distances = shares.T @ graphs.squared_differences(signals)
    moments = np.einsum("tk,ti,tj->kij", shares, signals, signals)
    assert_allclose(graphs.moments_of_distances(distances), moments, atol=1e-12)


@given(seeds, nodes, st.integers(1, 6))
def test_fourier_transform_is_x_u_and_inverts(seed, count, samples):
    rng, weights = draw(seed, (), count)
    signals = rng.standard_normal((samples, count))
    frequencies, modes = graphs.fourier_basis(weights)
    assert np.all(np.diff(frequencies) >= 0)
    assert np.all(frequencies >= 0)
    rebuilt = modes @ np.diag(frequencies) @ modes.T
    assert_allclose(rebuilt, graphs.laplacian(weights), atol=1e-10)
    spectra = graphs.fourier_transform(signals, modes)
    by_hand = [[x @ modes[:, m] for m in range(count)] for x in signals]
    assert_allclose(spectra, by_hand, atol=1e-12)
    assert_allclose(graphs.inverse_fourier_transform(spectra, modes), signals, atol=1e-10)
    smooth = [x @ graphs.laplacian(weights) @ x for x in signals]
    assert_allclose(np.square(spectra) @ frequencies, smooth, atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_precision_is_kept(dtype):
    weights = np.ones((2, 6), dtype=dtype)
    for function in (graphs.adjacency, graphs.degrees, graphs.laplacian):
        assert function(weights).dtype == dtype
    assert graphs.laplacian_adjoint(graphs.laplacian(weights)).dtype == dtype
    assert graphs.squared_differences(np.ones((3, 4), dtype=dtype)).dtype == dtype


@pytest.mark.parametrize("edges", [0, 2, 4, 5, 7, 100])
def test_impossible_numbers_of_edges_are_refused(edges):
    with pytest.raises(ValueError, match=rf"N \(N - 1\) / 2 .*got {edges}"):
        graphs.n_nodes(edges)


def test_edges_come_in_the_order_of_triu_indices_and_cannot_be_changed():
    rows, cols = graphs.edge_index(5)
    assert_array_equal((rows, cols), np.triu_indices(5, 1))
    with pytest.raises(ValueError, match="read-only"):
        rows[0] = 3
