"""Graphs of either sign: optimality, definiteness, pooled samples by evidence."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.stats import wishart

from graphdict.core import graphs
from graphdict.core.marginal.confidence import EdgeEstimates, edge_confidence
from graphdict.core.marginal.filtered_loss import Targets
from graphdict.core.marginal.signed import (
    SignedLikelihood,
    best_pool_size,
    is_definite,
    make_definite,
    precision_weights,
)
from graphdict.core.marginal.spectra import adjoint, zero_sum_basis


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def moments_of(rng, size, samples):
    signals = rng.standard_normal((samples, size)) @ rng.standard_normal((size, size))
    return signals.T @ signals / samples


def likelihood_of(atoms):
    return SignedLikelihood.of(np.eye(len(atoms), dtype=bool), atoms)


def test_weights_and_precisions_are_the_same_thing(rng):
    precision = moments_of(rng, 5, 40)
    weights = precision_weights(precision)
    basis = zero_sum_basis(6)
    assert_allclose(basis.T @ graphs.laplacian(weights) @ basis, precision, atol=1e-12)
    assert is_definite(weights)
    assert not is_definite(-weights)


def test_with_all_pairs_the_best_graph_is_the_inverse_of_the_moments(rng):
    moments = np.array([moments_of(rng, 4, 30) * 0.3, moments_of(rng, 4, 50) * 0.7])
    atoms = np.ones((2, 10))
    _, found = likelihood_of(atoms).minimise(atoms, Targets(moments, np.array([0.3, 0.7])), 1)
    expected = precision_weights(np.linalg.inv(moments) * np.array([0.3, 0.7])[:, None, None])
    assert_allclose(found, expected, rtol=1e-9)


def test_without_some_pairs_it_is_scipys_optimum(rng):
    nodes = 6
    moments = moments_of(rng, nodes - 1, 40)
    on = rng.random(15) < 0.6
    on[[0, 5, 9, 12, 14]] = True  # a path: the graph is connected
    start = np.where(on, 1.0, 0.0)[None]
    _, found = likelihood_of(start).minimise(start, Targets(moments[None], np.ones(1)), 50)
    assert (found[0][~on] == 0).all()
    assert (found[0] < 0).any()
    assert is_definite(found[0])
    basis = zero_sum_basis(nodes)
    resistances = adjoint(np.linalg.inv(basis.T @ graphs.laplacian(found[0]) @ basis))
    assert_allclose(resistances[on], adjoint(moments)[on], rtol=1e-6)

    def loss(free):
        weights = np.zeros(15)
        weights[on] = free
        reduced = basis.T @ graphs.laplacian(weights) @ basis
        if np.linalg.eigvalsh(reduced)[0] <= 0:
            return 1e10
        return np.trace(moments @ reduced) - np.linalg.slogdet(reduced)[1]

    best = minimize(loss, np.ones(on.sum()), method="Powell", options={"maxiter": 20000})
    assert loss(found[0][on]) <= best.fun + 1e-9


def test_pruned_weights_are_made_definite_on_their_support(rng):
    weights = rng.standard_normal((3, 15))
    weights[:, rng.random(15) < 0.3] = 0
    weights[:, [0, 5, 9, 12, 14]] = -1.0  # connected, but by negative edges
    found = make_definite(weights)
    assert all(is_definite(each) for each in found)
    assert ((found != 0) == (weights != 0)).all()
    definite = np.abs(weights)
    assert_allclose(make_definite(definite), definite)


@pytest.mark.parametrize("number", [8.0, 100.0])
def test_pooled_samples_by_evidence_are_those_of_the_prior(number, rng):
    size, count = 4, 60
    pooled = moments_of(rng, size, 30)
    prior = wishart(number + size + 1, np.linalg.inv(number * pooled))
    precisions = prior.rvs(60, random_state=1)
    moments = np.array([
        wishart(count, np.linalg.inv(each)).rvs(random_state=k) / count
        for k, each in enumerate(precisions)
    ])  # fmt: skip
    found = best_pool_size(moments, np.full(60, count), pooled)
    assert number / 1.6 < found < 1.6 * number


def test_confidence_of_either_sign(rng):
    truth = np.concatenate([np.full(8, 10.0), np.full(8, -10.0), np.zeros(84)])
    estimates = EdgeEstimates((truth + rng.standard_normal(100))[None], np.ones((1, 100)))
    signed = edge_confidence(estimates, signed=True)[0]
    assert (signed[:16] > 0.99).all()
    assert (signed[16:] > 0.5).mean() < 0.05
    assert (edge_confidence(estimates)[0][8:16] < 0.01).all()
    # A weight that all pairs share is no edge.
    shared = [EdgeEstimates(estimates.weights + w, estimates.errors) for w in (7, 90)]
    found = [edge_confidence(each, signed=True) for each in shared]
    assert_allclose(found[0], found[1], atol=1e-6)
    assert (found[0][0, 16:] > 0.5).mean() < 0.05
