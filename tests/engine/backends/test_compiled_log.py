"""Compiled passes of the log model find what the plain ones find."""

import numpy as np
import pytest

from graphdict import GraphDictLog
from graphdict.engine import backends
from graphdict.native import log_barrier

SIGNALS = np.random.default_rng(3).normal(size=(700, 9)) @ np.random.default_rng(4).normal(
    size=(9, 9)
)


def _fit(monkeypatch, compiled, signals, **settings):
    with monkeypatch.context() as patched:
        if not compiled:
            patched.setattr(backends, "COMPILED", {})
        return _model(**settings).fit(signals)


def _model(**settings):
    return GraphDictLog(n_atoms=3, max_iter=30, tol=0, random_state=0, **settings)


@pytest.mark.parametrize("solver", ["mm", "bipds"])
@pytest.mark.parametrize(
    "settings",
    [{}, {"alpha_c": 0.3}, {"alpha_orth": 0.5}, {"alpha_w": 0.0}],
    ids=["plain", "alpha_c", "alpha_orth", "alpha_w=0"],
)
def test_same_dictionary(monkeypatch, solver, settings):
    plain = _fit(monkeypatch, False, SIGNALS, solver=solver, **settings)
    compiled = _fit(monkeypatch, True, SIGNALS, solver=solver, **settings)
    assert compiled.objective_ == pytest.approx(plain.objective_, rel=1e-9)
    np.testing.assert_allclose(compiled.atoms_, plain.atoms_, atol=1e-7 * plain.atoms_.max())
    np.testing.assert_allclose(compiled.coefficients_, plain.coefficients_, atol=1e-6)
    for name, values in plain.history_.items():
        if name != "seconds":
            np.testing.assert_allclose(compiled.history_[name], values, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("solver", ["mm", "bipds"])
def test_single_precision(monkeypatch, solver):
    signals = SIGNALS.astype(np.float32)
    compiled = _fit(monkeypatch, True, signals, solver=solver)
    double = _fit(monkeypatch, True, SIGNALS, solver=solver)
    assert compiled.atoms_.dtype == np.float32
    assert compiled.objective_ == pytest.approx(double.objective_, rel=1e-3)


def test_windows_and_other_likelihoods_stay_plain(monkeypatch):
    called = []
    monkeypatch.setattr(log_barrier, "update_coefficients", lambda *args: called.append(args))
    _fit(monkeypatch, True, SIGNALS, solver="mm", window_size=10)
    assert not called
