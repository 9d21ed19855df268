"""Mixtures of heat kernels: the precision of the noise, and what they find in diffused signals."""

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.stats import multivariate_normal
from sklearn.metrics import adjusted_rand_score, average_precision_score

from graphdict import GraphDictMarginal, load_model
from graphdict.baselines import GLMM
from graphdict.core import graphs
from graphdict.core.marginal.filters import HeatKernel
from graphdict.core.marginal.spectra import reduce_moments, zero_sum_basis
from graphdict.datasets import erdos_renyi, sample_lgmrf
from graphdict.datasets import heat_kernel as diffusion


def diffused(seed, clusters=2, nodes=12, samples=300, tau=0.25):
    """Return atoms, signals in random order, and their clusters."""
    rng = np.random.default_rng(seed)
    atoms = erdos_renyi(clusters, nodes, 0.3, random_state=rng)
    signals = sample_lgmrf(atoms, samples, random_state=rng, filter=diffusion(tau))
    labels = np.repeat(np.arange(clusters), samples)
    order = rng.permutation(len(labels))
    return atoms, signals[order], labels[order]


def covariances(atoms, precision):
    centred = np.eye(graphs.n_nodes(atoms.shape[1])) - 1 / graphs.n_nodes(atoms.shape[1])
    return np.stack([centred @ expm(-graphs.laplacian(w)) @ centred for w in atoms]) / precision


def test_the_precision_of_the_noise_is_read_off_exact_moments():
    atoms = erdos_renyi(3, 10, 0.3, random_state=0)
    usage = np.array([0.5, 0.3, 0.2])
    moments = reduce_moments(usage[:, None, None] * covariances(atoms, 2.5))
    refined, same = HeatKernel(2.5).refine(moments, usage, atoms)
    assert refined.precision == pytest.approx(2.5, rel=1e-6)
    np.testing.assert_allclose(same, atoms, atol=1e-6)
    assert HeatKernel().begin(moments.sum(axis=0)).precision >= 2.5


def test_weights_that_all_pairs_share_are_precision():
    atoms = erdos_renyi(1, 8, 0.3, random_state=1) + 0.2
    before, moments = HeatKernel(1.0), reduce_moments(covariances(atoms, 1.0))
    after, moved = before.refine(moments, np.ones(1), atoms)
    assert after.precision == pytest.approx(np.exp(8 * 0.2))
    assert np.sort(moved[0])[len(moved[0]) // 2] < 1e-6
    basis = zero_sum_basis(8)
    for weights, kernel in ((atoms, before), (moved, after)):
        found = kernel.precision * basis.T @ expm(graphs.laplacian(weights[0])) @ basis
        exact = basis.T @ expm(graphs.laplacian(atoms[0])) @ basis
        np.testing.assert_allclose(found, exact, rtol=1e-4, atol=1e-4)


@pytest.fixture(scope="module")
def fitted():
    atoms, signals, labels = diffused(0)
    model = GraphDictMarginal(
        2, max_active=1, filter_power="heat", tails="gaussian", random_state=0
    ).fit(signals)
    return model, atoms, signals, labels


def test_scores_are_densities_of_the_mixture(fitted):
    model, _, signals, _ = fitted
    basis = zero_sum_basis(12)
    reduced = (signals[:5] - signals[:5].mean(axis=1, keepdims=True)) / model.scale_ @ basis
    total = np.zeros(5)
    for weights, share in zip(model.atoms_, model.pattern_probabilities_, strict=True):
        covariance = basis.T @ expm(-graphs.laplacian(weights)) @ basis / model.filter_power_
        total += share * multivariate_normal(np.zeros(11), covariance).pdf(reduced)
    np.testing.assert_allclose(model.score_samples(signals[:5]), np.log(total), rtol=1e-6)


def test_a_model_with_heat_kernels_is_saved(fitted, tmp_path):
    model, _, signals, _ = fitted
    model.save(tmp_path / "heat.graphdict")
    other = load_model(tmp_path / "heat.graphdict")
    assert other.filter_ == "heat"
    np.testing.assert_array_equal(other.score_samples(signals), model.score_samples(signals))


def test_heat_kernels_find_clusters_of_diffused_signals():
    """Maretic et al. 2018: clusters and graphs better than by mixtures of Laplacians."""
    heat, laplacians = [], []
    for seed in range(3):
        atoms, signals, labels = diffused(seed, clusters=3)
        models = (
            GraphDictMarginal(
                3, max_active=1, filter_power="heat", tails="gaussian", random_state=0
            ),
            GLMM(3, random_state=0),
        )
        for found, model in zip((heat, laplacians), models, strict=True):
            model.fit(signals)
            clusters = adjusted_rand_score(labels, model.coefficients_.argmax(axis=1))
            edges = [
                max(average_precision_score(w > 0, learned) for learned in model.atoms_)
                for w in atoms
            ]
            found.append((clusters, np.mean(edges)))
    assert np.mean(heat, axis=0)[0] > np.mean(laplacians, axis=0)[0] + 0.1
    assert np.mean(heat, axis=0)[1] > np.mean(laplacians, axis=0)[1] + 0.05
    assert np.min(heat) > 0.85


def test_where_heat_is_not_known_it_is_refused():
    with pytest.raises(ValueError, match="filter_power='heat' cannot be used with prior"):
        GraphDictMarginal(3, prior="hierarchy", filter_power="heat").fit(np.eye(50, 4))
