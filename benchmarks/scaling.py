"""How the time of an iteration grows with T, N and K: log-log slopes and a plot.

    python benchmarks/scaling.py [--output DIR]

Each point is the time of one iteration of the default solver of GraphDictLog, the median of three
runs of several. The slopes are fitted to the larger half of each range, where the fixed cost of an
iteration no longer shows.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import time
import warnings
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from measure import make_signals

from graphdict import graphs
from graphdict.operators import Bilinear, Degrees
from graphdict.solvers import Problem, mm
from graphdict.terms import L1, LogBarrier, NonNegative, UnitBox, smoothness

RANGES = {
    "T": [(t, 30, 5) for t in (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)],
    "N": [(5_000, n, 5) for n in (10, 20, 40, 80, 140, 200)],
    "K": [(20_000, 30, k) for k in (1, 2, 4, 8, 16, 32)],
}
EXPECTED = {"T": 1, "N": 2, "K": 1}


def seconds_per_iteration(samples: int, nodes: int, atoms: int) -> float:
    """Median of the times between two iterations, of three runs."""
    signals = make_signals(samples, nodes, min(atoms, 8), 0, "float32")
    counts = np.ones(samples, dtype=int)
    problem = Problem(
        smoothness(signals, counts), Bilinear(Degrees(nodes)), LogBarrier(),
        [NonNegative(), L1(0.1)], [UnitBox()], counts,
    )  # fmt: skip
    rng = np.random.default_rng(0)
    coefficients = rng.random((samples, atoms), dtype=np.float32)
    start = rng.random((atoms, graphs.n_edges(nodes)), dtype=np.float32)
    iterations = 6 if samples * nodes**2 * atoms > 1e9 else 31
    stamps: list[float] = []
    for _ in range(3):
        times: list[float] = []
        mm(
            problem, coefficients, start, max_iter=iterations, tol=0,
            callback=lambda progress: times.append(time.perf_counter()) and None,
        )  # fmt: skip
        stamps += np.diff(times).tolist()
    return statistics.median(stamps)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    figure, axes = plt.subplots(1, 3, figsize=(9, 3), layout="constrained")
    rows = []
    for ax, (name, shapes) in zip(axes, RANGES.items()):
        place = "TNK".index(name)
        sizes = np.array([shape[place] for shape in shapes])
        seconds = np.array([seconds_per_iteration(*shape) for shape in shapes])
        half = len(sizes) // 2
        slope, offset = np.polyfit(np.log(sizes[half:]), np.log(seconds[half:]), 1)
        print(f"{name}: slope {slope:.2f} (expected {EXPECTED[name]})", flush=True)
        rows += [[name, *shape, s, slope] for shape, s in zip(shapes, seconds)]
        ax.loglog(sizes, seconds, "o-", color="#0072B2", markersize=4)
        ax.loglog(sizes[half:], np.exp(offset) * sizes[half:] ** slope, "--", color="#D55E00")
        others = ", ".join(f"{n}={v:,}" for n, v in zip("TNK", shapes[0]) if n != name)
        ax.set_title(f"slope in {name}: {slope:.2f}  ({others})", fontsize=9)
        ax.set_xlabel(name)
        ax.grid(alpha=0.3)
    axes[0].set_ylabel("seconds an iteration")
    figure.savefig(options.output / "scaling.png", dpi=150)
    with open(options.output / "scaling.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["axis", "samples", "nodes", "atoms", "seconds", "slope"])
        writer.writerows(rows)


if __name__ == "__main__":
    main()
