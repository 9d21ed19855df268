"""What the engine asks of an estimator: to show progress, foresee memory, be saved and streamed.

An estimator says these things for itself, so that the engine knows no kind of them by name. The
names begin with an underscore because users, who see the estimators too, have no use for them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from numpy.typing import NDArray

from graphdict.core.annotations import Booleans, Floats, PriorName, Signals, Term

if TYPE_CHECKING:
    from graphdict.core.likelihoods import Likelihood
    from graphdict.core.marginal.protocols import PatternLikelihood
    from graphdict.core.problem import Problem
    from graphdict.core.protocols import Executor
    from graphdict.core.recordings import Recordings
    from graphdict.engine.marginal.settings import Settings
    from graphdict.engine.signals import Preparation
    from graphdict.engine.storage.fitted import FittedValue


class Validated(Protocol):
    """Checks its parameters, as scikit-learn's estimators do."""

    def _validate_params(self) -> None:
        """Raise where a parameter is not valid."""


class PlansWork(Validated, Protocol):
    """Shows the progress of its fit (:func:`graphdict.engine.progress.shows_progress`)."""

    verbose: int

    @property
    def _planned_work(self) -> float:
        """The cost of a fit, in the unit in which the fit advances."""


class ForeseesMemory(Protocol):
    """Tells what memory a fit needs (:mod:`graphdict.engine.memory`)."""

    @property
    def _takes_lazy(self) -> bool:
        """Whether signals may be lazy: larger than memory, and read a part at a time."""

    def _memory_needed(self, samples: int, nodes: int, size: int) -> tuple[int, int]:
        """Return the bytes that building the problem takes at its peak, and those of solving it.

        For so many samples and nodes, in numbers of ``size`` bytes.
        """


class Penalised(Protocol):
    """Has penalties, which are compared with its signals (:mod:`graphdict.engine.penalties`)."""

    @property
    def rescale(self) -> Any:
        """False where signals are taken in the unit in which they are given."""

    @property
    def _penalty_units(self) -> Mapping[str, int]:
        """Penalties by name, with the power of the variance of signals that each goes with."""


class Saved(Validated, Protocol):
    """Can be written to a model file and read from one (:mod:`graphdict.engine.storage`).

    All parameters are saved, and all fitted attributes: those whose names end with an underscore.
    """

    _not_saved: ClassVar[tuple[str, ...]]  # parameters that files leave out
    _objects: ClassVar[tuple[str, ...]]  # parameters that hold Python objects, None when saved
    _needed: ClassVar[tuple[str, ...]]  # fitted attributes without which a file is refused
    _fitted_values: ClassVar[dict[str, FittedValue]]  # what fitted attributes may be, by name
    _n_features_out: int

    @classmethod
    def _of_file(cls, settings: dict[str, Any]) -> tuple[type[Saved], dict[str, Any]]:
        """Return the class and settings of a model file that names this class; files may be old."""

    def _check_fitted(self, fitted: Mapping[str, Any]) -> None:
        """Raise ValueError where fitted values of a file do not suit the settings beside them."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name: scikit-learn's, as is ``set_params``."""

    def set_params(self, **params: Any) -> Any: ...


class Streamed(Validated, Penalised, Protocol):
    """Learns from batches (:mod:`graphdict.engine.online.stream`), once fitted to the first ones.

    What a kind of model does with a batch are its :class:`StreamRules
    <graphdict.engine.online.stream.StreamRules>`, which ask for more.
    """

    n_atoms: int
    n_init: int
    forgetting: float
    atoms_: Floats
    coefficients_: Floats
    active_nodes_: Booleans
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    recordings_: Recordings
    n_samples_seen_: int
    stream_: dict[str, Any]

    @property
    def _preparation(self) -> Preparation:
        """How the signals of the last fit or batch were prepared."""

    def _read(self, X: Signals, *, reset: bool) -> tuple[Floats, Recordings]:
        """Return checked samples (T, N) and their recordings; of other nodes only on ``reset``."""

    def fit(self, X: Signals) -> Any:
        """Fit to the samples kept so far."""


class StreamedSoft(Penalised, Protocol):
    """A soft dictionary that learns from batches (:mod:`graphdict.engine.online.log_barrier`)."""

    coefficients_: Floats
    atom_priors: Sequence[Term] | None
    coefficient_priors: Sequence[Term] | None

    @property
    def _active_atoms(self) -> Floats:
        """The fitted atoms (K, E') on the active nodes."""

    def _likelihood(self) -> Likelihood:
        """Return the likelihood of signals under their graphs."""

    def _problem(self, signals: Floats, recordings: Recordings) -> Problem:
        """Return the problem of prepared signals."""

    def _code(self, problem: Problem, atoms: Floats, executor: Executor) -> Any:
        """Return the best coefficients for atoms (K, E'), and the objective without their priors.

        These are the first two entries of a tuple.
        """


class StreamedMarginal(Protocol):
    """A marginal dictionary that learns from batches (:mod:`graphdict.engine.online.marginal`)."""

    alpha_w: float | str
    sparsity: float
    prior: PriorName
    average: int
    signed: bool
    filter_power: float | str
    tails: float | str
    window_size: int
    coefficients_: Floats
    noise_: float
    patterns_: NDArray[Any]
    pattern_probabilities_: Floats
    stay_probability_: float

    @property
    def _active_atoms(self) -> Floats:
        """The fitted atoms (K, E') on the active nodes."""

    @property
    def _settings(self) -> Settings:
        """The settings of EM."""

    def _pattern_likelihood(self, atoms: NDArray[Any]) -> PatternLikelihood:
        """Return the likelihood of the learned patterns for atoms (K, E') on the active nodes."""
