"""Which way to make the pass over the samples: BLAS, compiled tiles, or a kept Z.

    python benchmarks/kernels.py

prints milliseconds of one thread for ``C' Z`` and ``Z W'`` together: matrix products of the signals
(``blas_products.py``), compiled passes (``graphdict.native.tiles``), or from a kept ``Z``.
"""

from __future__ import annotations

import statistics
import time

import blas_products
import numpy as np
from threadpoolctl import threadpool_limits

from graphdict.core import graphs
from graphdict.native import products


def milliseconds(function) -> float:
    function()
    found = []
    for _ in range(7):
        started = time.perf_counter()
        function()
        found.append(time.perf_counter() - started)
    return 1e3 * statistics.median(found)


def blas(signals, coefficients, atoms):
    return blas_products.energies(signals, atoms), blas_products.weighted_distances(
        signals, coefficients
    )


def compiled(signals, coefficients, atoms):
    return products.energies(signals, atoms), products.weighted_distances(signals, coefficients)


def main() -> None:
    print(f"{'T':>7} {'N':>4} {'K':>3} {'dtype':>8} {'BLAS':>9} {'tiles':>9} {'kept Z':>9}")
    for samples, nodes, count in [(2500, 30, 5), (20_000, 64, 3), (20_000, 64, 8), (5_000, 200, 5)]:
        for dtype in ("float64", "float32"):
            rng = np.random.default_rng(0)
            signals = rng.normal(size=(samples, nodes)).astype(dtype)
            coefficients = rng.random((samples, count)).astype(dtype)
            atoms = rng.random((count, graphs.n_edges(nodes))).astype(dtype)
            kept = graphs.squared_differences(signals)
            with threadpool_limits(1):
                found = [
                    milliseconds(lambda: blas(signals, coefficients, atoms)),
                    milliseconds(lambda: compiled(signals, coefficients, atoms)),
                    milliseconds(lambda: (coefficients.T @ kept, kept @ atoms.T)),
                ]
            times = " ".join(f"{value:9.2f}" for value in found)
            print(f"{samples:7} {nodes:4} {count:3} {dtype:>8} {times}", flush=True)


if __name__ == "__main__":
    main()
