"""The paper's variants of the baselines, beside ours."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from graphdict import graphs
from graphdict.baselines import GLMM, GaussianMixtureGraphs, LogModel, WindowLogModel

RNG = np.random.default_rng(1)
X = RNG.standard_normal((60, 6)) @ RNG.standard_normal((6, 6))


def test_sliding_windows_are_single_graphs_of_their_samples():
    model = WindowLogModel(20, stride=7, rescale=False, beta=0.5).fit(X)
    assert len(model.atoms_) == 7  # starts at 0, 7, ..., 35 and 40
    for window, start in enumerate([0, 7, 14, 21, 28, 35, 40]):
        alone = LogModel(rescale=False, beta=0.5).fit(X[start : start + 20])
        assert_allclose(model.atoms_[window], alone.atoms_[0], atol=1e-6)


def test_a_sample_has_the_graph_of_the_nearest_window():
    model = WindowLogModel(21, stride=10).fit(X)
    centres = np.array([10, 20, 30, 40, 49])  # the last window ends with the samples
    nearest = np.abs(np.arange(60)[:, None] - centres).argmin(axis=1)
    assert_array_equal(model.states_, nearest)
    assert model.instantaneous_graphs().weights.shape == (60, 15)


def test_windows_that_slide_by_their_length_are_disjoint():
    sliding, disjoint = WindowLogModel(20, stride=20).fit(X), WindowLogModel(20).fit(X)
    assert_array_equal(sliding.states_, disjoint.states_)
    assert_allclose(sliding.atoms_, disjoint.atoms_)


def test_published_responsibilities_are_those_of_gaussian_densities():
    model = GLMM(2, responsibilities="log-det", random_state=0, max_iter=30).fit(X)
    signals = (X - X.mean(axis=1, keepdims=True)) / model.scale_
    logs = np.empty((len(X), 2))
    for k in range(2):
        matrix = graphs.laplacian(model.atoms_[k])
        differences = signals - model.means_[k]
        energies = np.einsum("ti,ij,tj->t", differences, matrix, differences)
        determinant = np.log(np.linalg.eigvalsh(matrix)[1:]).sum()
        logs[:, k] = np.log(model.shares_[k]) + (determinant - energies) / 2
    expected = np.exp(logs - np.logaddexp.reduce(logs, axis=1)[:, None])
    assert_allclose(model.transform(X), expected, atol=1e-8)
    assert not np.allclose(GLMM(2, random_state=0, max_iter=30).fit(X).transform(X), expected)


def test_graphs_from_correlations():
    model = GaussianMixtureGraphs(1, matrix="correlation", reg_covar=0).fit(X)
    signals = X - X.mean(axis=1, keepdims=True)
    expected = np.linalg.pinv(np.corrcoef(signals.T), hermitian=True, rcond=1e-10)
    weights = np.maximum(-expected[np.triu_indices(6, 1)], 0)
    assert_allclose(model.atoms_[0], weights, rtol=1e-6, atol=1e-8)
    assert not np.allclose(GaussianMixtureGraphs(1).fit(X).atoms_, model.atoms_)


@pytest.mark.parametrize("stride", [0, -1, 1.5])
def test_strides_are_positive_numbers(stride):
    with pytest.raises(ValueError, match="stride"):
        WindowLogModel(20, stride=stride).fit(X)
