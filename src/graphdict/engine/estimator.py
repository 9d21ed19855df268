"""What all estimators share: reading, checking and preparing signals, names of nodes, warnings."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from graphdict.core import graphs
from graphdict.core.annotations import Booleans, Floats, Signals
from graphdict.core.pictures import graphs_html
from graphdict.core.recordings import Recordings
from graphdict.engine.containers import about_signals, name_column, unpack
from graphdict.engine.finite_values import check_finite
from graphdict.engine.logs import logger
from graphdict.engine.memory import check_memory
from graphdict.engine.mne_signals import is_mne
from graphdict.engine.penalties import check_penalties
from graphdict.engine.recordings import Joined, are_several, join, rescaled
from graphdict.engine.scikit import BaseEstimator
from graphdict.engine.signals import Preparation
from graphdict.engine.sources import Rows, open_rows, prepared
from graphdict.exceptions import ConvergenceWarning, VersionWarning, warn
from graphdict.results import thresholded_atoms

if TYPE_CHECKING:  # pragma: no cover
    from graphdict.results import InstantaneousGraphs


class SignalEstimator(BaseEstimator):
    """Base of the dictionaries and of the baselines, whose signals are prepared alike."""

    rescale: bool | str
    tol: float
    atoms_: Floats
    active_nodes_: Booleans
    scale_: float
    recordings_: Recordings
    n_features_in_: int
    feature_names_in_: NDArray[np.object_]
    objective_: float
    n_iter_: int
    _variance: float  # mean square of the training signals, once prepared
    _takes_lazy = False
    _takes_gaps = False  # whether values may be missing (NaN)
    _gaps_advice = ""  # to those who have missing values, where it does not take them

    if TYPE_CHECKING:  # pragma: no cover - each estimator has its own

        def instantaneous_graphs(self, X: Signals | None = None) -> InstantaneousGraphs: ...

    def fit(self, X: Signals, y: Any = None) -> Self:
        """Learn from signals.

        Parameters
        ----------
        X : array or DataFrame (T, N), or several recordings
            One row for each sample, one column for each node.
        y : None
            Ignored; there for scikit-learn's pipelines.

        Returns
        -------
        self
        """
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._takes_gaps
        return tags

    def __getstate__(self) -> dict[str, Any]:
        from graphdict import __version__

        return {**super().__getstate__(), "_graphdict_version": __version__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        from graphdict import __version__

        state = dict(state)
        found = state.pop("_graphdict_version", "an earlier version")
        if found != __version__:
            warn(
                f"this {type(self).__name__} was pickled by graphdict {found} and is read by "
                f"{__version__}, where the same attributes may mean something else: fit it again, "
                "or keep models in files of their own (save, load_model), which are versioned",
                VersionWarning,
            )
        super().__setstate__(state)

    def _read(self, X: Signals, *, reset: bool) -> tuple[Floats, Recordings]:
        """Return samples (T, N) of one or several recordings, and which are of which."""
        by_recording = self.rescale == "recording"
        if by_recording or are_several(X) or is_mne(X):
            joined = join(X, None if reset else self._known_names, self._takes_gaps)
            return self._read_joined(joined, by_recording, reset), joined.recordings
        samples = self._read_one(X, reset)
        return samples, Recordings.single(len(samples))

    @property
    def _known_names(self) -> list[str] | None:
        """Names of the nodes of the training signals; None where these had no names."""
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else list(names)

    def _read_joined(self, joined: Joined, by_recording: bool, reset: bool) -> Floats:
        """Check recordings and their nodes as scikit-learn does those of one array."""
        samples, count = joined.samples, joined.samples.shape[1]
        if reset:
            if count < 2 or len(samples) < 2:
                raise ValueError(
                    f"X has {len(samples)} sample(s) of {count} node(s) in "
                    f"{len(joined.recordings)} recording(s); learning a graph needs at least 2 of "
                    "each"
                )
            self.n_features_in_ = count
            vars(self).pop("feature_names_in_", None)
            if joined.nodes is not None:
                self.feature_names_in_ = np.array(joined.nodes, dtype=object)
        elif count != self.n_features_in_:
            raise ValueError(
                f"X has {count} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input: recordings have other nodes than those "
                "that the model was fitted with"
            )
        names = self.node_names
        if by_recording:
            samples = rescaled(joined, names)
        if not self._takes_lazy:
            samples = samples[: len(samples)]
        self._check_values(samples, reset, joined.recordings)
        return samples  # type: ignore[no-any-return]

    def _read_one(self, X: Any, reset: bool) -> Floats:
        X = unpack(X)
        X = open_rows(X) if self._takes_lazy else X
        if isinstance(X, Rows):
            validate_data(self, X, reset=reset, skip_check_array=True)
            self._check_values(X, reset)
            return X  # type: ignore[return-value]
        try:
            samples: Floats = validate_data(
                self, X, reset=reset, dtype=[np.float64, np.float32],
                ensure_min_features=2 if reset else 1, ensure_min_samples=2 if reset else 1,
                ensure_all_finite=False,
            )  # fmt: skip
        except (TypeError, ValueError) as error:
            name_column(X, error)
            raise about_signals(X, error) from error
        self._check_values(samples, reset)
        return samples

    def _check_values(
        self, samples: Any, reset: bool, recordings: Recordings | None = None
    ) -> None:
        """Raise for infinite values, and for new ones of active nodes too large to be squared."""
        known = None if reset else self._preparation
        check_finite(
            samples, self.node_names, self._takes_gaps, self._gaps_advice, known, recordings
        )

    def _learn(self, X: Signals, rescale: bool | str) -> tuple[Floats, Floats]:
        """Return training samples as given (T, N) and as prepared, on the active nodes.

        Sets ``recordings_``, ``active_nodes_`` and ``scale_``.
        """
        samples, self.recordings_ = self._read(X, reset=True)
        check_memory(self, samples.shape, samples.dtype)
        preparation, self._variance = Preparation.learn(
            samples, np.array(self.node_names, dtype=object), bool(rescale)
        )
        check_penalties(self, self._variance)
        self.active_nodes_, self.scale_ = preparation.active, preparation.scale
        several = f" of {len(self.recordings_)} recordings" if len(self.recordings_) > 1 else ""
        logger.info(
            "%s: fit of %d samples%s on %d nodes (%s), %d of them active, scale %.6g",
            type(self).__name__, len(samples), several, samples.shape[1], samples.dtype,
            self.active_nodes_.sum(), self.scale_,
        )  # fmt: skip
        return samples, self._apply(preparation, samples)

    def _prepare(self, X: Signals) -> tuple[Floats, Recordings]:
        """Return new signals, prepared like the training signals, and their recordings."""
        check_is_fitted(self)
        samples, recordings = self._read(X, reset=False)
        return self._apply(self._preparation, samples), recordings

    def _apply(self, preparation: Preparation, samples: Floats) -> Floats:
        if self._takes_lazy:
            result: Floats = prepared(samples, preparation)
            return result
        return preparation.apply(samples)

    @property
    def _preparation(self) -> Preparation:
        return Preparation(self.active_nodes_, self.scale_)

    @property
    def _active_atoms(self) -> Floats:
        """The atoms on the active nodes."""
        return self._preparation.restrict(self.atoms_)

    # What the engine asks of an estimator: see :mod:`graphdict.engine.estimator_protocols`.

    @property
    def _penalty_units(self) -> dict[str, int]:
        return {}

    def _memory_needed(self, samples: int, nodes: int, size: int) -> tuple[int, int]:
        return 0, 8 * graphs.n_edges(nodes) * size

    def _warn_unconverged(self, steps: int, reached: str) -> None:
        """Warn that ``steps`` iterations ended before ``tol``, with what they ``reached``."""
        warn(
            f"{type(self).__name__} stopped at max_iter={steps} before tol={self.tol}: {reached}. "
            "Raise max_iter, or tol if the result is good enough.",
            ConvergenceWarning,
        )

    @property
    def _repr_html_(self) -> Callable[[], str]:
        """Return a function, as scikit-learn does: its diagram, and the atoms after a fit."""
        diagram = super()._repr_html_
        return lambda: diagram() + self._atoms_html()

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        """Return what notebooks show: text, and HTML where scikit-learn's settings have it."""
        shown: dict[str, str] = super()._repr_mimebundle_(**options)
        if "text/html" in shown:
            shown["text/html"] += self._atoms_html()
        return shown

    def _atoms_html(self) -> str:
        """Return pictures of the atoms, or nothing before a fit."""
        atoms = getattr(self, "atoms_", None)
        if atoms is None or atoms.ndim != 2:
            return ""
        caption = f"{type(self).__name__}: {len(atoms)} atoms on {self.n_features_in_} nodes"
        titles = [f"atom {k}" for k in range(1, len(atoms) + 1)]  # as figures and pages count
        return graphs_html(thresholded_atoms(self), self.node_names, titles, caption)

    @property
    def node_names(self) -> list[str]:
        """Names of the nodes: the columns of the training DataFrame, else ``x0, x1, ...``."""
        check_is_fitted(self, "n_features_in_")
        names = getattr(self, "feature_names_in_", None)
        return [f"x{i}" for i in range(self.n_features_in_)] if names is None else list(names)
