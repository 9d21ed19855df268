"""Missing values: expectations are right, the marginal is exact, empty rows get the prior."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal
from sklearn.base import clone

from graphdict import (
    GraphDictExact,
    GraphDictHier,
    GraphDictLog,
    GraphDictMarginal,
    GraphDictSpectral,
    load_model,
)
from graphdict.baselines import (
    GLMM,
    TGFA,
    GaussianMixtureGraphs,
    KGraphs,
    LogModel,
    WindowLogModel,
)
from graphdict.core import graphs
from graphdict.core.marginal.imputation import Imputer
from graphdict.core.marginal.likelihood import GaussianLikelihood
from graphdict.core.marginal.missing import expected_distances, observed_log_likelihoods
from graphdict.core.marginal.patterns import enumerate_patterns
from graphdict.core.marginal.protocols import SignalBlock
from graphdict.core.terms.missing import GappySmoothness, Gaps
from graphdict.datasets import make_superposition
from graphdict.engine.signals import Preparation
from graphdict.exceptions import SilentNodeWarning
from graphdict.metrics import edge_scores

SOFT = [
    GraphDictLog(2, max_iter=30, random_state=0),
    GraphDictLog(2, max_iter=30, random_state=0, window_size=4),
    GraphDictLog(2, max_iter=20, random_state=0, solver="bipds"),
    GraphDictSpectral(2, max_iter=30, random_state=0),
    GraphDictExact(2, max_iter=8, random_state=0),
    GraphDictMarginal(2, n_init=2, max_iter=20, random_state=0),
    GraphDictMarginal(2, n_init=2, max_iter=20, random_state=0, prior="markov"),
    GraphDictMarginal(3, max_iter=20, random_state=0, prior="hierarchy"),
]
OTHERS = [
    GraphDictHier(1, max_iter=60),
    GraphDictHier(1, max_iter=60, likelihood="log-degree", avg_degree=3),
    LogModel(3),
    WindowLogModel(12),
    TGFA(12, max_iter=50),
]
ids = [f"{type(m).__name__}-{i}" for i, m in enumerate([*SOFT, *OTHERS])]


def signals(seed=0, rows=48, nodes=5):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((rows, nodes)) @ rng.standard_normal((nodes, nodes))


def with_gaps(x, share, seed=0):
    gaps = np.random.default_rng(seed).random(x.shape) < share
    return np.where(gaps, np.nan, x)


@pytest.mark.parametrize("model", [*SOFT, *OTHERS], ids=ids)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_everything_is_a_number(model, dtype, tmp_path):
    x = with_gaps(signals(), 0.3).astype(dtype)
    x[5] = np.nan  # nothing observed
    x[6, 1:] = np.nan  # nothing to compare with
    before = x.copy()
    fitted = clone(model).fit(x)
    assert np.isfinite(fitted.atoms_).all()
    assert (fitted.atoms_ >= 0).all()
    assert fitted.atoms_.dtype == dtype
    assert np.isfinite(fitted.objective_)
    assert np.isfinite(fitted.instantaneous_graphs(x).weights).all()
    if hasattr(fitted, "score"):
        assert np.isfinite(fitted.score(x))
    if hasattr(fitted, "transform"):
        found = fitted.transform(x)
        assert np.isfinite(found).all()
        assert ((found >= 0) & (found <= 1)).all()
        np.testing.assert_allclose(found, fitted.coefficients_, atol=1e-5)
        np.testing.assert_allclose(clone(model).fit_transform(x), found, atol=1e-5)
    if hasattr(fitted, "save"):
        fitted.save(tmp_path / "model")
        assert load_model(tmp_path / "model").score(x) == fitted.score(x)
    np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize("model", [*SOFT, *OTHERS], ids=ids)
def test_units_do_not_matter_where_values_are_missing(model):
    x = with_gaps(signals(), 0.2)
    one, other = clone(model).fit(x), clone(model).fit(1e-9 * x)
    assert np.linalg.norm(one.atoms_ - other.atoms_) <= 1e-4 * np.linalg.norm(one.atoms_)


@pytest.mark.parametrize("model", SOFT, ids=ids[: len(SOFT)])
def test_rows_with_nothing_observed_get_the_prior(model):
    """All of them the same, and for the marginal model exactly the learned probabilities."""
    fitted = clone(model).set_params(**{"window_size": 1} if "window_size" in vars(model) else {})
    fitted.fit(with_gaps(signals(), 0.1))
    empty = np.full((4, 5), np.nan)
    empty[1, 2] = 3.0  # one node alone has nothing to differ from
    found = fitted.transform(empty)
    assert np.isfinite(found).all()
    if getattr(fitted, "prior", None) == "hierarchy":
        return  # activations are known by time
    np.testing.assert_allclose(found, np.repeat(found[:1], 4, axis=0), atol=1e-6)
    if isinstance(fitted, GraphDictMarginal):
        expected = fitted.pattern_probabilities_ @ fitted.patterns_
        np.testing.assert_allclose(found[0], expected, atol=1e-6)


def test_a_model_of_complete_signals_codes_signals_with_gaps():
    x = signals(rows=300)
    for model in (SOFT[0], SOFT[3], SOFT[5]):
        fitted = clone(model).fit(x)
        complete = fitted.transform(x)
        errors = [
            np.abs(fitted.transform(with_gaps(x, share)) - complete).mean()
            for share in (0.05, 0.5, 1.0)
        ]
        assert errors[0] < 0.6 * errors[1]
        assert errors[1] < 0.5


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_masked_values_are_missing(dtype):
    x = (10 * signals()).astype(dtype)
    masked = np.ma.masked_greater(x, 12)
    assert masked.mask.any()
    gappy = np.where(masked.mask, np.nan, x).astype(np.float32 if dtype == np.float32 else float)
    for model in (SOFT[0], SOFT[5], OTHERS[2]):
        found, expected = clone(model).fit(masked), clone(model).fit(gappy)
        np.testing.assert_array_equal(found.atoms_, expected.atoms_)
        assert found.atoms_.dtype == expected.atoms_.dtype
    with pytest.raises(ValueError, match="missing value"):
        KGraphs(2).fit(masked)


@pytest.mark.parametrize("model", [GLMM(2), KGraphs(2), GaussianMixtureGraphs(2)])
def test_models_without_support_say_so(model):
    x = signals()
    x[7, 2] = np.nan
    with pytest.raises(ValueError, match=r"missing value \(NaN\) in row 7, column 'x2'"):
        model.fit(x)
    assert not model.__sklearn_tags__().input_tags.allow_nan


@pytest.mark.parametrize("model", [SOFT[0], SOFT[5], OTHERS[2]])
def test_infinity_is_still_refused(model):
    x = with_gaps(signals(), 0.1)
    x[3, 1] = -np.inf
    with pytest.raises(ValueError, match="infinity in row 3, column 'x1'"):
        clone(model).fit(x)
    assert model.__sklearn_tags__().input_tags.allow_nan


def test_nodes_never_observed_are_silent_and_all_gaps_are_an_error():
    x = pd.DataFrame(signals(), columns=list("abcde"))
    x["d"] = np.nan
    with pytest.warns(SilentNodeWarning, match="d"):
        fitted = clone(SOFT[0]).fit(x)
    assert not graphs.adjacency(fitted.atoms_)[:, 3].any()
    with pytest.raises(ValueError, match=r"0 node\(s\) that vary"):
        clone(SOFT[0]).fit(np.full((9, 4), np.nan))


def test_preparation_measures_the_scale_of_all_nodes():
    x = signals(rows=4000, nodes=6)
    names = np.arange(6).astype(object)
    complete, _ = Preparation.learn(x, names, True)
    gappy, _ = Preparation.learn(with_gaps(x, 0.4), names, True)
    assert gappy.scale == pytest.approx(complete.scale, rel=0.03)
    prepared = gappy.apply(with_gaps(x, 0.4))
    np.testing.assert_allclose(np.nansum(prepared, axis=1), 0, atol=1e-9)


def prepared(seed, share, rows=30, nodes=5):
    x = with_gaps(signals(seed, rows, nodes), share, seed)
    return x - np.nanmean(np.where(np.isnan(x).all(axis=1, keepdims=True), 0, x), 1, keepdims=True)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000), st.sampled_from([0.0, 0.2, 0.5, 0.8]), st.sampled_from([1, 3]))
def test_distances_of_observed_pairs_stand_for_all(seed, share, window):
    """Sums over samples are those of the observed means; complete signals are left alone."""
    x = prepared(seed, share)
    counts = np.full(len(x) // window, window)
    gaps = Gaps.learn(x, counts)
    found = gaps.distances(x, counts)
    assert np.isfinite(found).all()
    assert (found >= 0).all()
    if share == 0:
        exact = graphs.squared_differences(x).reshape(len(counts), window, -1).mean(axis=1)
        np.testing.assert_allclose(found, exact, atol=1e-9)
        np.testing.assert_allclose(gaps.pairs, 1)
    known = gaps.pairs > 0
    np.testing.assert_allclose(
        found[:, ~known], np.broadcast_to(gaps.means, found.shape)[:, ~known]
    )
    np.testing.assert_allclose(found.mean(axis=0), gaps.means, rtol=0.01)
    fit = GappySmoothness(x, gaps)
    singles = gaps.distances(x, np.ones(len(x), dtype=int))
    rng = np.random.default_rng(seed)
    atoms, coefficients = rng.random((2, 10)), rng.random((len(x), 2))
    np.testing.assert_allclose(fit.energies(atoms), singles @ atoms.T)
    np.testing.assert_allclose(fit.weighted_distances(coefficients), coefficients.T @ singles)
    np.testing.assert_allclose(fit.part(slice(3, 9)).energies(atoms), (singles @ atoms.T)[3:9])


@pytest.mark.parametrize("uneven", [False, True])
def test_expected_distances_are_those_of_complete_signals(uneven):
    """Whether nodes miss alike or not: neither energies nor sums over samples are biased."""
    x = signals(rows=6000, nodes=6)
    x -= x.mean(axis=1, keepdims=True)
    rates = np.linspace(0.05, 0.6, 6) if uneven else np.full(6, 0.35)
    gappy = np.where(np.random.default_rng(1).random(x.shape) < rates, np.nan, x)
    counts = np.ones(len(x), dtype=int)
    found = Gaps.learn(gappy, counts).distances(gappy, counts)
    exact = graphs.squared_differences(x)
    np.testing.assert_allclose(found.mean(axis=0), exact.mean(axis=0), rtol=0.1)
    assert found.sum() == pytest.approx(exact.sum(), rel=0.03)


def gaussian_likelihood(nodes=5):
    rng = np.random.default_rng(3)
    atoms = rng.uniform(0.1, 1, (3, graphs.n_edges(nodes)))
    atoms[0, : nodes - 1] = 0  # the first node stands alone in the first atom
    patterns = enumerate_patterns(3, 2)
    return GaussianLikelihood.of(patterns, atoms, 1e-3), atoms


def test_likelihoods_are_those_of_the_observed_nodes():
    likelihood, atoms = gaussian_likelihood()
    x = with_gaps(signals(), 0.4)
    x[3], x[4, 1:] = np.nan, np.nan
    covariances = likelihood.covariances(atoms)
    found = observed_log_likelihoods(x, covariances)
    for row, values in zip(x, found):
        seen = ~np.isnan(row)
        if seen.sum() < 2:
            np.testing.assert_array_equal(values, 0)
            continue
        basis = np.linalg.svd(np.ones((1, seen.sum())))[2][1:]
        for covariance, value in zip(covariances, values):
            inner = basis @ covariance[np.ix_(seen, seen)] @ basis.T
            exact = multivariate_normal(cov=inner).logpdf(basis @ row[seen])
            assert value == pytest.approx(exact, rel=1e-7, abs=1e-7)


def test_complete_signals_have_the_likelihood_they_had():
    likelihood, atoms = gaussian_likelihood()
    x = signals()
    x -= x.mean(axis=1, keepdims=True)
    block = SignalBlock(x, np.ones(len(x)))
    exact = likelihood.log_likelihoods(likelihood.factors(atoms), block)
    found = observed_log_likelihoods(x, likelihood.covariances(atoms))
    np.testing.assert_allclose(found, exact, rtol=1e-6)


def test_expected_distances_agree_with_sampling():
    likelihood, atoms = gaussian_likelihood()
    covariances = likelihood.covariances(atoms)
    row = np.array([0.4, np.nan, -0.3, np.nan, 0.1])
    seen = ~np.isnan(row)
    posterior = np.zeros((1, len(covariances)))
    posterior[0, 4] = 1
    found = expected_distances(row[None], covariances, likelihood.patterns, posterior)
    rng = np.random.default_rng(0)
    draws = rng.multivariate_normal(np.zeros(5), covariances[4], size=400_000)
    near = np.abs(
        (draws[:, seen] - draws[:, seen][:, :1]) - (row[seen] - row[seen][0])
    ).max(axis=1) < 0.1  # fmt: skip
    sampled = graphs.squared_differences(draws[near]).mean(axis=0)
    assert near.sum() > 1000
    members = likelihood.patterns[4]
    np.testing.assert_allclose(found[members][0], sampled, rtol=0.12, atol=0.03)
    assert not found[~members].any()


def test_drawn_gaps_leave_the_observed_differences():
    x = with_gaps(signals(), 0.3)
    filled = Imputer.learn(x, np.random.RandomState(0)).impute(x, 0)
    assert np.isfinite(filled).all()
    seen = ~np.isnan(x).any(axis=1)
    np.testing.assert_allclose(
        filled[seen], x[seen] - x[seen].mean(axis=1, keepdims=True), atol=1e-9
    )


def test_objective_of_the_marginal_model_never_rises_with_gaps():
    model = GraphDictMarginal(2, n_init=1, max_iter=40, tol=0, sparsity=0, random_state=0)
    seen = model.fit(with_gaps(signals(rows=120), 0.3)).history_["objective"]
    assert np.diff(seen).max() <= 1e-9 * np.abs(seen).max()


def test_accuracy_falls_slowly_with_the_share_missing():
    data = make_superposition(2, 8, 0.5, n_train=600, n_test=200, random_state=0)

    def recovery(make, share):
        train, test = (with_gaps(part.signals, share) for part in (data.train, data.test))
        found = make().fit(train).instantaneous_graphs(test).weights
        return edge_scores(data.test.weights, np.where(found > 0.05, found, 0)).mcc.mean()

    for make in (
        lambda: GraphDictMarginal(2, max_active=1, n_init=3, random_state=0),
        lambda: LogModel(4),
    ):
        complete, some, many = (recovery(make, share) for share in (0.0, 0.1, 0.4))
        assert some > 0.75 * complete
        assert many > 0.4 * complete


def test_large_values_of_nodes_that_are_never_seen_together_are_refused():
    x = np.full((20, 4), np.nan)
    x[np.arange(20), np.arange(20) % 4] = 1e20 * np.random.default_rng(0).standard_normal(20)
    with pytest.raises(ValueError, match="X has no sample in which two nodes are observed"):
        GraphDictMarginal(2, rescale=False, random_state=0).fit(x)
