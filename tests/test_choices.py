"""Settings chosen from data are the ones that were asked for, or that the truth has."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from graphdict import GraphDictLog, GraphDictMarginal
from graphdict.app.commands.choose import _is_superposition
from graphdict.core import graphs
from graphdict.datasets import make_superposition
from graphdict.results import thresholded_atoms
from graphdict.selection import (
    choose_max_active,
    choose_n_atoms,
    choose_penalty,
    densities,
    held_out,
)
from graphdict.selection.folds import HeldOutBlocks, Scores
from graphdict.selection.merging import merged


@pytest.fixture(scope="module")
def data():
    return make_superposition(3, 8, 0.6, 2, 1000, 0, samples_per_graph=20, random_state=4).train


def test_densities_count_edges():
    atoms = np.zeros((2, graphs.n_edges(4)))
    atoms[0, :3] = [1, 0.5, 0.001]  # the last is too weak to count
    assert densities(atoms).tolist() == [2 / 6, 0.0]
    assert densities(atoms, np.array([True, True, True, False]))[0] == 2 / 3


@pytest.mark.parametrize("degree", [2.5, 4.0])
def test_more_sparsity_where_fewer_neighbours_are_wanted(data, degree):
    model = GraphDictMarginal(3, max_active=2, window_size=20, random_state=0)
    choice = choose_penalty(model, data.signals, degree=degree)
    assert choice.name == "sparsity"
    assert choice.reached
    fitted = model.set_params(sparsity=choice.value).fit(data.signals)
    assert densities(fitted.atoms_).mean() * 7 == pytest.approx(degree, rel=0.1)
    by_density = choose_penalty(model, data.signals, density=degree / 7)
    assert by_density.value == choice.value


def test_averaged_atoms_have_the_edges_that_are_probable(data):
    model = GraphDictMarginal(3, max_active=2, window_size=20, average=10, random_state=0)
    choice = choose_penalty(model.set_params(n_init=1), data.signals, degree=3.5)
    assert choice.reached
    fitted = model.set_params(sparsity=choice.value).fit(data.signals)
    assert densities(thresholded_atoms(fitted)).mean() * 7 == pytest.approx(3.5, rel=0.1)


def test_the_log_model_does_not_give_one_graph_as_many(data):
    model = GraphDictLog(3, window_size=20, random_state=0)
    choice = choose_penalty(model, data.signals, density=0.95)
    fitted = model.set_params(alpha_w=choice.value).fit(data.signals)
    unit = fitted.atoms_ / np.linalg.norm(fitted.atoms_, axis=1, keepdims=True)
    assert (unit @ unit.T).min() < 0.96
    assert not choice.reached


@pytest.mark.parametrize(
    "wrong", [{}, {"degree": 2, "density": 0.1}, {"degree": 40}, {"density": 2}]
)
def test_a_degree_or_a_density_that_can_be(data, wrong):
    with pytest.raises(ValueError, match=r"degree|density"):
        choose_penalty(GraphDictMarginal(3), data.signals, **wrong)


@pytest.mark.parametrize("choose", [partial(choose_penalty, degree=2), choose_n_atoms])
def test_signals_that_are_none_are_named(data, choose):
    frame = pd.DataFrame(data.signals, columns=list("abcdefgh")).assign(label="x")
    with pytest.raises(ValueError, match="column 'label' of X holds 'x'"):
        choose(GraphDictMarginal(2), frame)
    with pytest.raises(ValueError, match="2D array"):
        choose(GraphDictMarginal(2), data.signals[0])
    with pytest.raises(ValueError, match=r"X has 0 node\(s\) that vary"):
        choose(GraphDictMarginal(2), np.ones((60, 3)))


def test_columns_without_any_value_do_not_count(data):
    model = GraphDictMarginal(2, n_init=1, max_iter=5, random_state=0)
    some = data.signals[:200]
    plain = choose_penalty(model, some, density=0.4)
    empty = choose_penalty(model, np.column_stack([some, np.full(200, np.nan)]), density=0.4)
    assert (empty.value, empty.density) == (plain.value, plain.density)


def test_how_many_atoms_there_are_and_are_active(data):
    model = GraphDictMarginal(2, max_active=2, window_size=20, random_state=0)
    choice = choose_n_atoms(model, data.signals)
    assert choice.value == 3
    assert choice.scores[3] > choice.scores[2] > choice.scores[1]
    assert choose_max_active(model.set_params(n_atoms=3), data.signals).value == 2
    assert model.get_params()["max_active"] == 2  # the model itself is left alone


def test_only_a_model_that_does_not_fit_what_it_scores_can_tell(data):
    with pytest.raises(ValueError, match="GraphDictMarginal"):
        choose_n_atoms(GraphDictLog(), data.signals)
    with pytest.raises(ValueError, match="at least 5 windows"):
        choose_n_atoms(GraphDictMarginal(window_size=500), data.signals)


@pytest.mark.parametrize("choose", [choose_n_atoms, choose_max_active])
def test_time_gives_the_activations_of_a_hierarchy(data, choose):
    model = GraphDictMarginal(3, prior="hierarchy")
    with pytest.raises(ValueError, match=r'not chosen with prior="hierarchy".*3, 7, 15'):
        choose(model, data.signals)


def fitted(counts):
    """What is asked of a fit: exclusive states, and in how many samples each atom is active."""
    states = np.eye(len(counts))
    return SimpleNamespace(
        atoms_=states, patterns_=states.astype(bool), pattern_probabilities_=states.mean(axis=0),
        coefficients_=np.repeat(states, counts, axis=0), max_active=1, _is_papers_model=False,
    )  # fmt: skip


@pytest.mark.parametrize(("from_merged", "chosen"), [(-1.01, 3), (-1.5, 4)])
def test_what_a_lucky_start_gains_is_no_sign_of_atoms(monkeypatch, from_merged, chosen):
    """Three atoms may do as well as four where they begin at four of which two are merged."""
    scores = {1: -9.0, 2: -5.0, 3: -1.5, 4: -1.0, 5: -1.2, 6: -1.1}
    wiggle = np.linspace(-0.1, 0.1, 10)

    def block_scores(trial, blocks, folds, start=None, cost=1.0, sparse=False):
        count = trial.n_atoms
        assert start is None or len(start.atoms_) == count
        score = scores[count] if start is None or count != 3 else from_merged
        return Scores(score + wiggle * count, fitted([50] * count))

    monkeypatch.setattr(held_out, "block_scores", block_scores)
    blocks = HeldOutBlocks([np.zeros((10, 4))] * 10, 10, np.empty(0), np.zeros(10, dtype=int))
    choice = held_out.choose_by_blocks(GraphDictMarginal(2), blocks, "n_atoms", range(1, 7))
    assert choice.value == chosen


def test_the_two_most_alike_atoms_are_merged_by_how_often_they_hold():
    model = fitted([1, 1, 1])
    model.atoms_ = np.array([[1.0, 0, 0], [0, 1, 0.1], [0, 2, 0.1]])
    model.pattern_probabilities_ = np.array([0.6, 0.1, 0.3])
    start = merged(model)
    np.testing.assert_allclose(start.atoms_, [[1, 0, 0], [0, 1.75, 0.1]])
    np.testing.assert_allclose(start.pattern_probabilities_, [0.6, 0.4])
    assert start.patterns_.tolist() == np.eye(2, dtype=bool).tolist()
    assert len(model.atoms_) == 3
    model.patterns_ = np.array([[1, 1, 0], [1, 0, 1], [0, 1, 1]], dtype=bool)
    assert merged(model) is None  # not exclusive


def test_atoms_with_fewer_samples_than_nodes_end_the_search(monkeypatch):
    def block_scores(trial, blocks, folds, start=None, cost=1.0, sparse=False):
        counts = [50] * (trial.n_atoms - 1) + [50 if trial.n_atoms < 4 else 3]
        return Scores(np.full(10, float(trial.n_atoms)), fitted(counts))

    monkeypatch.setattr(held_out, "block_scores", block_scores)
    blocks = HeldOutBlocks([np.zeros((10, 4))] * 10, 10, np.empty(0), np.zeros(10, dtype=int))
    choice = held_out.choose_by_blocks(GraphDictMarginal(2), blocks, "n_atoms", range(1, 9))
    assert list(choice.scores) == [1, 2, 3]
    assert choice.value == 3


@pytest.mark.parametrize(
    ("sets", "superposed"),
    [
        ([[1, 1, 0], [1, 0, 1], [0, 1, 1]], True),  # two of three
        ([[1, 0, 0], [0, 1, 0], [0, 0, 1]], False),  # one at a time
        ([[1, 1, 0], [0, 0, 1]], False),  # two states
        ([[1, 1, 0], [1, 0, 1], [1, 0, 0]], False),  # one is always active
    ],
)
def test_superpositions_are_told_from_states(sets, superposed):
    coefficients = np.repeat(np.array(sets, dtype=float), 20, axis=0)
    assert _is_superposition(SimpleNamespace(coefficients_=coefficients), 2) == superposed


@pytest.mark.parametrize(("active", "sparse"), [(1, False), (2, True), (None, True)])
def test_sets_of_atoms_are_told_from_states_by_sparse_graphs(monkeypatch, active, sparse):
    given = []

    def block_scores(trial, blocks, folds, cost, sparse):
        given.append(sparse)
        return Scores(np.zeros(len(blocks.pieces)), fitted([50] * trial.n_atoms))

    monkeypatch.setattr(held_out, "block_scores", block_scores)
    model = GraphDictMarginal(max_active=active)
    choose_n_atoms(model, np.random.default_rng(0).normal(size=(200, 4)), [1, 2])
    assert given == [sparse, sparse]
