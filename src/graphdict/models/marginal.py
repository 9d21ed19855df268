"""GraphDictMarginal: activations summed over instead of optimised, under the exact likelihood."""

from __future__ import annotations

from typing import Any, Self, overload

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from graphdict.core.annotations import Floats, HasData, Integers, SeveralSignals, Signals
from graphdict.core.marginal.filtered import FilteredLikelihood
from graphdict.engine.checkpoint import Checkpoint
from graphdict.engine.marginal.edges import measure_edges
from graphdict.engine.marginal.forecast import announce
from graphdict.engine.marginal.redundant import alike_atoms
from graphdict.engine.marginal.sample_values import (
    coefficients_of,
    gains_of,
    most_probable_patterns,
    responsibilities_of,
)
from graphdict.engine.online.marginal import MARGINAL_RULES
from graphdict.engine.online.stream import forget_stream, take_batch
from graphdict.engine.progress import shows_progress
from graphdict.engine.recordings import by_recording
from graphdict.engine.scikit import available_if
from graphdict.models.marginal_filter import check_parameters
from graphdict.models.marginal_fit import learn_model
from graphdict.models.marginal_state import MarginalState
from graphdict.results import InstantaneousGraphs


def _has_partial_fit(model: GraphDictMarginal) -> bool:
    """Return True, or raise the reason why there is no ``partial_fit``."""
    MARGINAL_RULES.check(model)
    return True


class GraphDictMarginal(MarginalState):
    """Graph dictionary whose activations are marginalised, not optimised.

    In each sample (or window) a set ``c`` of at most ``max_active`` atoms is active, with
    probability ``pi_c``, and the signal is Gaussian with precision ``L_c = sum_{k in c} L_k``.
    Atoms and probabilities maximise the marginal likelihood, penalised,

        1/T sum_t log sum_c pi_c p(x_t | L_c)  -  1/2 penalty(W),

    by expectation-maximisation. A single sample says little about its own coefficients; summing
    over all of them instead of taking the best fit is what keeps the atoms from overfitting.
    Scores are such sums, too, of signals divided by ``scale_``, and can be compared between numbers
    of atoms: the samples of a window share what the window has, and in a Markov chain each is
    measured given those before it.

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
    filter_power : "auto", float of at least 1 or "heat", default="auto"
        The precision of a signal is ``L_c`` to this power: 1 is the paper's model, larger ones are
        for signals that are smooth in space (potentials on the scalp, weather, traffic). "auto"
        learns it, up to 4, by held-out blocks of time; where not even that is enough, the precision
        may become ``(exp(kappa L_c) - 1) / kappa``. "heat" is the precision ``s exp(L_c)`` of noise
        that has diffused over the graph; with ``max_active=1`` this is a mixture of heat kernels.
    tails : "auto", "gaussian" or float above 2, default="auto"
        Samples that differ in loudness: degrees of freedom of a Student t in place of the Gaussian
        of each set. "auto" learns them.

        Where power and tails turn out to be 1 and Gaussian, the fit is the one with these given.
        Otherwise atoms are steadied by what they have in common and not by ``alpha_w``, edges go
        whose loss of likelihood is below ``sparsity`` times what the Bayesian information criterion
        asks, as long as held-out blocks of time are explained as well, and ``n_init`` counts half.
        ``prior="hierarchy"``, ``average``, streams and more than 256 sets know a power of 1 and
        Gaussian tails only, which "auto" then stands for.
    signed : bool, default=False
        Whether edges may be negative: nodes that vary against one another. One atom is then active
        at a time (``max_active`` is 1, or None, which stands for it), and its graph is any that is
        positive definite on signals that sum to zero over nodes. As with tails, atoms are steadied
        by what they have in common, and ``sparsity`` counts. It knows a power of 1, no ``levels``,
        ``average``, "hierarchy" or streams.
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
        136 for 4, 8, 16 shortest ones. New signals are taken to span the same time. A node has no
        edges in samples in which it is exactly silent.
    average : int, default=0
        Number of draws from the posterior of the atoms that are averaged once the most probable
        atoms are found; 0 keeps these. Where atoms overlap, 50 draws mostly recover more edges and
        predict new samples better, for as much time, and 200 a little more. Averages have all
        edges: ``edge_probabilities_`` says which are there, and graphs of samples are without edges
        whose odds are below ``sparsity``. Not for "hierarchy", nor in a stream.
    window_size : int, default=1
        Number of consecutive samples that share their activations. Where a filter or tails are
        found and one nonnegative atom is active at a time, all atoms are one graph if that predicts
        windows as well as several do; a warning says so.
    forgetting : float, default=1.0
        For ``partial_fit``: how much a sample counts once another has come. 1 counts all alike;
        0.999 follows about the last 1,000 samples, for systems that drift.
    n_init : int, default=8
        Number of short annealed runs from random starts; the better half goes on until one is left.
    max_iter : int, default=200
        Largest number of iterations of each stage: finishing, and sparsifying.
    tol : float, default=1e-5
        Relative change of the objective at which a stage ends.
    rescale : bool or "recording", default=True
        Divide all signals by one number, their root mean square, as in :class:`GraphDictLog`;
        "recording" divides each recording by its own first.
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
        "power" and the power p, "exp" and the rate kappa, or "heat" and the precision s of the
        noise, of signals divided by ``scale_``.
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
        pairs share. Samples that repeat their neighbours count once. Not there where most pairs of
        values are missing, with "hierarchy", or for more than 256 nodes or sets.
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
    recordings_ : Recordings
        Which samples are of which recording; one where ``X`` is one array.
    n_features_in_, feature_names_in_
        As in scikit-learn.
    n_samples_seen_ : int
        After ``partial_fit``: how many samples the stream has had.
    stream_ : dict of arrays
        After ``partial_fit``: the averages that later batches are added to.
    """

    # What a user calls ----------------------------------------------------------------------

    @shows_progress
    def fit(self, X: Signals, y: Any = None) -> Self:
        """Learn atoms and pattern probabilities from signals.

        Parameters
        ----------
        X : array, DataFrame, memory map, Zarr or Dask array (T, N), or several recordings
            What is larger than scikit-learn's ``working_memory`` is read part by part, and a Dask
            array is fitted on its cluster; see the page on scaling. NaN stands for a missing value.
            Several recordings are a list of these or of MNE's Raw or Epochs, a dictionary of them
            by name, or one table with a column "recording": windows and chains end with each; see
            the page on recordings.
        y : None
            Ignored; there for scikit-learn's pipelines.

        Returns
        -------
        self
        """
        check_parameters(self)
        forget_stream(self)
        patterns = self._patterns()
        samples, signals = self._learn(X, self.rescale)
        self._check_recordings(self.recordings_)
        announce(self, signals.shape)
        rng = check_random_state(self.random_state)
        checkpoint = Checkpoint.of_fit(self, samples, rng)
        with checkpoint.resuming():
            fit = learn_model(self, signals, patterns, checkpoint, rng)
        gains = None
        imputing = np.random.RandomState(0)  # missing values, for the memory of the series alone
        with self._open_training(signals, len(fit.dictionary.patterns), imputing) as data:
            coefficients = coefficients_of(data, fit.dictionary)
            if isinstance(fit.dictionary.likelihood, FilteredLikelihood):
                gains = gains_of(data, fit.dictionary)
            measured = measure_edges(data, fit.dictionary) if self._request.measure_edges else None
        if not fit.interrupted:
            checkpoint.finish()
        self._store(fit, coefficients, gains)
        self._store_edges(measured)
        if self.prior == "hierarchy" and (silent := self._silent(signals)) is not None:
            self.silent_ = silent
        return self

    @available_if(_has_partial_fit)
    def partial_fit(self, X: Signals, y: Any = None) -> Self:
        """Learn from the next batch of a stream.

        The first call begins a stream, or goes on after ``fit``; ``fit`` begins anew. Samples are
        not kept, but for the first 200 for each atom, which are fitted together. Afterwards
        ``coefficients_`` are those of the batch, under the atoms before it. With ``prior="markov"``
        or ``window_size`` a batch is a time series of its own. Not there with ``average`` nor
        "hierarchy". See the page on streams.

        Parameters
        ----------
        X : array (B, N)
            The batch, or several recordings as in :meth:`fit`.
        y : None
            Ignored; there for scikit-learn's pipelines.

        Returns
        -------
        self
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

    @overload
    def predict_proba(  # type: ignore[overload-overlap]
        self, X: SeveralSignals
    ) -> list[Floats]: ...
    @overload
    def predict_proba(self, X: ArrayLike | HasData) -> Floats: ...
    def predict_proba(self, X: Signals) -> Floats | list[Floats]:
        """Return the posterior probability of each of ``patterns_`` in each sample.

        Parameters
        ----------
        X : array (T, N)
            Signals, or several recordings as in :meth:`fit`.

        Returns
        -------
        array (T, C), or a list of one for each recording
        """
        with self._open(X) as (data, dictionary, recordings):
            return by_recording(X, responsibilities_of(data, dictionary), recordings)

    @overload
    def predict(  # type: ignore[overload-overlap]
        self, X: SeveralSignals
    ) -> list[Integers]: ...
    @overload
    def predict(self, X: ArrayLike | HasData) -> Integers: ...
    def predict(self, X: Signals) -> Integers | list[Integers]:
        """Return the index into ``patterns_`` of the most probable pattern of each sample.

        With ``prior="markov"`` it is the most probable path of the whole sequence (Viterbi).

        Parameters
        ----------
        X : array (T, N)
            Signals, or several recordings as in :meth:`fit`.

        Returns
        -------
        array of int (T,), or a list of one for each recording
        """
        with self._open(X) as (data, dictionary, recordings):
            return by_recording(X, most_probable_patterns(data, dictionary), recordings)

    def instantaneous_graphs(
        self, X: Signals | None = None, *, min_probability: float | None = None
    ) -> InstantaneousGraphs:
        """Return the graph of every sample.

        Activations that are given by time ("hierarchy") all count, but nodes that are exactly
        silent in a sample have no edges there.

        Parameters
        ----------
        X : array (T, N), optional
            Signals, or several recordings as in :meth:`fit`; those learned from by default.
        min_probability : float, optional
            Atoms count by the probability that they are active. Those below it stay out, since an
            edge that is hardly there should not be in the graph at all; the likeliest atom always
            stays. 0 gives the posterior mean of the graph. By default it is 1/3, and 0 where atoms
            have all edges anyway (``sparsity=0``), of which a threshold has to choose. With
            ``average`` it is edges that stay out of a graph, where it is less probable that one of
            the active atoms has them; by default where the odds are below ``sparsity``.

        Returns
        -------
        InstantaneousGraphs
            Graphs of several recordings stand one after the other; ``recordings`` tells which are
            of which.
        """
        check_is_fitted(self)
        if min_probability is not None and not 0 <= min_probability <= 1:
            raise ValueError(f"min_probability must be between 0 and 1, got {min_probability!r}")
        found, recordings = self._coefficients(X)
        coefficients = np.asarray(found)
        silent, probable = None, None
        least = self._least_probability if min_probability is None else min_probability
        if self.prior == "hierarchy":
            silent = getattr(self, "silent_", None)
            if X is not None:
                silent = self._silent(self._prepare(X)[0])
        elif hasattr(self, "edge_probabilities_"):
            sizes = self._mean_activations[:, None]
            probable = (self.edge_probabilities_ / sizes, least) if least > 0 else None
        else:
            active = coefficients >= least * self._mean_activations
            active[np.arange(len(active)), coefficients.argmax(axis=1)] = True
            coefficients = np.where(active, coefficients, 0)
        return InstantaneousGraphs(
            coefficients, self.atoms_, self.node_names,
            silent=silent, probable=probable, recordings=recordings,
        )  # fmt: skip

    @property
    def alike_atoms_(self) -> list[tuple[int, int]]:
        """Pairs of atoms that are the same graph but for its strength (cosine above 0.99)."""
        check_is_fitted(self)
        return alike_atoms(self.atoms_)
