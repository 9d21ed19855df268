"""A study of 109 recordings of a minute: 64 channels, 160 samples a second, six atoms.

    python benchmarks/recordings.py simulated
    python benchmarks/recordings.py eeg --folders FOLDER [FOLDER ...]

The second takes as many different minutes of EDF files of EEG (64 channels at 160 Hz, 1 to 40 Hz).
Prints seconds, CPU seconds and the largest memory of the fit; ``--recordings`` and the like make it
smaller. Each fit is in a process of its own, on ``--threads`` threads.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

MODELS: dict[str, dict[str, Any]] = {
    "markov": {"max_active": 1, "prior": "markov"},
    "plain": {"max_active": 1, "prior": "markov", "filter_power": 1, "tails": "gaussian"},
    "default": {},
}


def simulated(given: argparse.Namespace) -> dict[str, np.ndarray]:
    """Return recordings of a Markov chain of graphs, each as loud as it likes."""
    from graphdict.core import graphs

    rng = np.random.default_rng(0)
    pairs = graphs.n_edges(given.channels)
    there = rng.random((given.atoms, pairs)) < 0.1
    roots = []
    for laplacian in graphs.laplacian(there * rng.uniform(0.5, 2, there.shape) + 0.01):
        values, vectors = np.linalg.eigh(laplacian)
        roots.append(vectors[:, 1:] / np.sqrt(values[1:]))
    found = {}
    for number in range(given.recordings):
        labels = np.repeat(rng.integers(given.atoms, size=given.samples // 32 + 1), 32)
        signals = np.empty((given.samples, given.channels))
        for atom, root in enumerate(roots):
            own = np.flatnonzero(labels[: given.samples] == atom)
            signals[own] = rng.standard_normal((len(own), given.channels - 1)) @ root.T
        found[f"s{number + 1:03d}"] = signals * np.exp(0.1 * rng.standard_normal())
    return found


def eeg(given: argparse.Namespace) -> dict[str, np.ndarray]:
    """Return minutes of the EDF files in some folders, filtered, in microvolts."""
    import mne

    found: dict[str, np.ndarray] = {}
    paths = sorted(path for folder in given.folders for path in Path(folder).rglob("*.edf"))
    for start in range(3):
        for path in paths:
            if len(found) == given.recordings:
                return found
            raw = mne.io.read_raw_edf(path, preload=True, verbose="error")
            if raw.n_times < (start + 1) * given.samples or len(raw.ch_names) < given.channels:
                continue
            raw.filter(1, 40, verbose="error")
            rows = slice(start * given.samples, (start + 1) * given.samples)
            found[f"{path.stem}-{start}"] = 1e6 * raw.get_data()[: given.channels, rows].T
    raise SystemExit(f"{len(found)} minutes were found, {given.recordings} are needed")


def measure(given: argparse.Namespace) -> dict[str, Any]:
    """Fit once, and return what it took."""
    from graphdict import GraphDictMarginal

    signals = (simulated if given.part == "simulated" else eeg)(given)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    model = GraphDictMarginal(given.atoms, random_state=0, **MODELS[given.model])
    started, worked = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(signals)
    return {
        "signals": given.part, "model": given.model, "recordings": len(signals),
        "samples": model.recordings_.total, "channels": given.channels, "atoms": given.atoms,
        "threads": given.threads, "seconds": time.perf_counter() - started,
        "cpu_seconds": time.process_time() - worked, "iterations": int(model.n_iter_),
        "filter_power": float(getattr(model, "filter_power_", np.nan)),
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "megabytes_before": before / 1024,
        "shares": np.round(model.coefficients_.mean(0), 3).tolist(),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=["simulated", "eeg"])
    parser.add_argument("--model", choices=list(MODELS), default="markov")
    parser.add_argument("--recordings", type=int, default=109)
    parser.add_argument("--samples", type=int, default=9600)
    parser.add_argument("--channels", type=int, default=64)
    parser.add_argument("--atoms", type=int, default=6)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--folders", nargs="+", default=[])
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.here:
        print(json.dumps(measure(given)))
        return
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(given.threads))
    command = [sys.executable, *sys.argv, "--here"]
    subprocess.run(command, env=os.environ | threads, check=True)


if __name__ == "__main__":
    main()
