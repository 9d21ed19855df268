"""A scikit-learn transformer from epochs to features of their states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from graphdict.core.annotations import Floats, RandomState
from graphdict.eeg.embedding import StateEmbedding
from graphdict.eeg.extra import require_mne
from graphdict.engine.scikit import BaseEstimator, TransformerMixin
from graphdict.studies.features import FEATURES, PAPER_FEATURES

if TYPE_CHECKING:  # pragma: no cover
    import mne


@dataclass(repr=False, eq=False)
class StateFeatures(TransformerMixin, BaseEstimator):
    """Learn states at the GFP peaks of epochs, and describe each epoch by features of its states.

    ``make_pipeline(StateFeatures(GraphDictLog(3), sfreq=160), RandomForestClassifier())`` can be
    cross-validated like any other: states are learned from the training epochs of each fold.

    Parameters
    ----------
    model : estimator
        Model of the states, as in :class:`StateEmbedding`.
    sfreq : float, optional
        Samples per second; needed for arrays of epochs.
    features : names, default=("occurrences", "coverage", "mean_duration")
        Features of each state, of ``graphdict.eeg.FEATURES``; defined in
        :mod:`graphdict.studies.features`.
    normalise, min_distance, max_peaks, activity, random_state
        As in :class:`StateEmbedding`.

    Attributes
    ----------
    embedding_ : StateEmbedding
        The fitted embedding.
    n_features_in_ : int
        Number of channels.
    """

    embedding_: StateEmbedding = field(init=False)
    n_features_in_: int = field(init=False)

    model: Any
    _: KW_ONLY
    sfreq: float | None = None
    features: Sequence[str] = PAPER_FEATURES
    normalise: Literal["gfp", "recording"] | None = None
    min_distance: float = 0.0
    max_peaks: int | None = None
    activity: Literal["auto", "largest", "mean"] | float = "auto"
    random_state: RandomState = None

    def fit(
        self, X: mne.BaseEpochs | Sequence[mne.BaseEpochs] | NDArray[Any], y: Any = None
    ) -> Self:
        """Learn the states of epochs.

        Parameters
        ----------
        X : mne.Epochs, list of single Epochs, or array (n_epochs, n_channels, n_times)
            An array is in volts, as from ``epochs.get_data()``.
        y : None
            Ignored.

        Returns
        -------
        self
        """
        unknown = [name for name in self.features if name not in FEATURES]
        if unknown or not len(self.features):
            raise ValueError(
                f"features must be names among {list(FEATURES)}, got {list(self.features)}"
            )
        settings = self.get_params(deep=False)
        del settings["model"], settings["features"]
        self.embedding_ = StateEmbedding(self.model, **settings).fit(_epochs(X))
        self.n_features_in_ = len(self.embedding_.channel_names_)
        return self

    def transform(self, X: mne.BaseEpochs | Sequence[mne.BaseEpochs] | NDArray[Any]) -> Floats:
        """Return the features of the states of each epoch.

        Parameters
        ----------
        X : mne.Epochs, list of single Epochs, or array (n_epochs, n_channels, n_times)
            Epochs with the channels of the training epochs.

        Returns
        -------
        array (n_epochs, K * F)
            All features of the first state, then of the second, ...
        """
        check_is_fitted(self)
        states = self.embedding_.transform(_epochs(X))
        values = states.feature_array(self.features)
        return values.reshape(len(values), self.embedding_.n_states_ * len(self.features))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return names such as "state1_coverage".

        Parameters
        ----------
        input_features : None
            Ignored.

        Returns
        -------
        array of str (K * F,)
        """
        check_is_fitted(self)
        states = range(1, self.embedding_.n_states_ + 1)
        names = [f"state{k}_{name}" for k in states for name in self.features]
        return np.array(names, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        return tags


def _epochs(X: Any) -> Any:
    """Return Epochs or an array; concatenate the list of single Epochs of cross-validation."""
    if isinstance(X, np.ndarray):
        return X
    mne = require_mne()
    if isinstance(X, mne.BaseEpochs):
        return X
    if isinstance(X, list | tuple) and X and all(isinstance(part, mne.BaseEpochs) for part in X):
        return mne.concatenate_epochs(list(X), verbose="error") if len(X) > 1 else X[0]
    raise TypeError(
        "X must be mne.Epochs, a list of them, or an array (n_epochs, n_channels, n_times), got "
        f"{type(X).__name__}"
    )
