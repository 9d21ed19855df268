"""Signals that are read when they are used: the same results, and never the whole in memory."""

import numpy as np
import pytest
import sklearn
from places import as_array, as_dask, as_map, as_zarr

from graphdict import GraphDictExact, GraphDictLog, GraphDictSpectral
from graphdict.engine import executor as blocks
from graphdict.engine import sources

SAMPLES, NODES = 400, 6


@pytest.fixture
def signals():
    rng = np.random.default_rng(0)
    return rng.standard_normal((SAMPLES, NODES)) @ rng.standard_normal((NODES, NODES))


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_BYTES", SAMPLES * NODES * 3 * 8 // 20)
    monkeypatch.setattr(blocks, "SHARDS", 7)
    monkeypatch.setattr("graphdict.engine.signals.BLOCK_BYTES", 3000)
    monkeypatch.setattr("graphdict.core.terms.signal_terms.CACHED_BYTES", 0)


@pytest.fixture
def little_memory():
    with sklearn.config_context(working_memory=SAMPLES * NODES * 2 / 2**20):
        yield


KINDS = [as_map, as_zarr, as_dask, as_array]
MODELS = [
    GraphDictLog(3, max_iter=6, random_state=0),
    GraphDictLog(3, max_iter=20, solver="bipds", random_state=0, init="uniform"),
    GraphDictSpectral(2, max_iter=6, random_state=0, window_size=7),
    GraphDictExact(2, max_iter=3, random_state=0),
]


def fitted(model, X):
    model = sklearn.clone(model).fit(X)
    return model.atoms_, model.coefficients_, model.objective_, model.transform(X), model.score(X)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_the_result_is_that_of_an_array_in_memory(signals, tmp_path, kind, model, request):
    wanted = fitted(model, signals)
    request.getfixturevalue("little_memory")
    for one, other in zip(fitted(model, kind(signals, tmp_path)), wanted):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def test_integers_and_slices_of_a_map(signals, tmp_path, little_memory):
    whole = as_map((1000 * signals).astype(np.int16), tmp_path)
    found = GraphDictLog(2, max_iter=3, random_state=0).fit(whole[100:])
    wanted = GraphDictLog(2, max_iter=3, random_state=0).fit(np.asarray(whole[100:], dtype=float))
    np.testing.assert_allclose(found.atoms_, wanted.atoms_, rtol=1e-12)


def test_no_part_is_read_for_a_pass_that_does_not_need_it(signals, tmp_path, little_memory):
    reads = []

    class Watched(sources.Rows):
        def __getitem__(self, rows):
            reads.append(rows.stop - rows.start)
            return super().__getitem__(rows)

    def fit(iterations):
        reads.clear()
        GraphDictLog(3, max_iter=iterations, tol=0, random_state=0).fit(
            Watched(as_map(signals, tmp_path))
        )
        return sum(reads)

    assert fit(4) - fit(2) <= 2 * 2 * SAMPLES  # twice an iteration where a long step is taken back
    assert max(reads) < SAMPLES / 4


def test_coefficients_go_to_a_file_as_they_come(signals, tmp_path, little_memory):
    model = GraphDictLog(2, max_iter=3, random_state=0, window_size=3).fit(signals)
    path = tmp_path / "coefficients.npy"
    written = model.transform(as_map(signals, tmp_path), out=path)
    np.testing.assert_array_equal(np.load(path), written)
    np.testing.assert_array_equal(written, model.transform(signals))
    assert [entry.name for entry in tmp_path.iterdir() if "part" in entry.name] == []
    target = np.empty((SAMPLES, 2))
    assert model.transform(signals, out=target) is target
    np.testing.assert_array_equal(target, written)
    with pytest.raises(ValueError, match=r"out must be a path or an array of shape \(400, 2\)"):
        model.transform(signals, out=np.empty((3, 2)))


def test_what_is_wrong_is_said_as_for_arrays(signals, tmp_path, little_memory):
    signals[321, 4] = np.inf
    with pytest.raises(ValueError, match="infinity in row 321, column 'x4'"):
        GraphDictLog(2).fit(as_map(signals, tmp_path))
    signals[321, 4] = 0
    model = GraphDictLog(2, max_iter=2).fit(as_map(signals, tmp_path))
    with pytest.raises(ValueError, match="6 features"):
        model.transform(as_map(signals[:, :5], tmp_path))


def test_pages_of_a_map_do_not_stay(tmp_path):
    """Resident pages of the file, before and after it is read as a whole."""
    smaps = tmp_path / "signals.npy"
    array = as_map(np.zeros((200_000, 8)), tmp_path)

    def resident():
        with open("/proc/self/smaps") as lines:
            text = lines.read().split(str(smaps))
        return sum(int(part.split("Rss:")[1].split()[0]) for part in text[1:])

    rows = sources.Rows(array)
    for start in range(0, len(rows), 10_000):
        rows[start : start + 10_000]
    assert resident() < array.nbytes / 1024 / 10
