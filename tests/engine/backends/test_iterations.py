"""Many iterations of BiPDS in one compiled call go where single ones go."""

from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from threadpoolctl import threadpool_limits

from graphdict import GraphDictLog, GraphDictSpectralRelaxed, native
from graphdict.core.solvers.bipds import bipds as core_bipds
from graphdict.core.terms.modal import modal_smoothness
from graphdict.engine import blas as threads
from graphdict.engine import executor as blocks
from graphdict.engine.backends import log_barrier as backend
from graphdict.exceptions import InterruptedFitWarning
from graphdict.solvers import bipds
from graphdict.terms import L1, ConstantOverWindows, Interval

MODELS = [GraphDictLog, GraphDictSpectralRelaxed]
RNG = np.random.default_rng(8)
SIGNALS = RNG.normal(size=(900, 8)) @ RNG.normal(size=(8, 8))


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """However slow the machine is, a call goes as far as it was asked to."""
    monkeypatch.setattr(backend, "SECONDS", 1e6)


@pytest.fixture
def calls_done(monkeypatch):
    """How many iterations each call did."""
    done = []

    def counted(*arguments):
        found = native.compiled.iterate(*arguments)
        done.append(found[0])
        return found

    monkeypatch.setattr(native, "iterate", counted)
    return done


def _problem_of(model, dtype=np.float64, **settings):
    """What a fit would solve, and where it would begin."""
    found = []
    if model is GraphDictSpectralRelaxed:
        settings = {"alpha_modes": 0.0, **settings}

    class Caught(model):
        def _solve(self, problem, coefficients, atoms, executor, stage):
            found.append((problem, executor.gather(executor.scatter(coefficients)), atoms))
            return super()._solve(problem, coefficients, atoms, executor, stage)

    Caught(3, max_iter=1, random_state=0, **settings).fit(SIGNALS.astype(dtype))
    return found[0]


def _last(problem, coefficients, atoms, every, solve=bipds, **steps):
    """Atoms and coefficients after 30 iterations, checked ``every`` so many."""
    seen = []
    solve(
        problem, coefficients, atoms, max_iter=30, tol=0, check_every=every,
        callback=lambda at: seen.append((at.atoms, at.coefficients)) and None,
        **{"sigma": 1.0, **steps},
    )  # fmt: skip
    return seen[-1]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "settings",
    [{}, {"alpha_c": 0.2, "alpha_w": 0.3}, {"tau_atoms": 1e-3, "tau_coefficients": 2e-3}],
    ids=["plain", "penalties", "given steps"],
)
def test_as_single_iterations(model, dtype, settings, calls_done, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 20_000)  # several parts of several blocks
    monkeypatch.setattr(blocks, "SHARDS", 3)
    steps = {name: value for name, value in settings.items() if name.startswith("tau")}
    priors = {name: value for name, value in settings.items() if name not in steps}
    case = _problem_of(model, dtype, **priors)
    calls_done.clear()
    single = _last(*case, every=1, **steps)
    assert calls_done == []
    many = _last(*case, every=30, **steps)
    assert calls_done == [29]
    tolerance = 1e-9 if dtype == np.float64 else 2e-3
    for one, other in zip(single, many, strict=True):
        assert one.dtype == other.dtype == dtype
        assert_allclose(one, other, atol=tolerance * np.abs(one).max())


SHAPES = [(3, 2, 1), (5, 4, 7), (90, 3, 2), (901, 5, 4)]


@pytest.mark.parametrize("build", ["portable", "chosen"])
@pytest.mark.parametrize("kind", ["log", "spectral"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_odd_shapes_and_several_priors(make_problem, monkeypatch, calls_done, kind, shape, build):
    if build == "portable":
        monkeypatch.setattr(native, "compiled", import_module("graphdict.native._portable"))
    samples, nodes, atoms = shape
    more = {"atom_terms": [L1(0.2), Interval(0.0, 0.8)], "coefficient_terms": [L1(0.1)]}
    case = make_problem(kind, samples=samples, nodes=nodes, atoms=atoms, **more)
    problem = case.problem
    if kind == "spectral":
        fit = modal_smoothness(case.signals, case.counts, spectra=problem.operator.linear)
        problem = replace(problem, signal_term=fit)
    single = _last(problem, case.coefficients, case.atoms, every=1)
    many = _last(problem, case.coefficients, case.atoms, every=30)
    assert calls_done == [29]
    for one, other in zip(single, many, strict=True):
        assert_allclose(one, other, atol=1e-10)


def test_an_interrupt_in_between_returns_the_best_point(monkeypatch):
    case = _problem_of(GraphDictLog)
    calls = []

    def interrupted(*arguments):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return native.compiled.iterate(*arguments)

    monkeypatch.setattr(native, "iterate", interrupted)
    problem, coefficients, atoms = case
    with pytest.warns(InterruptedFitWarning, match="at iteration 30"):
        found = bipds(problem, coefficients, atoms, max_iter=100, tol=0)
    assert found.interrupted
    assert found.objective == pytest.approx(problem.objective(found.coefficients, found.atoms))


def test_python_has_a_say_in_between_and_changes_nothing(calls_done, monkeypatch):
    case = _problem_of(GraphDictLog)
    whole = _last(*case, every=30)
    calls_done.clear()
    monkeypatch.setattr(backend, "SECONDS", 0.0)
    pieces = _last(*case, every=30)
    assert calls_done == [1] * 29
    for one, other in zip(whole, pieces, strict=True):
        assert_array_equal(one, other)


@pytest.mark.parametrize("block_bytes", [20_000, 1 << 21], ids=["blocks", "pieces of one"])
@pytest.mark.parametrize("model", MODELS)
def test_threads_change_nothing(model, block_bytes, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_BYTES", block_bytes)
    monkeypatch.setattr(threads, "_cores", lambda: 3)
    case = _problem_of(model)
    with threadpool_limits(1):
        alone = _last(*case, every=30)
    with threadpool_limits(3), blocks.open_executor(case[0], case[2]) as executor:
        assert executor.pool.helpers == 2
        together = _last(executor, *case[1:], every=30, solve=core_bipds)
    for one, other in zip(alone, together, strict=True):
        assert_array_equal(one, other)


@pytest.mark.parametrize(
    "settings",
    [
        {"alpha_diff": 0.1}, {"alpha_orth": 0.1}, {"window_size": 5},
        {"coefficient_priors": [ConstantOverWindows(10)]},
    ],
    ids=str,
)  # fmt: skip
def test_priors_that_tie_entries_together_are_not_taken_for_boxes(settings, calls_done):
    settings = {"solver": "bipds", "tol": 0, "max_iter": 12, "random_state": 0, **settings}
    model = GraphDictLog(3, **settings).fit(SIGNALS)
    assert calls_done == []
    assert model.n_iter_ == 12


def test_steps_that_are_far_too_long_are_noticed(calls_done):
    problem, coefficients, atoms = _problem_of(GraphDictLog)
    start = problem.objective(coefficients, atoms)
    with np.errstate(all="ignore"):
        wild = bipds(problem, coefficients, atoms, tau_atoms=1e200, sigma=1e100, max_iter=40)
    assert calls_done
    assert np.isfinite(wild.atoms).all()
    assert wild.objective <= start
