"""From the parameters of GraphDictMarginal to a fit: which search finds it."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from graphdict.core.marginal.dictionary import PatternDictionary
from graphdict.core.marginal.filtered import FilteredLikelihood
from graphdict.core.marginal.likelihood import NOISE
from graphdict.core.marginal.protocols import PatternLikelihood
from graphdict.core.marginal.signed import SignedLikelihood, make_definite
from graphdict.engine.checkpoint import Checkpoint
from graphdict.engine.logs import logger
from graphdict.engine.marginal.active import choose_patterns
from graphdict.engine.marginal.em import Fit
from graphdict.engine.marginal.learn import STAY, learn
from graphdict.engine.marginal.learn_filtered import learn_filtered
from graphdict.engine.marginal.learn_signed import learn_signed
from graphdict.engine.marginal.model_choice import PlainFits
from graphdict.engine.marginal.redundant import are_one_graph
from graphdict.engine.marginal.samples import OpenSignals
from graphdict.engine.marginal.series import mean_square
from graphdict.engine.marginal.settings import Settings
from graphdict.engine.marginal.subset import SubsetOpener, open_subset
from graphdict.engine.marginal.warm import WarmStart, learn_from
from graphdict.engine.progress import with_progress
from graphdict.models.marginal_filter import settings_for

if TYPE_CHECKING:
    from graphdict.models.marginal import GraphDictMarginal

FIRST_WEIGHT = 0.1  # of the mean weight of an atom, for pairs that a fit to begin from lacks


def learn_model(
    model: GraphDictMarginal,
    signals: Any,
    patterns: NDArray[Any],
    checkpoint: Checkpoint,
    rng: np.random.RandomState,
) -> Fit:
    """Return the fit to prepared signals (T, N) for patterns (C, K).

    Sets ``noise_`` and ``alpha_w_`` of the model.
    """
    settings = replace(settings_for(model, signals, patterns), checkpoint=checkpoint)
    if _may_begin_at(model._request.start, model):
        fit = _learn_warm(model, signals, settings)
    else:
        search = _Search(model, signals, patterns, settings)
        # Copies: the plain fit is to be that of the same model given.
        filtered_rng, short_rng = deepcopy(rng), deepcopy(rng)
        plain = cache(partial(search.learn_plain, rng))
        plains = PlainFits(plain, partial(search.fit_plain_shortly, short_rng, plain))
        fit = search.learn_filtered(filtered_rng, plains) if settings.filtered else plain()
    pool = getattr(fit.dictionary.likelihood, "pool", None)
    model._pooled = 0.0 if pool is None else pool.share * len(signals)
    return fit


def _may_begin_at(given: Any, model: GraphDictMarginal) -> bool:
    """Return whether a fit, if any is given, is one that the model can begin at."""
    if given is None or model.prior == "hierarchy":
        return False
    if model.n_atoms > 1 and are_one_graph(given.atoms_):
        return False  # copies of one graph, which EM never tells apart
    names = ("signed",) if model.n_atoms == 1 else ("signed", "n_atoms", "levels")
    alike = all(getattr(given, name) == getattr(model, name) for name in names)
    return alike and np.array_equal(given.active_nodes_, model.active_nodes_)


def _learn_warm(model: GraphDictMarginal, signals: Any, settings: Settings) -> Fit:
    """Return a short fit that begins at another, whose filter and sets of atoms it keeps.

    Pairs that have no edge there get a little weight, so that they may have one. Tails are those of
    the settings, or of the fit to begin with where they would be learned. One graph begins at the
    mean of several.
    """
    given = model._request.start
    assert given is not None
    patterns, probabilities = given.patterns_, given.pattern_probabilities_
    atoms, pooled = given._active_atoms.astype(np.float64), given._pooled
    if model.n_atoms == 1 and len(atoms) > 1:
        atoms, pooled = (probabilities @ patterns @ atoms)[None], 0.0
        patterns, probabilities = np.ones((1, 1), dtype=bool), np.ones(1)
    filter_ = given._found_filter
    tails = given.tails_ if settings.tails is None else settings.tails
    settings = replace(settings, filter=filter_, tails=tails)
    with model._open_training(signals, len(patterns)) as data:
        model.noise_ = NOISE * mean_square(data)
        model.alpha_w_ = settings.with_alpha(data, model.n_atoms).alpha_w or 0.0
        power = given.filter_power_ if given.filter_ == "power" else 1.0
        atoms *= (given.noise_ / model.noise_) ** (1 / power)
        least = FIRST_WEIGHT * np.abs(atoms).mean(axis=1, keepdims=True)
        atoms = np.where(np.abs(atoms) < least, least, atoms)
        atoms = make_definite(atoms) if model.signed else atoms
        stay = None
        if model.prior == "markov":
            stay = given.stay_probability_ if given.prior == "markov" else STAY
        likelihood = _likelihood(settings, patterns, atoms, model.noise_)
        start = WarmStart(PatternDictionary(likelihood, atoms, probabilities, stay), pooled)
        return learn_from(start, data, model.noise_, settings)


def _likelihood(
    settings: Settings, patterns: NDArray[Any], atoms: NDArray[Any], noise: float
) -> PatternLikelihood:
    """Return the likelihood that settings with a filter and tails ask for."""
    assert settings.filter is not None
    assert settings.tails is not None
    if settings.signed:
        return SignedLikelihood.of(patterns, atoms, noise, tails=settings.tails)
    if not settings.filtered:
        return settings.likelihood(patterns, atoms, noise)
    given = {"filter": settings.filter, "tails": settings.tails}
    return FilteredLikelihood.of(patterns, atoms, noise, **given)


@dataclass(frozen=True, eq=False)
class _Search:
    """The searches for a fit: with a filter and tails, plain, and a short plain one."""

    model: GraphDictMarginal
    signals: Any  # prepared (T, N)
    patterns: NDArray[Any]  # (C, K), all that parameters allow
    settings: Settings

    def learn_filtered(self, rng: np.random.RandomState, plain: PlainFits) -> Fit:
        """Return the fit with filter and tails, or the plain one where there are none."""
        model, patterns, settings = self.model, self.patterns, self.settings
        with (
            with_progress(None, settings.trials, "starts") as trial_callback,
            with_progress(model.callback, 2 * model.max_iter, "EM") as callback,
            model._open_training(self.signals, len(patterns), rng) as data,
        ):
            settings = replace(settings, callback=callback, trial_callback=trial_callback)
            choose = None
            if model.max_active is None and model.n_atoms > 1 and not model.signed:
                # A copy: the fit is to be that of the same number given.
                choose = partial(
                    choose_patterns, self.signals, patterns, settings,
                    **self._windows, rng=deepcopy(rng),
                )  # fmt: skip
            model.noise_ = NOISE * mean_square(data)
            if model.signed:
                return learn_signed(data, patterns, model.noise_, settings, rng)
            try:
                fit = learn_filtered(
                    data, patterns, settings, noise=model.noise_, rng=rng, plain=plain,
                    choose=choose, open_subset=self._subset(data, rng),
                )  # fmt: skip
                if fit.is_finite:
                    return fit
            except np.linalg.LinAlgError:  # spectra of graphs that are out of all proportion
                pass
        if model.filter_power not in ("auto", 1) or model.tails not in ("auto", "gaussian"):
            raise ValueError(
                f"filter_power={model.filter_power!r} with tails={model.tails!r} gives signals "
                'like X no finite likelihood: use "auto" for both, which falls back to 1 and '
                '"gaussian"'
            )
        logger.info("GraphDictMarginal: power 1 and Gaussian tails, since no others are finite")
        return plain.fit()

    def learn_plain(self, rng: np.random.RandomState) -> Fit:
        """Return the fit with a power of 1 and Gaussian tails."""
        model = self.model
        first, patterns = self._choose_patterns(rng)
        with (
            model._open_training(self.signals, len(patterns), rng) as data,
            self._subset(data, rng)(patterns, 1) as some,
        ):
            model.noise_ = NOISE * mean_square(data)
            if first is not None and first.interrupted:
                return first
            settings = model._settings.with_alpha(data, model.n_atoms)
            model.alpha_w_ = settings.alpha_w or 0.0
            steps = 2 * model.max_iter + 3 * model.average // 2
            with (
                with_progress(None, settings.trials, "starts") as trial_callback,
                with_progress(model.callback, steps, "EM") as callback,
            ):
                settings = replace(
                    settings, callback=callback, trial_callback=trial_callback,
                    checkpoint=self.settings.checkpoint,
                )  # fmt: skip
                return learn(data, patterns, settings, noise=model.noise_, rng=rng, some=some)

    def fit_plain_shortly(
        self, rng: np.random.RandomState, plain: Callable[[], Fit], n_init: int
    ) -> Fit:
        """Return a plain fit of so many starts, to as many samples as a search needs.

        Where the model has no more starts, nor the signals more samples, it is the ``plain`` fit.
        """
        first, patterns = self._choose_patterns(rng)
        if first is not None and first.interrupted:
            return first
        with (
            self.model._open_training(self.signals, len(patterns), rng) as data,
            self._subset(data, rng)(patterns, 1) as search_data,
        ):
            if search_data is data and n_init == self.settings.n_init:
                return plain()
            checkpoint = self.settings.checkpoint
            settings = replace(self.model._settings, n_init=n_init, checkpoint=checkpoint)
            return learn(search_data, patterns, settings, noise=self.model.noise_, rng=rng)

    def _choose_patterns(self, rng: np.random.RandomState) -> tuple[Fit | None, NDArray[Any]]:
        """Return a short fit, None where there is no choice, and the patterns that it allows."""
        model, patterns = self.model, self.patterns
        model.alpha_w_ = 0.0  # until it is known
        if model.max_active is not None or model.prior == "hierarchy":
            return None, patterns
        with with_progress(None, int(patterns.sum(axis=1).max()), "active atoms") as callback:
            settings = replace(
                model._settings, trial_callback=callback, checkpoint=self.settings.checkpoint
            )
            # A copy: the fit is to be that of the same number given.
            first = choose_patterns(
                self.signals, patterns, settings, **self._windows, rng=deepcopy(rng)
            )
        return first, patterns if first is None else first.dictionary.patterns

    @property
    def _windows(self) -> dict[str, Any]:
        return {"recordings": self.model.recordings_, "window_size": self.model.window_size}

    def _subset(self, data: OpenSignals, rng: np.random.RandomState) -> SubsetOpener:
        """Return what opens some of the signals, or ``data`` where that is as much."""
        return partial(open_subset, data, signals=self.signals, **self._windows, rng=rng)
