"""Jobs and the threads that share them: whatever is listed, memory is used by one run at a time."""

import threading

import numpy as np
import pytest

from graphdict import GraphDictExact, GraphDictLog, GraphDictSpectral, native
from graphdict.native import log_barrier, log_determinant
from graphdict.native.coefficients import UpdateRule


def _updates(samples=5000):
    rng = np.random.default_rng(0)
    return log_barrier.update_coefficients(
        rng.normal(size=(samples, 8)), np.full(samples, 1 / samples), rng.random((3, 28)),
        rng.random((3, 8)), rng.random((samples, 3)), UpdateRule(0.1, 3, False),
        powers=False,
    )  # fmt: skip


@pytest.mark.parametrize("helpers", [0, 1, 3])
def test_a_job_that_is_listed_twice_is_run_once(helpers):
    job, found = _updates()
    job()
    wanted = [array.copy() for array in found]
    other, _ = _updates()
    for _ in range(5):
        for array in found:
            array[:] = 0
        native.ThreadPool(helpers).run([job, other, job, job])
        for array, expected in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(array, expected)


def test_threads_that_run_one_job_or_ask_one_pool_do_not_meet():
    job, found = _updates()
    job()
    wanted = found.coefficients.copy()
    pool, refused = native.ThreadPool(2), []

    def run(call):
        for _ in range(20):
            try:
                call()
            except ValueError as error:
                refused.append(str(error))

    other, _ = _updates(100)
    calls = [job, lambda: pool.run([job, other]), lambda: pool.run([other]), job]
    threads = [threading.Thread(target=run, args=[call]) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(refused) <= {"a job is being run by another thread"}
    np.testing.assert_array_equal(found.coefficients, wanted)
    job()  # and it can be run again


def test_a_list_that_is_emptied_meanwhile_keeps_its_jobs():
    pool = native.ThreadPool(1)
    for _ in range(20):
        jobs = [_updates(2000)[0] for _ in range(4)]
        thread = threading.Thread(target=pool.run, args=[jobs])
        thread.start()
        jobs.clear()
        thread.join()


def test_atoms_that_are_no_graphs_are_refused():
    with pytest.raises(ValueError, match="edges of a graph"):
        log_determinant.atom_slopes(np.ones((4, 2)), np.ones(4), np.ones((2, 5)))


@pytest.mark.parametrize("model", [GraphDictLog, GraphDictSpectral, GraphDictExact])
def test_signals_that_are_not_aligned_are_fitted_like_others(model):
    signals = np.random.default_rng(0).standard_normal((60, 5))
    memory = np.frombuffer(b"x" + signals.tobytes(), dtype=np.uint8)[1:]
    odd = memory.view(np.float64).reshape(60, 5)
    assert not odd.flags.aligned
    fits = [model(2, max_iter=5, random_state=0).fit(x) for x in (signals, odd)]
    np.testing.assert_array_equal(fits[0].atoms_, fits[1].atoms_)
    np.testing.assert_array_equal(fits[1].transform(odd), fits[0].transform(signals))
