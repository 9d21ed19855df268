"""Searching on some of the samples: which they are, and that the fit is as good."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from graphdict import GraphDictMarginal
from graphdict.core.marginal.patterns import enumerate_patterns
from graphdict.core.recordings import Recordings
from graphdict.datasets import sample_lgmrf
from graphdict.engine.marginal import subset
from graphdict.engine.marginal.learn_filtered import LITTLE
from graphdict.engine.marginal.samples import open_signals


def test_more_samples_are_needed_for_more_to_learn():
    alone = enumerate_patterns(3, 1)
    assert subset.enough_samples(alone, 10, 1) == subset.LEAST
    assert subset.enough_samples(alone, 1000, 1) == 3000 * subset.PER_ATOM_AND_NODE
    assert subset.enough_samples(alone, 10, 100) == 100 * subset.WINDOWS
    several = enumerate_patterns(3, 2)
    assert subset.enough_samples(several, 10, 1) == subset.SEVERAL * subset.LEAST


@pytest.mark.parametrize("window", [1, 7])
def test_segments_are_whole_windows_spread_over_time(window):
    rows = np.arange(10_003)[:, None]
    taken = subset.take_segments(rows, Recordings.single(len(rows)), window, 2000).signals.ravel()
    assert 0.9 * 2000 <= len(taken) <= 2000
    assert len(set(taken)) == len(taken)
    starts = np.concatenate([taken[:1], taken[1:][np.diff(taken) > 1]])
    assert (starts % window == 0).all()
    assert len(starts) == subset.LEAST_SEGMENTS
    assert starts[-1] > 9000


def switching(samples, seed=0):
    rng = np.random.default_rng(seed)
    weights = (rng.random((3, 15)) < 0.4) * rng.uniform(0.5, 3, (3, 15)) + 0.05
    states = np.repeat(rng.integers(3, size=samples // 20), 20)
    return np.asarray(sample_lgmrf(weights[states], random_state=seed))


@pytest.mark.parametrize(
    "options", [{}, {"filter_power": 1, "tails": "gaussian"}, {"tails": 6.0}, {"filter_power": 1.2}]
)
def test_a_search_on_some_ends_where_one_on_all_does(options, monkeypatch):
    x = switching(4000)
    fits = []
    for least in (500, 10**6):
        monkeypatch.setattr(subset, "LEAST", least)
        monkeypatch.setattr(subset, "PER_ATOM_AND_NODE", 1)
        given = {"prior": "markov", "max_active": 1, "n_init": 4, "random_state": 0, **options}
        fits.append(GraphDictMarginal(3, **given).fit(x))
    assert not np.array_equal(fits[0].atoms_, fits[1].atoms_)  # they did not search alike
    # Which edges are worth more than a little may depend on the samples by which they are chosen.
    nearly = 0.01 + (LITTLE * x.shape[1] if options.get("filter_power") == 1.2 else 0)
    assert fits[0].log_likelihood_ == pytest.approx(fits[1].log_likelihood_, abs=nearly)


def test_the_search_is_the_same_wherever_samples_are(monkeypatch, tmp_path):
    monkeypatch.setattr(subset, "LEAST", 500)
    monkeypatch.setattr(subset, "PER_ATOM_AND_NODE", 1)
    x = switching(2000)
    mapped = np.memmap(tmp_path / "signals", dtype=x.dtype, mode="w+", shape=x.shape)
    mapped[:] = x
    models = [GraphDictMarginal(2, max_active=1, random_state=0) for _ in range(2)]
    found = [model.fit(signals).atoms_ for model, signals in zip(models, (x, mapped))]
    assert_allclose(found[0], found[1], rtol=1e-6, atol=1e-9)


def test_few_samples_are_searched_as_they_are():
    x, patterns, rng = switching(400), enumerate_patterns(2, 1), np.random.RandomState(0)
    with (
        open_signals(x, 1, 2) as data,
        subset.open_subset(
            data, patterns, signals=x, recordings=Recordings.single(len(x)), window_size=1, rng=rng
        ) as some,
    ):
        assert some is data
