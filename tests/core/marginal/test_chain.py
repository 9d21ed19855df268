"""Posteriors of patterns against brute force over all patterns and all paths."""

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphdict import native
from graphdict.core.marginal.chain import (
    ScaledLikelihoods,
    backward_message,
    chain_posterior,
    forward_message,
    independent_posterior,
    known_posterior,
    most_probable_path,
    scale_likelihoods,
    viterbi_message,
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
    np.testing.assert_allclose(posterior.responsibilities, expected)
    np.testing.assert_allclose(posterior.log_evidence, np.log(joint.sum(axis=1)))
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
    posterior = chain_posterior(scale_likelihoods(values), probabilities, stay)
    np.testing.assert_allclose(posterior.responsibilities, expected, atol=1e-12)
    np.testing.assert_allclose(posterior.log_evidence.sum(), np.log(total))
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
    assert chain_posterior(scale_likelihoods(values), probabilities, stay).stays == pytest.approx(
        stays
    )


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("stay", [0.0, 0.5, 0.9])
def test_most_probable_path_against_all_paths(seed, stay):
    values, probabilities = draw(seed)
    paths, scores = all_paths(values, probabilities, stay)
    best = paths[scores.argmax()]
    np.testing.assert_array_equal(most_probable_path(values, probabilities, stay)[0], best)


def in_blocks(values, cuts):
    """Blocks between cuts, some of which may coincide."""
    edges = [0, *sorted({cut % len(values) for cut in cuts} - {0}), len(values)]
    return [values[first:last] for first, last in pairwise(edges)]


@given(
    seed=st.integers(0, 1000),
    steps=st.integers(1, 40),
    stay=st.sampled_from([0.0, 0.3, 0.95, 1 - 1e-6]),
    cuts=st.lists(st.integers(0, 100), max_size=6),
    height=st.sampled_from([1.0, 30.0]),
)
def test_a_chain_in_blocks_is_the_whole_chain(seed, steps, stay, cuts, height):
    values, probabilities = draw(seed, steps, 4)
    values = height * values
    whole = chain_posterior(scale_likelihoods(values), probabilities, stay)
    blocks = in_blocks(values, cuts)
    befores, afters = [None], [None]
    for block in blocks[:-1]:
        befores.append(forward_message(scale_likelihoods(block), probabilities, stay, befores[-1]))
    for block in blocks[:0:-1]:
        afters.append(backward_message(scale_likelihoods(block), probabilities, stay, afters[-1]))
    found = [
        chain_posterior(scale_likelihoods(block), probabilities, stay, before, after)
        for block, before, after in zip(blocks, befores, afters[::-1], strict=True)
    ]
    for name in ("responsibilities", "log_evidence"):
        together = np.concatenate([getattr(part, name) for part in found])
        np.testing.assert_allclose(together, getattr(whole, name), rtol=1e-9, atol=1e-12)
    for name in ("draws", "stays"):
        together = sum(getattr(part, name) for part in found)
        np.testing.assert_allclose(together, getattr(whole, name), rtol=1e-9, atol=1e-12)


@given(
    seed=st.integers(0, 1000),
    steps=st.integers(1, 40),
    stay=st.sampled_from([0.0, 0.3, 0.95]),
    cuts=st.lists(st.integers(0, 100), max_size=6),
)
def test_a_path_in_blocks_is_the_whole_path(seed, steps, stay, cuts):
    values, probabilities = draw(seed, steps, 4)
    blocks = in_blocks(values, cuts)
    befores, last, path = [None], None, []
    for block in blocks[:-1]:
        befores.append(viterbi_message(block, probabilities, stay, befores[-1]))
    for block, before in zip(blocks[::-1], befores[::-1]):
        part, last = most_probable_path(block, probabilities, stay, before, last)
        path = [*part, *path]
    np.testing.assert_array_equal(path, most_probable_path(values, probabilities, stay)[0])


def test_scaled_likelihoods_are_at_most_one():
    values, _ = draw(3)
    found = scale_likelihoods(values)
    assert isinstance(found, ScaledLikelihoods)
    np.testing.assert_array_equal(found.likelihoods.max(axis=1), 1)
    np.testing.assert_allclose(np.log(found.likelihoods) + found.log_scales[:, None], values)


def test_chain_survives_extreme_likelihoods():
    values, probabilities = draw(0, steps=50)
    posterior = chain_posterior(scale_likelihoods(1e4 * values - 1e6), probabilities, 0.9)
    assert np.isfinite(posterior.log_evidence).all()
    np.testing.assert_allclose(posterior.responsibilities.sum(axis=1), 1)


def test_known_posterior_reads_the_given_pattern():
    values, _ = draw(1)
    posterior = known_posterior(values, np.array([0, 0, 1, 2, 2]))
    np.testing.assert_array_equal(posterior.draws, [2, 1, 2])
    np.testing.assert_array_equal(posterior.log_evidence, values[range(5), [0, 0, 1, 2, 2]])


def test_one_pattern_and_one_sample():
    one = np.ones(1)
    posterior = chain_posterior(scale_likelihoods(np.array([[-3.0], [2.0]])), one, 0.25)
    np.testing.assert_array_equal(posterior.responsibilities, [[1.0], [1.0]])
    np.testing.assert_array_equal(posterior.log_evidence, [-3.0, 2.0])
    np.testing.assert_allclose([posterior.stays, *posterior.draws], [0.25, 1.75])
    values, probabilities = draw(2, steps=1)
    posterior = chain_posterior(scale_likelihoods(values), probabilities, 0.7)
    expected = independent_posterior(values, probabilities)
    np.testing.assert_allclose(posterior.responsibilities, expected.responsibilities)
    assert posterior.stays == 0


def test_no_samples_change_no_message():
    values, probabilities = draw(0, steps=0)
    message = np.array([0.2, 0.5, 0.3])
    nothing = ScaledLikelihoods(values, np.empty(0))
    np.testing.assert_array_equal(forward_message(nothing, probabilities, 0.5, message), message)
    np.testing.assert_array_equal(forward_message(nothing, probabilities, 0.5), probabilities)
    np.testing.assert_array_equal(backward_message(nothing, probabilities, 0.5, message), message)
    np.testing.assert_array_equal(
        viterbi_message(values, probabilities, 0.5, -message), 0.2 - message
    )
    path, previous = most_probable_path(values, probabilities, 0.5, message)
    assert path.shape == (0,)
    assert previous == 1
    posterior = chain_posterior(nothing, probabilities, 0.5)
    assert posterior.responsibilities.shape == (0, 3)
    assert posterior.stays == 0
    assert not posterior.draws.any()


def test_messages_are_not_changed_in_place():
    values, probabilities = draw(4)
    for function in (forward_message, backward_message):
        message = np.array([0.2, 0.5, 0.3])
        function(scale_likelihoods(values), probabilities, 0.5, message)
        np.testing.assert_array_equal(message, [0.2, 0.5, 0.3])
    chain_posterior(scale_likelihoods(values), probabilities, 0.5, message, message)
    viterbi_message(values, probabilities, 0.5, message)
    np.testing.assert_array_equal(message, [0.2, 0.5, 0.3])


def test_order_and_precision_of_likelihoods_change_nothing():
    values, probabilities = draw(5, steps=30)
    values = values.astype(np.float32).astype(np.float64)
    expected = most_probable_path(values, probabilities, 0.8)[0]
    for given_values in (np.asfortranarray(values), values.astype(np.float32)):
        found = most_probable_path(given_values, probabilities, 0.8)[0]
        np.testing.assert_array_equal(found, expected)
    whole, likelihoods = (
        scale_likelihoods(values),
        np.asfortranarray(scale_likelihoods(values).likelihoods),
    )
    found = chain_posterior(ScaledLikelihoods(likelihoods, whole.log_scales), probabilities, 0.8)
    expected = chain_posterior(whole, probabilities, 0.8)
    np.testing.assert_array_equal(found.responsibilities, expected.responsibilities)


def test_nan_spreads_along_the_chain_and_no_further():
    values, probabilities = draw(6, steps=8)
    rows = scale_likelihoods(values)
    rows.likelihoods[4] = np.nan
    forward = forward_message(rows, probabilities, 0.5)
    assert np.isnan(forward).all()
    assert np.isnan(chain_posterior(rows, probabilities, 0.5).log_evidence[4:]).all()
    values[4] = np.nan
    path, _ = most_probable_path(values, probabilities, 0.5)
    assert set(path) <= {0, 1, 2}


def test_impossible_samples_are_refused():
    rows = ScaledLikelihoods(np.array([[1.0, 0.0], [0.0, 1.0]]), np.zeros(2))
    certain = np.array([1.0, 0.0])
    for function in (chain_posterior, forward_message, backward_message):
        with pytest.raises(ValueError, match="impossible under every pattern"):
            function(rows, certain, 0.0)


def test_shapes_that_do_not_fit_are_refused():
    values, probabilities = draw(0)
    rows, short = scale_likelihoods(values), np.ones(2)
    for function in (chain_posterior, forward_message, backward_message):
        with pytest.raises(ValueError, match="probabilities"):
            function(rows, short, 0.5)
        with pytest.raises(ValueError, match="columns of likelihoods"):
            function(rows, probabilities, 0.5, short)
    with pytest.raises(ValueError, match="after"):
        chain_posterior(rows, probabilities, 0.5, None, short)
    with pytest.raises(ValueError, match="columns of log_likelihoods"):
        viterbi_message(values, probabilities, 0.5, short)
    with pytest.raises(ValueError, match="came_from"):
        most_probable_path(values, probabilities, 0.5, None, 3)
    came_from = np.full((2, 3), 7, dtype=np.int32)
    with pytest.raises(ValueError, match="came_from"):
        native.trace_path(came_from, 0, np.empty(2, dtype=np.int64))
    with pytest.raises(ValueError, match="columns"):
        viterbi_message(np.empty((2, 0)), np.empty(0), 0.5)
