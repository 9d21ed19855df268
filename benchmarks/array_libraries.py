"""Would a PyTorch path through the kernels be worth having? Measured on CPU, estimated for GPUs.

    pip install torch
    python benchmarks/array_libraries.py [--output DIR]

Times one thread for the pass of the log model: both big products ``Z W'`` and ``C' Z``, and the
dual step. By NumPy (blas_products.py), by the compiled pass
(graphdict.native.log_barrier), and by the same matrix products on PyTorch's CPU tensors, whole and
in blocks that stay in cache. Then counts
operations and bytes, estimates the pass on GPUs from their published peaks, and from the share of a
fit that the products take, what a fit would gain. Writes array_libraries.md.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import blas_products
import numpy as np
from threadpoolctl import threadpool_limits

from graphdict import GraphDictLog
from graphdict.core import graphs
from graphdict.native import log_barrier, products

HERE = Path(__file__).parent
SIZES = ((60_000, 64, 3), (2_500, 30, 5))
# Peaks that their makers publish: TFLOP/s in float32, GB/s of memory, GB/s to the host.
GPUS = {"T4": (8.1, 320, 16), "A100": (19.5, 1555, 32), "H100": (67, 3350, 64)}
REACHED = 0.5  # share of a peak that such products reach, an assumption
LAUNCH, LAUNCHES = 1e-5, 15  # seconds for each kernel on a GPU, and kernels in a pass
SIGMA = 0.1
CACHE = 1 << 20


def seconds(function, repeats: int = 9) -> float:
    """The least CPU time of several calls, so that other work on the machine does not count."""
    function()
    found = []
    for _ in range(repeats):
        started = time.process_time()
        function()
        found.append(time.process_time() - started)
    return min(found)


def by_numpy(signals, coefficients, atoms, degrees, dual):
    energies = blas_products.energies(signals, atoms)
    distances = blas_products.weighted_distances(signals, coefficients)
    moved = dual + SIGMA * (coefficients @ degrees)
    raised = (moved - np.sqrt(np.square(moved) + 4 * SIGMA)) / 2
    return energies + raised @ degrees.T, distances, coefficients.T @ raised


def by_tiles(signals, coefficients, atoms, degrees, dual):
    lead = log_barrier.AtomMove(atoms, degrees, degrees, SIGMA)
    stand = log_barrier.SampleArrays(coefficients, np.zeros_like(coefficients), dual)
    goal = log_barrier.CoefficientMove(coefficients, 0.0, 1.0, None)
    ones = np.ones(len(signals), signals.dtype)
    job, found = log_barrier.primal_dual_pass(signals, ones, lead, stand, goal, False, False)
    job()
    return found.gradient, found.distances, found.mixed_dual


def by_torch(torch, signals, coefficients, laplacians, degrees, dual, block=None):
    """The same with what every array library has: matrix products, products, sums, a root."""
    samples, nodes = signals.shape
    count = len(degrees)
    moments = signals.new_zeros((nodes, count * nodes))
    mixed, pulls = torch.zeros_like(degrees), torch.empty_like(coefficients)
    for start in range(0, samples, block or samples):
        rows = slice(start, start + (block or samples))
        x, c = signals[rows], coefficients[rows]
        filtered = (x @ laplacians).reshape(len(x), count, nodes)
        energies = (filtered * x[:, None, :]).sum(-1)
        moments += x.T @ (c[:, :, None] * x[:, None, :]).reshape(len(x), -1)
        moved = dual[rows] + SIGMA * (c @ degrees)
        raised = (moved - torch.sqrt(moved * moved + 4 * SIGMA)) / 2
        pulls[rows] = energies + raised @ degrees.T
        mixed += c.T @ raised
    return pulls, moments, mixed


def measure(samples: int, nodes: int, count: int, dtype: str) -> dict[str, float]:
    """Seconds of a pass by each way, checked against each other."""
    import torch

    rng = np.random.default_rng(0)
    signals = rng.normal(size=(samples, nodes)).astype(dtype)
    coefficients = rng.random((samples, count)).astype(dtype)
    atoms = rng.random((count, graphs.n_edges(nodes))).astype(dtype)
    degrees = graphs.degrees(atoms)
    dual = -rng.random((samples, nodes)).astype(dtype)
    given = (signals, coefficients, atoms, degrees, dual)
    stacked = graphs.laplacian(atoms).transpose(1, 0, 2).reshape(nodes, -1)
    there = [torch.from_numpy(np.ascontiguousarray(a)) for a in (signals, coefficients, stacked)]
    there += [torch.from_numpy(degrees), torch.from_numpy(dual)]
    block = max(64, CACHE // (nodes * count * signals.itemsize))
    torch.set_num_threads(1)
    with threadpool_limits(1), torch.no_grad():
        plain, compiled = by_numpy(*given), by_tiles(*given)
        other = by_torch(torch, *there, block)
        for one, two in ((plain[0], compiled[0]), (plain[1], compiled[1]), (plain[0], other[0])):
            np.testing.assert_allclose(one, np.asarray(two), rtol=2e-3)
        return {
            "NumPy": seconds(lambda: by_numpy(*given)),
            "compiled tiles": seconds(lambda: by_tiles(*given)),
            "PyTorch, whole": seconds(lambda: by_torch(torch, *there)),
            "PyTorch, in blocks": seconds(lambda: by_torch(torch, *there, block)),
        }


def share_of_products(samples: int, nodes: int, count: int) -> float:
    """Which share of the CPU time of a fit by MM the two products take, on one thread."""
    rng, iterations = np.random.default_rng(0), 20
    signals = rng.normal(size=(samples, nodes)).astype(np.float32)
    atoms = rng.random((count, graphs.n_edges(nodes))).astype(np.float32)
    coefficients = rng.random((samples, count)).astype(np.float32)
    model = GraphDictLog(count, solver="mm", max_iter=iterations, tol=0, random_state=0)
    with threadpool_limits(1):
        spent = seconds(lambda: products.energies(signals, atoms))
        spent += seconds(lambda: products.weighted_distances(signals, coefficients))
        return iterations * spent / seconds(lambda: model.fit(signals), repeats=1)


def on_gpu(samples: int, nodes: int, count: int, gpu: str) -> tuple[float, float]:
    """Seconds of a pass on a GPU in float32, and of bringing the signals there once."""
    peak, memory, host = GPUS[gpu]
    operations = samples * count * nodes * (4 * nodes + 10)
    moved = 4 * samples * (4 * count * nodes + 4 * nodes + 4 * count)
    busy = max(operations / (peak * 1e12), moved / (memory * 1e9)) / REACHED
    return busy + LAUNCH * LAUNCHES, 4 * samples * nodes / (host * 1e9 * REACHED)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=HERE / "results")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = [
        "`python benchmarks/array_libraries.py`: a pass of the log model, ms of one thread.",
        "",
    ]
    found = {}
    for samples, nodes, count in SIZES:
        for dtype in ("float32", "float64"):
            times = measure(samples, nodes, count, dtype)
            found[samples, nodes, count, dtype] = times
            if len(found) == 1:
                lines += [f"| T, N, K | | {' | '.join(times)} |", "| --- " * (2 + len(times)) + "|"]
            row = " | ".join(f"{1e3 * value:.2f}" for value in times.values())
            lines.append(f"| {samples:,}, {nodes}, {count} | {dtype} | {row} |")
            print(lines[-1], flush=True)
    lines += ["", "Estimated in float32, from published peaks of which half is reached; `fit` is",
              "the gain of a fit whose two products run there and whose other steps stay here:", "",
              "| GPU | T, N, K | pass, ms | signals there, ms | pass against tiles | "
              "share of products | fit |", "| --- " * 7 + "|"]  # fmt: skip
    for size in SIZES:
        share = share_of_products(*size)
        ours = found[(*size, "float32")]["compiled tiles"]
        for gpu in GPUS:
            there, transfer = on_gpu(*size, gpu)
            gain = 1 / (1 - share + share * there / ours)
            lines.append(
                f"| {gpu} | {size[0]:,}, {size[1]}, {size[2]} | {1e3 * there:.2f} | "
                f"{1e3 * transfer:.2f} | {ours / there:.0f} times | {share:.0%} | "
                f"{gain:.1f} times |"
            )
            print(lines[-1], flush=True)
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / "array_libraries.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
