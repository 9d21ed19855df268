"""States of a recording over time: made from labels, arrays or MNE, cut, and converted to MNE."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphdict.core.annotations import Floats, Integers
from graphdict.core.renamed import renamed
from graphdict.eeg import conversion
from graphdict.eeg.frames import Frame
from graphdict.eeg.state_statistics import StateStatistics
from graphdict.eeg.windows import cut_windows
from graphdict.studies.features import PAPER_FEATURES

if TYPE_CHECKING:  # pragma: no cover
    import mne

Scalar = TypeVar("Scalar", bound=np.generic)


@renamed("stretches", "segments")
class States(StateStatistics):
    """States of a recording: the coefficients of every sample, and statistics of them.

    Parameters
    ----------
    coefficients : array (T, K)
        Coefficients; NaN in samples without a state.
    sfreq : float
        Samples per second.
    segments : integer array (S, 2), optional
        First sample and end of each segment, whose ends runs and transitions do not cross; one
        segment by default.
    event : integer array (S,), optional
        Event of each segment; by default each segment is an event.
    n_events : int, optional
        Number of events; by default the largest of ``event`` plus one.
    frame : Frame, optional
        Times, events and annotations of the recording, for conversion to MNE.
    activity : "largest" or array (K,), default="largest"
        Which states are active in a sample, for ``features``: the one with the largest coefficient,
        or those whose coefficient reaches a threshold. ``labels`` are always by the largest.
    names : K names, optional
        "state 1", "state 2", ... by default.
    """

    coefficients: Floats  # those of the base class again, for type checkers
    sfreq: float
    segments: Integers
    event: Integers
    n_events: int
    frame: Frame
    activity: str | ArrayLike
    names: list[str]

    def __init__(
        self,
        coefficients: ArrayLike,
        sfreq: float,
        *,
        segments: ArrayLike | None = None,
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
        self.segments = np.asarray(whole if segments is None else segments, dtype=np.intp)
        self.segments = self.segments.reshape(-1, 2)
        each = np.arange(len(self.segments))
        self.event = np.asarray(each if event is None else event, dtype=np.intp)
        self.n_events = int(self.event.max(initial=-1) + 1 if n_events is None else n_events)
        self.frame = frame or Frame("raw", len(self.coefficients), self.sfreq)
        self.activity = activity
        self.names = list(names or (f"state {k + 1}" for k in range(self.n_states)))

    @classmethod
    def from_labels(
        cls, labels: ArrayLike, sfreq: float, n_states: int | None = None, **options: Any
    ) -> States:
        """Return the states of a segmentation.

        Parameters
        ----------
        labels : integer array (T,) or (n_epochs, n_times)
            State of each sample, -1 for none.
        sfreq : float
            Samples per second.
        n_states : int, optional
            Number of states; by default the largest label plus one.
        **options
            Further arguments of :class:`States`.

        Returns
        -------
        States
        """
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
        """Return the states of an array of coefficients.

        Parameters
        ----------
        coefficients : array (T, K) or (n_epochs, n_times, K)
            Coefficients of a Raw, or of Epochs.
        sfreq : float
            Samples per second.
        **options
            Further arguments of :class:`States`.

        Returns
        -------
        States
        """
        values = np.asarray(coefficients)
        if values.ndim != 3:
            return cls(values, sfreq, **options)
        epochs, times, count = values.shape
        bounds = np.arange(epochs)[:, None] * times + [0, times]
        options = {"frame": Frame("array", times, float(sfreq)), **options}
        rows = values.reshape(-1, count)
        return cls(rows, sfreq, segments=bounds, n_events=epochs, **options)

    @classmethod
    def from_mne(cls, inst: mne.io.BaseRaw | mne.BaseEpochs, **options: Any) -> States:
        """Return the states of an MNE object made by :meth:`to_mne`.

        Parameters
        ----------
        inst : mne.io.Raw or mne.Epochs
            Its channels are the states.
        **options
            Further arguments of :class:`States`.

        Returns
        -------
        States
        """
        coefficients, recording = conversion.read(inst)
        return cls(
            coefficients, recording.sfreq,
            segments=recording.segments, event=recording.event, n_events=recording.n_events,
            frame=recording.frame, **{"names": list(inst.ch_names), **options},
        )  # fmt: skip

    def __repr__(self) -> str:
        seconds = len(self.coefficients) / self.sfreq
        return (
            f"<States | {self.n_states} states, {self.n_events} events, {seconds:.1f} s at "
            f"{self.sfreq:g} Hz>"
        )

    @overload
    def by_event(self, values: None = None) -> Floats: ...
    @overload
    def by_event(self, values: NDArray[Scalar]) -> NDArray[Scalar]: ...
    def by_event(self, values: NDArray[Any] | None = None) -> NDArray[Any]:
        """Return values of epochs in the shape (n_epochs, n_times, ...).

        Parameters
        ----------
        values : array (T, ...), optional
            Values of all samples; the coefficients by default.

        Returns
        -------
        array (n_epochs, n_times, ...)
        """
        values = self.coefficients if values is None else values
        if self.frame.kind == "raw":
            raise ValueError(
                "these are the states of a Raw; cut it first: states.epochs(events, ...)"
            )
        return values.reshape(self.n_events, self.frame.n_times, *values.shape[1:])

    # Other cuts of the same samples ---------------------------------------------------------

    def without_edges(self) -> States:
        """Return the states without the first and the last run of each segment.

        These are cut off by the ends of the segment, so that their durations are unknown.

        Returns
        -------
        States
        """
        labels, coefficients = self.labels, self.coefficients.copy()
        for start, stop in self.segments:
            own = labels[start:stop]
            changes = np.flatnonzero(np.diff(own))
            first = changes[0] + 1 if len(changes) else len(own)
            last = changes[-1] + 1 if len(changes) else 0
            coefficients[start : start + first] = np.nan
            coefficients[start + last : stop] = np.nan
        return self._like(coefficients)

    def epochs(
        self,
        events: ArrayLike,
        tmin: float = 0.0,
        tmax: float = 4.0,
        event_id: dict[str, int] | None = None,
    ) -> States:
        """Return the states of a Raw cut into windows around events, each an event of its own.

        The nearest peak of a sample may lie outside its window, as in the paper; to avoid that, cut
        the signals first and embed Epochs. Windows that exceed the recording are left out, as in
        MNE; ``.frame.selection`` are the events that are kept.

        Parameters
        ----------
        events : array (n, 3)
            Samples, zeros and codes, as from ``mne.events_from_annotations``.
        tmin, tmax : float
            Window around each event in seconds, both ends included.
        event_id : dict, optional
            Names of the codes; events with other codes are left out.

        Returns
        -------
        States
        """
        samples, segments, event, frame = cut_windows(
            self.frame, self.segments, np.asarray(events), tmin, tmax, event_id
        )
        return States(
            self.coefficients[samples], self.sfreq, segments=segments, event=event,
            n_events=len(samples) // frame.n_times, frame=frame, activity=self.activity,
            names=self.names,
        )  # fmt: skip

    # To MNE ---------------------------------------------------------------------------------

    def to_mne(self) -> mne.io.RawArray | mne.EpochsArray:
        """Return the coefficients as an MNE object with a misc channel for each state.

        It has the first sample, measurement date, annotations, events and metadata of the
        recording. Samples without a state are NaN.

        Returns
        -------
        mne.io.RawArray or mne.EpochsArray
        """
        return conversion.to_mne(self)

    def annotations(self) -> mne.Annotations:
        """Return the runs of labels as annotations of the recording.

        Returns
        -------
        mne.Annotations
        """
        return conversion.to_annotations(self)

    def _like(self, coefficients: Floats) -> States:
        """Return states with other coefficients of the same samples."""
        return States(
            coefficients, self.sfreq, segments=self.segments, event=self.event,
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
) -> Floats:
    """Return the features of each event and state of plain arrays.

    Parameters
    ----------
    states : array
        Whole numbers are labels, (T,) or (n_events, n_times), -1 for none; others are coefficients,
        (T, K) or (n_events, n_times, K), NaN for none.
    sfreq : float
        Samples per second.
    n_states : int, optional
        Number of states of labels; by default the largest label plus one.
    features, activity, pool
        As in :meth:`States.feature_array`.

    Returns
    -------
    array (n_events, K, F)
    """
    values = np.asarray(states)
    if values.dtype.kind in "iu":
        return States.from_labels(values, sfreq, n_states).feature_array(features, pool=pool)
    return States.from_array(values, sfreq).feature_array(features, activity, pool=pool)
