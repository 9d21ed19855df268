"""Settings chosen from data are the ones that were asked for, or that the truth has."""

from functools import partial

import numpy as np
import pandas as pd
import pytest

from graphdict import GraphDictLog, GraphDictMarginal
from graphdict.core import graphs
from graphdict.datasets import make_superposition
from graphdict.results import thresholded_atoms
from graphdict.selection import choose_max_active, choose_n_atoms, choose_penalty, densities


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
