"""The sets of the experiment, loaded and cut as their task needs them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.app.experiments.brain_data import REGIONS, row_of
from graphdict.core.annotations import Booleans, Floats, Integers
from graphdict.datasets import (
    DatasetNotFoundError,
    MeasuredSignals,
    load_brittany_weather,
    load_eegbci,
    load_eyes,
    load_flight_delays,
    load_fmri_rest,
    load_netsim,
    load_sp500,
    load_us_income,
    load_us_temperature,
)

FOLDS = 5  # of blocks: three parts to learn from, one to choose settings by, one to score
MOST_BLOCKS = 20
SHORTEST = 8  # samples in a block
IMAGERY_RUNS = (4, 8, 12)


@dataclass(frozen=True)
class TaskBlocks:
    """Signals in blocks of consecutive samples, by what they are for; without the training mean."""

    train: list[Floats]
    validation: list[Floats]
    test: list[Floats]
    positions: dict[str, list[float]]  # of the middles of blocks in time


@dataclass(frozen=True)
class StateTrial:
    """Signals (T, N) that begin in one state and end in another, or in the same: the control."""

    signals: Floats
    truth: Integers  # of each window
    window: int
    names: list[str]
    sfreq: float


@dataclass(frozen=True)
class ImaginedMoves:
    """Trials (n, T, N) in which a subject imagined to move one of the fists."""

    trials: Floats
    right: Booleans  # (n,) whether it was the right one
    runs: Integers  # (n,) of the recording


def load_imagery(
    subject: int, folder: Path | None = None, band: tuple[float, float] = (8.0, 30.0)
) -> ImaginedMoves:
    """Return the trials of a subject, from one second after the cue, 21 channels at 80 Hz.

    Before that second the cue itself, on one side of the screen, may tell which fist it is.
    ``folder`` may have MNE's ``MNE-eegbci-data``, or a folder ``eegbci`` with it; recordings are
    otherwise where MNE's settings say, and downloaded there.
    """
    below = [] if folder is None else [folder, folder / "eegbci"]
    folder = next((root for root in below if (root / "MNE-eegbci-data").is_dir()), None)
    trials, right, runs = [], [], []
    for run in IMAGERY_RUNS:
        (found,) = load_eegbci(subject, (run,), folder, tmin=1.0, tmax=4.0, band=band)
        names = [name for name in found.data.ch_names if row_of(name) in REGIONS["motor"]]
        epochs = found.data.pick(names).decimate(2, verbose="error")
        trials.append(1e6 * epochs.get_data(copy=False).swapaxes(1, 2))
        right.append(found.labels == "right")
        runs.append(np.full(len(found.labels), run))
    return ImaginedMoves(np.concatenate(trials), np.concatenate(right), np.concatenate(runs))


LOADERS: dict[str, Callable[..., Any]] = {
    "returns": load_sp500,
    "temperature": load_us_temperature,
    "brittany": load_brittany_weather,
    "income": load_us_income,
    "flights": load_flight_delays,
    "fmri": load_fmri_rest,
    "eyes": load_eyes,
    "imagery": load_imagery,
    "netsim": load_netsim,
}


@lru_cache(maxsize=8)
def _load(kind: str, folders: tuple[Path | None, ...], options: tuple) -> Any:
    """Return what the loader of a set returns, from the first folder that has it."""
    given = dict(options)
    first = [given.pop("subject")] if "subject" in given else []
    for folder in folders:
        try:
            return LOADERS[kind](*first, folder, **given)
        except DatasetNotFoundError as error:
            said = error
    raise said


def load(arguments: Mapping[str, Any], folders: tuple[Path | None, ...]) -> Any:
    """Return the set that ``arguments`` of a grid describe."""
    kept = {
        k: v for k, v in arguments.items() if k not in ("kind", "task", "parts", "run", "count")
    }
    options = {k: tuple(v) if isinstance(v, list) else v for k, v in kept.items()}
    found = _load(arguments["kind"], folders, tuple(sorted(options.items())))
    if "count" in arguments:  # of subjects
        return found[: arguments["count"]]
    if "run" in arguments:  # one of the two runs of a recording
        kept_samples = found.states == arguments["run"]
        return MeasuredSignals(found.signals[kept_samples], found.names, places=found.places)
    return found


def cut(signals: Floats, fold: int) -> TaskBlocks:
    """Return blocks of time, every fifth held out to score and the one after it to choose by."""
    count = min(MOST_BLOCKS, len(signals) // SHORTEST)
    pieces = np.array_split(np.arange(len(signals)), count)
    parts: dict[str, list[NDArray[Any]]] = {"train": [], "validation": [], "test": []}
    for index, piece in enumerate(pieces):
        place = (index - fold) % FOLDS
        parts["test" if place == 0 else "validation" if place == 1 else "train"].append(piece)
    mean = signals[np.concatenate(parts["train"])].mean(axis=0)
    positions = {name: [float(p.mean()) for p in found] for name, found in parts.items()}
    kept = {name: [signals[piece] - mean for piece in found] for name, found in parts.items()}
    return TaskBlocks(kept["train"], kept["validation"], kept["test"], positions)


def state_trials(found: MeasuredSignals, kind: str, part: int) -> dict[str, StateTrial]:
    """Return the trial whose two states are known, and the control whose halves are alike.

    Eyes are open and then closed, in windows of two seconds; the control is the first run alone.
    Temperature: all winters and then all summers, windows of 30 days; the control is winters alone,
    the earlier years against the later.
    """
    assert found.states is not None
    window = 160 if kind == "eyes" else 30
    first, second = ("open", "closed") if kind == "eyes" else ("winter", "summer")
    one, two = found.signals[found.states == first], found.signals[found.states == second]
    if kind != "eyes":  # a quarter of the years each, so that there are several trials
        one, two = (_share(x, part) for x in (one, two))
    sfreq = 80.0 if kind == "eyes" else 1.0

    def trial(*parts: Floats) -> StateTrial:
        whole = [x[: len(x) // window * window] for x in parts]
        signals = np.concatenate(whole)
        truth = np.repeat(np.arange(len(whole)), [len(x) // window for x in whole])
        return StateTrial(signals - signals.mean(axis=0), truth, window, found.names, sfreq)

    half = len(one) // 2
    return {"states": trial(one, two), "control": trial(one[:half], one[half:])}


def _share(signals: Floats, part: int, count: int = 4) -> Floats:
    return np.asarray(np.array_split(signals, count)[part % count])
