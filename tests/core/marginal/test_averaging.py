"""Draws of atoms: exact conditionals, the right long-run average, and what a model makes of it."""

from itertools import product

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal

from graphdict import GraphDictMarginal, load_model, native
from graphdict.core import graphs
from graphdict.core.marginal.dictionary import PatternDictionary
from graphdict.core.marginal.likelihood import GaussianLikelihood
from graphdict.core.marginal.patterns import enumerate_patterns, uniform_probabilities
from graphdict.datasets import make_superposition
from graphdict.engine.marginal.averaging import COMMON, WeightLevels
from graphdict.exceptions import InterruptedFitWarning
from graphdict.metrics import edge_scores, match_atoms

NODES = 5
EDGES = graphs.n_edges(NODES)


def make_dictionary(atoms, activations=1):
    patterns = enumerate_patterns(len(atoms), len(atoms), activations)
    likelihood = GaussianLikelihood.of(patterns, atoms)
    return PatternDictionary(likelihood, atoms, uniform_probabilities(patterns))


def draw_atoms(dictionary, usage, distances, levels, counts, rng):
    return dictionary.likelihood.draw_atoms(
        dictionary.atoms, (distances,), usage,
        levels=levels.values, log_prior=levels.log_prior(counts), rng=rng,
    )  # fmt: skip


def log_posterior(dictionary, atoms, usage, distances, levels, prior):
    """Of atoms on the levels, up to a constant, by log-determinants from scratch."""
    fit = usage @ dictionary.likelihood.log_determinants(atoms) - (atoms * distances).sum()
    where = np.abs(atoms[..., None] - levels.values).argmin(axis=-1)
    return fit / 2 + prior[where][atoms > 0].sum()


@pytest.fixture(name="setting", params=[1, 2])
def some_setting(request):
    rng = np.random.default_rng(0)
    dictionary = make_dictionary(rng.uniform(0.1, 2, (3, EDGES)), request.param)
    usage = rng.uniform(1, 6, len(dictionary.patterns))
    distances = rng.uniform(2, 20, (3, EDGES))
    levels = WeightLevels.of(dictionary.atoms)
    mass = levels.initial_shares() * dictionary.atoms.size
    return dictionary, usage, distances, levels, mass


def test_levels_reach_the_largest_weight():
    atoms = np.array([[0.0, 0.1, 0.1, 0.1, 1.0, 50.0, 0.1, 0.1, 0.1, 0.1]])
    levels = WeightLevels.of(atoms)
    assert_array_equal(levels.values, np.sort(levels.values))
    assert levels.values[-1] >= 50
    assert levels.values[0] > 0
    mass = np.arange(len(levels.values), dtype=float)
    prior = np.exp(levels.log_prior(mass))
    assert_allclose(prior.sum(), 1)
    assert np.ptp(prior[1 : COMMON + 1]) < 1e-15
    assert_allclose(levels.initial_shares().sum(), 1, atol=0.02)


def test_the_last_weight_follows_its_conditional(setting):
    dictionary, usage, distances, levels, mass = setting
    order = np.random.RandomState(4).permutation(np.flatnonzero(dictionary.atoms))
    drawn, means, edges, found = draw_atoms(
        dictionary, usage, distances, levels, mass, np.random.RandomState(4)
    )
    last = np.unravel_index(order[-1], drawn.shape)
    prior, values = levels.log_prior(mass), []
    for value in levels.values:
        atoms = drawn.copy()
        atoms[last] = value
        values.append(log_posterior(dictionary, atoms, usage, distances, levels, prior))
    density = np.exp(np.array(values) - max(values))
    density /= density.sum()
    assert_allclose(means[last], density @ levels.values, rtol=1e-6)
    assert_allclose(edges[last], 1 - density[0], rtol=1e-6)
    assert_allclose(found.sum(), drawn.size)
    assert np.isin(drawn, levels.values).all()


def test_a_round_is_one_weight_after_the_other(setting):
    dictionary, usage, distances, levels, mass = setting
    rng = np.random.RandomState(5)
    order = rng.permutation(np.flatnonzero(dictionary.atoms))
    chances, prior = rng.random_sample(len(order)), levels.log_prior(mass)
    atoms, expected, total = dictionary.atoms.copy(), np.zeros((3, EDGES)), np.zeros(len(prior))
    for place, chance in zip(order, chances):
        atom, edge = np.unravel_index(place, atoms.shape)
        fits = []
        for value in levels.values:
            atoms[atom, edge] = value
            determinants = dictionary.likelihood.log_determinants(atoms)
            fits.append((usage @ determinants - value * distances[atom, edge]) / 2)
        density = np.exp(fits + prior - np.max(fits + prior))
        density /= density.sum()
        total += density
        expected[atom, edge] = density @ levels.values
        atoms[atom, edge] = levels.values[np.searchsorted(density.cumsum(), chance)]
    given = dictionary, usage, np.asfortranarray(distances), levels, mass
    drawn, means, _, found = draw_atoms(*given, np.random.RandomState(5))
    assert_array_equal(drawn, atoms)
    assert_allclose(means, expected, rtol=1e-9)
    assert_allclose(found, total, rtol=1e-9)


def test_shapes_that_do_not_fit_are_refused():
    atoms, square, levels = np.ones((2, 3)), np.ones((1, 3, 3)), np.ones(4)
    order, chance, both = np.array([0, 5]), np.array([0.1, 0.9]), np.ones((1, 2))
    good = {
        "atoms": atoms.copy(), "inverses": square, "patterns": both, "usage": np.ones(1),
        "distances": atoms, "values": levels, "prior": levels, "order": order, "chance": chance,
        "means": atoms.copy(), "edges": atoms.copy(), "mass": levels.copy(),
    }  # fmt: skip
    groups = {
        "fit": ("patterns", "usage", "distances"), "levels": ("values", "prior"),
        "order": ("order", "chance"), "found": ("means", "edges", "mass"),
    }  # fmt: skip

    def draw(**changed):
        given = {**good, **changed}
        grouped = {name: tuple(given[part] for part in parts) for name, parts in groups.items()}
        native.draw_weights(given["atoms"], given["inverses"], **grouped)

    draw()
    bad = {
        "atoms": np.ones((2, 4)), "inverses": np.ones((1, 3, 4)), "patterns": both[:, :1],
        "usage": np.ones(2), "distances": np.ones((3, 3)), "values": np.empty(0),
        "prior": np.ones(3), "order": np.array([0, 6]),
        "means": np.ones((2, 2)), "edges": np.ones((1, 3)), "mass": np.ones(5),
    }  # fmt: skip
    for name, value in bad.items():
        with pytest.raises(ValueError, match=name):
            draw(**{name: value})
    with pytest.raises(ValueError, match="order"):
        draw(order=np.array([-1, 0]))
    with pytest.raises(ValueError, match="uniforms"):
        draw(chance=np.ones(1))
    draw(order=np.empty(0, dtype=np.intp), chance=np.empty(0))


def test_long_averages_are_those_of_the_posterior():
    rng = np.random.RandomState(0)
    dictionary = make_dictionary(np.array([[0.5, 1.0, 0.8]]))
    usage, distances = np.array([6.0]), np.array([[3.0, 9.0, 30.0]])
    levels = WeightLevels.of(dictionary.atoms)
    mass = 3 * levels.initial_shares()
    prior = levels.log_prior(mass)
    states = np.array(list(product(levels.values, repeat=3)))[:, None]
    values = [log_posterior(dictionary, a, usage, distances, levels, prior) for a in states]
    density = np.exp(np.array(values) - max(values))
    exact = np.tensordot(density / density.sum(), states, 1)
    total = np.zeros((1, 3))
    for _ in range(4000):
        atoms, means, *_ = draw_atoms(dictionary, usage, distances, levels, mass, rng)
        dictionary = make_dictionary(atoms)
        total += means
    assert_allclose(total / 4000, exact, rtol=0.05)


def test_edges_that_were_ruled_out_stay_away():
    atoms = np.ones((2, EDGES))
    rows, cols = graphs.edge_index(NODES)
    atoms[:, (rows == 0) | (cols == 0)] = 0  # node 0 is on its own in both
    dictionary = make_dictionary(atoms)
    levels = WeightLevels.of(atoms)
    mass = levels.initial_shares() * np.count_nonzero(atoms)
    drawn, means, edges, _ = draw_atoms(
        dictionary, np.ones(3), np.ones(atoms.shape), levels, mass, np.random.RandomState(0)
    )
    for found in (drawn, means, edges):
        assert np.isfinite(found).all()
        assert not found[atoms == 0].any()
    assert (drawn[atoms > 0] > 0).all()


# The model ------------------------------------------------------------------------------------


@pytest.fixture(scope="module", name="few")
def few_samples():
    return make_superposition(3, 12, 0.3, 2, n_train=250, n_test=500, random_state=1)


def fit(signals, average=60, **options):
    options = {"n_init": 2, "max_iter": 60, "random_state": 0, "sparsity": 0.0, **options}
    return GraphDictMarginal(3, max_active=2, average=average, **options).fit(signals)


@pytest.mark.parametrize("prior", ["independent", "free", "markov"])
def test_averaged_atoms_predict_new_samples_about_as_well_or_better(few, prior):
    averaged, best = (fit(few.train.signals, n, prior=prior) for n in (60, 0))
    assert averaged.score(few.test.signals) > best.score(few.test.signals) - 0.1
    assert match_atoms(best.atoms_, averaged.atoms_).similarity.min() > 0.8
    assert averaged.objective_ > best.objective_  # which the most probable ones minimise
    assert_allclose(averaged.log_likelihood_, averaged.score(few.train.signals), rtol=1e-9)
    assert_allclose(averaged.pattern_probabilities_.sum(), 1)


def test_improbable_edges_are_not_in_the_graphs_of_samples(few, tmp_path):
    sparse, sparser, dense = (fit(few.train.signals, 20, sparsity=s) for s in (1.0, 9.0, 0.0))
    assert_array_equal(sparse.atoms_, dense.atoms_)
    assert (dense.atoms_ > 0).all()
    chances, coefficients = sparse.edge_probabilities_, sparse.transform(few.test.signals)
    assert_allclose(chances, dense.edge_probabilities_)
    # Each atom is active or not, and has an edge or not: eight cases of what is active.
    present = np.zeros((len(coefficients), chances.shape[1]))
    for active in product((0, 1), repeat=3):
        share = np.prod(np.where(active, coefficients, 1 - coefficients), axis=1)
        present += np.outer(share, 1 - np.prod(1 - np.array(active)[:, None] * chances, axis=0))
    mixed = coefficients @ dense.atoms_
    for model, least in ((sparse, 0.5), (sparser, 0.9), (dense, 0.0)):
        found = model.instantaneous_graphs(few.test.signals)
        assert_allclose(found.weights, np.where(present >= least, mixed, 0))
        assert_allclose(found[7].degrees[0], found.adjacencies[7].sum(axis=1))
    assert_allclose(dense.instantaneous_graphs(few.test.signals, min_probability=0.5).weights,
                    sparse.instantaneous_graphs(few.test.signals).weights)  # fmt: skip
    sparse.save(tmp_path / "model.gdict")
    again = load_model(tmp_path / "model.gdict").instantaneous_graphs(few.test.signals)
    assert_allclose(again.weights, sparse.instantaneous_graphs(few.test.signals).weights)
    assert not hasattr(sparse.set_params(average=0).fit(few.train.signals), "edge_probabilities_")


def test_edges_are_found_without_a_threshold():
    drawn = make_superposition(4, 15, 0.25, 4, n_train=1200, n_test=500, random_state=3)
    found = {}
    for average in (0, 100):
        model = GraphDictMarginal(4, max_active=4, average=average, n_init=4, random_state=0)
        weights = model.fit(drawn.train.signals).instantaneous_graphs(drawn.test.signals).weights
        found[average] = edge_scores(drawn.test.weights, weights).mcc.mean()
    assert found[100] > found[0]


def test_same_seed_same_atoms_however_signals_are_cut(few):
    whole = fit(few.train.signals, 4)
    assert_array_equal(whole.atoms_, fit(few.train.signals, 4).atoms_)
    with sklearn.config_context(working_memory=0.01):
        assert_allclose(fit(few.train.signals, 4).atoms_, whole.atoms_, rtol=1e-6)


def test_missing_values_and_single_precision(few):
    signals = few.train.signals.astype(np.float32)
    signals[::7, 2] = np.nan
    model = fit(signals, 4)
    assert model.atoms_.dtype == np.float32
    assert np.isfinite(model.atoms_).all()


def test_callback_hears_of_draws_and_stops_them(few):
    heard = []
    without = fit(few.train.signals, 0, callback=lambda progress: heard.append(progress) or False)
    count = len(heard)

    def stop(progress):
        heard.append(progress)
        return len(heard) == 2 * count + 20

    model = fit(few.train.signals, 20, callback=stop)
    assert len(heard) == 2 * count + 20  # ten draws are left out and ten averaged
    assert np.isfinite(model.score(few.test.signals))
    assert model.objective_ != without.objective_


@pytest.mark.parametrize("draws", [1, 20])
def test_ctrl_c_keeps_what_is_there(few, draws):
    plain = []
    without = fit(few.train.signals, 0, callback=lambda progress: plain.append(0))
    count = []

    def press(progress):
        count.append(0)
        if len(count) == len(plain) + draws:
            raise KeyboardInterrupt

    with pytest.warns(InterruptedFitWarning):
        model = fit(few.train.signals, 20, callback=press)
    assert (model.objective_ == without.objective_) == (draws == 1)


def test_channels_that_are_nearly_copies(few):
    """One weight is larger than all others by far; levels are for the others."""
    rng = np.random.default_rng(0)
    train, test = (
        np.column_stack([x, x[:, 0] + 0.02 * rng.normal(size=len(x))])
        for x in (few.train.signals, few.test.signals)
    )
    averaged, best = (fit(train, n, alpha_w=0.0) for n in (40, 0))
    assert averaged.score(test) > best.score(test) - 0.1


def test_says_where_it_does_not_work(few):
    with pytest.raises(ValueError, match=r'average=5 .* prior="hierarchy"'):
        GraphDictMarginal(3, prior="hierarchy", average=5).fit(few.train.signals)
    assert not hasattr(GraphDictMarginal(3, average=5), "partial_fit")
    with pytest.raises(AttributeError, match="partial_fit") as found:
        GraphDictMarginal(3, average=5).partial_fit(few.train.signals)
    assert "use average=0 for partial_fit" in str(found.value.__cause__)
    with pytest.raises(ValueError, match="average"):
        GraphDictMarginal(3, average=-1).fit(few.train.signals)


@pytest.mark.parametrize("prior", ["independent", "free", "markov"])
@pytest.mark.parametrize("kind", ["two samples", "zero rows", "smooth", "copies"])
def test_averages_are_numbers_however_odd_the_signals(kind, prior):
    rng = np.random.default_rng(0)
    if kind == "two samples":
        x = np.repeat(rng.standard_normal((2, 16)), 5, axis=0)
    elif kind == "zero rows":
        x = np.vstack([rng.standard_normal((20, 8)), np.zeros((20, 8))])
    elif kind == "smooth":
        distance = np.subtract.outer(np.arange(20), np.arange(20))
        x = rng.multivariate_normal(np.zeros(20), np.exp(-((distance / 5) ** 2)), 60, method="svd")
    else:
        x = rng.standard_normal((40, 6))[:, [0, 1, 2, 3, 4, 5, 5, 5]]
    model = GraphDictMarginal(3, average=10, n_init=2, prior=prior, random_state=0).fit(x)
    for name in ("atoms_", "edge_probabilities_", "coefficients_", "objective_"):
        assert np.isfinite(getattr(model, name)).all(), name
    assert np.isfinite(model.score(x))
