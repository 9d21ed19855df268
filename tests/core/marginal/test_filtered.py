"""Filters of graphs and heavy tails: densities, derivatives, EM, and what fits recover."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import helmert
from scipy.optimize import approx_fprime
from scipy.stats import multivariate_normal, multivariate_t
from sklearn.metrics import adjusted_rand_score

from graphdict import GraphDictMarginal, load_model
from graphdict.core import graphs
from graphdict.core.marginal import filtered
from graphdict.core.marginal.dictionary import PatternDictionary
from graphdict.core.marginal.elimination import edge_losses
from graphdict.core.marginal.filtered import FilteredLikelihood
from graphdict.core.marginal.filtered_graphs import PooledSamples
from graphdict.core.marginal.filtered_loss import Targets, filtered_loss
from graphdict.core.marginal.filters import (
    FILTERS,
    ExponentialFilter,
    PowerFilter,
    divided_differences,
)
from graphdict.core.marginal.likelihood import GaussianLikelihood
from graphdict.core.marginal.patterns import enumerate_patterns, uniform_probabilities
from graphdict.core.marginal.penalty import ConcavePenalty
from graphdict.core.marginal.protocols import SignalBlock
from graphdict.core.marginal.spectra import reduce_moments
from graphdict.core.marginal.tails import best_tails, gains, tail_densities, update_tails
from graphdict.core.nonnegative import minimise_nonnegative
from graphdict.datasets import sample_lgmrf
from graphdict.engine.marginal.em import expectation_maximisation
from graphdict.engine.marginal.passes import e_step, e_step_by_halves
from graphdict.engine.marginal.sample_values import gains_of
from graphdict.engine.marginal.samples import open_signals
from graphdict.engine.marginal.series import _last_samples, memory_of

NODES, EDGES = 6, 15
TRIED = [PowerFilter(1.0), *(kind(1.7) for kind in FILTERS.values())]


def signals_of(seed, samples=80, nodes=NODES):
    x = np.random.default_rng(seed).standard_normal((samples, nodes))
    return x - x.mean(axis=1, keepdims=True)


def dictionary_of(seed, atoms=3, **options):
    weights = np.random.default_rng(seed).uniform(0.1, 1, (atoms, EDGES))
    patterns = enumerate_patterns(atoms, 2)
    likelihood = FilteredLikelihood.of(patterns, weights, 1e-10, **options)
    return PatternDictionary(likelihood, weights, uniform_probabilities(patterns))


def draw(weights, power, tails, rng, scale=1.0):
    """Draw one signal for each row of weights (T, E)."""
    unique, which = np.unique(weights, axis=0, return_inverse=True)
    nodes = graphs.n_nodes(weights.shape[1])
    x = rng.standard_normal((len(weights), nodes))
    for index, row in enumerate(unique):
        values, vectors = np.linalg.eigh(graphs.laplacian(row))
        roots = np.where(values > 1e-9, np.maximum(values, 1e-9) ** (-power / 2), 0)
        x[which == index] = x[which == index] @ (vectors * roots) @ vectors.T
    if np.isfinite(tails):
        x /= np.sqrt(rng.gamma(tails / 2, 2 / tails, (len(x), 1)))
    return scale * x


def block_of(signals, window=1):
    counts = np.full(len(signals) // window, window)
    return SignalBlock(signals, counts)


# Densities ------------------------------------------------------------------------------------


@pytest.mark.parametrize("filter_", TRIED)
@pytest.mark.parametrize("tails", [4.5, np.inf])
def test_likelihoods_are_those_of_scipy(filter_, tails):
    dictionary, x = dictionary_of(0, filter=filter_, tails=tails), signals_of(1)
    likelihood = dictionary.likelihood
    values = likelihood.log_likelihoods(likelihood.factors(dictionary.atoms), block_of(x))
    basis = helmert(NODES).T
    for index, pattern in enumerate(dictionary.patterns):
        laplacian = basis.T @ graphs.laplacian(dictionary.atoms[pattern].sum(axis=0)) @ basis
        eigenvalues, vectors = np.linalg.eigh(laplacian)
        covariance = (vectors / np.exp(filter_.log_values(eigenvalues))) @ vectors.T
        zero = np.zeros(NODES - 1)
        if np.isinf(tails):
            expected = multivariate_normal(zero, covariance).logpdf(x @ basis)
        else:
            expected = multivariate_t(zero, covariance, df=tails).logpdf(x @ basis)
        assert_allclose(values[:, index], expected, rtol=1e-9)


@pytest.mark.parametrize("filter_", TRIED[:3])
def test_silence_has_no_gain(filter_):
    """On a disconnected graph the Student t is of what its components see; the rest is noise."""
    noise, tails = 1e-3, 3.5
    weights = np.random.default_rng(4).uniform(0.5, 1, (1, EDGES))
    first, second = graphs.edge_index(NODES)
    weights[:, (first == 0) | ((first < 3) != (second < 3))] = 0  # node 0, nodes 1 and 2, the rest
    pattern, x = np.ones((1, 1), dtype=bool), signals_of(5)
    likelihood = FilteredLikelihood.of(pattern, weights, noise, filter=filter_, tails=tails)
    factors, block = likelihood.factors(weights), block_of(x)
    assert likelihood.flat.tolist() == [2]
    values, vectors = np.linalg.eigh(graphs.laplacian(weights[0]))
    seen = vectors[:, values > 1e-9]
    null = vectors[:, values <= 1e-9]
    null = np.linalg.svd(null - null.mean(axis=0))[0][:, :2]  # without the constants
    precisions = np.exp(filter_.log_values(values[values > 1e-9]))
    expected = multivariate_t(np.zeros(3), np.diag(1 / precisions), df=tails).logpdf(x @ seen)
    expected += multivariate_normal(np.zeros(2), noise * np.eye(2)).logpdf(x @ null)
    assert_allclose(likelihood.log_likelihoods(factors, block)[:, 0], expected, rtol=1e-9)
    # Noise beside the graph, however large, says nothing of the gain.
    ones = np.ones((len(x), 1))
    louder = block_of(x + 5 * null[:, 0])
    before = likelihood.posterior_gains(factors, block, ones)
    assert_allclose(likelihood.posterior_gains(factors, louder, ones), before, rtol=1e-6)
    assert before.std() > 0.1


def test_power_one_without_tails_is_the_gaussian_likelihood():
    dictionary, x = dictionary_of(2), signals_of(3)
    atoms = dictionary.atoms.copy()
    atoms[0, 3:] = 0  # disconnected
    ours = dictionary.likelihood.for_atoms(atoms)
    theirs = GaussianLikelihood.of(dictionary.patterns, atoms, 1e-10)
    for window in (1, 4):
        block = block_of(x, window)
        found = [each.log_likelihoods(each.factors(atoms), block) for each in (ours, theirs)]
        assert_allclose(*found, rtol=1e-7)


def test_a_window_adds_its_samples():
    dictionary, x = dictionary_of(4, tails=5.0, filter=PowerFilter(2)), signals_of(5)
    likelihood = dictionary.likelihood
    factors = likelihood.factors(dictionary.atoms)
    one = likelihood.log_likelihoods(factors, block_of(x))
    four = likelihood.log_likelihoods(factors, block_of(x, 4))
    assert_allclose(four, one.reshape(-1, 4, one.shape[1]).sum(axis=1))


# Derivatives ----------------------------------------------------------------------------------


@pytest.mark.parametrize("filter_", TRIED)
def test_the_gradient_is_that_of_finite_differences(filter_):
    rng = np.random.default_rng(6)
    patterns = enumerate_patterns(3, 2).astype(float)
    moments = np.stack([np.cov(rng.standard_normal((NODES - 1, 20))) for _ in patterns])
    targets = Targets(moments, rng.random(len(patterns)))
    atoms = rng.uniform(0.05, 0.4, (3, EDGES))
    flat = np.zeros((len(patterns), NODES - 1), dtype=bool)

    def loss(weights, chosen=filter_):
        return filtered_loss(chosen, patterns, weights.reshape(3, EDGES), targets, flat)

    found = loss(atoms)
    numeric = approx_fprime(atoms.ravel(), lambda point: loss(point).value, 1e-7)
    assert_allclose(found.gradient.ravel(), numeric, rtol=1e-4, atol=1e-4 * np.abs(numeric).max())
    up, down = (
        loss(atoms, filter_.with_parameter(filter_.parameter * np.exp(step))).value
        for step in (1e-5, -1e-5)
    )
    assert_allclose(found.parameter_derivative, (up - down) / 2e-5, rtol=1e-5)


def test_divided_differences_of_equal_eigenvalues_are_slopes():
    eigenvalues = np.array([1.0, 1.0, 2.0])
    found = divided_differences(eigenvalues, eigenvalues**2, 2 * eigenvalues)
    assert_allclose(found, np.add.outer(eigenvalues, eigenvalues))


@pytest.mark.parametrize("filter_", TRIED)
def test_what_an_edge_is_worth_is_what_the_loss_gains(filter_):
    """At the optimum of the loss, taking a weak edge costs about what the quadratic says."""
    rng = np.random.default_rng(7)
    truth = np.where(rng.random((1, EDGES)) < 0.6, rng.uniform(0.3, 1, (1, EDGES)), 0.1)
    likelihood = FilteredLikelihood.of(np.ones((1, 1), bool), truth, 1e-10, filter=filter_)
    roots = likelihood.factors(truth).roots[0]
    covariance = np.linalg.inv(helmert(NODES) @ roots @ roots.T @ helmert(NODES).T)
    targets = Targets(covariance[None], np.ones(1))
    losses = edge_losses(likelihood, truth, np.ones(1), 1000)
    weakest = int(losses[0].argmin())
    without = truth.copy()
    without[0, weakest] = 0
    _, without = likelihood.minimise(without, targets, 200)
    gain = 1000 * (likelihood.loss(without, targets) - likelihood.loss(truth, targets))
    assert_allclose(losses[0, weakest], gain, rtol=0.3)


def test_nonnegative_minimum():
    rng = np.random.default_rng(8)
    matrix = rng.standard_normal((30, 12))
    target = rng.standard_normal(30)

    def function(point):
        rest = matrix @ point - target
        return float(rest @ rest), 2 * matrix.T @ rest

    found = minimise_nonnegative(function, np.ones(12), 200, 400)
    slope = function(found)[1]
    assert found.min() >= 0
    assert np.abs(slope[found > 0]).max() < 1e-6
    assert slope[found == 0].min() > 0


@pytest.mark.parametrize("size", [1e-300, 1e-200, 1e-150, 1.0, 1e150])
def test_functions_of_any_size_are_minimised_or_left(size):
    """Squares of slopes may be too small or too large for a number."""
    aim = np.array([1.0, 2.0, -1.0])

    def function(point):
        return size * float(np.square(point - aim).sum()), 2 * size * (point - aim)

    found = minimise_nonnegative(function, np.full(3, 0.5), 20, 40)
    assert found.min() >= 0
    assert function(found)[0] <= function(np.full(3, 0.5))[0]


def test_a_descent_ends_where_it_has_settled():
    scales = np.geomspace(1, 1e3, 20)
    calls = []

    def function(point):
        calls.append(point)
        return float((scales * (point - 1) ** 2).sum()), 2 * scales * (point - 1)

    values = []
    for settled in (1e-1, 1e-6, -np.inf):
        calls.clear()
        found = minimise_nonnegative(function, np.zeros(20), 300, 600, settled=settled)
        values.append((len(calls), function(found)[0]))
    assert values[0][0] < values[1][0] < values[2][0]
    assert values[0][1] > values[1][1] > values[2][1]
    assert values[1][1] < 1e-4


# Tails ----------------------------------------------------------------------------------------


def test_tails_solve_their_equation():
    rng = np.random.default_rng(9)
    for tails in (3.0, 8.0, 40.0):
        drawn = rng.gamma(tails / 2, 2 / tails, 400_000)
        assert_allclose(update_tails(float(np.mean(np.log(drawn) - drawn))), tails, rtol=0.05)
    assert update_tails(-1.0) == 1000
    energies = rng.chisquare(20, 20_000) / rng.gamma(4.0, 1 / 4.0, 20_000)
    shares = np.full((20_000, 1), 1 / 20_000)
    assert_allclose(best_tails(tail_densities(energies[:, None], 20, shares)), 8, rtol=0.1)
    # Of samples of which more or less was observed, each counts with its own dimension.
    seen = rng.integers(1, 40, (20_000, 1))
    energies = rng.chisquare(seen) / rng.gamma(4.0, 1 / 4.0, (20_000, 1))
    assert_allclose(best_tails(tail_densities(energies, seen, shares)), 8, rtol=0.1)
    assert_array_equal(gains(energies, np.inf, 20), 1)


# EM -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("filter_", TRIED)
def test_statistics_add_up_over_blocks(filter_):
    dictionary, x = dictionary_of(10, filter=filter_, tails=6.0), signals_of(11)
    likelihood = dictionary.likelihood
    factors = likelihood.factors(dictionary.atoms)
    shares = np.random.default_rng(12).dirichlet(np.ones(len(dictionary.patterns)), len(x))
    whole = likelihood.statistics(factors, block_of(x), shares)
    parts = [
        likelihood.statistics(factors, block_of(x[rows]), shares[rows])
        for rows in (slice(0, 17), slice(17, 50), slice(50, 80))
    ]
    for total, *pieces in zip(whole, *parts, strict=True):
        assert_allclose(total, sum(pieces), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("tails", [np.inf, 5.0])
@pytest.mark.parametrize("filter_", TRIED)
def test_sums_over_pairs_are_those_of_matrix_products(monkeypatch, filter_, tails):
    dictionary, block = dictionary_of(3, filter=filter_, tails=tails), block_of(signals_of(4))
    likelihood, count = dictionary.likelihood, len(dictionary.patterns)
    shares = np.random.default_rng(5).dirichlet(np.ones(count), len(block.signals))
    factors = likelihood.factors(dictionary.atoms)
    assert factors.weights is not None
    found = [likelihood.log_likelihoods(factors, block)]
    found += likelihood.statistics(factors, block, shares)
    monkeypatch.setattr(filtered, "BY_PAIRS", 0)
    factors = likelihood.factors(dictionary.atoms)
    assert factors.weights is None
    wanted = [likelihood.log_likelihoods(factors, block)]
    wanted += likelihood.statistics(factors, block, shares)
    for one, other in zip(found, wanted, strict=True):
        assert_allclose(one, other, rtol=1e-9, atol=1e-10 * np.abs(other).max())


@pytest.mark.parametrize("power", [1.0, 4.0])
def test_steep_spectra_keep_their_digits(power):
    # A smooth field on a long line: at power 4 precisions differ by a factor of 6e10.
    place = np.arange(40)
    weights = np.exp(-np.abs(np.subtract.outer(place, place)) / 0.4)[np.triu_indices(40, 1)]
    values, vectors = np.linalg.eigh(graphs.laplacian(weights))
    white = np.random.default_rng(0).standard_normal((50, 39))
    signals = white * values[1:] ** (-power / 2) @ vectors[:, 1:].T
    given = np.ones((1, 1), dtype=bool), weights[None], 1e-10
    likelihood = FilteredLikelihood.of(*given, filter=PowerFilter(power))
    energies = likelihood.energies(likelihood.factors(weights[None]), block_of(signals)).values
    assert_allclose(energies[:, 0], np.square(white).sum(axis=1), rtol=1e-9)


@pytest.mark.parametrize("filter_", TRIED)
@pytest.mark.parametrize("stay", [None, 0.8])
def test_em_never_lowers_the_objective(filter_, stay):
    truth = dictionary_of(13)
    rng = np.random.default_rng(14)
    which = rng.integers(3, size=300)
    x = draw(truth.atoms[which], 2.0, 5.0, rng)
    x /= np.sqrt(np.mean(x**2))
    dictionary = dictionary_of(15, filter=filter_, tails=20.0, learns_tails=True)
    pool = PooledSamples(x.T[:5] @ x[:, :5] / len(x) + np.eye(5), 0.02)
    learns = filter_.by_name or isinstance(filter_, PowerFilter)
    likelihood = replace(dictionary.likelihood, pool=pool, learns_filter=learns)
    dictionary = replace(dictionary, likelihood=likelihood, stay=stay)
    with open_signals(x, 1, 6) as data:
        fit = expectation_maximisation(
            data, dictionary, ConcavePenalty(0.01), max_iter=25, tol=0.0, atom_steps=4
        )
    changes = np.diff(fit.history.objective)
    assert len(changes) > 5
    assert changes.max() < 1e-8
    assert fit.dictionary.likelihood.tails != 20


def test_zeros_stay_and_no_others_come():
    dictionary = dictionary_of(16, filter=PowerFilter(2.0))
    atoms = dictionary.atoms.copy()
    atoms[:, ::3] = 0
    dictionary = dictionary.with_atoms(atoms)
    with open_signals(signals_of(17), 1, 6) as data:
        fit = expectation_maximisation(data, dictionary, ConcavePenalty(0.0), max_iter=5)
    assert_array_equal(fit.dictionary.atoms > 0, atoms > 0)


def test_any_cut_into_blocks_gives_the_same(monkeypatch):
    dictionary = replace(dictionary_of(18, filter=PowerFilter(2.0), tails=5.0), stay=0.7)
    x = signals_of(19, 400)
    found = []
    for size in (1 << 21, 4000):
        monkeypatch.setattr("graphdict.engine.executor.BLOCK_BYTES", size)
        with open_signals(x, 2, 6) as data:
            expected = e_step(data, dictionary)
            halves = e_step_by_halves(data, dictionary, 20)
            values = [expected.log_evidence, expected.usage, *expected.statistics]
            for usage, statistics in halves:
                values += [usage, *statistics]
            found.append([*values, gains_of(data, dictionary)])
    for first, second in zip(*found, strict=True):
        assert_allclose(first, second, rtol=1e-9, atol=1e-12)


def test_memory_of_a_series():
    rng = np.random.default_rng(20)
    noise = rng.standard_normal((4000, NODES))
    series = noise.copy()
    for row in range(1, len(series)):
        series[row] += 0.9 * series[row - 1]
    for x, least, most in ((noise, 0.9, 1.2), (series, 7, 13)):
        with open_signals(x - x.mean(axis=1, keepdims=True), 1, 1) as data:
            assert least < memory_of(data) < most


def test_what_blocks_carry_on_keeps_none_of_them_in_memory():
    x = np.random.default_rng(22).standard_normal((500, NODES))
    carried = []

    def keep(samples, rows):
        carried.append(_last_samples(samples, rows, None, 5))
        return None, (np.zeros(1),)

    with open_signals(x - x.mean(axis=1, keepdims=True), 1, 1) as data:
        data.executor.map_blocks(keep, [])
    assert [len(last) for last in carried] == [5]
    assert carried[0].base is None


def test_state_of_a_checkpoint():
    pool = PooledSamples(np.eye(NODES - 1), 0.1)
    dictionary = dictionary_of(21, filter=ExponentialFilter(2.0), tails=7.0, pool=pool)
    other = dictionary_of(22).with_state(dictionary.state())
    assert other.likelihood.filter == ExponentialFilter(2.0)
    assert other.likelihood.tails == 7
    assert other.likelihood.pool.share == 0.1
    assert_array_equal(other.atoms, dictionary.atoms)


# Whole fits -----------------------------------------------------------------------------------


def mixture(seed, power, tails, samples=1200, nodes=10, atoms=2):
    rng = np.random.default_rng(seed)
    edges = graphs.n_edges(nodes)
    weights = (rng.random((atoms, edges)) < 0.3) * rng.uniform(0.5, 2, (atoms, edges))
    weights += graphs.adjacency_to_weights(np.eye(nodes, k=1) + np.eye(nodes, k=-1))
    states = rng.integers(atoms, size=samples)
    return draw(weights[states], power, tails, rng), states


def test_power_and_tails_are_recovered():
    x, states = mixture(23, 2.0, 4.0)
    model = GraphDictMarginal(2, max_active=1, n_init=4, random_state=0).fit(x)
    assert model.filter_ == "power"
    assert abs(model.filter_power_ - 2) < 0.25
    assert abs(model.tails_ - 4) < 0.8
    assert adjusted_rand_score(states, model.predict(x)) > 0.8
    assert model.gains_.shape == (len(x),)
    assert np.corrcoef(np.log(model.gains_), np.log(np.square(x).sum(axis=1)))[0, 1] < -0.5
    assert_allclose(model.score(x), model.log_likelihood_, rtol=1e-3)
    assert_allclose(model.transform(x), model.coefficients_, atol=1e-6)
    assert_allclose(model.predict_proba(x).sum(axis=1), 1)


def test_without_filter_and_tails_the_fit_is_the_plain_one():
    x, _ = mixture(24, 1.0, np.inf)
    given = {"max_active": 1, "n_init": 2, "random_state": 0}
    auto = GraphDictMarginal(2, filter_power="auto", tails="auto", **given).fit(x)
    plain = GraphDictMarginal(2, filter_power=1, tails="gaussian", **given).fit(x)
    assert (auto.filter_power_, auto.tails_) == (1, np.inf)
    assert_array_equal(auto.atoms_, plain.atoms_)
    assert_array_equal(auto.gains_, 1)


def test_given_power_and_tails_are_kept(tmp_path):
    x, _ = mixture(25, 1.0, np.inf, samples=300)
    model = GraphDictMarginal(
        2, max_active=1, filter_power=1.5, tails=6, n_init=2, random_state=0
    ).fit(x)
    assert (model.filter_power_, model.tails_) == (1.5, 6)
    model.save(tmp_path / "model.gd")
    loaded = load_model(tmp_path / "model.gd")
    assert (loaded.filter_, loaded.filter_power_, loaded.tails_) == ("power", 1.5, 6)
    assert_array_equal(loaded.score_samples(x), model.score_samples(x))
    assert_array_equal(loaded.gains_, model.gains_)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_units_do_not_matter(scale):
    x, _ = mixture(26, 2.0, 5.0, samples=400)
    # The objective has a constant for the units, to which its changes are compared: tol=0.
    given = {"max_active": 1, "n_init": 2, "random_state": 0, "max_iter": 20, "tol": 0}
    models = [
        GraphDictMarginal(2, rescale=rescale, **given).fit(factor * x)
        for factor, rescale in ((1.0, True), (scale, False))
    ]
    assert_allclose(*(model.filter_power_ for model in models), rtol=0.02)
    assert_allclose(*(model.tails_ for model in models), rtol=0.05)
    assert_allclose(*(model.coefficients_ for model in models), atol=0.05)


def test_smooth_fields_on_a_line_are_told_apart():
    rng = np.random.default_rng(27)
    distance = np.abs(np.subtract.outer(np.arange(20), np.arange(20)))
    covariances = [np.exp(-((distance / s) ** 2)) + 1e-4 * np.eye(20) for s in (5, 8)]
    states = np.repeat(rng.integers(2, size=30), 40)
    factors = np.linalg.cholesky(covariances)
    x = np.einsum("tij,tj->ti", factors[states], rng.standard_normal((len(states), 20)))
    model = GraphDictMarginal(2, max_active=1, window_size=40, n_init=4, random_state=0).fit(x)
    assert adjusted_rand_score(states, model.coefficients_.argmax(axis=1)) == 1
    assert model.filter_power_ > 1


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"filter_power": 0.5}, "filter_power"),
        ({"filter_power": np.inf}, "filter_power"),
        ({"filter_power": np.nan}, "filter_power"),
        ({"filter_power": "smooth"}, "filter_power"),
        ({"tails": 2}, "tails"),
        ({"tails": np.nan}, "tails"),
        ({"tails": "heavy"}, "tails"),
        ({"filter_power": 2, "average": 10}, "filter_power=2"),
        ({"tails": 5, "average": 10}, "tails=5"),
        ({"filter_power": 2, "prior": "hierarchy", "n_atoms": 3}, "filter_power=2"),
    ],
)
def test_bad_arguments(given, name):
    with pytest.raises(ValueError, match=name):
        GraphDictMarginal(**{"n_atoms": 2, **given}).fit(signals_of(28))


def test_a_stream_has_power_one_and_gaussian_tails():
    x, _ = mixture(30, 2.0, 4.0, samples=300)
    model = GraphDictMarginal(2, max_active=1, n_init=1, max_iter=5, random_state=0)
    assert model.partial_fit(x).filter_power_ == 1
    with pytest.raises(AttributeError) as raised:
        model.set_params(tails=5).partial_fit(x)
    assert "tails=5" in str(raised.value.__cause__)
    model = GraphDictMarginal(
        2, max_active=1, filter_power=2, tails=4, n_init=1, max_iter=5, random_state=0
    ).fit(x)
    with pytest.raises(ValueError, match="cannot go on"):
        model.set_params(filter_power="auto", tails="auto").partial_fit(x)


@pytest.mark.parametrize("tails", [4.0, np.inf])
def test_observed_values_have_the_density_of_their_part(tails):
    """Of values with gaps: that of differences from one observed node, by SciPy."""
    rng = np.random.default_rng(0)
    atoms = rng.uniform(0.2, 1, (2, graphs.n_edges(5)))
    patterns = np.array([[True, False], [False, True], [True, True]])
    likelihood = FilteredLikelihood.of(patterns, atoms, filter=PowerFilter(1.7), tails=tails)
    complete = rng.standard_normal((6, 5))
    complete -= complete.mean(axis=1, keepdims=True)
    gappy = complete.copy()
    gappy[0, [1, 3]] = gappy[1, 0] = gappy[2, [0, 2, 4]] = np.nan
    gappy[3, 1:] = np.nan
    factors = likelihood.factors(atoms, missing=True)
    found = likelihood.log_likelihoods(factors, SignalBlock(gappy, np.ones(6, dtype=int)))
    same = SignalBlock(complete, np.ones(6, dtype=int))
    plain = likelihood.log_likelihoods(likelihood.factors(atoms), same)
    np.testing.assert_allclose(found[4:], plain[4:], rtol=1e-9)
    np.testing.assert_allclose(found[3], 0, atol=1e-9)
    ratio = []
    for row in range(3):
        seen = np.flatnonzero(np.isfinite(gappy[row]))
        differences = np.eye(5)[seen[1:]] - np.eye(5)[seen[0]]
        for index in range(3):
            covariance = differences @ likelihood.covariances(atoms)[index] @ differences.T
            x = differences @ np.nan_to_num(gappy[row])
            if np.isinf(tails):
                wanted = multivariate_normal.logpdf(x, np.zeros(len(x)), covariance)
            else:
                wanted = multivariate_t.logpdf(x, np.zeros(len(x)), covariance, df=tails)
            ratio.append((found[row, index] - wanted, len(seen)))
    # In orthonormal coordinates instead of differences: half the logarithm of their number.
    for excess, count in ratio:
        assert excess == pytest.approx(np.log(count) / 2, abs=1e-8)


@pytest.mark.parametrize("tails", [4.0, np.inf])
def test_statistics_of_missing_values_are_those_expected_given_the_others(tails):
    """By conditioning covariances of differences from one observed node, sample by sample."""
    rng = np.random.default_rng(1)
    nodes = 6
    atoms = rng.uniform(0.2, 1, (2, graphs.n_edges(nodes)))
    patterns = np.array([[True, False], [False, True], [True, True]])
    likelihood = FilteredLikelihood.of(patterns, atoms, filter=PowerFilter(2.3), tails=tails)
    x = rng.standard_normal((7, nodes))
    x[0, [1, 3]] = x[1, 0] = x[2, [0, 2, 4]] = x[3, 1:] = x[4] = x[5, [1, 3]] = np.nan
    shares = rng.random((7, 3))
    block = SignalBlock(x, np.ones(7, dtype=int))
    moments, _ = likelihood.statistics(likelihood.factors(atoms, missing=True), block, shares)
    wanted = np.zeros((3, nodes, nodes))
    for index, covariance in enumerate(likelihood.covariances(atoms)):
        for row, share in zip(x, shares[:, index], strict=True):
            seen = np.flatnonzero(np.isfinite(row))
            origin = seen[0] if len(seen) else 0
            others = np.setdiff1d(np.arange(nodes), origin)
            from_origin = np.eye(nodes)[others] - np.eye(nodes)[origin]
            spread = from_origin @ covariance @ from_origin.T
            there = np.isfinite(row[others])
            value = np.nan_to_num(row[others] - row[origin])
            gain = 1.0
            if there.any():
                weights = np.linalg.solve(spread[np.ix_(there, there)], value[there])
                if np.isfinite(tails):
                    gain = (tails + there.sum()) / (tails + value[there] @ weights)
                value[~there] = spread[np.ix_(~there, there)] @ weights
                known = np.linalg.solve(spread[np.ix_(there, there)], spread[np.ix_(there, ~there)])
                spread[np.ix_(~there, ~there)] -= spread[np.ix_(~there, there)] @ known
            spread[there] = spread[:, there] = 0
            whole = np.zeros((nodes, nodes))
            whole[np.ix_(others, others)] = gain * np.outer(value, value) + spread
            wanted[index] += share * whole
    assert_allclose(reduce_moments(moments), reduce_moments(wanted), atol=1e-9)


def test_a_power_and_tails_are_found_although_values_are_missing():
    rng = np.random.default_rng(3)
    ring = np.roll(np.eye(12), 1, axis=0)
    weights = (ring + ring.T)[np.triu_indices(12, 1)]
    x = np.asarray(
        sample_lgmrf(np.repeat(weights[None], 3000, 0), filter=2, tails=5, random_state=0)
    )
    gaps = rng.random(x.shape) < 0.05
    gaps[:500, 3] = True
    found, whole = (
        GraphDictMarginal(1, random_state=0).fit(signals)
        for signals in (np.where(gaps, np.nan, x), x)
    )
    assert found.filter_power_ == pytest.approx(2, abs=0.15)
    assert found.tails_ == pytest.approx(5, rel=0.3)
    assert found.score(x) == pytest.approx(whole.score(x), abs=0.05)
    assert (found.gains_ > 0).all()


def test_exponential_filters_that_are_steep_get_a_larger_rate():
    """A rate that is too small would leave signals without tails for ones that have some."""
    nodes = 16
    rows, cols = graphs.edge_index(nodes)
    weights = np.isin(cols - rows, (1, 4)).astype(float)
    values, vectors = np.linalg.eigh(graphs.laplacian(weights))
    scales = np.sqrt(2 / np.expm1(2 * values[1:]))
    noise = np.random.default_rng(0).standard_normal((2000, nodes - 1))
    model = GraphDictMarginal(1, random_state=0).fit((noise * scales) @ vectors[:, 1:].T)
    assert model.filter_ == "exp"
    assert model.filter_power_ > 0.9 * nodes  # the first one that is tried is a quarter of it
    assert model.tails_ > 30
    assert np.corrcoef(model.atoms_[0], weights)[0, 1] > 0.99


def test_the_rate_of_an_exponential_filter_does_not_depend_on_the_number_of_atoms():
    """Were the edges of all atoms to pay for it, three would get a quarter of what one gets."""
    rng = np.random.default_rng(0)
    distance = np.abs(np.subtract.outer(np.arange(20), np.arange(20)))
    covariances = [np.exp(-((distance / s) ** 2)) + 1e-5 * np.eye(20) for s in (3, 3.6)]
    states = np.repeat(rng.integers(2, size=20), 20)
    x = np.stack([rng.multivariate_normal(np.zeros(20), covariances[k]) for k in states])
    given = {"max_active": 1, "prior": "markov", "tails": "gaussian", "random_state": 0}
    one, three = (GraphDictMarginal(count, **given).fit(x) for count in (1, 3))
    assert (three.filter_, three.filter_power_) == (one.filter_, one.filter_power_)
    assert one.filter_ == "exp"
