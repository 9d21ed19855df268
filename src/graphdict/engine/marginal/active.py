"""How many atoms may be active at once, where the user does not say: chosen by held-out samples.

Where more may be active than are, other decompositions explain the signals about as well, and no
penalised likelihood of the samples learned from tells which is right. Others do, and soon: one
short run for each number is enough.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.core.marginal.dictionary import PatternDictionary
from graphdict.core.marginal.likelihood import NOISE
from graphdict.core.marginal.patterns import pattern_sizes
from graphdict.core.marginal.penalty import shrinkage_for
from graphdict.core.recordings import Recordings
from graphdict.engine.marginal.annealed_search import anneal_filtered
from graphdict.engine.marginal.em import Fit
from graphdict.engine.marginal.filtered_em import NO_PENALTY, FilteredEM
from graphdict.engine.marginal.filtered_starts import random_filtered_start
from graphdict.engine.marginal.learn import Trials, random_start
from graphdict.engine.marginal.learn_filtered import MOST_FILTERED
from graphdict.engine.marginal.passes import evidence_by_segment
from graphdict.engine.marginal.series import mean_square
from graphdict.engine.marginal.settings import Settings, annealing_schedule
from graphdict.engine.marginal.subset import Segments, cut_segments, whole_windows

FOLDS = 5  # one segment of samples in so many is held out
CHOICE_SEGMENTS = 20
MOST_ROWS = 20_000  # samples that suffice to choose
CLEARLY = 2.0  # standard errors
PATIENCE = 3  # numbers to try after the best: scores of single runs are not smooth
SHORT_ANNEALING_STEPS = 20  # half of those of a search: runs need not be the best
SHORT: dict[str, Any] = {
    "annealing": annealing_schedule(SHORT_ANNEALING_STEPS), "max_iter": SHORT_ANNEALING_STEPS + 10,
}  # fmt: skip


def choose_patterns(
    signals: Any,
    patterns: NDArray,
    settings: Settings,
    single_graph: PatternDictionary | None = None,
    *,
    recordings: Recordings,
    window_size: int,
    rng: np.random.RandomState,
) -> Fit | None:
    """Return a short fit with the patterns that predict held-out samples best.

    Those are the rows of ``patterns`` (C, K) with up to some number of active atoms; it is raised
    from one until three more do not help. Return None where there is no choice, or too few samples
    for one. A fit that the user interrupted is returned at once.

    With a ``single_graph`` of all samples, short fits have its filter and learn tails, and the
    number is raised as long as one more helps clearly: by more than two standard errors.
    """
    sizes = pattern_sizes(patterns)
    if sizes.max() == 1 or whole_windows(recordings, window_size) < FOLDS:
        return None
    learned, held = hold_out(signals, recordings, window_size)
    fits: list[Fit] = []
    scores: list[NDArray] = []
    with (
        learned.open(window_size, len(patterns), rng) as data,
        held.open(window_size, len(patterns)) as others,
    ):
        noise = NOISE * mean_square(data)
        settings = settings.with_alpha(data, patterns.shape[1])
        for size in range(1, int(sizes.max()) + 1):
            allowed = patterns[sizes <= size]
            if single_graph is None:
                shrink = shrinkage_for(allowed, settings.alpha_w or 0.0, noise / NOISE)
                start = random_start(data, allowed, noise, rng, settings)
                (fit,) = Trials(data, shrink, settings, len(fits)).run([start], **SHORT)
            else:
                if len(allowed) > MOST_FILTERED:
                    break
                em = FilteredEM(data, noise, settings)
                start = random_filtered_start(em, single_graph, allowed, rng)
                trials = Trials(data, NO_PENALTY, settings, len(fits))
                (fit,) = anneal_filtered(em, iter([start]), trials)
            if fit.interrupted:
                return fit
            fits.append(fit)
            evidence = evidence_by_segment(others, fit.dictionary, CHOICE_SEGMENTS)
            scores.append(evidence / others.total)
            if single_graph is not None and not _is_clearly_better(scores):
                return fits[-2] if len(fits) > 1 else fits[0]
            if len(scores) - _best(scores) > PATIENCE:
                break
    return fits[_best(scores)]


def _best(scores: list[NDArray]) -> int:
    """Return which scores (segments,) are largest together; those that are no numbers never are."""
    totals = np.array([score.sum() for score in scores])
    return int(np.argmax(np.where(np.isfinite(totals), totals, -np.inf)))


def _is_clearly_better(scores: list[NDArray]) -> bool:
    """Return whether the last scores (segments,) exceed those before by two standard errors."""
    if len(scores) == 1:
        return bool(np.isfinite(scores[0]).all())
    gains = scores[-1] - scores[-2]
    return bool(gains.sum() > CLEARLY * len(gains) ** 0.5 * gains.std(ddof=1))


def hold_out(signals: Any, recordings: Recordings, window: int) -> tuple[Segments, Segments]:
    """Return segments of whole windows to learn from, and held-out ones."""
    windows = whole_windows(recordings, window)
    count = min(CHOICE_SEGMENTS, windows)
    if count < FOLDS:
        raise ValueError(
            f"choosing the number of atoms needs at least {FOLDS} windows, and {len(signals)} "
            f"samples in windows of {window} are {windows}; give the number"
        )
    longest = max(1, MOST_ROWS // count // window)
    segments = cut_segments(recordings, window, count, longest)
    held = segments[FOLDS - 1 :: FOLDS]
    learn = [each for index, each in enumerate(segments) if index % FOLDS != FOLDS - 1]
    return Segments.of(signals, recordings, learn), Segments.of(signals, recordings, held)
