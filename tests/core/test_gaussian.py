"""The Gaussian likelihood against densities written out, and where graphs fall apart."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal

from graphdict.core import graphs
from graphdict.core.gaussian import log_likelihoods

rng = np.random.default_rng(0)


@pytest.mark.parametrize("nodes", [2, 3, 6])
def test_density_of_a_gaussian_on_centred_signals(nodes):
    atoms = rng.uniform(0.1, 1, (3, graphs.n_edges(nodes)))
    coefficients = rng.uniform(0.1, 1, (7, 3))
    signals = rng.standard_normal((7, nodes))
    signals -= signals.mean(axis=1, keepdims=True)
    energies = graphs.squared_differences(signals) @ atoms.T
    found = log_likelihoods(energies, coefficients, atoms)
    basis = np.linalg.svd(np.eye(nodes) - 1 / nodes)[0][:, : nodes - 1]
    for x, c, value in zip(signals, coefficients, found):
        precision = basis.T @ graphs.laplacian(c @ atoms) @ basis
        density = multivariate_normal(cov=np.linalg.inv(precision))
        assert value == pytest.approx(density.logpdf(basis.T @ x))


def test_true_graphs_are_likelier_than_others():
    atoms = rng.uniform(0, 1, (1, 15)) * (rng.random((1, 15)) < 0.6) + 0.01
    root = np.linalg.cholesky(np.linalg.pinv(graphs.laplacian(atoms[0])) + 1e-9 * np.eye(6))
    signals = rng.standard_normal((500, 6)) @ root.T
    ones = np.ones((500, 1))

    def score(weights):
        energies = graphs.squared_differences(signals) @ weights.T
        return log_likelihoods(energies, ones, weights).mean()

    assert score(atoms) > score(rng.permuted(atoms, axis=1))
    assert score(atoms) > score(2 * atoms)
    assert score(atoms) > score(atoms / 2)


def test_graphs_that_fall_apart_have_a_finite_and_very_low_likelihood():
    atoms = np.zeros((2, 6))
    atoms[0] = 1
    atoms[1, 0] = 1
    energies = np.ones((3, 2))
    coefficients = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    found = log_likelihoods(energies, coefficients, atoms)
    assert np.isfinite(found).all()
    assert found[0] > found[1] + 10
    assert found[1] > found[2]
    assert np.isfinite(log_likelihoods(energies, coefficients, 0 * atoms)).all()


def test_blocks_do_not_change_likelihoods(monkeypatch):
    atoms, coefficients = rng.uniform(size=(2, 10)), rng.uniform(size=(9, 2))
    energies = rng.uniform(size=(9, 2))
    whole = log_likelihoods(energies, coefficients, atoms)
    monkeypatch.setattr("graphdict.core.gaussian.BLOCK_BYTES", 400)
    assert_allclose(log_likelihoods(energies, coefficients, atoms), whole)
