"""Fits in threads of Python, beside the same fits one after the other.

    python benchmarks/threads.py [THREADS]

Prints how many cores the fits kept busy: their CPU time divided by the time on the clock. One is
what a Python with its lock has for whatever is not compiled; THREADS (two otherwise) is the most
that one without it can have, on a machine whose cores are free.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from graphdict import GraphDictExact, GraphDictLog, GraphDictMarginal
from graphdict.datasets import make_superposition

MODELS = {
    "GraphDictLog": lambda: GraphDictLog(3, random_state=0),
    "GraphDictExact": lambda: GraphDictExact(3, random_state=0),
    "GraphDictMarginal": lambda: GraphDictMarginal(3, random_state=0),
}


def busy_cores(work: Callable[[], object]) -> float:
    """Return the CPU time of a call divided by its time on the clock."""
    clock, cpu = time.perf_counter(), time.process_time()
    work()
    return (time.process_time() - cpu) / (time.perf_counter() - clock)


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
        alone = busy_cores(lambda: [fit(i) for i in range(threads)])
        with ThreadPoolExecutor(threads) as pool:
            found: list[np.ndarray] = []
            together = busy_cores(lambda: found.extend(pool.map(fit, range(threads))))
        for atoms in found:
            np.testing.assert_array_equal(atoms, expected)
        print(f"{name:20} {alone:11.2f} {together:11.2f}")


if __name__ == "__main__":
    main()
