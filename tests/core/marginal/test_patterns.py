"""Patterns, their probabilities, and the hierarchy of intervals of time."""

import numpy as np
import pytest
from scipy.optimize import minimize

from graphdict.core.marginal.patterns import (
    count_patterns,
    default_max_active,
    enumerate_patterns,
    fit_probabilities,
    pattern_sizes,
    uniform_probabilities,
)
from graphdict.core.marginal.time_hierarchy import hierarchy_patterns, n_levels, time_positions


def test_patterns_are_all_small_sets_once():
    patterns = enumerate_patterns(5, 3)
    assert len(patterns) == count_patterns(5, 3) == 25
    assert len(np.unique(patterns, axis=0)) == 25
    assert patterns.sum(axis=1).min() == 1
    assert patterns.sum(axis=1).max() == 3


def test_graded_patterns_are_all_levels_of_all_small_sets():
    patterns = enumerate_patterns(4, 2, levels=3)
    assert len(patterns) == count_patterns(4, 2, 3) == 4 * 3 + 6 * 9
    assert len(np.unique(patterns, axis=0)) == len(patterns)
    np.testing.assert_allclose(np.unique(patterns), [0, 1 / 3, 2 / 3, 1])
    assert set(pattern_sizes(patterns)) == {1, 2}


def test_more_levels_than_patterns_allow_are_refused_with_their_number():
    with pytest.raises(ValueError, match=r"levels=20 gives 4084100 .*max_active to 2, or levels"):
        enumerate_patterns(5, 5, levels=20)


def test_default_keeps_the_number_of_patterns_comfortable():
    assert default_max_active(5) == 5
    assert default_max_active(30) == 3
    assert default_max_active(30, levels=4) == 1
    assert default_max_active(10_000) == 1


def test_too_many_patterns_are_refused_with_a_way_out():
    with pytest.raises(ValueError, match=r"max_active=8 of n_atoms=30.*lower max_active to 3"):
        enumerate_patterns(30, 8)


def test_uniform_probabilities_are_uniform_over_sizes():
    patterns = enumerate_patterns(4, 3)
    probabilities = uniform_probabilities(patterns)
    sizes = np.bincount(patterns.sum(axis=1), weights=probabilities)
    np.testing.assert_allclose(sizes[1:], 1 / 3)


def test_free_probabilities_are_relative_counts():
    patterns = enumerate_patterns(3, 2)
    counts = np.arange(1.0, 7)
    start = uniform_probabilities(patterns)
    np.testing.assert_allclose(fit_probabilities(patterns, counts, start, "free"), counts / 21)


def test_levels_have_the_odds_that_were_counted():
    patterns = enumerate_patterns(3, 2, levels=2)
    counts = np.random.default_rng(0).uniform(1, 10, len(patterns))
    probabilities = uniform_probabilities(patterns)
    for _ in range(100):
        probabilities = fit_probabilities(patterns, counts, probabilities, "independent")
    for level in (0.5, 1.0):
        found = probabilities @ (patterns == level)
        np.testing.assert_allclose(found, counts @ (patterns == level) / counts.sum(), rtol=1e-6)
    sizes = np.bincount(pattern_sizes(patterns), weights=probabilities)
    counted = np.bincount(pattern_sizes(patterns), weights=counts) / counts.sum()
    np.testing.assert_allclose(sizes, counted, rtol=1e-6)


def test_log_linear_probabilities_maximise_the_expected_log_prior():
    patterns = enumerate_patterns(3, 3)
    counts = np.random.default_rng(0).uniform(1, 10, len(patterns))
    probabilities = uniform_probabilities(patterns)
    values = []
    for _ in range(60):
        probabilities = fit_probabilities(patterns, counts, probabilities, "independent")
        values.append(counts @ np.log(probabilities))
    assert (np.diff(values) >= -1e-9).all()
    sizes = np.eye(4)[patterns.sum(axis=1)]
    features = np.hstack([patterns, sizes[:, 2:]])

    def negative(theta):
        score = features @ theta
        return counts.sum() * np.log(np.exp(score).sum()) - counts @ score

    best = -minimize(negative, np.zeros(features.shape[1]), tol=1e-10).fun
    assert values[-1] == pytest.approx(best, abs=1e-4)


def test_hierarchy_covers_time_once_at_every_level():
    tree = hierarchy_patterns(15)
    assert tree.shape[1] == 15
    for level in range(4):
        rows = slice(2**level - 1, 2 ** (level + 1) - 1)
        np.testing.assert_allclose(tree[:, rows].sum(axis=1), 1)
    assert (tree >= 0).all()
    assert (np.diff(time_positions(100, len(tree))) >= 0).all()


def test_all_stretches_between_marks():
    every = hierarchy_patterns(36)  # eight leaves, as a tree of 15 has
    columns = every.T.tolist()
    assert len(set(map(tuple, columns))) == 36
    assert all(stretch in columns for stretch in hierarchy_patterns(15).T.tolist())
    for start in range(8):
        for middle in range(start + 1, 8):
            # Two stretches that meet are a third.
            first, second = (every[:, _stretch(a, b)] for a, b in ((start, middle), (middle, 8)))
            np.testing.assert_allclose(first + second, every[:, _stretch(start, 8)])
    assert [n_levels(k) for k in (1, 3, 7, 15, 31, 10, 36, 136)] == [1, 2, 3, 4, 5, 3, 4, 5]


def _stretch(start, end):
    return [(a, b) for a in range(8) for b in range(a + 1, 9)].index((start, end))


@pytest.mark.parametrize("n_atoms", [1, 3, 6, 7, 10, 15, 21, 28, 31, 36, 136])
def test_hierarchy_has_the_atoms_that_were_asked_for(n_atoms):
    assert hierarchy_patterns(n_atoms).shape[1] == n_atoms


def test_hierarchy_wants_a_full_tree_or_all_stretches():
    for wrong, trees, all_of in ((2, "1 or 3", "1 or 3"), (5, "3 or 7", "3 or 6"),
                                 (100, "63 or 127", "91 or 105")):  # fmt: skip
        with pytest.raises(ValueError, match=rf"n_atoms={wrong} .*use {trees}; or {all_of},"):
            hierarchy_patterns(wrong)
