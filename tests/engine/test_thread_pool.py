"""Threads of a pool: all is done once, errors come back, an interrupt leaves no trace."""

import os
import subprocess
import sys
import threading
from queue import SimpleQueue

import numpy as np
import pytest

from graphdict import native
from graphdict.engine.thread_pool import ThreadPool
from graphdict.native import log_barrier


@pytest.mark.parametrize("helpers", [0, 1, 3])
def test_everything_is_visited_once_and_in_its_place(helpers):
    with ThreadPool(helpers) as team:
        assert team.map(lambda i: i * i, 50) == [i * i for i in range(50)]
        assert team.map(str, 0) == []


def test_an_error_of_any_thread_is_raised_and_the_team_goes_on():
    def fail(index):
        if index == 3:
            raise ValueError("three")
        return index

    with ThreadPool(2) as team:
        with pytest.raises(ValueError, match="three"):
            team.map(fail, 10)
        assert team.map(abs, 4) == [0, 1, 2, 3]


def test_an_end_that_nobody_waited_for_does_not_end_the_next_call(monkeypatch):
    release = threading.Event()
    caller = threading.get_ident()

    def slow(index):
        if threading.get_ident() != caller:
            release.wait(10)
        return index

    class Interrupted(SimpleQueue):
        def get(self):
            raise KeyboardInterrupt  # while the caller waits for the helper

    with ThreadPool(1) as team:
        with monkeypatch.context() as patch:
            patch.setattr("graphdict.engine.thread_pool.SimpleQueue", Interrupted)
            with pytest.raises(KeyboardInterrupt):
                team.map(slow, 2)
        release.set()
        for _ in range(20):
            assert team.map(slow, 6) == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("helpers", [0, 1, 3])
def test_compiled_jobs_are_all_done_in_every_round(helpers):
    rng = np.random.default_rng(0)
    coefficients, weights, images = rng.random((50, 3)), rng.random(50), rng.random((3, 7))
    wanted = (weights[:, None] * coefficients).T @ (1 / (coefficients @ images))
    with ThreadPool(helpers) as team:
        for count in [0, 1, 2, 5, 40] * 40:
            pushes = [log_barrier.atom_slopes(coefficients, weights, images) for _ in range(count)]
            for _, found in pushes:
                found[:] = 0
            team.run([job for job, _ in pushes])
            for _, found in pushes:
                np.testing.assert_allclose(found, wanted)


COUNTED = """
import os
import time
import numpy as np
from graphdict.engine.thread_pool import ThreadPool
from graphdict.native import log_barrier

def living():
    found = {}
    for number in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{number}/stat") as file:
                state = file.read().rpartition(")")[2].split()[0]
        except OSError:  # it ended since it was listed
            continue
        if state not in "XZ":  # those have ended, too: the system has yet to forget them
            found[number] = state
    return found

before = living()
with ThreadPool(3) as team:
    job, _ = log_barrier.atom_slopes(np.ones((50, 3)), np.ones(50), np.ones((3, 7)))
    team.run([job, job])
    team.map(abs, 4)
    of_team = living().keys() - before.keys()
for _ in range(3000):  # a thread of Python that was joined may still be on its way out
    left = {number: state for number, state in living().items() if number in of_team}
    if not left:
        break
    time.sleep(0.01)
print(len(of_team), left)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="threads are counted on Linux")
def test_threads_end_with_the_team():
    done = subprocess.run([sys.executable, "-c", COUNTED], capture_output=True, check=True)
    assert done.stdout.split(maxsplit=1) == [b"6", b"{}\n"]


def test_other_calls_are_run_too():
    found = []
    with ThreadPool(2) as team:
        team.run([lambda i=i: found.append(i) for i in range(20)])
    assert sorted(found) == list(range(20))


def test_a_compiled_team_refuses_what_is_none():
    with pytest.raises(ValueError, match="negative"):
        native.ThreadPool(-1)
    for listed in ([None], [3]):
        with pytest.raises(TypeError, match="must be jobs"):
            native.ThreadPool(1).run(listed)
