"""Samples with gaps under each pattern, against the formulas of dense Gaussians."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import null_space
from scipy.stats import multivariate_normal

from graphdict import native
from graphdict.core.marginal.missing import (
    conditional_moments,
    draw_missing,
    observed_log_likelihoods,
)


def make_covariances(rng, nodes, count):
    factors = rng.standard_normal((count, nodes, nodes + 3))
    return factors @ factors.transpose(0, 2, 1) / nodes


def make_signals(rng, samples, nodes, share):
    """With gaps of several samples each, so that some succeed each other and some do not."""
    signals = rng.standard_normal((samples, nodes))
    signals[rng.random((samples, nodes)) < share] = np.nan
    alike = np.isnan(signals[::3])
    signals[1::3][alike[: len(signals[1::3])]] = np.nan
    signals[1::3][~alike[: len(signals[1::3])]] = 1.5
    return signals


def differences(covariance, origin):
    """Covariance of all nodes as measured from one of them."""
    shift = np.eye(len(covariance))
    shift[:, origin] -= 1
    return shift @ covariance @ shift.T


def conditional(row, covariance):
    """Mean and covariance (N, N) of a sample given what was observed, from its first such node."""
    there, gone = np.flatnonzero(~np.isnan(row)), np.flatnonzero(np.isnan(row))
    origin = there[0] if there.size else 0
    known, spread = there[1:], differences(covariance, origin)
    mean, rest = np.zeros(len(row)), np.zeros((len(row), len(row)))
    mean[known] = row[known] - row[origin] if known.size else 0
    gain = spread[np.ix_(gone, known)] @ np.linalg.inv(spread[np.ix_(known, known)])
    mean[gone] = gain @ mean[known]
    rest[np.ix_(gone, gone)] = spread[np.ix_(gone, gone)] - gain @ spread[np.ix_(known, gone)]
    return mean, rest


CASES = [(1, 3, 0.3), (12, 2, 0.3), (30, 5, 0.0), (30, 5, 0.4), (30, 9, 0.6), (12, 4, 1.0)]


@pytest.fixture(params=CASES, ids=str, name="case")
def some_case(request):
    rng = np.random.default_rng(0)
    samples, nodes, share = request.param
    return make_signals(rng, samples, nodes, share), make_covariances(rng, nodes, 3), rng


def test_likelihood_is_that_of_observed_nodes_without_their_mean(case):
    signals, covariances, _ = case
    found = observed_log_likelihoods(signals, covariances)
    for t, row in enumerate(signals):
        there = ~np.isnan(row)
        if there.sum() < 2:
            assert not found[t].any()
            continue
        basis = null_space(np.ones((1, there.sum())))
        for c, covariance in enumerate(covariances):
            projected = basis.T @ covariance[np.ix_(there, there)] @ basis
            expected = multivariate_normal(cov=projected).logpdf(basis.T @ row[there])
            assert_allclose(found[t, c], expected, rtol=1e-9)


def test_moments_are_those_of_conditional_gaussians(case):
    signals, covariances, rng = case
    posterior = rng.dirichlet(np.ones(3), len(signals))
    expected = np.zeros(covariances.shape)
    for row, shares in zip(signals, posterior):
        for c, share in enumerate(shares):
            mean, rest = conditional(row, covariances[c])
            expected[c] += share * (np.outer(mean, mean) + rest)
    found = conditional_moments(signals, covariances, posterior)
    assert_allclose(found, expected, rtol=1e-9, atol=1e-11)


def test_patterns_that_are_out_of_question_are_left_out():
    rng = np.random.default_rng(1)
    signals, covariances = make_signals(rng, 9, 4, 0.3), make_covariances(rng, 4, 2)
    covariances[1] = np.nan
    shares = np.tile([1.0, 1e-9], (9, 1))
    found = conditional_moments(signals, covariances, shares)
    assert np.isfinite(found[0]).all()
    assert not found[1].any()


def test_draws_are_linear_in_noise_with_the_conditional_covariance(case):
    signals, covariances, rng = case
    samples, nodes = signals.shape
    patterns = rng.integers(3, size=samples)
    nothing = draw_missing(signals, covariances, patterns, np.zeros(signals.shape))
    there = ~np.isnan(signals)
    assert_array_equal(nothing[there], signals[there])
    moved = []
    for node in range(nodes):  # what one unit of noise at this node moves
        noise = np.zeros(signals.shape)
        noise[:, node] = 1
        moved.append(draw_missing(signals, covariances, patterns, noise) - nothing)
    moved = np.stack(moved, axis=2)
    for t, row in enumerate(signals):
        mean, rest = conditional(row, covariances[patterns[t]])
        origin = row[there[t]][0] if there[t].any() else 0.0
        assert_allclose(nothing[t], mean + origin, rtol=1e-9, atol=1e-11)
        assert_allclose(moved[t] @ moved[t].T, rest, rtol=1e-9, atol=1e-11)


def test_nodes_that_are_copies_of_each_other():
    """Singular covariances: a copy is known where its twin was observed, and varies with it."""
    rng = np.random.default_rng(2)
    covariance = make_covariances(rng, 4, 1)
    both = np.array([0, 1, 2, 3, 3])
    covariance = covariance[:, both][:, :, both]
    signals = rng.standard_normal((6, 4))[:, both]
    signals[:3, 4] = np.nan
    signals[3:, 3:] = np.nan
    assert np.isfinite(observed_log_likelihoods(rng.standard_normal((3, 5)), covariance)).all()
    noise = rng.standard_normal(signals.shape)
    filled = draw_missing(signals, covariance, np.zeros(6, dtype=np.intp), noise)
    assert_allclose(filled[:, 3], filled[:, 4], atol=1e-6)
    assert np.isfinite(conditional_moments(signals, covariance, np.ones((6, 1)))).all()


def test_order_and_precision_of_what_is_given_change_nothing():
    rng = np.random.default_rng(3)
    signals = make_signals(rng, 20, 6, 0.3).astype(np.float32)
    covariances, posterior = make_covariances(rng, 6, 2), rng.dirichlet(np.ones(2), 20)
    double = signals.astype(np.float64)
    for function, more in ((observed_log_likelihoods, ()), (conditional_moments, (posterior,))):
        expected = function(double, covariances, *more)
        assert_array_equal(function(np.asfortranarray(signals), covariances, *more), expected)
        assert_array_equal(function(double, np.asfortranarray(covariances), *more), expected)
    noise, patterns = rng.standard_normal((20, 6)), rng.integers(2, size=20)
    expected = draw_missing(double, covariances, patterns, noise)
    found = draw_missing(signals, covariances, patterns.astype(np.int32), np.asfortranarray(noise))
    assert_array_equal(found, expected)


@pytest.mark.parametrize("shape", [(0, 3), (2, 1), (2, 0), (0, 0)], ids=str)
@pytest.mark.parametrize("count", [0, 2])
@pytest.mark.parametrize("value", [1.0, np.nan])
def test_nothing_to_do(shape, count, value):
    signals, covariances = np.full(shape, value), np.ones((count, shape[1], shape[1]))
    assert_array_equal(observed_log_likelihoods(signals, covariances), np.zeros((shape[0], count)))
    posterior = np.ones((shape[0], count))
    assert not conditional_moments(signals, covariances, posterior).any()
    if count or not shape[0]:
        chosen = np.zeros(shape[0], dtype=np.intp)
        filled = draw_missing(signals, covariances, chosen, np.ones(shape))
        assert_array_equal(filled, np.nan_to_num(signals))


def test_shapes_that_do_not_fit_are_refused():
    signals, covariances, noise = np.ones((4, 3)), np.ones((2, 3, 3)), np.ones((4, 3))
    chosen = np.zeros(4, dtype=np.intp)
    with pytest.raises(ValueError, match="covariances"):
        observed_log_likelihoods(signals, np.ones((2, 4, 4)))
    with pytest.raises(ValueError, match="posterior"):
        conditional_moments(signals, covariances, np.ones((4, 3)))
    with pytest.raises(ValueError, match="patterns"):
        draw_missing(signals, covariances, chosen + 2, noise)
    with pytest.raises(ValueError, match="patterns"):
        draw_missing(signals, covariances, chosen - 1, noise)
    with pytest.raises(ValueError, match="noise"):
        draw_missing(signals, covariances, chosen, noise[:2])
    with pytest.raises(ValueError, match="out"):
        native.observed_log_likelihoods(signals, covariances, np.empty((4, 3)))
    with pytest.raises(TypeError):  # results would go into a copy
        native.observed_log_likelihoods(signals, covariances, np.empty((4, 2), np.float32))
