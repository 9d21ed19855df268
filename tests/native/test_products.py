"""Compiled products of signals with graphs against the plain formulas with an explicit Z."""

import numpy as np
import pytest

from graphdict.core import graphs
from graphdict.native import products


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("samples", "nodes", "atoms"), [(1, 2, 1), (7, 3, 4), (500, 12, 3)])
def test_products_are_those_with_the_matrix_of_squared_differences(samples, nodes, atoms, dtype):
    rng = np.random.default_rng(0)
    signals = rng.normal(size=(samples, nodes)).astype(dtype)
    weights = rng.random((atoms, graphs.n_edges(nodes))).astype(dtype)
    coefficients = rng.random((samples, atoms)).astype(dtype)
    squared = np.square(signals[:, :, None] - signals[:, None, :])
    explicit = squared[:, *np.triu_indices(nodes, 1)].astype(np.float64)
    tolerance = 1e-12 if dtype == np.float64 else 1e-4

    distances = products.weighted_distances(signals, coefficients)
    energies = products.energies(signals, weights)

    np.testing.assert_allclose(distances, coefficients.T @ explicit, rtol=tolerance)
    np.testing.assert_allclose(energies, explicit @ weights.T, rtol=tolerance)
    assert distances.dtype == energies.dtype == dtype
