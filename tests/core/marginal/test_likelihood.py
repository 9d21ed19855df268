"""The seam of the likelihood: EM knows PatternLikelihood alone, and core nothing of the engine."""

import ast
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import graphdict.core.marginal
from graphdict import GraphDictMarginal
from graphdict.core.marginal.dictionary import PatternDictionary
from graphdict.core.marginal.likelihood import NOISE, GaussianLikelihood
from graphdict.core.marginal.patterns import enumerate_patterns, uniform_probabilities
from graphdict.core.marginal.penalty import ConcavePenalty
from graphdict.core.marginal.protocols import PatternLikelihood, SignalBlock
from graphdict.datasets import make_superposition
from graphdict.engine.marginal.settings import Settings

INTERFACE = {
    "patterns", "noise", "statistic_names", "nbytes", "for_atoms", "factors", "log_likelihoods",
    "statistics", "m_step", "own_penalty", "stationary_statistics", "draw_atoms", "state",
    "with_state",
}  # fmt: skip


class Opaque:
    """A Gaussian likelihood of which nothing but the protocol can be seen."""

    def __init__(self, inner):
        self._inner = inner

    @classmethod
    def of(cls, patterns, atoms, noise):
        return cls(GaussianLikelihood.of(patterns, atoms, noise))

    def __getattr__(self, name):
        if name not in INTERFACE:
            raise AttributeError(f"{name} is not of the protocol")
        return getattr(self._inner, name)

    def for_atoms(self, atoms, patterns=None):
        return Opaque(self._inner.for_atoms(atoms, patterns))

    def with_state(self, state):
        return Opaque(self._inner.with_state(state))

    def m_step(self, *given):
        inner, atoms = self._inner.m_step(*given)
        return Opaque(inner), atoms


def test_the_protocol_is_what_is_tested_here():
    declared = set(PatternLikelihood.__annotations__) | {
        name for name in vars(PatternLikelihood) if not name.startswith("_")
    }
    assert declared == INTERFACE


@pytest.mark.parametrize(
    "options",
    [
        {"max_active": 2}, {"prior": "markov", "window_size": 3}, {"prior": "hierarchy"},
        {"average": 4, "max_active": 2}, {"gaps": True},
    ],
    ids=str,
)  # fmt: skip
def test_fits_see_nothing_but_the_protocol(options, monkeypatch):
    X = make_superposition(3, 6, 0.4, 1, n_train=150, n_test=10, random_state=0).train.signals
    plain = {"filter_power": 1, "tails": "gaussian"}
    options = {"n_init": 2, "max_iter": 5, "tol": 0.1, "random_state": 0, **plain, **options}
    if options.pop("gaps", False):
        X = np.where(np.random.default_rng(0).uniform(size=X.shape) < 0.05, np.nan, X)

    def everything():
        model = GraphDictMarginal(3, **options).fit(X)
        found = [model.atoms_, model.score_samples(X), model.predict(X)]
        if "average" not in options and options.get("prior") != "hierarchy":
            found += [model.partial_fit(X[:50]).atoms_, model.stream_["moments"]]
        return found

    wanted = everything()
    own = GraphDictMarginal._settings.fget

    def opaque(model):
        settings = own(model)
        return Settings(**{**vars(settings), "likelihood": Opaque.of})

    monkeypatch.setattr(GraphDictMarginal, "_settings", property(opaque))
    for one, other in zip(everything(), wanted, strict=True):
        assert_array_equal(one, other)


@pytest.fixture(name="setting")
def some_setting():
    rng = np.random.default_rng(1)
    patterns, atoms = enumerate_patterns(3, 2), rng.uniform(0.1, 1, (3, 10))
    atoms[0, :4] = 0  # node 0 is alone in atom 0
    signals = rng.standard_normal((12, 5))
    signals -= signals.mean(axis=1, keepdims=True)
    return GaussianLikelihood.of(patterns, atoms, 1e-2), atoms, signals, rng


def test_statistics_of_blocks_add_up(setting):
    likelihood, atoms, signals, rng = setting
    factors = likelihood.factors(atoms)
    shares = rng.dirichlet(np.ones(6), 6)
    counts = np.full(6, 2)
    whole = likelihood.statistics(factors, SignalBlock(signals, counts), shares)
    first = likelihood.statistics(factors, SignalBlock(signals[:4], counts[:2]), shares[:2])
    rest = likelihood.statistics(factors, SignalBlock(signals[4:], counts[2:]), shares[2:])
    assert len(whole) == len(likelihood.statistic_names)
    for total, one, other in zip(whole, first, rest, strict=True):
        assert_allclose(total, one + other)


def test_missing_values_of_complete_signals_change_nothing(setting):
    likelihood, atoms, signals, rng = setting
    block, shares = SignalBlock(signals, np.full(6, 2)), rng.dirichlet(np.ones(6), 6)
    plain, exact = likelihood.factors(atoms), likelihood.factors(atoms, missing=True)
    assert exact.nbytes > plain.nbytes
    assert_allclose(
        likelihood.log_likelihoods(exact, block), likelihood.log_likelihoods(plain, block)
    )
    for one, other in zip(
        likelihood.statistics(exact, block, shares),
        likelihood.statistics(plain, block, shares),
        strict=True,
    ):
        assert_allclose(one, other)


def test_atoms_stay_at_their_stationary_statistics(setting):
    likelihood, _, _, rng = setting
    atoms = rng.uniform(0.1, 1, (3, 10))
    likelihood = likelihood.for_atoms(atoms)
    usage, penalty = rng.dirichlet(np.ones(6)), ConcavePenalty(1e-3, 1e-3, 0.1)
    averages = likelihood.stationary_statistics(atoms, usage, penalty, 0.0)
    assert all((average > 0).all() for average in averages)
    assert_allclose(likelihood.m_step(atoms, averages, usage, penalty, 5)[1], atoms)


def test_a_checkpoint_keeps_what_a_likelihood_learns(setting):
    likelihood, atoms, *_ = setting

    class Learned(GaussianLikelihood):
        tails = 0.0

        def for_atoms(self, atoms, patterns=None):
            return super().for_atoms(atoms, patterns).with_state(self.state())

        def state(self):
            return {"tails": self.tails}

        def with_state(self, state):
            self.tails = state["tails"]
            return self

    start = PatternDictionary(
        Learned.of(likelihood.patterns, atoms), atoms, uniform_probabilities(likelihood.patterns)
    )
    state = {**start.state(), "tails": 4.0, "atoms": atoms + 1}
    found = start.with_state(state)
    assert found.likelihood.tails == 4.0
    assert found.likelihood.noise == NOISE
    assert not found.likelihood.components  # those of the atoms that were kept
    plain = PatternDictionary(likelihood, atoms, start.probabilities)
    assert set(plain.state()) == {"atoms", "probabilities", "stay"}  # as ever


def test_core_knows_nothing_of_the_engine():
    for path in Path(graphdict.core.marginal.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("graphdict."):
                layer = node.module.split(".")[1]
                assert layer in {"core", "native", "exceptions"}, f"{path.name}: {node.module}"
