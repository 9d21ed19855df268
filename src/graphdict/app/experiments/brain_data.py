"""Load events of motor imagery, whiten them for each subject, cut them into phases."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.datasets import load_eegbci
from graphdict.datasets.eegbci import EEGBCI_CHANNELS

BROAD = (0.5, 30.0)  # of the microstate literature, and of the paper
IMAGERY = (8.0, 30.0)  # mu and beta rhythms, which imagined movement weakens over the motor cortex
SECONDS = 4.0
# Directions with less than this share of the strongest one's power are noise, which whitening must
# not amplify.
NOISE_FLOOR = 1e-3


# Where eyes and the picture of the cue are seen, and where hands are: what is next to the eyes and
# over the visual cortex, and what is over and beside the motor cortex. No electrode is in both.
REGIONS: dict[str, tuple[str, ...]] = {
    "eyes": ("Fp", "AF", "F7", "F8", "PO", "O", "Iz"),
    "motor": ("FC", "C", "CP"),
}


@dataclass(frozen=True)
class Events:
    """Events of one subject: signals (n, N, T) in volts, and whether each is of the right hand."""

    signals: NDArray[Any]
    right: NDArray[Any]
    sfreq: float


@lru_cache(maxsize=4)
def load_events(
    subjects: tuple[int, ...], data_dir: Path | None, band: tuple[float, float], start: float = 0.0
) -> dict[int, Events]:
    """Return the events by subject, from ``start`` to four seconds after the cue, in one band."""
    if start > 0:
        return {
            subject: Events(
                events.signals[:, :, round(start * events.sfreq) :], events.right, events.sfreq
            )
            for subject, events in load_events(subjects, data_dir, band).items()
        }
    loaded = load_eegbci(subjects, data_dir=data_dir, band=band, tmax=SECONDS)
    return {
        found.subject: Events(
            found.data.get_data(copy=False).astype(np.float32),
            found.labels == "right",
            float(found.data.info["sfreq"]),
        )
        for found in loaded
    }


def pick_region(events: Events, region: str) -> Events:
    """Return the events on the electrodes of a region; "all" is every one.

    An electrode belongs to an entry of `REGIONS` that is its name or the letters of it.
    """
    if region == "all":
        return events
    wanted = REGIONS[region]
    kept = [i for i, name in enumerate(EEGBCI_CHANNELS) if {name, row_of(name)} & set(wanted)]
    return Events(events.signals[:, kept], events.right, events.sfreq)


def row_of(name: str) -> str:
    """Return the row of an electrode, the letters of its name: AF of AF7, C of Cz."""
    return name.rstrip("z0123456789")


def whiten_subject(events: Events) -> Events:
    """Whiten a subject's signals by the mean covariance of the same subject's events.

    The symmetric root keeps the order of the electrodes. Labels are not used.
    """
    signals = events.signals.astype(np.float64)
    signals -= signals.mean(axis=1, keepdims=True)
    flat = np.moveaxis(signals, 1, 0).reshape(signals.shape[1], -1)
    values, vectors = np.linalg.eigh(flat @ flat.T / flat.shape[1])
    kept = values > NOISE_FLOOR * values[-1]
    whitener = (vectors[:, kept] / np.sqrt(values[kept])) @ vectors[:, kept].T
    return Events((whitener @ signals).astype(np.float32), events.right, events.sfreq)


def phase_covariances(events: Events, phases: int) -> NDArray[Any]:
    """Return covariances (n, P, N, N) of ``phases`` equal parts of each event, of equal power.

    Only the spatial distribution of the power then counts.
    """
    count, nodes, times = events.signals.shape
    length = times // phases
    parts = events.signals[:, :, : length * phases].astype(np.float64)
    parts = np.moveaxis(parts.reshape(count, nodes, phases, length), 2, 1)
    covariances = parts @ np.swapaxes(parts, -1, -2)
    power = np.trace(covariances, axis1=-2, axis2=-1)
    return covariances * (nodes / power)[..., None, None]
