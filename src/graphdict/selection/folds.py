"""Whole blocks of time, held out in turn, and what models make of them.

Samples beside one another resemble one another: a sample held out alone is nearly among those
learned from. Blocks are therefore longer than samples depend on one another, each is held out once,
and the error of a mean over blocks is that of as many independent values as there are blocks.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from graphdict.core.annotations import Floats, Integers
from graphdict.core.marginal.spectra import zero_sum_basis
from graphdict.engine.signals import has_gaps
from graphdict.engine.tasks import subtask
from graphdict.selection.prewhitening import autoregression, innovations, with_equal_loudness
from graphdict.selection.trials import fit_quietly

FOLDS = 4  # every block is held out once, a quarter of them at a time
LEAST_BLOCKS = 5
MOST_BLOCKS = 20
ORDERS = 10  # of the autoregression, that a block is long at least
MOST_ROWS, ENOUGH_ROWS = 20_000, 5_000  # samples to choose by, and for half of all to do
TRIAL_STARTS = 4  # at most: fits for a score need not be the best
TRIAL_PENALTY = 1e-3  # at most: a stronger one costs one graph more than several


class TooFewBlocksError(ValueError):
    """There are too few blocks of time, or recordings, to hold some of them out."""


@dataclass(frozen=True)
class HeldOutBlocks:
    """Innovations of signals, all equally loud, cut in blocks of consecutive samples.

    Attributes
    ----------
    pieces : list of arrays (length, N)
        Whole windows each.
    length : int
        Samples in a block.
    autoregression : array (q,)
        Coefficients of the one that was taken out.
    series : array (B,)
        Number of the series without a break, mostly a recording, that each block is of.
    groups : array (B,), optional
        Blocks of one group are held out together; by default each is a group.
    """

    pieces: list[Floats]
    length: int
    autoregression: Floats
    series: Integers
    groups: Integers | None = None

    @property
    def signals(self) -> Any:
        """All samples of all blocks, to learn from."""
        return self.joined(self.pieces)

    def joined(self, pieces: list[Floats]) -> Any:
        """Return some blocks to learn from: one array, or recordings that stay apart."""
        return np.concatenate(pieces) if self.groups is None else pieces

    def folds(self, count: int) -> Integers:
        """Return the fold (B,) in which each block is held out; blocks are dealt out in turn.

        There are ``count`` folds, and blocks of one group are in the same.
        """
        groups = np.arange(len(self.pieces)) if self.groups is None else self.groups
        folds: Integers = groups % count
        return folds

    def means(self, values: Floats) -> Floats:
        """Return the mean of values (B,) of the blocks of each group (G,)."""
        if self.groups is None:
            return values
        sums: Floats = np.bincount(self.groups, values) / np.bincount(self.groups)
        return sums


@dataclass(frozen=True)
class Scores:
    """What a model makes of blocks that it has not seen.

    Attributes
    ----------
    blocks : array (B,)
        Log-likelihood of a sample of each block, a mean; of each group, where there are groups.
    model : GraphDictMarginal
        The model fitted to all blocks.
    """

    blocks: Floats
    model: Any


def complete(signals: Floats) -> Floats:
    """Return signals (T, N) with missing values interpolated in time; empty columns become 0."""
    if not has_gaps(signals):
        return signals
    filled = np.array(signals, dtype=np.float64)
    rows = np.arange(len(filled))
    for column in filled.T:
        there = ~np.isnan(column)
        column[~there] = np.interp(rows[~there], rows[there], column[there]) if there.any() else 0
    return filled


def cut_blocks(signals: Floats, window: int = 1, length: int | None = None) -> HeldOutBlocks:
    """Return the innovations of complete signals (T, N) in blocks of time.

    ``length`` samples each, or by default a twentieth of all, though ten times the order of the
    autoregression that is taken out, and whole windows. Of more than 5,000 samples, the beginning
    of each block is used, half of all or 20,000. Raises TooFewBlocksError where that leaves fewer
    than five.
    """
    coefficients = autoregression(signals)
    left = with_equal_loudness(innovations(signals, coefficients))
    pieces, length, series = _pieces([left], len(coefficients), window, length)
    return HeldOutBlocks(pieces, length, coefficients, series)


def _rows(total: int) -> int:
    """Return how many of all samples are used: with half of many, errors are hardly larger."""
    return min(MOST_ROWS, max(ENOUGH_ROWS, total // 2))


def _pieces(
    series: Sequence[Floats], order: int, window: int, length: int | None
) -> tuple[list[Floats], int, Integers]:
    """Return blocks of time of each series, of whole windows, their length, and whose each is."""
    total, least = sum(map(len, series)), ORDERS * max(1, order)
    if length is None:
        length = max(total // MOST_BLOCKS, least if total >= LEAST_BLOCKS * least else 1)
    length = max(1, length // window) * window
    counts = [len(one) // length for one in series]
    if len(series) > 1:  # of a short recording, what there is
        counts = [max(count, len(one) >= window) for count, one in zip(counts, series)]
    found = sum(counts)
    if found < LEAST_BLOCKS:
        samples = total + order * len(series)
        raise TooFewBlocksError(
            f"held-out blocks need at least {LEAST_BLOCKS} windows or blocks, and {samples} "
            f"samples in blocks of {length} are {found}: use shorter ones, or give the number of "
            "atoms"
        )
    longest = max(window, _rows(total) // found // window * window)
    pieces = []
    for one, count in zip(series, counts):
        edges = np.linspace(0, len(one) // window, count + 1).astype(int) * window
        pieces += [one[a : min(b, a + longest)] for a, b in pairwise(edges)]
    return pieces, length, np.repeat(np.arange(len(series)), counts)


def group_labels(groups: Sequence[Any] | None, recordings: int) -> NDArray[Any]:
    """Return the label of each of so many recordings (R,), one of its own where none are given."""
    if groups is not None and len(groups) != recordings:
        raise ValueError(
            f"groups must have a label for each of the {recordings} recordings, got {len(groups)}"
        )
    return np.arange(recordings) if groups is None else np.asarray(groups)


def cut_recordings(
    recordings: Sequence[Floats], groups: Sequence[Any] | None = None, window: int = 1
) -> HeldOutBlocks:
    """Return the innovations of whole recordings (T_r, N), as blocks to hold out.

    The autoregression that is taken out is the same in all, and is taken out of each by itself.
    Recordings with the same label of ``groups`` are held out together. Of more than 5,000 samples
    in all, the beginning of each recording is used, half of all or 20,000. Raises
    TooFewBlocksError for fewer than two groups.
    """
    codes = np.unique(group_labels(groups, len(recordings)), return_inverse=True)[1]
    if codes.max(initial=0) < 1:
        raise TooFewBlocksError(
            "to leave recordings out, at least two of different groups are needed: give more "
            "recordings, or one array, of which blocks of time are held out"
        )
    coefficients, remaining = _innovations(recordings)
    total = sum(map(len, remaining))
    longest = max(window, _rows(total) // len(recordings) // window * window)
    pieces, kept = [], []
    for number, (left, recording) in enumerate(zip(remaining, recordings)):
        if len(left) < window:
            if any(len(remaining[k]) >= window for k in np.flatnonzero(codes == codes[number])):
                continue  # others of its group are longer
            raise ValueError(
                f"recording {number + 1} has {len(recording)} samples, of which the autoregression "
                f"leaves fewer than a window of {window}: leave it out"
            )
        pieces.append(left[: min(longest, len(left) // window * window)])
        kept.append(codes[number])
    length = int(np.mean([len(piece) for piece in pieces]))
    series = np.arange(len(pieces))
    return HeldOutBlocks(pieces, length, coefficients, series, np.array(kept, dtype=np.intp))


def cut_study(
    pieces: Sequence[Floats],
    window: int = 1,
    length: int | None = None,
    owners: Integers | None = None,
) -> HeldOutBlocks:
    """Return the innovations of complete recordings (T_r, N), as blocks to hold out.

    Five recordings or more are held out whole. Of fewer, whose number would say little about the
    error, or with a ``length``, blocks of time are, as of one array; none has samples of two
    recordings, those to learn from stay apart, and what is shorter than a window is not used.
    A recording may come in several pieces, which have the same number in ``owners``.
    """
    if len(pieces) == 1:
        return cut_blocks(pieces[0], window, length)
    owners = np.arange(len(pieces)) if owners is None else owners
    if length is None and len(np.unique(owners)) >= LEAST_BLOCKS:
        return cut_recordings(pieces, owners.tolist(), window)
    coefficients, left = _innovations(pieces)
    cut, length, series = _pieces(left, len(coefficients), window, length)
    return HeldOutBlocks(cut, length, coefficients, series, np.arange(len(cut)))


def _innovations(
    recordings: Sequence[Floats],
) -> tuple[Floats, list[Floats]]:
    """Return the autoregression (q,) that recordings share, and their innovations, equally loud."""
    coefficients = autoregression(*recordings)
    left = [innovations(recording, coefficients) for recording in recordings]
    ends = np.cumsum([len(one) for one in left])[:-1]
    return coefficients, np.split(with_equal_loudness(np.concatenate(left)), ends)


def block_scores(
    model: Any,
    blocks: HeldOutBlocks,
    folds: int = FOLDS,
    fitted: Any = None,
    cost: float = 1.0,
    sparse: bool = False,
) -> Scores:
    """Return the score of every block under a clone of ``model`` fitted to other blocks.

    Every so many blocks are held out together: with two ``folds``, half of them. Where the same
    model has been ``fitted`` to the signals, that is where the fit to all blocks begins.
    ``cost`` is what this counts in the progress of what it is part of.

    Filter and how many atoms may be active are those of a fit to all blocks: numbers, which need
    not be learned anew with every block held out. The search among starts is not made again either:
    atoms of that fit, warmed up, are where the others begin.

    All pairs may be joined unless ``sparse``: without weak edges, which few samples do not show,
    several graphs predict far worse than they could, and one a little worse.

    One graph stands for one covariance of any kind, and has the score of that where it is better:
    what no graph of nonnegative weights shows is no sign of several.
    """
    starts = min(model.n_init, TRIAL_STARTS) if model.n_atoms > 1 else 1  # one graph has one start
    trial = clone(model).set_params(n_init=starts, tails="gaussian")  # all are equally loud
    if not sparse:
        trial.set_params(sparsity=0)
    if not isinstance(model.alpha_w, str):
        trial.set_params(alpha_w=min(model.alpha_w, TRIAL_PENALTY))
    if model.rescale:
        trial.set_params(rescale=True)
    values = np.empty((2 if model.n_atoms == 1 else 1, len(blocks.pieces)))
    held_out = blocks.folds(folds)
    with subtask("held-out blocks", total=1 + folds, cost=cost):
        whole = clone(trial)
        fit_quietly(whole, blocks.signals, fitted)
        for fold in np.unique(held_out):
            others = [piece for piece, own in zip(blocks.pieces, held_out) if own != fold]
            learned = clone(trial)
            fit_quietly(learned, blocks.joined(others), whole)
            places = np.flatnonzero(held_out == fold)
            held = [blocks.pieces[place] for place in places]
            values[0, places] = [_score(learned, piece) for piece in held]
            if model.n_atoms == 1:
                values[1, places] = _covariance_scores(learned, others, held)
    best = int(values.mean(axis=1).argmax())
    return Scores(blocks.means(values[best]), whole)


def _covariance_scores(model: Any, learned: list[Floats], held: list[Floats]) -> list[float]:
    """Return the score of held-out pieces under the covariance of others, in the model's units.

    As many white samples as dimensions are added to them.
    """
    active = model.active_nodes_
    basis = zero_sum_basis(int(active.sum())) / model.scale_
    samples = np.concatenate(learned)[:, active] @ basis
    total, dimension = samples.shape
    moments = samples.T @ samples
    white = max(float(np.trace(moments)) / (total * dimension), np.finfo(float).tiny)
    moments += dimension * white * np.eye(dimension)
    root = np.linalg.cholesky(moments / (total + dimension))
    constant = dimension / 2 * np.log(2 * np.pi) + np.log(np.diagonal(root)).sum()
    inverse = np.linalg.inv(root).T
    return [
        -0.5 * float(np.square(piece[:, active] @ basis @ inverse).sum()) / len(piece) - constant
        for piece in held
    ]


def _score(model: Any, signals: Any) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(model.score(signals))


def error_of_mean(values: Floats) -> float:
    """Return the standard error of the mean of independent values; 0 for a single one."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
