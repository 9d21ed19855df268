"""What a user of the estimators may rely on, option by option."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from graphdict import GraphDictExact, GraphDictLog, GraphDictSpectral, GraphDictSpectralRelaxed
from graphdict.core import graphs
from graphdict.exceptions import (
    ConvergenceWarning,
    DeadAtomWarning,
    InterruptedFitWarning,
    SilentNodeWarning,
)

MODELS = {
    "log": GraphDictLog, "spectral": GraphDictSpectral, "relaxed": GraphDictSpectralRelaxed,
    "exact": GraphDictExact,
}  # fmt: skip
MODAL = ("spectral", "relaxed")
each_model = pytest.mark.parametrize("kind", MODELS)


@pytest.fixture(scope="module", name="X")
def signals():
    rng = np.random.default_rng(0)
    return rng.standard_normal((40, 6)) @ (np.eye(6) + 0.5 * rng.standard_normal((6, 6)))


def fit(kind, X, n_atoms=3, **options):
    return MODELS[kind](n_atoms, **{"random_state": 0, "max_iter": 100, **options}).fit(X)


@parametrize_with_checks([model(n_atoms=2, max_iter=30) for model in MODELS.values()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@each_model
def test_clone_repr_and_parameters(kind):
    model = MODELS[kind](7, alpha_w=0.3, window_size=4)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert "n_atoms=7" in repr(copy)
    assert "window_size=4" in repr(copy)
    assert kind in type(model).__name__.lower()
    assert "<div" in model._repr_html_()
    assert copy.set_params(n_atoms=2).n_atoms == 2
    for name in model.get_params():
        assert name in type(model).__doc__


@each_model
def test_notebooks_show_atoms_after_a_fit(kind, X):
    model = MODELS[kind](3, max_iter=20, random_state=0)
    assert "<svg" not in model._repr_html_()
    model.fit(pd.DataFrame(X, columns=list("abcdef")))
    assert model._repr_html_().count("<svg viewBox") == 3
    assert "<title>f</title>" in model._repr_mimebundle_()["text/html"]


@each_model
@pytest.mark.parametrize("window_size", [1, 7])
@pytest.mark.parametrize("solver", ["auto", "bipds"])
def test_objective_is_that_of_the_fitted_arrays(X, loop_objective, kind, window_size, solver):
    alphas = {"alpha_w": 0.2, "alpha_c": 0.1, "alpha_orth": 0.3}
    free = {"alpha_modes": 0.0} if kind == "relaxed" else {}
    model = fit(kind, X, window_size=window_size, solver=solver, **alphas, **free)
    signals = X / model.scale_
    expected = loop_objective(
        signals, model.coefficients_, model.atoms_, kind,
        modes=getattr(model, "modes_", None), modal=kind in MODAL, **alphas,
    )  # fmt: skip
    assert model.objective_ == pytest.approx(expected, rel=1e-8)
    assert model.objective_ <= model.history_["objective"].min() + 1e-9


@each_model
def test_objective_with_total_variation(X, loop_objective, kind):
    free = {"alpha_modes": 0.0} if kind == "relaxed" else {}
    model = fit(kind, X[:20], alpha_diff=0.3, **free)
    expected = loop_objective(
        X[:20] / model.scale_, model.coefficients_, model.atoms_, kind,
        alpha_w=0.1, alpha_diff=0.3, modes=getattr(model, "modes_", None), modal=kind in MODAL,
    )  # fmt: skip
    assert model.objective_ == pytest.approx(expected, rel=1e-8)


@each_model
def test_shapes_ranges_and_transform_of_the_training_signals(X, kind):
    for options in ({}, {"window_size": 7}, {"alpha_diff": 0.2}):
        model = fit(kind, X, **options)
        assert model.atoms_.shape == (3, 15)
        assert model.coefficients_.shape == (40, 3)
        assert np.all(model.atoms_ >= 0)
        assert np.all((model.coefficients_ >= 0) & (model.coefficients_ <= 1))
        assert_allclose(model.transform(X), model.coefficients_, atol=1e-6)
        assert model.transform(X[:5]).shape == (5, 3)
        assert len(model.history_["objective"]) <= model.n_iter_


@each_model
def test_windows_share_coefficients_and_the_last_may_be_short(X, kind):
    model = fit(kind, X, window_size=7)
    blocks = [model.coefficients_[i : i + 7] for i in range(0, 40, 7)]
    assert [len(b) for b in blocks] == [7, 7, 7, 7, 7, 5]
    assert all(np.ptp(b, axis=0).max() == 0 for b in blocks)
    assert len(np.unique(model.coefficients_, axis=0)) > 1


@each_model
def test_unit_of_the_signals_does_not_matter(X, kind):
    volts = fit(kind, X)
    microvolts = fit(kind, X * 2.0**20)
    assert_allclose(microvolts.atoms_, volts.atoms_, rtol=1e-6, atol=1e-12)
    assert microvolts.scale_ == pytest.approx(volts.scale_ * 2.0**20)
    assert_allclose(microvolts.coefficients_, volts.coefficients_, atol=1e-6)


def test_rescaling_can_be_turned_off(X):
    model = fit("log", 10 * X, rescale=False)
    assert model.scale_ == 1
    assert model.atoms_.max() < 0.5 * fit("log", 10 * X).atoms_.max()


@each_model
def test_seed_decides_everything(X, kind):
    first, second = fit(kind, X, random_state=3), fit(kind, X, random_state=3)
    assert_array_equal(first.atoms_, second.atoms_)
    other = fit(kind, X, random_state=4)
    assert not np.allclose(first.atoms_, other.atoms_)
    again = first.fit(X)
    assert_array_equal(again.atoms_, second.atoms_)


@pytest.mark.parametrize("solver", ["mm", "bipds"])
def test_penalties_push_the_way_they_should(X, solver):
    base = fit("log", X, solver=solver)
    heavy = fit("log", X, solver=solver, alpha_w=2.0)
    assert heavy.atoms_.sum() < 0.7 * base.atoms_.sum()
    few = fit("log", X, solver=solver, alpha_c=2.0)
    assert few.coefficients_.sum() < base.coefficients_.sum()
    longer = {"solver": solver, "window_size": 10, "max_iter": 1000}
    near, apart = fit("log", X, **longer), fit("log", X, alpha_orth=3.0, **longer)
    assert overlap(near.atoms_) > 0.03
    assert overlap(apart.atoms_) < 0.5 * overlap(near.atoms_)


def overlap(atoms):
    gram = atoms @ atoms.T
    return gram[np.triu_indices(len(atoms), 1)].sum() / np.trace(gram)


def test_total_variation_gives_constant_stretches(X):
    jumps = []
    for alpha_diff in (0.0, 0.3, 3.0):
        steps = np.abs(np.diff(fit("log", X, alpha_diff=alpha_diff).coefficients_, axis=0))
        jumps.append((steps.max(axis=1) > 1e-6).mean())
    assert jumps[0] > 0.9
    assert jumps[2] < jumps[1] < jumps[0]


def test_more_starts_keep_the_lowest_objective(X):
    rng = np.random.RandomState(0)
    singles = [fit("log", X, init="uniform", random_state=rng).objective_ for _ in range(4)]
    best = fit("log", X, init="uniform", n_init=4, random_state=np.random.RandomState(0))
    assert best.objective_ <= min(singles) + 0.05
    assert best.objective_ < max(singles)


@pytest.mark.parametrize("init", ["k-means++", "uniform", "discrete"])
@pytest.mark.parametrize("window_size", [1, 6])
def test_every_start_serves(X, init, window_size):
    model = fit("log", X, init=init, window_size=window_size)
    assert np.isfinite(model.objective_)
    assert model.objective_ < model.history_["objective"][0]


@each_model
@pytest.mark.parametrize("solver", ["auto", "bipds"])
def test_atoms_can_be_held(X, kind, solver):
    atoms = np.random.default_rng(1).uniform(0.1, 1, (3, 15))
    if kind == "spectral":  # powers of one graph share its eigenvectors
        matrix = graphs.laplacian(atoms[0])
        complete = np.ones(15)
        atoms = np.array([atoms[0], complete, graphs.laplacian_to_weights(
            6 * np.trace(matrix) * matrix - matrix @ matrix)])  # fmt: skip
    model = fit(kind, X, atoms=atoms, fix="atoms", solver=solver)
    assert_array_equal(model.atoms_, atoms)
    assert model.scale_ == 1
    better = np.clip(model.coefficients_ + 0.01, 0, 1), np.clip(model.coefficients_ - 0.01, 0, 1)
    problem = model._problem(X - X.mean(axis=1, keepdims=True))
    assert all(problem.objective(c, atoms) >= model.objective_ - 1e-9 for c in better)


@pytest.mark.parametrize("window_size", [1, 4])
@pytest.mark.parametrize("kind", ["log", "exact"])
def test_a_fit_with_held_atoms_tells_of_its_coding(X, kind, window_size):
    atoms = np.random.default_rng(1).uniform(0.1, 1, (3, 15))
    settings = {"atoms": atoms, "fix": "atoms", "window_size": window_size}
    alone = fit(kind, X, **settings)
    assert alone.n_iter_ == len(alone.history_["residual"]) == 1
    assert alone.history_["residual"][-1] < 1e-6  # samples on their own are coded exactly
    assert alone.history_["objective"][-1] == alone.objective_
    tied = fit(kind, X, **settings, alpha_diff=0.1)
    assert tied.n_iter_ > 1
    assert tied.history_["residual"][-1] <= 1e-5
    assert min(tied.history_["objective"]) == pytest.approx(tied.objective_)


@each_model
@pytest.mark.parametrize("solver", ["auto", "bipds"])
def test_coefficients_can_be_held(X, kind, solver):
    known = np.random.default_rng(1).uniform(0.1, 1, (40, 3))
    model = fit(kind, X, coefficients=known, fix="coefficients", solver=solver, max_iter=2000)
    assert_allclose(model.coefficients_, known)
    free = fit(kind, X, coefficients=known, solver=solver, max_iter=2000)
    assert free.objective_ < model.objective_
    assert not np.allclose(free.coefficients_, known)


def test_given_arrays_are_where_a_fit_starts(X):
    done = fit("log", X, max_iter=500, tol=1e-6)
    again = fit("log", X, atoms=done.atoms_, coefficients=done.coefficients_, tol=1e-3)
    assert again.n_iter_ < 10
    assert again.objective_ == pytest.approx(done.objective_, abs=0.02)


def test_callback_sees_every_iteration_and_may_stop_without_a_warning(X):
    seen = []

    def stop(progress):
        seen.append(progress.iteration)
        return progress.iteration == 5

    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model = fit("log", X, callback=stop, tol=0, solver="mm")
    assert seen == [1, 2, 3, 4, 5]
    assert model.n_iter_ == 5


def test_interrupt_leaves_a_fitted_model(X):
    def interrupt(progress):
        raise KeyboardInterrupt

    for solver in ("mm", "bipds"):
        with pytest.warns(InterruptedFitWarning):
            model = fit("log", X, callback=interrupt, solver=solver, n_init=5)
        assert np.isfinite(model.score(X))


def test_unconverged_fits_say_so(X):
    with pytest.warns(ConvergenceWarning, match="stopped at max_iter=3 before tol=1e-09"):
        fit("log", X, max_iter=3, tol=1e-9)


def test_verbose_shows_a_bar(X, capsys):
    fit("log", X, verbose=2, max_iter=5, tol=0)
    assert "GraphDictLog" in capsys.readouterr().err
    fit("log", X, verbose=0, max_iter=5, tol=0)
    assert capsys.readouterr().err == ""


@each_model
@pytest.mark.parametrize("solver", ["auto", "bipds"])
def test_single_precision_stays(X, kind, solver):
    model = fit(kind, X.astype(np.float32), solver=solver)
    assert model.atoms_.dtype == model.coefficients_.dtype == np.float32
    assert model.transform(X.astype(np.float32)).dtype == np.float32
    assert model.objective_ == pytest.approx(fit(kind, X, solver=solver).objective_, abs=0.1)


@each_model
def test_permuting_nodes_permutes_graphs(X, kind):
    start = np.random.default_rng(2).uniform(size=(40, 3))
    order = np.random.default_rng(3).permutation(6)
    one = fit(kind, X, coefficients=start)
    two = fit(kind, X[:, order], coefficients=start)
    matrices = graphs.adjacency(one.atoms_)[:, order][:, :, order]
    assert_allclose(graphs.adjacency(two.atoms_), matrices, rtol=1e-4, atol=1e-6)


@each_model
def test_adding_a_common_signal_to_all_nodes_changes_nothing(X, kind):
    common = np.random.default_rng(2).standard_normal((40, 1))
    assert_allclose(fit(kind, X + common).atoms_, fit(kind, X).atoms_, rtol=1e-4, atol=1e-8)


@each_model
def test_score_is_the_mean_log_likelihood_of_the_model(X, kind):
    model = fit(kind, X, window_size=3)
    expected = []
    for x, c in zip(X / model.scale_, model.transform(X)):
        matrix = graphs.laplacian(c @ model.atoms_)
        if kind == "log":
            logs = np.log(np.diag(matrix)).sum()
        elif kind in MODAL:
            spectrum = np.diag(model.modes_.T @ matrix @ model.modes_)
            logs = np.log(spectrum).sum()
            matrix = model.modes_ @ np.diag(spectrum) @ model.modes_.T
        else:
            logs = np.log(np.linalg.eigvalsh(matrix)[1:]).sum()
        expected.append((logs - x @ matrix @ x - 5 * np.log(2 * np.pi)) / 2)
    found = model.score_samples(X)
    assert_allclose(found, expected, rtol=1e-6)
    assert model.score(X) == pytest.approx(np.mean(expected))


def matched_correlations(found, true):
    table = np.corrcoef(found, true)[: len(found), len(found) :]
    rows, cols = linear_sum_assignment(-table)
    return table[rows, cols], cols


@pytest.mark.parametrize(("kind", "alike", "support"), [("log", 0.7, 0.5), ("exact", 0.95, 0.95)])
def test_an_easy_dictionary_is_recovered(known_dictionary, kind, alike, support):
    """The log barrier is not the likelihood of these signals: it finds the atoms more roughly."""
    data = known_dictionary
    model = MODELS[kind](
        3, window_size=data.window, alpha_w=0.02, n_init=3, random_state=0, max_iter=500
    ).fit(data.signals)
    correlations, order = matched_correlations(model.atoms_, data.atoms)
    assert correlations.min() > alike
    true = data.atoms[order] > 0
    for atom, edges in zip(model.atoms_, true):
        strongest = np.argsort(atom)[-int(edges.sum()) :]
        assert edges[strongest].mean() >= support
    used = model.coefficients_[:: data.window].argmax(axis=1)
    assert (order[used] == data.labels[:: data.window]).mean() > 0.95
    shuffled = np.random.default_rng(0).permuted(data.signals, axis=1)
    assert model.score(data.signals) > model.score(shuffled) + 1


@each_model
def test_score_of_unseen_signals(known_dictionary, kind):
    half = len(known_dictionary.signals) // 2
    train, test = known_dictionary.signals[:half], known_dictionary.signals[half:]
    mixed = np.random.default_rng(0).permuted(test, axis=1)
    learned = MODELS[kind](3, window_size=50, random_state=0, max_iter=100).fit(train)
    assert np.isfinite(learned.score(test))
    if kind != "spectral":  # these graphs do not share eigenvectors
        known = MODELS[kind](3, window_size=50, atoms=known_dictionary.atoms, fix="atoms")
        assert known.fit(train).score(test) > known.score(mixed) + 1
    gain = 0.2 if kind in MODAL else 1
    assert learned.score(test) > learned.score(mixed) + gain


def test_pandas_in_and_node_names_out(X):
    frame = pd.DataFrame(X, columns=list("abcdef"))
    model = fit("log", frame)
    assert model.node_names == list("abcdef")
    assert_array_equal(model.feature_names_in_, list("abcdef"))
    assert_array_equal(model.get_feature_names_out(), [f"graphdictlog{k}" for k in range(3)])
    table = model.instantaneous_graphs(frame)[:2].to_pandas()
    assert set(table["source"]) <= set("abcdef")
    with pytest.raises(ValueError, match="feature names"):
        model.transform(frame[list("fedcba")])
    assert fit("log", X).node_names == ["x0", "x1", "x2", "x3", "x4", "x5"]


def test_set_output_gives_frames(X):
    frame = pd.DataFrame(X, columns=list("abcdef"), index=pd.RangeIndex(100, 140))
    model = GraphDictLog(3, random_state=0, max_iter=50).set_output(transform="pandas")
    found = model.fit(frame).transform(frame)
    assert isinstance(found, pd.DataFrame)
    assert list(found.columns) == list(model.get_feature_names_out())
    assert_array_equal(found.index, frame.index)


def test_fit_transform_is_fit_and_transform(X):
    model = GraphDictLog(3, random_state=0, max_iter=50)
    together = model.fit_transform(X)
    assert_allclose(together, model.transform(X), atol=1e-7)


@each_model
@pytest.mark.parametrize("solver", ["auto", "bipds"])
def test_silent_nodes_have_no_edges_and_a_warning(X, kind, solver):
    quiet = np.insert(X, [2, 6], 3.0, axis=1)
    with pytest.warns(SilentNodeWarning, match="2 node.*x2, x7"):
        model = fit(kind, quiet, solver=solver)
    assert_array_equal(model.active_nodes_, [1, 1, 0, 1, 1, 1, 1, 0])
    assert_array_equal(graphs.degrees(model.atoms_)[:, [2, 7]], 0)
    assert np.isfinite(model.score(quiet))
    assert_allclose(graphs.degrees(model.atoms_)[:, model.active_nodes_],
                    graphs.degrees(fit(kind, X, solver=solver).atoms_), rtol=1e-4)  # fmt: skip


def test_dying_atoms_are_reported(X):
    atoms = np.zeros((3, 15))
    atoms[0] = 1
    with pytest.warns(DeadAtomWarning, match=r"2 of 3 atoms .*\[1, 2\]"):
        model = fit("log", X, atoms=atoms, fix="atoms")
    assert_array_equal(model.coefficients_[:, 1:], 0)
    assert np.isfinite(model.score(X))


def test_modes_can_be_given_to_the_spectral_model(X):
    basis = np.linalg.qr(np.random.default_rng(0).standard_normal((6, 6)))[0]
    centred = np.linalg.qr(np.column_stack([np.ones(6), basis]))[0][:, :6]
    model = fit("spectral", X, modes=centred)
    assert model.modes_.shape == (6, 5)
    assert_allclose(model.modes_, centred[:, 1:])
    default = fit("spectral", X)
    assert_allclose(default.modes_.T @ default.modes_, np.eye(5), atol=1e-10)
    assert_allclose(default.modes_.sum(axis=0), 0, atol=1e-10)
    covariance = np.cov(X.T)
    projected = default.modes_.T @ (X - X.mean(1, keepdims=True)).T
    moments = projected @ projected.T
    assert_allclose(moments - np.diag(np.diag(moments)), 0, atol=1e-8 * covariance.max() * 40)


@each_model
def test_unfitted_models_say_so(X, kind):
    for call in ("transform", "score", "instantaneous_graphs"):
        with pytest.raises(NotFittedError):
            getattr(MODELS[kind](), call)(X)


def test_memory_maps_and_read_only_arrays_are_left_alone(X, tmp_path):
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert_array_equal(fit("log", mapped).atoms_, fit("log", X).atoms_)
    assert_array_equal(mapped, X)


def test_held_coefficients_are_charged_for_their_changes(X, loop_objective):
    known = np.random.default_rng(1).uniform(0.1, 1, (40, 3))
    model = fit("log", X, coefficients=known, fix="coefficients", alpha_diff=0.3)
    expected = loop_objective(X / model.scale_, known, model.atoms_, alpha_w=0.1, alpha_diff=0.3)
    assert model.objective_ == pytest.approx(expected, rel=1e-8)


def test_coefficients_found_only_roughly_are_reported_as_such(X, monkeypatch):
    from graphdict.models import soft

    short = soft.code
    monkeypatch.setattr(soft, "code", lambda *a, **k: short(*a, **{**k, "max_iter": 3}))
    model = GraphDictLog(2, alpha_diff=0.1, tol=1e-4, random_state=0)
    with pytest.warns(ConvergenceWarning, match="final atoms only roughly: .*max_iter above 5000"):
        model.fit(X)


def test_models_without_a_filter_know_no_power():
    with pytest.raises(TypeError, match="filter_power"):
        GraphDictLog(2, filter_power=2)
