"""What every baseline, and the hierarchical dictionary, promises as an estimator."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from graphdict.baselines import (
    GLMM,
    TGFA,
    GaussianMixtureGraphs,
    KGraphs,
    LogModel,
    WindowLogModel,
)
from graphdict.core import graphs
from graphdict.datasets import make_emeg, make_superposition
from graphdict.exceptions import SilentNodeWarning
from graphdict.models.hier import GraphDictHier

SMALL = [
    LogModel(),
    WindowLogModel(10),
    TGFA(10),
    GLMM(2, random_state=0),
    KGraphs(2, random_state=0),
    GaussianMixtureGraphs(2, random_state=0),
    GraphDictHier(2),
]
MIXTURES = [model for model in SMALL if hasattr(model, "predict")]
ids = [type(model).__name__ for model in SMALL]


@parametrize_with_checks(
    [
        LogModel(),
        WindowLogModel(2),
        TGFA(2),
        GLMM(2),
        KGraphs(2),
        GaussianMixtureGraphs(2),
        GraphDictHier(),
    ]
)
@pytest.mark.filterwarnings("ignore::graphdict.exceptions.GraphDictWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def signals():
    return make_superposition(2, 8, 0.4, n_train=60, n_test=0, random_state=0).train.signals


@pytest.mark.parametrize("model", SMALL, ids=ids)
def test_graphs_have_the_shape_of_the_signals(model, signals):
    fitted = clone(model).fit(signals)
    found = fitted.instantaneous_graphs(signals)
    assert found.weights.shape == (60, 28)
    assert np.isfinite(found.weights).all()
    assert (found.weights >= 0).all()
    assert found.weights.any()
    np.testing.assert_allclose(found.degrees, graphs.degrees(found.weights), rtol=1e-6)
    np.testing.assert_allclose(found.coefficients @ found.atoms, found.weights)
    if not isinstance(model, LogModel):
        np.testing.assert_allclose(fitted.instantaneous_graphs().weights, found.weights)


@pytest.mark.parametrize("model", SMALL, ids=ids)
def test_units_do_not_matter(model, signals):
    volts = clone(model).fit(signals).instantaneous_graphs(signals).weights
    micro = clone(model).fit(1e6 * signals).instantaneous_graphs(1e6 * signals).weights
    np.testing.assert_allclose(volts, micro, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("model", SMALL, ids=ids)
def test_single_precision_agrees_with_double(model, signals):
    double = clone(model).fit(signals).instantaneous_graphs(signals).weights
    single = clone(model).fit(signals.astype(np.float32))
    found = single.instantaneous_graphs(signals.astype(np.float32)).weights
    assert single.atoms_.dtype == np.float32
    assert np.linalg.norm(found - double) < 0.05 * np.linalg.norm(double)


@pytest.mark.parametrize("model", SMALL, ids=ids)
def test_silent_nodes_get_no_edges(model, signals):
    padded = np.insert(signals, 3, 7.0, axis=1)
    with pytest.warns(SilentNodeWarning, match="x3"):
        fitted = clone(model).fit(padded)
    weights = fitted.instantaneous_graphs(padded).weights
    assert not graphs.adjacency(weights)[:, 3].any()
    rest = np.delete(np.delete(graphs.adjacency(weights), 3, axis=1), 3, axis=2)
    alone = clone(model).fit(signals).instantaneous_graphs(signals).weights
    np.testing.assert_allclose(graphs.adjacency_to_weights(rest), alone, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("model", SMALL, ids=ids)
def test_columns_name_the_nodes(model, signals):
    names = [f"sensor {n}" for n in range(8)]
    frame = pd.DataFrame(signals, columns=names)
    fitted = clone(model).fit(frame)
    assert fitted.node_names == names
    assert fitted.instantaneous_graphs(frame).node_names == names
    assert clone(model).fit(signals).node_names[:2] == ["x0", "x1"]


@pytest.mark.parametrize("model", MIXTURES, ids=lambda m: type(m).__name__)
def test_clusters_of_new_samples(model, signals):
    fitted = clone(model).fit(signals)
    shares = fitted.transform(signals[:7])
    assert shares.shape == (7, 2)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_array_equal(fitted.predict(signals[:7]), shares.argmax(axis=1))
    np.testing.assert_allclose(fitted.transform(signals), fitted.coefficients_, atol=1e-6)
    np.testing.assert_array_equal(fitted.labels_, fitted.predict(signals))
    assert fitted.score(signals) == pytest.approx(fitted.score_samples(signals).mean())


@pytest.mark.parametrize("model", [LogModel(), GLMM(2, random_state=0)])
def test_score_prefers_the_signals_a_model_was_learned_from(model):
    data, other = (make_superposition(1, 8, 0.6, n_test=200, random_state=s) for s in (0, 1))
    fitted = clone(model).fit(data.train.signals)
    own = fitted.score(data.test.signals)
    assert own > fitted.score(other.test.signals / other.test.signals.std() * fitted.scale_)


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (LogModel(avg_degree=0.5), "avg_degree"),
        (LogModel(beta=-1), "beta"),
        (WindowLogModel(0), "window_size"),
        (TGFA(penalty="l3"), "penalty"),
        (TGFA(beta=0), "beta"),
        (TGFA(alpha_diff=-1), "alpha_diff"),
        (GLMM(0), "n_clusters"),
        (KGraphs(n_init=0), "n_init"),
        (GaussianMixtureGraphs(reg_covar=-1), "reg_covar"),
        (GaussianMixtureGraphs(61), "n_clusters"),
        (WindowLogModel(61), "window_size"),
        (GraphDictHier(n_windows=61), "n_windows"),
        (GraphDictHier(alpha_w=-1), "alpha_w"),
    ],
)
def test_bad_settings_are_named(model, name, signals):
    with pytest.raises(ValueError, match=name):
        model.fit(signals)


@pytest.mark.parametrize("model", [WindowLogModel(10), TGFA(10)])
def test_window_graphs_are_for_the_training_series(model, signals):
    with pytest.raises(ValueError, match="59 samples"):
        model.fit(signals).instantaneous_graphs(signals[:59])


@pytest.mark.parametrize("model", [WindowLogModel(1), TGFA(1, max_iter=20), GraphDictHier(9)])
def test_windows_of_one_sample(model):
    data = make_emeg(24, 1, 10, 0.15, random_state=0)
    isolated = ~graphs.degrees(data.weights).astype(bool)
    assert isolated.any()
    varies = np.ptp(data.signals, axis=0) > 0
    found = model.fit(data.signals[:, varies]).instantaneous_graphs()
    assert len(found) == 24
    assert np.isfinite(found.weights).all()
    # Nodes that are exactly zero in a window have no edges in it.
    silent = data.signals[:, varies] == 0
    assert not found.degrees[silent].any()
    assert found.degrees[~silent].all()


def test_state_graphs_slice_and_export(signals):
    found = WindowLogModel(10).fit(signals).instantaneous_graphs()
    assert len(found[5:25]) == 20
    np.testing.assert_array_equal(found[12].weights[0], found.weights[12])
    np.testing.assert_array_equal(found[[0, 59]].weights, found.weights[[0, 59]])
    np.testing.assert_allclose(found.laplacians, graphs.laplacian(found.weights))
    assert len(found[:3].to_networkx()) == 3
    assert len(found[:4].to_sparse()) == 4


@pytest.mark.parametrize("model", MIXTURES[:2], ids=lambda model: type(model).__name__)
def test_missing_values_are_refused_by_place_and_with_what_takes_them(model):
    signals = np.random.default_rng(0).standard_normal((20, 4))
    signals[3, 1] = np.nan
    with pytest.raises(
        ValueError, match=r"\(NaN\) in row 3, column 'x1'; .*\(GraphDictLog, .* accept"
    ):
        clone(model).fit(signals)
