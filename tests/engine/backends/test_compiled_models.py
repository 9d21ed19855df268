"""Compiled passes find what the plain ones find."""

from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest
from numpy.testing import assert_allclose

import explicit_products as explicit
from graphdict import GraphDictExact, GraphDictLog, GraphDictSpectralRelaxed, native
from graphdict.core import graphs
from graphdict.core.terms import Smoothness, barriers
from graphdict.engine import backends
from graphdict.native import log_determinant
from graphdict.native.coefficients import UpdateRule
from graphdict.operators import Bilinear, Laplacians
from graphdict.solvers import bipds, mm

RNG = np.random.default_rng(3)
SIGNALS = RNG.normal(size=(300, 9)) @ RNG.normal(size=(9, 9))
MODELS = [GraphDictLog, GraphDictSpectralRelaxed, GraphDictExact]


def _fit(monkeypatch, model, compiled, signals=SIGNALS, **settings):
    settings = {"solver": "bipds", "max_iter": 25, "tol": 0, "random_state": 0, **settings}
    if model is GraphDictSpectralRelaxed:
        settings = {"alpha_modes": 0.0, **settings}
    with monkeypatch.context() as patched:
        if not compiled:
            patched.setattr(barriers, "LARGE_MATRIX", 0)
            patched.setattr(backends, "COMPILED", {})
        return model(3, **settings).fit(signals)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    "settings",
    [{}, {"alpha_c": 0.3}, {"alpha_orth": 0.5, "alpha_w": 0.0}, {"alpha_diff": 0.1, "tol": 1e-3}],
    ids=["plain", "alpha_c", "alpha_orth", "alpha_diff"],
)
def test_same_dictionary(monkeypatch, model, settings):
    plain = _fit(monkeypatch, model, False, **settings)
    compiled = _fit(monkeypatch, model, True, **settings)
    assert compiled.objective_ == pytest.approx(plain.objective_, rel=1e-9)
    assert_allclose(compiled.atoms_, plain.atoms_, atol=1e-7 * plain.atoms_.max())
    assert_allclose(compiled.coefficients_, plain.coefficients_, atol=1e-6)
    for name, values in plain.history_.items():
        if name != "seconds":
            assert_allclose(compiled.history_[name], values, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("solver", [bipds, mm])
def test_a_start_of_integers_or_by_columns_is_one_of_numbers(make_problem, monkeypatch, solver):
    case = make_problem(samples=40)
    start = np.eye(3)[np.arange(40) % 3]
    wanted = solver(case.problem, start, case.atoms, max_iter=10, tol=0)
    for given in (start.astype(int), np.asfortranarray(start)):
        found = solver(case.problem, given, case.atoms, max_iter=10, tol=0)
        assert_allclose(found.coefficients, wanted.coefficients, rtol=1e-12)
        assert_allclose(found.atoms, wanted.atoms, rtol=1e-12)


@pytest.mark.parametrize("solver", [bipds, mm])
def test_signals_may_lie_in_any_order_and_precision(make_problem, solver):
    case = make_problem(samples=40)
    wanted = solver(case.problem, case.coefficients, case.atoms, max_iter=10, tol=0)
    signals = case.signals
    wide = np.zeros((40, 2 * signals.shape[1]))
    wide[:, ::2] = signals
    for given in (np.asfortranarray(signals), wide[:, ::2], signals.astype(">f8")):
        problem = replace(case.problem, signal_term=Smoothness(given))
        found = solver(problem, case.coefficients, case.atoms, max_iter=10, tol=0)
        assert_allclose(found.atoms, wanted.atoms, rtol=1e-12)
    single = case.atoms.astype(np.float32), case.coefficients.astype(np.float32)
    found = solver(case.problem, single[1], single[0], max_iter=10, tol=0)
    assert found.atoms.dtype == np.float64
    assert_allclose(found.atoms, wanted.atoms, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("nodes", [2, 3])
@pytest.mark.parametrize("solver", ["bipds", "mm"])
@pytest.mark.parametrize("model", [GraphDictLog, GraphDictSpectralRelaxed])
def test_few_nodes(monkeypatch, model, solver, nodes):
    signals = SIGNALS[:, :nodes]
    plain = _fit(monkeypatch, model, False, signals, solver=solver)
    compiled = _fit(monkeypatch, model, True, signals, solver=solver)
    assert compiled.objective_ == pytest.approx(plain.objective_, rel=1e-9)
    assert_allclose(compiled.atoms_, plain.atoms_, atol=1e-7 * plain.atoms_.max())


@pytest.mark.parametrize("model", MODELS)
def test_single_precision(monkeypatch, model):
    single = _fit(monkeypatch, model, True, SIGNALS.astype(np.float32))
    double = _fit(monkeypatch, model, True)
    assert single.atoms_.dtype == np.float32
    assert single.objective_ == pytest.approx(double.objective_, rel=1e-3)


@pytest.mark.parametrize("case", ["windows", "fixed atoms", "missing values"])
def test_others_stay_plain(monkeypatch, case):
    called = []
    monkeypatch.setattr(native, "log_det_gradients", lambda *args: called.append(args))
    _fit(monkeypatch, GraphDictExact, True, **_other(case))
    assert not called


@pytest.mark.parametrize("solver", ["bipds", "mm"])
@pytest.mark.parametrize("case", ["windows", "fixed atoms", "missing values"])
def test_spectra_of_others(monkeypatch, case, solver):
    plain = _fit(monkeypatch, GraphDictSpectralRelaxed, False, solver=solver, **_other(case))
    compiled = _fit(monkeypatch, GraphDictSpectralRelaxed, True, solver=solver, **_other(case))
    assert compiled.objective_ == pytest.approx(plain.objective_, rel=1e-9)
    assert_allclose(compiled.atoms_, plain.atoms_, atol=1e-7 * plain.atoms_.max())


def _other(case):
    """Settings of a fit whose samples are not single, not learned from, or not complete."""
    if case == "windows":
        return {"window_size": 10}
    if case == "fixed atoms":
        return {"fix": "atoms", "atoms": np.ones((3, graphs.n_edges(9)))}
    signals = SIGNALS.copy()
    signals[3, 4] = np.nan
    return {"signals": signals}


@pytest.mark.parametrize("solver", ["mm", "bipds"])
def test_missing_values_are_not_taken_for_zeros(monkeypatch, solver):
    gappy = np.where(np.random.default_rng(5).random(SIGNALS.shape) < 0.1, np.nan, SIGNALS)
    settings = {"solver": solver, "max_iter": 10}
    fits = [_fit(monkeypatch, GraphDictLog, one, gappy, **settings) for one in (True, False)]
    assert_allclose(fits[0].atoms_, fits[1].atoms_, rtol=1e-9)


@pytest.mark.parametrize("settings", [{}, {"alpha_c": 0.3, "alpha_orth": 0.2}], ids=str)
@pytest.mark.parametrize("model", [GraphDictSpectralRelaxed, GraphDictExact])
def test_by_majorising(monkeypatch, model, settings):
    plain = _fit(monkeypatch, model, False, solver="mm", **settings)
    compiled = _fit(monkeypatch, model, True, solver="mm", **settings)
    assert compiled.objective_ == pytest.approx(plain.objective_, rel=1e-9)
    assert_allclose(compiled.atoms_, plain.atoms_, atol=1e-7 * plain.atoms_.max())
    for name, values in plain.history_.items():
        if name != "seconds":
            assert_allclose(compiled.history_[name], values, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(1, 2, 1), (7, 5, 3), (20, 12, 4)], ids=str)
def test_sweeps_over_edges(shape, dtype):
    samples, nodes, count = shape
    rng = np.random.default_rng(samples)
    tolerance = {"rtol": 1e-10} if dtype == np.float64 else {"rtol": 2e-4, "atol": 1e-4}
    signals = rng.normal(size=(samples, nodes)).astype(dtype)
    coefficients = rng.uniform(size=(samples, count)).astype(dtype)
    atoms = rng.uniform(size=(count, graphs.n_edges(nodes))).astype(dtype)
    dual = rng.normal(size=(samples, nodes, nodes)).astype(dtype)
    dual = dual + np.swapaxes(dual, 1, 2)
    operator = Bilinear(Laplacians(nodes))

    lifted = np.full_like(dual, np.nan)
    native.add_laplacians(coefficients, atoms, dual, dtype(0.3), lifted)
    assert_allclose(lifted, dual + 0.3 * operator.forward(coefficients, atoms), **tolerance)

    energies, pulls = np.full_like(coefficients, np.nan), np.full_like(coefficients, np.nan)
    distances = np.ones_like(atoms)
    native.log_det_gradients(signals, atoms, coefficients, dual, energies, pulls, distances)
    expected = 1 + explicit.weighted_distances(signals, coefficients)
    expected += operator.adjoint_atoms(coefficients, dual)
    assert_allclose(energies, explicit.energies(signals, atoms), **tolerance)
    assert_allclose(pulls, operator.adjoint_coefficients(dual, atoms), **tolerance)
    assert_allclose(distances, expected, **tolerance)


def _plain_slopes(coefficients, atoms):
    """Resistances along all edges (T, E), and the log-determinants, by eigenvectors."""
    laplacians = graphs.laplacian(coefficients @ atoms)
    values = np.linalg.eigvalsh(laplacians)[:, 1:]
    return graphs.laplacian_adjoint(np.linalg.pinv(laplacians)), np.log(values).sum(axis=1)


@pytest.mark.parametrize("stretch", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "shape", [(1, 2, 1), (5, 3, 2), (7, 4, 3), (8, 9, 4), (30, 14, 5)], ids=str
)
@pytest.mark.parametrize("build", ["portable", "chosen"])
def test_exact_updates(monkeypatch, build, shape, dtype, stretch):
    if build == "portable":
        monkeypatch.setattr(native, "compiled", import_module("graphdict.native._portable"))
    samples, nodes, count = shape
    rng = np.random.default_rng(nodes)
    signals = rng.normal(size=(samples, nodes)).astype(dtype)
    atoms = rng.uniform(0.1, 1, size=(count, graphs.n_edges(nodes))).astype(dtype)
    coefficients = rng.uniform(0.1, 1, size=(samples, count)).astype(dtype)
    coefficients[0, 0] = 1
    weights = rng.dirichlet(np.ones(samples))
    tolerance = {"rtol": 1e-9} if dtype == np.float64 else {"rtol": 2e-4}
    c, w = coefficients.astype(float), atoms.astype(float)
    energies = explicit.energies(signals.astype(float), w)

    job, push = log_determinant.atom_slopes(coefficients, weights, atoms)
    job()
    resistances, _ = _plain_slopes(c, w)
    assert_allclose(push, (weights[:, None] * c).T @ resistances, **tolerance)

    job, found = log_determinant.update_coefficients(
        signals, weights, atoms, coefficients, UpdateRule(0.2, 3, stretch)
    )
    job()
    for inner in range(3):
        push = _plain_slopes(c, w)[0] @ w.T
        slope = energies + 0.2 - push
        free = np.where((c >= 1) & (slope < 0), 0, c * slope)
        if inner == 0:
            squares = np.sum(free**2), np.sum((c * (energies + 0.2)) ** 2)
        c = np.minimum(1, c * (push / (energies + 0.2)) ** (1.5 if stretch else 1))
    value = weights @ (np.sum(c * energies, axis=1) - _plain_slopes(c, w)[1])
    assert_allclose(found.coefficients, c, **tolerance)
    assert_allclose(found.numbers, [value, *squares], rtol=10 * tolerance["rtol"])
    distances = explicit.weighted_distances(signals.astype(float), weights[:, None] * c)
    assert_allclose(found.distances, distances, **tolerance)
    assert found.coefficients.dtype == found.distances.dtype == dtype


def test_an_exact_graph_that_falls_apart_has_no_finite_value():
    signals, atoms = np.ones((5, 4)), np.array([[1.0, 0, 0, 0, 0, 1.0]])
    job, found = log_determinant.update_coefficients(
        signals, np.full(5, 0.2), atoms, np.ones((5, 1)), UpdateRule(0.0, 0, False)
    )
    job()
    assert found.numbers[0] == np.inf


def test_exact_updates_refuse_what_does_not_fit():
    arrays = np.ones((5, 4)), np.ones(5), np.ones((2, 6)), np.ones((5, 2))
    for at, wrong in enumerate((np.ones((5, 5)), np.ones(4), np.ones((2, 5)), np.ones((5, 3)))):
        given = [wrong if i == at else array for i, array in enumerate(arrays)]
        with pytest.raises(ValueError, match=r"must be|differ"):
            log_determinant.update_coefficients(*given, UpdateRule(0.0, 1, False))
    with pytest.raises(ValueError, match="differ"):
        log_determinant.atom_slopes(np.ones((5, 3)), np.ones(5), np.ones((2, 6)))
