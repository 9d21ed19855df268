"""Simulate EEG of switching scalp maps on real electrode positions, with two classes of trials."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from graphdict.core.annotations import Floats, Integers, RandomState
from graphdict.datasets.eegbci import EEGBCI_CHANNELS

if TYPE_CHECKING:  # pragma: no cover
    import mne

MICROVOLT = 1e-6
TILT = (1.0, -1.0)  # log-odds of the first two states in left trials; swapped in right ones


@dataclass(frozen=True)
class SimulatedEEG:
    """A simulated recording and its ground truth.

    Attributes
    ----------
    data : mne.io.RawArray
        In volts, with positions, and annotations "T0" (rest), "T1" (left) and "T2" (right).
    labels : array of "left" and "right"
        Class of each trial.
    events : integer array (n_trials, 3)
        Sample, zero, and 1 for left or 2 for right.
    states : integer array (T,)
        State of each sample.
    maps : array (K, N)
        Scalp map of each state, centred and of unit field power.
    """

    data: mne.io.RawArray
    labels: NDArray[np.str_]
    events: Integers
    states: Integers
    maps: Floats


def make_eeg(
    n_trials: int = 20,
    *,
    n_states: int = 4,
    trial_seconds: float = 4.0,
    rest_seconds: float = 2.0,
    sfreq: float = 160.0,
    mean_duration: float = 0.1,
    effect: float = 1.0,
    noise: float = 0.5,
    channels: Sequence[str] = EEGBCI_CHANNELS,
    random_state: RandomState | np.random.Generator = None,
) -> SimulatedEEG:
    """Simulate a recording in which the class of a trial changes how often states occur.

    Durations of states are exponential. A state is a smooth scalp map times a 10 Hz oscillation,
    plus noise: slow and smooth over the head, and independent at each electrode.

    Parameters
    ----------
    n_trials : int, default=20
        Number of trials, half of them left, half right, in random order, each after a rest.
    n_states : int, default=4
        Number of states.
    trial_seconds, rest_seconds : float, default=4 and 2
        Duration of a trial and of the rest before it.
    sfreq : float, default=160
        Samples per second.
    mean_duration : float, default=0.1
        Mean duration of a state, in seconds.
    effect : float, default=1
        Log-odds of the first two states between left and right trials; 0 for no effect.
    noise : float, default=0.5
        Standard deviation of the noise, relative to the signal.
    channels : names, default=those of :func:`load_eegbci`
        Electrodes of the 10-05 system.
    random_state : int, RandomState or None
        Random seed or generator.

    Returns
    -------
    SimulatedEEG
    """
    from graphdict.eeg.extra import require_mne
    from graphdict.eeg.montage import ten_five_montage

    mne = require_mne()
    if n_states < 2:
        raise ValueError(f"n_states must be at least 2, got {n_states}")
    rng = check_random_state(random_state)
    montage = ten_five_montage()
    positions = montage.get_positions()["ch_pos"]
    unknown = [name for name in channels if name not in positions]
    if unknown:
        raise ValueError(f"channels {unknown} are not in the 10-05 system")
    directions = np.array([positions[name] for name in channels])
    directions -= directions.mean(axis=0)
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)

    classes = rng.permutation(np.arange(n_trials) % 2)  # 0 is left
    rest, trial = round(rest_seconds * sfreq), round(trial_seconds * sfreq)
    begins = np.arange(n_trials) * (rest + trial) + rest
    total = n_trials * (rest + trial) + rest
    sample_classes = np.full(total, -1)
    for begin, label in zip(begins, classes):
        sample_classes[begin : begin + trial] = label
    states = _draw_states(sample_classes, n_states, mean_duration * sfreq, effect, rng)

    maps = _fields(directions, n_states, rng)
    time = np.arange(total) / sfreq
    rhythm = np.sqrt(2) * np.sin(2 * np.pi * 10 * time + np.cumsum(rng.normal(0, 0.05, total)))
    signals = maps[states] * rhythm[:, None]
    slow = np.cumsum(rng.standard_normal((total, 6)), axis=0)
    slow -= np.linspace(0, 1, total)[:, None] * slow[-1]  # returns to where it began
    slow /= slow.std(axis=0)
    smooth = slow @ _fields(directions, 6, rng) / np.sqrt(6)
    signals += noise * (smooth + 0.5 * rng.standard_normal(signals.shape))

    info = mne.create_info(list(channels), sfreq, "eeg")
    raw = mne.io.RawArray(10 * MICROVOLT * signals.T, info, verbose="error")
    raw.set_montage(montage, verbose="error")
    onsets = np.concatenate((begins - rest, begins)) / sfreq
    lengths = np.repeat([rest_seconds, trial_seconds], n_trials)
    names = ["T0"] * n_trials + [("T1", "T2")[label] for label in classes]
    raw.set_annotations(mne.Annotations(onsets, lengths, names))
    events = np.column_stack((begins, np.zeros_like(begins), classes + 1))
    return SimulatedEEG(raw, np.array(["left", "right"])[classes], events, states, maps)


def _draw_states(classes: Integers, count: int, mean: float, effect: float, rng: Any) -> Integers:
    """Return the state (T,) of each sample, given the class (T,) of its trial, -1 for rest."""
    states = np.empty(len(classes), dtype=np.intp)
    sample, current = 0, -1
    while sample < len(classes):
        odds = np.zeros(count)
        if classes[sample] >= 0:
            odds[:2] = np.multiply(TILT, (1, -1)[classes[sample]] * effect / 2)
        shares = np.exp(odds)
        if current >= 0:
            shares[current] = 0
        current = int(rng.choice(count, p=shares / shares.sum()))
        length = 1 + int(rng.exponential(mean))
        states[sample : sample + length] = current
        sample += length
    return states


def _fields(directions: Floats, count: int, rng: Any) -> Floats:
    """Return smooth maps (count, N) with a random source and sink, centred, of unit power."""
    poles = rng.standard_normal((count, 2, 3))
    poles[..., 2] = np.abs(poles[..., 2])  # above the ears, where electrodes are
    poles /= np.linalg.norm(poles, axis=2, keepdims=True)
    near = np.exp(3 * (np.einsum("kpd,nd->kpn", poles, directions) - 1))
    maps = near[:, 0] - near[:, 1]
    maps -= maps.mean(axis=1, keepdims=True)
    result: Floats = maps / maps.std(axis=1, keepdims=True)
    return result
