"""Blocks of samples: a complete cut, the same results on any number of threads."""

import pickle
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_info, threadpool_limits

from graphdict import GraphDictLog
from graphdict.core.solvers import primal_dual
from graphdict.engine import blas as threads
from graphdict.engine import executor as blocks


@given(rows=st.integers(1, 10_000), row_bytes=st.integers(1, 1 << 22))
def test_parts_and_their_blocks_cover_every_row_once_and_in_order(rows, row_bytes):
    parts = blocks.shard_rows(rows, row_bytes)
    covered = [
        part.start + row
        for part in parts
        for block in blocks.block_rows(part, row_bytes)
        for row in range(block.start, block.stop)
    ]
    assert covered == list(range(rows))
    assert all(part.stop > part.start for part in parts)


def test_small_blocks_are_parts_and_many_blocks_are_grouped():
    one = blocks.shard_rows(40, blocks.BLOCK_BYTES)
    assert len(one) == 40
    assert all(len(blocks.block_rows(part, blocks.BLOCK_BYTES)) == 1 for part in one)
    many = blocks.shard_rows(6400, blocks.BLOCK_BYTES)
    assert len(many) == blocks.SHARDS
    assert len(blocks.block_rows(many[0], blocks.BLOCK_BYTES)) == 50


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=700))
def test_sums_in_groups_are_sums(values):
    (total,) = blocks.add_tree([(value,) for value in values])
    assert total == pytest.approx(sum(values), abs=1e-3)


@pytest.fixture
def case(make_problem):
    return make_problem(samples=64, nodes=5)


def where(backend, rows):
    return None, ([backend.problem.first + rows.start],)


def test_what_leaves_blocks_comes_in_their_order(case, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 600)
    with threadpool_limits(2), blocks.open_executor(case.problem, case.atoms) as executor:
        assert len(executor.cut) > 10
        _, (starts,) = executor.map_blocks(where, [])
        states = executor.scatter(case.coefficients)
        np.testing.assert_array_equal(executor.gather(states), case.coefficients)
    assert starts == sorted(starts)
    assert len(set(starts)) == len(starts) >= len(executor.cut)


def blas_threads():
    return {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}


def test_blas_has_one_thread_inside_and_its_own_number_again_after(case, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 600)
    monkeypatch.setattr(threads, "_cores", lambda: 2)
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with blocks.open_executor(case.problem, case.atoms) as executor:
            assert executor.pool.helpers
            assert blas_threads() == {1}
            with blocks.open_executor(case.problem, case.atoms):  # a second fit at the same time
                assert blas_threads() == {1}
            assert blas_threads() == {1}
        assert blas_threads() == before


def fail(backend, rows):
    raise FloatingPointError(rows.start)


def test_an_error_in_a_block_reaches_the_caller_and_lifts_the_limit(case, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 600)
    monkeypatch.setattr(threads, "_cores", lambda: 2)
    with threadpool_limits(2, user_api="blas"):
        with (
            pytest.raises(FloatingPointError),
            blocks.open_executor(case.problem, case.atoms) as executor,
        ):
            executor.map_blocks(fail, [])
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


@pytest.mark.parametrize("step", [primal_dual.separable_step, primal_dual.coupled_step])
def test_staged_steps_are_pickled_by_name(step):
    assert pickle.loads(pickle.dumps(step)) is step
