"""Which way to make the pass over the samples: BLAS, compiled loops, or a kept Z.

    python benchmarks/kernels.py

prints milliseconds of one thread for ``C' Z`` and ``Z W'`` together. The choice in
``graphdict.kernels`` and ``graphdict.terms.likelihoods`` rests on this.
"""

from __future__ import annotations

import statistics
import time

import numpy as np
from numba import njit
from threadpoolctl import threadpool_limits

from graphdict import graphs, kernels


@njit(fastmath=True)
def four_samples(c0, c1, c2, c3, weights, z, gradient):
    """Both products of four samples with one atom, in one loop over edges."""
    s0 = s1 = s2 = s3 = weights[0] * 0
    z0, z1, z2, z3 = z[0], z[1], z[2], z[3]
    for e in range(weights.size):
        gradient[e] += c0 * z0[e] + c1 * z1[e] + c2 * z2[e] + c3 * z3[e]
        s0 += weights[e] * z0[e]
        s1 += weights[e] * z1[e]
        s2 += weights[e] * z2[e]
        s3 += weights[e] * z3[e]
    return s0, s1, s2, s3


@njit(fastmath=True)
def compiled(signals, coefficients, atoms):
    """The pass as loops; the number of samples is a multiple of four."""
    samples, nodes = signals.shape
    count, edges = atoms.shape
    gradient = np.zeros(atoms.shape, signals.dtype)
    energy = np.empty(coefficients.shape, signals.dtype)
    z = np.empty((4, edges), signals.dtype)
    for t in range(0, samples, 4):
        for r in range(4):
            start = 0
            for i in range(nodes - 1):
                for j in range(i + 1, nodes):
                    difference = signals[t + r, i] - signals[t + r, j]
                    z[r, start + j - i - 1] = difference * difference
                start += nodes - 1 - i
        for k in range(count):
            c = coefficients[:, k]
            found = four_samples(c[t], c[t + 1], c[t + 2], c[t + 3], atoms[k], z, gradient[k])
            for r in range(4):
                energy[t + r, k] = found[r]
    return gradient, energy


def milliseconds(function) -> float:
    function()
    found = []
    for _ in range(7):
        started = time.perf_counter()
        function()
        found.append(time.perf_counter() - started)
    return 1e3 * statistics.median(found)


def blas(signals, coefficients, atoms):
    """What the package does: matrix products, one pass for each of the two arrays."""
    return kernels.weighted_distances(signals, coefficients), kernels.energies(signals, atoms)


def main() -> None:
    print(f"{'T':>7} {'N':>4} {'K':>3} {'dtype':>8} {'BLAS':>9} {'compiled':>9} {'kept Z':>9}")
    for samples, nodes, count in [(2500, 30, 5), (20_000, 64, 3), (20_000, 64, 8)]:
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
