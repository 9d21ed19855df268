"""Preparation of signals: silent nodes, common mean, one scale."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from graphdict.core import graphs
from graphdict.core.term_group import TermGroup
from graphdict.core.terms import L1, base
from graphdict.engine.signals import Preparation, PriorOnAllNodes
from graphdict.exceptions import LevelWarning, SilentNodeWarning

rng = np.random.default_rng(0)
X = rng.standard_normal((30, 5)) + 3
NAMES = np.array([f"x{i}" for i in range(5)], dtype=object)


@pytest.mark.parametrize("unit", [1e-300, 1e-6, 1.0, 1e6, 1e300])
def test_prepared_signals_have_zero_mean_over_nodes_and_unit_size(unit):
    preparation, mean_square = Preparation.learn(X * unit, NAMES, True)
    found = preparation.apply(X * unit)
    assert_allclose(found.mean(axis=1), 0, atol=1e-12)
    assert np.mean(found**2) == pytest.approx(mean_square) == 1
    centred = X - X.mean(axis=1, keepdims=True)
    assert preparation.scale == pytest.approx(np.sqrt(np.mean(centred**2)) * unit)


def test_without_rescaling_only_the_mean_goes():
    found, mean_square = Preparation.learn(X, NAMES, False)
    assert found.scale == 1
    assert_allclose(found.apply(X), X - X.mean(axis=1, keepdims=True))
    assert mean_square == pytest.approx(np.mean(found.apply(X) ** 2))


def test_rounding_is_not_blown_up_where_all_nodes_agree():
    alike = np.repeat(X[:, :1], 5, axis=1)
    found, _ = Preparation.learn(alike, NAMES, True)
    assert found.scale == 1
    assert np.abs(found.apply(alike)).max() < 1e-14


def test_input_is_not_changed_and_precision_kept():
    single = X.astype(np.float32)
    before = single.copy()
    preparation, _ = Preparation.learn(single, NAMES, True)
    assert preparation.apply(single).dtype == np.float32
    assert_array_equal(single, before)


def test_silent_nodes_are_set_aside_by_name():
    quiet = X.copy()
    quiet[:, [1, 4]] = 2.0
    with pytest.warns(SilentNodeWarning, match=r"2 node\(s\) never vary .*x1, x4"):
        preparation, _ = Preparation.learn(quiet, NAMES, True)
    assert_array_equal(preparation.active, [True, False, True, True, False])
    assert preparation.apply(quiet).shape == (30, 3)


def test_long_lists_of_silent_nodes_are_cut():
    many = np.zeros((10, 12))
    many[:, :2] = rng.standard_normal((10, 2))
    names = np.array([f"n{i}" for i in range(12)], dtype=object)
    with pytest.warns(SilentNodeWarning, match="n2, n3, n4, n5, n6 and 5 more"):
        Preparation.learn(many, names, True)


@pytest.mark.parametrize("live", [0, 1])
def test_fewer_than_two_live_nodes_are_refused(live):
    dull = np.ones((10, 4))
    dull[:, :live] = rng.standard_normal((10, live))
    with pytest.raises(ValueError, match=rf"X has {live} node\(s\) that vary over its 10 samples"):
        Preparation.learn(dull, NAMES[:4], True)


def test_embedding_and_restriction():
    active = np.array([True, False, True, True])
    preparation = Preparation(active, 1.0)
    weights = rng.uniform(size=(2, 3))
    whole = preparation.embed(weights)
    assert whole.shape == (2, 6)
    assert_array_equal(preparation.restrict(whole), weights)
    assert_array_equal(graphs.degrees(whole)[:, 1], 0)
    assert_array_equal(graphs.adjacency(whole)[:, 0, 2], weights[:, 0])
    everything = Preparation(np.ones(4, dtype=bool), 1.0)
    assert_array_equal(everything.embed(whole), whole)


def test_columns_at_different_levels_are_pointed_out():
    rng = np.random.default_rng(0)
    signals = rng.standard_normal((50, 4))
    levels = np.array([20.0, 1013.0, 1500.0, 7.0])
    names = np.array(list("abcd"), dtype=object)
    with pytest.warns(LevelWarning, match="StandardScaler"):
        Preparation.learn(signals + levels, names, True)
    Preparation.learn(signals + 1013.0, names, True)  # one level for all is nothing to speak of
    Preparation.learn(1e300 * signals, names, True)


class NoEdges:
    interval = (0.0, 0.0)

    def value(self, atoms):
        return 0.0 if not atoms.any() else np.inf

    def prox(self, atoms, step):
        return np.zeros_like(atoms)


SOME_NODES = Preparation(np.array([True, False, True, True]), 1.0)


@pytest.mark.parametrize("marker", ["interval", *base.MARKERS])
def test_a_prior_over_all_nodes_keeps_what_it_says_of_itself(marker):
    said = type("Marked", (NoEdges,), dict.fromkeys(base.MARKERS, False) | {marker: True})()
    assert getattr(PriorOnAllNodes(said, SOME_NODES), marker) is True


def test_a_prior_over_all_nodes_is_kept_whole_where_it_says_so():
    whole = type("Whole", (L1,), {"never_split": True, "elementwise": False})(0.1)
    wrapped = PriorOnAllNodes(whole, SOME_NODES)
    group = TermGroup([L1(0.2), wrapped])
    assert group.direct == (wrapped,)
    assert [term.alpha for term in group.split] == [0.2]
