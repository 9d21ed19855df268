"""How many atoms may be active at once, chosen by samples that were not learned from."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from graphdict import GraphDictMarginal
from graphdict.core.marginal.patterns import enumerate_patterns
from graphdict.datasets import make_superposition
from graphdict.engine.marginal import active, em
from graphdict.engine.marginal.active import choose_patterns, hold_out
from graphdict.engine.marginal.settings import Settings
from graphdict.exceptions import InterruptedFitWarning
from graphdict.metrics import edge_scores
from graphdict.results import Recordings


def one(X):
    return Recordings.single(len(X))


def draw(superposition, **options):
    options = {"n_train": 900, "n_test": 200, "random_state": 0, **options}
    return make_superposition(3, 12, 0.3, superposition, **options)


def fit(X, **options):
    return GraphDictMarginal(3, **{"n_init": 4, "random_state": 0, **options}).fit(X)


def largest(model):
    return model.patterns_.sum(axis=1).max()


def test_one_active_atom_is_recovered_without_being_told():
    data = draw(1)

    def recovery(max_active):
        graphs = fit(data.train.signals, max_active=max_active).instantaneous_graphs(
            data.test.signals
        )
        return edge_scores(data.test.weights, graphs).mean()["mcc"]

    alone = recovery(1)
    assert recovery(None) > 0.95 * alone
    assert recovery(3) < 0.95 * alone  # what is lost where the number is not chosen


@pytest.mark.parametrize("superposition", [1, 2, 3])
def test_finds_how_many_are_active(superposition):
    X = draw(superposition, n_train=1500).train.signals
    X /= np.sqrt(np.mean(X**2))
    patterns = enumerate_patterns(3, 3)
    rng = np.random.RandomState(0)
    found = choose_patterns(X, patterns, Settings(), recordings=one(X), window_size=1, rng=rng)
    assert found.dictionary.patterns.sum(axis=1).max() == superposition


@pytest.mark.parametrize(
    "options",
    [{}, {"prior": "free"}, {"prior": "markov"}, {"window_size": 5}, {"gaps": True}],
    ids=str,
)
def test_the_fit_is_that_of_the_number_found(options):
    """And nothing else that is random depends on the choice."""
    options = {"n_init": 1, "max_iter": 10, "tol": 0.1, **options}
    X = draw(1, samples_per_graph=5).train.signals
    if options.pop("gaps", False):
        X = np.where(np.random.default_rng(0).uniform(size=X.shape) < 0.05, np.nan, X)[:300]
    model = fit(X, **options)
    assert largest(model) < 3
    assert_array_equal(model.atoms_, fit(X, max_active=largest(model), **options).atoms_)


def test_single_precision_and_units_change_no_choice():
    X = draw(1).train.signals
    options = {"n_init": 1, "max_iter": 10, "tol": 0.1}
    assert largest(fit(X.astype(np.float32), **options)) == 1
    assert largest(fit(1e3 * X, **options)) == 1


def test_where_there_is_no_choice():
    X = draw(1).train.signals
    rng = np.random.RandomState(0)
    for samples, window, most, chosen in (
        (len(X), 1, 1, False),
        (19, 5, 3, False),
        (25, 5, 3, True),
    ):
        part = X[:samples]
        found = choose_patterns(
            part, enumerate_patterns(3, most), Settings(),
            recordings=one(part), window_size=window, rng=rng,
        )  # fmt: skip
        assert (found is not None) == chosen


def test_whole_windows_are_held_out_from_all_over(monkeypatch):
    X = np.arange(1000)[:, None]
    learned, held = hold_out(X, one(X), 7)
    blocks = held.recordings.split(held.signals)
    assert len(blocks) == 4
    assert all(len(block) % 7 == 0 and block[0] % 7 == 0 for block in blocks)
    assert len(learned.signals) + len(held.signals) == 1000 // 7 * 7
    assert not np.isin(held.signals, learned.signals).any()
    assert blocks[-1].max() >= 990
    monkeypatch.setattr(active, "MOST_ROWS", 200)
    learned, held = hold_out(X, one(X), 7)
    assert len(learned.signals) + len(held.signals) == 140  # whole windows of 200 / 20 samples
    assert held.signals.max() >= 940


def test_no_held_out_block_joins_what_was_apart():
    X = np.arange(1000)[:, None]
    recordings = Recordings(("a", "b", "c"), (400, 333, 267))
    for blocks in hold_out(X, recordings, 7):
        for name, part in zip(blocks.recordings.names, blocks.recordings.split(blocks.signals)):
            own = recordings.slices()[recordings.number(name)]
            assert (np.diff(part[:, 0]) == 1).all()
            assert own.start <= part.min()
            assert part.max() < own.stop


def test_ctrl_c_while_choosing_keeps_what_is_there(monkeypatch):
    data, passes = draw(1), []

    def interrupted(*given, **options):
        passes.append(None)
        if len(passes) == 40:  # in the second run
            raise KeyboardInterrupt
        return e_step(*given, **options)

    e_step = em.e_step
    monkeypatch.setattr(em, "e_step", interrupted)
    with pytest.warns(InterruptedFitWarning):
        model = fit(data.train.signals, filter_power=1, tails="gaussian")
    assert len(passes) == 40
    assert largest(model) == 2
    assert np.isfinite(model.atoms_).all()
    assert model.transform(data.test.signals).shape == (200, 3)


def test_each_number_tried_is_told(caplog):
    with caplog.at_level("DEBUG", logger="graphdict"):
        fit(draw(1).train.signals, n_init=1, max_iter=2, tol=1.0)
    assert "active atoms: iteration 2" in caplog.text
