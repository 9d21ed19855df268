"""Choices by held-out blocks of time: what atoms share, edges that go, passes by halves."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import adjusted_rand_score

from graphdict import GraphDictMarginal
from graphdict.core import graphs
from graphdict.core.marginal.dictionary import PatternDictionary
from graphdict.core.marginal.filtered import FilteredLikelihood
from graphdict.core.marginal.filtered_graphs import PooledSamples
from graphdict.core.marginal.filters import PowerFilter
from graphdict.core.marginal.likelihood import NOISE
from graphdict.datasets import make_superposition, sample_lgmrf
from graphdict.engine import executor
from graphdict.engine.marginal.filtered_em import FilteredEM, filtered_likelihood
from graphdict.engine.marginal.held_out import choose_pool, held_out_evidence
from graphdict.engine.marginal.model_choice import explains_as_well, with_states
from graphdict.engine.marginal.passes import (
    e_step,
    e_step_by_halves,
    evidence_by_segment,
    thue_morse_numbers,
)
from graphdict.engine.marginal.sample_values import log_evidence_of
from graphdict.engine.marginal.samples import open_signals
from graphdict.engine.marginal.settings import Settings
from graphdict.exceptions import DeadAtomWarning
from graphdict.metrics import edge_scores
from graphdict.selection import describe_findings, stability

NODES, SAMPLES = 8, 800
EDGES = graphs.n_edges(NODES)


def weights_of(seed, atoms=2):
    return np.random.default_rng(seed).uniform(0.1, 2, (atoms, EDGES))


def signals_of(weights, states, power, seed, tails=np.inf):
    """Draw a signal with precision ``L^power`` of the weights (K, E) of its state."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((len(states), NODES))
    for state, row in enumerate(weights):
        values, vectors = np.linalg.eigh(graphs.laplacian(row))
        roots = np.where(values > 1e-9, np.maximum(values, 1e-9) ** (-power / 2), 0)
        x[states == state] = x[states == state] @ (vectors * roots) @ vectors.T
    if np.isfinite(tails):
        x /= np.sqrt(rng.gamma(tails / 2, 2 / tails, (len(x), 1)))
    return x


def dictionary_of(weights, x, **options):
    patterns = np.eye(len(weights), dtype=bool)
    noise = NOISE * float(np.square(x).mean())
    likelihood = FilteredLikelihood.of(patterns, weights, noise, **options)
    return PatternDictionary(likelihood, weights, np.full(len(weights), 1 / len(weights)))


@pytest.mark.parametrize("window", [1, 7])
@pytest.mark.parametrize("stay", [None, 0.8])
def test_halves_and_blocks_add_up_to_the_whole(window, stay):
    weights = weights_of(0)
    x = signals_of(weights, np.zeros(403, dtype=int), 2.0, 1)
    dictionary = dictionary_of(weights, x, filter=PowerFilter(2.0), tails=5.0)
    dictionary = replace(dictionary, stay=stay)
    with open_signals(x, window, 2) as data:
        expected = e_step(data, dictionary)
        halves = e_step_by_halves(data, dictionary, 6)
        blocks = evidence_by_segment(data, dictionary, 6)
        by_half = [evidence_by_segment(data, dictionary, 6, half) for half in (0, 1)]
        values = log_evidence_of(data, dictionary)
    assert_allclose(sum(usage for usage, _ in halves) * len(x), expected.usage)
    for index, sums in enumerate(expected.statistics):
        assert_allclose(sum(statistics[index] for _, statistics in halves) * len(x), sums)
    assert_allclose(blocks.sum(), expected.log_evidence)
    windows = np.arange(len(x)) // window
    places = windows * 6 // (windows[-1] + 1)
    places = places if window == 1 else thue_morse_numbers(6)[places]
    assert_allclose(blocks, np.bincount(places, weights=values))
    for half, found in enumerate(by_half):
        assert_allclose(found[half::2], blocks[half::2])


def test_sums_along_a_chain_in_many_blocks_are_those_in_one(monkeypatch):
    weights = weights_of(8)
    states = np.arange(600) // 50 % 2
    x = signals_of(weights, states, 2.0, 9)
    dictionary = dictionary_of(weights, x, filter=PowerFilter(2.0), tails=5.0)
    dictionary = replace(dictionary, stay=0.9)
    found = []
    for size in (executor.BLOCK_BYTES, 1 << 12):
        monkeypatch.setattr(executor, "BLOCK_BYTES", size)
        with open_signals(x, 1, 2) as data:
            assert data.in_one_block == (size > 1 << 12)
            found.append(e_step(data, dictionary))
    assert_allclose(found[0].log_evidence, found[1].log_evidence)
    for single_graph, other in zip(found[0].statistics, found[1].statistics, strict=True):
        assert_allclose(single_graph, other, rtol=1e-9)


def test_plain_atoms_of_the_states_of_another_fit_are_as_good_as_those_of_a_search():
    weights = np.stack([weights_of(10)[0], 6 * weights_of(11)[0]])
    states = np.random.default_rng(12).integers(2, size=SAMPLES)
    x = signals_of(weights, states, 1.0, 13)
    other = dictionary_of(weights, x, filter=PowerFilter(1.3), tails=20.0)
    with open_signals(x, 1, 2) as data:
        em = FilteredEM(data, filtered_likelihood(other).noise, Settings())
        plain = with_states(em, other)
        fitted = em.run(plain, 60, 8)
        best = em.run(dictionary_of(weights, x), 60, 8)
        other = em.run(other, 60, 8).dictionary
        useless = dictionary_of(np.ones_like(weights), x)
        assert explains_as_well(em, [useless, plain], other)
        assert explains_as_well(em, [plain, useless], other)
    assert filtered_likelihood(plain).filter == PowerFilter(1.0)
    assert np.isinf(filtered_likelihood(plain).tails)
    assert fitted.objective == pytest.approx(best.objective, abs=0.01)


def pooled_for(weights, seed):
    """Return the pooled samples for each dimension chosen for two states with given weights."""
    states = np.random.default_rng(seed).integers(2, size=SAMPLES)
    x = signals_of(weights, states, 2.0, seed)
    dictionary = dictionary_of(weights, x, filter=PowerFilter(2.0))
    moments = np.eye(NODES - 1)
    likelihood = replace(filtered_likelihood(dictionary), pool=PooledSamples(moments, 0.0))
    with open_signals(x, 1, 2) as data:
        em = FilteredEM(data, filtered_likelihood(dictionary).noise, Settings())
        single_graph = dictionary_of(weights[:1], x, filter=PowerFilter(2.0))
        given = replace(dictionary, likelihood=likelihood), single_graph, np.random.RandomState(0)
        found, several = choose_pool(em, *given)
        assert several  # where windows are single samples it is not asked
    return filtered_likelihood(found).pool.share * SAMPLES / (NODES - 1)


def test_atoms_have_the_more_in_common_the_more_alike_states_are():
    single_graph, two = weights_of(2)
    alike, unlike = (
        np.stack([single_graph, single_graph * 1.02]),
        np.stack([single_graph**2, 5 * two**2]),
    )
    assert pooled_for(alike, 3) > pooled_for(unlike, 3)


@pytest.mark.parametrize("prior", ["independent", "markov"])
def test_windows_of_one_graph_have_one_graph_however_many_are_asked_for(prior):
    x = signals_of(weights_of(10, 1), np.zeros(1600, dtype=int), 2.0, 11, tails=5.0)
    given = {"prior": prior, "max_active": 1, "window_size": 40, "n_init": 2, "random_state": 0}
    with pytest.warns(DeadAtomWarning, match="all 3 atoms are one graph"):
        model = GraphDictMarginal(3, **given).fit(x[:1200])
    single = GraphDictMarginal(1, **given).fit(x[:1200])
    assert_allclose(model.atoms_, np.repeat(single.atoms_, 3, axis=0))
    assert_allclose(model.score(x[1200:]), single.score(x[1200:]))
    assert_allclose(model.edge_confidence_[0], single.edge_confidence_[0])
    graphs_now = model.instantaneous_graphs().weights
    assert_allclose(graphs_now, np.repeat(single.atoms_, 1200, axis=0))
    assert describe_findings(model)[0].startswith("One graph was learned: all 3 atoms are")
    assert_allclose(model.coefficients_, np.repeat(np.eye(1, 3), 1200, axis=0), atol=1e-200)
    assert_allclose(model.transform(x[:1200]), model.coefficients_, atol=1e-200)


@pytest.mark.parametrize("count", range(1, 41))
def test_halves_of_windows_follow_no_rhythm(count):
    numbers = thue_morse_numbers(count)
    assert sorted(numbers) == list(range(count))
    for period in (2, 4, 8, 16):
        states = np.arange(count) % period >= period / 2
        first = states[numbers % 2 == 0].mean()
        assert count < 2 * period or 0.2 < first < 0.8


@pytest.mark.parametrize("turns", [20, 60, 10])  # as many as there are blocks, or not
@pytest.mark.parametrize("n_atoms", [2, 3])
def test_windows_of_two_graphs_that_take_turns_have_several(turns, n_atoms):
    weights, states = weights_of(12) ** 2, np.arange(1200) * turns // 1200 % 2
    x = signals_of(weights, states, 2.0, 13, tails=5.0)
    given = {"max_active": 1, "window_size": 20, "n_init": 2, "random_state": 0}
    found = GraphDictMarginal(n_atoms, **given).fit(x).coefficients_.argmax(axis=1)
    assert n_atoms == 3 or adjusted_rand_score(states, found) == 1
    assert all(len(np.unique(states[found == state])) == 1 for state in np.unique(found))


def test_whether_one_graph_would_do_is_asked_anew_where_one_was_learned():
    x = signals_of(weights_of(10, 1), np.zeros(1200, dtype=int), 2.0, 11, tails=5.0)
    model = GraphDictMarginal(3, max_active=1, window_size=40, n_init=2, random_state=0)
    with pytest.warns(DeadAtomWarning):
        model.fit(x)
    assert stability(model, x).halves.min() > 0.9


def test_evidence_is_that_of_samples_that_atoms_have_not_seen():
    weights = weights_of(4, 1)
    x = signals_of(weights, np.zeros(160, dtype=int), 2.0, 5)
    dictionary = dictionary_of(weights, x, filter=PowerFilter(2.0))
    with open_signals(x, 1, 1) as data:
        em = FilteredEM(data, filtered_likelihood(dictionary).noise, Settings())
        fitted = em.run(dictionary, 30, 10)
        judged = held_out_evidence(em, fitted.dictionary)
    assert judged.total / len(x) < fitted.log_likelihood
    first, second = judged.atoms
    assert np.abs(first - second).max() > 0.01 * first.max()
    assert judged.is_clearly_better_than(judged._replace(evidence=judged.evidence - 1))
    assert not judged.is_clearly_better_than(judged)


def test_more_atoms_than_states_and_edges_that_go_cost_little_on_new_samples():
    weights = weights_of(6, 1)
    states = np.zeros(2 * SAMPLES, dtype=int)
    x = signals_of(weights, states, 2.0, 7, tails=5.0)
    given = {"max_active": 1, "n_init": 2, "random_state": 0}
    models = [
        GraphDictMarginal(1, sparsity=0, **given), GraphDictMarginal(1, **given),
        GraphDictMarginal(3, **given),
    ]  # fmt: skip
    dense, sparse, several = (model.fit(x[:SAMPLES]).score(x[SAMPLES:]) for model in models)
    assert sparse > dense - 0.02
    assert several > dense - 0.1


@pytest.mark.parametrize(("power", "tails"), [(1.0, 6.0), (2.5, np.inf)])
def test_edges_of_noise_go_where_graphs_are_sparse(power, tails):
    """A half of the samples shows fewer edges than all do, and is not to speak for them."""
    rng = np.random.default_rng(15)
    edges = 14 * 13 // 2
    weights = (rng.random((2, edges)) < 0.2) * rng.uniform(0.3, 2, (2, edges))
    states = rng.integers(2, size=1600)
    given = None if np.isinf(tails) else tails
    x = sample_lgmrf(weights[states], filter=power, tails=given, random_state=16)
    model = GraphDictMarginal(2, max_active=1, n_init=4, random_state=0).fit(x)
    assert model.filter_power_ == pytest.approx(power, abs=0.1)
    found = model.instantaneous_graphs().weights
    assert edge_scores(weights[states], found).mcc.mean() > 0.9
    assert 0.85 < (model.atoms_ > 0).sum() / (weights > 0).sum() < 1.15


@pytest.mark.parametrize("seed", range(3))
def test_steep_powers_are_found_where_weights_settle_slowly(seed):
    """Chains of nodes have spectra over four decades, which few steps of a descent do not fit."""
    rng = np.random.default_rng(seed)
    chains = np.zeros((2, 20, 20))
    for chain in chains:
        order = rng.permutation(20)
        chain[order[:-1], order[1:]] = chain[order[1:], order[:-1]] = 1
    atoms = graphs.adjacency_to_weights(chains)
    states = rng.integers(2, size=1500)
    x = sample_lgmrf(atoms[states], random_state=seed, filter=3.0)
    model = GraphDictMarginal(2, max_active=1, n_init=4, random_state=0).fit(x)
    assert model.filter_power_ == pytest.approx(3, abs=0.1)
    assert edge_scores(atoms[states], model.instantaneous_graphs(x).weights).mcc.mean() > 0.85


def test_graphs_that_fall_apart_have_a_steep_power():
    data = make_superposition(
        3, 20, 0.12, superposition=1, n_train=1500, random_state=0, filter=3.0
    ).train
    model = GraphDictMarginal(3, max_active=1, n_init=4, random_state=0).fit(data.signals)
    assert model.filter_power_ == pytest.approx(3, abs=0.15)
    assert (
        edge_scores(data.weights, model.instantaneous_graphs(data.signals).weights).mcc.mean()
        > 0.85
    )
