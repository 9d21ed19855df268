"""A real cluster of processes: the same result as here, whoever dies, and clear words otherwise."""

import os
import signal

import numpy as np
import pytest
import sklearn
from places import sizes_gathered

import graphdict
from graphdict import GraphDictLog, GraphDictSpectral, GraphDictSpectralRelaxed
from graphdict.engine import executor as blocks
from graphdict.engine.cluster import bundle_size
from graphdict.exceptions import ClusterError, ConvergenceWarning, SilentNodeWarning

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")
SAMPLES, NODES = 240, 6


def make_cluster():
    return distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0",
        silence_logs=50, memory_limit=0,
    )  # fmt: skip


@pytest.fixture(scope="module")
def cluster():
    with make_cluster() as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as client:
        client.wait_for_workers(2)
        yield client


@pytest.fixture(autouse=True)
def several_parts(monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_BYTES", SAMPLES * NODES * 3 * 8 // 10)
    monkeypatch.setattr(blocks, "SHARDS", 5)


@pytest.fixture(autouse=True)
def large_signals():
    """Signals are larger than ``working_memory``, else those with tied samples would come here."""
    with sklearn.config_context(working_memory=SAMPLES * NODES / (1 << 20)):
        yield


@pytest.fixture(scope="module")
def signals():
    rng = np.random.default_rng(0)
    return rng.standard_normal((SAMPLES, NODES)) @ rng.standard_normal((NODES, NODES))


def spread(signals, rows=50):
    return da.from_array(signals, chunks=(rows, -1))


def assert_same(model, array, signals, tolerance=1e-12, of_coefficients=None):
    there = model.fit(array)
    found = there.atoms_, there.objective_, there.n_iter_, there.scale_
    coefficients = there.coefficients_
    here = model.set_params(callback=None).fit(signals)
    wanted = here.atoms_, here.objective_, here.n_iter_, here.scale_
    for one, other in zip(found, wanted):
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)
    near = tolerance if of_coefficients is None else of_coefficients
    np.testing.assert_allclose(coefficients, here.coefficients_, rtol=near, atol=near)


@pytest.mark.parametrize(
    ("model", "settings"),
    [
        (GraphDictLog, {"solver": "mm", "alpha_orth": 0.1}),
        (GraphDictLog, {"solver": "bipds", "init": "discrete"}),
        (GraphDictSpectral, {"window_size": 7, "init": "uniform"}),
        (GraphDictLog, {"alpha_diff": 2.0, "alpha_c": 0.1, "window_size": 8}),
    ],
)
def test_the_result_is_that_of_one_machine(client, signals, model, settings):
    model = model(3, max_iter=3, random_state=0, **settings)
    assert_same(model, spread(signals), signals)


@pytest.mark.parametrize(
    ("model", "settings"),
    [
        (GraphDictLog, {"solver": "mm"}),
        (GraphDictLog, {"solver": "bipds", "alpha_diff": 0.5}),
        (GraphDictSpectralRelaxed, {"window_size": 4}),
        (GraphDictSpectral, {"window_size": 4}),
    ],
)
def test_missing_values_are_handled_there_as_here(client, signals, model, settings):
    gappy = np.where(np.random.default_rng(1).random(signals.shape) < 0.1, np.nan, signals)
    # The objective of shared spectra is flat in coefficients near 1: rounding, which depends on the
    # compiler, moves them within what their search calls the same.
    flat = model is GraphDictSpectral
    model = model(3, max_iter=3, random_state=0, **settings)
    assert_same(model, spread(gappy), gappy, 1e-10 if flat else 1e-12, 1e-5 if flat else 1e-12)
    near = 1e-5 if flat else 1e-9
    np.testing.assert_allclose(model.transform(spread(gappy)), model.transform(gappy), atol=near)


@pytest.mark.parametrize("threads", [1, 2, 7, 40])
def test_bundles_are_about_as_many_as_threads(threads):
    for parts in (1, 5, 16, 64, 70, 5000):
        size = bundle_size(parts, threads)
        assert blocks.SUMS_AT_A_TIME % size == 0
        assert size == 1 or parts / size >= 2 * threads


def test_sums_of_bundles_are_those_of_parts(client, signals, monkeypatch):
    """Many parts, not all bundles full: added in the same order, bit by bit."""
    monkeypatch.setattr(blocks, "BLOCK_BYTES", SAMPLES * NODES * 3 * 8 // 90)
    monkeypatch.setattr(blocks, "SHARDS", 80)
    model = GraphDictLog(3, max_iter=2, random_state=0)
    atoms = model.fit(spread(signals)).atoms_
    np.testing.assert_array_equal(atoms, model.fit(signals).atoms_)


@pytest.mark.parametrize("model", [GraphDictLog, GraphDictSpectral])
def test_compiled_passes_are_taken_there_too(client, signals, model):
    """Else the last bits would differ."""
    model = model(3, solver="bipds", max_iter=20, tol=0, random_state=0)
    atoms = model.fit(spread(signals)).atoms_
    np.testing.assert_array_equal(atoms, model.fit(signals).atoms_)


def test_chunks_that_split_columns_single_precision_and_silent_nodes(client, signals):
    signals = signals.astype(np.float32)
    signals[:, 2] = 1
    array = da.from_array(signals, chunks=(70, 2))
    model = GraphDictLog(2, max_iter=2, random_state=0)
    with pytest.warns(SilentNodeWarning):
        assert_same(model, array, signals)
    assert model.atoms_.dtype == np.float32


def test_new_signals_are_coded_and_scored_there(client, signals, tmp_path):
    model = GraphDictLog(2, max_iter=2, random_state=0).fit(signals)
    array = spread(signals)
    np.testing.assert_allclose(model.transform(array), model.transform(signals), atol=1e-12)
    written = model.transform(array, out=tmp_path / "coefficients.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "coefficients.npy"), written)
    assert model.score(array) == pytest.approx(model.score(signals), rel=1e-12)


def test_only_small_things_travel(client, signals):
    """Signals go to the workers and coefficients come back once; passes move neither."""
    array = spread(signals).persist()
    sizes = sizes_gathered(client)
    GraphDictLog(3, max_iter=4, tol=0, random_state=0).fit(array)
    assert len(sizes) > 20
    assert max(sizes) <= max(3 * NODES**2, SAMPLES // 5)


def test_tied_samples_that_fit_into_memory_come_here_once(client, signals):
    array = spread(signals).persist()
    model = GraphDictLog(3, tol=0, random_state=0, alpha_diff=2.0)
    counts = []
    for iterations in (4, 40):
        sizes = sizes_gathered(client)
        with sklearn.config_context(working_memory=1024), pytest.warns(ConvergenceWarning):
            there = model.set_params(max_iter=iterations).fit(array).atoms_
        counts.append(len(sizes))
    assert counts[0] == counts[1]
    with pytest.warns(ConvergenceWarning):
        np.testing.assert_array_equal(there, model.fit(signals).atoms_)


def kill_one(client):
    """End a worker as the system would when memory runs out."""
    os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)


@pytest.mark.parametrize("settings", [{"solver": "mm"}, {"alpha_diff": 2.0, "window_size": 8}])
def test_workers_that_die_or_join_change_nothing(signals, settings):
    with make_cluster() as cluster, distributed.Client(cluster) as client:

        def disturb(progress):
            if progress.iteration in (3, 10):
                kill_one(client)
            if progress.iteration in (6, 20):
                cluster.scale(3)

        model = GraphDictLog(
            3, max_iter=8 if "solver" in settings else 20, tol=0, random_state=0,
            callback=disturb, **settings,
        )  # fmt: skip
        assert_same(model, spread(signals), signals)


def test_states_are_laid_down_and_outlive_every_worker(client, signals, monkeypatch):
    monkeypatch.setattr("graphdict.engine.cluster.PERSIST_EVERY", 8)
    model = GraphDictLog(3, max_iter=4, tol=0, random_state=0)
    assert_same(model, spread(signals), signals)


def test_a_lost_connection_is_said_and_a_checkpoint_goes_on(
    cluster, signals, tmp_path, monkeypatch
):
    monkeypatch.setattr("graphdict.engine.checkpoint.SECONDS", 0)
    path = tmp_path / "fit"
    settings = {"n_atoms": 3, "max_iter": 8, "tol": 0, "random_state": 0}
    client = distributed.Client(cluster)

    def leave(progress):
        if progress.iteration == 5:
            client.close()

    with pytest.raises(ClusterError, match="checkpoint="):
        GraphDictLog(**settings, checkpoint=path, callback=leave).fit(spread(signals))
    assert path.exists()
    seen = []
    with distributed.Client(cluster):
        model = GraphDictLog(
            **settings, checkpoint=path, callback=lambda p: seen.append(p.iteration)
        ).fit(spread(signals))
    assert min(seen) > 1
    whole = GraphDictLog(**settings).fit(signals)
    np.testing.assert_allclose(model.atoms_, whole.atoms_, rtol=1e-12)


def test_without_a_client_a_dask_array_is_read_here(signals):
    model = GraphDictLog(2, max_iter=2, random_state=0)
    assert_same(model, spread(signals), signals)


# Bad input ------------------------------------------------------------------------------------


def test_unknown_chunk_sizes_are_refused(client, signals):
    array = spread(signals)
    array = array[array[:, 0] > 0]
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        GraphDictLog(2).fit(array)


def test_missing_values_are_located(client, signals):
    signals = signals.copy()
    signals[123, 4] = np.inf
    with pytest.raises(ValueError, match="infinity in row 123, column 'x4'"):
        GraphDictLog(2).fit(spread(signals))


def test_workers_of_another_version_are_named(client, signals, monkeypatch):
    monkeypatch.setattr(graphdict, "__version__", "999.0")
    with pytest.raises(ClusterError, match=r"the Dask worker tcp://.* has graphdict .*install"):
        GraphDictLog(2).fit(spread(signals))


def test_a_closed_client_is_said(cluster, signals):
    with distributed.Client(cluster):
        array = spread(signals).persist()
    with pytest.raises(ClusterError, match="closed"):
        GraphDictLog(2).fit(array)


def test_a_client_that_is_closed_between_calls_is_said(cluster, signals):
    model = GraphDictLog(2, max_iter=1, random_state=0)
    with distributed.Client(cluster):
        array = spread(signals).persist()
        model.fit(array)
    with pytest.raises(ClusterError, match="closed"):
        model.transform(array)


def test_workers_without_the_package_are_named(client, signals, monkeypatch):
    monkeypatch.setattr("importlib.metadata.version", _no_such_package)
    with pytest.raises(ClusterError, match=r"the Dask worker tcp://.* has no graphdict; install"):
        GraphDictLog(2).fit(spread(signals))


def _no_such_package(name):
    raise ModuleNotFoundError(name)


def test_a_cluster_without_workers_is_said(signals):
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=":0", silence_logs=50) as cluster,
        distributed.Client(cluster),
        pytest.raises(ClusterError, match="no workers"),
    ):
        GraphDictLog(2).fit(spread(signals))


def test_a_list_of_arrays_is_several_recordings(client, signals):
    parts = [signals[:130], signals[130:]]
    model = GraphDictLog(2, max_iter=3, random_state=0, alpha_diff=2.0, window_size=8)
    assert_same(model, [spread(part) for part in parts], parts)
    assert model.recordings_.lengths == (130, SAMPLES - 130)
