"""Whole blocks of time, held out in turn, and what models make of them.

Samples beside one another resemble one another: a sample held out alone is nearly among those
learned from. Blocks are therefore longer than the memory of the series, each is held out once, and
the error of a mean over blocks is that of as many independent values as there are blocks.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from graphdict.engine.marginal.samples import blocks_of_time
from graphdict.engine.signals import has_gaps
from graphdict.selection.memory import autoregression, innovations
from graphdict.selection.trials import fit_quietly, with_found

__all__ = ["Blocks", "Scores", "block_scores", "complete", "cut_blocks", "error_of_mean"]

FOLDS = 5  # every block is held out once, a fifth of them at a time
MOST_BLOCKS = 20
MEMORIES = 10  # of the series, that a block is long at least
MOST_ROWS = 20_000  # samples that suffice to choose
TRIAL_STARTS = 4  # at most: fits for a score need not be the best
TRIAL_PENALTY = 1e-3  # at most: a stronger one costs one graph more than several


@dataclass(frozen=True)
class Blocks:
    """Innovations of signals, cut in blocks of consecutive samples.

    Attributes
    ----------
    pieces : list of arrays (length, N)
        Whole windows each.
    length : int
        Samples in a block.
    memory : array (q,)
        The autoregression that was taken out.
    """

    pieces: list[NDArray[np.float64]]
    length: int
    memory: NDArray[np.float64]

    @property
    def signals(self) -> NDArray[np.float64]:
        """All samples of all blocks."""
        return np.concatenate(self.pieces)


@dataclass(frozen=True)
class Scores:
    """What a model makes of blocks that it has not seen.

    Attributes
    ----------
    blocks : array (B,)
        Log-likelihood of a sample of each block, a mean.
    model : GraphDictMarginal
        The model fitted to all blocks.
    """

    blocks: NDArray[np.float64]
    model: Any


def complete(signals: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return signals (T, N) with missing values interpolated in time; empty columns become 0."""
    if not has_gaps(signals):
        return signals
    filled = np.array(signals, dtype=np.float64)
    rows = np.arange(len(filled))
    for column in filled.T:
        there = ~np.isnan(column)
        column[~there] = np.interp(rows[~there], rows[there], column[there]) if there.any() else 0
    return filled


def cut_blocks(signals: NDArray[np.float64], window: int = 1, length: int | None = None) -> Blocks:
    """Return the innovations of complete signals (T, N) in blocks of time.

    ``length`` samples each, or by default a twentieth of all, though ten times the memory that an
    autoregression takes out, and whole windows. Of more than 20,000 samples, the beginning of each
    block is used. Raises ValueError where that leaves fewer than five.
    """
    memory = autoregression(signals)
    left = innovations(signals, memory)
    least = MEMORIES * max(1, len(memory))
    if length is None:
        length = max(len(left) // MOST_BLOCKS, least if len(left) >= FOLDS * least else 1)
    length = max(1, length // window) * window
    count = len(left) // length
    if count < FOLDS:
        raise ValueError(
            f"held-out blocks need at least {FOLDS} windows or blocks, and {len(signals)} samples "
            f"in blocks of {length} are {count}: use shorter ones, or give the number of atoms"
        )
    return Blocks(blocks_of_time(left, window, count, MOST_ROWS), length, memory)


def block_scores(model: Any, blocks: Blocks, folds: int = FOLDS, fitted: Any = None) -> Scores:
    """Return the score of every block under a clone of ``model`` fitted to other blocks.

    Every so many blocks are held out together: with two ``folds``, half of them. Where the same
    model has been ``fitted`` to the signals, that is where the fit to all blocks begins.

    Filter, tails and how many atoms may be active are those of a fit to all blocks: numbers, which
    need not be learned anew with every block held out. The search among starts is not made again
    either: atoms of that fit, warmed up, are where the others begin.
    """
    trial = clone(model).set_params(n_init=min(model.n_init, TRIAL_STARTS))
    if not isinstance(model.alpha_w, str):
        trial.set_params(alpha_w=min(model.alpha_w, TRIAL_PENALTY))
    whole = clone(trial) if fitted is None else with_found(clone(trial), fitted)
    fit_quietly(whole, blocks.signals, fitted)
    trial = with_found(trial, whole)
    values = np.empty(len(blocks.pieces))
    for fold in range(folds):
        others = [piece for place, piece in enumerate(blocks.pieces) if place % folds != fold]
        fitted = clone(trial)
        fit_quietly(fitted, np.concatenate(others), whole)
        for place in range(fold, len(blocks.pieces), folds):
            values[place] = _score(fitted, blocks.pieces[place])
    return Scores(values, whole)


def _score(model: Any, signals: NDArray[np.float64]) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(model.score(signals))


def error_of_mean(values: NDArray[np.float64]) -> float:
    """Return the standard error of the mean of independent values; 0 for a single one."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
