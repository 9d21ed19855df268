"""Views of one graph: the convex problem, and what a consensus is good for."""

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.utils.estimator_checks import parametrize_with_checks

from graphdict.baselines import LogModel
from graphdict.core import graphs
from graphdict.core.graph_learning import log_degree_objective
from graphdict.datasets import erdos_renyi, sample_lgmrf
from graphdict.related import ConsensusGraphs
from graphdict.related.deviations import consensus_prox, weighted_median


def make_views(seed, views=5, samples=40, nodes=20, changed=0.1):
    """Return consensus, graphs of views that differ from it in some edges, signals, labels."""
    rng = np.random.default_rng(seed)
    shared = erdos_renyi(1, nodes, 3 / nodes, random_state=rng)[0]
    ring = np.roll(np.eye(nodes), 1, axis=1)
    shared[graphs.adjacency_to_weights(ring + ring.T) > 0] = 1  # connected
    graphs_of_views = np.repeat(shared[None], views, axis=0)
    count = round(changed * (shared > 0).sum())
    for view in graphs_of_views:
        view[rng.choice(np.flatnonzero(shared), count, replace=False)] = 0
        view[rng.choice(np.flatnonzero(shared == 0), count, replace=False)] = 1.5
    signals = sample_lgmrf(graphs_of_views, samples, random_state=rng)
    return shared, graphs_of_views, signals, np.repeat(np.arange(views), samples)


@parametrize_with_checks([ConsensusGraphs()])
@pytest.mark.filterwarnings("ignore::graphdict.exceptions.GraphDictWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_the_prox_is_what_it_is_defined_as(penalty):
    rng = np.random.default_rng(0)
    values, shares, strength = rng.standard_normal((4, 6)), rng.dirichlet(np.ones(4)), 0.4
    found = consensus_prox(values, strength, shares, penalty)
    assert (found >= 0).all()

    def cost(point):
        x = np.maximum(point.reshape(4, 6), 0)
        centre = weighted_median(x, shares) if penalty == "l1" else shares @ x
        gaps = x - centre
        size = np.abs(gaps) if penalty == "l1" else np.square(gaps) / 2
        return float((shares @ (strength * size + np.square(x - values) / 2)).sum())

    best = cost(found.ravel())
    other = minimize(cost, values.ravel(), method="Powell", options={"maxiter": 50_000}).fun
    assert best <= other + 1e-9
    for _ in range(200):
        assert best <= cost(found.ravel() + 0.05 * rng.standard_normal(24)) + 1e-12


@pytest.mark.parametrize("penalty", ["l1", "l2"])
@pytest.mark.parametrize("strength", [1e9, 1e15, 1e16, 1e17, 1e25, 1e200])
def test_a_prox_that_allows_no_deviations_is_the_mean(penalty, strength):
    """However strong it is: where steps are short beside the penalty, it is out of proportion."""
    rng = np.random.default_rng(1)
    for views in (2, 3, 7):
        values, shares = rng.random((views, 6)) + 0.5, rng.dirichlet(np.ones(views))
        found = consensus_prox(values, strength, shares, penalty)
        np.testing.assert_allclose(found, np.tile(shares @ values, (views, 1)), rtol=1e-8)


def test_alone_a_view_is_learned_as_before():
    _, _, signals, labels = make_views(0, views=3)
    model = ConsensusGraphs(0.0, avg_degree=None, beta=1.0, rescale=False, tol=1e-7).fit(
        signals, labels
    )
    for view in range(3):
        alone = LogModel(beta=1.0, rescale=False).fit(signals[labels == view])
        np.testing.assert_allclose(model.atoms_[view], alone.atoms_[0], atol=1e-3)


def test_a_strong_penalty_gives_all_views_the_graph_of_all_samples():
    _, _, signals, labels = make_views(1, views=3)
    model = ConsensusGraphs(100.0, avg_degree=None, beta=1.0, rescale=False, tol=1e-7).fit(
        signals, labels
    )
    whole = LogModel(beta=1.0, rescale=False).fit(signals)
    np.testing.assert_allclose(model.consensus_, whole.atoms_[0], atol=1e-3)
    np.testing.assert_allclose(model.deviations_, 0, atol=1e-3)


@pytest.mark.parametrize("likelihood", ["log-degree", "log-det"])
@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_nothing_near_it_costs_less(penalty, likelihood):
    _, _, signals, labels = make_views(2, views=3, nodes=8)
    model = ConsensusGraphs(
        0.2, penalty=penalty, likelihood=likelihood, tol=1e-8, max_iter=5000, rescale=False
    )
    model.fit(signals, labels)
    centred = signals - signals.mean(axis=1, keepdims=True)
    costs = np.stack([graphs.squared_differences(centred[labels == v]).mean(0) for v in range(3)])
    rng = np.random.default_rng(0)

    def objective(weights, consensus):
        gaps = weights - consensus
        size = np.abs(gaps) if penalty == "l1" else np.square(gaps) / 2
        if likelihood == "log-degree":
            each = log_degree_objective(weights, costs, model.beta_)
        else:
            values = np.linalg.eigvalsh(graphs.laplacian(weights))[:, 1:]
            each = (weights * costs).sum(1) + model.beta_ / 2 * np.square(weights).sum(1)
            each = each - np.log(np.maximum(values, 1e-300)).sum(axis=1)
        return float((each + 0.2 * size.sum(axis=1)).mean())

    best = objective(model.atoms_, model.consensus_)
    assert best == pytest.approx(model.objective_, rel=1e-6)
    for _ in range(300):
        step = 10 ** rng.uniform(-4, -1)
        moved = np.maximum(model.atoms_ + step * rng.standard_normal(model.atoms_.shape), 0)
        centre = model.consensus_ + step * rng.standard_normal(model.consensus_.shape)
        assert objective(moved, centre) >= best - 1e-6


def test_a_consensus_improves_the_graphs_of_all_views():
    """Karaaslanli and Aviyente 2025: better than each view alone, and the shared graph is found."""
    alone, together, pooled, shared_area = [], [], [], []
    for seed in range(4):
        shared, true, signals, labels = make_views(seed)
        for found, model in ((alone, ConsensusGraphs(0.0)), (together, ConsensusGraphs())):
            model.fit(signals, labels)
            found.append(np.mean([_area(t, w) for t, w in zip(true, model.atoms_, strict=True)]))
        shared_area.append(_area(shared, model.consensus_))
        whole = LogModel().fit(signals).atoms_[0]
        pooled.append(np.mean([_area(t, whole) for t in true]))
    assert np.mean(together) > np.mean(alone) + 0.03
    assert np.mean(together) > np.mean(pooled)
    assert np.mean(shared_area) > np.mean(together)


def test_of_one_graph_views_learn_the_more_from_each_other_the_more_they_are_tied():
    """Nothing sets the views apart: held-out likelihood rises with the penalty."""
    true = make_views(0)[0]
    rng = np.random.default_rng(1)
    train, test = (sample_lgmrf(true, count, random_state=rng) for count in (200, 1000))
    scores = [
        ConsensusGraphs(alpha, likelihood="log-det", avg_degree=None)
        .fit(train, np.arange(200) % 5)
        .score(test, np.arange(1000) % 5)
        for alpha in (0.05, 0.2, 2.0)
    ]
    assert scores == sorted(scores)


def _area(true, weights):
    """Area under the precision-recall curve of edges."""
    from sklearn.metrics import average_precision_score

    return average_precision_score(true > 0, weights)


def test_scores_and_graphs_are_those_of_the_view():
    _, _, signals, labels = make_views(3, views=2)
    names = np.array(["rest", "task"])[labels]
    model = ConsensusGraphs(0.05).fit(signals, names)
    assert list(model.views_) == ["rest", "task"]
    assert model.score(signals, names) > model.score(signals, names[::-1])
    np.testing.assert_array_equal(
        model.instantaneous_graphs(signals, names).weights, model.instantaneous_graphs().weights
    )
    with pytest.raises(ValueError, match="2 views"):
        model.score(signals)
    with pytest.raises(ValueError, match="'sleep'"):
        model.score(signals, np.full(len(signals), "sleep"))
    with pytest.raises(ValueError, match="shape"):
        model.fit(signals, names[1:])


@pytest.mark.parametrize("likelihood", ["log-det", "log-degree"])
@pytest.mark.parametrize("penalty", ["l1", "l2"])
@pytest.mark.parametrize("stop", [{"max_iter": 1}, {"max_iter": 3}, {"tol": 1e300}])
def test_stopped_early_it_has_graphs_of_finite_objective(likelihood, penalty, stop):
    rng = np.random.default_rng(0)
    for _ in range(5):
        x, views = rng.standard_normal((12, 6)), np.arange(12) % 3
        model = ConsensusGraphs(
            float(rng.choice([0.01, 1, 100])), likelihood=likelihood, penalty=penalty,
            avg_degree=None, beta=float(rng.choice([0, 10])), alpha_w=10.0, **stop,
        )  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(x, views)
        assert np.isfinite([model.objective_, model.score(x, views)]).all()
