"""What learning filter and tails costs: CPU seconds beside power 1, Gaussian, and beside hmmlearn.

    OPENBLAS_NUM_THREADS=1 python benchmarks/filter_time.py [--hmm] [--atoms K] [FILE.npy ...]

Each file has signals (T, N); without one they are simulated: three states of a smooth field on a
line, louder at times, 64 nodes and 10,000 samples. ``--hmm`` fits hmmlearn's GaussianHMM (full
covariances, 60 iterations) from as many starts. All times are CPU seconds of one thread.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg import helmert

from graphdict import GraphDictMarginal

HMM_ITERATIONS = 60


def smooth_field(samples: int, nodes: int, length: int = 50) -> np.ndarray:
    """Return signals of three states that differ in how far a field on a line is alike."""
    rng = np.random.default_rng(0)
    apart = np.abs(np.subtract.outer(np.arange(nodes), np.arange(nodes)))
    roots = [
        np.linalg.cholesky(np.exp(-apart / scale) + 1e-4 * np.eye(nodes)) for scale in (3, 6, 12)
    ]
    states = rng.integers(3, size=samples // length + 1).repeat(length)[:samples]
    white = rng.standard_normal((samples, nodes)) * np.exp(0.3 * rng.standard_normal((samples, 1)))
    return np.stack([roots[state] @ row for state, row in zip(states, white, strict=True)])


def seconds_of(model: Any, signals: np.ndarray) -> float:
    """Return the CPU seconds of a fit."""
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(signals)
    return time.process_time() - started


def seconds_of_hmm(signals: np.ndarray, atoms: int, starts: int) -> float:
    """Return the CPU seconds of hmmlearn from so many starts, in N - 1 dimensions."""
    from hmmlearn.hmm import GaussianHMM

    signals = signals @ helmert(signals.shape[1]).T
    ridge = 1e-3 * float(signals.var())
    models = (
        GaussianHMM(atoms, "full", min_covar=ridge, n_iter=HMM_ITERATIONS, random_state=seed)
        for seed in range(starts)
    )
    return sum(seconds_of(model, signals) for model in models)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--atoms", type=int, default=3)
    parser.add_argument("--hmm", action="store_true")
    given = parser.parse_args()
    sets = {path.stem: np.load(path) for path in given.files}
    for name, signals in (sets or {"simulated": smooth_field(10_000, 64)}).items():
        signals = signals - signals.mean(axis=0)
        plain = GraphDictMarginal(given.atoms, filter_power=1, tails="gaussian", random_state=0)
        default = GraphDictMarginal(given.atoms, random_state=0)
        first, second = seconds_of(plain, signals), seconds_of(default, signals)
        text = (
            f"{name} {signals.shape}: power 1, Gaussian {first:.1f} s; learned {second:.1f} s, "
            f"{second / first:.2f} times (power {default.filter_power_:.2f}, "
            f"tails {default.tails_:.1f}, {default.filter_})"
        )
        if given.hmm:
            hmm = seconds_of_hmm(signals, given.atoms, default.n_init)
            text += f"; hmmlearn {hmm:.1f} s from {default.n_init} starts"
        print(text, flush=True)


if __name__ == "__main__":
    main()
