"""Bilinear operators: both adjoints and both norms, over random shapes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from graphdict import graphs
from graphdict.operators import Bilinear, Degrees, Laplacians, Spectra

MAPS = ("degrees", "laplacians", "spectra")
shapes = st.tuples(st.integers(1, 6), st.integers(1, 4), st.integers(2, 7))
seeds = st.integers(0, 10_000)


def linear_map(name, nodes, rng, dtype=np.float64):
    if name == "degrees":
        return Degrees(nodes)
    if name == "laplacians":
        return Laplacians(nodes)
    return Spectra(rng.standard_normal((nodes, rng.integers(1, nodes + 1))).astype(dtype))


def draw(name, shape, seed):
    samples, atoms, nodes = shape
    rng = np.random.default_rng(seed)
    operator = Bilinear(linear_map(name, nodes, rng))
    coefficients = rng.standard_normal((samples, atoms))
    weights = rng.standard_normal((atoms, graphs.n_edges(nodes)))
    dual = rng.standard_normal(operator.forward(coefficients, weights).shape)
    return operator, coefficients, weights, dual


@pytest.mark.parametrize("name", MAPS)
@given(shapes, seeds)
def test_forward_is_what_the_map_says_of_each_samples_graph(name, shape, seed):
    operator, coefficients, weights, _ = draw(name, shape, seed)
    mixed = np.stack([sum(c * w for c, w in zip(row, weights)) for row in coefficients])
    laplacians = graphs.laplacian(mixed)
    if name == "degrees":
        expected = np.diagonal(laplacians, axis1=1, axis2=2)
    elif name == "laplacians":
        expected = laplacians
    else:
        modes = operator.linear.modes
        expected = [[u @ matrix @ u for u in modes.T] for matrix in laplacians]
    assert_allclose(operator.forward(coefficients, weights), expected, atol=1e-10)


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("dtype", [int, ">f8", np.float16, np.float32])
def test_numbers_of_any_kind_and_any_number_of_graphs(name, dtype):
    linear = linear_map(name, 5, np.random.default_rng(0))
    weights = np.arange(20).reshape(2, 10).astype(dtype)
    wanted = linear.apply(weights.astype(float))
    assert_allclose(linear.apply(weights), wanted, rtol=1e-6)
    assert_allclose(linear.adjoint(linear.apply(weights)), linear.adjoint(wanted), rtol=1e-5)
    assert linear.apply(weights[:0]).shape == (0, *wanted.shape[1:])
    assert linear.adjoint(wanted[:0]).shape == (0, 10)


@pytest.mark.parametrize("name", MAPS)
@given(shapes, seeds)
def test_adjoint_in_the_atoms(name, shape, seed):
    operator, coefficients, weights, dual = draw(name, shape, seed)
    left = np.sum(operator.forward(coefficients, weights) * dual)
    right = np.sum(weights * operator.adjoint_atoms(coefficients, dual))
    assert_allclose(left, right, atol=1e-9)


@pytest.mark.parametrize("name", MAPS)
@given(shapes, seeds)
def test_adjoint_in_the_coefficients(name, shape, seed):
    operator, coefficients, weights, dual = draw(name, shape, seed)
    left = np.sum(operator.forward(coefficients, weights) * dual)
    right = np.sum(coefficients * operator.adjoint_coefficients(dual, weights))
    assert_allclose(left, right, atol=1e-9)


def dense(function, shape):
    """The matrix of a linear function, column by column."""
    columns = []
    for index in np.ndindex(shape):
        basis = np.zeros(shape)
        basis[index] = 1
        columns.append(function(basis).ravel())
    return np.stack(columns, axis=1)


@pytest.mark.parametrize("name", MAPS)
@given(shapes, seeds)
def test_norms_are_the_largest_singular_values(name, shape, seed):
    operator, coefficients, weights, _ = draw(name, shape, seed)
    in_atoms = dense(lambda w: operator.forward(coefficients, w), weights.shape)
    in_coefficients = dense(lambda c: operator.forward(c, weights), coefficients.shape)
    linear = dense(operator.linear.apply, weights.shape[1:])
    assert_allclose(operator.linear.norm, np.linalg.norm(linear, 2), rtol=1e-8)
    assert_allclose(operator.norm_atoms(coefficients), np.linalg.norm(in_atoms, 2), rtol=1e-6)
    found = operator.norm_coefficients(weights)
    assert_allclose(found, np.linalg.norm(in_coefficients, 2), rtol=1e-6)
    both = operator.norms(coefficients.T @ coefficients, operator.linear.apply(weights))
    assert_allclose(both, (operator.norm_atoms(coefficients), found), rtol=1e-6)


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_precision_is_kept(name, dtype):
    rng = np.random.default_rng(0)
    operator = Bilinear(linear_map(name, 4, rng, dtype))
    coefficients, atoms = np.ones((3, 2), dtype), np.ones((2, 6), dtype)
    image = operator.forward(coefficients, atoms)
    assert image.dtype == dtype
    assert operator.adjoint_atoms(coefficients, image).dtype == dtype
    assert operator.adjoint_coefficients(image, atoms).dtype == dtype
