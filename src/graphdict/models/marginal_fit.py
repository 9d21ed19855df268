"""From the parameters of GraphDictMarginal to a fit: which model is learned, by which search."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from graphdict.core.marginal.dictionary import PatternDictionary
from graphdict.core.marginal.filtered import FilteredLikelihood
from graphdict.core.marginal.filters import FILTERS, PAPERS, GraphFilter, HeatKernel, PowerFilter
from graphdict.core.marginal.likelihood import NOISE
from graphdict.core.marginal.protocols import PatternLikelihood
from graphdict.core.marginal.signed import SignedLikelihood, make_definite
from graphdict.engine.checkpoint import Checkpoint
from graphdict.engine.logs import logger
from graphdict.engine.marginal.active import choose_patterns
from graphdict.engine.marginal.em import Fit
from graphdict.engine.marginal.learn import STAY, Settings, learn
from graphdict.engine.marginal.learn_filtered import MOST_FILTERED, learn_filtered
from graphdict.engine.marginal.learn_signed import learn_signed
from graphdict.engine.marginal.model_choice import PlainFits
from graphdict.engine.marginal.samples import OpenSignals
from graphdict.engine.marginal.series import mean_square
from graphdict.engine.marginal.silent_nodes import fall_apart
from graphdict.engine.marginal.subset import open_subset
from graphdict.engine.marginal.warm import WarmStart, learn_from
from graphdict.engine.progress import with_progress
from graphdict.models.signed import check_signed

if TYPE_CHECKING:
    from graphdict.models.marginal import GraphDictMarginal

__all__ = ["check_parameters", "learn_model"]

FIRST_WEIGHT = 0.1  # of the mean weight of an atom, for pairs that a fit to begin from lacks
SAMPLES_FOR_FILTERS = 20  # with fewer, power 1 and Gaussian tails


def check_parameters(model: GraphDictMarginal) -> None:
    """Raise where parameters, each of them valid, do not go together."""
    _check_filter(model)
    check_signed(model)
    if model.average and model.prior == "hierarchy":
        raise ValueError(
            f'average={model.average} draws whole activations, but prior="hierarchy" gives '
            "shares of them: set average=0"
        )
    if model.levels > 1 and model.prior == "hierarchy":
        raise ValueError(
            f'levels={model.levels} cannot be used with prior="hierarchy", which has '
            "activations of its own: set levels=1"
        )


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
    settings = replace(_settings_for(model, signals, patterns), checkpoint=checkpoint)
    if _may_begin_at(model._start, model):
        fit = _learn_warm(model, signals, settings)
    else:
        given = model, signals, patterns, settings
        # Copies: the plain fit is to be that of the same model given.
        own, other = deepcopy(rng), deepcopy(rng)
        plain = cache(partial(_learn_plain, *given, rng))
        sketch = partial(_sketch_plain, *given, other, plain)
        plains = PlainFits(plain, sketch)
        fit = _learn_filtered(*given, own, plains) if settings.filtered else plain()
    pool = getattr(fit.dictionary.likelihood, "pool", None)
    model._pooled = 0.0 if pool is None else pool.share * len(signals)
    return fit


def _may_begin_at(given: Any, model: GraphDictMarginal) -> bool:
    """Return whether a fit, if any is given, is one that the model can begin at."""
    if given is None or model.prior == "hierarchy":
        return False
    names = ("signed",) if model.n_atoms == 1 else ("signed", "n_atoms", "levels")
    alike = all(getattr(given, name) == getattr(model, name) for name in names)
    return alike and np.array_equal(given.active_nodes_, model.active_nodes_)


def _learn_warm(model: GraphDictMarginal, signals: Any, settings: Settings) -> Fit:
    """Return a short fit that begins at another, whose filter and sets of atoms it keeps.

    Pairs that have no edge there get a little weight, so that they may have one. Tails are those of
    the settings, or of the fit to begin with where they would be learned. One graph begins at the
    mean of several.
    """
    given = model._start
    assert given is not None
    patterns, chances = given.patterns_, given.pattern_probabilities_
    atoms, pooled = given._active_atoms.astype(np.float64), given._pooled
    if model.n_atoms == 1 and len(atoms) > 1:
        atoms, pooled = (chances @ patterns @ atoms)[None], 0.0
        patterns, chances = np.ones((1, 1), dtype=bool), np.ones(1)
    filter_ = _filter_of(given)
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
        start = WarmStart(PatternDictionary(likelihood, atoms, chances, stay), pooled)
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


def _check_filter(model: GraphDictMarginal) -> None:
    """Raise where a filter or tails are asked for that other parameters do not allow."""
    asked = []
    if model.filter_power not in ("auto", 1):
        asked.append(f"filter_power={model.filter_power!r}")
    if model.tails not in ("auto", "gaussian", np.inf):
        asked.append(f"tails={model.tails!r}")
    for name, wrong in (("prior", model.prior == "hierarchy"), ("average", model.average > 0)):
        if wrong and asked:
            raise ValueError(
                f"{asked[0]} cannot be used with {name}={getattr(model, name)!r}: use "
                'filter_power=1 and tails="gaussian" there'
            )


def _given_filter(filter_power: float | str) -> GraphFilter | None:
    """Return the filter that a parameter stands for; None where it is to be learned."""
    if isinstance(filter_power, str):
        return HeatKernel() if filter_power == "heat" else None
    return PowerFilter(float(filter_power))


def _filter_of(fitted: Any) -> GraphFilter:
    """Return the filter that a fit has found."""
    found: GraphFilter = FILTERS[fitted.filter_](fitted.filter_power_)
    return found


def _settings_for(model: GraphDictMarginal, signals: Any, patterns: NDArray[Any]) -> Settings:
    """Return the settings with power and tails, None each where it is to be learned.

    "auto" stands for 1 and Gaussian where nothing else is known, which the log says.
    """
    chosen = _given_filter(model.filter_power)
    if model._found is not None and not model.signed:
        chosen = _filter_of(model._found)
    given = {"auto": None, "gaussian": np.inf}
    tails = given[model.tails] if isinstance(model.tails, str) else float(model.tails)
    if model.signed:
        return replace(model._settings, filter=PAPERS, tails=tails, signed=True)
    settings = replace(model._settings, filter=chosen, tails=tails)
    if model._found is not None:
        settings = replace(settings, pooled=model._found._pooled)
    if not settings.filtered:
        return settings
    fixed = model.max_active is not None
    reasons = {
        'prior="hierarchy"': model.prior == "hierarchy",
        f"average={model.average}": model.average > 0,
        "a stream": model._in_stream,
        f"{len(patterns)} sets of atoms": fixed and len(patterns) > MOST_FILTERED,
    }
    if chosen is None and tails is None:
        few = len(signals) < SAMPLES_FOR_FILTERS
        reasons[f"fewer than {SAMPLES_FOR_FILTERS} samples"] = few
    plain = chosen in (None, PAPERS)
    if plain and tails in (None, np.inf):
        # Such densities have no bound, and what a filter or tails gain says nothing of either.
        reasons["nodes that are exactly silent, as on graphs that fall apart"] = fall_apart(signals)
    reason = next((text for text, holds in reasons.items() if holds), None)
    if reason is None:
        return settings
    if not plain or tails not in (None, np.inf):
        name, value = ("filter_power", model.filter_power)
        if plain:
            name, value = "tails", model.tails
        raise ValueError(
            f"{name}={value!r} cannot be used with {reason}: use filter_power=1 and "
            'tails="gaussian" there'
        )
    logger.info("GraphDictMarginal: power 1 and Gaussian tails, because of %s", reason)
    return model._settings


def _learn_filtered(
    model: GraphDictMarginal,
    signals: Any,
    patterns: NDArray[Any],
    settings: Settings,
    rng: np.random.RandomState,
    plain: PlainFits,
) -> Fit:
    """Return the fit with filter and tails, or the plain one where there are none."""
    with (
        with_progress(None, settings.trials, "starts") as trial_callback,
        with_progress(model.callback, 2 * model.max_iter, "EM") as callback,
        model._open_training(signals, len(patterns), rng) as data,
    ):
        some = partial(open_subset, signals, model.recordings_, model.window_size, rng, data)
        settings = replace(settings, callback=callback, trial_callback=trial_callback)
        choose = None
        if model.max_active is None and model.n_atoms > 1 and not model.signed:
            # A copy: the fit is to be that of the same number given.
            given = signals, model.recordings_, model.window_size, patterns, settings
            choose = partial(choose_patterns, *given, deepcopy(rng))
        model.noise_ = NOISE * mean_square(data)
        if model.signed:
            return learn_signed(data, patterns, model.noise_, settings, rng)
        try:
            fit = learn_filtered(
                data, patterns, model.noise_, settings, rng, plain, choose=choose, some=some
            )
            if fit.is_finite:
                return fit
        except np.linalg.LinAlgError:  # spectra of graphs that are out of all proportion
            pass
    if model.filter_power not in ("auto", 1) or model.tails not in ("auto", "gaussian"):
        raise ValueError(
            f"filter_power={model.filter_power!r} with tails={model.tails!r} gives signals like "
            'X no finite likelihood: use "auto" for both, which falls back to 1 and "gaussian"'
        )
    logger.info("GraphDictMarginal: power 1 and Gaussian tails, since no others are finite")
    return plain.fit()


def _learn_plain(
    model: GraphDictMarginal,
    signals: Any,
    patterns: NDArray[Any],
    settings: Settings,
    rng: np.random.RandomState,
) -> Fit:
    """Return the fit with a power of 1 and Gaussian tails."""
    model.alpha_w_ = 0.0  # until it is known
    if model.max_active is None and model.prior != "hierarchy":
        first = _choose_patterns(model, signals, patterns, settings.checkpoint, rng)
        patterns = patterns if first is None else first.dictionary.patterns
    else:
        first = None
    with (
        model._open_training(signals, len(patterns), rng) as data,
        open_subset(signals, model.recordings_, model.window_size, rng, data, patterns) as some,
    ):
        model.noise_ = NOISE * mean_square(data)
        if first is not None and first.interrupted:
            return first
        return _learn_dictionary(model, data, patterns, settings.checkpoint, rng, some)


def _sketch_plain(
    model: GraphDictMarginal,
    signals: Any,
    patterns: NDArray[Any],
    settings: Settings,
    rng: np.random.RandomState,
    plain: Callable[[], Fit],
    n_init: int,
) -> Fit:
    """Return a plain fit of so many starts, to as many samples as a search needs.

    Where the model has no more starts, nor the signals more samples, it is the ``plain`` fit.
    """
    model.alpha_w_ = 0.0  # until it is known
    if model.max_active is None:
        first = _choose_patterns(model, signals, patterns, settings.checkpoint, rng)
        if first is not None and first.interrupted:
            return first
        patterns = patterns if first is None else first.dictionary.patterns
    with (
        model._open_training(signals, len(patterns), rng) as data,
        open_subset(signals, model.recordings_, model.window_size, rng, data, patterns) as some,
    ):
        if some is data and n_init == settings.n_init:
            return plain()
        settings = replace(model._settings, n_init=n_init, checkpoint=settings.checkpoint)
        return learn(some, patterns, model.noise_, settings, rng)


def _choose_patterns(
    model: GraphDictMarginal,
    signals: Any,
    patterns: NDArray[Any],
    checkpoint: Checkpoint,
    rng: np.random.RandomState,
) -> Fit | None:
    """Return a short fit whose patterns are those to allow; None where there is no choice."""
    most = int(patterns.sum(axis=1).max())
    with with_progress(None, most, "active atoms") as callback:
        settings = replace(model._settings, trial_callback=callback, checkpoint=checkpoint)
        # A copy: the fit is to be that of the same number given.
        given = signals, model.recordings_, model.window_size, patterns, settings
        return choose_patterns(*given, deepcopy(rng))


def _learn_dictionary(
    model: GraphDictMarginal,
    data: OpenSignals,
    patterns: NDArray[Any],
    checkpoint: Checkpoint,
    rng: np.random.RandomState,
    some: OpenSignals,
) -> Fit:
    settings = model._settings.with_alpha(data, model.n_atoms)
    model.alpha_w_ = settings.alpha_w or 0.0
    trials, steps = settings.trials, 2 * model.max_iter + 3 * model.average // 2
    with (
        with_progress(None, trials, "starts") as trial_callback,
        with_progress(model.callback, steps, "EM") as callback,
    ):
        settings = replace(
            settings, callback=callback, trial_callback=trial_callback, checkpoint=checkpoint
        )
        return learn(data, patterns, model.noise_, settings, rng, some)
