"""More than one graph or not, which edges are there, what comes out again."""

from itertools import permutations
from types import SimpleNamespace

import numpy as np
import pytest

from graphdict import GraphDictLog, GraphDictMarginal
from graphdict.core import graphs
from graphdict.core.marginal.confidence import EdgeEstimates, edge_confidence, edge_estimates
from graphdict.core.marginal.filtered import FilteredLikelihood
from graphdict.core.marginal.filters import PowerFilter
from graphdict.datasets import sample_lgmrf
from graphdict.results import thresholded_atoms
from graphdict.selection import describe_findings, evidence, stability
from graphdict.selection.folds import _covariance_scores, block_scores, complete, cut_blocks
from graphdict.selection.prewhitening import (
    autoregression,
    innovations,
    sizes_of,
    whitened,
    with_equal_loudness,
)
from graphdict.selection.surrogates import covariance_variation, directions, surrogate_directions
from graphdict.selection.trials import fit_quietly
from graphdict.selection.when import _months


def ring(nodes):
    first, second = graphs.edge_index(nodes)
    return ((second - first == 1) | (second - first == nodes - 1)).astype(float)


def one_graph(rng, weights, samples, memory=0.0):
    steps = np.asarray(
        sample_lgmrf(np.repeat(weights[None], samples, 0), random_state=int(rng.integers(1 << 30)))
    )
    signals = steps.copy()
    for t in range(1, samples):
        signals[t] = memory * signals[t - 1] + np.sqrt(1 - memory**2) * steps[t]
    return signals


def two_graphs(rng, nodes=7, length=40, samples=800):
    pairs = graphs.n_edges(nodes)
    atoms = ring(nodes) * [[1.0], [0.2]] + (rng.random((2, pairs)) < 0.3) * rng.uniform(
        0.5, 2, (2, pairs)
    )
    path = np.repeat(np.arange(samples // length) % 2, length)
    return np.asarray(sample_lgmrf(atoms[path], random_state=1)), atoms, path


# Memory ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("memory", [0.5, 0.9, -0.6])
def test_the_memory_that_all_nodes_share_is_found_and_taken_out(memory):
    signals = one_graph(np.random.default_rng(0), ring(8), 4000, memory)
    found = autoregression(signals)
    assert found[0] == pytest.approx(memory, abs=0.05)
    assert np.abs(found[1:]).max(initial=0) < 0.05
    left = innovations(signals, found)
    assert len(left) == 4000 - len(found)
    assert len(autoregression(left)) == 0
    # A filter common to all nodes leaves their correlations as they are.
    np.testing.assert_allclose(np.corrcoef(left.T), np.corrcoef(signals.T), atol=0.15)


def test_series_without_memory_stay_as_they_are():
    signals = np.random.default_rng(0).standard_normal((500, 5))
    assert len(autoregression(signals)) == 0
    np.testing.assert_array_equal(innovations(signals, np.empty(0)), signals)


def test_the_recursion_solves_the_equations_of_yule_and_walker():
    rng = np.random.default_rng(1)
    signals = np.zeros((3000, 4))
    for t in range(2, 3000):
        signals[t] = 0.5 * signals[t - 1] - 0.4 * signals[t - 2] + rng.standard_normal(4)
    found = autoregression(signals)
    white = whitened(signals)
    lags = [np.vdot(white[: 3000 - k], white[k:]) / white.size for k in range(len(found) + 1)]
    matrix = [[lags[abs(i - j)] for j in range(len(found))] for i in range(len(found))]
    np.testing.assert_allclose(found, np.linalg.solve(matrix, lags[1:]), rtol=1e-8)


def test_loudness_is_taken_out_whatever_its_course():
    rng = np.random.default_rng(1)
    signals = one_graph(rng, ring(6), 1500)
    loud = signals * np.repeat(np.exp(rng.standard_normal(30)), 50)[:, None]
    ours, theirs = with_equal_loudness(loud), with_equal_loudness(signals)
    factor = np.linalg.norm(ours, axis=1) / np.linalg.norm(theirs, axis=1)
    np.testing.assert_allclose(factor, factor.mean(), rtol=0.2)  # those of other samples matter
    silent = signals.copy()
    silent[7] = 0
    assert np.isfinite(with_equal_loudness(silent)).all()
    assert not with_equal_loudness(silent)[7].any()


# Surrogates and blocks ---------------------------------------------------------------------------


@pytest.mark.parametrize("samples", [600, 601])
def test_surrogates_keep_spectra_covariance_and_loudness(samples):
    rng = np.random.default_rng(2)
    signals = one_graph(rng, ring(6), samples, 0.8) / np.sqrt(rng.chisquare(4, (samples, 1)) / 4)
    before, mixing = _centred_and_mixing(signals)
    drawn = surrogate_directions(directions(signals), np.random.RandomState(0))
    found = drawn * sizes_of(whitened(signals)) @ mixing
    ours, theirs = np.cov(found.T), np.cov(before.T)
    assert np.linalg.norm(ours - theirs) < 0.2 * np.linalg.norm(theirs)
    np.testing.assert_allclose(
        np.linalg.norm(whitened(signals), axis=1),
        np.linalg.norm(found @ np.linalg.pinv(mixing), axis=1),
        rtol=1e-6,
    )
    lag = [np.vdot(x[1:], x[:-1]) / np.vdot(x, x) for x in (found, before)]
    assert lag[0] == pytest.approx(lag[1], abs=0.1)
    assert not np.allclose(found, before, atol=0.1)


def _centred_and_mixing(signals):
    """Signals without mean over nodes and time, and the matrix that makes them of whitened ones."""
    centred = signals - signals.mean(axis=1, keepdims=True)
    centred = centred - centred.mean(axis=0)
    return centred, np.linalg.lstsq(whitened(signals), centred, rcond=None)[0]


def test_blocks_are_whole_windows_longer_than_the_memory():
    signals = one_graph(np.random.default_rng(3), ring(5), 2000, 0.9)
    blocks = cut_blocks(signals, window=7)
    assert all(len(piece) % 7 == 0 for piece in blocks.pieces)
    assert 5 <= len(blocks.pieces) <= 20
    assert blocks.length >= 10 * len(blocks.autoregression) > 0
    with pytest.raises(ValueError, match="at least 5 windows or blocks"):
        cut_blocks(signals, length=900)


def test_missing_values_are_interpolated():
    signals = np.column_stack([np.arange(6.0), np.full(6, np.nan), np.arange(6.0) ** 2])
    signals[[2, 5], 0] = np.nan
    found = complete(signals)
    np.testing.assert_array_equal(found[:, 0], [0, 1, 2, 3, 4, 4])
    np.testing.assert_array_equal(found[:, 1], 0)
    assert np.isnan(signals[2, 0])  # a copy


def test_the_variation_of_covariances_is_the_excess_of_pairs_within_stretches():
    """Against its definition, by all pairs, where there is one length of stretches."""
    given = directions(np.random.default_rng(5).standard_normal((31, 4)))
    total, pairs = 0.0, 0
    for start in range(0, 28, 4):
        for t in range(start, start + 4):
            for other in set(range(start, start + 4)) - {t}:
                total += (given[t] @ given[other]) ** 2 - 3
                pairs += 1
    by_four = total / np.sqrt(2 * pairs * (3 * 27 / 5 - 9))
    assert given.shape[1] == 3
    assert covariance_variation(given[:15]) == 0  # too few stretches
    assert covariance_variation(given) == pytest.approx(by_four)


def test_surrogates_of_one_graph_vary_like_it_and_those_of_two_less():
    rng = np.random.RandomState(0)
    signals, _, _ = two_graphs(np.random.default_rng(5))
    one = one_graph(np.random.default_rng(5), ring(7), 800)
    two, alone = (directions(x) for x in (signals, one))
    found = [covariance_variation(surrogate_directions(alone, rng)) for _ in range(30)]
    assert abs(np.mean(found)) < 1  # in standard errors, but the largest of some
    assert np.std(found) < 2
    assert covariance_variation(two) > 5


def test_stretches_and_surrogates_end_with_each_recording():
    """Surrogates are mixtures of all recordings, which differ no more than one graph would."""
    given = directions(np.random.default_rng(6).standard_normal((42, 4)))
    total = 0.0
    for start in range(0, 42, 7):  # recordings of seven samples have one stretch of four each
        for t, other in permutations(range(start, start + 4), 2):
            total += (given[t] @ given[other]) ** 2 - 3
    by_four = total / np.sqrt(2 * 6 * 12 * (3 * 27 / 5 - 9))
    assert covariance_variation(given, np.full(6, 7)) == pytest.approx(by_four)
    two = [one_graph(np.random.default_rng(0), w, 300) for w in (ring(7), 1.01 - ring(7))]
    lengths, rng = np.array([300, 300]), np.random.RandomState(0)
    apart = directions(np.concatenate(two))
    drawn = [surrogate_directions(apart, rng, lengths) for _ in range(20)]
    largest = max(covariance_variation(one, lengths) for one in drawn)
    assert largest < 5 < 10 < covariance_variation(apart, lengths)


def test_one_graph_is_compared_as_one_covariance_of_any_kind():
    signals = one_graph(np.random.default_rng(3), ring(6) + 0.2, 4000)
    model = GraphDictMarginal(1, filter_power=1, tails="gaussian", sparsity=0, alpha_w=0)
    model.fit(signals)
    (score,) = _covariance_scores(model, [signals], [signals])
    assert model.score(signals) == pytest.approx(score, abs=2e-3)
    # The square of a ring's Laplacian has negative dependence, which power 1 cannot show.
    smooth = np.asarray(
        sample_lgmrf(np.repeat(ring(12)[None], 1500, 0), filter=2.0, random_state=0)
    )
    given = GraphDictMarginal(1, filter_power=1, tails="gaussian", random_state=0)
    found = block_scores(given, cut_blocks(smooth))
    assert found.blocks.mean() > found.model.score(cut_blocks(smooth).signals) + 0.5


@pytest.mark.parametrize("power", [1.0, 2.0])
def test_a_fit_that_begins_at_another_ends_nearby(power):
    signals, _, _ = two_graphs(np.random.default_rng(6), samples=1600)
    model = GraphDictMarginal(
        2, max_active=1, prior="markov", n_init=2, filter_power=power, tails="gaussian",
        random_state=0,
    ).fit(signals)  # fmt: skip
    again = GraphDictMarginal(2, max_active=1, prior="markov", random_state=0)
    fit_quietly(again, 3 * signals, model)  # whatever the unit
    assert again.filter_power_ == power
    assert np.abs(again.coefficients_ - model.coefficients_).mean() < 0.01
    assert again.score(3 * signals) == pytest.approx(model.score(signals), abs=0.02)


# Evidence ----------------------------------------------------------------------------------------


def test_one_graph_with_memory_is_one_graph():
    signals = one_graph(np.random.default_rng(4), ring(7), 800, 0.9)
    model = GraphDictMarginal(2, max_active=1, prior="markov", n_init=2, random_state=0)
    found = evidence(model, signals, n_surrogates=19)
    assert not found.clear
    assert found.memory > 0
    assert len(found.block_gains) >= 5
    assert "No clear sign of more than one graph" in found.in_words()


def test_graphs_that_switch_are_more_than_one():
    signals, _, _ = two_graphs(np.random.default_rng(5))
    model = GraphDictMarginal(2, max_active=1, prior="markov", n_init=2, random_state=0)
    found = evidence(model, signals, n_surrogates=19)
    assert found.clear
    assert found.p_value == 1 / 20
    assert found.gain > 3 * found.error > 0
    assert found.gain == pytest.approx(found.block_gains.mean())
    assert "none varies as much in time (p = 0.05)" in found.in_words()
    assert evidence(model, signals, n_surrogates=0).in_words().endswith("nats a sample).")


def test_evidence_says_what_it_cannot_do():
    signals = np.random.default_rng(0).standard_normal((40, 4))
    with pytest.raises(ValueError, match="GraphDictLog fits coefficients"):
        evidence(GraphDictLog(2), signals)
    with pytest.raises(ValueError, match="n_surrogates must be 0 or more, got -1"):
        evidence(GraphDictMarginal(2), signals, n_surrogates=-1)
    with pytest.raises(ValueError, match="at least 5 windows or blocks"):
        evidence(GraphDictMarginal(2, window_size=20), signals)


# Edges -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("power", [1.0, 2.0])
def test_errors_of_weights_are_those_of_repeated_draws(power):
    """Against Monte Carlo: the inverse filter of the inverse of Wishart matrices."""
    rng = np.random.default_rng(6)
    nodes, samples, draws = 6, 400, 300
    atoms = (ring(nodes) + 0.2)[None]
    likelihood = FilteredLikelihood.of(np.ones((1, 1), bool), atoms, filter=PowerFilter(power))
    values, vectors = np.linalg.eigh(graphs.laplacian(atoms)[0])
    root = vectors[:, 1:] * values[1:] ** (-power / 2)
    found = []
    for _ in range(draws):
        x = rng.standard_normal((samples, nodes - 1)) @ root.T
        moments = (x.T @ x / samples)[None]
        found.append(edge_estimates(likelihood, atoms, moments, np.array([float(samples)])))
    weights = np.array([each.weights[0] for each in found])
    np.testing.assert_allclose(weights.mean(axis=0), atoms[0], atol=0.03)
    np.testing.assert_allclose(weights.std(axis=0), found[0].errors[0], rtol=0.2)
    laplacian = graphs.laplacian(atoms)[0]
    rows, cols = graphs.edge_index(nodes)
    if power == 1:
        wishart = laplacian[rows, rows] * laplacian[cols, cols] + laplacian[rows, cols] ** 2
        np.testing.assert_allclose(found[0].errors[0], np.sqrt(wishart / samples), rtol=1e-9)


def test_atoms_that_overlap_are_told_apart_by_least_squares():
    """With the covariance of each pattern itself, estimates are the atoms."""
    rng = np.random.default_rng(7)
    atoms = rng.uniform(0.1, 1, (2, graphs.n_edges(5)))
    patterns = np.array([[1, 0], [0, 1], [1, 1]], dtype=bool)
    likelihood = FilteredLikelihood.of(patterns, atoms)
    moments = np.linalg.pinv(graphs.laplacian(patterns @ atoms))
    found = edge_estimates(likelihood, atoms, moments, np.array([30.0, 35.0, 39.0]))
    np.testing.assert_allclose(found.weights, atoms, rtol=1e-8)
    alone = edge_estimates(likelihood, atoms, moments, np.array([30.0, 35.0, 0.0]))
    assert (found.errors < alone.errors).all()


def test_a_weight_that_all_pairs_share_is_no_edge():
    rng = np.random.default_rng(8)
    weights = 1 + 0.1 * rng.standard_normal((1, 300))
    errors = np.full_like(weights, 0.1)
    assert edge_confidence(EdgeEstimates(weights, errors)).max() < 0.5
    weights[0, :30] += 1
    found = edge_confidence(EdgeEstimates(weights, errors))[0]
    assert found[:30].min() > 0.95
    assert (found[30:] > 0.5).mean() < 0.02


@pytest.mark.parametrize(("memory", "missing"), [(0.0, 0.0), (0.9, 0.0), (0.0, 0.1)])
def test_noise_has_no_edges_that_are_sure(memory, missing):
    rng = np.random.default_rng(9)
    signals = rng.standard_normal((600, 9))
    for t in range(1, 600):
        signals[t] += memory * signals[t - 1]
    signals[rng.random(signals.shape) < missing] = np.nan
    model = GraphDictMarginal(1, random_state=0).fit(signals)
    assert (model.edge_confidence_ > 0.5).mean() < 0.05
    assert np.count_nonzero(thresholded_atoms(model)) <= 2
    np.testing.assert_array_equal(
        thresholded_atoms(model, 0) > 0, model.atoms_ > 0.01 * model.atoms_.max()
    )


@pytest.mark.parametrize("missing", [0.0, 0.05])
def test_edges_that_are_there_are_sure_and_their_intervals_hold_them(missing):
    rng = np.random.default_rng(10)
    signals, atoms, path = two_graphs(rng, samples=2400)
    signals[rng.random(signals.shape) < missing] = np.nan
    model = GraphDictMarginal(2, max_active=1, prior="markov", rescale=False, random_state=0)
    model.fit(signals)
    if model.coefficients_[path == 0, 0].mean() < 0.5:
        atoms = atoms[::-1]
    sure = model.edge_confidence_ > 0.9
    assert (atoms[sure] > 0).mean() > 0.9
    assert sure[atoms > 0.5].mean() > 0.9
    low, high = np.moveaxis(model.edge_intervals_, -1, 0)
    assert ((low <= atoms) & (atoms <= high)).mean() > 0.85


# Again, and in words -----------------------------------------------------------------------------


def test_what_is_there_comes_out_again_and_is_said():
    signals, _, _ = two_graphs(np.random.default_rng(11), samples=1600)
    model = GraphDictMarginal(2, max_active=1, prior="markov", n_init=2, random_state=0)
    model.fit(signals)
    again = stability(model, signals)
    assert again.again.all()
    assert again.coefficients.min() > 0.8
    times = np.datetime64("2001-01-01") + np.arange(1600).astype("timedelta64[D]")
    said = describe_findings(model, stability=again, times=times, step=86400.0)
    assert "2 graphs were learned" in said[0]
    assert any("for about 40 days at a time" in sentence for sentence in said)
    assert any("all atoms come out again" in sentence for sentence in said)
    assert any("so does when each holds" in sentence for sentence in said)
    assert "not that one drives the other" in said[-1]


def test_halves_of_several_recordings_are_halves_of_each():
    """Each recording has one of two graphs, so that halves of all together would lack one."""
    signals, _, labels = two_graphs(np.random.default_rng(11), samples=1600)
    study = [part for k in range(2) for part in np.array_split(signals[labels == k], 2)]
    model = GraphDictMarginal(2, max_active=1, prior="markov", n_init=2, random_state=0).fit(study)
    again = stability(model, study)
    assert again.again.all()
    assert again.coefficients.min() > 0.8
    assert not stability(model, np.concatenate(study)).again.all()


def test_noise_in_two_atoms_does_not_come_out_again():
    signals = np.random.default_rng(12).standard_normal((300, 8))
    model = GraphDictMarginal(3, max_active=1, n_init=2, sparsity=0, alpha_w=0, random_state=0)
    model.fit(signals)
    again = stability(model, signals)
    assert not again.again.all() or model.alike_atoms_


def test_negative_dependence_is_named():
    """The square of a ring's Laplacian joins each node with the next but one, negatively."""
    weights = np.repeat(ring(12)[None], 1500, 0)
    signals = np.asarray(sample_lgmrf(weights, filter=2.0, random_state=0))
    model = GraphDictMarginal(1, filter_power=1, tails="gaussian", random_state=0).fit(signals)
    first, second = graphs.edge_index(12)
    next_but_one = np.isin(second - first, [2, 10])
    assert (model.edge_intervals_[0, next_but_one, 1] < 0).mean() > 0.9
    assert any("depend negatively" in sentence for sentence in describe_findings(model))
    fitting = GraphDictMarginal(1, random_state=0).fit(signals)  # finds the power
    assert not any("depend negatively" in sentence for sentence in describe_findings(fitting))


@pytest.mark.parametrize(
    ("which", "text"),
    [
        ([10, 11, 0, 1], "November to February"),
        ([4], "May"),
        ([2, 6], "March and July"),
    ],
)
def test_months_are_spans_round_the_year(which, text):
    assert _months(np.sort(which)) == text


def dictionary(atoms, coefficients):
    """A model with these atoms (K, E) and coefficients (T, K), all edges of which are sure."""
    names = [f"n{i}" for i in range(graphs.n_nodes(atoms.shape[1]))]
    return SimpleNamespace(
        atoms_=atoms, coefficients_=coefficients, edge_confidence_=np.ones(atoms.shape),
        node_names=names, get_params=dict, active_nodes_=np.ones(len(names), dtype=bool),
    )  # fmt: skip


def test_sentences_say_from_when_to_when_and_how_heavy():
    atoms = np.array([[1.0, 0, 1, 0, 0, 0], [0, 4.0, 0, 0, 4, 0], [0, 0, 0, 0, 0, 0]])
    states = np.repeat([0, 1, 2], [200, 150, 50])
    states[20::40] = 2  # blips do not make stays short
    times = np.datetime64("2001-01-01") + np.arange(400).astype("timedelta64[D]")
    said = describe_findings(dictionary(atoms, np.eye(3)[states]), times=times, step=86400.0)
    assert "whether one would do as well was not tested" in said[0]
    first, second, third = (next(s for s in said if f"Atom {k} (" in s) for k in (1, 2, 3))
    assert "(2 edges, 0.25 times the weight of the others)" in first
    assert "for about 39 days at a time, mostly from 2001-01-" in first
    assert "n0 - n1" in first
    assert "4 times the weight" in second
    assert "it has no edges" in third
    assert said[-1].startswith("What not to conclude: an edge says")


def test_an_atom_of_which_nothing_is_sure_is_not_called_empty():
    atoms = np.array([[1.0, 0, 1], [1, 2, 0]])
    model = dictionary(atoms, np.eye(2)[np.repeat([0, 1], 30)])
    model.edge_confidence_[0] = 0
    said = describe_findings(model)
    assert any("Atom 1 (0 edges)" in s and "no edge that is sure" in s for s in said)


def test_atoms_with_the_same_heavy_edges_are_told_apart_by_what_is_surely_unlike():
    """Two differ in edges of little weight; of these, one is known well, and one is not."""
    atoms = np.array([[10.0, 8, 0.5, 0.5, 0, 0], [10, 8, 0, 0, 0.5, 0.5]])
    model = dictionary(atoms, np.eye(2)[np.repeat([0, 1], 30)])
    errors = np.array([0.1, 0.1, 0.1, 2.0, 0.1, 2.0])
    model.edge_intervals_ = np.stack([atoms - errors, atoms + errors], axis=-1)
    model.alike_atoms_ = [(0, 1)]
    copies = " ".join(describe_findings(model))
    assert "Atoms 1 and 2 are the same graph up to a factor" in copies
    assert "The graph has 4 edges, the heaviest n0 - n1, n0 - n2" in copies
    assert "holds in" not in copies
    little = describe_findings(model, evidence=SimpleNamespace(clear=True, gain=0.02, in_words=str))
    assert little[0].endswith("a held-out sample only 2.0% more probable.")
    said = describe_findings(model, evidence=SimpleNamespace(clear=True, gain=1, in_words=str))
    assert said[0].endswith("a held-out sample 2.7 times as probable.")
    assert "the same heavy edges, such as n0 - n1, n0 - n2" in said[1]
    assert said[1].endswith("lighter edges set them apart.")
    assert "than in the other is on n0 - n3." in said[2]
    assert "than in the other is on n1 - n3." in said[3]
    model.atoms_ = atoms * [[1], [3]]
    model.edge_intervals_ = model.edge_intervals_ * [[[1]], [[3]]]
    said = describe_findings(model, evidence=SimpleNamespace(clear=True, gain=1, in_words=str))
    assert "edges of atom 2 being 3 times as heavy as those of atom 1" in said[1]


# Bad input --------------------------------------------------------------------------------------


def test_series_too_short_are_refused_before_anything_is_learned(monkeypatch):
    signals = np.random.default_rng(0).standard_normal((40, 5))
    fitted = GraphDictMarginal(15, max_active=1, n_init=1, max_iter=5, random_state=0)
    fitted.fit(np.tile(signals, (2, 1)))

    def learned(self, X, y=None):
        raise AssertionError("a model was fitted")

    monkeypatch.setattr(GraphDictMarginal, "fit", learned)
    with pytest.raises(ValueError, match=r"n_atoms=41 graphs .* 40 samples or windows"):
        evidence(GraphDictMarginal(41), signals)
    with pytest.raises(ValueError, match="held-out blocks need at least 5"):
        evidence(GraphDictMarginal(2, window_size=10), signals)
    with pytest.raises(ValueError, match=r"n_atoms=15 graphs .* half of the time has 10"):
        stability(fitted, signals[:20])
    for ask in (evidence, lambda model, X: stability(fitted, X)):
        with pytest.raises(ValueError, match=r"1 (feature|node)|at least 2|minimum of 2"):
            ask(GraphDictMarginal(2), signals[:, :1])
