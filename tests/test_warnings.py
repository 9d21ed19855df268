"""Warnings point to the line of the user that led to them."""

import numpy as np
import pytest

from graphdict import GraphDictExact, GraphDictLog, GraphDictMarginal, GraphDictSpectral
from graphdict.baselines import TGFA, KGraphs
from graphdict.engine.blas import single_threaded_blas
from graphdict.exceptions import ConvergenceWarning, SilentNodeWarning, warn

SIGNALS = np.random.default_rng(0).normal(size=(80, 5))
MODELS = [
    GraphDictLog(2, max_iter=2, tol=0), GraphDictSpectral(2, max_iter=2, tol=0),
    GraphDictExact(2, max_iter=2, tol=0), GraphDictMarginal(2, max_iter=2, tol=0),
    KGraphs(2, max_iter=1, tol=0), TGFA(max_iter=1, tol=0),
]  # fmt: skip


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_of_a_fit(model):
    silent = np.column_stack([SIGNALS, np.zeros(80)])
    with pytest.warns() as told:
        model.fit(silent)
    kinds = {warning.category for warning in told}
    assert SilentNodeWarning in kinds
    assert ConvergenceWarning in kinds or isinstance(model, KGraphs)
    assert {warning.filename for warning in told} == {__file__}


def test_through_decorators():
    with pytest.warns(UserWarning, match="careful") as told:
        single_threaded_blas(warn)("careful", UserWarning)
    assert told[0].filename == __file__
