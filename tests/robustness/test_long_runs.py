"""Many fits in one process, in many threads, in many processes: nothing leaks, nothing piles up."""

import gc
import os
import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from joblib import Parallel, delayed
from sklearn.base import clone
from strange import KINDS, plain

from graphdict import GraphDictLog, GraphDictMarginal, load_model
from graphdict.engine.blas import blas_threads, single_threaded_blas

X = np.random.default_rng(0).standard_normal((40, 5))
FITS = int(os.environ.get("GRAPHDICT_FITS", "110"))


def open_files():
    return len(list(Path("/proc/self/fd").iterdir())) if Path("/proc/self/fd").exists() else 0


@pytest.mark.filterwarnings("ignore::graphdict.exceptions.GraphDictWarning")
def test_hundreds_of_fits_leak_nothing(tmp_path):
    path = tmp_path / "model"

    def one(index):
        kind = KINDS[index % len(KINDS)]
        model = clone(plain(kind))
        if "max_iter" in model.get_params():
            model.set_params(max_iter=2)
        model.fit(X)
        if hasattr(model, "save"):
            model.save(path)
            load_model(path)

    for index in range(3 * len(KINDS)):  # what is compiled and cached once
        one(index)
    gc.collect()
    threads, files = threading.active_count(), open_files()
    tracemalloc.start()
    for index in range(len(KINDS)):
        one(index)
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    for index in range(FITS):
        one(index)
    gc.collect()
    growth = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert growth < 300 * FITS + 100_000  # bytes: less than any array of these fits, for each
    assert threading.active_count() <= threads
    assert open_files() <= files
    assert single_threaded_blas.depth == 0
    assert not single_threaded_blas.holders


def fit_one(seed):
    model = GraphDictLog(2, max_iter=10, random_state=seed).fit(X)
    other = GraphDictMarginal(2, n_init=1, max_iter=5, random_state=seed).fit(X)
    return model.atoms_, other.atoms_


@pytest.mark.filterwarnings("ignore::graphdict.exceptions.GraphDictWarning")
def test_fits_in_threads_are_those_of_one_thread():
    alone = [fit_one(seed) for seed in range(8)]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(fit_one, range(8)))
    for one, other in zip(alone, together):
        for a, b in zip(one, other):
            np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-12)
    assert single_threaded_blas.depth == 0


@pytest.mark.filterwarnings("ignore::graphdict.exceptions.GraphDictWarning")
def test_one_fitted_model_serves_many_threads():
    model = GraphDictLog(2, max_iter=10, random_state=0).fit(X)
    gappy = np.where(np.random.default_rng(1).random(X.shape) < 0.2, np.nan, X)
    expected = model.transform(X), model.transform(gappy)
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda i: model.transform((X, gappy)[i % 2]), range(24)))
    for index, coefficients in enumerate(found):
        np.testing.assert_allclose(coefficients, expected[index % 2], atol=1e-12)


def test_fits_at_the_same_time_share_the_threads():
    """Each holder in another thread leaves the others a smaller share, down to one."""
    alone = blas_threads()
    shares = []
    ready, done = threading.Barrier(4), threading.Event()

    def hold():
        with single_threaded_blas:
            ready.wait(10)
            done.wait(10)

    others = [threading.Thread(target=hold) for _ in range(3)]
    for thread in others:
        thread.start()
    ready.wait(10)
    shares.append(blas_threads())
    done.set()
    for thread in others:
        thread.join()
    assert shares == [max(1, alone // 4)]
    assert blas_threads() == alone


def in_worker(seed):
    return fit_one(seed)[0], blas_threads()


def test_processes_agree_and_do_not_oversubscribe():
    found = Parallel(n_jobs=2)(delayed(in_worker)(seed) for seed in range(4))
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    for seed, (atoms, threads) in enumerate(found):
        np.testing.assert_allclose(atoms, fit_one(seed)[0], rtol=1e-7, atol=1e-12)
        assert 2 * threads <= max(cores, 2)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_child_of_a_fork_holds_what_its_own_thread_held():
    """Threads that fit do not go on in a child, which must not wait for them to lift the limit."""
    alone = blas_threads()
    ready, done = threading.Event(), threading.Event()

    def hold():
        with single_threaded_blas:
            ready.set()
            done.wait(10)

    other = threading.Thread(target=hold)
    other.start()
    ready.wait(10)
    with single_threaded_blas:
        child = os.fork()
        if child == 0:
            held = single_threaded_blas.depth == 1 and single_threaded_blas.others() == 0
            single_threaded_blas.__exit__()
            free = single_threaded_blas.depth == 0 and blas_threads() == alone
            os._exit(0 if held and free else 1)
    outside = os.fork()
    if outside == 0:
        os._exit(0 if single_threaded_blas.depth == 0 and blas_threads() == alone else 1)
    done.set()
    other.join()
    for process in (child, outside):
        assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0
    assert single_threaded_blas.depth == 0
    assert blas_threads() == alone
