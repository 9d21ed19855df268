"""What an iteration costs on a Dask cluster, and what that says about larger ones.

    python benchmarks/cluster.py [--output DIR]

Fits GraphDictLog with its default solver on one and on two worker processes of this machine, counts
what travels, and fits the cost model

    seconds = compute * T N^2 K / workers + task * tasks + round * passes

to the measured seconds of an iteration. Writes cluster.csv and cluster.md, with predictions for 1e9
samples of 256 nodes.
"""

from __future__ import annotations

import argparse
import csv
import pickle
import time
import warnings
from pathlib import Path

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster
from measure import make_signals
from scipy.optimize import nnls

from graphdict import GraphDictLog
from graphdict.cluster import Cluster
from graphdict.solvers.blocks import TOGETHER, row_parts

HERE = Path(__file__).parent
NODES, ATOMS = 32, 5
PASSES = 5  # of an iteration: four updates of the atoms, one of the coefficients
BANDWIDTH = 1e9  # bytes a second between two machines, an assumption


def count_parts(samples: int, nodes: int, atoms: int, itemsize: int = 4) -> int:
    return len(row_parts(samples, nodes * itemsize * atoms))


def count_tasks(parts: int) -> int:
    """Of an iteration: a pass and its sums for each part, and the sums of sums."""
    extra, level = 0, parts
    while level > TOGETHER:
        level = -(-level // TOGETHER)
        extra += level
    return PASSES * (2 * parts + extra)


class Traffic:
    """Counts what goes through a crew: messages out, sums back."""

    def __init__(self):
        self.bytes = self.passes = 0
        self.original = Cluster.run_parts

    def __enter__(self):
        traffic = self

        def run_parts(crew, work, columns, *message):
            states, sums = traffic.original(crew, work, columns, *message)
            size = len(pickle.dumps(message)) + len(pickle.dumps(sums))
            traffic.bytes += size * len(crew.cut)
            traffic.passes += 1
            return states, sums

        Cluster.run_parts = run_parts
        return self

    def __exit__(self, *error):
        Cluster.run_parts = self.original


def measure(workers: int, samples: int, few: int, many: int) -> dict:
    signals = make_signals(samples, NODES, ATOMS, 0, "float32")
    with (
        LocalCluster(workers, threads_per_worker=1, dashboard_address=":0", memory_limit=0) as here,
        Client(here),
    ):
        array = da.from_array(signals, chunks=(-(-samples // 8), -1)).persist()

        def fit(iterations: int) -> float:
            model = GraphDictLog(ATOMS, max_iter=iterations, tol=0, random_state=0)
            started = time.perf_counter()
            model.fit(array)
            return time.perf_counter() - started

        fit(1)
        with Traffic() as first:
            short = fit(few)
        with Traffic() as second:
            long = fit(many)
    iterations = many - few
    parts = count_parts(samples, NODES, ATOMS)
    return {
        "workers": workers, "samples": samples, "parts": parts, "tasks": count_tasks(parts),
        "passes": (second.passes - first.passes) / iterations,
        "bytes": (second.bytes - first.bytes) / iterations,
        "seconds": (long - short) / iterations,
    }  # fmt: skip


def fit_model(rows: list[dict]) -> np.ndarray:
    """Seconds for a sample's work (per N^2 K), for a task, and for a pass; none negative."""
    design = np.array(
        [
            [r["samples"] * NODES**2 * ATOMS / r["workers"], r["tasks"] * r["passes"] / PASSES,
             r["passes"]]
            for r in rows
        ]
    )  # fmt: skip
    seconds = np.array([r["seconds"] for r in rows])
    scale = design.max(axis=0)
    return nnls(design / scale / seconds[:, None], np.ones(len(rows)))[0] / scale


def predict(costs: np.ndarray, samples: int, nodes: int, atoms: int, workers: int) -> dict:
    parts = count_parts(samples, nodes, atoms)
    sums = atoms * nodes * (nodes - 1) // 2 * 4
    levels = int(np.ceil(np.log(max(parts, 2)) / np.log(TOGETHER)))
    return {
        "workers": workers, "parts": parts,
        "gigabytes a worker": samples * (nodes + 2 * atoms) * 4 / workers / 1e9,
        "compute": costs[0] * samples * nodes**2 * atoms / workers,
        "tasks": costs[1] * count_tasks(parts),
        "rounds": costs[2] * PASSES,
        "reduction": PASSES * sums * (TOGETHER * levels + parts / workers) / BANDWIDTH,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=HERE / "results")
    parser.add_argument("--samples", type=int, nargs="+", default=[50_000, 100_000, 200_000])
    parser.add_argument("--iterations", type=int, nargs=2, default=[2, 7])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for workers in (1, 2):
        for samples in options.samples:
            rows.append(measure(workers, samples, *options.iterations))
            print(rows[-1], flush=True)
    costs = fit_model(rows)
    options.output.mkdir(parents=True, exist_ok=True)
    with (options.output / "cluster.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    lines = ["| workers | samples | parts | tasks | seconds | kilobytes |", "| --- " * 6 + "|"]
    lines += [
        f"| {r['workers']} | {r['samples']:,} | {r['parts']} | {r['tasks']} | {r['seconds']:.2f} | "
        f"{r['bytes'] / 1e3:,.0f} |"
        for r in rows
    ]
    lines += [
        "",
        f"compute {costs[0]:.2e} s for each T N^2 K, task {1e3 * costs[1]:.2f} ms, "
        f"round {1e3 * costs[2]:.1f} ms",
        "",
        "| workers | GB a worker | compute | tasks | rounds | reduction | an iteration |",
        "| --- " * 7 + "|",
    ]
    for workers in (10, 100, 1000):
        p = predict(costs, 10**9, 256, ATOMS, workers)
        total = p["compute"] + p["tasks"] + p["rounds"] + p["reduction"]
        lines.append(
            f"| {workers:,} | {p['gigabytes a worker']:.1f} | {p['compute']:.0f} s | "
            f"{p['tasks']:.0f} s | {p['rounds']:.1f} s | {p['reduction']:.1f} s | {total:.0f} s |"
        )
    once = predict(costs, 10**9, 256, ATOMS, 1)
    even = once["compute"] / max(once["tasks"] + once["rounds"], 1e-9)
    lines += ["", f"Compute and the scheduler take the same time at {even:.0f} workers."]
    text = "\n".join(lines)
    (options.output / "cluster.md").write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
