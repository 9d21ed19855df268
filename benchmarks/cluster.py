"""What an iteration costs on a Dask cluster, and what that says about larger ones.

    python benchmarks/cluster.py [--output DIR]

Fits GraphDictLog with its default solver on one and on two worker processes of this machine, counts
what travels, and fits the cost model

    seconds = (compute * T N^2 K + handling * tasks) / workers + scheduling * tasks + reduction

to CPU seconds, those of the workers and those of the process that holds client and scheduler, so
that other work on the machine does not count. The reduction is that of sums through a network of 1
GB/s, an assumption. Writes cluster.csv and cluster.md, with predictions for 1e9 samples by 256
nodes.
"""

from __future__ import annotations

import argparse
import csv
import pickle
import time
import warnings
from collections.abc import Iterator
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


def measure(workers: int, sizes: list[int], few: int, many: int) -> Iterator[dict]:
    """CPU and wall seconds, tasks and bytes of an iteration for several numbers of samples."""
    with (
        LocalCluster(workers, threads_per_worker=1, dashboard_address=":0", memory_limit=0) as here,
        Client(here) as client,
    ):
        for samples in sizes:
            signals = make_signals(samples, NODES, ATOMS, 0, "float32")
            array = da.from_array(signals, chunks=(-(-samples // 8), -1)).persist()

            def fit(iterations: int) -> np.ndarray:
                model = GraphDictLog(ATOMS, max_iter=iterations, tol=0, random_state=0)
                before = clocks(client)
                with Traffic() as traffic:
                    model.fit(array)
                spent = clocks(client) - before
                return np.array([*spent, traffic.passes, traffic.bytes])

            fit(many)  # workers load and compile
            one = (fit(many) - fit(few)) / (many - few)
            parts = count_parts(samples, NODES, ATOMS)
            yield {
                "workers": workers, "samples": samples, "parts": parts,
                "tasks": count_tasks(parts) * one[3] / PASSES, "passes": one[3],
                "bytes": one[4], "wall": one[0], "worker_cpu": one[2], "client_cpu": one[1],
            }  # fmt: skip


def clocks(client: Client) -> np.ndarray:
    """Seconds on the wall, of CPU here, and of CPU on all workers."""
    there = sum(client.run(time.process_time).values())
    return np.array([time.perf_counter(), time.process_time(), there])


def fit_model(rows: list[dict]) -> dict[str, float]:
    """CPU seconds for a unit of T N^2 K, and for a task on a worker and on the scheduler."""
    work = np.array([[r["samples"] * NODES**2 * ATOMS, r["tasks"]] for r in rows])
    scale = work.max(axis=0)
    compute, handling = nnls(work / scale, np.array([r["worker_cpu"] for r in rows]))[0] / scale
    scheduling = sum(r["client_cpu"] for r in rows) / sum(r["tasks"] for r in rows)
    return {"compute": compute, "handling": handling, "scheduling": scheduling}


def predict(costs: dict[str, float], samples: int, nodes: int, atoms: int, workers: int) -> dict:
    parts = count_parts(samples, nodes, atoms)
    tasks = count_tasks(parts)
    sums = atoms * nodes * (nodes - 1) // 2 * 4
    levels = int(np.ceil(np.log(max(parts, 2)) / np.log(TOGETHER)))
    compute = costs["compute"] * samples * nodes**2 * atoms + costs["handling"] * tasks
    return {
        "parts": parts, "tasks": tasks,
        "gigabytes": samples * (nodes + 2 * atoms) * 4 / workers / 1e9,
        "compute": compute / workers, "scheduling": costs["scheduling"] * tasks,
        "reduction": PASSES * sums * (TOGETHER * levels + parts / workers) / BANDWIDTH,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=HERE / "results")
    parser.add_argument("--samples", type=int, nargs="+", default=[50_000, 200_000])
    parser.add_argument("--iterations", type=int, nargs=2, default=[1, 6])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for workers in (1, 2):
        for row in measure(workers, options.samples, *options.iterations):
            rows.append(row)
            print(row, flush=True)
    costs = fit_model(rows)
    options.output.mkdir(parents=True, exist_ok=True)
    with (options.output / "cluster.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    lines = [
        "| workers | samples | parts | tasks | CPU s, workers | CPU s, client and scheduler | KB |",
        "| --- " * 7 + "|",
    ]
    lines += [
        f"| {r['workers']} | {r['samples']:,} | {r['parts']} | {r['tasks']:.0f} | "
        f"{r['worker_cpu']:.2f} | {r['client_cpu']:.2f} | {r['bytes'] / 1e3:,.0f} |"
        for r in rows
    ]
    lines += [
        "",
        f"{costs['compute']:.2e} s of compute for each unit of T N^2 K; for a task, "
        f"{1e3 * costs['handling']:.2f} ms on its worker and {1e3 * costs['scheduling']:.2f} ms on "
        "client and scheduler.",
        "",
        "| workers | GB a worker | compute | scheduling | reduction | an iteration |",
        "| --- " * 6 + "|",
    ]
    for workers in (10, 100, 1000):
        p = predict(costs, 10**9, 256, ATOMS, workers)
        total = p["compute"] + p["scheduling"] + p["reduction"]
        lines.append(
            f"| {workers:,} | {p['gigabytes']:.1f} | {p['compute']:.0f} s | "
            f"{p['scheduling']:.0f} s | {p['reduction']:.1f} s | {total:.0f} s |"
        )
    once = predict(costs, 10**9, 256, ATOMS, 1)
    even = once["compute"] / once["scheduling"]
    lines += [
        "",
        f"{once['parts']:,} parts and {once['tasks']:,} tasks an iteration; compute and scheduling "
        f"take the same time at {even:.0f} workers.",
    ]
    text = "\n".join(lines)
    (options.output / "cluster.md").write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
