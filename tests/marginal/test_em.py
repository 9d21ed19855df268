"""Expectation-maximisation: densities, monotone likelihood, and the M-step's optimum."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import multivariate_normal

from graphdict import graphs, kernels
from graphdict.marginal.em import (
    Data,
    Dictionary,
    Expectation,
    expect,
    expectation_maximisation,
    infer,
    log_likelihoods,
    maximise,
)
from graphdict.marginal.learn import random_start
from graphdict.marginal.likelihood import PatternGraphs
from graphdict.marginal.patterns import enumerate_patterns, uniform_probabilities
from graphdict.marginal.penalty import FadingPenalty
from graphdict.marginal.support import cut, prune

NODES, EDGES = 6, 15


def make(seed, samples=60, atoms=3, window=1):
    rng = np.random.default_rng(seed)
    signals = rng.standard_normal((samples, NODES))
    signals -= signals.mean(axis=1, keepdims=True)
    counts = np.full(samples // window, window)
    patterns = enumerate_patterns(atoms, 2)
    data = Data(signals, counts)
    start = random_start(data, patterns, 1e-10, np.random.RandomState(seed), "independent")
    return data, start


def reduced_density(signals, laplacian):
    """Of signals that sum to zero, in coordinates of that subspace, by SciPy."""
    basis = np.linalg.qr(np.column_stack([np.ones(NODES), np.eye(NODES)[:, 1:]]))[0][:, 1:]
    covariance = np.linalg.inv(basis.T @ laplacian @ basis)
    return multivariate_normal(np.zeros(NODES - 1), covariance).logpdf(signals @ basis)


def test_log_likelihoods_are_gaussian_densities():
    data, start = make(0)
    values = log_likelihoods(data, start)
    for index, pattern in enumerate(start.graphs.patterns):
        laplacian = graphs.laplacian(start.atoms[pattern].sum(axis=0))
        np.testing.assert_allclose(values[:, index], reduced_density(data.signals, laplacian))


def test_marginal_likelihood_is_the_mixture_density():
    data, start = make(1)
    mixture = sum(
        probability * np.exp(reduced_density(data.signals, graphs.laplacian(weights)))
        for probability, weights in zip(
            start.probabilities, start.graphs.patterns.astype(float) @ start.atoms
        )
    )
    np.testing.assert_allclose(infer(data, start).evidence, np.log(mixture))


def test_windows_add_log_likelihoods():
    data, start = make(2, window=5)
    alone = log_likelihoods(Data(data.signals, np.ones(60, dtype=int)), start)
    np.testing.assert_allclose(log_likelihoods(data, start), alone.reshape(12, 5, -1).sum(axis=1))


def test_disconnected_patterns_keep_a_proper_density():
    weights = np.zeros((1, EDGES))
    rows, cols = graphs.edge_index(NODES)
    inside = (rows < 3) == (cols < 3)
    weights[0, inside & (cols < 5)] = 1.0  # {0, 1, 2}, {3, 4}, {5}
    patterns = np.ones((1, 1), dtype=bool)
    noise = 1e-2
    apart = PatternGraphs.of(patterns, weights, noise)
    assert apart.components[0].shape == (NODES, 3)
    dictionary = Dictionary(apart, weights, np.ones(1))
    signals = np.random.default_rng(3).standard_normal((10, NODES))
    signals -= signals.mean(axis=1, keepdims=True)
    blind = apart.components[0] @ apart.components[0].T - 1 / NODES
    precision = graphs.laplacian(weights[0]) + blind / noise
    values = log_likelihoods(Data(signals, np.ones(10, dtype=int)), dictionary)
    np.testing.assert_allclose(values[:, 0], reduced_density(signals, precision))


def test_expectation_in_blocks_is_the_same(monkeypatch):
    data, start = make(4, window=2)
    whole = expect(data, start)
    monkeypatch.setattr("graphdict.marginal.em.BLOCK_BYTES", 8 * 6 * 7)
    blocks = expect(data, start)
    for name in ("coefficients", "usage", "draws", "evidence"):
        np.testing.assert_allclose(getattr(blocks, name), getattr(whole, name))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("prior", ["independent", "free", "markov"])
@pytest.mark.parametrize("toll", [0.0, 0.02])
def test_objective_never_rises(seed, prior, toll):
    data, start = make(seed, window=1 + seed % 2)
    stay = 0.8 if prior == "markov" else None
    start = Dictionary(start.graphs, start.atoms, start.probabilities, stay)
    penalty = FadingPenalty(0.01, toll, 0.01)
    fit = expectation_maximisation(
        data,
        start,
        penalty,
        law="free" if prior == "free" else "independent",
        max_iter=60,
        tol=-np.inf,
    )
    objective = np.array(fit.history.objective)
    assert len(objective) == 60
    assert (np.diff(objective) <= 1e-9 * np.abs(objective[:-1])).all()
    assert objective[-1] < objective[0]


def test_atoms_reach_the_optimum_of_the_convex_m_step():
    rng = np.random.default_rng(5)
    signals = rng.standard_normal((80, 4))
    signals -= signals.mean(axis=1, keepdims=True)
    data = Data(signals, np.ones(80, dtype=int))
    patterns = enumerate_patterns(2, 2)
    start = random_start(data, patterns, 1e-10, np.random.RandomState(0), "independent")
    posterior = rng.dirichlet(np.ones(3), size=80)
    coefficients = posterior @ patterns
    expected = Expectation(
        coefficients, posterior.sum(axis=0), posterior.sum(axis=0), 0.0, np.zeros(80)
    )
    alpha = 0.05
    moments = kernels.weighted_distances(signals, coefficients) / 80
    share = posterior.mean(axis=0)

    def objective(flat):
        atoms = flat.reshape(2, 6)
        matrices = graphs.laplacian(patterns.astype(float) @ atoms) + 0.25
        determinants = np.linalg.slogdet(matrices)[1]
        return (moments * atoms).sum() + alpha * atoms.sum() - share @ determinants

    learned = maximise(data, start, expected, FadingPenalty(alpha), inner=3000).atoms
    best = minimize(
        objective, start.atoms.ravel(), bounds=[(1e-12, None)] * 12, options={"maxiter": 5000}
    )
    assert objective(learned.ravel()) <= best.fun + 1e-5


def test_fading_penalty_lies_below_its_tangents():
    penalty = FadingPenalty(0.1, 0.3, 0.05)
    rng = np.random.default_rng(6)
    at, other = rng.uniform(0, 1, (2, 3, 4))
    tangent = penalty.value(at) + float((penalty.slope(at) * (other - at)).sum())
    assert penalty.value(other) <= tangent
    step = 1e-6
    numeric = (penalty.value(at + step) - penalty.value(at - step)) / (2 * step)
    assert numeric == pytest.approx(float(np.sum(penalty.slope(at))), rel=1e-6)


def test_cut_finds_components_and_silent_nodes():
    rng = np.random.default_rng(7)
    weights = np.zeros((2, EDGES))
    rows, cols = graphs.edge_index(NODES)
    weights[0, (rows < 3) & (cols < 3)] = 1.0
    weights[0, (rows == 3) & (cols == 4)] = 2.0  # node 5 is silent with atom 0
    weights[1] = 1.0
    values, vectors = np.linalg.eigh(graphs.laplacian(weights))
    scale = np.where(values > 1e-9, 1 / np.sqrt(np.maximum(values, 1e-9)), 0)
    state = np.repeat([0, 1], 40)
    noise = rng.standard_normal((80, NODES))
    signals = np.einsum("tij,tj->ti", vectors[state], scale[state] * noise)
    data = Data(signals, np.ones(80, dtype=int))
    graphs_of = PatternGraphs.of(np.eye(2, dtype=bool), np.ones((2, EDGES)))
    dictionary = Dictionary(graphs_of, np.ones((2, EDGES)), np.full(2, 0.5))
    fit = expectation_maximisation(data, dictionary, FadingPenalty(0.01), max_iter=1)
    fit.coefficients = np.eye(2)[state]
    fit.dictionary = dictionary
    np.testing.assert_array_equal(cut(data, fit).atoms > 0, weights > 0)


def test_pruning_makes_zeros_but_no_pieces():
    patterns = enumerate_patterns(2, 2)
    atoms = np.full((2, EDGES), 1e-6)
    rows, cols = graphs.edge_index(NODES)
    atoms[:, cols == rows + 1] = 1.0
    atoms[0, (rows == 4) & (cols == 5)] = 1e-5  # the last link of atom 0 is weak, but all it has
    dictionary = Dictionary(
        PatternGraphs.of(patterns, atoms), atoms, uniform_probabilities(patterns)
    )
    pruned = prune(dictionary, 1e-3)
    assert not pruned.graphs.components
    np.testing.assert_array_equal(pruned.atoms > 0, np.tile(cols == rows + 1, (2, 1)))
