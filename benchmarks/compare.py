"""graphdict beside the authors' published package, in one run on one machine.

    python benchmarks/compare.py [--quick] [--output DIR]

The peer, graph_structure_learning, caps NumPy, so it gets a virtual environment of its own under
.bench/. Every measurement is a process of its own; medians of at least five; ratios are peer /
graphdict, so that larger is better for graphdict. Writes comparison.csv, comparison.md and plots.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import statistics
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).parent
PEER = "graph_structure_learning==0.1.3"
GB = 1 << 30


def peer_python(folder: Path) -> str:
    """The interpreter of the peer's environment, made on first use."""
    python = folder / "bin" / "python"
    if not (folder / ".installed").exists():
        print("installing", PEER, flush=True)
        venv.create(folder, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", PEER], check=True)
        (folder / ".installed").touch()
    return str(python)


def measure(python: str, library: str, task: str, threads: int, **settings) -> dict:
    """One measurement in a fresh process."""
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    environment["OPENBLAS_NUM_THREADS"] = str(threads)
    command = [python, str(HERE / "measure.py"), library, task, json.dumps(settings)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return json.loads(done.stdout.strip().splitlines()[-1])


def rows_of_table(peer: str, threads: int, quick: bool):
    """Yield (what, shape, peer's figure, graphdict's figure, unit)."""
    ours = sys.executable
    repeats = 3 if quick else 5

    def pair(task: str, **settings) -> tuple[dict, dict]:
        return (
            measure(peer, "peer", task, threads, **settings),
            measure(ours, "graphdict", task, threads, **settings),
        )

    def timed(
        name: str, samples: int, nodes: int, atoms: int, dtype: str, few: int, many: int,
        seed: int = 0,
    ):  # fmt: skip
        theirs, mine = pair(
            "iteration", model=name, samples=samples, nodes=nodes, atoms=atoms, dtype=dtype,
            few=few, many=many, repeats=repeats, seed=seed,
        )  # fmt: skip
        what = f"{name}, BiPDS iteration, {dtype}"
        return what, (samples, nodes, atoms), theirs["seconds"], mine["seconds"], "s"

    def in_one_call(samples: int, nodes: int, atoms: int):
        """Iterations between two checks in one compiled call, beside the same pass by pass."""
        seconds = [
            measure(
                ours, "graphdict", "iteration", threads, model="GraphDictLog", samples=samples,
                nodes=nodes, atoms=atoms, dtype="float64", few=10, many=210, repeats=repeats,
                by_passes=by_passes,
            )["seconds"]
            for by_passes in (True, False)
        ]  # fmt: skip
        what = "GraphDictLog, BiPDS iteration (peer: ours pass by pass)"
        return what, (samples, nodes, atoms), *seconds, "s"

    yield timed("GraphDictLog", 2500, 30, 5, "float64", 10, 60)
    yield timed("GraphDictSpectralRelaxed", 2500, 30, 5, "float64", 10, 60)
    yield timed("GraphDictExact", 500, 30, 5, "float64", 2, 22)
    for seed, shape in enumerate([(1000, 20, 3), (8000, 16, 8), (500, 100, 2)], start=1):
        yield timed("GraphDictLog", *shape, "float64", 10, 60, seed)
    for seed, shape in enumerate([(1000, 20, 3), (4000, 64, 8)], start=4):
        yield timed("GraphDictSpectralRelaxed", *shape, "float64", 10, 60, seed)
    yield timed("GraphDictExact", 200, 50, 4, "float64", 2, 22, 6)

    for shape in [(2500, 30, 5), (1000, 20, 3), (500, 100, 2), (20_000, 64, 3)]:
        yield in_one_call(*shape)

    imports = [
        [measure(ours, library, "importing", threads)["seconds"] for _ in range(repeats)]
        for library in ("scikit-learn", "graphdict")
    ]
    what = "import (peer: scikit-learn)"
    yield what, None, *map(statistics.median, imports), "s"
    for solver, name in (("auto", "default solver"), ("bipds", "BiPDS")):
        mine = measure(
            ours, "graphdict", "waiting", threads, samples=2500, nodes=30, atoms=5, solver=solver
        )
        yield f"a first fit beyond a second, {name}", (2500, 30, 5), None, mine["seconds"], "s"

    theirs = measure(peer, "peer", "reach", threads, samples=2500, nodes=30, atoms=5, seed=0)
    mine = measure(
        ours, "graphdict", "reach", threads, samples=2500, nodes=30, atoms=5, seed=0,
        target=theirs["objective"], repeats=repeats,
    )  # fmt: skip
    what = "GraphDictLog, to the objective of 1,000 peer iterations"
    yield what, (2500, 30, 5), theirs["seconds"], mine["seconds"], "s"

    new = 1000
    theirs = measure(peer, "peer", "transform", threads, samples=new, nodes=64, atoms=5, repeats=1)
    mine = measure(
        ours, "graphdict", "transform", threads, samples=100_000, nodes=64, atoms=5, repeats=repeats
    )
    what = f"transform of 100,000 signals (peer: {new:,}, scaled up)"
    yield what, (100_000, 64, 5), theirs["seconds"] * 100_000 / new, mine["seconds"], "s"
    if quick:
        return

    large = timed("GraphDictLog", 60_000, 64, 3, "float64", 1, 3)
    yield large
    mine = measure(
        ours, "graphdict", "iteration", threads, model="GraphDictLog", samples=60_000, nodes=64,
        atoms=3, dtype="float32", few=1, many=11, repeats=repeats,
    )  # fmt: skip
    what = "GraphDictLog, BiPDS iteration, float32 (peer: float64)"
    yield what, (60_000, 64, 3), large[2], mine["seconds"], "s"
    theirs, mine = pair("memory", samples=60_000, nodes=64, atoms=3, iterations=3)
    what = "peak memory beyond the data"
    yield what, (60_000, 64, 3), theirs["bytes"] / GB, mine["bytes"] / GB, "GB"
    mine = measure(
        ours, "graphdict", "mapped", threads, samples=1_000_000, nodes=64, atoms=8, iterations=3
    )
    what = "private memory, float32 from a memory map"
    yield what, (1_000_000, 64, 8), None, mine["bytes"] / GB, "GB"


def shown(value: float | None, unit: str) -> str:
    """A figure to read: short times in milliseconds."""
    if value is None:
        return ""
    return f"{1e3 * value:.3g} ms" if unit == "s" and value < 0.1 else f"{value:.3g} {unit}"


def write_table(lines: list, path: Path) -> None:
    with open(path, "w") as file:
        file.write(
            "| what | T, N, K | peer | graphdict | ratio |\n| --- | --- | --- | --- | --- |\n"
        )
        for what, samples, nodes, atoms, theirs, mine, unit, ratio in lines:
            factor = "" if ratio is None else f"{ratio:,.3g}" if ratio < 1000 else f"{ratio:,.0f}"
            shape = "" if samples is None else f"{samples:,}, {nodes}, {atoms}"
            row = what, shape, shown(theirs, unit), shown(mine, unit), factor
            file.write(f"| {' | '.join(row)} |\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small shapes, three repetitions")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--output", type=Path, default=HERE / "results")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    peer = peer_python(HERE.parent / ".bench" / "peer")

    lines = []
    print(f"{'what':58} {'(T, N, K)':>18} {'peer':>12} {'graphdict':>12} {'ratio':>8}")
    for what, shape, theirs, mine, unit in rows_of_table(peer, options.threads, options.quick):
        ratio = None if theirs is None else theirs / mine
        lines.append([what, *(shape or [None] * 3), theirs, mine, unit, ratio])
        figures = shown(theirs, unit), shown(mine, unit)
        factor = "" if ratio is None else f"{ratio:.1f}"
        place = str(shape or "").replace(",", "")
        print(f"{what:58} {place:>18} {figures[0]:>12} {figures[1]:>12} {factor:>8}", flush=True)

    header = ["what", "samples", "nodes", "atoms", "peer", "graphdict", "unit", "ratio"]
    with open(options.output / "comparison.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(lines)
    write_table(lines, options.output / "comparison.md")


if __name__ == "__main__":
    main()
