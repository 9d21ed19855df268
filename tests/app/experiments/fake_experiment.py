"""A tiny experiment with models that take no time, run as a program where a test must kill it."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from graphdict.app.experiments import Dataset, Experiment, Grid
from graphdict.app.experiments.command import run_experiment

EDGES = 10


class Noisy:
    """Predicts the true graphs, blurred; ``how`` lets it fail, warn or stop."""

    def __init__(self, noise=0.5, how="", seed=0):
        self.noise, self.how, self.seed = noise, how, seed

    def fit(self, X):
        if log := os.environ.get("FAKE_LOG"):
            with open(log, "a") as file:
                file.write(f"{self.noise}-{self.seed}-{X[0, 0]:.6f}\n")
        time.sleep(float(os.environ.get("FAKE_SECONDS", "0")))
        if self.how == "fail":
            raise RuntimeError("this setting never works")
        if self.how == "interrupt":
            raise KeyboardInterrupt
        self.X_ = X
        return self

    def instantaneous_graphs(self, X=None):
        X = self.X_ if X is None else X
        rng = np.random.default_rng(self.seed)
        # The first EDGES columns of a fake signal are its true graph.
        blurred = X[:, :EDGES] + self.noise * rng.standard_normal((len(X), EDGES))
        return SimpleNamespace(weights=np.maximum(blurred, 0))


def draw(arguments, seed):
    rng = np.random.default_rng([seed, arguments["size"]])
    true = rng.random((arguments["size"], EDGES)) * (rng.random((arguments["size"], EDGES)) < 0.4)
    half = arguments["size"] // 2
    if arguments.get("no_test"):
        return Dataset(true, true)
    return Dataset(true[:half], true[:half], true[half:], true[half:])


def build(model, setting, seed):
    return Noisy(**setting, seed=seed)


def make_grid(**changes):
    described = {
        "experiment": "fake",
        "scale": "quick",
        "data": {"small": {"size": 20}, "large": {"size": 40}},
        "models": {
            "Careful": [{"noise": 0.3}, {"noise": 0.1}, {"noise": 0.2}],
            "Sloppy": [{"noise": 1.0}, {"noise": 2.0}, {"noise": 0.5}],
        },
        "seeds": (0, 1),
        "draw": draw,
        "build": build,
    }
    return Grid(**{**described, **changes})


def report(grid, choices, folder):
    return []


FAKE = Experiment("A fake experiment.", lambda scale: make_grid(), report)


if __name__ == "__main__":
    # A shell that runs tests in the background leaves SIGINT ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(run_experiment(FAKE, make_grid(), Path(sys.argv[1]), jobs=int(sys.argv[2])))
