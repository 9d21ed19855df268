"""Bad input is refused by name; odd input gives finite numbers."""

import pickle

import numpy as np
import pandas as pd
import pytest

import graphdict
from graphdict import (
    GraphDictExact,
    GraphDictHier,
    GraphDictLog,
    GraphDictMarginal,
    GraphDictSpectral,
)
from graphdict.baselines import LogModel
from graphdict.exceptions import VersionWarning
from graphdict.related import GraphFactors

MODELS = [GraphDictLog, GraphDictSpectral, GraphDictExact]
DICTIONARIES = [*MODELS, GraphDictHier, GraphDictMarginal]
each_model = pytest.mark.parametrize("model", MODELS)
rng = np.random.default_rng(0)
X = rng.standard_normal((20, 5))


@each_model
@pytest.mark.parametrize(
    ("signals", "message"),
    [
        (np.zeros(5), "Expected 2D array"),
        (np.zeros((2, 3, 4)), "dim 3"),
        (np.zeros((0, 5)), r"0 sample\(s\)"),
        (np.zeros((5, 0)), r"0 feature\(s\)"),
        (X[:, :1], r"1 feature\(s\).*minimum of 2"),
        (X[:1], r"1 sample\(s\).*minimum of 2"),
        (np.where(X > 1, np.inf, X), "infinity"),
        (np.array([["a", "b"], ["c", "d"]]), "could not convert string to float"),
        (np.ones((10, 5)), r"X has 0 node\(s\) that vary over its 10 samples.*at least 2"),
        (X + 1j, "Complex data not supported"),
    ],
)
def test_signals_that_cannot_be_learned_from(model, signals, message):
    with pytest.raises(ValueError, match=message):
        model(2, max_iter=5).fit(signals)


@each_model
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha_w": -0.1}, "'alpha_w' parameter .*Got -0.1"),
        ({"alpha_c": -1}, "'alpha_c' parameter .*Got -1"),
        ({"alpha_orth": -1}, "'alpha_orth' parameter .*Got -1"),
        ({"alpha_diff": -1}, "'alpha_diff' parameter .*Got -1"),
        ({"n_atoms": 0}, "'n_atoms' parameter .*Got 0"),
        ({"n_atoms": 2.5}, "'n_atoms' parameter .*Got 2.5"),
        ({"window_size": 0}, "'window_size' parameter .*Got 0"),
        ({"window_size": 21}, "window_size=21 .*20 samples.*at most 20"),
        ({"solver": "adam"}, "'solver' parameter .*Got 'adam'"),
        ({"init": "magic"}, "'init' parameter .*Got 'magic'"),
        ({"max_iter": 0}, "'max_iter' parameter .*Got 0"),
        ({"tol": -1}, "'tol' parameter .*Got -1"),
        ({"n_init": 0}, "'n_init' parameter .*Got 0"),
        ({"fix": "both"}, "'fix' parameter .*Got 'both'"),
        ({"fix": "atoms"}, "fix='atoms' needs the array.*atoms="),
        ({"fix": "coefficients"}, "fix='coefficients' needs the array.*coefficients="),
        ({"atoms": np.ones((2, 9))}, r"atoms must have shape \(2, 10\), got \(2, 9\)"),
        ({"atoms": np.ones((3, 10))}, r"atoms must have shape \(2, 10\), got \(3, 10\)"),
        ({"atoms": -np.ones((2, 10))}, r"atoms must be finite and lie in \[0, inf\]"),
        ({"atoms": np.full((2, 10), np.nan)}, "atoms must be finite"),
        ({"coefficients": np.ones((19, 2))}, r"must have shape \(20, 2\), got \(19, 2\)"),
        ({"coefficients": np.full((20, 2), 1.5)}, r"coefficients must be finite .*\[0, 1\]"),
        (
            {"coefficients": np.zeros((20, 2)), "fix": "coefficients"},
            "coefficients held by fix='coefficients' are all zero in row 0",
        ),
        ({"callback": 3}, "'callback' parameter"),
        ({"random_state": "dice"}, "'random_state' parameter .*Got 'dice'"),
        ({"atom_priors": 5}, "'atom_priors' parameter .*Got 5"),
    ],
)
def test_settings_that_make_no_sense(model, options, message):
    with pytest.raises(ValueError, match=message):
        model(**{"n_atoms": 2, "max_iter": 5, **options}).fit(X)


@pytest.mark.parametrize("model", [GraphDictLog, GraphDictExact])
def test_held_atoms_must_reach_every_node(model):
    atoms = rng.uniform(size=(2, 10))
    atoms[:, :4] = 0  # nothing at the first node
    with pytest.raises(ValueError, match="atoms held by fix='atoms' do not connect"):
        model(2, atoms=atoms, fix="atoms").fit(X)


@pytest.mark.parametrize(
    ("modes", "message"),
    [
        (np.ones((4, 2)), r"modes must have shape \(5, M\), got \(4, 2\)"),
        (np.ones((5, 2)), "modes must have a column that is not constant"),
        (np.full((5, 2), np.inf), "modes must be finite"),
        (2 * np.linalg.qr(np.eye(5) - 0.2)[0][:, :4], "modes must be orthonormal .* off by 3"),
        (
            np.linalg.qr(np.eye(5) - 0.2)[0][:, :3],
            "modes must be all 4 .* got 3; .*Relaxed takes fewer",
        ),
    ],
)
def test_modes_that_make_no_sense(modes, message):
    with pytest.raises(ValueError, match=message):
        GraphDictSpectral(2, modes=modes).fit(X)


@each_model
def test_new_signals_with_another_number_of_nodes(model):
    fitted = model(2, max_iter=5, random_state=0).fit(X)
    for call in (fitted.transform, fitted.score, fitted.instantaneous_graphs):
        with pytest.raises(ValueError, match=r"X has 4 features, but .* is expecting 5"):
            call(X[:, :4])


@each_model
def test_a_prior_that_cannot_be_minimised_is_named(model):
    class Wish:
        def value(self, atoms):
            return 0.0

    with pytest.raises(TypeError, match="the term Wish lacks prox"):
        model(2, atom_priors=[Wish()], max_iter=5).fit(X)
    with pytest.raises(TypeError, match=r"(Wish|GraphsOfModes) has no multiplicative update"):
        model(2, atom_priors=[Wish()], solver="mm", max_iter=5).fit(X)


def flat_row(x):
    x[3] = 7.0


def zero_rows(x):
    x[5:9] = 0.0


def twins(x):
    x[:, 1] = x[:, 0]


def all_alike(x):
    x[:] = x[:, :1]


def outlier(x):
    x[4, 2] = 1e12


def two_values(x):
    x[:] = np.sign(x)


ODD = [flat_row, zero_rows, twins, all_alike, outlier, two_values]


@each_model
@pytest.mark.parametrize("solver", ["auto", "bipds"])
@pytest.mark.parametrize("edit", ODD, ids=lambda edit: edit.__name__)
@pytest.mark.parametrize("alpha_w", [0.1, 0.0])
def test_odd_signals_give_numbers(model, solver, edit, alpha_w):
    odd = X.copy()
    edit(odd)
    if edit is all_alike and alpha_w == 0:
        pytest.skip("no difference and no penalty: every graph is as good as an infinite one")
    check_finite(model(6, solver=solver, alpha_w=alpha_w, max_iter=60, random_state=0), odd)


@each_model
@pytest.mark.parametrize("seed", range(3))
def test_twins_without_a_penalty_in_single_precision(model, seed):
    signals = np.random.default_rng(seed).standard_normal((60, 6)).astype(np.float32)
    twins(signals)
    check_finite(model(2, alpha_w=0.0, max_iter=60, random_state=0), signals)


@each_model
@pytest.mark.parametrize("solver", ["auto", "bipds"])
@pytest.mark.parametrize("unit", [1e-300, 1e-150, 1e150, 1e300])
def test_any_unit_will_do(model, solver, unit):
    fitted = check_finite(model(2, solver=solver, max_iter=30, random_state=0), X * unit)
    usual = model(2, solver=solver, max_iter=30, random_state=0).fit(X)
    assert fitted.objective_ == pytest.approx(usual.objective_, rel=1e-4)


@each_model
@pytest.mark.parametrize("solver", ["auto", "bipds"])
@pytest.mark.parametrize("shape", [(2, 2), (2, 5), (3, 2), (20, 2), (4, 5)])
@pytest.mark.parametrize("n_atoms", [1, 8])
def test_small_shapes_and_more_atoms_than_samples(model, solver, shape, n_atoms):
    samples, nodes = shape
    check_finite(model(n_atoms, solver=solver, max_iter=40, random_state=0), X[:samples, :nodes])


@each_model
@pytest.mark.parametrize("option", ["alpha_w", "alpha_c", "alpha_orth", "alpha_diff"])
def test_penalties_beyond_reason_give_numbers(model, option):
    for solver in ("auto", "bipds"):
        check_finite(model(2, solver=solver, max_iter=40, random_state=0, **{option: 1e5}), X)


@each_model
def test_a_window_of_all_samples_and_one_sample_to_transform(model):
    fitted = check_finite(model(2, window_size=20, max_iter=40, random_state=0), X)
    assert np.ptp(fitted.coefficients_, axis=0).max() == 0
    assert fitted.transform(X[:1]).shape == (1, 2)


def check_finite(model, signals):
    with np.errstate(all="raise", under="ignore"):
        model.fit(signals)
        score = model.score(signals)
    assert np.isfinite(model.atoms_).all()
    assert np.isfinite(model.coefficients_).all()
    assert np.isfinite(model.objective_)
    assert np.isfinite(score)
    seen = model.history_["objective"]
    assert model.objective_ <= np.min(seen, initial=np.inf) + 1e-5 * (1 + abs(model.objective_))
    return model


@pytest.mark.parametrize(
    ("column", "told"),
    [
        (["on"] * 6, r"column 'extra' of X holds 'on'"),
        (pd.date_range("2024-01-01", periods=6), r"column 'extra' of X holds times"),
    ],
)
def test_columns_that_are_not_numbers_are_named(column, told):
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(6, 3)), columns=list("abc"))
    with pytest.raises(ValueError, match=told):
        GraphDictLog(2).fit(frame.assign(extra=column))


def test_a_class_in_place_of_a_prior_is_pointed_out():
    class Prior:
        pass

    with pytest.raises(TypeError, match=r"Prior is a class; pass a term made of it: Prior\(...\)"):
        GraphDictLog(2, atom_priors=[Prior]).fit(np.random.default_rng(0).normal(size=(6, 3)))


def test_arrays_that_are_none_are_named():
    ones = np.ones((2, 3))
    for wrong in ([["a"] * 3] * 2, [[1.0], [1.0, 2.0]], ones * 1j, ones.astype("m8[s]")):
        for name in ("atoms", "coefficients"):
            with pytest.raises(ValueError, match=f"{name} must be an array of numbers of shape"):
                GraphDictLog(2, **{name: wrong}).fit(np.eye(3))
        with pytest.raises(ValueError, match="modes must be an array of numbers"):
            GraphDictSpectral(2, modes=wrong).fit(np.eye(3))
        with pytest.raises(ValueError, match="graphs must be an array of numbers"):
            GraphFactors(2).fit(wrong)


@pytest.mark.parametrize("kind", [*DICTIONARIES, LogModel], ids=lambda kind: kind.__name__)
def test_times_are_no_numbers(kind):
    hours = np.random.default_rng(0).integers(0, 99, (8, 3))
    for unit in ("m8[h]", "M8[h]"):
        times = hours.astype(unit)
        masked = np.ma.masked_array(times, hours > 90)
        for given in (times, pd.DataFrame(times), masked, [times, times]):
            with pytest.raises(ValueError, match=r"X.* holds times"):
                kind().fit(given)


@pytest.mark.parametrize("kind", DICTIONARIES, ids=lambda kind: kind.__name__)
def test_settings_are_checked_before_anything_is_shown(kind):
    for name in {"verbose", "max_iter", "n_init", "average"} & set(kind().get_params()):
        with pytest.raises(ValueError, match=f"'{name}' parameter of {kind.__name__}"):
            kind(**{name: "some"}).fit(np.eye(3))


def test_a_method_that_is_not_there_says_why():
    model = GraphDictMarginal(2, average=5)
    assert not hasattr(model, "partial_fit")
    with pytest.raises(AttributeError, match=r"no partial_fit: average=5 .* use average=0"):
        model.partial_fit(np.eye(3))


def test_pickles_know_their_version(monkeypatch):
    model = GraphDictLog(2, max_iter=2, random_state=0).fit(np.eye(3))
    written = pickle.dumps(model)
    assert vars(pickle.loads(written)).keys() == vars(model).keys()
    monkeypatch.setattr(graphdict, "__version__", "99.0")
    with pytest.warns(VersionWarning, match=r"pickled by graphdict \d.* and is read by 99\.0"):
        pickle.loads(written)
