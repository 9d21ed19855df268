"""Tests of recordings: SciPy's statistics, enumeration, calibration, and what is refused."""

from itertools import permutations, product

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from graphdict.studies import (
    activation_statistics,
    compare_conditions,
    compare_groups,
    regress_on,
)
from graphdict.studies.arrangements import block_orders, condition_orders, group_labels, signs
from graphdict.studies.intervals import mean_interval

FEW = {"n_permutations": 199}


@pytest.fixture
def values():
    return np.random.default_rng(0).standard_normal((12, 3))


@pytest.fixture
def missing(values):
    values[2, 1] = values[7, 1] = np.nan
    return values


def test_two_groups_are_compared_by_welch(missing):
    groups = np.repeat(["b", "a"], [5, 7])
    found = compare_groups(missing, groups)
    expected = stats.ttest_ind(missing[:5], missing[5:], equal_var=False, nan_policy="omit")
    np.testing.assert_allclose(found.statistic, expected.statistic)  # b minus a
    np.testing.assert_allclose(
        found.effect, np.nanmean(missing[:5], axis=0) - np.nanmean(missing[5:], axis=0)
    )
    assert found.exact
    assert found.n_permutations == 792


def test_p_values_of_groups_are_those_of_enumeration(values):
    groups = np.repeat(["a", "b"], 6)
    found = compare_groups(values, groups)

    def welch(a, b, axis):
        return abs(stats.ttest_ind(a, b, axis=axis, equal_var=False).statistic)

    for m in range(3):
        by_scipy = stats.permutation_test(
            (values[:6, m], values[6:, m]), welch, n_resamples=np.inf, alternative="greater",
            vectorized=True,
        )  # fmt: skip
        assert found.p_values[m] == pytest.approx(by_scipy.pvalue)


def test_the_maximum_statistic_corrects_over_columns():
    """Against a plain loop over all sign flips."""
    differences = np.random.default_rng(1).normal([1.5, 0, 0, 0], 1, (6, 4))
    values = np.concatenate((np.zeros((6, 4)), differences))
    labels, subjects = np.repeat(["a", "b"], 6), np.tile(np.arange(6), 2)
    found = compare_conditions(values, labels, subjects)
    observed = np.abs(stats.ttest_1samp(differences, 0).statistic)
    np.testing.assert_allclose(np.abs(found.statistic), observed)
    largest = [
        np.abs(stats.ttest_1samp(differences * np.array(flips)[:, None], 0).statistic).max()
        for flips in product((1, -1), repeat=6)
    ]
    expected = [(np.array(largest) >= t - 1e-9).mean() for t in observed]
    np.testing.assert_allclose(found.p_corrected, expected)
    assert (found.p_corrected >= found.p_values).all()


def test_more_groups_and_more_conditions_are_compared_by_f(values):
    groups = np.repeat(["a", "b", "c"], 4)
    expected = stats.f_oneway(values[:4], values[4:8], values[8:]).statistic
    found = compare_groups(values, groups, **FEW)
    np.testing.assert_allclose(found.statistic, expected)
    np.testing.assert_allclose(found.size, expected * 2 / (expected * 2 + 9))  # eta squared
    subjects = np.tile(np.arange(4), 3)
    found = compare_conditions(values, groups, subjects)
    cube = values.reshape(3, 4, 3)
    left = cube - cube.mean(axis=0) - cube.mean(axis=1, keepdims=True) + cube.mean(axis=(0, 1))
    between = 4 * np.square(cube.mean(axis=1) - cube.mean(axis=(0, 1))).sum(axis=0)
    np.testing.assert_allclose(found.statistic, between / 2 / (np.square(left).sum((0, 1)) / 6))
    assert found.exact
    assert found.n_permutations == 6**4


def test_a_covariate_is_regressed_on(missing):
    covariate = np.random.default_rng(1).standard_normal(12)
    found = regress_on(missing, covariate, **FEW)
    for m in range(3):
        there = np.isfinite(missing[:, m])
        line = stats.linregress(covariate[there], missing[there, m])
        assert found.effect[m] == pytest.approx(line.slope)
        assert found.statistic[m] == pytest.approx(line.slope / line.stderr)
        assert found.size[m] == pytest.approx(line.rvalue)


def test_recordings_of_a_subject_are_one_unit(values):
    subjects = np.repeat(np.arange(6), 2)
    groups = np.repeat(["a", "b"], 6)
    found = compare_groups(values, groups, subjects=subjects)
    means = values.reshape(6, 2, 3).mean(axis=1)
    alone = compare_groups(means, ["a"] * 3 + ["b"] * 3)
    np.testing.assert_allclose(found.statistic, alone.statistic)
    np.testing.assert_allclose(found.p_values, alone.p_values)
    assert found.n_permutations == 20
    assert found.smallest_p == pytest.approx(0.1)
    assert "more are needed" in found.in_words()
    ages = np.repeat([20.0, 30, 40, 50, 60, 70], 2)
    between = regress_on(values, ages, subjects=subjects, **FEW)
    np.testing.assert_allclose(between.effect, regress_on(means, ages[::2], **FEW).effect)


def test_a_covariate_that_varies_within_subjects_stays_within_them(values):
    """What subjects differ in by themselves changes nothing."""
    subjects, dose = np.repeat(np.arange(4), 3), np.tile([0.0, 1, 2], 4)
    found = regress_on(values, dose, subjects=subjects)
    shifted = regress_on(values + 100 * subjects[:, None], dose, subjects=subjects)
    np.testing.assert_allclose(found.statistic, shifted.statistic)
    np.testing.assert_allclose(found.p_values, shifted.p_values)
    assert found.exact
    assert found.n_permutations == 6**4


def test_arrangements_are_all_different_and_begin_with_the_observed_one():
    rng = np.random.RandomState(0)
    codes = np.array([1, 0, 2, 1, 0])
    rows, exact = group_labels(codes, 30, rng)
    assert exact
    assert len(np.unique(rows, axis=0)) == len(rows) == 30
    np.testing.assert_array_equal(rows[0], codes)
    assert (np.sort(rows, axis=1) == np.sort(codes)).all()
    rows, exact = block_orders(np.array([0, 1, 0, 1, 1]), 12, rng)
    assert exact
    assert len(np.unique(rows, axis=0)) == 12
    assert {tuple(row[[0, 2]]) for row in rows} == set(permutations([0, 2]))
    rows, exact = signs(3, 8, rng)
    assert exact
    assert len(np.unique(rows, axis=0)) == 8
    assert (rows[0] == 1).all()
    rows, exact = condition_orders(2, 3, 36, rng)
    assert exact
    assert len(np.unique(rows.reshape(36, -1), axis=0)) == 36
    for drawn, exact in (
        group_labels(codes, 29, rng), block_orders(codes * 0, 119, rng), signs(3, 7, rng),
        condition_orders(2, 3, 35, rng),
    ):  # fmt: skip
        assert not exact
        assert len(drawn) in (30, 120, 8, 36)


def test_false_positives_are_as_many_as_promised():
    """200 null studies with heavy tails, unequal groups and two runs a subject."""
    rng = np.random.default_rng(3)
    found = 0
    for seed in range(200):
        subjects = np.repeat(np.arange(14), 2)
        values = rng.standard_t(3, (14, 3))[subjects] + 0.3 * rng.standard_normal((28, 3))
        groups = np.where(subjects < 5, "few", "many")
        test = compare_groups(values, groups, subjects=subjects, random_state=seed, **FEW)
        found += test.p_corrected.min() <= 0.05
    assert stats.binomtest(int(found), 200, 0.05).pvalue > 0.01


@pytest.mark.parametrize("skewed", [False, True])
def test_intervals_hold_what_they_promise(skewed):
    """Columns are studies of their own; the effect is 1, and so is its size where it is normal."""
    rng = np.random.default_rng(4)
    kinds = {True: lambda *s: rng.exponential(size=s) - 1, False: lambda *s: rng.normal(size=s)}
    draw = kinds[skewed]
    few = {"n_permutations": 1}
    values = draw(20, 2000)
    values[10:] += 1
    ages = rng.gamma(4, size=12)
    paired = np.zeros((16, 2000))
    paired[1::2] = 1 + draw(8, 2000)
    for found in (
        compare_groups(values, np.repeat([0, 1], 10), **few),
        compare_conditions(paired, np.tile([0, 1], 8), np.arange(16) // 2, **few),
        regress_on(draw(12, 2000) + ages[:, None], ages, **few),
    ):
        low, high = found.effect_interval.T
        assert 0.93 < ((low <= 1) & (high >= 1)).mean() < 0.975, found.question
        if found.levels and not skewed:
            low, high = found.size_interval.T
            assert 0.93 < ((low <= 1) & (high >= 1)).mean() < 0.97, found.question


def test_what_is_missing_within_subjects_leaves_the_slope(values):
    """As the regression with a constant for each subject has it, of the recordings that are there.

    Subjects whose dose never changes do not make its interval narrower.
    """
    subjects, dose = (
        np.repeat(np.arange(4), 3),
        np.array([0.0, 1, 2, 5, 3, 1, 2, 2, 4, 0.1, 0.1, 0.1]),
    )
    values[[1, 3, 4], 1] = np.nan
    found = regress_on(values, dose, subjects=subjects, **FEW)
    for m in range(3):
        there = np.isfinite(values[:, m])
        design = np.column_stack((dose, subjects[:, None] == np.arange(4)))[there]
        fitted, left = np.linalg.lstsq(design, values[there, m])[:2]
        error = np.sqrt(left[0] / (there.sum() - 5) * np.linalg.inv(design.T @ design)[0, 0])
        assert found.effect[m] == pytest.approx(fitted[0])
        assert found.statistic[m] == pytest.approx(fitted[0] / error)
    alone = regress_on(values[:9], dose[:9], subjects=subjects[:9], **FEW)
    np.testing.assert_allclose(found.effect_interval, alone.effect_interval)


def test_slopes_within_subjects_have_intervals_by_subject():
    """Where slopes differ between subjects, recordings of a subject do not count as many."""
    rng = np.random.default_rng(0)
    subjects, dose = np.repeat(np.arange(12), 4), np.tile(np.arange(4.0), 12)
    slopes = 1 + rng.standard_normal((12, 1000))
    noise = 0.3 * rng.standard_normal((48, 1000))
    values = slopes[subjects] * dose[:, None] + noise + 5 * rng.standard_normal((12, 1))[subjects]
    found = regress_on(values, dose, subjects=subjects, n_permutations=1)
    low, high = found.effect_interval.T
    assert 0.93 < ((low <= 1) & (high >= 1)).mean() < 0.975


def test_without_skewness_intervals_are_students(values):
    differences = np.concatenate((values - 1, 3 - values))  # symmetric about 1
    found = mean_interval(
        differences.mean(axis=0), stats.sem(differences), 23, np.zeros(3), 0.9
    )  # fmt: skip
    student = stats.ttest_1samp(differences, 0).confidence_interval(0.9)
    np.testing.assert_allclose(found.T, [student.low, student.high])
    paired = np.stack((np.zeros_like(differences), differences), axis=1).reshape(-1, 3)
    test = compare_conditions(
        paired, np.tile([0, 1], 24), np.arange(48) // 2, confidence=0.9, n_permutations=1
    )
    np.testing.assert_allclose(test.effect_interval, found, rtol=1e-6)


def test_one_subject_that_dominates_leaves_intervals_bounded():
    values = np.random.default_rng(0).uniform(0, 0.01, (30, 1))
    values[7] = 1.0
    for found in (
        compare_conditions(values, np.tile([0, 1], 15), np.arange(30) // 2, n_permutations=1),
        compare_groups(values, np.repeat([0, 1], 15), n_permutations=1),
    ):
        low, high = found.effect_interval[0]
        assert low < found.effect[0] < high
        assert -1 < low < high < 1


def test_shares_of_variance_have_the_limits_of_noncentral_f():
    rng = np.random.default_rng(0)
    values = rng.standard_normal((24, 1500)) + np.repeat([0, 0.8, 1.6], 8)[:, None]
    found = compare_groups(values, np.repeat(list("abc"), 8), n_permutations=1)
    ratio = stats.f_oneway(values[:8], values[8:16], values[16:])[0]
    for limits, tail in zip(found.effect_interval.T, (0.975, 0.025)):
        noncentral = 24 * limits / (1 - limits)
        inside = noncentral > 1e-6
        reached = stats.ncf.cdf(ratio[inside], 2, 21, noncentral[inside])
        np.testing.assert_allclose(reached, tail, atol=1e-6)
    share = (truth := 8 * 2 * 0.8**2) / (truth + 24)
    low, high = found.effect_interval.T
    assert 0.93 < ((low <= share) & (high >= share)).mean() < 0.97


def test_the_same_seed_gives_the_same_answer(values):
    groups = np.repeat(["a", "b"], 6)
    one = compare_groups(values, groups, random_state=5, **FEW)
    two = compare_groups(values, groups, random_state=5, **FEW)
    np.testing.assert_array_equal(one.p_corrected, two.p_corrected)
    np.testing.assert_array_equal(one.effect_interval, two.effect_interval)
    assert one.p_values.min() >= 1 / 200


def test_columns_without_variation_have_no_effect():
    values = np.column_stack((np.ones(8), np.repeat([0.0, 1], 4), np.full(8, np.nan)))
    found = compare_groups(values, np.repeat(["a", "b"], 4))
    np.testing.assert_allclose(found.p_values, [1, 2 / 70, 1])
    assert found.statistic[0] == found.statistic[2] == 0


def test_statistics_and_frames_say_what_columns_are():
    rng = np.random.default_rng(0)
    rows = {f"s{i}": np.eye(3)[rng.integers(0, 3, 50)] for i in range(8)}
    found = activation_statistics(rows, 10.0)
    groups = {f"s{i}": "ab"[i % 2] for i in range(8)}
    test = compare_groups(found, groups, measures=["lifetime", "switching_rate", "transitions"])
    assert test.columns[0] == ("lifetime", "1")
    assert test.columns[3] == ("switching_rate", "all")
    assert test.columns[4] == ("transitions", "1 to 2")
    assert len(test.to_pandas()) == 3 + 1 + 6
    assert "Lifetime of atom" in test.in_words() or "Transitions of" in test.in_words()
    frame = pd.DataFrame({"size": np.arange(8.0)}, index=list(groups))
    test = compare_groups(frame, groups)
    assert test.columns == [("value", "size")]
    assert "Size: 3 in a, 4 in b" in test.in_words()


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda v: compare_groups(v, ["a"] * 11 + ["b"]), "group b has a single member"),
        (lambda v: compare_groups(v, ["a"] * 12), "groups are all a"),
        (lambda v: compare_groups(v, ["a"] * 11), "each of the 12 recordings"),
        (lambda v: compare_groups(v, {"1": "a", "x": "b"}), "none for 0, 2, 3, 4, 5 and 6 more"),
        (lambda v: compare_groups(v, {"1": "a", "x": "b"}), "x, which are not recordings"),
        (
            lambda v: compare_groups(v, list("ab") * 6, subjects=np.repeat(range(6), 2)),
            "subject 0 has recordings in a, b",
        ),
        (
            lambda v: compare_conditions(v, list("ab") * 6, [*range(10), 10, 10]),
            r"these lack: 0 \(no b\)",
        ),
        (lambda v: compare_conditions(v[:2], ["a", "b"], [1, 1]), "a single subject"),
        (lambda v: regress_on(v, np.ones(12)), "covariate is 1 for all"),
        (lambda v: regress_on(v, ["young"] * 12), "covariate must be numbers"),
        (lambda v: regress_on(v, [np.nan, *range(11)]), "no label for 0"),
        (lambda v: regress_on(v, [*range(11), np.inf]), "covariate is infinite for 11"),
        (lambda v: compare_groups(v, [np.nan, np.nan, *"ababababab"]), "no label for 0, 1"),
        (
            lambda v: compare_groups(v, pd.Series([*"abababababa", None], dtype="string")),
            "no label for 11",
        ),
        (lambda v: compare_groups(v, list("ab") * 6, n_permutations=0), "n_permutations"),
        (lambda v: compare_groups(v, list("ab") * 6, confidence=95), "confidence"),
        (
            lambda v: compare_groups(
                activation_statistics([np.eye(2)] * 12), list("ab") * 6, measures="length"
            ),
            "measures must be some of",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_compared_is_named(values, call, said):
    with pytest.raises(ValueError, match=said):
        call(values)
