"""The time to an answer: CPU seconds and memory to reach another package's held-out likelihood.

    python benchmarks/answers.py [--quick] [--output DIR] [--environments DIR]

Signals switch between three graphs that last. hmmlearn's GaussianHMM, in an environment of its own,
is fitted from four starts (from one where there are more than 50,000 samples, which takes minutes),
scikit-learn's GaussianMixture from four, and both are scored on new samples, in nats a sample.
GraphDictMarginal is fitted at its default settings and, to see what they cost, from one start as
the paper's model (``n_init=1, filter_power=1, tails="gaussian"``), also until nothing changes any
more (``tol=1e-7``), each in a process of its own and on one core. Beside each ratio of CPU seconds
stands how many nats ours is ahead of hmmlearn, with an error over twenty blocks of new samples.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

from graphdict.app.experiments.real import environments
from graphdict.app.experiments.real.peers import peak_memory, reset_peak
from graphdict.app.experiments.real.switching import SwitchingDensity, contrasts

HERE = Path(__file__).parent
STATES = 3
STAY = 0.98
HELD_OUT = 20_000  # samples at most
BLOCKS = 20  # of them, each scored as a series of its own
FOUR_STARTS_UP_TO = 50_000  # samples
WAYS: dict[str, dict] = {
    "default": {},
    "one start": {"n_init": 1, "filter_power": 1, "tails": "gaussian"},
    "to the end": {"n_init": 1, "filter_power": 1, "tails": "gaussian", "tol": 1e-7},
}


def make_signals(samples: int, nodes: int, seed: int) -> np.ndarray:
    """Return signals (T, N) whose graph is one of three, which lasts fifty samples in the mean."""
    rng = np.random.default_rng(seed)
    of_graphs = np.random.default_rng(nodes)  # the same for training and held-out samples
    rows, columns = np.triu_indices(nodes, 1)
    signals = np.empty((samples, nodes))
    new = rng.random(samples) > STAY
    states = rng.integers(STATES, size=samples)
    states = states[np.maximum.accumulate(np.where(new, np.arange(samples), 0))]
    for state in range(STATES):
        weights = of_graphs.uniform(0.1, 3, len(rows)) * (of_graphs.random(len(rows)) < 0.2)
        weights[columns == rows + 1] += 0.1  # connected
        laplacian = np.zeros((nodes, nodes))
        laplacian[rows, columns] = laplacian[columns, rows] = -weights
        laplacian -= np.diag(laplacian.sum(axis=1))
        values, vectors = np.linalg.eigh(laplacian)
        chosen = np.flatnonzero(states == state)
        noise = rng.normal(size=(len(chosen), nodes - 1))
        signals[chosen] = (noise / np.sqrt(values[1:])) @ vectors[:, 1:].T
    return signals


def fit_ours(path: str, way: str) -> None:
    """Print CPU seconds, megabytes and the nats of blocks as JSON; run in a process of its own."""
    from sklearn.mixture import GaussianMixture

    from graphdict import GraphDictMarginal

    warnings.simplefilter("ignore")
    with np.load(path) as file:
        train, test = file["train"], file["test"]
    basis = contrasts(train.shape[1])
    options = {"prior": "markov", "max_active": 1, "random_state": 0}
    # What is loaded on first use is loaded before time is taken, as it is for the others.
    GraphDictMarginal(2, **options).fit(train[:200, :5])
    coordinates = train @ basis if way == "mixture" else None
    reset_peak()
    before = peak_memory()
    cpu = time.process_time()
    if way == "mixture":
        model = GaussianMixture(STATES, n_init=4, random_state=0).fit(coordinates)
    else:
        model = GraphDictMarginal(STATES, **options, **WAYS[way]).fit(train)
    cpu = time.process_time() - cpu
    peak = (peak_memory() - before) / 2**20
    blocks = np.array_split(test, BLOCKS)
    if way == "mixture":
        nats = [model.score(block @ basis) for block in blocks]
    else:
        unit = (train.shape[1] - 1) * np.log(model.scale_)
        nats = [model.score(block) - unit for block in blocks]
    print(json.dumps({"cpu": cpu, "megabytes": peak, "nats": nats}))


def compare(samples: int, nodes: int, python: Path) -> dict:
    """Return one line of the table."""
    train = make_signals(samples, nodes, 0)
    test = make_signals(min(samples, HELD_OUT), nodes, 1)
    basis = contrasts(nodes)
    starts = 4 if samples <= FOUR_STARTS_UP_TO else 1
    given = {
        "task": "signals", "coordinates": train @ basis, "lengths": np.array([samples]),
        "setting": json.dumps({"n_states": STATES, "ridge": None, "starts": starts}),
    }  # fmt: skip
    peer = environments.run(python, "GaussianHMM", given)
    density = SwitchingDensity.from_covariances(
        peer["means"], peer["covariances"], start=peer["start"], transitions=peer["transitions"]
    )
    blocks = [block @ basis for block in np.array_split(test, BLOCKS)]
    of_peer = np.array([density.log_likelihood(block) / len(block) for block in blocks])
    line: dict = {
        "samples": samples, "nodes": nodes, "hmmlearn_starts": starts,
        "hmmlearn_cpu": float(peer["cpu"]), "hmmlearn_megabytes": float(peer["memory"]) / 2**20,
        "hmmlearn_nats": of_peer.mean(),
    }  # fmt: skip
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch, "signals.npz")
        np.savez(path, train=train, test=test)
        for way in (*WAYS, "mixture"):
            command = [sys.executable, __file__, "--ours", str(path), way]
            done = subprocess.run(
                command,
                check=True,
                capture_output=True,
                text=True,
                env={**os.environ, **one_thread},
            )
            found = json.loads(done.stdout.strip().splitlines()[-1])
            ahead = np.array(found["nats"]) - of_peer
            line |= {
                f"{way}_cpu": found["cpu"], f"{way}_megabytes": found["megabytes"],
                f"{way}_nats": np.mean(found["nats"]), f"{way}_ahead": ahead.mean(),
                f"{way}_error": ahead.std(ddof=1) / BLOCKS**0.5,
            }  # fmt: skip
    return line


def ratio(line: dict, way: str) -> str:
    """Return how many times hmmlearn's CPU seconds are ours, and how many nats ours is ahead."""
    ahead, error = line[f"{way}_ahead"], line[f"{way}_error"]
    return f"{line['hmmlearn_cpu'] / line[f'{way}_cpu']:.1f} ({ahead:+.4f} ± {error:.4f})"


def write(lines: list[dict], folder: Path) -> None:
    """Write answers.csv and answers.md."""
    with open(folder / "answers.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, list(lines[0]))
        writer.writeheader()
        writer.writerows(lines)
    columns = ("hmmlearn", "mixture", *WAYS)
    header = [f"{name}: CPU s, MB, nats" for name in columns] + [
        f"hmmlearn / {way} (nats ahead)" for way in WAYS
    ]
    text = [f"| T, N | {' | '.join(header)} |", "| --- |" + " ---: |" * len(header)]
    for x in lines:
        cells = [
            f"{x[f'{name}_cpu']:.2f}, {x[f'{name}_megabytes']:.0f}, {x[f'{name}_nats']:.2f}"
            for name in columns
        ]
        cells += [ratio(x, way) for way in WAYS]
        text.append(f"| {x['samples']:,}, {x['nodes']} | {' | '.join(cells)} |")
    (folder / "answers.md").write_text("\n".join(text) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="up to 5,000 samples")
    parser.add_argument("--output", type=Path, default=HERE / "results")
    parser.add_argument(
        "--environments", type=Path, default=HERE.parent / ".bench" / "environments"
    )
    parser.add_argument("--ours", nargs=2, metavar=("FILE", "WAY"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.ours:
        fit_ours(*options.ours)
        return
    options.output.mkdir(parents=True, exist_ok=True)
    python = environments.make("hmmlearn", options.environments)
    lines = []
    for samples in (500, 5_000) if options.quick else (500, 5_000, 50_000, 500_000):
        for nodes in (16, 64):
            lines.append(compare(samples, nodes, python))
            print(json.dumps(lines[-1]), flush=True)
            write(lines, options.output)


if __name__ == "__main__":
    main()
