"""Is it more than one graph? A dictionary against one graph, on held-out time and surrogates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import check_random_state

from graphdict.core.annotations import Floats, RandomState
from graphdict.engine.blas import single_threaded_blas
from graphdict.engine.progress import shown_work
from graphdict.engine.tasks import advance, subtask
from graphdict.selection.folds import (
    HeldOutBlocks,
    block_scores,
    complete,
    cut_recordings,
    cut_study,
    error_of_mean,
    group_labels,
)
from graphdict.selection.held_out import CLEARLY, check_comparable, check_groups
from graphdict.selection.surrogates import covariance_variation, directions, surrogate_directions
from graphdict.selection.trials import as_pieces, check_windows

if TYPE_CHECKING:  # pragma: no cover
    from graphdict.models.marginal import GraphDictMarginal

SURROGATES = 39
PROBABLE = 0.05  # p-value from which on one graph with memory explains a gain
MOST_ROWS = 4_000  # samples of which surrogates are made
LASTING = 0.5  # probability to stay from which on states last
SURROGATE_COST = 0.5  # of all, in units of one graph on held-out blocks
CLEARLY_ALONE = 3.0  # standard errors that suffice where samples are drawn one by one


@dataclass(frozen=True)
class Evidence:
    """Whether signals have more than one graph.

    Attributes
    ----------
    n_atoms : int
        Atoms of the dictionary that is compared with one graph.
    gain, error : float
        What the dictionary gains over one graph on held-out blocks of time, in nats a sample, and
        its standard error over blocks. Memory that all nodes share and the loudness of samples are
        taken out of both.
    block_gains : array (B,)
        The gain of each block.
    block_length : int
        Samples in a block.
    memory : int
        Samples back from which all nodes predict themselves; 0 for none.
    stay : float
        Probability that the next sample has the same atoms, where that is learned; 0 otherwise.
    p_value : float
        Share of series with one graph whose covariance varies at least as much in time: surrogates,
        which keep the spectra and the covariance, and the series itself. NaN without surrogates.
    statistic : float
        How much the covariance of directions varies between stretches of time, in standard errors.
    surrogate_statistics : array (S,)
        The same of surrogates.
    """

    n_atoms: int
    gain: float
    error: float
    block_gains: Floats = field(repr=False)
    block_length: int
    memory: int
    stay: float
    p_value: float
    statistic: float
    surrogate_statistics: Floats = field(repr=False)

    @property
    def clear(self) -> bool:
        """Whether there is more than one graph.

        The gain is at least two standard errors and no more than one surrogate in twenty gains as
        much. Where samples are drawn one by one, dependence cannot look like states: three standard
        errors are enough, whatever surrogates gain.
        """
        if not self.gain > CLEARLY * self.error:
            return False
        alone = self.stay < LASTING and self.gain > CLEARLY_ALONE * self.error
        return alone or not self.p_value > PROBABLE

    def in_words(self) -> str:
        """Return the finding in a sentence or two."""
        measured = f"{self.gain:+.3g} ± {self.error:.1g} nats a sample"
        if self.clear:
            said = (
                f"More than one graph: {self.n_atoms} predict held-out blocks of time better than "
                f"one ({measured})."
            )
        else:
            said = (
                f"No clear sign of more than one graph: {self.n_atoms} instead of one change the "
                f"prediction of held-out blocks of time by {measured}."
            )
        if np.isnan(self.p_value):
            return said
        count = len(self.surrogate_statistics)
        as_large = int((self.surrogate_statistics >= self.statistic).sum())
        return (
            f"{said} Of {count} surrogate series with one graph, {as_large or 'none'} "
            f"{'vary' if as_large > 1 else 'varies'} as much in time (p = {self.p_value:.2g})."
        )


def evidence(
    model: GraphDictMarginal,
    X: ArrayLike | Sequence[ArrayLike] | Mapping[Any, ArrayLike],
    *,
    groups: Sequence[Any] | None = None,
    block_length: int | None = None,
    n_surrogates: int = SURROGATES,
    random_state: RandomState = 0,
    report: Callable[[str], None] | None = None,
) -> Evidence:
    """Compare how well a dictionary and one graph predict held-out blocks of time.

    Parameters
    ----------
    model : GraphDictMarginal
        It is cloned and learned anew with blocks held out, which is quicker where it has been
        fitted to ``X``. With one atom, two are compared with one.
    X : array (T, N), or list or dict of arrays (T_r, N)
        Signals in the order of time, or those of several recordings. Missing values are
        interpolated. Five recordings or more are held out whole; of fewer, blocks of time are, none
        with samples of two or of both sides of a break.
    groups : R labels, optional
        Of several recordings: those with the same label, as of one subject, are held out together.
    block_length : int, optional
        Samples in a block; by default a twentieth of all, but longer than the memory of the series.
    n_surrogates : int, default=39
        Number of series with one graph to compare with; 0 for none.
    random_state : int, RandomState or None, default=0
        Decides surrogates.
    report : callable, optional
        Called with a line of text for each stage.

    Returns
    -------
    Evidence
        ``evidence.clear`` and ``evidence.in_words()`` say what was found.

    Examples
    --------
    >>> from graphdict import GraphDictMarginal
    >>> from graphdict.datasets import make_sbg
    >>> from graphdict.selection import evidence
    >>> signals = make_sbg(20, 50, 2, 8, 0.4, p_stay=0.5, random_state=0).signals
    >>> found = evidence(GraphDictMarginal(2, prior="markov", random_state=0), signals)
    >>> found.clear
    True
    """
    check_comparable(model, "evidence")
    if n_surrogates < 0:
        raise ValueError(f"n_surrogates must be 0 or more, got {n_surrogates}")
    count = max(2, model.n_atoms)
    given, owners = as_pieces(model, X)
    check_groups(groups, X)
    labels = group_labels(groups, int(owners[-1]) + 1)
    if groups is not None and block_length is not None:
        raise ValueError(
            f"block_length={block_length} cannot be used with groups, which are held out whole: "
            "give one of the two"
        )
    parts, window = [complete(part) for part in given], model.window_size
    check_windows(count, sum(len(part) // window for part in parts))
    if groups is None:
        blocks = cut_study(parts, window, block_length, owners)
    else:
        blocks = cut_recordings(parts, labels[owners].tolist(), window)
    scores = {}
    fitted = model if hasattr(model, "atoms_") and len(model.atoms_) == count else None
    with shown_work("evidence", 1 + count + SURROGATE_COST, model.verbose):
        for atoms in (count, 1):
            if report is not None:
                report(f"{atoms} atom{'s' * (atoms > 1)} on held-out blocks")
            trial = clone(model).set_params(n_atoms=atoms)
            scores[atoms] = block_scores(trial, blocks, fitted=fitted, cost=atoms)
            fitted = scores[atoms].model  # one graph has the filter of several
        several = scores[count]
        statistics = surrogate_statistics(blocks, n_surrogates, random_state)
        return compare_with_one(blocks, scores[1].blocks, several.blocks, several.model, statistics)


@single_threaded_blas
def surrogate_statistics(
    blocks: HeldOutBlocks, count: int, random_state: RandomState = 0
) -> Floats:
    """Return how much the covariance varies in the series and in surrogates: (1 + count,).

    Of long series the beginnings of all blocks are used, 4,000 samples together. Surrogates have
    the spectra that all recordings have together, and none crosses the end of one.
    """
    longest = max(1, MOST_ROWS // len(blocks.pieces))
    pieces = [piece[:longest] for piece in blocks.pieces]
    series = directions(np.concatenate(pieces))
    lengths = np.bincount(blocks.series, [len(piece) for piece in pieces]).astype(int)
    lengths = lengths[lengths > 0]
    if count == 0 or not series.shape[1]:
        return np.empty(0)
    rng = check_random_state(random_state)
    found = [covariance_variation(series, lengths)]
    with subtask("surrogates", total=count, cost=SURROGATE_COST):
        for _ in range(count):
            drawn = surrogate_directions(series, rng, lengths)
            found.append(covariance_variation(drawn, lengths))
            advance()
    return np.array(found)


def compare_with_one(
    blocks: HeldOutBlocks, one: Floats, several: Floats, model: Any, statistics: Floats
) -> Evidence:
    """Return the evidence, by block scores (B,) of one and of several graphs.

    ``model`` is that of several, fitted to all blocks; ``statistics`` (1 + S,) tell how much the
    covariance varies (:func:`surrogate_statistics`).
    """
    difference = several - one
    return Evidence(
        n_atoms=len(model.atoms_),
        gain=float(difference.mean()),
        error=error_of_mean(difference),
        block_gains=difference,
        block_length=blocks.length,
        memory=len(blocks.autoregression),
        stay=float(model.stay_probability_),
        p_value=surrogate_p_value(statistics),
        statistic=float(statistics[0]) if len(statistics) else np.nan,
        surrogate_statistics=statistics[1:],
    )


def surrogate_p_value(statistics: Floats) -> float:
    """Return the share of series whose covariance varies as much as the first; NaN for none."""
    return float(np.mean(statistics >= statistics[0])) if len(statistics) else np.nan
