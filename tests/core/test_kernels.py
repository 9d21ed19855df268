"""The pass over the samples against the plain formulas with an explicit Z."""

import numpy as np
import pytest

from graphdict.core import graphs, kernels
from graphdict.native.proxes import positive_root


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("samples", "nodes", "atoms"), [(1, 2, 1), (7, 3, 4), (500, 12, 3)])
def test_kernels_equal_products_with_the_matrix_of_squared_differences(
    samples, nodes, atoms, dtype, monkeypatch
):
    monkeypatch.setattr(kernels, "BLOCK_BYTES", 4096)  # many blocks
    rng = np.random.default_rng(0)
    signals = rng.normal(size=(samples, nodes)).astype(dtype)
    weights = rng.random((atoms, graphs.n_edges(nodes))).astype(dtype)
    coefficients = rng.random((samples, atoms)).astype(dtype)
    squared = np.square(signals[:, :, None] - signals[:, None, :])
    explicit = squared[:, *np.triu_indices(nodes, 1)].astype(np.float64)
    tolerance = 1e-12 if dtype == np.float64 else 1e-4

    distances = kernels.weighted_distances(signals, coefficients)
    energies = kernels.energies(signals, weights)

    np.testing.assert_allclose(distances, coefficients.T @ explicit, rtol=tolerance)
    np.testing.assert_allclose(energies, explicit @ weights.T, rtol=tolerance)
    assert distances.dtype == energies.dtype == dtype


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_positive_root_solves_its_equation_at_every_magnitude(dtype):
    x = np.concatenate([-(10.0 ** np.arange(-6, 7)), [0.0], 10.0 ** np.arange(-6, 7)]).astype(dtype)
    for step in (1e-3, 1.0, 50.0):
        root = positive_root(x, step)
        assert root.dtype == dtype
        # u solves u - x - step / u = 0; compared relative to its parts.
        exact = root.astype(np.float64)
        gap = exact - x - step / exact
        scale = np.maximum(exact, np.maximum(np.abs(x), step / exact))
        assert (root > 0).all()
        assert (np.abs(gap) <= 50 * np.finfo(dtype).eps * scale).all()


def test_positive_root_takes_any_layout():
    x = np.random.default_rng(0).normal(size=(6, 8))
    expected = (x + np.sqrt(x**2 + 4)) / 2
    for view in (np.asfortranarray(x), x[:, ::2], x[::-1]):
        reference = (view + np.sqrt(view**2 + 4)) / 2
        np.testing.assert_allclose(positive_root(view, 1.0), reference)
    np.testing.assert_allclose(positive_root(x, 1.0), expected)
