"""What a user of GraphDictMarginal may rely on."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from graphdict import GraphDictMarginal, load_model
from graphdict.core import graphs
from graphdict.datasets import make_emeg, make_sbg, make_superposition
from graphdict.engine.marginal.silent_nodes import fall_apart
from graphdict.exceptions import (
    ConvergenceWarning,
    DeadAtomWarning,
    InterruptedFitWarning,
    SilentNodeWarning,
)
from graphdict.metrics import best_threshold, edge_scores, match_atoms

PRIORS = ("independent", "free", "markov", "hierarchy")
each_prior = pytest.mark.parametrize("prior", PRIORS)


@pytest.fixture(scope="module", name="easy")
def easy_dictionary():
    return make_superposition(3, 8, 0.4, 1, n_train=900, n_test=200, random_state=3)


def fit(X, prior="independent", n_atoms=3, **options):
    options = {"n_init": 2, "max_iter": 60, "random_state": 0, **options}
    return GraphDictMarginal(n_atoms, prior=prior, **options).fit(X)


@parametrize_with_checks(
    [
        GraphDictMarginal(n_atoms=2, n_init=1, max_iter=20),
        GraphDictMarginal(n_atoms=2, n_init=1, max_iter=20, average=3),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_every_parameter_is_documented():
    model = GraphDictMarginal(4, prior="markov", sparsity=2.0)
    assert clone(model).get_params() == model.get_params()
    for name in model.get_params():
        assert name in GraphDictMarginal.__doc__


def test_recovers_an_easy_dictionary(easy):
    model = fit(easy.train.signals, max_active=1, n_init=4)
    matching = match_atoms(easy.atoms, model.atoms_)
    assert matching.similarity.min() > 0.9
    atoms = model.atoms_[matching.learned]
    assert edge_scores(easy.atoms[matching.true], atoms).mean()["mcc"] > 0.6


def test_sparse_by_default_and_dense_on_request(easy):
    sparse = fit(easy.train.signals, max_active=1)
    dense = fit(easy.train.signals, max_active=1, sparsity=0)
    assert (sparse.atoms_ == 0).mean() > 0.3
    assert (dense.atoms_ > 0).all()


@each_prior
def test_shapes_and_ranges(easy, prior):
    X = easy.train.signals[:150]
    model = fit(X, prior)
    count = len(model.patterns_)
    assert model.atoms_.shape == (3, 28)
    assert (model.atoms_ >= 0).all()
    assert model.coefficients_.shape == (150, 3)
    assert ((model.coefficients_ >= 0) & (model.coefficients_ <= 1)).all()
    assert_allclose(model.pattern_probabilities_.sum(), 1)
    assert_allclose(model.transform(X), model.coefficients_, atol=1e-8)
    proba = model.predict_proba(X)
    assert proba.shape == (150, count)
    assert_allclose(proba.sum(axis=1), 1)
    assert_allclose(proba @ model.patterns_, model.coefficients_, atol=1e-8)
    assert model.predict(X).shape == (150,)
    assert model.predict(X).max() < count
    assert model.score(X) == pytest.approx(model.log_likelihood_)
    assert (0 < model.stay_probability_ < 1) == (prior == "markov")
    objective = model.history_["objective"]
    assert (np.diff(objective) <= 1e-9 * np.abs(objective[:-1])).all()
    assert model.objective_ == objective[-1]
    assert model.n_iter_ == len(objective)


@each_prior
def test_survives_saving(easy, prior, tmp_path):
    X = easy.train.signals[:120]
    model = fit(X, prior, window_size=2)
    model.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert isinstance(again, GraphDictMarginal)
    assert_array_equal(again.predict(X), model.predict(X))
    assert_array_equal(again.transform(X), model.transform(X))
    assert again.score(X) == model.score(X)


def test_score_is_the_mixture_density(easy):
    X = easy.test.signals[:20]
    model = fit(easy.train.signals, max_active=2, filter_power=1, tails="gaussian")
    signals = (X - X.mean(axis=1, keepdims=True)) / model.scale_
    basis = np.linalg.qr(np.column_stack([np.ones(8), np.eye(8)[:, 1:]]))[0][:, 1:]
    density = np.zeros(20)
    for pattern, probability in zip(model.patterns_, model.pattern_probabilities_):
        laplacian = graphs.laplacian(model.atoms_[pattern].sum(axis=0))
        covariance = np.linalg.inv(basis.T @ laplacian @ basis)
        density += probability * multivariate_normal(cov=covariance).pdf(signals @ basis)
    assert_allclose(model.score_samples(X), np.log(density))


def test_prediction_is_the_most_probable_pattern(easy):
    X = easy.test.signals
    model = fit(easy.train.signals)
    assert_array_equal(model.predict(X), model.predict_proba(X).argmax(axis=1))


def test_markov_chain_learns_to_stay():
    draw = make_sbg(20, 20, n_states=2, n_nodes=10, edge_probability=0.4, random_state=1)
    model = fit(draw.signals, "markov", n_atoms=2, max_active=1)
    assert model.stay_probability_ > 0.9
    changes = np.abs(np.diff(model.predict(draw.signals))).sum()
    assert changes == np.abs(np.diff(draw.states)).astype(bool).sum()


def test_an_idle_atom_takes_half_of_another():
    draw = make_sbg(512, 1, random_state=1003)
    model = fit(draw.signals, "markov", n_atoms=6, max_active=1, n_init=4)
    found = np.bincount(model.predict(draw.signals), minlength=6)
    assert_array_equal(np.sort(found), np.sort(np.bincount(draw.states)))


def test_windows_share_their_activations(easy):
    X = easy.train.signals[:103]
    model = fit(X, window_size=10)
    assert_array_equal(model.coefficients_[:10], np.tile(model.coefficients_[0], (10, 1)))
    assert_array_equal(model.coefficients_[100:], np.tile(model.coefficients_[100], (3, 1)))
    assert model.score_samples(X).sum() == pytest.approx(103 * model.score(X))


def test_unlikely_atoms_stay_out_of_instantaneous_graphs(easy):
    model = fit(easy.train.signals)
    with pytest.raises(ValueError, match=r"min_probability must be between 0 and 1, got 1\.5"):
        model.instantaneous_graphs(min_probability=1.5)
    mean = model.instantaneous_graphs(min_probability=0)
    assert_array_equal(mean.coefficients, model.coefficients_)
    kept = model.instantaneous_graphs(min_probability=0.99).coefficients
    assert ((kept > 0).sum(axis=1) >= 1).all()
    assert (kept > 0).sum() < (mean.coefficients > 0).sum()


@pytest.mark.filterwarnings("ignore::graphdict.exceptions.SilentNodeWarning")
def test_disconnected_states_are_recovered():
    draw = make_sbg(32, 20, n_nodes=16, n_states=3, edge_probability=0.1, random_state=0)
    model = fit(draw.signals, "markov", max_active=1, n_init=4)
    assert np.isfinite(model.atoms_).all()
    assert np.isfinite(model.score(draw.signals))
    scores = edge_scores(draw.weights, model.instantaneous_graphs().weights)
    assert scores.mean()["mcc"] > 0.85


def test_silent_nodes_get_no_edges(easy):
    X = np.insert(easy.train.signals[:200], 2, 0.0, axis=1)
    X[:, 0] = 0.0
    with pytest.warns(SilentNodeWarning):
        model = fit(X)
    adjacency = graphs.adjacency(model.atoms_)
    assert not adjacency[:, [0, 2]].any()
    assert np.isfinite(model.atoms_).all()
    assert model.atoms_.any(axis=1).all()


def test_pairs_of_nodes_silent_in_one_state_only():
    draw = make_sbg(20, 20, n_states=2, n_nodes=10, edge_probability=0.5, random_state=1)
    X = draw.signals.copy()
    X[draw.states == 0, :2] = 0.0
    model = fit(X, n_atoms=2, max_active=1, alpha_w=0.0)
    assert np.isfinite(model.atoms_).all()
    assert model.atoms_.max() < 1e5
    assert np.isfinite(model.score_samples(X)).all()


def test_drifting_graphs():
    draw = make_emeg(
        16, 60, n_nodes=12, edge_probability=0.25, p_add=0.01, p_remove=0.05, random_state=0
    )
    drifting = fit(draw.signals, "hierarchy", n_atoms=15, max_iter=200)
    static = fit(draw.signals, n_atoms=1)

    def tuned(model):
        weights = model.instantaneous_graphs().weights
        return best_threshold(draw.weights, weights)[1]

    assert tuned(drifting) > tuned(static) + 0.1
    with pytest.raises(ValueError, match="use 3 or 7"):
        fit(draw.signals, "hierarchy", n_atoms=5)


def test_silent_nodes_of_drifting_graphs_have_no_edges():
    draw = make_emeg(
        64, 4, n_nodes=12, edge_probability=0.2, p_add=0.01, p_remove=0.05, random_state=1
    )
    silent = draw.signals == 0
    assert 0.01 < silent.mean() < 0.5
    model = fit(draw.signals, "hierarchy", n_atoms=10)
    assert_array_equal(model.silent_, silent)
    for found in (model.instantaneous_graphs(), model.instantaneous_graphs(draw.signals)):
        assert not found.degrees[silent].any()
        # What there is elsewhere is the mixture.
        mixed = (found.coefficients @ found.atoms)[found.weights > 0]
        assert_array_equal(found.weights[found.weights > 0], mixed)
        assert_allclose(found.laplacians.diagonal(axis1=1, axis2=2), found.degrees)
        assert_array_equal(found[5:9].weights, found.weights[5:9])
    assert not hasattr(fit(draw.signals, n_atoms=2), "silent_")
    # Of rounded values many are zero by chance.
    assert not hasattr(fit(draw.signals.round(1), "hierarchy", n_atoms=6), "silent_")


def falling_apart(**options):
    """Return signals of three graphs with isolated nodes, their graphs, and their states."""
    draw = make_superposition(
        3, 20, 0.12, superposition=1, n_train=1200, random_state=0, **options
    ).train
    assert fall_apart(draw.signals)
    return draw.signals, draw.weights, draw.coefficients.argmax(axis=1)


def test_where_graphs_fall_apart_and_are_plain_the_fit_is_plain():
    x = falling_apart()[0]
    model = GraphDictMarginal(3, max_active=1, n_init=2, random_state=0).fit(x)
    given = {"filter_power": 1, "tails": "gaussian"}
    plain = GraphDictMarginal(3, max_active=1, n_init=2, random_state=0, **given)
    assert (model.filter_power_, model.tails_) == (1, np.inf)
    assert_array_equal(model.atoms_, plain.fit(x).atoms_)


def test_power_and_tails_are_found_though_graphs_fall_apart():
    """Isolated nodes are exactly silent, however loud the others are."""
    x, weights, states = falling_apart(filter=2.0, tails=4.0)
    model = GraphDictMarginal(3, max_active=1, n_init=4, random_state=0).fit(x)
    assert adjusted_rand_score(states, model.coefficients_.argmax(axis=1)) > 0.95
    assert model.filter_power_ == pytest.approx(2, abs=0.15)
    assert model.tails_ == pytest.approx(4, rel=1 / 3)
    assert edge_scores(weights, model.instantaneous_graphs().weights).mcc.mean() > 0.8
    with_gap = x.copy()
    with_gap[5, 3] = np.nan  # of such samples it is not known which of the rest is silent
    model = GraphDictMarginal(3, max_active=1, n_init=2, random_state=0).fit(with_gap)
    assert (model.filter_power_, model.tails_) == (1, np.inf)


def test_whether_graphs_fall_apart():
    x = falling_apart()[0]
    noise = np.random.default_rng(0).standard_normal(x.shape)
    assert not fall_apart(x + 1e-3 * noise)
    assert not fall_apart(x.round(1))  # of rounded values many are zero by chance
    assert not fall_apart(np.where(np.arange(len(x))[:, None] % 2, noise, 0))


def test_dense_atoms_all_count(easy):
    X = easy.train.signals[:200]
    for sparsity, least in ((0.0, 0.0), (1.0, 1 / 3)):
        model = fit(X, sparsity=sparsity)
        expected = model.instantaneous_graphs(min_probability=least)
        assert_array_equal(model.instantaneous_graphs().coefficients, expected.coefficients)


def test_units_do_not_matter(easy):
    X = easy.train.signals[:200]
    small, large = fit(X), fit(1e6 * X)
    assert_allclose(large.atoms_, small.atoms_, rtol=1e-5, atol=1e-9)
    raw = fit(1e3 * X, rescale=False, alpha_w=0.0)
    assert np.isfinite(raw.atoms_).all()
    assert raw.scale_ == 1.0


def test_single_precision(easy):
    X = easy.train.signals[:200]
    double, single = fit(X), fit(X.astype(np.float32))
    assert single.atoms_.dtype == single.coefficients_.dtype == np.float32
    assert single.log_likelihood_ == pytest.approx(double.log_likelihood_, rel=1e-3)


def test_column_names_become_node_names(easy):
    frame = pd.DataFrame(easy.train.signals[:80], columns=list("abcdefgh"))
    model = fit(frame)
    assert model.node_names == list("abcdefgh")
    assert model.instantaneous_graphs(frame)[0].node_names == list("abcdefgh")


def test_same_seed_same_model(easy):
    X = easy.train.signals[:150]
    assert_array_equal(fit(X).atoms_, fit(X).atoms_)


def test_one_active_atom_is_found_where_many_are_allowed():
    """Starts that allow few atoms at once find what those that allow all of them miss."""
    data = make_superposition(4, 16, 0.15, 1, n_train=1500, n_test=10, random_state=0)
    model = fit(data.train.signals, n_atoms=4, max_active=4)
    assert len(model.patterns_) == 15
    assert model.coefficients_.sum(axis=1).mean() < 1.2


def test_callback_stops_the_fit(easy):
    seen = []
    model = fit(easy.train.signals[:150], callback=lambda p: seen.append(p) or len(seen) == 3)
    assert len(seen) == 3
    assert model.n_iter_ == seen[-1].iteration
    assert np.isfinite(model.objective_)


def test_says_when_it_has_not_converged_and_when_atoms_are_idle(easy):
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        fit(easy.train.signals[:100], max_iter=2, tol=0)
    with pytest.warns(DeadAtomWarning, match="Fewer atoms"):
        fit(easy.train.signals[:4], n_atoms=6, max_active=1)


def test_many_patterns_run():
    draw = make_superposition(30, 6, 0.5, 3, n_train=40, n_test=10, random_state=0)
    model = fit(draw.train.signals, n_atoms=30, max_active=3, n_init=1, max_iter=2, sparsity=0)
    assert len(model.patterns_) == 4525
    assert np.isfinite(model.score(draw.test.signals))


def test_held_out_likelihood_prefers_the_true_number_of_atoms(easy):
    scores = {
        count: fit(easy.train.signals, n_atoms=count, max_active=1, n_init=4).score(
            easy.test.signals
        )
        for count in (1, 2, 3)
    }
    assert scores[1] < scores[2] < scores[3]


def test_ctrl_c_keeps_what_is_there(easy):
    def interrupt(progress):
        if progress.iteration == 2:
            raise KeyboardInterrupt

    with pytest.warns(InterruptedFitWarning, match="iteration 2"):
        model = fit(easy.train.signals, callback=interrupt)
    assert np.isfinite(model.atoms_).all()
    assert model.transform(easy.test.signals).shape == (200, 3)


def test_pandas_output_is_for_transform_alone(easy):
    model = fit(easy.train.signals).set_output(transform="pandas")
    assert isinstance(model.transform(easy.test.signals), pd.DataFrame)
    assert len(model.instantaneous_graphs(easy.test.signals)) == 200


def test_says_when_atoms_are_the_same_graph_but_for_its_strength(easy):
    one = easy.train.signals[easy.train.coefficients[:, 0] > 0][:250]
    options = {"max_active": 1, "window_size": 5, "filter_power": 1, "tails": "gaussian"}
    with pytest.warns(DeadAtomWarning, match="atoms 0 and 1 are the same graph"):
        model = fit(np.concatenate([one, 5 * one]), n_atoms=2, **options)
    assert model.alike_atoms_ == [(0, 1)]
    assert fit(easy.train.signals, max_active=1).alike_atoms_ == []


def test_a_long_fit_is_announced_with_what_takes_less():
    from graphdict.engine.marginal.forecast import forecast

    search = {"levels": 1, "n_init": 8}
    assert forecast(**search, n_atoms=3, max_active=1, windows=1000, nodes=20) is None
    said = forecast(**search, n_atoms=10, max_active=4, windows=5000, nodes=60)
    assert said.startswith("385 patterns of up to 4 of 10 atoms on 60 nodes take about")
    assert "with at most 3 active (175 patterns) about" in said


def test_the_log_says_so_before_the_fit(monkeypatch, caplog):
    monkeypatch.setattr("graphdict.engine.marginal.forecast.LONG", 0.0)
    model = GraphDictMarginal(2, max_active=1, n_init=1, max_iter=1, random_state=0)
    with caplog.at_level("INFO", logger="graphdict"):
        model.fit(np.random.default_rng(0).standard_normal((30, 4)))
    said = [record.getMessage() for record in caplog.records]
    told = [place for place, line in enumerate(said) if "2 patterns of up to 1 of 2" in line]
    assert len(told) == 1
    assert told[0] <= 2
