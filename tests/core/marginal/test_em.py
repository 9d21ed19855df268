"""Expectation-maximisation: densities, monotone likelihood, and the M-step's optimum."""

from contextlib import ExitStack

import numpy as np
import pytest
import sklearn
from scipy.optimize import minimize
from scipy.stats import multivariate_normal

import explicit_products as explicit
from graphdict.core import graphs
from graphdict.core.marginal.dictionary import PatternDictionary
from graphdict.core.marginal.e_step import EStep, ExpectedStatistics
from graphdict.core.marginal.likelihood import GaussianLikelihood
from graphdict.core.marginal.m_step import m_step
from graphdict.core.marginal.patterns import enumerate_patterns, uniform_probabilities
from graphdict.core.marginal.penalty import ConcavePenalty
from graphdict.core.marginal.support import prune_edges
from graphdict.core.marginal.time_hierarchy import hierarchy_patterns
from graphdict.datasets import sample_lgmrf
from graphdict.engine.marginal.em import expectation_maximisation
from graphdict.engine.marginal.learn import random_start, rule_out_edges
from graphdict.engine.marginal.passes import e_step, second_moments
from graphdict.engine.marginal.sample_values import (
    coefficients_of,
    log_evidence_of,
    most_probable_patterns,
    responsibilities_of,
)
from graphdict.engine.marginal.samples import open_signals
from graphdict.engine.marginal.series import mean_square, random_distances
from graphdict.engine.marginal.settings import Settings

NODES, EDGES = 6, 15


@pytest.fixture
def opened():
    """Opens signals, to be passed over until the test ends."""
    with ExitStack() as stack:
        yield lambda signals, window=1: stack.enter_context(open_signals(signals, window, 6))


def make(opened, seed, samples=60, atoms=3, window=1):
    rng = np.random.default_rng(seed)
    signals = rng.standard_normal((samples, NODES))
    signals -= signals.mean(axis=1, keepdims=True)
    patterns = enumerate_patterns(atoms, 2)
    data = opened(signals, window)
    start = random_start(data, patterns, 1e-10, np.random.RandomState(seed), Settings())
    return data, start


def log_likelihoods(data, dictionary):
    step = EStep.prepare(dictionary, data.windows, missing=data.windowed.has_missing)
    return step.log_likelihoods(data.windowed.block(slice(0, data.windows)))


def signals_of(data):
    return data.windowed.signal_term.array


def reduced_density(signals, laplacian):
    """Of signals that sum to zero, in coordinates of that subspace, by SciPy."""
    basis = np.linalg.qr(np.column_stack([np.ones(NODES), np.eye(NODES)[:, 1:]]))[0][:, 1:]
    covariance = np.linalg.inv(basis.T @ laplacian @ basis)
    return multivariate_normal(np.zeros(NODES - 1), covariance).logpdf(signals @ basis)


def test_log_likelihoods_are_gaussian_densities(opened):
    data, start = make(opened, 0)
    values = log_likelihoods(data, start)
    for index, pattern in enumerate(start.patterns):
        laplacian = graphs.laplacian(start.atoms[pattern].sum(axis=0))
        np.testing.assert_allclose(values[:, index], reduced_density(signals_of(data), laplacian))


def test_marginal_likelihood_is_the_mixture_density(opened):
    data, start = make(opened, 1)
    mixture = sum(
        probability * np.exp(reduced_density(signals_of(data), graphs.laplacian(weights)))
        for probability, weights in zip(
            start.probabilities, start.patterns.astype(float) @ start.atoms
        )
    )
    np.testing.assert_allclose(log_evidence_of(data, start), np.log(mixture))


def test_windows_add_log_likelihoods(opened):
    data, start = make(opened, 2, window=5)
    alone = log_likelihoods(opened(signals_of(data)), start)
    np.testing.assert_allclose(log_likelihoods(data, start), alone.reshape(12, 5, -1).sum(axis=1))


def test_disconnected_patterns_keep_a_proper_density(opened):
    weights = np.zeros((1, EDGES))
    rows, cols = graphs.edge_index(NODES)
    inside = (rows < 3) == (cols < 3)
    weights[0, inside & (cols < 5)] = 1.0  # {0, 1, 2}, {3, 4}, {5}
    patterns = np.ones((1, 1), dtype=bool)
    noise = 1e-2
    apart = GaussianLikelihood.of(patterns, weights, noise)
    assert apart.components[0].shape == (NODES, 3)
    dictionary = PatternDictionary(apart, weights, np.ones(1))
    signals = np.random.default_rng(3).standard_normal((10, NODES))
    signals -= signals.mean(axis=1, keepdims=True)
    blind = apart.components[0] @ apart.components[0].T - 1 / NODES
    precision = graphs.laplacian(weights[0]) + blind / noise
    values = log_likelihoods(opened(signals), dictionary)
    np.testing.assert_allclose(values[:, 0], reduced_density(signals, precision))


@pytest.mark.parametrize("gaps", [0.0, 0.2])
@pytest.mark.parametrize("kind", ["independent", "markov", "hierarchy"])
def test_expectation_in_blocks_is_the_same(monkeypatch, kind, gaps):
    rng = np.random.default_rng(4)
    signals = rng.standard_normal((61, NODES))
    signals[rng.uniform(size=signals.shape) < gaps] = np.nan
    patterns = hierarchy_patterns(3) if kind == "hierarchy" else enumerate_patterns(3, 2)
    atoms = rng.uniform(0.1, 1, (3, EDGES))
    dictionary = PatternDictionary(
        GaussianLikelihood.of(patterns, atoms), atoms, rng.dirichlet(np.ones(len(patterns))),
        0.8 if kind == "markov" else None, kind == "hierarchy",
    )  # fmt: skip

    def everything():
        with open_signals(signals, 2, len(patterns), np.random.RandomState(0)) as data:
            expected = e_step(data, dictionary, 0.7, coefficients=True)
            return (
                data.in_one_block, expected.usage, expected.draws,
                expected.stays, expected.log_evidence, *expected.statistics, expected.coefficients,
                *second_moments(data, dictionary), log_evidence_of(data, dictionary),
                coefficients_of(data, dictionary), responsibilities_of(data, dictionary),
                most_probable_patterns(data, dictionary), mean_square(data),
                random_distances(data, np.random.RandomState(1), 3),
            )  # fmt: skip

    alone, *whole = everything()
    assert alone
    monkeypatch.setattr("graphdict.engine.executor.BLOCK_BYTES", 600)
    monkeypatch.setattr("graphdict.engine.executor.SHARDS", 3)
    monkeypatch.setattr("graphdict.engine.marginal.samples.LARGER", 1)
    for memory in (1000, 0):  # with and without room to keep likelihoods
        with sklearn.config_context(working_memory=memory):
            alone, *found = everything()
        assert not alone
        for one, other in zip(found, whole, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("prior", ["independent", "free", "markov"])
@pytest.mark.parametrize("strength", [0.0, 0.02])
def test_objective_never_rises(opened, seed, prior, strength):
    data, start = make(opened, seed, window=1 + seed % 2)
    stay = 0.8 if prior == "markov" else None
    start = PatternDictionary(start.likelihood, start.atoms, start.probabilities, stay)
    penalty = ConcavePenalty(0.01, strength, 0.01)
    fit = expectation_maximisation(
        data,
        start,
        penalty,
        pattern_prior="free" if prior == "free" else "independent",
        max_iter=60,
        tol=-np.inf,
    )
    objective = np.array(fit.history.objective)
    assert len(objective) == 60
    assert (np.diff(objective) <= 1e-9 * np.abs(objective[:-1])).all()
    assert objective[-1] < objective[0]


def test_atoms_reach_the_optimum_of_the_convex_m_step(opened):
    rng = np.random.default_rng(5)
    signals = rng.standard_normal((80, 4))
    signals -= signals.mean(axis=1, keepdims=True)
    data = opened(signals)
    patterns = enumerate_patterns(2, 2)
    start = random_start(data, patterns, 1e-10, np.random.RandomState(0), Settings())
    posterior = rng.dirichlet(np.ones(3), size=80)
    coefficients = posterior @ patterns
    sums, usage = explicit.weighted_distances(signals, coefficients), posterior.sum(axis=0)
    expected = ExpectedStatistics(80, 80, usage, usage, 0.0, 0.0, (sums,))
    alpha, moments = 0.05, sums / 80
    share = posterior.mean(axis=0)

    def objective(flat):
        atoms = flat.reshape(2, 6)
        matrices = graphs.laplacian(patterns.astype(float) @ atoms) + 0.25
        determinants = np.linalg.slogdet(matrices)[1]
        return (moments * atoms).sum() + alpha * atoms.sum() - share @ determinants

    learned = m_step(start, expected, ConcavePenalty(alpha), atom_steps=3000).atoms
    best = minimize(
        objective, start.atoms.ravel(), bounds=[(1e-12, None)] * 12, options={"maxiter": 5000}
    )
    assert objective(learned.ravel()) <= best.fun + 1e-5


def test_concave_penalty_lies_below_its_tangents():
    penalty = ConcavePenalty(0.1, 0.3, 0.05)
    rng = np.random.default_rng(6)
    at, other = rng.uniform(0, 1, (2, 3, 4))
    tangent = penalty.value(at) + float((penalty.slope(at) * (other - at)).sum())
    assert penalty.value(other) <= tangent
    step = 1e-6
    numeric = (penalty.value(at + step) - penalty.value(at - step)) / (2 * step)
    assert numeric == pytest.approx(float(np.sum(penalty.slope(at))), rel=1e-6)


def test_ruling_out_finds_components_and_silent_nodes(opened):
    weights = np.zeros((2, EDGES))
    rows, cols = graphs.edge_index(NODES)
    weights[0, (rows < 3) & (cols < 3)] = 1.0
    weights[0, (rows == 3) & (cols == 4)] = 2.0  # node 5 is silent with atom 0
    weights[1] = 1.0
    data = opened(sample_lgmrf(weights, 40, random_state=7))
    graphs_of = GaussianLikelihood.of(np.eye(2, dtype=bool), np.ones((2, EDGES)))
    known = PatternDictionary(graphs_of, np.ones((2, EDGES)), np.full(2, 0.5), known_in_time=True)
    np.testing.assert_array_equal(rule_out_edges(data, known).atoms > 0, weights > 0)


def test_pruning_makes_zeros_but_no_pieces():
    patterns = enumerate_patterns(2, 2)
    atoms = np.full((2, EDGES), 1e-6)
    rows, cols = graphs.edge_index(NODES)
    atoms[:, cols == rows + 1] = 1.0
    atoms[0, (rows == 4) & (cols == 5)] = 1e-5  # the last link of atom 0 is weak, but all it has
    dictionary = PatternDictionary(
        GaussianLikelihood.of(patterns, atoms), atoms, uniform_probabilities(patterns)
    )
    pruned = prune_edges(dictionary, atoms > 1e-3)
    assert not pruned.likelihood.components
    np.testing.assert_array_equal(pruned.atoms > 0, np.tile(cols == rows + 1, (2, 1)))
