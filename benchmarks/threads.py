"""Fits in threads of Python, beside the same fits one after the other.

    python benchmarks/threads.py [THREADS]

Prints how many cores the fits could use: the time in which their threads ran or waited for a core,
divided by the time on the clock. A thread that waits for Python's lock does neither, so that other
work on the machine changes little. One is what a Python with its lock has for whatever is not
compiled; THREADS (two otherwise) is the most that one without it can have. For Linux.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from graphdict import GraphDictExact, GraphDictLog, GraphDictMarginal
from graphdict.datasets import make_superposition

MODELS = {
    "GraphDictLog": lambda: GraphDictLog(3, random_state=0),
    "GraphDictExact": lambda: GraphDictExact(3, random_state=0),
    "GraphDictMarginal": lambda: GraphDictMarginal(3, random_state=0),
}


def asked_for() -> float:
    """Return the seconds in which threads of this process ran or waited for a core."""
    spent = [task.read_text().split() for task in Path("/proc/self/task").glob("*/schedstat")]
    return sum(int(running) + int(waiting) for running, waiting, _ in spent) / 1e9


def usable_cores(work: Callable[[], object]) -> float:
    """Return how many threads ran or could have run during a call, on average."""
    clock, before = time.perf_counter(), asked_for()
    work()
    return (asked_for() - before) / (time.perf_counter() - clock)


def main() -> None:
    threads = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    warnings.simplefilter("ignore")
    data = make_superposition(n_atoms=3, n_nodes=12, samples_per_graph=50, random_state=0)
    signals = data.train.signals
    lock = getattr(sys, "_is_gil_enabled", lambda: True)()
    print(f"Python {sys.version.split()[0]} {'with' if lock else 'without'} its lock")
    print(f"{'model':20} {'one by one':>11} {f'{threads} threads':>11}")
    for name, make in MODELS.items():

        def fit(_: int) -> np.ndarray:
            return make().fit(signals).atoms_

        expected = fit(0)
        alone = usable_cores(lambda: [fit(i) for i in range(threads)])
        with ThreadPoolExecutor(threads) as pool:
            found: list[np.ndarray] = []
            together = usable_cores(lambda: found.extend(pool.map(fit, range(threads))))
        for atoms in found:
            np.testing.assert_array_equal(atoms, expected)
        print(f"{name:20} {alone:11.2f} {together:11.2f}")


if __name__ == "__main__":
    main()
