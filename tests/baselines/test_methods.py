"""Each method does its own job: optimality, descent, recovery of known graphs."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from graphdict import load_model
from graphdict.baselines import (
    GLMM,
    TGFA,
    GaussianMixtureGraphs,
    KGraphs,
    LogModel,
    WindowLogModel,
)
from graphdict.core import graphs
from graphdict.core.graph_learning import log_degree_objective
from graphdict.datasets import make_emeg, make_sbg, make_superposition
from graphdict.engine.signals import Preparation
from graphdict.exceptions import ConvergenceWarning
from graphdict.metrics import best_threshold
from graphdict.models.hier import GraphDictHier
from optimality import optimality


def _prepared(model, signals):
    return Preparation(model.active_nodes_, model.scale_).apply(signals)


@pytest.fixture(scope="module")
def static():
    return make_superposition(1, 20, 0.2, n_train=4000, n_test=100, random_state=0)


@pytest.fixture(scope="module")
def clusters():
    return make_superposition(3, 20, 0.2, n_train=1500, n_test=300, random_state=1)


@pytest.mark.parametrize("settings", [{}, {"beta": 2.0}, {"beta": 0.0}, {"alpha_w": 0.5}])
def test_log_model_is_optimal(static, settings):
    model = LogModel(**settings).fit(static.train.signals)
    signals = _prepared(model, static.train.signals)
    costs = graphs.squared_differences(signals).mean(axis=0)[None] + settings.get("alpha_w", 0)
    assert model.residual_ < 1e-6
    assert optimality(model.atoms_, costs, model.beta_).max() < 1e-6
    value = log_degree_objective(model.atoms_, costs, model.beta_)[0]
    assert model.objective_ == pytest.approx(value)


def test_log_model_recovers_a_graph(static):
    model = LogModel(avg_degree=6).fit(static.train.signals)
    assert best_threshold(static.atoms, model.atoms_)[1] > 0.7
    assert len(model.instantaneous_graphs(static.test.signals)) == 100
    assert len(model.instantaneous_graphs()) == 1


def test_average_degree_sets_the_density(static):
    degrees = [
        2 * (LogModel(avg_degree=k).fit(static.train.signals).atoms_ > 0).sum() / 20
        for k in (3, 6, 10)
    ]
    np.testing.assert_allclose(degrees, [3, 6, 10], rtol=0.3)


def test_windows_are_log_models_of_their_own(static):
    signals = static.train.signals[:100]
    whole = WindowLogModel(30, rescale=False).fit(signals)
    assert whole.atoms_.shape == (4, 190)
    np.testing.assert_array_equal(np.bincount(whole.states_), [30, 30, 30, 10])
    for window in range(4):
        part = signals[30 * window : 30 * window + 30]
        alone = LogModel(rescale=False).fit(part)
        np.testing.assert_allclose(whole.atoms_[window], alone.atoms_[0], rtol=1e-5, atol=1e-7)


def test_one_window_is_the_log_model(static):
    signals = static.train.signals[:200]
    expected = LogModel().fit(signals).atoms_[0]
    root = GraphDictHier(0, alpha_w=0.0, likelihood="log-degree", avg_degree=5)
    for model in (WindowLogModel(200), TGFA(200), root):
        found = model.fit(signals).instantaneous_graphs().weights[0]
        np.testing.assert_allclose(found, expected, atol=1e-3 * expected.max())


@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_tgfa_is_at_a_minimum(penalty):
    data = make_emeg(8, 15, 10, 0.6, random_state=0)
    model = TGFA(15, alpha_diff=0.5, penalty=penalty, tol=1e-8, max_iter=5000).fit(data.signals)
    signals = _prepared(model, data.signals)
    costs = graphs.squared_differences(signals).reshape(8, 15, -1).mean(axis=1)

    def objective(weights):
        jumps = np.diff(weights, axis=0)
        change = np.abs(jumps).sum() if penalty == "l1" else np.square(jumps).sum() / 2
        return log_degree_objective(weights, costs, model.beta_).sum() + 0.5 * change

    best = objective(model.atoms_)
    assert model.objective_ == pytest.approx(best)
    rng = np.random.default_rng(0)
    for size in (1e-1, 1e-2, 1e-3):
        for _ in range(50):
            other = np.maximum(model.atoms_ + size * rng.normal(size=model.atoms_.shape), 0)
            assert best <= objective(other) + 1e-9
        assert best <= objective((1 + size) * model.atoms_)
        assert best <= objective((1 - size) * model.atoms_)


def test_tgfa_penalties_do_what_they_say():
    data = make_emeg(12, 20, 12, 0.4, p_add=0.0, p_remove=0.02, random_state=0)
    free, l1, l2 = (
        TGFA(20, alpha_diff=a, penalty=p, tol=1e-6, max_iter=3000).fit(data.signals).atoms_
        for a, p in [(0.0, "l1"), (1.0, "l1"), (3.0, "l2")]
    )
    changes = [np.abs(np.diff(w, axis=0)).sum() for w in (free, l1, l2)]
    assert changes[1] < 0.2 * changes[0]
    assert changes[2] < 0.5 * changes[0]
    still = [(np.abs(np.diff(w, axis=0)) < 1e-4).mean() for w in (l1, l2)]
    assert still[0] > 0.9 > still[1]
    truth = data.atoms
    recovered = [best_threshold(truth, w)[1] for w in (free, l1, l2)]
    assert min(recovered[1:]) > recovered[0]


def test_tgfa_and_hier_say_when_they_stop_early():
    signals = make_emeg(8, 5, 10, 0.6, random_state=0).signals
    for model in (TGFA(5, max_iter=2), GraphDictHier(3, max_iter=2)):
        with pytest.warns(ConvergenceWarning, match="max_iter=2"):
            model.fit(signals)


@pytest.mark.parametrize("model", [GLMM, KGraphs])
@pytest.mark.parametrize("settings", [{}, {"beta": 1.0, "alpha_w": 0.1}])
def test_mixtures_descend_at_every_iteration(model, settings, clusters):
    for seed in range(3):
        fitted = model(4, tol=0.0, max_iter=40, n_init=1, random_state=seed, **settings)
        history = fitted.fit(clusters.train.signals).history_["objective"]
        assert len(history) > 1
        assert np.diff(history).max() <= 1e-9


@pytest.mark.parametrize("model", [GLMM, KGraphs])
def test_mixture_objective_is_the_one_documented(model, clusters):
    fitted = model(3, alpha_w=0.05, random_state=0).fit(clusters.train.signals)
    signals = _prepared(fitted, clusters.train.signals)
    costs = np.empty((len(signals), 3))
    for k, (w, beta) in enumerate(zip(fitted.atoms_, fitted.beta_)):
        centred = signals - fitted.means_[k]
        quadratic = np.einsum("ti,ij,tj->t", centred, graphs.laplacian(w), centred)
        own = 0.05 * w.sum() + beta / 2 * (w @ w) - np.log(graphs.degrees(w)).sum()
        costs[:, k] = quadratic + own
    if model is KGraphs:
        expected = costs.min(axis=1).mean()
        assert not fitted.means_.any()
    else:
        expected = -np.log((fitted.shares_ * np.exp(-costs / 2)).sum(axis=1)).mean()
    assert fitted.objective_ == pytest.approx(expected)


@pytest.mark.parametrize("model", [GLMM, KGraphs])
def test_cluster_graphs_are_optimal_for_their_samples(model, clusters):
    fitted = model(3, tol=1e-9, max_iter=500, random_state=0).fit(clusters.train.signals)
    signals = _prepared(fitted, clusters.train.signals)
    for k in range(3):
        share = fitted.coefficients_[:, k] / fitted.coefficients_[:, k].sum()
        costs = share @ graphs.squared_differences(signals - fitted.means_[k])
        assert optimality(fitted.atoms_[k], costs, fitted.beta_[k])[0] < 1e-4


@pytest.mark.parametrize("model", [GLMM, KGraphs, GaussianMixtureGraphs])
def test_mixtures_recover_easy_clusters(model, clusters):
    settings = {"avg_degree": 6} if model is not GaussianMixtureGraphs else {"n_init": 3}
    fitted = model(3, random_state=0, **settings).fit(clusters.train.signals)
    predicted = fitted.instantaneous_graphs(clusters.test.signals)
    assert best_threshold(clusters.test.weights, predicted)[1] > 0.45
    truth = clusters.test.coefficients.argmax(axis=1)
    labels = fitted.predict(clusters.test.signals)
    agreement = [np.bincount(truth[labels == k], minlength=3).max() for k in range(3)]
    assert sum(agreement) > 0.7 * len(truth)


def test_glmm_learns_means():
    rng = np.random.default_rng(0)
    centres = np.array([[3.0, -3, 0, 0], [0, 0, 3, -3]])
    truth = rng.integers(2, size=400)
    signals = centres[truth] + 0.5 * rng.normal(size=(400, 4))
    model = GLMM(2, avg_degree=2, rescale=False, random_state=0).fit(signals)
    order = model.means_[:, 0].argsort()[::-1]
    np.testing.assert_allclose(model.means_[order], centres, atol=0.2)
    agreement = (model.labels_ == order[truth]).mean()
    assert agreement > 0.98


@pytest.mark.parametrize("model", [GLMM, KGraphs])
def test_one_seed_decides_everything(model, clusters):
    first, second = (model(3, random_state=4).fit(clusters.train.signals) for _ in range(2))
    np.testing.assert_array_equal(first.atoms_, second.atoms_)


@pytest.mark.parametrize("model", [GLMM, KGraphs])
def test_more_clusters_than_samples_need_stay_finite(model, clusters):
    fitted = model(12, random_state=0, n_init=1)
    fitted.fit(clusters.train.signals[:15])
    assert np.isfinite(fitted.atoms_).all()
    assert np.isfinite(fitted.coefficients_).all()
    assert np.isfinite(fitted.score(clusters.test.signals))


def test_gaussian_mixture_of_one_component_is_the_inverse_covariance(static):
    signals = static.train.signals
    model = GaussianMixtureGraphs(1, reg_covar=0.0, rescale=False).fit(signals)
    centred = signals - signals.mean(axis=1, keepdims=True)
    precision = np.linalg.pinv(np.cov(centred.T, bias=True), rcond=1e-10)
    expected = np.maximum(graphs.laplacian_to_weights(precision), 0)
    np.testing.assert_allclose(model.atoms_[0], expected, atol=1e-6)


def test_hier_atoms_form_a_tree():
    data = make_emeg(16, 10, 12, 0.4, random_state=0)
    model = GraphDictHier(3, alpha_w=0.02).fit(data.signals)
    assert model.atoms_.shape == (15, 66)
    assert model.coefficients_.shape == (160, 15)
    assert set(model.coefficients_.sum(axis=1)) == {4.0}
    np.testing.assert_array_equal(model.parents_, [-1, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6])
    assert (model.atoms_ >= 0).all()
    weights = model.instantaneous_graphs().weights
    np.testing.assert_allclose(weights, model.coefficients_ @ model.atoms_)
    assert len(np.unique(weights.round(12), axis=0)) <= 8


@pytest.mark.parametrize("likelihood", ["log-det", "log-degree"])
@pytest.mark.parametrize("ridge", [{}, {"beta": 0.3}, {"avg_degree": 4}])
def test_hier_is_at_a_minimum(likelihood, ridge):
    data = make_emeg(5, 12, 8, 0.5, random_state=0)
    settings = {"n_windows": 5, "alpha_w": 0.03, "tol": 1e-8, "max_iter": 10_000}
    model = GraphDictHier(likelihood=likelihood, **settings, **ridge).fit(data.signals)
    signals = _prepared(model, data.signals)
    distances = graphs.squared_differences(signals)
    weights = model.coefficients_ @ model.atoms_
    laplacians = graphs.laplacian(weights)
    if likelihood == "log-det":
        barrier = -np.linalg.slogdet(laplacians + 1 / 8)[1]
        pull = graphs.laplacian_adjoint(np.linalg.pinv(laplacians))
    else:
        degree = graphs.degrees(weights)
        barrier = -np.log(degree).sum(axis=1)
        rows, cols = graphs.edge_index(8)
        pull = 1 / degree[:, rows] + 1 / degree[:, cols]
    linear = (weights * distances).sum(axis=1) + model.beta_ / 2 * np.square(weights).sum(axis=1)
    value = (linear + barrier).mean() + 0.03 * model.atoms_.sum()
    assert model.objective_ == pytest.approx(value, abs=1e-6)
    slope = distances + model.beta_ * weights - pull
    gradient = model.coefficients_.T @ slope / len(signals) + 0.03
    assert gradient.min() > -1e-4
    assert np.abs(gradient * model.atoms_).max() < 1e-4


def test_hier_penalty_moves_edges_up():
    data = make_emeg(16, 20, 12, 0.4, random_state=0)
    shares = []
    for alpha in (0.001, 0.03, 1.0):
        atoms = GraphDictHier(4, alpha_w=alpha).fit(data.signals).atoms_
        shares.append(atoms[0].sum() / atoms.sum())
    assert shares[0] < shares[1] < shares[2]
    assert shares[2] > 0.95


@pytest.mark.parametrize("samples", [7, 33, 100])
@pytest.mark.parametrize("settings", [{"depth": 0}, {"depth": 4}, {"n_windows": 7}])
def test_hier_takes_any_length_and_depth(samples, settings):
    signals = np.random.default_rng(0).normal(size=(samples, 5))
    model = GraphDictHier(**settings).fit(signals)
    windows = settings.get("n_windows", min(2 ** settings.get("depth", 0), samples))
    assert len(model.atoms_) == 2 * windows - 1
    assert np.isfinite(model.atoms_).all()
    assert np.isfinite(model.score(signals))


def test_hier_recovers_slow_changes_better_than_windows():
    data = make_emeg(32, 20, 20, 0.2, random_state=3)
    window = WindowLogModel(20).fit(data.signals).instantaneous_graphs()
    hier = GraphDictHier(5, alpha_w=0.03).fit(data.signals).instantaneous_graphs()
    scores = [best_threshold(data.weights, found)[1] for found in (window, hier)]
    assert scores[1] > scores[0] + 0.1


def test_hier_scores_and_codes_by_place_in_time():
    data = make_emeg(16, 10, 10, 0.5, random_state=0)
    model = GraphDictHier(2).fit(data.signals)
    assert not hasattr(model, "transform")
    found = model.instantaneous_graphs(data.signals[::2])
    np.testing.assert_array_equal(found.coefficients, model.coefficients_[::2])
    assert model.score(data.signals) > model.score(data.signals[::-1])
    with pytest.raises(ValueError, match="4 windows"):
        model.instantaneous_graphs(data.signals[:3])


@pytest.mark.parametrize("likelihood", ["log-det", "log-degree"])
def test_hier_gives_silent_nodes_no_edges(likelihood):
    signals = make_emeg(16, 10, 12, 0.5, random_state=0).signals.copy()
    signals[:40, 3] = signals[80:120, 5] = 0
    model = GraphDictHier(2, alpha_w=0.5, likelihood=likelihood).fit(signals)
    degrees = model.instantaneous_graphs().degrees[::40]
    assert not degrees[0, 3]
    assert not degrees[2, 5]
    assert np.count_nonzero(degrees) == degrees.size - 2
    assert np.isfinite(model.objective_)


@pytest.mark.parametrize("likelihood", ["log-det", "log-degree"])
def test_hier_stopped_early_has_graphs_of_finite_objective(likelihood):
    """After two steps with a large penalty no edge is left, of which nothing has a likelihood."""
    signals = make_emeg(16, 10, 12, 0.5, random_state=0).signals
    for stop in ({"max_iter": 2}, {"tol": 1.0}):
        model = GraphDictHier(2, alpha_w=100, likelihood=likelihood, **stop).fit(signals)
        assert (model.instantaneous_graphs().degrees > 0).all()
        assert np.isfinite(model.objective_)
        long = GraphDictHier(2, alpha_w=100, likelihood=likelihood, max_iter=5000).fit(signals)
        assert long.objective_ <= model.objective_


def test_hier_scores_by_its_own_likelihood():
    data = make_emeg(8, 20, 8, 0.6, random_state=0)
    nodes = data.signals.shape[1]
    exact = GraphDictHier(2).fit(data.signals)
    signals = _prepared(exact, data.signals)
    covariances = np.linalg.pinv(exact.instantaneous_graphs().laplacians, rcond=1e-10)
    basis = np.linalg.svd(np.ones((1, nodes)))[2][1:]
    expected = [
        multivariate_normal(cov=basis @ covariance @ basis.T).logpdf(basis @ x)
        for x, covariance in zip(signals, covariances)
    ]
    assert exact.score(data.signals) == pytest.approx(np.mean(expected))

    degree = GraphDictHier(2, likelihood="log-degree", avg_degree=4).fit(data.signals)
    found = degree.instantaneous_graphs()
    energies = (found.weights * graphs.squared_differences(signals)).sum(axis=1)
    logs = np.log(found.degrees).sum(axis=1) - (nodes - 1) * np.log(2 * np.pi)
    assert degree.score(data.signals) == pytest.approx(np.mean(logs - energies) / 2)


def test_hier_is_saved_and_loaded(tmp_path):
    data = make_emeg(8, 10, 10, 0.5, random_state=0)
    model = GraphDictHier(2).fit(data.signals)
    model.save(tmp_path / "tree.zip")
    again = load_model(tmp_path / "tree.zip")
    np.testing.assert_array_equal(again.atoms_, model.atoms_)
    assert again.score(data.signals) == model.score(data.signals)


def test_switching_states_are_found_by_windows():
    data = make_sbg(8, 80, 3, 12, 0.3, p_stay=0.8, random_state=0)
    scores = {
        size: best_threshold(
            data.weights, WindowLogModel(size).fit(data.signals).instantaneous_graphs()
        )[1]
        for size in (80, 640)
    }
    assert scores[80] > 0.6 > scores[640]


def test_pandas_output_is_for_transform_alone():
    import sklearn

    signals = np.random.default_rng(0).normal(size=(60, 4))
    with sklearn.config_context(transform_output="pandas"):
        model = GLMM(2, random_state=0).fit(signals)
        assert isinstance(model.predict(signals), np.ndarray)
        assert isinstance(model.predict_proba(signals), np.ndarray)
        assert len(model.instantaneous_graphs(signals)) == 60
