"""Blocks of samples: a complete cut, the same results on any number of threads."""

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_info, threadpool_limits

from graphdict import GraphDictLog
from graphdict.solvers import blocks


@given(rows=st.integers(1, 10_000), row_bytes=st.integers(1, 1 << 22))
def test_blocks_cover_every_row_once_and_in_order(rows, row_bytes):
    slices = blocks.row_blocks(rows, row_bytes)
    covered = [row for part in slices for row in range(part.start, part.stop)]
    assert covered == list(range(rows))
    assert all(part.stop > part.start for part in slices)


def test_results_come_in_the_order_of_the_blocks():
    slices = blocks.row_blocks(64, blocks.BLOCK_BYTES // 8)
    with threadpool_limits(2), blocks.parallel_blocks(slices) as parts:
        assert parts.map(lambda rows: rows.start) == [part.start for part in slices]


def blas_threads():
    return {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}


def test_blas_has_one_thread_inside_and_its_own_number_again_after():
    slices = blocks.row_blocks(64, blocks.BLOCK_BYTES)
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with blocks.parallel_blocks(slices) as parts:
            assert parts.pool is not None
            assert blas_threads() == {1}
            with blocks.parallel_blocks(slices):  # a second fit at the same time
                assert blas_threads() == {1}
            assert blas_threads() == {1}
        assert blas_threads() == before


def test_an_error_in_a_block_reaches_the_caller_and_lifts_the_limit():
    def fail(rows):
        raise FloatingPointError(rows.start)

    slices = blocks.row_blocks(64, blocks.BLOCK_BYTES)
    with threadpool_limits(2, user_api="blas"):
        with pytest.raises(FloatingPointError), blocks.parallel_blocks(slices) as parts:
            parts.map(fail)
        assert blas_threads() == {2}


@pytest.mark.parametrize("solver", ["mm", "bipds"])
def test_number_of_threads_does_not_change_the_result(solver, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 4096)
    signals = np.random.default_rng(0).normal(size=(300, 6))
    model = GraphDictLog(3, solver=solver, max_iter=30, random_state=0)
    with threadpool_limits(1):
        alone = model.fit(signals).atoms_
    with threadpool_limits(2):
        together = model.fit(signals).atoms_
    np.testing.assert_array_equal(alone, together)


def test_fits_in_several_threads_do_not_disturb_each_other():
    rng = np.random.default_rng(0)
    inputs = [rng.normal(size=(200, 5)) for _ in range(4)]

    def learn(signals):
        return GraphDictLog(2, max_iter=20, random_state=0).fit(signals).atoms_

    expected = [learn(signals) for signals in inputs]
    found = [None] * len(inputs)

    def work(i):
        found[i] = learn(inputs[i])

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(inputs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one, other in zip(expected, found):
        np.testing.assert_array_equal(one, other)
