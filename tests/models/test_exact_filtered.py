"""GraphDictExact with a filter and tails: densities, gradients, optimality, combinations."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime, minimize
from scipy.stats import multivariate_normal, multivariate_t

from graphdict import GraphDictExact, load_model
from graphdict.core import graphs
from graphdict.core.marginal.filters import ExponentialFilter, PowerFilter
from graphdict.core.marginal.spectra import zero_sum_basis
from graphdict.core.solvers.filtered_descent import Penalties, code_filtered, filtered_descent
from graphdict.core.solvers.filtered_objective import FilteredObjective
from graphdict.core.terms.coefficients import window_counts
from graphdict.datasets import sample_lgmrf
from graphdict.exceptions import DeadAtomWarning
from graphdict.metrics import edge_scores

FILTERS = (PowerFilter(1.0), PowerFilter(1.6), PowerFilter(3.0), ExponentialFilter(0.7))


def some(rng, samples, nodes, atoms, window):
    x = rng.standard_normal((samples, nodes))
    counts = window_counts(samples, window)
    weights = rng.uniform(0.2, 1, (atoms, graphs.n_edges(nodes)))
    return x - x.mean(axis=1, keepdims=True), counts, weights, rng.random((len(counts), atoms))


@settings(max_examples=15, deadline=None)
@given(
    st.integers(0, 1000), st.integers(2, 5), st.integers(1, 3), st.integers(1, 4),
    st.sampled_from(FILTERS), st.sampled_from([np.inf, 4.5]),
)  # fmt: skip
def test_gradients_agree_with_finite_differences(seed, nodes, atoms, window, filter_, tails):
    x, counts, weights, rows = some(np.random.default_rng(seed), 7, nodes, atoms, window)
    objective = FilteredObjective.of(x, counts, filter_, tails)
    penalties = Penalties(0.3, 0.2, 0.4)

    def value(point):
        first = point[: weights.size].reshape(weights.shape)
        return penalties.evaluate(objective, first, point[weights.size :].reshape(rows.shape)).value

    found = penalties.evaluate(objective, weights, rows)
    point = np.concatenate([weights.ravel(), rows.ravel()])
    slopes = np.concatenate([found.in_atoms.ravel(), found.in_coefficients.ravel()])
    np.testing.assert_allclose(slopes, approx_fprime(point, value, 1e-7), rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("tails", [np.inf, 6.0])
@pytest.mark.parametrize("power", [1.0, 2.5])
def test_densities_are_those_of_scipy(power, tails):
    x, counts, weights, rows = some(np.random.default_rng(3), 9, 5, 2, 2)
    objective = FilteredObjective.of(x, counts, PowerFilter(power), tails)
    found = objective.log_densities(weights, rows)
    basis = zero_sum_basis(5)
    for t, sample in enumerate(x):
        laplacian = basis.T @ graphs.laplacian(rows[t // 2] @ weights) @ basis
        values, vectors = np.linalg.eigh(laplacian)
        shape = (vectors / values**power) @ vectors.T
        density = multivariate_normal(cov=shape)
        if np.isfinite(tails):
            density = multivariate_t(shape=shape, df=tails)
        assert found[t] == pytest.approx(density.logpdf(basis.T @ sample), abs=1e-8)


def test_coefficients_are_optimal_for_their_atoms():
    x, counts, weights, _ = some(np.random.default_rng(4), 12, 6, 3, 3)
    objective = FilteredObjective.of(x, counts, PowerFilter(2.0), np.inf)
    rows, residual = code_filtered(objective, weights, 0.1, max_iter=500, tol=1e-7)
    assert residual <= 1e-6  # 1e-7 but for old versions of SciPy, whose descent ends earlier
    for number in range(len(counts)):
        own = FilteredObjective(
            objective.windows[[number]], counts[[number]], PowerFilter(2.0), np.inf
        )

        def cost(point, own=own):
            return own.evaluate(weights, point[None]).value + 0.1 * point.sum()

        best = minimize(cost, np.full(3, 0.5), method="Powell", bounds=[(0, 1)] * 3, tol=1e-12)
        assert cost(rows[number]) <= best.fun + 1e-8


def test_the_descent_never_rises_and_ends_where_gradients_vanish():
    x, counts, weights, rows = some(np.random.default_rng(5), 40, 5, 2, 5)
    objective = FilteredObjective.of(x, counts, PowerFilter(2.0), 8.0)
    penalties = Penalties(0.1)
    found = filtered_descent(objective, weights, rows, penalties, max_iter=2000, tol=1e-14)
    assert (np.diff(found.history.objective) <= 1e-12).all()
    end = penalties.evaluate(objective, found.atoms, found.coefficients)
    step = np.maximum(found.atoms - end.in_atoms, 0) - found.atoms
    assert np.abs(step).max() < 1e-4
    moved = np.clip(found.coefficients - end.in_coefficients, 0, 1) - found.coefficients
    assert np.abs(moved).max() < 1e-4


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("tails", [2.5, np.inf])
@pytest.mark.parametrize("size", [1e2, 1e4, 1e10])
def test_no_step_ends_where_no_edge_is_left(size, tails):
    """Its cost is infinite, however much penalties ask for the edges where a descent begins."""
    x, counts, weights, rows = some(np.random.default_rng(5), 40, 5, 2, 5)
    objective = FilteredObjective.of(x, counts, PowerFilter(1.0), tails)
    for alpha in (0.1, 1e4):
        found = filtered_descent(
            objective, size * weights, rows, Penalties(alpha), max_iter=20, tol=1e-9
        )
        assert (found.coefficients @ found.atoms).max() > 0
        assert np.isfinite(found.objective)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("alpha_w", [1.0, 100.0, 1e6])
def test_penalties_of_any_strength_leave_edges_and_are_minimised(alpha_w):
    """The cost of all edges together is what the log-determinant gains: d of a sample, at most."""
    x = np.random.default_rng(2).standard_normal((60, 4))
    model = GraphDictExact(2, alpha_w=alpha_w, filter_power=2, max_iter=50, random_state=0).fit(x)
    assert 0 < alpha_w * model.atoms_.sum() < 20


@pytest.fixture(scope="module")
def smooth():
    rng = np.random.default_rng(1)
    weights = (rng.random((2, 45)) < 0.35) * rng.uniform(0.5, 2, (2, 45))
    true = np.repeat(weights[rng.integers(2, size=30)], 10, axis=0)
    return true, np.asarray(sample_lgmrf(true, filter=2, random_state=0))


def fitted(x, **options):
    return GraphDictExact(
        2, alpha_w=0.02, window_size=10, max_iter=300, random_state=0, **options
    ).fit(x)


@pytest.mark.filterwarnings("ignore::graphdict.exceptions.ConvergenceWarning")
def test_the_right_power_explains_smooth_signals_better_and_finds_more_edges(smooth):
    true, x = smooth
    plain, right = fitted(x), fitted(x, filter_power=2)
    assert right.filter_power_ == 2
    assert right.score(x) > plain.score(x) + 0.2

    def mcc(model):
        graph = model.instantaneous_graphs().weights
        return edge_scores(true, np.where(graph > np.quantile(graph, 0.65), graph, 0)).mcc.mean()

    assert mcc(right) > mcc(plain)
    np.testing.assert_allclose(right.transform(x), right.coefficients_, atol=1e-6)


@pytest.mark.filterwarnings("ignore::graphdict.exceptions.ConvergenceWarning")
def test_gains_follow_loudness_and_a_saved_model_scores_alike(smooth, tmp_path):
    _, x = smooth
    loudness = np.exp(0.7 * np.random.default_rng(0).standard_normal(len(x)))
    loud = x * loudness[:, None]
    model = fitted(loud, filter_power=2, tails=4)
    assert np.corrcoef(np.log(model.gains_), np.log(loudness))[0, 1] < -0.8
    assert model.score(loud) > fitted(loud, filter_power=2).score(loud)
    model.save(tmp_path / "model.graphdict")
    assert load_model(tmp_path / "model.graphdict").score(loud) == pytest.approx(model.score(loud))


def test_auto_is_the_papers_model_where_nothing_else_pays(caplog):
    x = np.random.default_rng(0).standard_normal((20, 4))
    found = GraphDictExact(2, filter_power="auto", tails="auto", max_iter=10, random_state=0).fit(x)
    plain = GraphDictExact(2, max_iter=10, random_state=0).fit(x)
    np.testing.assert_array_equal(found.atoms_, plain.atoms_)
    assert (found.filter_power_, found.tails_) == (1, np.inf)
    x[3, 1] = np.nan
    with caplog.at_level("INFO", logger="graphdict"):
        GraphDictExact(2, filter_power="auto", max_iter=10, random_state=0).fit(x)
    assert "power 1 and Gaussian tails, because of missing values" in caplog.text


def test_warnings_are_of_its_own_atoms(recwarn):
    """Filter and tails come from a fit whose atoms, here one graph in all windows, are not kept."""
    weights = np.random.default_rng(10).uniform(0.1, 2, (1, 28))
    x = sample_lgmrf(weights, 800, random_state=11, filter=2.0, tails=5.0)
    settings = {"window_size": 40, "max_iter": 5, "random_state": 0}
    model = GraphDictExact(3, filter_power="auto", tails="auto", **settings).fit(x)
    assert np.isfinite(model.tails_)
    distinct = [np.abs(model.atoms_[0] - other).max() > 1e-3 for other in model.atoms_[1:]]
    assert all(distinct)
    assert not [each for each in recwarn if issubclass(each.category, DeadAtomWarning)]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (
            {"filter_power": 2, "alpha_diff": 0.1},
            "filter_power=2 .* cannot be used with alpha_diff",
        ),
        ({"tails": 5.0, "checkpoint": "file"}, "tails=5.0 .* cannot be used with checkpoint"),
        ({"filter_power": 0.5}, "filter_power"),
        ({"filter_power": np.inf}, "filter_power"),
        ({"tails": 2}, "tails"),
    ],
)
def test_what_does_not_combine_is_refused_by_name(options, named):
    x = np.random.default_rng(0).standard_normal((20, 4))
    with pytest.raises(ValueError, match=named):
        GraphDictExact(2, **options).fit(x)


def test_missing_values_are_refused_with_a_power_before_the_fit():
    x = np.random.default_rng(0).standard_normal((20, 4))
    x[3, 1] = np.nan
    with pytest.raises(ValueError, match=r"filter_power=2 .* missing values"):
        GraphDictExact(2, filter_power=2).fit(x)
