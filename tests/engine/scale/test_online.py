"""Streams: one pass scores as a fit does, whatever the batches; what is odd or wrong is handled."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphdict import GraphDictLog, GraphDictMarginal, graphs, load_model
from graphdict.datasets import make_superposition, sample_lgmrf
from graphdict.engine.online.stream import share_of
from graphdict.exceptions import SilentNodeWarning
from graphdict.metrics import edge_scores
from graphdict.models import log, marginal
from graphdict.terms import L1

pytestmark = pytest.mark.filterwarnings(
    "ignore::graphdict.exceptions.ConvergenceWarning",
    "ignore::graphdict.exceptions.DeadAtomWarning",
)
MODELS = {
    "log": lambda **more: GraphDictLog(2, random_state=0, max_iter=100, **more),
    "marginal": lambda **more: GraphDictMarginal(2, n_init=1, random_state=0, max_iter=30, **more),
}
each_model = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)


def signals(samples=400, nodes=6, seed=0, atoms=2, test=0):
    found = make_superposition(atoms, nodes, 0.6, 1, samples, test, random_state=seed)
    return found if test else found.train.signals


def run(model, X, size, start=0):
    for first in range(start, len(X), size):
        model.partial_fit(X[first : first + size])
    return model


def density(model, X):
    """The score in units that do not depend on the scale of a model."""
    return model.score(X) - (X.shape[1] - 1) * np.log(model.scale_)


@pytest.fixture
def short_opening(monkeypatch):
    """The first samples are few, so that tests are soon past them."""
    for module, name in ((log, "LOG_RULES"), (marginal, "MARGINAL_RULES")):
        monkeypatch.setattr(module, name, getattr(module, name)._replace(first_samples=50))


# What is learned ------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(
    ("make", "samples"),
    [
        (lambda active: GraphDictLog(2, random_state=0), 2600),
        (lambda active: GraphDictMarginal(2, max_active=active, n_init=2, random_state=0), 1500),
    ],
    ids=["log", "marginal"],
)
def test_one_pass_scores_as_a_fit_does(make, samples, seed):
    data = make_superposition(2, 12, 0.4, 1 + seed, samples, 400, random_state=seed)
    X, new = data.train.signals, data.test.signals
    whole = make(1 + seed).fit(X).score(new)
    model = run(make(1 + seed), X, 200)
    assert "kept" not in model.stream_
    assert whole - model.score(new) < 0.02 * abs(whole)


@each_model
def test_later_samples_improve_what_the_first_gave(make, short_opening):
    data = signals(1200, 8, seed=3, test=400)
    X, new = data.train.signals, data.test.signals
    model = make().partial_fit(X[:100])
    early = density(model, new)
    run(model, X, 50, start=100)
    late = density(model, new)
    assert "kept" not in model.stream_
    assert late > early


@given(st.floats(0.9, 1), st.integers(1, 200), st.integers(1, 200), st.floats(0, 1e4))
@settings(deadline=None)
def test_a_batch_counts_the_same_however_it_is_cut(forgetting, first, second, weight):
    share, total = share_of(weight, first, forgetting)
    later, in_parts = share_of(total, second, forgetting)
    whole, at_once = share_of(weight, first + second, forgetting)
    assert np.isclose(in_parts, at_once)
    assert np.isclose((1 - share) * (1 - later), 1 - whole, atol=1e-9)


@each_model
def test_scale_is_that_of_all_samples(make, short_opening):
    X = signals() * np.linspace(1, 3, 400)[:, None]
    assert np.isclose(run(make(), X, 30).scale_, make().fit(X).scale_)


@each_model
def test_units_change_nothing(make, short_opening):
    X = signals(200)
    one, other = run(make(), X, 40), run(make(), 1e-6 * X, 40)
    assert np.allclose(one.atoms_, other.atoms_, rtol=1e-6)
    assert np.isclose(other.scale_, 1e-6 * one.scale_)


@each_model
def test_forgetting_follows_a_system_that_changes(make, short_opening):
    before, after = signals(500, seed=1), signals(500, seed=2, test=300)
    X = np.concatenate((before, after.train.signals))
    keeps, forgets = run(make(), X, 40), run(make(forgetting=0.99), X, 40)
    new = after.test.signals
    assert density(forgets, new) > density(keeps, new)


def test_edges_that_were_zero_return(short_opening):
    """A graph loses its edges to another that has none of them."""
    rows, cols = graphs.edge_index(8)
    ring = np.isin(cols - rows, (1, 7)).astype(float)
    star = (rows == 0).astype(float)
    blocks = sample_lgmrf([ring, star], 600, random_state=0).reshape(2, 600, 8)
    model = GraphDictMarginal(1, random_state=0, forgetting=0.98)
    run(model, blocks[0], 50)
    assert edge_scores(ring[None], model.atoms_).mean()["mcc"] > 0.95
    assert (model.atoms_[:, (ring == 0) & (star == 1)] == 0).any()
    run(model, blocks[1], 50)
    assert edge_scores(star[None], model.atoms_).mean()["mcc"] > 0.95


# How batches may be ---------------------------------------------------------------------------


@each_model
def test_batches_of_one_sample(make, short_opening):
    X = signals(110)
    model = make().partial_fit(X[:2])
    for row in X[2:]:
        assert np.isfinite(model.partial_fit(row[None]).transform(X[:3])).all()
    assert model.n_samples_seen_ == 110
    assert np.isfinite(model.score(X))


@each_model
def test_the_first_samples_are_one_fit(make):
    X = signals(300)
    model = run(make(), X[:200], 50)  # fitted at 50, 100 and 200
    starts = 2 if isinstance(model, GraphDictLog) else 1
    reference = make().set_params(n_init=starts).fit(X[:200])
    assert np.array_equal(model.atoms_, reference.atoms_)
    assert model.n_init == make().n_init
    assert len(model.stream_["kept"]) == 200


@each_model
def test_precision_is_kept(make, short_opening):
    model = run(make(), signals().astype(np.float32), 50)
    assert model.atoms_.dtype == model.coefficients_.dtype == np.float32
    assert model.transform(signals(10).astype(np.float32)).dtype == np.float32


@each_model
def test_missing_values(make, short_opening):
    rng = np.random.default_rng(0)
    complete = signals(300)
    X = np.where(rng.random(complete.shape) < 0.1, np.nan, complete)
    X[150] = np.nan
    for first in (X, np.concatenate((complete[:120], X[120:]))):
        model = run(make(), first, 30)
        assert np.isfinite(model.atoms_).all()
        assert np.isfinite(model.score(complete))
        whole = make().fit(complete).score(complete)
        assert whole - model.score(complete) < 0.1 * abs(whole)


@each_model
@pytest.mark.filterwarnings("ignore::graphdict.exceptions.SilentNodeWarning")
@pytest.mark.parametrize("when", [20, 150])
def test_a_silent_node_that_begins_to_vary_gets_edges(make, when, short_opening):
    X = signals(500)
    X[:when, 2] = 5.0
    X[when:, 2] += 5.0
    with pytest.warns(SilentNodeWarning, match="x2"):
        model = make().partial_fit(X[:20])
    assert when == 20 or not model.active_nodes_[2]
    run(model, X[:when], 10, start=20)
    model.partial_fit(X[when : when + 1])  # one sample of another value is enough
    assert model.active_nodes_.all()
    run(model, X, 50, start=when + 1)
    assert graphs.adjacency(model.atoms_.max(axis=0))[2].any()
    assert np.isfinite(model.score(X[when:]))


@pytest.mark.parametrize(
    "make",
    [
        lambda: GraphDictLog(2, alpha_orth=0.1, random_state=0, max_iter=50),
        lambda: GraphDictLog(2, window_size=4, random_state=0, max_iter=50),
        lambda: GraphDictMarginal(2, prior="markov", n_init=1, random_state=0),
        lambda: GraphDictMarginal(2, prior="free", window_size=3, n_init=1, random_state=0),
        lambda: GraphDictMarginal(2, sparsity=0, n_init=1, random_state=0),
        lambda: GraphDictLog(2, rescale=False, random_state=0, max_iter=50),
    ],
)
def test_every_option_streams(make, short_opening):
    X = signals(200)
    model = run(make(), X, 100)
    model.partial_fit(X[:1])
    whole = make().fit(X).score(X)
    assert whole - model.score(X) < 0.1 * abs(whole)
    if not model.rescale:
        assert model.scale_ == 1


def test_coefficients_that_last():
    X = signals(50)
    model = GraphDictLog(2, alpha_diff=2.0, max_iter=20, random_state=0).fit(X[:30])
    model.partial_fit(X[30:])
    jumps = np.abs(np.diff(model.coefficients_, axis=0))
    assert (jumps < 1e-3).all(axis=1).mean() > 0.5


def test_a_chain_learns_how_long_states_last():
    data = make_superposition(
        2, 8, 0.5, 1, 1200, 0, samples_per_graph=30, weight_range=(1, 3), random_state=0
    )
    model = GraphDictMarginal(2, max_active=1, prior="markov", n_init=2, random_state=0)
    run(model, data.train.signals, 200)
    assert 0.93 < model.stay_probability_ < 1


@each_model
def test_names_are_kept_and_checked(make, short_opening):
    X = pd.DataFrame(signals(90), columns=list("abcdef"))
    model = run(make(), X, 30)
    assert list(model.feature_names_in_) == list("abcdef")
    with pytest.raises(ValueError, match="feature names should match"):
        model.partial_fit(X[list("bacdef")])
    with pytest.raises(ValueError, match="expecting 6 features"):
        make().partial_fit(X.to_numpy()).partial_fit(X.to_numpy()[:, :5])


# Going on -------------------------------------------------------------------------------------


@each_model
@pytest.mark.parametrize("seen", [60, 200])
def test_a_stream_goes_on_after_a_restart_of_the_process(make, seen, short_opening, tmp_path):
    X = signals(300)
    model = run(make(forgetting=0.99), X[:seen], 20)
    model.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert loaded.n_samples_seen_ == seen
    run(model, X, 20, start=seen), run(loaded, X, 20, start=seen)
    assert np.array_equal(model.atoms_, loaded.atoms_)
    assert model.scale_ == loaded.scale_
    assert loaded.n_samples_seen_ == 300


@each_model
def test_partial_fit_goes_on_after_fit(make):
    data = signals(800, 8, seed=3, test=300)
    X, new = data.train.signals, data.test.signals
    model = make().fit(X[:500])
    before = model.score(new)
    model.partial_fit(X[500:502])
    assert model.n_samples_seen_ == 502
    assert abs(model.score(new) - before) < 0.02 * abs(before)  # what was learned stays
    run(model, X, 100, start=502)
    whole = make().fit(X).score(new)
    assert whole - model.score(new) < 0.02 * abs(whole)


@each_model
def test_fit_begins_again(make):
    X = signals(200)
    model = run(make(), X, 50).fit(X)
    assert not hasattr(model, "stream_")
    assert not hasattr(model, "n_samples_seen_")
    assert np.array_equal(model.atoms_, make().fit(X).atoms_)


# What is refused ------------------------------------------------------------------------------


@each_model
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X: X[:0], r"0 sample\(s\)"),
        (lambda X: np.where(X > 1, np.inf, X), "X holds infinity in row"),
        (lambda X: X[0], "Expected 2D array"),
        (lambda X: X * 1e170, "too large"),
    ],
)
def test_a_bad_batch_is_refused_and_changes_nothing(make, change, message, short_opening):
    X = signals(150)
    model = run(make(), X, 50)
    before = model.atoms_.copy()
    with pytest.raises(ValueError, match=message):
        model.partial_fit(change(X))
    assert np.array_equal(model.atoms_, before)
    assert model.n_samples_seen_ == 150
    model.partial_fit(X[:10])


@each_model
def test_a_stream_needs_a_beginning(make):
    with pytest.raises(ValueError, match=r"1 sample\(s\).*minimum of 2"):
        make().partial_fit(signals(1))
    with pytest.raises(ValueError, match=r"'forgetting' parameter .*Got 0"):
        make(forgetting=0.0).partial_fit(signals(50))
    model = make().partial_fit(signals(50)).set_params(n_atoms=3)
    with pytest.raises(ValueError, match="n_atoms=3, but the model has 2 atoms"):
        model.partial_fit(signals(50))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (GraphDictLog(2, coefficients=np.ones((50, 2))), "needs coefficients=None"),
        (GraphDictLog(2, atoms=np.ones((2, 15)), fix="atoms"), "needs fix=None"),
        (GraphDictLog(2, atom_priors=[L1(1.0)]), "no update for the atom prior L1"),
    ],
)
def test_settings_that_no_stream_has(model, message):
    with pytest.raises(ValueError, match=message):
        model.partial_fit(signals(50))


def test_a_prior_with_a_row_for_each_sample_has_no_stream():
    class Costs:
        entrywise = True

        def value(self, x, rows):
            return float((COSTS[rows] * x).sum())

        def prox(self, x, step, rows):
            return x - step * COSTS[rows]

    COSTS = np.linspace(0, 1, 200).reshape(100, 2)
    X = signals(150)
    model = GraphDictLog(2, coefficient_priors=[Costs()], max_iter=5, random_state=0)
    with pytest.raises(ValueError, match="prior Costs has a function of its own for every entry"):
        model.partial_fit(X[:50])
    assert not hasattr(model, "atoms_")
    before = model.fit(X[:100]).atoms_
    with pytest.raises(ValueError, match="prior Costs"):
        model.partial_fit(X[100:])
    assert model.atoms_ is before


def test_a_hierarchy_has_no_stream_and_says_why():
    with pytest.raises(AttributeError, match="partial_fit") as found:
        GraphDictMarginal(3, prior="hierarchy").partial_fit(signals(50))
    assert "which a stream does not have" in str(found.value.__cause__)


@pytest.mark.parametrize("kind", [GraphDictLog, GraphDictMarginal])
def test_a_batch_in_which_all_nodes_agree_leaves_the_scale(kind):
    """With a short memory nothing else is left to measure by."""
    x = np.random.default_rng(0).standard_normal((12, 4))
    model = kind(2, forgetting=1e-300, n_init=1, max_iter=3, random_state=0).fit(x)
    before = model.scale_
    model.partial_fit(np.ones((5, 4)))
    assert model.scale_ == before
    assert np.isfinite(model.atoms_).all()
