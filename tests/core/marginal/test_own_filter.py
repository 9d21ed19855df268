"""Another filter is one class: what else it takes to learn with it, save it and describe it."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from numpy.testing import assert_allclose

from graphdict import GraphDictMarginal, load_model
from graphdict.core.marginal import filters
from graphdict.core.marginal.filters import GraphFilter
from graphdict.datasets import erdos_renyi, sample_lgmrf
from graphdict.selection.signal_sentences import describe_signals


@dataclass(frozen=True)
class Bent(GraphFilter):
    """``f(lambda) = lambda + a lambda^2``: a Markov field at low frequencies, smoother beyond."""

    bend: float = 1.0
    name: ClassVar[str] = "bent"
    by_name: ClassVar[bool] = True

    @property
    def parameter(self):
        return self.bend

    def log_values(self, eigenvalues):
        return np.log(eigenvalues) + np.log1p(self.bend * eigenvalues)

    def log_derivatives(self, eigenvalues):
        return 1 / eigenvalues + self.bend / (1 + self.bend * eigenvalues)

    def parameter_derivatives(self, eigenvalues):
        return 1 - 1 / (1 + self.bend * eigenvalues)

    def typical_weights(self, distances, variance):
        return distances**-0.5

    def in_words(self):
        return f"Bent by {self.bend:.2g}."


@pytest.fixture
def bent(monkeypatch):
    monkeypatch.setitem(filters.FILTERS, "bent", Bent)
    constraints = GraphDictMarginal._parameter_constraints
    allowed = [*constraints["filter_power"], type(constraints["filter_power"][1])({"bent"})]
    monkeypatch.setitem(constraints, "filter_power", allowed)


def precision(frequencies):
    return frequencies + frequencies**2


def test_another_filter_is_learned_saved_and_described(bent, tmp_path):
    atoms = erdos_renyi(1, 12, 0.3, random_state=0)
    x = sample_lgmrf(atoms, 4000, random_state=1, filter=precision)
    model = GraphDictMarginal(1, filter_power="bent", tails="gaussian", random_state=0).fit(x)
    assert model.filter_ == "bent"
    assert_allclose(model.filter_power_, 1 / model.scale_**2, rtol=0.3)
    markov = GraphDictMarginal(1, filter_power=1, tails="gaussian", random_state=0).fit(x)
    new = sample_lgmrf(atoms, 1000, random_state=2, filter=precision)
    assert model.score(new) > markov.score(new) + 0.1
    assert describe_signals(model)[0].startswith("Bent by")
    model.save(tmp_path / "model.graphdict")
    assert load_model(tmp_path / "model.graphdict").score(new) == model.score(new)


def test_a_filter_that_says_nothing_names_no_parameter():
    with pytest.raises(NotImplementedError):
        GraphFilter(1.0)
