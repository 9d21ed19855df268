"""Whether several graphs of windows predict other windows better than one graph.

    OPENBLAS_NUM_THREADS=1 python benchmarks/windows.py FOLDER [subjects, as 1,2,3]

FOLDER has the runs of ``load_eyes`` and the stations of ``load_us_temperature``. Of each run, a
minute with eyes open or closed, every second window of 2 s is learned from and the others are
predicted. Printed are, for each number of atoms, the gain over one graph in nats a sample with its
error over runs, and how many runs have one graph. Further lines give both runs together, in which
there are two states, and quarters and halves of the years, winters and summers in windows of 30
days, in which there are two as well.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np

from graphdict import GraphDictMarginal
from graphdict.datasets import load_eyes, load_us_temperature

WINDOW, MONTH = 160, 30
SUBJECTS = range(1, 16)


def fitted(count, x, window):
    model = GraphDictMarginal(count, max_active=1, window_size=window, random_state=0)
    return model.fit(x)


def nats(model, x):
    """Return the mean log-likelihood in the unit of the signals."""
    return model.score(x) - (x.shape[1] - 1) * np.log(model.scale_)


def gains(x, window=WINDOW, counts=(2, 4)):
    """Return the gain over one graph for each number of atoms, and whether they are one graph."""
    windows = x[: len(x) // window * window].reshape(-1, window, x.shape[1])
    train, test = (windows[half::2].reshape(-1, x.shape[1]) for half in (0, 1))
    mean = train.mean(axis=0)
    single = nats(fitted(1, train - mean, window), test - mean)
    found = [fitted(count, train - mean, window) for count in counts]
    alike = [bool((model.atoms_ == model.atoms_[0]).all()) for model in found]
    return [nats(model, test - mean) - single for model in found], alike


def show(name, rows):
    for place, count in enumerate((2, 4)):
        found = np.array([row[0][place] for row in rows])
        one = sum(row[1][place] for row in rows)
        error = found.std(ddof=1) / len(found) ** 0.5
        print(
            f"{name}, {count} atoms: {found.mean():+.2f} ± {error:.2f} nats a sample, lowest "
            f"{found.min():+.2f}; one graph in {one} of {len(rows)}",
            flush=True,
        )


def winters_and_summers(data, count):
    """Return the signals of each of so many parts of the years: its winters, then its summers."""
    seasons = [data.signals[data.states == name] for name in ("winter", "summer")]
    cut = [np.array_split(x[: len(x) // MONTH * MONTH], count) for x in seasons]
    whole = [[x[: len(x) // MONTH * MONTH] for x in parts] for parts in cut]
    return [np.concatenate(parts) for parts in zip(*whole)]


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    folder = sys.argv[1]
    subjects = [int(s) for s in sys.argv[2].split(",")] if len(sys.argv) > 2 else SUBJECTS
    runs, both = [], []
    for subject in subjects:
        data = load_eyes(subject, folder, download=False)
        runs += [gains(data.signals[data.states == state]) for state in ("open", "closed")]
        both.append(gains(data.signals))
    show("one run", runs)
    show("both runs", both)
    temperature = load_us_temperature(folder)
    for name, count in (("a quarter of the years", 4), ("half of the years", 2)):
        show(name, [gains(x, MONTH) for x in winters_and_summers(temperature, count)])
