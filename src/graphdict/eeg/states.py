"""The states of a recording in time, as an object that owns its statistics and its MNE twins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphdict.eeg import conversion, transitions
from graphdict.eeg.extra import require_pandas
from graphdict.eeg.features import PAPER_FEATURES, feature_table, hard_labels
from graphdict.eeg.frames import Frame
from graphdict.eeg.windows import cut_windows

__all__ = ["States", "state_features"]


class States:
    """Coefficients of every sample of a recording, and what follows from them.

    Parameters
    ----------
    coefficients : array (T, K)
        NaN in samples that have no state.
    sfreq : float
        Samples a second.
    stretches : integer array (S, 2), optional
        First sample and end of what runs and transitions stay within; one stretch by default.
    event : integer array (S,), optional
        The event of each stretch; each its own by default.
    n_events : int, optional
    frame : Frame, optional
        What else the recording had, for the way back to MNE.
    activity : "largest" or array (K,), default="largest"
        How it is decided which states are active: the largest coefficient, or thresholds that a
        coefficient must reach. It rules ``features``; ``labels`` are always by the largest.
    names : K names, optional
        "state 1", "state 2", ... by default.
    """

    def __init__(
        self,
        coefficients: ArrayLike,
        sfreq: float,
        *,
        stretches: ArrayLike | None = None,
        event: ArrayLike | None = None,
        n_events: int | None = None,
        frame: Frame | None = None,
        activity: str | ArrayLike = "largest",
        names: Sequence[str] | None = None,
    ):
        self.coefficients = np.asarray(coefficients)
        if self.coefficients.ndim != 2:
            raise ValueError(
                f"coefficients must have the shape (samples, states), got {self.coefficients.shape}"
            )
        if not sfreq > 0:
            raise ValueError(f"sfreq must be positive, got {sfreq}")
        self.sfreq = float(sfreq)
        whole = [[0, len(self.coefficients)]]
        self.stretches = np.asarray(whole if stretches is None else stretches, dtype=np.intp)
        self.stretches = self.stretches.reshape(-1, 2)
        each = np.arange(len(self.stretches))
        self.event = np.asarray(each if event is None else event, dtype=np.intp)
        self.n_events = int(self.event.max(initial=-1) + 1 if n_events is None else n_events)
        self.frame = frame or Frame("raw", len(self.coefficients), self.sfreq)
        self.activity = activity
        self.names = list(names or (f"state {k + 1}" for k in range(self.n_states)))

    @classmethod
    def from_labels(
        cls, labels: ArrayLike, sfreq: float, n_states: int | None = None, **options: Any
    ) -> States:
        """States of a segmentation: labels (T,) of a Raw or (n_epochs, n_times), -1 for none."""
        labels = np.asarray(labels)
        if labels.dtype.kind not in "iu" or labels.ndim not in (1, 2):
            raise ValueError(
                "labels must be whole numbers of shape (n_times,) or (n_epochs, n_times), got "
                f"{labels.dtype} of shape {labels.shape}"
            )
        count = int(labels.max(initial=-1)) + 1 if n_states is None else n_states
        if labels.min(initial=0) < -1 or labels.max(initial=-1) >= count:
            raise ValueError(
                f"labels must lie between -1 and n_states - 1 = {count - 1}, got "
                f"{labels.min()} to {labels.max()}"
            )
        rows = np.vstack((np.eye(count), np.full(count, np.nan)))[labels]
        return cls.from_array(rows, sfreq, **options)

    @classmethod
    def from_array(cls, coefficients: ArrayLike, sfreq: float, **options: Any) -> States:
        """States from coefficients (T, K) of a Raw, or (n_epochs, n_times, K)."""
        values = np.asarray(coefficients)
        if values.ndim != 3:
            return cls(values, sfreq, **options)
        epochs, times, count = values.shape
        bounds = np.arange(epochs)[:, None] * times + [0, times]
        options = {"frame": Frame("array", times, float(sfreq)), **options}
        rows = values.reshape(-1, count)
        return cls(rows, sfreq, stretches=bounds, n_events=epochs, **options)

    @classmethod
    def from_mne(cls, inst: Any, **options: Any) -> States:
        """Read back what :meth:`to_mne` made."""
        coefficients, recording = conversion.read(inst)
        return cls(
            coefficients, recording.sfreq,
            stretches=recording.stretches, event=recording.event, n_events=recording.n_events,
            frame=recording.frame, **{"names": list(inst.ch_names), **options},
        )  # fmt: skip

    def __repr__(self) -> str:
        seconds = len(self.coefficients) / self.sfreq
        return (
            f"<States | {self.n_states} states, {self.n_events} events, {seconds:.1f} s at "
            f"{self.sfreq:g} Hz>"
        )

    @property
    def n_states(self) -> int:
        return self.coefficients.shape[1]

    @property
    def labels(self) -> NDArray:
        """The state with the largest coefficient in each sample (T,); -1 where there is none."""
        return hard_labels(self.coefficients)

    def by_event(self, values: NDArray | None = None) -> NDArray:
        """Coefficients, or values (T, ...) of other kinds, of epochs: (n_epochs, n_times, ...)."""
        values = self.coefficients if values is None else values
        if self.frame.kind == "raw":
            raise ValueError("these states are of a Raw; cut it first: states.epochs(events, ...)")
        return values.reshape(self.n_events, self.frame.n_times, *values.shape[1:])

    # Statistics -----------------------------------------------------------------------------

    def feature_array(
        self,
        features: Sequence[str] = PAPER_FEATURES,
        activity: str | ArrayLike | None = None,
        *,
        pool: bool = False,
    ) -> NDArray:
        """Features of each event and state, (n_events, K, F); see :mod:`graphdict.eeg.features`.

        Parameters
        ----------
        features : names
            The paper's three by default; ``graphdict.eeg.FEATURES`` are all.
        activity : "largest" or thresholds, optional
            Instead of the states' own.
        pool : bool, default=False
            All events together as one; runs still end with their stretch.
        """
        activity = self.activity if activity is None else activity
        event, count = (np.zeros_like(self.event), 1) if pool else (self.event, self.n_events)
        return feature_table(
            self.coefficients, activity, self.stretches, event, count, self.sfreq, features
        )

    def features(
        self,
        features: Sequence[str] = PAPER_FEATURES,
        activity: str | ArrayLike | None = None,
        *,
        pool: bool = False,
    ) -> Any:
        """The same as a pandas table: a row for each event and state, a column for each feature."""
        pandas = require_pandas()
        values = self.feature_array(features, activity, pool=pool)
        index = pandas.MultiIndex.from_product(
            [range(len(values)), self.names], names=["event", "state"]
        )
        return pandas.DataFrame(
            values.reshape(-1, len(features)), index=index, columns=list(features)
        )

    def transition_matrix(
        self, *, statistic: str = "probability", ignore_repetitions: bool = True
    ) -> NDArray:
        """Observed transitions (K, K) between labels, never across stretches."""
        return transitions.observed_transitions(
            self.labels, self.stretches, self.n_states,
            statistic=statistic, ignore_repetitions=ignore_repetitions,
        )  # fmt: skip

    def expected_transition_matrix(self, *, ignore_repetitions: bool = True) -> NDArray:
        """Transition probabilities (K, K) if samples came in random order."""
        return transitions.expected_transitions(
            self.labels, self.stretches, self.n_states, ignore_repetitions=ignore_repetitions
        )

    def entropy(self, *, ignore_repetitions: bool = False, base: float = 2.0) -> float:
        """Shannon entropy of the labels, in bits by default."""
        return transitions.sequence_entropy(
            self.labels, self.stretches, ignore_repetitions=ignore_repetitions, base=base
        )

    # Other cuts of the same samples ---------------------------------------------------------

    def without_edges(self) -> States:
        """The same without the first and the last run of each stretch, of unknown length."""
        labels, coefficients = self.labels, self.coefficients.copy()
        for start, stop in self.stretches:
            own = labels[start:stop]
            changes = np.flatnonzero(np.diff(own))
            first = changes[0] + 1 if len(changes) else len(own)
            last = changes[-1] + 1 if len(changes) else 0
            coefficients[start : start + first] = np.nan
            coefficients[start + last : stop] = np.nan
        return self._like(coefficients)

    def epochs(
        self, events: ArrayLike, tmin: float = 0.0, tmax: float = 4.0, event_id: Any = None
    ) -> States:
        """States of a Raw cut around events, each then an event of its own.

        Nearest peaks may lie outside the window, as in the paper; to keep to the window, cut the
        signals first and embed Epochs. Windows that leave the recording are left out, as in MNE;
        ``.frame.selection`` says which are there.

        Parameters
        ----------
        events : array (n, 3)
            Samples, zeros and codes, as ``mne.events_from_annotations`` gives them.
        tmin, tmax : float
            Window around each event in seconds, both ends included.
        event_id : dict, optional
            Names of the codes; events with other codes are left out.
        """
        samples, stretches, event, frame = cut_windows(
            self.frame, self.stretches, np.asarray(events), tmin, tmax, event_id
        )
        return States(
            self.coefficients[samples], self.sfreq, stretches=stretches, event=event,
            n_events=len(samples) // frame.n_times, frame=frame, activity=self.activity,
            names=self.names,
        )  # fmt: skip

    # To MNE ---------------------------------------------------------------------------------

    def to_mne(self) -> Any:
        """Coefficients as an MNE RawArray or EpochsArray of misc channels, with times and events.

        The same first sample, measurement date, annotations, events and metadata as the recording.
        Samples without a state are NaN.
        """
        return conversion.to_mne(self)

    def annotations(self) -> Any:
        """Runs of labels as ``mne.Annotations``, to be added to those of the recording."""
        return conversion.to_annotations(self)

    def _like(self, coefficients: NDArray) -> States:
        return States(
            coefficients, self.sfreq, stretches=self.stretches, event=self.event,
            n_events=self.n_events, frame=self.frame, activity=self.activity, names=self.names,
        )  # fmt: skip


def state_features(
    states: ArrayLike,
    sfreq: float,
    *,
    n_states: int | None = None,
    features: Sequence[str] = PAPER_FEATURES,
    activity: str | ArrayLike = "largest",
    pool: bool = False,
) -> NDArray:
    """Features of each event and state, (n_events, K, F), of plain arrays.

    Parameters
    ----------
    states : array
        Whole numbers are labels, (T,) or (n_events, n_times), -1 for none; others are coefficients,
        (T, K) or (n_events, n_times, K), NaN for none.
    sfreq : float
        Samples a second.
    n_states : int, optional
        Number of states where labels are given.
    features, activity, pool
        As in :meth:`States.feature_array`.
    """
    values = np.asarray(states)
    if values.dtype.kind in "iu":
        return States.from_labels(values, sfreq, n_states).feature_array(features, pool=pool)
    return States.from_array(values, sfreq).feature_array(features, activity, pool=pool)
