"""Several recordings: nothing crosses their ends, nodes are matched, results know where from."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
import sklearn

from graphdict import (
    GraphDict,
    GraphDictExact,
    GraphDictHier,
    GraphDictLog,
    GraphDictMarginal,
    GraphDictSpectral,
    graphs,
    load_model,
)
from graphdict.baselines import GLMM, TGFA, GaussianMixtureGraphs, KGraphs, LogModel, WindowLogModel
from graphdict.core.likelihoods import LogDeterminant
from graphdict.engine import executor as blocks
from graphdict.exceptions import CheckpointError, MissingNodeWarning
from graphdict.results import Recordings, sample_index
from graphdict.terms import TotalVariation

pytestmark = [
    pytest.mark.filterwarnings("ignore::graphdict.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::graphdict.exceptions.DeadAtomWarning"),
]
FEW = {"max_iter": 20, "random_state": 0}
PLAIN = {"filter_power": 1, "tails": "gaussian", "max_active": 1}
MODELS = {
    "marginal": lambda **more: GraphDictMarginal(2, n_init=2, **PLAIN, **FEW, **more),
    "log": lambda **more: GraphDictLog(2, **FEW, **more),
    "exact": lambda **more: GraphDictExact(2, **FEW, **more),
    "spectral": lambda **more: GraphDictSpectral(2, **FEW, **more),
    "custom": lambda **more: GraphDict(2, likelihood=LogDeterminant(), **FEW, **more),
}
BASELINES = {
    "glmm": lambda: GLMM(2, n_init=1, **FEW),
    "kgraphs": lambda: KGraphs(2, n_init=1, **FEW),
    "gaussian": lambda: GaussianMixtureGraphs(2, **FEW),
}
each_model = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)


@pytest.fixture(scope="module")
def parts():
    """Two graphs that take turns, in recordings of 90, 41 and 60 samples."""
    rng = np.random.default_rng(0)
    mixing = [rng.standard_normal((5, 5)) for _ in range(2)]
    found = []
    for length in (90, 41, 60):
        states = np.repeat(rng.integers(0, 2, length // 10 + 1), 10)[:length]
        noise = rng.standard_normal((length, 5))
        found.append(np.stack([mixing[state] @ x for state, x in zip(states, noise)]))
    return found


def test_recordings_know_their_samples():
    found = Recordings(("a", "b", "c"), (3, 1, 4), breaks=(6,))
    assert (len(found), found.total) == (3, 8)
    assert found.slices() == [slice(0, 3), slice(3, 4), slice(4, 8)]
    assert found.labels().tolist() == [0, 0, 0, 1, 2, 2, 2, 2]
    assert [part.tolist() for part in found.split(np.arange(8))] == [[0, 1, 2], [3], [4, 5, 6, 7]]
    assert np.shares_memory(found.split(rows := np.arange(8))[2], rows)
    assert found.window_counts(2).tolist() == [2, 1, 1, 2, 2]
    assert found.window_starts(2).tolist() == [0, 2, 3, 4]
    assert found.number("c") == found.number(2) == found.number(-1) == 2
    with pytest.raises(ValueError, match="no recording is called 'd'"):
        found.number("d")
    with pytest.raises(ValueError, match="7 rows"):
        found.split(np.arange(7))


def test_pieces_of_recordings_stay_together_where_they_touch():
    found = Recordings(("a", "b"), (4, 4)).cut([slice(0, 2), slice(2, 6), slice(7, 8)])
    assert found == Recordings(("a", "b", "b"), (4, 2, 1))


@each_model
def test_samples_that_stand_alone_are_fitted_as_their_concatenation(make, parts):
    joined = make().fit(np.concatenate(parts))
    model = make().fit(parts)
    np.testing.assert_array_equal(model.atoms_, joined.atoms_)
    np.testing.assert_array_equal(model.coefficients_, joined.coefficients_)
    assert model.recordings_ == Recordings(("0", "1", "2"), (90, 41, 60))
    assert joined.recordings_ == Recordings(("0",), (191,))
    named = make().fit({"x": parts[0], "y": parts[1], "z": parts[2]})
    np.testing.assert_array_equal(named.atoms_, joined.atoms_)
    assert named.recordings_.names == ("x", "y", "z")


@each_model
@pytest.mark.parametrize("window", [1, 7])
def test_new_recordings_are_coded_as_each_alone(make, parts, window):
    model = make(window_size=window).fit(parts)
    found = model.transform(parts)
    assert isinstance(found, list)
    for own, part in zip(found, parts, strict=True):
        np.testing.assert_allclose(own, model.transform(part), atol=1e-12)
    each = [model.score_samples(part) for part in parts]
    for own, part in zip(model.score_samples(parts), each, strict=True):
        np.testing.assert_allclose(own, part)
    assert model.score(parts) == pytest.approx(np.concatenate(each).mean())
    found = model.instantaneous_graphs(parts)
    assert found.recordings == model.recordings_
    np.testing.assert_allclose(
        found.of_recording(1).weights, model.instantaneous_graphs(parts[1]).weights, atol=1e-12
    )


@pytest.mark.parametrize("make", BASELINES.values(), ids=BASELINES)
def test_baselines_of_samples_take_recordings(make, parts):
    model, joined = make().fit(parts), make().fit(np.concatenate(parts))
    np.testing.assert_array_equal(model.atoms_, joined.atoms_)
    for own, part in zip(model.transform(parts), parts, strict=True):
        np.testing.assert_allclose(own, joined.transform(part), atol=1e-12)
    assert [len(own) for own in model.predict(parts)] == [90, 41, 60]
    assert model.score(parts) == pytest.approx(joined.score(np.concatenate(parts)))
    assert LogModel().fit(parts).score(parts) == pytest.approx(
        LogModel().fit(np.concatenate(parts)).score(np.concatenate(parts))
    )


@pytest.mark.parametrize("stride", [None, 6])
def test_windows_of_baselines_are_those_of_each_recording(parts, stride):
    model = WindowLogModel(20, stride=stride, rescale=False).fit(parts)
    alone = [WindowLogModel(20, stride=stride, rescale=False).fit(part) for part in parts]
    np.testing.assert_allclose(model.atoms_, np.concatenate([one.atoms_ for one in alone]))
    found = model.instantaneous_graphs(parts)
    for number, one in enumerate(alone):
        weights = one.instantaneous_graphs().weights
        np.testing.assert_allclose(found.of_recording(number).weights, weights)


def test_graphs_of_tgfa_change_freely_between_recordings(parts):
    settings = {"window_size": 20, "alpha_diff": 0.5, "beta": 1.0, "tol": 1e-8, "rescale": False}
    for penalty in ("l1", "l2"):
        model = TGFA(penalty=penalty, max_iter=5000, **settings).fit(parts[:2])
        alone = [TGFA(penalty=penalty, max_iter=5000, **settings).fit(p) for p in parts[:2]]
        together = np.concatenate([one.atoms_ for one in alone])
        np.testing.assert_allclose(model.atoms_, together, atol=1e-4)


def paths(model, part, window):
    """Log-probability of every path of windows of a recording, written out."""
    chances, stay = model.pattern_probabilities_, model.stay_probability_
    starts = range(0, len(part), window)
    rows = [densities(model, part[start : start + window]).sum(axis=0) for start in starts]
    logs = {}
    for path in product(range(len(chances)), repeat=len(rows)):
        value = np.log(chances[path[0]]) + rows[0][path[0]]
        for b in range(1, len(rows)):
            move = (1 - stay) * chances[path[b]] + stay * (path[b] == path[b - 1])
            value += np.log(move) + rows[b][path[b]]
        logs[path] = value
    return logs


def densities(model, part):
    """``log p(x | pattern)`` (T, C) of the Gaussian with the pattern's Laplacian as precision."""
    signals = part - part.mean(axis=1, keepdims=True)
    signals = signals / model.scale_
    found = []
    for pattern in model.patterns_:
        laplacian = graphs.laplacian(pattern.astype(float) @ model.atoms_)
        values = np.linalg.eigvalsh(laplacian)[1:]
        energy = np.einsum("ti,ij,tj->t", signals, laplacian, signals)
        found.append((np.log(values).sum() - energy - len(values) * np.log(2 * np.pi)) / 2)
    return np.stack(found, axis=1)


@pytest.mark.parametrize("window", [1, 3])
def test_chains_begin_anew_with_each_recording(parts, window):
    model = GraphDictMarginal(
        2, prior="markov", window_size=window, sparsity=0, n_init=2, **PLAIN, **FEW,
    )  # fmt: skip
    model.fit([part[:40] for part in parts])
    assert 0 < model.stay_probability_ < 1
    short = [parts[0][:7], parts[1][:3], parts[2][:1]]
    coefficients, best = model.transform(short), model.predict(short)
    scores = model.score_samples(short)
    for part, own, states, values in zip(short, coefficients, best, scores, strict=True):
        logs = paths(model, part, window)
        total = np.logaddexp.reduce(list(logs.values()))
        assert values.sum() == pytest.approx(total, rel=1e-8)
        expected = np.zeros((-(-len(part) // window), 2))
        for path, value in logs.items():
            expected += np.exp(value - total) * model.patterns_[list(path)]
        np.testing.assert_allclose(own, expected.repeat(window, 0)[: len(part)], atol=1e-8)
        likeliest = np.array(max(logs, key=logs.get))
        np.testing.assert_array_equal(states, likeliest.repeat(window)[: len(part)])


@pytest.mark.parametrize("window", [1, 4])
def test_chains_are_the_same_however_samples_are_cut(parts, window, monkeypatch):
    given = {"prior": "markov", "window_size": window, "n_init": 1, **PLAIN}
    many = [part[start : start + 13] for part in parts for start in range(0, len(part), 13)]
    model = GraphDictMarginal(2, **given, **FEW).fit(many)
    path, coefficients = model.predict(many), model.transform(many)
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 400)
    monkeypatch.setattr(blocks, "SHARDS", 7)
    cut = GraphDictMarginal(2, **given, **FEW).fit(many)
    np.testing.assert_allclose(cut.atoms_, model.atoms_, rtol=1e-6, atol=1e-9)
    assert cut.stay_probability_ == pytest.approx(model.stay_probability_)
    for one, other in zip(model.transform(many), coefficients, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)
    for one, other in zip(model.predict(many), path, strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_chance_to_stay_counts_steps_within_recordings():
    """Two states, each recording in one of them: every step stays, and no step is between."""
    rng = np.random.default_rng(1)
    mixing = [rng.standard_normal((4, 4)) for _ in range(2)]
    many = [rng.standard_normal((30, 4)) @ mixing[i % 2].T for i in range(12)]
    given = {"prior": "markov", "n_init": 2, **PLAIN}
    apart = GraphDictMarginal(2, random_state=0, **given).fit(many)
    joined = GraphDictMarginal(2, random_state=0, **given).fit(np.concatenate(many))
    assert apart.stay_probability_ > 0.995
    assert joined.stay_probability_ < 0.98


def test_total_variation_has_no_term_across_ends():
    rng = np.random.default_rng(0)
    values = rng.standard_normal((9, 2))
    term, whole = TotalVariation(0.7, starts=(3, 4)), TotalVariation(0.7)
    parts = np.split(values, [3, 4])
    assert term.value(values) == pytest.approx(sum(whole.value(part) for part in parts))
    np.testing.assert_allclose(
        term.prox(values, 0.5), np.concatenate([whole.prox(part, 0.5) for part in parts])
    )


def test_coefficients_jump_freely_between_recordings(parts):
    model = GraphDictLog(2, alpha_diff=5.0, tol=1e-6, max_iter=3000, random_state=0)
    model.fit(parts)
    for own, part in zip(model.transform(parts), parts, strict=True):
        np.testing.assert_allclose(own, model.transform(part), atol=2e-3)
    joined = model.transform(np.concatenate(parts))
    found = np.concatenate(model.transform(parts))
    ends = np.cumsum([len(part) for part in parts])[:-1]
    jumps = [np.abs(np.diff(each, axis=0))[ends - 1].sum() for each in (found, joined)]
    assert jumps[0] > jumps[1] + 0.05


def test_trees_of_time_divide_each_recording():
    """Windows of the same number share a graph: as if samples had been sorted by window."""
    rng = np.random.default_rng(0)
    parts = [rng.standard_normal((length, 5)) for length in (40, 24, 64)]
    mixed = np.concatenate([part[len(part) * w // 4 :][: len(part) // 4] for w in range(4)
                            for part in parts])  # fmt: skip
    model = GraphDictHier(2, tol=1e-8, max_iter=3000).fit(parts)
    whole = GraphDictHier(2, tol=1e-8, max_iter=3000).fit(mixed)
    np.testing.assert_allclose(model.atoms_, whole.atoms_, atol=1e-5)
    assert model.score(parts) == pytest.approx(whole.score(mixed))
    for own in model.recordings_.split(model.coefficients_):
        np.testing.assert_array_equal(
            own[:, 3:].argmax(axis=1), np.arange(len(own)) * 4 // len(own)
        )
    graphs = model.instantaneous_graphs([parts[1], parts[0]])
    np.testing.assert_array_equal(graphs.coefficients[:24], model.recordings_.split(
        model.coefficients_)[1])  # fmt: skip
    with pytest.raises(ValueError, match="recording '1' has 3 samples, fewer than the 4 windows"):
        model.score([parts[0], parts[1][:3]])


def test_hierarchies_of_time_begin_anew_in_each_recording(parts):
    model = GraphDictMarginal(3, prior="hierarchy", max_iter=3, random_state=0).fit(parts)
    alone = [model.transform(part) for part in parts]
    for own, found in zip(model.transform(parts), alone, strict=True):
        np.testing.assert_allclose(own, found)
    lengths = [len(part) for part in parts]
    expected = np.average([model.score(part) for part in parts], weights=lengths)
    assert model.score(parts) == pytest.approx(expected)


def test_a_list_of_rows_is_one_array(parts):
    model = GraphDictLog(2, **FEW).fit(parts[0].tolist())
    assert model.recordings_ == Recordings(("0",), (90,))
    assert isinstance(model.transform(parts[0].tolist()), np.ndarray)
    assert isinstance(model.transform(list(parts[0])), np.ndarray)
    assert [len(own) for own in model.transform([part.tolist() for part in parts])] == [90, 41, 60]


def test_nodes_are_matched_by_name(parts):
    columns = list("abcde")
    frames = [pd.DataFrame(part, columns=columns) for part in parts]
    joined = GraphDictMarginal(2, n_init=1, **PLAIN, **FEW).fit(pd.concat(frames))
    frames[1] = frames[1][["e", "c", "a", "b", "d"]]
    model = GraphDictMarginal(2, n_init=1, **PLAIN, **FEW).fit(frames)
    np.testing.assert_array_equal(model.atoms_, joined.atoms_)
    assert list(model.feature_names_in_) == columns
    shuffled = model.transform([frames[2][list("dbeca")]])[0]
    np.testing.assert_array_equal(shuffled, model.transform(frames[2]))


def test_nodes_that_a_recording_lacks_are_missing_values(parts):
    frames = [pd.DataFrame(part, columns=list("abcde")) for part in parts]
    with_gaps = [frames[0], frames[1][["b", "a", "c"]], frames[2].assign(f=parts[2][:, 0] ** 2)]
    whole = pd.concat(with_gaps)[list("abcdef")]
    assert whole.isna().any().any()
    with pytest.warns(MissingNodeWarning, match=r"2 of 3 .*'0' lacks 'f'; '1' lacks 'd', 'e', 'f'"):
        model = GraphDictLog(2, **FEW).fit(with_gaps)
    np.testing.assert_array_equal(model.atoms_, GraphDictLog(2, **FEW).fit(whole).atoms_)
    with pytest.warns(MissingNodeWarning, match="'0' lacks"):
        model.transform([frames[0]])
    with pytest.raises(ValueError, match=r"takes no missing values: '0' lacks 'f'"):
        GLMM(2).fit(with_gaps)


def test_a_table_says_which_recording_a_row_is_of(parts):
    """By a column, or a level of its index, as tables of results have it; rows may alternate."""
    frames = {name: pd.DataFrame(part, columns=list("abcde")) for name, part in zip("xyz", parts)}
    expected = GraphDictLog(2, **FEW).fit(frames)
    table = pd.concat(frames, names=["recording", "sample"])
    mixed = table.reset_index("recording").sort_index(kind="stable")
    for given in (table, mixed):
        model = GraphDictLog(2, **FEW).fit(given)
        np.testing.assert_array_equal(model.atoms_, expected.atoms_)
        assert model.recordings_ == expected.recordings_
        assert list(model.feature_names_in_) == list("abcde")
        for own, part in zip(model.transform(given), frames.values(), strict=True):
            np.testing.assert_array_equal(own, expected.transform(part))


def test_errors_name_the_recording(parts):
    model = GraphDictLog(2, **FEW)
    frames = {name: pd.DataFrame(parts[0][:, :3], columns=list(name)) for name in ("abc", "bcd")}
    other = pd.DataFrame(parts[1][:, :2], columns=["x", "y"])
    cases = {
        "recording '1' has 4 nodes and recording '0' has 5": [parts[0], parts[1][:, :4]],
        "recording 'xy' has no node in common": {**frames, "xy": other},
        "recording '1' has no names of nodes and recording '0' has": [other, parts[0]],
        "recording '1': .*0 sample": [parts[0], parts[1][:0]],
        "recording '1': .*Expected 2D array, got 1D": [parts[0], parts[1][:, 0]],
        "recording 'b': column 'y' of X holds 'no'": {"b": other.assign(y="no"), "c": other},
        "recording '0': two columns are called 'x'": [other.set_axis(["x", "x"], axis=1)],
        "recordings 'l', 'm' have no node in common.* are 'x', 'y', those": {
            **frames,
            "k": frames["abc"],
            "l": other,
            "m": other,
        },
        "recording 'xy' has no node in common.* are 'x', 'y', those": {"xy": other, **frames},
        "infinity in row 4, column 'x' of recording 'b'": {
            "a": other,
            "b": other.replace(other.iloc[4, 0], np.inf),
        },
        "column 'recording' is empty": other.assign(recording=None),
        "X holds no recordings": {},
        "two recordings are called '1'": {1: parts[0], "1": parts[1]},
    }
    for message, given in cases.items():
        with pytest.raises(ValueError, match=message):
            model.fit(given)
    model.fit(frames["abc"])
    with pytest.raises(ValueError, match=r"recording 'z' has node\(s\) 'd' that the model was not"):
        model.transform({"z": frames["bcd"]})
    with pytest.raises(ValueError, match="expecting 5 features"):
        GraphDictLog(2, **FEW).fit(parts).transform([parts[0][:, :3]])
    with pytest.raises(ValueError, match="larger than the 90 samples of the longest of 3"):
        GraphDictLog(2, window_size=91).fit(parts)


@pytest.mark.parametrize("make", [MODELS["marginal"], MODELS["log"]], ids=["marginal", "log"])
def test_each_recording_may_have_a_loudness_of_its_own(make, parts):
    quiet = make(rescale="recording").fit(parts)
    loud = [gain * part for gain, part in zip((1e-3, 1.0, 50.0), parts, strict=True)]
    model = make(rescale="recording").fit(loud)
    np.testing.assert_allclose(model.atoms_, quiet.atoms_, rtol=1e-6, atol=1e-9)
    assert model.scale_ == pytest.approx(1)
    for one, other in zip(model.transform(loud), quiet.transform(parts), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
    centred = [part - part.mean(axis=1, keepdims=True) for part in parts]
    by_hand = make().fit([part / np.sqrt(np.mean(part**2)) for part in centred])
    np.testing.assert_allclose(model.atoms_, by_hand.atoms_, rtol=1e-6, atol=1e-9)
    with pytest.raises(ValueError, match="recording '1' cannot be divided by its own size"):
        make(rescale="recording").fit([parts[0], np.ones((5, 5))])


@pytest.mark.parametrize("make", [MODELS["marginal"], MODELS["log"]], ids=["marginal", "log"])
def test_recordings_on_disk_are_read_part_by_part(make, parts, tmp_path):
    maps = []
    for number, part in enumerate(parts):
        np.save(tmp_path / f"{number}.npy", part)
        maps.append(np.load(tmp_path / f"{number}.npy", mmap_mode="r"))
    for more in ({}, {"window_size": 4}, {"rescale": "recording"}):
        expected = make(**more).fit(parts)
        with sklearn.config_context(working_memory=0.001):
            model = make(**more).fit(maps)
            found = model.transform(maps)
        np.testing.assert_allclose(model.atoms_, expected.atoms_, rtol=1e-9, atol=1e-12)
        for own, other in zip(found, expected.transform(parts), strict=True):
            np.testing.assert_allclose(own, other, atol=1e-9)


@pytest.mark.parametrize("make", [MODELS["marginal"], MODELS["log"]], ids=["marginal", "log"])
def test_a_stream_takes_recordings(make, parts):
    model = make(window_size=4).partial_fit(parts)
    same = make(window_size=4).fit(parts)
    assert model.recordings_ == same.recordings_
    np.testing.assert_allclose(model.coefficients_, same.coefficients_, atol=0.3)
    model.partial_fit(parts[:2])
    assert model.n_samples_seen_ == 322
    assert len(model.coefficients_) == model.recordings_.total


@pytest.mark.parametrize("make", [MODELS["marginal"], MODELS["log"]], ids=["marginal", "log"])
def test_recordings_that_come_one_by_one_in_a_stream_stay_apart(make, parts):
    """One array goes on where the one before it ended; recordings, of which one comes, do not."""
    whole = make(window_size=4).fit(parts[1:])
    for batches, lengths in (([[p] for p in parts[1:]], (41, 60)), (parts[1:], (101,))):
        model = make(window_size=4)
        for batch in batches:
            model.partial_fit(batch)
        assert model.recordings_.lengths == lengths
        if len(lengths) > 1:
            np.testing.assert_allclose(model.atoms_, whole.atoms_)


def test_saved_models_keep_their_recordings(parts, tmp_path):
    model = GraphDictLog(2, **FEW).fit({"ann": parts[0], "bob": parts[1]})
    model.save(tmp_path / "model.npz")
    assert load_model(tmp_path / "model.npz").recordings_ == model.recordings_
    single = GraphDictLog(2, **FEW).fit(parts[0])
    single.save(tmp_path / "single.npz")
    assert load_model(tmp_path / "single.npz").recordings_ == Recordings(("0",), (90,))


def test_a_checkpoint_belongs_to_its_recordings(parts, tmp_path, monkeypatch):
    settings = {"checkpoint": tmp_path / "fit", "window_size": 4, **FEW}
    X = np.concatenate(parts)
    monkeypatch.setattr("graphdict.engine.checkpoint.SECONDS", 0)

    def kill(progress):
        if progress.iteration >= 5:
            raise KeyError("killed")

    with pytest.raises(KeyError):
        GraphDictLog(2, callback=kill, **settings).fit([X[:50], X[50:]])
    assert (tmp_path / "fit").exists()
    with pytest.raises(CheckpointError, match="data"):
        GraphDictLog(2, **settings).fit([X[:51], X[51:]])
    GraphDictLog(2, **settings).fit([X[:50], X[50:]])


def test_tables_tell_the_recording_of_a_sample(parts):
    model = GraphDictLog(2, **FEW).fit({"ann": parts[0], "bob": parts[1]})
    found = model.instantaneous_graphs()
    assert "131 samples of 2 recordings" in repr(found)
    table = found.to_pandas()
    assert table.index.names == ["recording", "sample"]
    own = table.loc["bob"].loc[40]
    whole = model.instantaneous_graphs(parts[1])[40].to_pandas()
    np.testing.assert_allclose(own["weight"], whole["weight"], rtol=1e-6)
    np.testing.assert_array_equal(found[[130]].to_pandas().index[0], ("bob", 40))
    index = sample_index(model.recordings_)
    assert index[90] == ("bob", 0)
    assert "sample" in model.instantaneous_graphs(parts[0]).to_pandas().columns


@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_no_table_is_made_of_several_recordings(container):
    parts = [np.random.default_rng(i).standard_normal((30 + i, 4)) for i in range(2)]
    model = GraphDictMarginal(1, n_init=1, max_iter=2, random_state=0).fit(parts)
    model.set_output(transform=container)
    with pytest.raises(ValueError, match=f'several recordings returns a list.*"{container}"'):
        model.transform(parts)
    assert len(model.set_output(transform="default").transform(parts)) == 2


def test_recordings_of_mne_have_breaks_and_one_rate(parts):
    """Bad samples and bad channels are left out, and nothing crosses what is left out."""
    mne = pytest.importorskip("mne")

    def raw(part, rate=100.0):
        return mne.io.RawArray(
            1e-6 * part.T, mne.create_info(list("abcde"), rate, "eeg"), 0, "auto", 0
        )

    first, second = raw(parts[0]), raw(parts[1])
    first.set_annotations(mne.Annotations([0.3], [0.1], ["BAD_blink"]))
    second.info["bads"] = ["b"]
    with pytest.warns(MissingNodeWarning, match="'y' lacks 'b'"):
        model = MODELS["marginal"](prior="markov").fit({"x": first, "y": second})
    assert model.recordings_ == Recordings(("x", "y"), (80, 41), (30,))
    kept = [pd.DataFrame(part, columns=list("abcde")) for part in (parts[0][:30], parts[0][40:])]
    expected = np.concatenate(model.transform(kept))
    np.testing.assert_allclose(model.transform({"x": first})[0], expected, atol=1e-12)
    with pytest.raises(ValueError, match="'x' has 100 samples a second and recording 'y' has 250"):
        GraphDictLog(2).fit({"x": first, "y": raw(parts[1], 250.0)})
