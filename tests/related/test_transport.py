"""Graphs whose nodes do not match: through POT, and what the paper of it claims."""

import sys

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from graphdict.core import graphs
from graphdict.exceptions import MissingExtraError
from graphdict.related import GromovWassersteinDictionary

pytest.importorskip("ot")


def block_graphs(count, rng):
    """Return graphs of 12 to 18 nodes in one, two or three blocks, nodes in random order."""
    found, kinds = [], []
    for index in range(count):
        blocks, nodes = index % 3 + 1, int(rng.integers(12, 19))
        block = np.arange(nodes) % blocks
        chances = np.where(block[:, None] == block, 0.9, 0.05)
        upper = np.triu(rng.random((nodes, nodes)) < chances, 1).astype(float)
        order = rng.permutation(nodes)
        found.append((upper + upper.T)[np.ix_(order, order)])
        kinds.append(blocks)
    return found, np.array(kinds)


@pytest.fixture(scope="module")
def fitted():
    given, kinds = block_graphs(24, np.random.default_rng(0))
    model = GromovWassersteinDictionary(3, n_nodes=6, epochs=12, random_state=0).fit(given)
    return model, given, kinds


def test_coefficients_tell_kinds_of_graphs_apart(fitted):
    """Vincent-Cuaz et al. 2021: graphs of one, two, three blocks separate by coefficients."""
    model, _, kinds = fitted
    labels = KMeans(3, n_init=10, random_state=0).fit_predict(model.coefficients_)
    assert adjusted_rand_score(kinds, labels) > 0.8
    new, new_kinds = block_graphs(12, np.random.default_rng(1))
    found = (
        KMeans(3, n_init=10, random_state=0).fit(model.coefficients_).predict(model.transform(new))
    )
    assert adjusted_rand_score(new_kinds, found) > 0.8


def test_numbering_nodes_anew_changes_nothing(fitted):
    model, given, _ = fitted
    order = np.random.default_rng(2).permutation(len(given[2]))
    other = given[2][np.ix_(order, order)]
    both = model.transform([given[2], other])
    np.testing.assert_allclose(both[0], both[1], atol=0.1)


def test_shapes_and_simplex(fitted):
    model, given, _ = fitted
    assert model.atoms_.shape == (3, graphs.n_edges(6))
    assert (model.atoms_ >= 0).all()
    assert (model.coefficients_ >= 0).all()
    np.testing.assert_allclose(model.coefficients_.sum(axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(model.transform(given), model.coefficients_, atol=1e-6)
    assert model.score(given) == pytest.approx(-model.objective_)
    vectors = [graphs.adjacency_to_weights(graph) for graph in given[:2]]
    np.testing.assert_allclose(model.transform(vectors), model.coefficients_[:2], atol=1e-6)


def test_without_pot_its_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ot.gromov", None)
    monkeypatch.setitem(sys.modules, "ot", None)
    with pytest.raises(MissingExtraError, match=r'POT.*"graphdict\[ot\]"'):
        GromovWassersteinDictionary(2).fit([np.ones(3), np.ones(3)])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "at least one graph"),
        ([np.ones((2, 3))], "as many rows as columns"),
        ([np.ones(4)], "1, 3, 6, 10"),
        ([np.ones(3), -np.ones(3)], "must not be negative"),
    ],
)
def test_what_is_no_graph_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        GromovWassersteinDictionary(2).fit(given)
