"""GraphDictMarginal on signals read in parts and on a real cluster: the same as in memory."""

import os
import signal

import numpy as np
import pytest
import sklearn
from places import as_array, as_dask, as_map, as_zarr, sizes_gathered

from graphdict import GraphDictMarginal
from graphdict.engine import executor as blocks
from graphdict.engine import sources
from graphdict.engine.marginal import learn
from graphdict.exceptions import ConvergenceWarning, DeadAtomWarning

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings(f"ignore::{ConvergenceWarning.__module__}.ConvergenceWarning"),
    pytest.mark.filterwarnings(f"ignore::{DeadAtomWarning.__module__}.DeadAtomWarning"),
]
SAMPLES, NODES = 300, 6
SHORT = {"n_init": 1, "max_iter": 2, "random_state": 0}
MODELS = {
    "independent": GraphDictMarginal(3, **{**SHORT, "n_init": 2}),
    "free, in windows": GraphDictMarginal(3, prior="free", window_size=7, max_active=2, **SHORT),
    "markov": GraphDictMarginal(3, prior="markov", max_active=1, **SHORT),
    "markov, in windows": GraphDictMarginal(2, prior="markov", window_size=4, **SHORT),
    "filter and tails, graded": GraphDictMarginal(
        2, max_active=1, levels=2, filter_power=2, tails=5, **SHORT
    ),
    "hierarchy": GraphDictMarginal(3, prior="hierarchy", **SHORT),
}
each_model = pytest.mark.parametrize("name", MODELS)


@pytest.fixture(autouse=True)
def small_parts_and_a_short_search(monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_BYTES", SAMPLES * NODES * 8 // 10)
    monkeypatch.setattr(blocks, "SHARDS", 3)
    monkeypatch.setattr("graphdict.engine.marginal.samples.LARGER", 1)
    monkeypatch.setattr("graphdict.engine.signals.BLOCK_BYTES", 3000)
    monkeypatch.setattr("graphdict.core.marginal.random_rows.CHUNK", 64)
    monkeypatch.setattr("graphdict.core.marginal.imputation.LOOKED_AT", 128)
    short = {"ANNEALING_STEPS": 2, "TRIAL_STEPS": 2, "RULE_OUT_ROUNDS": 1, "PARENTS": 1}
    for name, value in short.items():
        monkeypatch.setattr(learn, name, value)


@pytest.fixture(scope="module")
def signals():
    """Three states that last, each with silent differences of its own."""
    rng = np.random.default_rng(0)
    mixing = rng.standard_normal((3, NODES, NODES))
    states = np.repeat(rng.integers(3, size=SAMPLES // 10), 10)
    return np.einsum("tij,tj->ti", mixing[states], rng.standard_normal((SAMPLES, NODES)))


@pytest.fixture(scope="module")
def gappy(signals):
    holes = np.random.default_rng(1).uniform(size=signals.shape) < 0.1
    return np.where(holes, np.nan, signals)


@pytest.fixture
def little_memory():
    with sklearn.config_context(working_memory=SAMPLES * NODES * 2 / 2**20):
        yield


def everything(model, X):
    """All that a user can get of a fit to ``X``."""
    model = sklearn.clone(model).fit(X)
    learned = (
        "atoms_", "coefficients_", "objective_", "pattern_probabilities_", "stay_probability_",
        "noise_", "scale_", "n_iter_", "log_likelihood_",
    )  # fmt: skip
    said = (
        model.transform(X), model.score_samples(X), model.predict_proba(X), model.predict(X),
    )  # fmt: skip
    return [*(getattr(model, name) for name in learned), *said]


def assert_same(found, wanted):
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


# Larger than memory ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *((name, as_map) for name in MODELS),
        ("free, in windows", as_zarr),
        ("independent", as_dask),
        ("markov, in windows", as_array),
    ],
)
def test_the_result_is_that_of_an_array_in_memory(signals, tmp_path, name, kind, request):
    wanted = everything(MODELS[name], signals)
    request.getfixturevalue("little_memory")
    assert_same(everything(MODELS[name], kind(signals, tmp_path)), wanted)


@pytest.mark.parametrize("name", ["independent", "markov", "hierarchy"])
def test_missing_values_are_summed_over_there_too(gappy, tmp_path, name, request):
    wanted = everything(MODELS[name], gappy)
    request.getfixturevalue("little_memory")
    assert_same(everything(MODELS[name], as_map(gappy, tmp_path)), wanted)


def test_the_cut_changes_nothing_but_rounding(signals, monkeypatch):
    """The same random starts and the same chain, in one block or in many."""
    model = MODELS["markov"]
    wanted = everything(model, signals)
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 1 << 21)
    for one, other in zip(everything(model, signals), wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-9)


@each_model
def test_signals_are_never_read_or_kept_as_a_whole(signals, tmp_path, little_memory, name):
    reads = []

    class Watched(sources.Rows):
        def __getitem__(self, rows):
            reads.append(rows.stop - rows.start)
            return super().__getitem__(rows)

    model = sklearn.clone(MODELS[name])
    model.fit(Watched(as_map(signals, tmp_path)))
    assert len(reads) > 50
    assert max(reads) <= SAMPLES / 2
    assert isinstance(model.coefficients_, np.memmap)  # on disk


def test_coefficients_go_to_a_file_as_they_come(signals, tmp_path, little_memory):
    model = sklearn.clone(MODELS["markov, in windows"]).fit(signals)
    path = tmp_path / "coefficients.npy"
    written = model.transform(as_map(signals, tmp_path), out=path)
    np.testing.assert_array_equal(np.load(path), written)
    np.testing.assert_allclose(written, model.coefficients_, atol=1e-12)


def test_a_callback_may_look_at_coefficients(signals, tmp_path, little_memory):
    shapes = []
    model = sklearn.clone(MODELS["markov"])
    model.set_params(callback=lambda p: shapes.append(p.coefficients.shape))
    model.fit(as_map(signals, tmp_path))
    assert set(shapes) == {(SAMPLES, 3)}


def test_progress_tells_of_the_search(signals, caplog):
    with caplog.at_level("DEBUG", logger="graphdict"):
        sklearn.clone(MODELS["independent"]).fit(signals)
    said = [record.getMessage() for record in caplog.records]
    assert sum("starts: iteration" in line for line in said) == 3  # two starts, then the better one
    assert any("EM: iteration" in line for line in said)


# On a cluster ---------------------------------------------------------------------------------


def make_cluster():
    distributed = pytest.importorskip("distributed")
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
    from distributed import Client

    with Client(cluster) as client:
        client.wait_for_workers(2)
        yield client


def spread(signals):
    return pytest.importorskip("dask.array").from_array(signals, chunks=(50, -1))


@pytest.mark.parametrize(
    ("name", "which"),
    [
        ("independent", "signals"),
        ("markov, in windows", "signals"),
        ("markov", "gappy"),
        ("filter and tails, graded", "signals"),
        ("hierarchy", "signals"),
    ],
)
def test_the_result_is_that_of_one_machine(client, name, which, request):
    X = request.getfixturevalue(which)
    assert_same(everything(MODELS[name], spread(X)), everything(MODELS[name], X))


def test_only_small_things_travel(client, signals):
    """Signals go to the workers and coefficients come back once; passes move neither."""
    array = spread(signals).persist()
    sizes = sizes_gathered(client)
    sklearn.clone(MODELS["markov"]).fit(array)
    assert len(sizes) > 20
    assert max(sizes) <= 3 * NODES**2


def test_workers_that_die_or_join_change_nothing(signals):
    from distributed import Client

    wanted = everything(MODELS["markov"], signals)
    with make_cluster() as cluster, Client(cluster) as client:
        calls = []

        def disturb(progress):
            calls.append(progress)
            if len(calls) in (2, 4):
                os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
            if len(calls) == 3:
                cluster.scale(3)

        model = sklearn.clone(MODELS["markov"]).set_params(callback=disturb)
        assert_same(everything(model, spread(signals)), wanted)
        assert len(calls) > 4


def test_a_lost_connection_is_said_and_a_checkpoint_goes_on(
    cluster, signals, tmp_path, monkeypatch
):
    from distributed import Client

    from graphdict.exceptions import ClusterError

    monkeypatch.setattr("graphdict.engine.checkpoint.SECONDS", 0)
    path = tmp_path / "fit"
    model = sklearn.clone(MODELS["markov"]).set_params(checkpoint=path)
    client = Client(cluster)

    def leave(progress):
        if progress.iteration == 2:
            client.close()

    with pytest.raises(ClusterError, match="checkpoint="):
        sklearn.clone(model).set_params(callback=leave).fit(spread(signals))
    assert path.exists()
    with Client(cluster):
        found = model.fit(spread(signals)).atoms_
    assert not path.exists()
    wanted = sklearn.clone(MODELS["markov"]).fit(signals).atoms_
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)
