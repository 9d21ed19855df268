"""Learn states at the peaks of global field power and assign them to every sample.

Any model of samples can be used: the graph dictionaries and baselines of this package,
scikit-learn's clusterings and mixtures, and pipelines that end in one of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal, Self, overload

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from graphdict.core.annotations import Floats, RandomState
from graphdict.eeg.backfitting import backfit, model_coefficients, n_states
from graphdict.eeg.peaks import Peaks, gfp_peaks
from graphdict.eeg.recording import Instance, each_recording
from graphdict.eeg.states import States
from graphdict.engine.scikit import BaseEstimator

NORMALISE = (None, "gfp", "recording")


@dataclass(repr=False, eq=False)
class StateEmbedding(BaseEstimator):
    """Fit a model of states to GFP peaks, and assign their coefficients to the nearest samples.

    Parameters
    ----------
    model : estimator
        Model to fit to the peaks (P, N), in microvolts: ``GraphDictLog``, ``GraphDictMarginal``,
        ``sklearn.cluster.KMeans``, ``sklearn.mixture.GaussianMixture``, ``GLMM``, ``KGraphs``, a
        pipeline, or anything else with ``fit`` and one of ``transform``, ``predict_proba``,
        ``predict``. It is cloned; the fitted one is ``model_``.
    normalise : {None, "gfp", "recording"}, default=None
        Divide each peak by its own field power, so that only the shape of the map counts; or each
        recording by the root mean square of its peaks, so that recordings have equal power.
    min_distance : float, default=0
        Smallest time between two peaks, in seconds.
    max_peaks : int, optional
        Fit to at most this number of peaks, drawn at random.
    activity : "auto", "largest", "mean" or float, default="auto"
        When a state is active in a sample: if its coefficient is the largest; if it reaches the
        state's mean over the training peaks; or if it reaches a number. "auto" is "largest" for
        models whose coefficients sum to one (clusterings, mixtures), and 0.5 for others, where any
        number of states may be active.
    sfreq : float, optional
        Samples per second of recordings that are arrays (n_epochs, n_channels, n_times).
    random_state : int, RandomState or None, default=None
        Random seed or generator of the draw of peaks.

    Attributes
    ----------
    model_ : estimator
        The fitted model.
    n_states_ : int
        Number K of states.
    channel_names_ : list of str
        Recordings to transform need these channels, in any order.
    activity_ : "largest" or array (K,)
        Rule of activity: the largest coefficient, or thresholds.
    n_peaks_ : int
        Number of peaks the model was fitted to.
    """

    model_: Any = field(init=False)
    n_peaks_: int = field(init=False)
    n_states_: int = field(init=False)
    channel_names_: list[str] = field(init=False)
    sfreq_: float = field(init=False)
    activity_: str | Floats = field(init=False)

    model: Any
    _: KW_ONLY
    normalise: Literal["gfp", "recording"] | None = None
    min_distance: float = 0.0
    max_peaks: int | None = None
    activity: Literal["auto", "largest", "mean"] | float = "auto"
    sfreq: float | None = None
    random_state: RandomState = None

    def fit(self, insts: Instance | Iterable[Instance], y: Any = None) -> Self:
        """Fit the model to the peaks of one recording or of a list of them.

        Parameters
        ----------
        insts : Raw, Epochs or array, or several of them with the same channels
            Several may come from a generator: only their peaks are kept in memory.
        y : None
            Ignored.

        Returns
        -------
        self
        """
        return self._learn(insts, fitted=False)

    def adopt(self, insts: Instance | Iterable[Instance]) -> Self:
        """Use ``model`` as it is: already fitted, or loaded by :func:`graphdict.load_model`.

        Parameters
        ----------
        insts : Raw, Epochs or array, or several of them with the same channels
            Recordings with the channels and the rate of the model; their peaks decide activity
            where it is "auto" or "mean".

        Returns
        -------
        self
        """
        return self._learn(insts, fitted=True)

    def _learn(self, insts: Any, *, fitted: bool) -> Self:
        """Collect the peaks of the recordings, and fit the model unless it is ``fitted``."""
        self._check_settings()
        names = getattr(self.model, "feature_names_in_", None) if fitted else None
        options = {} if names is None else {"picks": list(names)}
        parts = []
        for recording in each_recording(insts, sfreq=self.sfreq, **options):
            peaks = gfp_peaks(recording, min_distance=self.min_distance)
            parts.append(normalised(peaks, self.normalise))
        signals = np.concatenate(parts)
        if not len(signals):
            raise ValueError(
                "no peaks of global field power were found; are all samples marked bad, or the "
                "epochs shorter than three samples?"
            )
        if self.max_peaks is not None and len(signals) > self.max_peaks:
            rng = check_random_state(self.random_state)
            signals = signals[np.sort(rng.choice(len(signals), self.max_peaks, replace=False))]
        self.model_ = self.model if fitted else clone(self.model).fit(signals)
        self.n_peaks_ = len(signals)
        self.n_states_ = n_states(self.model_)
        self.channel_names_ = list(recording.names)
        self.sfreq_ = recording.sfreq
        self.activity_ = self._decide_activity(signals)
        return self

    def transform(self, inst: Instance) -> States:
        """Return the states of one recording.

        Parameters
        ----------
        inst : Raw, Epochs or array
            With the channels of the training recordings.

        Returns
        -------
        States
        """
        return self.embed_peaks(self.peaks(inst))

    @overload
    def fit_transform(self, insts: list[Any] | tuple[Any, ...], y: Any = None) -> list[States]: ...
    @overload
    def fit_transform(self, insts: Instance, y: Any = None) -> States: ...
    def fit_transform(self, insts: Any, y: Any = None) -> States | list[States]:
        """Fit, then transform.

        Parameters
        ----------
        insts : Raw, Epochs or array, or a list of them
        y : None
            Ignored.

        Returns
        -------
        States or list of States
            A list for a list of recordings.
        """
        self.fit(insts)
        if isinstance(insts, list | tuple):
            return [self.transform(inst) for inst in insts]
        return self.transform(insts)

    def peaks(self, inst: Instance) -> Peaks:
        """Return the peaks of a recording with the channels of the training recordings.

        Parameters
        ----------
        inst : Raw, Epochs or array

        Returns
        -------
        Peaks
        """
        check_is_fitted(self)
        options: dict[str, Any] = {"sfreq": self.sfreq}
        if not isinstance(inst, np.ndarray):
            options["picks"] = self.channel_names_
            bad = set(getattr(inst, "info", {}).get("bads", ())) & set(self.channel_names_)
            if bad:
                raise ValueError(
                    f"channels {sorted(bad)} are marked bad, but the states were learned with "
                    "them; interpolate them first: preprocess(inst, bads='interpolate')"
                )
        peaks = gfp_peaks(inst, min_distance=self.min_distance, **options)
        if len(peaks.recording.names) != len(self.channel_names_):
            raise ValueError(
                f"the states were learned from {len(self.channel_names_)} channels, the recording "
                f"has {len(peaks.recording.names)}"
            )
        if not np.isclose(peaks.recording.sfreq, self.sfreq_):
            raise ValueError(
                f"the states were learned at {self.sfreq_:g} samples a second, the recording has "
                f"{peaks.recording.sfreq:g}; resample it with inst.resample({self.sfreq_:g})"
            )
        return peaks

    def embed_peaks(self, peaks: Peaks) -> States:
        """Return the states of a recording from its peaks.

        Parameters
        ----------
        peaks : Peaks
            From :meth:`peaks`.

        Returns
        -------
        States
        """
        check_is_fitted(self)
        recording = peaks.recording
        coefficients = np.empty((0, self.n_states_), dtype=recording.signals.dtype)
        if len(peaks):
            signals = normalised(peaks, self.normalise)
            coefficients = model_coefficients(self.model_, signals)
        return States(
            backfit(peaks, coefficients), recording.sfreq,
            segments=recording.segments, event=recording.event, n_events=recording.n_events,
            frame=recording.frame, activity=self.activity_,
        )  # fmt: skip

    def _check_settings(self) -> None:
        """Raise ValueError for invalid settings."""
        if self.normalise not in NORMALISE:
            raise ValueError(f"normalise must be one of {NORMALISE}, got {self.normalise!r}")
        wrong = self.activity not in ("auto", "largest", "mean")
        if wrong and (isinstance(self.activity, str) or not 0 < self.activity <= 1):
            raise ValueError(
                "activity must be 'auto', 'largest', 'mean' or a number in (0, 1], got "
                f"{self.activity!r}"
            )
        if self.max_peaks is not None and self.max_peaks < 1:
            raise ValueError(f"max_peaks must be at least 1, got {self.max_peaks}")

    def _decide_activity(self, signals: Floats) -> str | Floats:
        """Return "largest" or thresholds (K,), by the coefficients of the training peaks."""
        if self.activity == "largest":
            return "largest"
        if self.activity not in ("auto", "mean"):
            return np.full(self.n_states_, float(self.activity))
        coefficients = model_coefficients(self.model_, signals)
        if self.activity == "mean":
            result: str | Floats = coefficients.mean(axis=0).astype(np.float64)
            return result
        if np.allclose(coefficients.sum(axis=1), 1, atol=1e-4):
            return "largest"
        return np.full(self.n_states_, 0.5)


def normalised(peaks: Peaks, how: str | None) -> Floats:
    """Return the signals (P, N) of peaks, scaled as ``normalise`` says."""
    signals = peaks.signals
    if how is None or not len(signals):
        return signals
    power = signals.std(axis=1, keepdims=True)
    if how == "recording":
        power = np.sqrt(np.mean(np.square(power), keepdims=True))
    return signals / np.where(power > 0, power, 1)
