"""Instantaneous graphs: lazy mixtures and their exports."""

import re
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from graphdict import GraphDictLog
from graphdict.core import graphs
from graphdict.core.pictures import graphs_html
from graphdict.results import InstantaneousGraphs
from graphdict.selection.signal_sentences import describe_signals

rng = np.random.default_rng(0)
COEFFICIENTS = rng.uniform(size=(8, 3))
ATOMS = rng.uniform(size=(3, 6)) * (rng.random((3, 6)) < 0.6)


@pytest.fixture
def found():
    return InstantaneousGraphs(COEFFICIENTS, ATOMS, ["a", "b", "c", "d"])


def test_arrays_are_those_of_the_mixture(found):
    mixed = np.array([sum(c * w for c, w in zip(row, ATOMS)) for row in COEFFICIENTS])
    assert_allclose(found.weights, mixed)
    assert_allclose(found.laplacians, graphs.laplacian(mixed))
    assert_allclose(found.adjacencies, graphs.adjacency(mixed))
    assert_allclose(found.degrees, graphs.degrees(mixed))
    assert len(found) == 8
    assert "8 samples, 4 nodes" in repr(found)


@pytest.mark.parametrize(
    "index", [3, -1, slice(2, 5), slice(None, None, -2), [0, 0, 7], np.arange(8) % 2 == 0]
)
def test_indexing_selects_samples(found, index):
    part = found[index]
    assert_allclose(part.weights, np.atleast_2d(found.weights[index]))
    assert part.node_names == found.node_names
    assert part.atoms is found.atoms


def test_empty_selections_and_iteration(found):
    assert found[2:2].weights.shape == (0, 6)
    assert found[2:2].to_pandas().empty
    assert [len(graph) for graph in found] == [1] * 8
    with pytest.raises(IndexError):
        found[8]


def test_exports_agree_with_the_weights(found):
    threshold = 0.2
    matrices = found.to_sparse(threshold)
    networks = found.to_networkx(threshold)
    table = found.to_pandas(threshold)
    for t in range(8):
        dense = found.adjacencies[t] * (found.adjacencies[t] > threshold)
        assert_allclose(matrices[t].toarray(), dense)
        network = nx.to_numpy_array(networks[t], nodelist=found.node_names)
        assert_allclose(network, dense)
        rows = table[table["sample"] == t]
        assert_allclose(sorted(rows["weight"]), sorted(dense[np.triu_indices(4, 1)][
            dense[np.triu_indices(4, 1)] > 0]))  # fmt: skip
    edge = table.iloc[0]
    i, j = found.node_names.index(edge["source"]), found.node_names.index(edge["target"])
    assert i < j
    assert edge["weight"] == pytest.approx(found.adjacencies[edge["sample"], i, j])


def test_one_sample_is_one_network_with_all_nodes(found):
    network = found[2].to_networkx(threshold=1e9)
    assert isinstance(network, nx.Graph)
    assert list(network.nodes) == ["a", "b", "c", "d"]
    assert network.number_of_edges() == 0


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="2 columns but there are 3 atoms"):
        InstantaneousGraphs(COEFFICIENTS[:, :2], ATOMS)
    with pytest.raises(ValueError, match="3 node names for 4 nodes"):
        InstantaneousGraphs(COEFFICIENTS, ATOMS, ["a", "b", "c"])
    with pytest.raises(ValueError, match="got 5"):
        InstantaneousGraphs(COEFFICIENTS, ATOMS[:, :5])


def test_models_hand_out_training_or_new_graphs():
    X = rng.standard_normal((30, 5))
    model = GraphDictLog(2, max_iter=30, random_state=0).fit(X)
    assert_allclose(model.instantaneous_graphs().weights, model.coefficients_ @ model.atoms_)
    assert_allclose(
        model.instantaneous_graphs(X[:4]).weights, model.transform(X[:4]) @ model.atoms_
    )
    assert_array_equal(model.instantaneous_graphs().node_names, model.node_names)


def test_notebooks_show_the_first_graphs_and_say_how_many_are_left():
    graphs = InstantaneousGraphs(
        np.tile([[1.0], [0.0]], (10, 1)), [[1.0, 0.5, 0.0]], node_names=["<a>", "b", "c"]
    )
    shown = graphs._repr_html_()
    assert shown.count("<svg") == 12
    assert "8 more" in shown
    assert shown.count("<path") == 2 * 6  # two edges in every other sample
    assert 'stroke-width="4.00"' in shown
    assert 'stroke-width="2.00"' in shown
    assert "&lt;a&gt;" in shown
    assert "<a>" not in shown
    assert "no atom" in shown


def test_notebooks_colour_graphs_by_their_atom():
    atoms = np.eye(3)
    graphs = InstantaneousGraphs([[0.0, 1.0, 0.0], [0.0, 0.25, 0.0], [0.5, 0.25, 0.0]], atoms)
    first, second, mixed = re.findall(r'<g stroke="(.*?)"', graphs._repr_html_())
    of_atoms = re.findall(r'<g stroke="(.*?)"', graphs_html(atoms, "abc", "012", ""))
    assert first == second == of_atoms[1]
    assert mixed != first
    assert "sample 2: 0.50 × atom 1 + 0.25 × atom 2<" in graphs._repr_html_()  # noqa: RUF001
    assert "Instantaneous graphs: 1 sample," in graphs[0]._repr_html_()


@pytest.mark.parametrize(
    ("spread", "said"), [(0.5, "Some samples are louder than others"), (0.02, "about as loud as")]
)
def test_loudness_is_only_told_where_it_varies(spread, said):
    gains = np.exp(spread * np.random.default_rng(0).standard_normal(200))
    model = SimpleNamespace(filter_power_=1.0, filter_="power", tails_=60.0, gains_=gains)
    sentence = describe_signals(model)[1]
    assert said in sentence
    assert sentence.endswith("(Student t with 60 degrees of freedom).")
