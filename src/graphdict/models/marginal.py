"""GraphDictMarginal: activations summed over instead of optimised, under the exact likelihood."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from functools import cache, partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from graphdict.core import graphs
from graphdict.core.annotations import PriorName, RandomState, StrPath
from graphdict.core.marginal.dictionary import PatternDictionary
from graphdict.core.marginal.filtered import FilteredLikelihood
from graphdict.core.marginal.filters import FILTERS
from graphdict.core.marginal.likelihood import NOISE
from graphdict.core.marginal.patterns import (
    count_patterns,
    default_max_active,
    enumerate_patterns,
)
from graphdict.core.marginal.protocols import PatternLikelihood
from graphdict.core.marginal.time_hierarchy import hierarchy_patterns
from graphdict.core.solvers.base import Callback
from graphdict.engine.checkpoint import Checkpoint, identity
from graphdict.engine.logs import logger
from graphdict.engine.marginal.active import choose_patterns
from graphdict.engine.marginal.edges import measure_edges
from graphdict.engine.marginal.em import Fit
from graphdict.engine.marginal.learn import Settings, learn
from graphdict.engine.marginal.learn_filtered import MOST_FILTERED, learn_filtered
from graphdict.engine.marginal.passes import (
    coefficients_of,
    gains_of,
    log_evidence_of,
    mean_square,
    most_probable_patterns,
    responsibilities_of,
)
from graphdict.engine.marginal.redundant import alike_atoms, warn_of_redundant_atoms
from graphdict.engine.marginal.samples import OpenSignals, open_signals
from graphdict.engine.marginal.silent_nodes import silent_nodes
from graphdict.engine.memory import BLOCK
from graphdict.engine.online.marginal import MARGINAL_RULES
from graphdict.engine.online.stream import restart, take_batch
from graphdict.engine.progress import shows_progress, with_progress
from graphdict.engine.scikit import available_if
from graphdict.engine.signals import has_gaps
from graphdict.engine.sources import too_large
from graphdict.engine.storage.fitted import COUNT, NUMBER, FittedValue
from graphdict.models.base import GraphDictionary
from graphdict.results import InstantaneousGraphs

__all__ = ["GraphDictMarginal"]

MOST_POWER = 16  # that can be asked for: 1 to 4 suit most signals
SAMPLES_FOR_FILTERS = 5  # for each atom and dimension: with fewer, power 1 and Gaussian tails


def _has_partial_fit(model: GraphDictMarginal) -> bool:
    """Return True, or raise the reason why there is no ``partial_fit``."""
    MARGINAL_RULES.check(model)
    return True


class GraphDictMarginal(GraphDictionary):
    """Graph dictionary whose activations are marginalised, not optimised.

    In each sample (or window) a set ``c`` of at most ``max_active`` atoms is active, with
    probability ``pi_c``, and the signal is Gaussian with precision ``L_c = sum_{k in c} L_k``.
    Atoms and probabilities maximise the marginal likelihood, penalised,

        1/T sum_t log sum_c pi_c p(x_t | L_c)  -  1/2 penalty(W),

    by expectation-maximisation. A single sample says little about its own coefficients; summing
    over all of them instead of taking the best fit is what keeps the atoms from overfitting.

    Which prior to take: "independent" for samples in any order; "markov" for states that last and
    return; "hierarchy" for graphs that change bit by bit. On the synthetic processes of the
    experiments (mean edge MCC of five draws) they reach 0.72 for one active atom, 0.96 to 0.99 for
    switching states, and 0.69 (one sample for each graph) to 0.90 (twenty) for drifting edges.

    Parameters
    ----------
    n_atoms : int, default=5
        Number K of graphs in the dictionary.
    max_active : int, optional
        Largest number of atoms active at once; 1 makes it a mixture of graphs. It matters more than
        any other setting: where far fewer atoms are active than may be, other decompositions
        explain the signals as well. By default it is the number whose short fit to four fifths of
        the samples (of 20,000 at most) best predicts the others, among those that leave at most
        5,000 sets; the fit is then that of this number given. With fewer than five windows all
        are allowed. :func:`graphdict.selection.choose_max_active` compares whole fits instead.
    levels : int, default=1
        Number m of activations that an active atom may have: ``1/m, 2/m, ..., 1``. With 1 it is on
        or off. Three or four follow coefficients that are graded, for the price of ``levels**n``
        patterns in place of each set of n atoms. Not for "hierarchy", which has activations of its
        own.
    filter_power : "auto" or float of at least 1, default="auto"
        The precision of a signal is ``L_c`` to this power: 1 is the paper's model, larger ones are
        for signals that are smooth in space (potentials on the scalp, weather, traffic). "auto"
        learns it, up to 4, by counting edges; where not even that is enough, the precision may
        become ``(exp(kappa L_c) - 1) / kappa``.
    tails : "auto", "gaussian" or float above 2, default="auto"
        Samples that differ in loudness: degrees of freedom of a Student t in place of the Gaussian
        of each set. "auto" learns them.

        Where power and tails turn out to be 1 and Gaussian, the fit is the one with these given.
        Otherwise atoms are steadied by what they have in common and not by ``alpha_w``, edges go
        whose loss of likelihood is below ``sparsity`` times what the Bayesian information criterion
        asks, and ``n_init`` counts half. Missing values, ``prior="hierarchy"``, ``average``,
        streams and more than 256 sets know a power of 1 and Gaussian tails only, which "auto" then
        stands for.
    alpha_w : "auto" or float, default="auto"
        L1 penalty on every weight, which steadies the estimate: as if noise of that variance had
        been added to every squared difference. "auto" is the less, the more samples there are, and
        small against the directions in which signals hardly vary: ``alpha_w_`` says what it was.
    sparsity : float, default=1.0
        Concave penalty on every edge, which fades for strong ones and leaves exact zeros. 1 charges
        what the Bayesian information criterion does, and 0 keeps every edge.
    prior : {"independent", "free", "markov", "hierarchy"}, default="independent"
        Probabilities of the sets: by the number of active atoms and the odds of each atom; one for
        every set; or as the first, for samples in time that keep their set with a learned
        probability. "hierarchy" is for graphs that change slowly and do not return: activations are
        given, by a tree of intervals of time (all of it, halves, quarters, ...) whose number is
        ``n_atoms`` = 3, 7, 15, 31, ..., or by all intervals between marks, ``n_atoms`` = 10, 36,
        136 for 4, 8, 16 shortest ones; see :mod:`graphdict.core.marginal.time_hierarchy`. New
        signals are taken to span the same time. A node has no edges in samples in which it is
        exactly silent.
    average : int, default=0
        Number of draws from the posterior of the atoms that are averaged once the most probable
        atoms are found; 0 keeps these. Where atoms overlap, 50 draws mostly recover more edges and
        predict new samples better, for as much time, and 200 a little more. Averages have all
        edges: ``edge_probabilities_`` says which are there, and graphs of samples are without edges
        whose odds are below ``sparsity``. Not for "hierarchy", nor in a stream.
    window_size : int, default=1
        Number of consecutive samples that share their activations.
    forgetting : float, default=1.0
        For ``partial_fit``: how much a sample counts once another has come. 1 counts all alike;
        0.999 follows about the last 1,000 samples, for systems that drift.
    n_init : int, default=8
        Number of short annealed runs from random starts; the better half goes on until one is left.
    max_iter : int, default=200
        Largest number of iterations of each stage: finishing, and sparsifying.
    tol : float, default=1e-5
        Relative change of the objective at which a stage ends.
    rescale : bool, default=True
        Divide all signals by one number, their root mean square, as in :class:`GraphDictLog`.
    random_state : int, RandomState or None, default=None
        Decides everything random.
    callback : callable, optional
        Called with a :class:`graphdict.solvers.Progress` after each iteration that follows the
        search among starts; True stops.
    checkpoint : path, optional
        A file in which a fit keeps what it needs to go on after an interruption of any kind; see
        :class:`GraphDictLog`.
    verbose : int, default=0
        1 shows a progress bar with the time that is left, 2 leaves it on the screen.

    Attributes
    ----------
    atoms_ : array (K, E)
        Edge weights of the atoms, in the order of ``np.triu_indices(N, 1)``.
    coefficients_ : array (T, K)
        Posterior probability that each atom is active in each training sample; with ``levels``,
        the posterior mean of its activation.
    patterns_ : array (C, K)
        The sets of atoms that may be active, the largest last; their activations, where there are
        ``levels``, and those at each position in time for "hierarchy".
    pattern_probabilities_ : array (C,)
        Their probabilities ``pi``.
    filter_, filter_power_ : str, float
        "power" and the power p, or "exp" and the rate kappa.
    tails_ : float
        Degrees of freedom; inf is Gaussian.
    alpha_w_ : float
        The penalty ``alpha_w`` that was used; 0 with a filter or tails.
    gains_ : array (T,)
        Posterior mean of what multiplies the precision of each training sample: small for loud
        ones. 1 where tails are Gaussian.
    alike_atoms_ : list of pairs
        Atoms that are the same graph but for its strength: whose weights have a cosine above 0.99.
        A warning tells of them, too.
    edge_confidence_ : array (K, E)
        Probability that each pair of nodes is joined in each atom, by more than a weight that all
        pairs share. Samples that repeat their neighbours count once. Not there with missing values,
        with "hierarchy", or for more than 256 nodes or sets.
    edge_intervals_ : array (K, E, 2)
        Between which values each weight lies with a probability of 0.95, were it free to be
        negative: pairs whose limits are both below zero depend in a way that no graph of
        nonnegative weights shows. There with ``edge_confidence_``.
    edge_probabilities_ : array (K, E)
        Probability that each atom has each edge; there with ``average``.
    stay_probability_ : float
        Probability that the next sample (or window) keeps its set; otherwise the set is drawn anew
        from ``pi``. 0 unless ``prior="markov"``.
    objective_, log_likelihood_ : float
        What is minimised, and the marginal log-likelihood of a training sample, as in ``score``.
        With ``average`` they are those of the averaged atoms, which do not minimise it.
    history_ : dict of arrays
        ``objective``, ``residual`` (its relative change) and ``seconds`` of the last stage.
    n_iter_ : int
        Iterations of the last stage.
    scale_, noise_ : float
        What signals are divided by, and the variance granted where a graph allows none.
    active_nodes_ : boolean array (N,)
        False for nodes that never vary, which get no edges.
    silent_ : boolean array (T, N)
        With ``prior="hierarchy"``, where there are any: nodes without edges in a training sample.
    n_features_in_, feature_names_in_
        As in scikit-learn.
    n_samples_seen_ : int
        After ``partial_fit``: how many samples the stream has had.
    stream_ : dict of arrays
        After ``partial_fit``: the averages that later batches are added to.
    """

    DEFAULT_FILTER_POWER: ClassVar[float | str] = "auto"
    DEFAULT_TAILS: ClassVar[float | str] = "auto"

    atoms_: NDArray[np.float64]
    objective_: float
    history_: dict[str, NDArray[Any]]
    n_iter_: int
    patterns_: NDArray[Any]
    pattern_probabilities_: NDArray[np.float64]
    edge_probabilities_: NDArray[np.float64]
    edge_confidence_: NDArray[np.float64]
    edge_intervals_: NDArray[np.float64]
    stay_probability_: float
    filter_: str
    filter_power_: float
    tails_: float
    alpha_w_: float
    gains_: NDArray[np.float64]
    log_likelihood_: float
    noise_: float
    silent_: NDArray[np.bool_]
    n_samples_seen_: int
    stream_: dict[str, Any]

    _parameter_constraints: dict[str, Any] = {
        "n_atoms": [Interval(Integral, 1, None, closed="left")],
        "max_active": [Interval(Integral, 1, None, closed="left"), None],
        "levels": [Interval(Integral, 1, None, closed="left")],
        "filter_power": [Interval(Real, 1, MOST_POWER, closed="both"), StrOptions({"auto"})],
        "tails": [Interval(Real, 2, None, closed="neither"), StrOptions({"auto", "gaussian"})],
        "alpha_w": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "sparsity": [Interval(Real, 0, None, closed="left")],
        "prior": [StrOptions({"independent", "free", "markov", "hierarchy"})],
        "average": [Interval(Integral, 0, None, closed="left")],
        "window_size": [Interval(Integral, 1, None, closed="left")],
        "forgetting": [Interval(Real, 0, 1, closed="right")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "rescale": ["boolean"],
        "random_state": ["random_state"],
        "callback": [callable, None],
        "checkpoint": [str, os.PathLike, None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_atoms: int = 5,
        *,
        max_active: int | None = None,
        levels: int = 1,
        filter_power: float | str = DEFAULT_FILTER_POWER,
        tails: float | str = DEFAULT_TAILS,
        alpha_w: float | str = "auto",
        sparsity: float = 1.0,
        prior: PriorName = "independent",
        average: int = 0,
        window_size: int = 1,
        forgetting: float = 1.0,
        n_init: int = 8,
        max_iter: int = 200,
        tol: float = 1e-5,
        rescale: bool = True,
        random_state: RandomState = None,
        callback: Callback | None = None,
        checkpoint: StrPath | None = None,
        verbose: int = 0,
    ):
        self.n_atoms = n_atoms
        self.max_active = max_active
        self.levels = levels
        self.filter_power = filter_power
        self.tails = tails
        self.alpha_w = alpha_w
        self.sparsity = sparsity
        self.prior = prior
        self.average = average
        self.window_size = window_size
        self.forgetting = forgetting
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.rescale = rescale
        self.random_state = random_state
        self.callback = callback
        self.checkpoint = checkpoint
        self.verbose = verbose

    _in_stream = False  # whether samples come in batches

    # What a user calls ----------------------------------------------------------------------

    @shows_progress
    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Learn atoms and pattern probabilities from the signals ``X`` (T, N); ``y`` is ignored.

        ``X`` is an array, a DataFrame, a memory map, a Zarr or a Dask array: what is larger than
        scikit-learn's ``working_memory`` is read part by part, and a Dask array is fitted on its
        cluster; see the page on scaling. NaN stands for a missing value.
        """
        self._validate_params()
        self._check_filter()
        if self.average and self.prior == "hierarchy":
            raise ValueError(
                f'average={self.average} draws whole activations, but prior="hierarchy" gives '
                "shares of them: set average=0"
            )
        if self.levels > 1 and self.prior == "hierarchy":
            raise ValueError(
                f'levels={self.levels} cannot be used with prior="hierarchy", which has '
                "activations of its own: set levels=1"
            )
        restart(self)
        patterns = self._patterns()
        samples, signals = self._learn(X, self.rescale)
        rng = check_random_state(self.random_state)
        checkpoint = Checkpoint(None, {})
        if self.checkpoint is not None:
            checkpoint = Checkpoint(self.checkpoint, identity(self, samples))
            checkpoint.restore_random_state(rng)
        settings = replace(self._with_filter(signals, patterns), checkpoint=checkpoint)
        plain = cache(partial(self._learn_plain, signals, patterns, settings, rng))
        if settings.filtered:
            # A copy: the plain fit is to be that of the same model given.
            fit = self._learn_filtered(signals, patterns, settings, deepcopy(rng), plain)
        else:
            fit = plain()
        gains = None
        with open_signals(signals, self.window_size, len(fit.dictionary.patterns)) as data:
            coefficients = coefficients_of(data, fit.dictionary)
            if isinstance(fit.dictionary.likelihood, FilteredLikelihood):
                gains = gains_of(data, fit.dictionary)
            measured = measure_edges(data, fit.dictionary)
        if not fit.interrupted:
            checkpoint.finish()
        self._store(fit, coefficients, gains)
        self._store_edges(measured)
        if self.prior == "hierarchy" and (silent := self._silent(signals)) is not None:
            self.silent_ = silent
        return self

    @available_if(_has_partial_fit)
    def partial_fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Learn from the next batch ``X`` (B, N) of a stream; ``y`` is ignored.

        The first call begins a stream, or goes on after ``fit``; ``fit`` begins anew. Samples are
        not kept, but for the first 200 for each atom, which are fitted together. Afterwards
        ``coefficients_`` are those of the batch, under the atoms before it. With ``prior="markov"``
        or ``window_size`` a batch is a time series of its own. Not there with ``average`` nor
        "hierarchy". See the page on streams.
        """
        if hasattr(self, "atoms_") and not self._is_papers_model:
            raise ValueError(
                f"the model was fitted with filter_power_={self.filter_power_:.3g} and "
                f"tails_={self.tails_:.3g}, from which a stream cannot go on: fit with "
                'filter_power=1 and tails="gaussian" before partial_fit'
            )
        self._in_stream = True
        try:
            take_batch(self, X, MARGINAL_RULES)
        finally:
            del self._in_stream
        return self

    def score_samples(self, X: ArrayLike) -> NDArray[np.float64]:
        """Marginal log-likelihood of each sample, whatever its activations; comparable between K.

        Signals are divided by ``scale_``. The samples of a window share what the window has; in a
        Markov chain each is measured given those before it. The mean is :meth:`score`.
        """
        with self._open(X) as (data, dictionary):
            return log_evidence_of(data, dictionary)

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Posterior probability (T, C) of each of ``patterns_`` in each sample."""
        with self._open(X) as (data, dictionary):
            return responsibilities_of(data, dictionary)

    def predict(self, X: ArrayLike) -> NDArray[np.intp]:
        """Index (T,) into ``patterns_`` of the most probable pattern of each sample.

        With ``prior="markov"`` it is the most probable path of the whole sequence (Viterbi).
        """
        with self._open(X) as (data, dictionary):
            return most_probable_patterns(data, dictionary)

    def instantaneous_graphs(
        self, X: ArrayLike | None = None, *, min_probability: float | None = None
    ) -> InstantaneousGraphs:
        """The graph of every sample of ``X``, or of the training signals where it is omitted.

        Atoms count by the probability that they are active. Those below ``min_probability`` stay
        out, since an edge that is hardly there should not be in the graph at all; the likeliest
        atom always stays. 0 gives the posterior mean of the graph. By default it is 1/3, and 0
        where atoms have all edges anyway (``sparsity=0``), of which a threshold has to choose.

        With ``average`` it is edges that stay out of a graph, where it is less probable that one of
        the active atoms has them; by default where the odds are below ``sparsity``.

        Activations that are given by time ("hierarchy") all count, but nodes that are exactly
        silent in a sample have no edges there.
        """
        check_is_fitted(self)
        if min_probability is not None and not 0 <= min_probability <= 1:
            raise ValueError(f"min_probability must be between 0 and 1, got {min_probability!r}")
        coefficients = self.coefficients_ if X is None else np.asarray(self.transform(X))
        silent, probable = None, None
        least = self._least_probability if min_probability is None else min_probability
        if self.prior == "hierarchy":
            silent = getattr(self, "silent_", None) if X is None else self._silent(self._prepare(X))
        elif hasattr(self, "edge_probabilities_"):
            sizes = self._mean_activations[:, None]
            probable = (self.edge_probabilities_ / sizes, least) if least > 0 else None
        else:
            active = coefficients >= least * self._mean_activations
            active[np.arange(len(active)), coefficients.argmax(axis=1)] = True
            coefficients = np.where(active, coefficients, 0)
        return InstantaneousGraphs(coefficients, self.atoms_, self.node_names, silent, probable)

    @property
    def alike_atoms_(self) -> list[tuple[int, int]]:
        """Pairs of atoms that are the same graph but for its strength (cosine above 0.99)."""
        check_is_fitted(self)
        return alike_atoms(self.atoms_)

    # What it says of itself ------------------------------------------------------------------

    _needed = (
        *GraphDictionary._needed, "patterns_", "pattern_probabilities_", "stay_probability_",
        "noise_",
    )  # fmt: skip
    _fitted_values = {
        **GraphDictionary._fitted_values,
        "patterns_": FittedValue("CK", 0, 1),
        "pattern_probabilities_": FittedValue("C", 0, 1),
        "edge_probabilities_": FittedValue("KE", 0, 1),
        "edge_confidence_": FittedValue("KE", 0, 1),
        "edge_intervals_": FittedValue("KEL"),
        "silent_": FittedValue("TN", 0, 1),
        "filter_": FittedValue(choices=tuple(FILTERS)),
        "filter_power_": FittedValue("", 0, positive=True),
        "tails_": NUMBER,
        "gains_": FittedValue("T", 0),
        "alpha_w_": FittedValue("", 0),
        "noise_": FittedValue("", 0, positive=True),
        "stay_probability_": FittedValue("", 0, 1),
        "log_likelihood_": NUMBER,
        "n_samples_seen_": COUNT,
    }

    @property
    def _penalty_units(self) -> dict[str, int]:
        return {"alpha_w": 1, "sparsity": 0}

    def _memory_needed(self, samples: int, nodes: int, size: int) -> tuple[int, int]:
        windows = -(-samples // self.window_size)
        most = min(self.max_active or self.n_atoms, self.n_atoms)
        patterns = count_patterns(self.n_atoms, most, self.levels)
        rows = windows * (patterns if self.max_active else min(patterns, 5000)) * 8
        solving = 8 * self.n_atoms * graphs.n_edges(nodes) * size
        solving += 4 * min(rows, BLOCK) + 2 * samples * self.n_atoms * size
        if self.prior != "hierarchy" and not self.average and self._may_be_filtered:
            # Second moments, spectra and their products, for every set of atoms.
            solving += 8 * min(patterns, MOST_FILTERED) * nodes**2 * 8
        if self.prior == "markov" and not too_large((rows,), np.uint8):  # kept for sweeps
            solving += rows
        return 0, solving

    # How it is done -------------------------------------------------------------------------

    @property
    def _least_probability(self) -> float:
        """From which probability on an atom is in a graph, unless the user says otherwise."""
        if self.prior == "hierarchy" or self.sparsity == 0:
            return 0.0
        averaged = hasattr(self, "edge_probabilities_")
        return self.sparsity / (1 + self.sparsity) if averaged else 1 / 3

    @property
    def _may_be_filtered(self) -> bool:
        """Whether the parameters leave room for another power than 1, or for tails."""
        return self.filter_power != 1 or self.tails not in ("gaussian", np.inf)

    @property
    def _mean_activations(self) -> NDArray:
        """Mean activation (K,) of every atom where it is active: 1 but for ``levels``.

        A coefficient divided by it is about the probability that the atom is active.
        """
        active = self.pattern_probabilities_ @ (self.patterns_ > 0)
        means = self.pattern_probabilities_ @ self.patterns_
        return np.where(active > 0, means / np.where(active > 0, active, 1), 1.0)

    def _silent(self, signals: Any) -> NDArray | None:
        """Return which nodes are silent in which prepared signals (T, N); None where none is."""
        return silent_nodes(signals, (self.noise_ / NOISE) ** 0.5, self.active_nodes_)

    def _patterns(self) -> NDArray:
        """Return the patterns (C, K) that the parameters allow."""
        if self.prior == "hierarchy":
            return hierarchy_patterns(self.n_atoms)
        largest = self.max_active or default_max_active(self.n_atoms, self.levels)
        return enumerate_patterns(self.n_atoms, min(largest, self.n_atoms), self.levels)

    @property
    def _planned_work(self) -> float:
        """Iterations of EM."""
        return self._settings.planned_iterations

    @property
    def _settings(self) -> Settings:
        alpha = None if isinstance(self.alpha_w, str) else self.alpha_w
        return Settings(
            alpha, self.sparsity, self.prior, self.n_init, self.max_iter, self.tol,
            self.average,
        )  # fmt: skip

    def _pattern_likelihood(self, atoms: NDArray) -> PatternLikelihood:
        """Return the likelihood of the learned patterns for atoms (K, E) on the active nodes."""
        given = self.patterns_, atoms, self.noise_
        if self._is_papers_model:
            return self._settings.likelihood(*given)
        chosen = FILTERS[self.filter_](self.filter_power_)
        return FilteredLikelihood.of(*given, filter=chosen, tails=self.tails_)

    @property
    def _is_papers_model(self) -> bool:
        """Whether the fit has a power of 1 and Gaussian tails, as those of old files have."""
        power, tails = getattr(self, "filter_power_", 1.0), getattr(self, "tails_", np.inf)
        return getattr(self, "filter_", "power") == "power" and power == 1 and tails == np.inf

    def _check_filter(self) -> None:
        """Raise where a filter or tails are asked for that other parameters do not allow."""
        asked = []
        if self.filter_power not in ("auto", 1):
            asked.append(f"filter_power={self.filter_power!r}")
        if self.tails not in ("auto", "gaussian", np.inf):
            asked.append(f"tails={self.tails!r}")
        for name, wrong in (("prior", self.prior == "hierarchy"), ("average", self.average > 0)):
            if wrong and asked:
                raise ValueError(
                    f"{asked[0]} cannot be used with {name}={getattr(self, name)!r}: use "
                    'filter_power=1 and tails="gaussian" there'
                )

    def _with_filter(self, signals: Any, patterns: NDArray) -> Settings:
        """Return the settings with power and tails, None each where it is to be learned.

        "auto" stands for 1 and Gaussian where nothing else is known, which the log says.
        """
        power = None if self.filter_power == "auto" else float(self.filter_power)
        given = {"auto": None, "gaussian": np.inf}
        tails = given[self.tails] if isinstance(self.tails, str) else float(self.tails)
        settings = replace(self._settings, filter_power=power, tails=tails)
        if not settings.filtered:
            return settings
        fixed = self.max_active is not None
        reasons = {
            'prior="hierarchy"': self.prior == "hierarchy",
            f"average={self.average}": self.average > 0,
            "a stream": self._in_stream,
            "missing values": has_gaps(signals),
            f"{len(patterns)} sets of atoms": fixed and len(patterns) > MOST_FILTERED,
        }
        least = SAMPLES_FOR_FILTERS * self.n_atoms * (signals.shape[1] - 1)
        if power is tails is None:
            reasons[f"fewer than {least + 1} samples"] = len(signals) <= least
        reason = next((text for text, holds in reasons.items() if holds), None)
        if reason is None:
            return settings
        if power not in (None, 1.0) or tails not in (None, np.inf):
            name, value = ("filter_power", self.filter_power)
            if power in (None, 1.0):
                name, value = "tails", self.tails
            raise ValueError(
                f"{name}={value!r} cannot be used with {reason}: use filter_power=1 and "
                'tails="gaussian" there'
            )
        logger.info("GraphDictMarginal: power 1 and Gaussian tails, because of %s", reason)
        return self._settings

    def _learn_filtered(
        self,
        signals: Any,
        patterns: NDArray,
        settings: Settings,
        rng: np.random.RandomState,
        plain: Callable[[], Fit],
    ) -> Fit:
        """Return the fit with filter and tails, or the plain one where there are none."""
        with (
            with_progress(None, settings.trials, "starts") as trial_callback,
            with_progress(self.callback, 2 * self.max_iter, "EM") as callback,
            open_signals(signals, self.window_size, len(patterns), rng) as data,
        ):
            settings = replace(settings, callback=callback, trial_callback=trial_callback)
            choose = None
            if self.max_active is None and self.n_atoms > 1:
                # A copy: the fit is to be that of the same number given.
                given = signals, self.window_size, patterns, settings, deepcopy(rng)
                choose = partial(choose_patterns, *given)
            self.noise_ = NOISE * mean_square(data)
            try:
                fit = learn_filtered(data, patterns, self.noise_, settings, rng, plain, choose)
                if fit.is_finite:
                    return fit
            except np.linalg.LinAlgError:  # spectra of graphs that are out of all proportion
                pass
        if self.filter_power not in ("auto", 1) or self.tails not in ("auto", "gaussian"):
            raise ValueError(
                f"filter_power={self.filter_power!r} with tails={self.tails!r} gives signals like "
                'X no finite likelihood: use "auto" for both, which falls back to 1 and "gaussian"'
            )
        logger.info("GraphDictMarginal: power 1 and Gaussian tails, since no others are finite")
        return plain()

    def _learn_plain(
        self, signals: Any, patterns: NDArray, settings: Settings, rng: np.random.RandomState
    ) -> Fit:
        """Return the fit with a power of 1 and Gaussian tails."""
        self.alpha_w_ = 0.0  # until it is known
        if self.max_active is None and self.prior != "hierarchy":
            first = self._choose_patterns(signals, patterns, settings.checkpoint, rng)
            patterns = patterns if first is None else first.dictionary.patterns
        else:
            first = None
        with open_signals(signals, self.window_size, len(patterns), rng) as data:
            self.noise_ = NOISE * mean_square(data)
            if first is not None and first.interrupted:
                return first
            return self._learn_dictionary(data, patterns, settings.checkpoint, rng)

    def _choose_patterns(
        self, signals: Any, patterns: NDArray, checkpoint: Checkpoint, rng: np.random.RandomState
    ) -> Fit | None:
        """Return a short fit whose patterns are those to allow; None where there is no choice."""
        most = int(patterns.sum(axis=1).max())
        with with_progress(None, most, "active atoms") as callback:
            settings = replace(self._settings, trial_callback=callback, checkpoint=checkpoint)
            # A copy: the fit is to be that of the same number given.
            return choose_patterns(signals, self.window_size, patterns, settings, deepcopy(rng))

    def _learn_dictionary(
        self,
        data: OpenSignals,
        patterns: NDArray,
        checkpoint: Checkpoint,
        rng: np.random.RandomState,
    ) -> Fit:
        settings = self._settings.with_alpha(data, self.n_atoms)
        self.alpha_w_ = settings.alpha_w or 0.0
        trials, steps = settings.trials, 2 * self.max_iter + 3 * self.average // 2
        with (
            with_progress(None, trials, "starts") as trial_callback,
            with_progress(self.callback, steps, "EM") as callback,
        ):
            settings = replace(
                settings, callback=callback, trial_callback=trial_callback, checkpoint=checkpoint
            )
            return learn(data, patterns, self.noise_, settings, rng)

    @contextmanager
    def _open(self, X: ArrayLike) -> Iterator[tuple[OpenSignals, PatternDictionary]]:
        """Open new signals, prepared, with the learned dictionary on the active nodes."""
        check_is_fitted(self)
        signals = self._prepare(X)
        atoms = self._active_atoms.astype(np.float64)
        stay = self.stay_probability_ if self.prior == "markov" else None
        dictionary = PatternDictionary(
            self._pattern_likelihood(atoms), atoms, self.pattern_probabilities_, stay,
            known_in_time=self.prior == "hierarchy",
        )  # fmt: skip
        with open_signals(signals, self.window_size, len(self.patterns_)) as data:
            yield data, dictionary

    def _encode(self, X: ArrayLike, out: Any = None) -> tuple[Any, NDArray, NDArray]:
        with self._open(X) as (data, dictionary):
            return data, dictionary.atoms, coefficients_of(data, dictionary, out)

    def _store_edges(self, measured: tuple[NDArray, NDArray, Any] | None) -> None:
        """Set how sure edges are, or nothing where that is not known."""
        for name in ("edge_confidence_", "edge_intervals_"):
            self.__dict__.pop(name, None)  # of an earlier fit
        if measured is not None:
            confidence, intervals, _ = measured
            self.edge_confidence_ = self._preparation.embed(confidence)
            limits = [self._preparation.embed(limit) for limit in np.moveaxis(intervals, -1, 0)]
            self.edge_intervals_ = np.stack(limits, axis=-1)

    def _store(
        self, fit: Fit, coefficients: NDArray[np.float64], gains: NDArray | None = None
    ) -> None:
        """Set the fitted attributes, and warn of idle atoms and of an unfinished fit."""
        dictionary = fit.dictionary
        self.__dict__.pop("silent_", None)  # of an earlier fit
        self.filter_, self.filter_power_, self.tails_ = "power", 1.0, np.inf
        if isinstance(dictionary.likelihood, FilteredLikelihood):
            learned = dictionary.likelihood
            self.filter_, self.filter_power_ = learned.filter.name, float(learned.filter.parameter)
            self.tails_, self.alpha_w_ = float(learned.tails), 0.0
        self.gains_ = np.ones(len(coefficients)) if gains is None else gains
        self.patterns_ = dictionary.patterns
        self.pattern_probabilities_ = dictionary.probabilities
        self.stay_probability_ = dictionary.stay or 0.0
        self.atoms_ = self._preparation.embed(dictionary.atoms.astype(coefficients.dtype))
        self.__dict__.pop("edge_probabilities_", None)  # of an earlier fit
        if fit.edge_probabilities is not None:
            probabilities = fit.edge_probabilities.astype(coefficients.dtype)
            self.edge_probabilities_ = self._preparation.embed(probabilities)
        self.coefficients_ = coefficients
        self.objective_ = fit.objective
        self.history_ = fit.history.as_dict()
        self.n_iter_ = len(fit.history.objective)
        self.log_likelihood_ = fit.log_likelihood
        self._n_features_out = len(self.atoms_)
        warn_of_redundant_atoms(self.atoms_, fit.usage)
        if not fit.converged and not fit.interrupted:
            change = (
                f"the last iteration changed the objective by {self.history_['residual'][-1]:.2g}"
            )
            self._warn_unconverged(self.max_iter, f"{change}, relatively")
