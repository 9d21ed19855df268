"""What an iteration costs on a Dask cluster, and what that says about larger ones.

    python benchmarks/cluster.py [--output DIR]

Fits GraphDictLog with its default solver on one and on two worker processes of this machine, counts
tasks and bytes between two iterations, and fits the cost model

    seconds = (T N K (dense N + thin) + handling * tasks) / workers + scheduling * tasks + reduction

to CPU seconds, those of the workers and those of the process that holds client and scheduler, so
that other work on the machine does not count. The reduction is that of messages and sums through a
network of 1 GB/s, an assumption. Writes cluster.csv and cluster.md, with predictions for 1e9
samples by 256 nodes. About five minutes.
"""

from __future__ import annotations

import argparse
import csv
import pickle
import time
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster
from measure import make_signals
from scipy.optimize import nnls

from graphdict import GraphDictLog
from graphdict.engine.cluster import ClusterExecutor, bundle_size
from graphdict.engine.executor import SUMS_AT_A_TIME, shard_rows

HERE = Path(__file__).parent
ATOMS = 5
SIZES = ((4_000, 32), (40_000, 32), (400_000, 32), (16_000, 256))  # samples, nodes
BANDWIDTH = 1e9  # bytes a second between two machines, an assumption
LATENCY = 1e-3  # seconds until another machine answers, an assumption


class Traffic:
    """Counts what goes through an executor: steps, tasks, and bytes of messages and sums."""

    def __init__(self):
        self.passes = self.tasks = self.bytes = 0
        self.originals = ClusterExecutor.map_shards, ClusterExecutor._map

    def __enter__(self):
        map_shards, send = self.originals

        def counted(executor, work, columns, *message):
            states, sums = map_shards(executor, work, columns, *message)
            size = len(pickle.dumps(message)) + len(pickle.dumps(sums))
            self.bytes += size * len(executor.bundles)
            self.passes += 1
            return states, sums

        def sent(executor, function, *arguments, **same):
            self.tasks += len(arguments[0])
            return send(executor, function, *arguments, **same)

        ClusterExecutor.map_shards, ClusterExecutor._map = counted, sent
        return self

    def __exit__(self, *error):
        ClusterExecutor.map_shards, ClusterExecutor._map = self.originals


def measure(workers: int, few: int, many: int) -> Iterator[dict]:
    """Seconds, tasks and bytes of an iteration for several sizes, from iteration few to many."""
    options = {"threads_per_worker": 1, "dashboard_address": ":0", "memory_limit": 0}
    with LocalCluster(n_workers=workers, **options) as here, Client(here) as client:
        for samples, nodes in SIZES:
            signals = make_signals(samples, nodes, ATOMS, 0, "float32")
            array = da.from_array(signals, chunks=(-(-samples // 8), -1)).persist()
            seen = {}
            with Traffic() as traffic:

                def look(progress):
                    if progress.iteration in (few, many):
                        counts = traffic.passes, traffic.tasks, traffic.bytes
                        seen[progress.iteration] = np.array([*clocks(client), *counts])

                # The first time, workers load and compile.
                for iterations in (1, many):
                    GraphDictLog(
                        ATOMS, max_iter=iterations, tol=0, random_state=0, callback=look
                    ).fit(array)
            one = (seen[many] - seen[few]) / (many - few)
            yield {
                "workers": workers, "samples": samples, "nodes": nodes,
                "parts": count_parts(samples, nodes), "passes": float(one[3]),
                "tasks": float(one[4]), "bytes": float(one[5]), "wall": float(one[0]),
                "worker_cpu": float(one[2]), "client_cpu": float(one[1]),
            }  # fmt: skip


def clocks(client: Client) -> np.ndarray:
    """Seconds on the wall, of CPU here, and of CPU on all workers."""
    there = sum(client.run(time.process_time).values())
    return np.array([time.perf_counter(), time.process_time(), there])


def fit_model(rows: list[dict]) -> dict[str, float]:
    """CPU seconds for T N^2 K, for T N K, and for a task on a worker and on the scheduler."""
    size = [r["samples"] * r["nodes"] * ATOMS for r in rows]
    work = np.array([[s * r["nodes"], s, r["tasks"]] for s, r in zip(size, rows, strict=True)])
    spent = np.array([r["worker_cpu"] for r in rows])
    # Relative errors: the small sizes tell what tasks cost, the large ones what samples cost.
    scale = (work / spent[:, None]).max(axis=0)
    dense, thin, handling = nnls(work / spent[:, None] / scale, np.ones(len(rows)))[0] / scale
    scheduling = sum(r["client_cpu"] for r in rows) / sum(r["tasks"] for r in rows)
    passes = float(np.mean([r["passes"] for r in rows]))
    return {"dense": dense, "thin": thin, "handling": handling, "scheduling": scheduling,
            "passes": passes}  # fmt: skip


@cache
def count_parts(samples: int, nodes: int) -> int:
    return len(shard_rows(samples, nodes * 4 * ATOMS))


def count_tasks(parts: int, threads: int) -> int:
    """Of a pass: each bundle and its sums, and the sums of sums."""
    size = bundle_size(parts, threads)
    level = -(-parts // size)
    tasks = 2 * level
    if 1 < SUMS_AT_A_TIME // size < level:
        level = -(-level * size // SUMS_AT_A_TIME)
        tasks += level
    while level > SUMS_AT_A_TIME:
        level = -(-level // SUMS_AT_A_TIME)
        tasks += level
    return tasks


def predict(costs: dict[str, float], samples: int, nodes: int, workers: int) -> dict[str, float]:
    """Seconds of an iteration on workers of one thread."""
    parts = count_parts(samples, nodes)
    tasks = costs["passes"] * count_tasks(parts, workers)
    sums = ATOMS * nodes * (nodes - 1) // 2 * 4
    levels = np.ceil(np.log(max(parts, 2)) / np.log(SUMS_AT_A_TIME))
    size = samples * nodes * ATOMS
    compute = size * (nodes * costs["dense"] + costs["thin"]) + costs["handling"] * tasks
    hops = np.log2(workers) + SUMS_AT_A_TIME * levels  # atoms out, from one to the next; sums back
    return {
        "parts": parts, "tasks": tasks,
        "gigabytes": samples * (nodes + 2 * ATOMS) * 4 / workers / 1e9,
        "compute": compute / workers, "scheduling": costs["scheduling"] * tasks,
        "reduction": costs["passes"] * hops * (LATENCY + sums / BANDWIDTH),
    }  # fmt: skip


def describe(rows: list[dict], costs: dict[str, float]) -> str:
    """The measurements, the model and its predictions, as Markdown."""
    lines = [
        "`python benchmarks/cluster.py`: an iteration of GraphDictLog, five atoms, float32.", "",
        "| workers | samples | nodes | parts | passes | tasks | seconds | CPU s, workers | "
        "CPU s, client and scheduler | KB |",
        "| ---: " * 10 + "|",
    ]  # fmt: skip
    lines += [
        f"| {r['workers']:.0f} | {r['samples']:,.0f} | {r['nodes']:.0f} | {r['parts']:.0f} | "
        f"{r['passes']:.1f} | "
        f"{r['tasks']:.0f} | {r['wall']:.2f} | {r['worker_cpu']:.2f} | {r['client_cpu']:.2f} | "
        f"{r['bytes'] / 1e3:,.0f} |"
        for r in rows
    ]
    lines += [
        "",
        f"Fitted: {1e12 * costs['dense']:.0f} ps for each T N^2 K and {1e12 * costs['thin']:.0f} "
        f"ps for each T N K an iteration, {1e3 * costs['handling']:.2f} ms for a task on its "
        f"worker, {1e3 * costs['scheduling']:.2f} ms for a task on client and scheduler, "
        f"{costs['passes']:.1f} passes. Assumed: {BANDWIDTH / 1e9:.0f} GB/s and "
        f"{1e3 * LATENCY:.0f} ms between two machines.",
        "",
        "Predicted for 1e9 samples by 256 nodes, workers of one thread:",
        "",
        "| workers | GB a worker | tasks | compute | scheduling | reduction | an iteration |",
        "| ---: " * 7 + "|",
    ]
    for workers in (10, 100, 1000, 10_000):
        p = predict(costs, 10**9, 256, workers)
        total = p["compute"] + p["scheduling"] + p["reduction"]
        lines.append(
            f"| {workers:,} | {p['gigabytes']:.1f} | {p['tasks']:,.0f} | {p['compute']:,.1f} s | "
            f"{p['scheduling']:.1f} s | {p['reduction']:.1f} s | {total:,.1f} s |"
        )
    several = range(10, 20_000, 10)
    found = [(w, predict(costs, 10**9, 256, w)) for w in several]
    even = next((w for w, p in found if p["compute"] < p["scheduling"] + p["reduction"]), None)
    lines += ["", f"Communication and scheduling take longer than compute from {even} workers on."]
    return "\n".join(lines) + "\n"


def write(table: Path, iterations: list[int]) -> None:
    """Measure, and keep the figures."""
    rows = [row for workers in (1, 2) for row in measure(workers, *iterations)]
    table.parent.mkdir(parents=True, exist_ok=True)
    with table.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=HERE / "results")
    parser.add_argument("--again", action="store_true", help="only describe cluster.csv again")
    parser.add_argument("--iterations", type=int, nargs=2, default=[2, 6], metavar=("FROM", "TO"))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    table = options.output / "cluster.csv"
    if not options.again:
        write(table, options.iterations)
    with table.open(newline="") as file:
        rows = [{k: float(v) for k, v in row.items()} for row in csv.DictReader(file)]
    text = describe(rows, fit_model(rows))
    (options.output / "cluster.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
