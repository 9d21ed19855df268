"""Atoms of recordings: the group's where nothing differs, better ones where something does."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from graphdict import GraphDictExact, GraphDictLog, GraphDictMarginal, GraphDictSpectral
from graphdict.core import graphs
from graphdict.core.marginal.filtered import FilteredLikelihood
from graphdict.core.marginal.filters import PowerFilter
from graphdict.core.marginal.likelihood import GaussianLikelihood
from graphdict.core.marginal.penalty import ConcavePenalty
from graphdict.exceptions import MissingNodeWarning
from graphdict.studies import compare_groups, recording_atoms
from graphdict.studies.distances import map_of

NODES, ATOMS = 7, 2


def simulate(recordings, samples, spread, seed, power=1.0, tails=np.inf):
    """Recordings whose weights differ by a factor exp(spread z), states of 25 samples."""
    rng = np.random.default_rng(seed)
    edges = graphs.n_edges(NODES)
    base = (rng.random((ATOMS, edges)) < 0.4) * rng.uniform(0.5, 2, (ATOMS, edges)) + 0.02
    signals, truth = [], []
    for _ in range(recordings):
        atoms = base * np.exp(spread * rng.standard_normal(base.shape))
        labels = np.repeat(rng.integers(0, ATOMS, samples // 25 + 1), 25)[:samples]
        noise = rng.standard_normal((samples, NODES))
        if np.isfinite(tails):
            noise /= np.sqrt(rng.chisquare(tails, (samples, 1)) / tails)
        rows = np.empty((samples, NODES))
        for k, laplacian in enumerate(graphs.laplacian(atoms)):
            values, vectors = np.linalg.eigh(laplacian)
            values[0] = np.inf
            rows[labels == k] = noise[labels == k] @ (vectors * values ** (-power / 2)) @ vectors.T
        signals.append(rows)
        truth.append(atoms)
    return signals, np.array(truth)


def marginal(power=1.0, tails="gaussian"):
    return GraphDictMarginal(
        ATOMS, max_active=1, prior="markov", filter_power=power, tails=tails, n_init=2,
        random_state=0,
    )  # fmt: skip


SETTINGS = {"plain": (1.0, np.inf), "filtered": (2.0, 5.0)}


@pytest.fixture(scope="module", params=SETTINGS)
def differing(request):
    """Recordings that differ: a first part to learn from, a second one to predict."""
    power, tails = SETTINGS[request.param]
    signals, truth = simulate(6, 1000, 0.5, 0, power, tails)
    first, second = [one[:500] for one in signals], [one[500:] for one in signals]
    given = (1.0, "gaussian") if request.param == "plain" else (power, tails)
    model = marginal(*given).fit(np.concatenate(first))
    return model, first, second, truth, recording_atoms(model, first)


def with_atoms(model, atoms):
    """The same model with other atoms."""
    import copy

    other = copy.copy(model)
    other.atoms_ = atoms
    return other


def test_atoms_of_recordings_predict_what_they_have_not_seen(differing):
    model, _, second, _, found = differing
    assert np.isfinite(found.pseudo_samples)
    assert found.gain > 2 * found.error > 0
    gains = [
        with_atoms(model, atoms).score(later) - model.score(later)
        for atoms, later in zip(found.atoms, second, strict=True)
    ]
    assert np.mean(gains) > 0.05
    assert min(gains) > 0


def test_atoms_of_recordings_are_nearer_to_the_truth(differing):
    model, _, _, truth, found = differing
    scaled = truth * model.scale_**2 if model.filter_power_ == 1 else None
    if scaled is None:
        pytest.skip("weights under a filter have a unit of their own")

    def error(atoms, true):
        swapped = min(np.abs(np.log((atoms + 0.05) / (true[list(order)] + 0.05))).mean()
                      for order in ((0, 1), (1, 0)))  # fmt: skip
        return swapped

    own = [error(a, t) for a, t in zip(found.atoms, scaled, strict=True)]
    group = [error(model.atoms_, t) for t in scaled]
    assert np.mean(own) < 0.9 * np.mean(group)


@pytest.mark.parametrize("setting", SETTINGS)
def test_recordings_alike_have_the_atoms_of_the_group(setting):
    power, tails = SETTINGS[setting]
    signals, _ = simulate(6, 400, 0.0, 1, power, tails)
    given = (1.0, "gaussian") if setting == "plain" else (power, tails)
    model = marginal(*given).fit(np.concatenate(signals))
    found = recording_atoms(model, signals)
    assert np.isinf(found.pseudo_samples)
    assert (found.shrinkage == 1).all()
    assert_allclose(found.atoms, np.broadcast_to(model.atoms_, found.atoms.shape))
    assert not found.distances.any()
    assert "each has the group's" in found.in_words()


def test_a_strong_pull_gives_the_group_and_a_weak_one_the_recording(differing):
    model, first, _, _, found = differing
    strong = recording_atoms(model, first, pseudo_samples=1e9)
    weights = model.atoms_ > 0.05 * model.atoms_.max()
    assert_allclose(strong.atoms[0][weights], model.atoms_[weights], rtol=1e-2)
    weak = recording_atoms(model, first, pseudo_samples=1.0)
    assert weak.distances.mean() >= found.distances.mean() > strong.distances.mean()


def test_support_and_shapes(differing):
    model, _, _, _, found = differing
    assert found.atoms.shape == (6, *model.atoms_.shape)
    assert not found.atoms[:, model.atoms_ == 0].any()
    assert (found.atoms >= 0).all()
    assert_allclose(found.distances, found.distances.T)
    assert not np.diagonal(found.distances).any()
    assert found.positions.shape == (6, 2)
    values, columns = found.columns()
    assert values.shape == (6, np.count_nonzero(model.atoms_))
    assert len(columns) == values.shape[1]
    test = compare_groups(found, list("ababab"), n_permutations=19)
    assert test.columns == columns


@pytest.mark.parametrize(
    "model", [GraphDictLog(2, random_state=0), GraphDictExact(2, random_state=0)]
)
def test_soft_models_have_atoms_of_recordings(model):
    signals, _ = simulate(4, 300, 0.0, 2)
    model.fit(np.concatenate(signals))
    assert np.isinf(recording_atoms(model, signals).pseudo_samples)
    signals, _ = simulate(4, 300, 1.2, 2)
    model.fit(np.concatenate(signals))
    found = recording_atoms(model, signals, pseudo_samples=100.0)
    assert found.gain > 0.02
    assert found.distances[np.triu_indices(4, 1)].min() > 0.1


def test_unpenalised_atoms_stay_at_the_moments_of_their_own_samples():
    rng = np.random.default_rng(0)
    atoms = rng.uniform(0.1, 1, (3, 10))
    patterns = np.vstack((np.eye(3), np.ones((1, 3)))).astype(bool)
    likelihood = FilteredLikelihood.of(patterns, atoms, 1e-10, filter=PowerFilter(1.5), tails=5.0)
    usage, penalty = rng.dirichlet(np.ones(4)), ConcavePenalty(0.0)
    averages = likelihood.stationary_statistics(atoms, usage, penalty, 0.0)
    assert_allclose(likelihood.m_step(atoms, averages, usage, penalty, 20)[1], atoms, rtol=1e-4)
    plain = FilteredLikelihood.of(patterns, atoms, 1e-10)
    moments = plain.stationary_statistics(atoms, usage, penalty, 0.0)[0]
    costs = graphs.laplacian_adjoint(np.tensordot(patterns.T.astype(float), moments, 1))
    reference = GaussianLikelihood.of(patterns, atoms, 1e-10)
    assert_allclose(costs, reference.stationary_statistics(atoms, usage, penalty, 0.0)[0])


def test_a_map_keeps_distances_of_a_plane():
    points = np.random.default_rng(0).standard_normal((9, 2)) * [3, 1]
    distances = np.linalg.norm(points[:, None] - points, axis=-1)
    placed = map_of(distances)
    assert_allclose(np.linalg.norm(placed[:, None] - placed, axis=-1), distances, atol=1e-9)
    assert placed[:, 0].std() > placed[:, 1].std()


def test_what_has_no_atoms_of_recordings_is_named():
    signals, _ = simulate(3, 100, 0.0, 3)
    model = marginal().fit(np.concatenate(signals))
    with pytest.raises(ValueError, match="recording b has 20 samples"):
        recording_atoms(model, {"a": signals[0], "b": signals[1][:20]})
    with pytest.raises(ValueError, match="pseudo_samples must be 0 or more"):
        recording_atoms(model, signals, pseudo_samples=-1)
    with pytest.raises(ValueError, match=r"at least two recordings are needed .*, got a alone"):
        recording_atoms(model, {"a": signals[0]})
    spectral = GraphDictSpectral(2, random_state=0, max_iter=20).fit(np.concatenate(signals))
    with pytest.raises(TypeError, match="not known for GraphDictSpectral"):
        recording_atoms(spectral, signals)
    gaps = signals[0].copy()
    gaps[3, 2] = np.nan
    found = recording_atoms(model, [gaps, *signals[1:]])
    assert np.isfinite(found.atoms).all()
    filtered = marginal(2.0, 5.0).fit(np.concatenate(signals))
    with pytest.raises(ValueError, match="recording 0 has missing values"):
        recording_atoms(filtered, [gaps, *signals[1:]])


def test_frames_are_matched_by_the_names_of_their_columns():
    signals, _ = simulate(3, 100, 0.0, 3)
    names = [f"n{node}" for node in range(signals[0].shape[1])]
    frames = [pd.DataFrame(one, columns=names) for one in signals]
    model = marginal().fit(frames)
    turned = [frames[0], frames[1][names[::-1]], frames[2]]
    one, two = (recording_atoms(model, given, pseudo_samples=20.0) for given in (frames, turned))
    assert one.recordings == list(model.recordings_.names) == ["0", "1", "2"]
    np.testing.assert_allclose(two.atoms, one.atoms)
    with pytest.warns(MissingNodeWarning, match="'1' lacks 'n2'"):
        lacking = recording_atoms(model, [frames[0], frames[1].drop(columns="n2"), frames[2]])
    assert np.isfinite(lacking.atoms).all()
