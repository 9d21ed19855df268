"""A small file of signals, and the command line to run on it."""

import numpy as np
import pytest

from graphdict.app.cli import main
from graphdict.datasets import make_superposition
from graphdict.files import write_table
from invoking import invoke


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run a command in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: invoke(main, *arguments)


@pytest.fixture(scope="session")
def truth():
    """Three graphs on eight nodes that take turns, each for ten samples."""
    return make_superposition(
        3, 8, 0.4, 1, n_train=800, n_test=100, samples_per_graph=10, random_state=3
    )


@pytest.fixture
def table(tmp_path, truth):
    path = tmp_path / "signals.csv"
    names = [f"n{i}" for i in range(8)]
    times = np.arange(800) / 20
    write_table(path, {"time (s)": times, **dict(zip(names, truth.train.signals.T))}, digits=10)
    return path
