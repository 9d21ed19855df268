"""A fit and a transform of more signals than memory is to hold, from a file on disk.

    python benchmarks/out_of_core.py [--samples 10000000] [--nodes 32] [--atoms 5] [--iterations 3]
    python benchmarks/out_of_core.py --prior markov --samples 2000000 --atoms 3 --memory 64

Makes the file, fits GraphDictLog with its default solver, or GraphDictMarginal with a prior and at
most two active atoms, writes the coefficients of a transform to another file, and prints seconds
and the largest resident memory, the file's pages included.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import threading
import time
import warnings
from pathlib import Path

import numpy as np
from measure import make_signals

ROWS = 100_000
GB = 1 << 30


def make_file(path: Path, samples: int, nodes: int, atoms: int) -> None:
    """Signals in float32, made and written some rows at a time."""
    with path.open("wb") as file:
        for start in range(0, samples, ROWS):
            count = min(ROWS, samples - start)
            make_signals(count, nodes, atoms, start, "float32").tofile(file)


def resident() -> int:
    """Bytes of this process in memory now."""
    with open("/proc/self/statm") as status:
        return int(status.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Peak:
    """The largest resident memory while it is watched."""

    def __enter__(self) -> Peak:
        self.bytes, self.done = resident(), threading.Event()
        self.thread = threading.Thread(target=self.watch)
        self.started, self.used = time.perf_counter(), time.process_time()
        self.thread.start()
        return self

    def watch(self) -> None:
        while not self.done.wait(0.02):
            self.bytes = max(self.bytes, resident())

    def __exit__(self, *error: object) -> None:
        self.seconds = time.perf_counter() - self.started
        self.cpu = time.process_time() - self.used
        self.done.set()
        self.thread.join()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=10_000_000)
    parser.add_argument("--nodes", type=int, default=32)
    parser.add_argument("--atoms", type=int, default=5)
    parser.add_argument("--iterations", type=int, default=3)
    parser.add_argument("--solver", default="auto")
    parser.add_argument("--prior", help="fit GraphDictMarginal with this prior, from one start")
    parser.add_argument("--memory", type=float, default=1024, help="working_memory in MiB")
    parser.add_argument("--folder", type=Path, help="where to put the files; by default temporary")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    import sklearn

    from graphdict import GraphDictLog, GraphDictMarginal

    sklearn.set_config(working_memory=options.memory)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = Path(folder) / "signals.f32"
        make_file(path, options.samples, options.nodes, options.atoms)
        shape = (options.samples, options.nodes)
        signals = np.memmap(path, dtype=np.float32, mode="r", shape=shape)
        print(
            f"{options.samples:,} x {options.nodes} float32: {signals.nbytes / GB:.2f} GB on disk"
        )
        common = {"max_iter": options.iterations, "random_state": 0}
        model: GraphDictLog | GraphDictMarginal
        if options.prior is None:
            model = GraphDictLog(options.atoms, solver=options.solver, **common)
        else:
            model = GraphDictMarginal(
                options.atoms, prior=options.prior, max_active=2, n_init=1, **common
            )
        print(f"before: {resident() / GB:.2f} GB resident", flush=True)
        with Peak() as fit:
            model.fit(signals)
        print(
            f"fit, {options.iterations} iterations: {fit.seconds:.0f} s ({fit.cpu:.0f} s CPU), "
            f"at most {fit.bytes / GB:.2f} GB resident",
            flush=True,
        )
        with Peak() as transform:
            model.transform(signals, out=Path(folder) / "coefficients.npy")
        print(
            f"transform to a file: {transform.seconds:.0f} s ({transform.cpu:.0f} s CPU), "
            f"at most {transform.bytes / GB:.2f} GB resident"
        )
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        print(f"the process over its life: {peak / GB:.2f} GB")


if __name__ == "__main__":
    main()
