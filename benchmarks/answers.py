"""The time to an answer: CPU seconds and memory to reach hmmlearn's held-out likelihood.

    python benchmarks/answers.py [--quick] [--output DIR]

Signals switch between three graphs that last. hmmlearn's GaussianHMM (in an environment of its own
under .bench/) is fitted from four starts, and scored on as many new samples, in nats a sample. Then
GraphDictMarginal, in a process of its own, is fitted ever more thoroughly until it scores no less:
what is reported is the first such fit. The last rung is the default.
"""

from __future__ import annotations

import argparse
import csv
import json
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
# Ever more thorough; every rung but the last says what it does less of.
RUNGS: dict[str, dict] = {
    "one start, 30 iterations": {
        "n_init": 1, "max_iter": 30, "filter_power": 1, "tails": "gaussian",
    },
    "power 1, Gaussian": {"filter_power": 1, "tails": "gaussian"},
    "default": {},
}  # fmt: skip


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


def fit_ours(path: str, target: float) -> None:
    """Print the first rung that reaches the target, as JSON; run in a process of its own."""
    from graphdict import GraphDictMarginal

    warnings.simplefilter("ignore")
    with np.load(path) as file:
        train, test = file["train"], file["test"]
    for name, rung in RUNGS.items():
        options = {"prior": "markov", "max_active": 1, "random_state": 0, **rung}
        reset_peak()
        before = peak_memory()
        cpu = time.process_time()
        model = GraphDictMarginal(STATES, **options).fit(train)
        cpu = time.process_time() - cpu
        score = model.score(test) - (train.shape[1] - 1) * np.log(model.scale_)
        found = {"cpu": cpu, "megabytes": (peak_memory() - before) / 2**20, "nats": score}
        print(json.dumps({**found, "rung": name}), flush=True)
        if score >= target:
            break


def compare(samples: int, nodes: int, python: Path) -> dict:
    """Return one line of the table."""
    train = make_signals(samples, nodes, 0)
    test = make_signals(min(samples, HELD_OUT), nodes, 1)
    basis = contrasts(nodes)
    given = {
        "task": "signals", "coordinates": train @ basis, "lengths": np.array([samples]),
        "setting": json.dumps({"n_states": STATES, "ridge": None}),
    }  # fmt: skip
    peer = environments.run(python, "GaussianHMM", given)
    density = SwitchingDensity.from_covariances(
        peer["means"], peer["covariances"], start=peer["start"], transitions=peer["transitions"]
    )
    target = density.log_likelihood(test @ basis) / len(test)
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch, "signals.npz")
        np.savez(path, train=train, test=test)
        command = [sys.executable, __file__, "--ours", str(path), repr(target)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    ours = json.loads(done.stdout.strip().splitlines()[-1])
    return {
        "samples": samples, "nodes": nodes, "hmmlearn_cpu": float(peer["cpu"]),
        "graphdict_cpu": ours["cpu"], "ratio": float(peer["cpu"]) / ours["cpu"],
        "hmmlearn_megabytes": float(peer["memory"]) / 2**20,
        "graphdict_megabytes": ours["megabytes"], "hmmlearn_nats": target,
        "graphdict_nats": ours["nats"], "reached_by": ours["rung"],
    }  # fmt: skip


def write(lines: list[dict], folder: Path) -> None:
    """Write answers.csv and answers.md."""
    with open(folder / "answers.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, list(lines[0]))
        writer.writeheader()
        writer.writerows(lines)
    text = ["| T, N | hmmlearn, CPU s | graphdict, CPU s | ratio | MB | MB | nats | nats | by |"]
    text.append("| --- |" + " ---: |" * 7 + " --- |")
    for x in lines:
        text.append(
            f"| {x['samples']:,}, {x['nodes']} | {x['hmmlearn_cpu']:.2f} | "
            f"{x['graphdict_cpu']:.2f} | {x['ratio']:.1f} | {x['hmmlearn_megabytes']:.0f} | "
            f"{x['graphdict_megabytes']:.0f} | {x['hmmlearn_nats']:.2f} | "
            f"{x['graphdict_nats']:.2f} | {x['reached_by']} |"
        )
    (folder / "answers.md").write_text("\n".join(text) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="up to 5,000 samples")
    parser.add_argument("--output", type=Path, default=HERE / "results")
    parser.add_argument("--environments", type=Path, default=HERE.parent / ".bench")
    parser.add_argument("--ours", nargs=2, metavar=("FILE", "NATS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.ours:
        fit_ours(options.ours[0], float(options.ours[1]))
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
