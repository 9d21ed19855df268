"""GraphDictHier on signals read in parts and on a real cluster: the same as in memory."""

import numpy as np
import pytest
import sklearn
from places import as_array, as_dask, as_map, as_zarr, sizes_gathered

from graphdict import GraphDictHier
from graphdict.core.graph_learning.windows import active_nodes, even_counts
from graphdict.core.terms.signal_terms import window_distances
from graphdict.engine import window_sums
from graphdict.exceptions import ConvergenceWarning, InterruptedFitWarning

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings(f"ignore::{ConvergenceWarning.__module__}.ConvergenceWarning"),
]
SAMPLES, NODES = 310, 6
MODELS = {
    "exact": GraphDictHier(3, max_iter=25),
    "log-degree": GraphDictHier(
        n_windows=5, likelihood="log-degree", avg_degree=2, max_iter=25
    ),
}  # fmt: skip


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr("graphdict.engine.signals.BLOCK_BYTES", 2500)  # not along windows
    monkeypatch.setattr(window_sums, "PAIR_BYTES", 8 * 15 * 11)


@pytest.fixture(scope="module")
def signals():
    rng = np.random.default_rng(0)
    mixing = np.repeat(rng.standard_normal((5, NODES, NODES)), SAMPLES // 5, axis=0)
    found = np.einsum("tij,tj->ti", mixing, rng.standard_normal((SAMPLES, NODES)))
    found[:62, 2] = 0  # silent in the first window of five
    return found


@pytest.fixture(scope="module")
def gappy(signals):
    holes = np.random.default_rng(1).uniform(size=signals.shape) < 0.1
    return np.where(holes, np.nan, signals)


@pytest.fixture
def little_memory():
    with sklearn.config_context(working_memory=SAMPLES * NODES * 2 / 2**20):
        yield


def everything(model, X):
    model = sklearn.clone(model).fit(X)
    learned = "atoms_", "coefficients_", "objective_", "scale_", "n_iter_", "beta_"
    graphs = model.instantaneous_graphs(X).coefficients
    return [*(getattr(model, name) for name in learned), model.score(X), graphs]


def assert_same(found, wanted):
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("windows", [1, 5, 7, SAMPLES])
@pytest.mark.parametrize("which", ["signals", "gappy"])
def test_sums_over_windows_are_those_of_whole_windows(which, windows, request):
    X = request.getfixturevalue(which)
    counts = even_counts(SAMPLES, windows)
    wanted = window_distances(X, counts)
    np.testing.assert_allclose(window_sums.mean_distances(X, counts), wanted, rtol=1e-10)
    np.testing.assert_array_equal(window_sums.active_windows(X, counts), active_nodes(X, counts))


@pytest.mark.parametrize("name", MODELS)
def test_the_score_is_the_mean_over_samples(signals, name):
    """By the formula, sample by sample, whatever the windows."""
    from graphdict.core.gaussian import log_likelihoods

    model = sklearn.clone(MODELS[name]).fit(signals)
    prepared, _ = model._prepare(signals)
    energies = model._energies(prepared, model.atoms_, None)
    coefficients = model.coefficients_
    if name == "exact":
        logs = log_likelihoods(energies, coefficients, model.atoms_)
    else:
        degrees = np.einsum("tk,kn->tn", coefficients, _degrees(model.atoms_))
        degrees = np.maximum(degrees, 1e-9 * degrees.max())  # as in the first window
        logs = np.log(degrees).sum(axis=1) - (NODES - 1) * np.log(2 * np.pi)
        logs = (logs - np.einsum("tk,tk->t", coefficients, energies)) / 2
    assert model.score(signals) == pytest.approx(logs.mean(), rel=1e-9)


def _degrees(atoms):
    from graphdict.graphs import degrees

    return degrees(atoms)


@pytest.mark.parametrize("which", ["signals", "gappy"])
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("kind", [as_map, as_zarr, as_dask, as_array], ids=lambda f: f.__name__)
def test_the_result_is_that_of_an_array_in_memory(tmp_path, kind, name, which, request):
    X = request.getfixturevalue(which)
    wanted = everything(MODELS[name], X)
    request.getfixturevalue("little_memory")
    assert_same(everything(MODELS[name], kind(X, tmp_path)), wanted)


@pytest.mark.parametrize("name", MODELS)
def test_the_cut_changes_nothing_but_rounding(signals, name, monkeypatch):
    wanted = everything(MODELS[name], signals)
    monkeypatch.setattr("graphdict.engine.signals.BLOCK_BYTES", 1 << 24)
    monkeypatch.setattr(window_sums, "PAIR_BYTES", 1 << 22)
    for one, other in zip(everything(MODELS[name], signals), wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-9)


def test_coefficients_that_are_too_large_are_in_a_file(signals, little_memory):
    model = sklearn.clone(MODELS["exact"]).fit(signals)
    assert isinstance(model.coefficients_, np.memmap)
    np.testing.assert_array_equal(model.coefficients_.sum(axis=1), 4)  # root, ..., leaf


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0",
        silence_logs=50, memory_limit=0,
    ) as cluster:  # fmt: skip
        yield cluster


@pytest.fixture
def client(cluster):
    from distributed import Client

    with Client(cluster) as client:
        client.wait_for_workers(2)
        yield client


def spread(signals):
    return pytest.importorskip("dask.array").from_array(signals, chunks=(50, 4))


@pytest.mark.parametrize(
    ("name", "which"), [("exact", "signals"), ("exact", "gappy"), ("log-degree", "signals")]
)
def test_the_result_is_that_of_one_machine(client, name, which, request):
    X = request.getfixturevalue(which)
    assert_same(everything(MODELS[name], spread(X)), everything(MODELS[name], X))


def test_only_sums_travel(client, signals):
    array = spread(signals).persist()
    sizes = sizes_gathered(client)
    sklearn.clone(MODELS["exact"]).fit(array)
    assert sizes
    assert max(sizes) <= 8 * NODES**2


@pytest.mark.parametrize("name", MODELS)
def test_ctrl_c_gives_the_best_so_far_and_the_checkpoint_goes_on(signals, tmp_path, name):
    whole = sklearn.clone(MODELS[name]).fit(signals)

    def interrupt(progress):
        assert progress.atoms.shape == whole.atoms_.shape
        if progress.iteration == 15:
            raise KeyboardInterrupt

    path = tmp_path / "here"
    model = sklearn.clone(MODELS[name]).set_params(checkpoint=path, callback=interrupt)
    with pytest.warns(InterruptedFitWarning):
        model.fit(signals)
    assert path.exists()
    assert np.isfinite(model.objective_)
    seen = []
    model.set_params(callback=lambda progress: seen.append(progress.iteration)).fit(signals)
    assert min(seen) == 15
    assert not path.exists()
    np.testing.assert_array_equal(model.atoms_, whole.atoms_)
    np.testing.assert_array_equal(model.history_["objective"], whole.history_["objective"])


def test_a_callback_stops_it(signals, recwarn):
    model = sklearn.clone(MODELS["exact"]).set_params(callback=lambda p: p.iteration == 4)
    assert model.fit(signals).n_iter_ == 4
    assert not recwarn.list
