"""Memory is foreseen: estimates against measured peaks, and the messages about it."""

import logging
import tracemalloc

import numpy as np
import pytest

from graphdict import (
    GraphDict,
    GraphDictExact,
    GraphDictHier,
    GraphDictLog,
    GraphDictMarginal,
    GraphDictSpectral,
    GraphDictSpectralRelaxed,
)
from graphdict.baselines import GLMM, TGFA, KGraphs, LogModel, WindowLogModel
from graphdict.engine import memory as foresight
from graphdict.exceptions import MemoryForecastWarning, NotEnoughMemoryError
from graphdict.terms import L1, LogBarrier, LogDegrees


class Near:
    """A prior of a user: weights near 0.3, by a quadratic."""

    def value(self, atoms):
        return 0.25 * float(np.sum((atoms - 0.3) ** 2))

    def gradient(self, atoms):
        return 0.5 * (atoms - 0.3)

    def lipschitz(self, atoms):
        return 0.5


class ProxAlone:
    """The log barrier as one that has a prox and no derivatives."""

    values, prox = LogBarrier.values, LogBarrier.prox


class DegreesByProx(LogDegrees):
    def __init__(self):
        self.barrier = ProxAlone()


X = np.random.default_rng(0).standard_normal((6000, 24))
FITS = [
    GraphDictLog(4, max_iter=2),
    GraphDictLog(4, max_iter=2, solver="bipds"),
    GraphDictLog(4, max_iter=2, window_size=5),
    GraphDictLog(4, max_iter=2, atom_priors=[Near()]),
    GraphDictLog(4, max_iter=1, solver="alternating"),
    GraphDictSpectral(4, max_iter=2),
    GraphDictExact(2, max_iter=1, window_size=20),
    GraphDictMarginal(3, n_init=1, max_iter=1, max_active=2),
    GraphDictLog(4, fix="atoms", atoms=np.ones((4, 276))),
    GraphDictExact(2, fix="atoms", atoms=np.ones((2, 276))),
    GraphDictHier(6, max_iter=2),
    LogModel(),
    WindowLogModel(20),
    TGFA(20, max_iter=2),
    GLMM(4, max_iter=1, n_init=1),
    KGraphs(4, max_iter=1, n_init=1),
]


@pytest.mark.parametrize("model", FITS, ids=lambda m: f"{type(m).__name__}")
def test_estimates_are_right_to_a_factor_of_three(model):
    model.fit(X[:200])  # what is compiled and cached once does not count
    tracemalloc.start()
    model.fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    estimate = foresight.estimate_memory(model, X.shape, X.dtype)
    assert peak / 3 < estimate < 3 * peak


def test_estimates_know_which_solver_a_fit_takes():
    def needed(model):
        return foresight.estimate_memory(model, X.shape, X.dtype)

    less, more = needed(GraphDictLog(4)), needed(GraphDictLog(4, solver="bipds"))
    assert less < more
    assert needed(GraphDictLog(4, atom_priors=[Near()])) == more
    assert needed(GraphDictLog(4, coefficient_priors=[Near()])) == more
    assert needed(GraphDictLog(4, solver="alternating")) == more
    assert needed(GraphDictLog(4, atom_priors=[L1(0.1)])) == less
    for model in (GraphDictSpectral, GraphDictSpectralRelaxed):
        assert needed(model(4, solver="bipds")) == needed(model(4, atom_priors=[Near()]))
    assert needed(GraphDictSpectral(4)) < needed(GraphDictSpectral(4, solver="bipds"))
    assert needed(GraphDictSpectralRelaxed(4, alpha_modes=0.0)) < needed(
        GraphDictSpectralRelaxed(4, alpha_modes=1.0)
    )
    assert needed(GraphDict(4, likelihood=LogDegrees())) < needed(
        GraphDict(4, likelihood=DegreesByProx())
    )


def test_a_fit_that_cannot_fit_is_refused_with_what_would(monkeypatch):
    monkeypatch.setattr(foresight, "available_memory", lambda: 1_000_000)
    with pytest.raises(
        NotEnoughMemoryError, match=r"GraphDictLog needs about .*MB .* float32 .*memory map"
    ):
        GraphDictLog(3).fit(X)
    with pytest.raises(MemoryError, match="larger windows"):
        WindowLogModel(1).fit(X)


def test_a_fit_that_may_not_fit_is_warned_about(monkeypatch):
    model = GraphDictLog(2, max_iter=2)
    needed = foresight.estimate_memory(model, X.shape, X.dtype)
    monkeypatch.setattr(foresight, "available_memory", lambda: needed // 2)
    with pytest.warns(MemoryForecastWarning, match="of memory are available"):
        model.fit(X)


def test_huge_problems_are_foreseen_not_tried():
    shape = (10**9, 2000)
    needed = foresight.estimate_memory(GraphDictHier(20), shape, np.float64)
    assert needed > 10**13
    assert foresight.estimate_memory(GraphDictLog(5), shape, np.float32) > 10**10


def test_available_memory_is_a_plausible_number():
    available = foresight.available_memory()
    assert available is None or 10**6 < available < 10**14


def test_fits_are_logged(caplog):
    with caplog.at_level(logging.DEBUG, logger="graphdict"):
        GraphDictLog(2, max_iter=3, random_state=0).fit(X[:60])
    said = [record.getMessage() for record in caplog.records if record.name == "graphdict"]
    assert any("fit of 60 samples on 24 nodes" in line for line in said)
    assert any("iteration 2" in line for line in said)
    assert any("stopped at iteration" in line for line in said)


def test_logs_are_silent_by_default(capfd):
    GraphDictLog(2, max_iter=3, random_state=0).fit(X[:60])
    captured = capfd.readouterr()
    assert not captured.out
    assert not captured.err
    assert any(isinstance(h, logging.NullHandler) for h in logging.getLogger("graphdict").handlers)
