"""Posteriors of patterns against brute force over all patterns and all paths."""

from itertools import pairwise, product

import numpy as np
import pytest

from graphdict.marginal.chain import (
    chain_posterior,
    independent_posterior,
    known_posterior,
    most_probable_path,
)


def draw(seed, steps=5, count=3):
    rng = np.random.default_rng(seed)
    return 2 * rng.standard_normal((steps, count)), rng.dirichlet(np.ones(count))


def all_paths(values, probabilities, stay):
    """Every path with its joint log-probability, transitions written out as a matrix."""
    steps, count = values.shape
    matrix = stay * np.eye(count) + (1 - stay) * np.tile(probabilities, (count, 1))
    paths = list(product(range(count), repeat=steps))
    scores = []
    for path in paths:
        score = np.log(probabilities[path[0]]) + sum(values[t, c] for t, c in enumerate(path))
        score += sum(np.log(matrix[a, b]) for a, b in pairwise(path))
        scores.append(score)
    return np.array(paths), np.array(scores)


@pytest.mark.parametrize("seed", range(3))
def test_independent_posterior_is_bayes_rule(seed):
    values, probabilities = draw(seed)
    posterior = independent_posterior(values, probabilities)
    joint = probabilities * np.exp(values)
    expected = joint / joint.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(posterior.probabilities, expected)
    np.testing.assert_allclose(posterior.evidence, np.log(joint.sum(axis=1)))
    np.testing.assert_allclose(posterior.draws, expected.sum(axis=0))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("stay", [0.0, 0.3, 0.95])
def test_forward_backward_against_all_paths(seed, stay):
    values, probabilities = draw(seed)
    paths, scores = all_paths(values, probabilities, stay)
    weights = np.exp(scores)
    total = weights.sum()
    expected = np.array(
        [[weights[paths[:, t] == c].sum() / total for c in range(3)] for t in range(5)]
    )
    posterior = chain_posterior(values, probabilities, stay)
    np.testing.assert_allclose(posterior.probabilities, expected, atol=1e-12)
    np.testing.assert_allclose(posterior.evidence.sum(), np.log(total))
    # Every step either stays or draws, and the first one draws.
    np.testing.assert_allclose(posterior.draws.sum() + posterior.stays, 5)


def test_expected_stays_and_draws_against_all_paths():
    stay = 0.4
    values, probabilities = draw(7)
    paths, scores = all_paths(values, probabilities, stay)
    weights = np.exp(scores) / np.exp(scores).sum()
    same = stay / (stay + (1 - stay) * probabilities)  # of repeating: the share that stayed
    stays = sum(
        weight * sum(same[a] for a, b in pairwise(path) if a == b)
        for path, weight in zip(paths, weights)
    )
    assert chain_posterior(values, probabilities, stay).stays == pytest.approx(stays)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("stay", [0.0, 0.5, 0.9])
def test_most_probable_path_against_all_paths(seed, stay):
    values, probabilities = draw(seed)
    paths, scores = all_paths(values, probabilities, stay)
    best = paths[scores.argmax()]
    np.testing.assert_array_equal(most_probable_path(values, probabilities, stay), best)


def test_chain_survives_extreme_likelihoods():
    values, probabilities = draw(0, steps=50)
    posterior = chain_posterior(1e4 * values - 1e6, probabilities, 0.9)
    assert np.isfinite(posterior.evidence).all()
    np.testing.assert_allclose(posterior.probabilities.sum(axis=1), 1)


def test_known_posterior_reads_the_given_pattern():
    values, _ = draw(1)
    posterior = known_posterior(values, np.array([0, 0, 1, 2, 2]))
    np.testing.assert_array_equal(posterior.draws, [2, 1, 2])
    np.testing.assert_array_equal(posterior.evidence, values[range(5), [0, 0, 1, 2, 2]])
