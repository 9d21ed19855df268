"""From the signals a user has to the signals a model sees.

Three things happen, none of which changes what a graph can explain: nodes that never vary are set
aside, the mean over nodes is taken from each sample (a Laplacian is blind to it, arithmetic is
not), and all signals are divided by one number, so that volts and microvolts give the same graphs.
Missing values (NaN) stay missing, and the mean is that of the observed nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphdict.core import graphs
from graphdict.core.annotations import Booleans, Floats, Integers
from graphdict.core.prior_checks import check_term
from graphdict.core.terms import base
from graphdict.engine.logs import printable
from graphdict.exceptions import LevelWarning, SilentNodeWarning, warn

BLOCK_BYTES = 1 << 24  # of samples that are read or prepared at a time
LARGEST, SMALLEST = 1e15, 1e-15  # root mean square of signals that are not rescaled
LEVELS = 5  # how many times levels must exceed variation to be worth a warning


@dataclass(frozen=True)
class Preparation:
    """How signals are prepared: which nodes are active, and the common scale."""

    active: Booleans
    scale: float

    @classmethod
    def learn(
        cls, signals: Floats, names: NDArray[Any], rescale: bool
    ) -> tuple[Preparation, float]:
        """Return the preparation of training signals (T, N), and their mean square once prepared.

        Warns about silent nodes, and about nodes of different levels.
        """
        lows, highs = (np.array(ends) for ends in zip(*each_block(signals, _extent)))
        lows, highs = lows.min(axis=0), highs.max(axis=0)
        active = highs > lows
        if active.sum() < 2:
            raise ValueError(
                f"X has {int(active.sum())} node(s) that vary over its {len(signals)} samples; "
                "learning a graph needs at least 2"
            )
        _warn_silent(names[~active])
        largest = float(max(np.abs(highs[active]).max(), np.abs(lows[active]).max()))
        origin = (lows / 2 + highs / 2)[active] / largest
        moments = each_block(signals, partial(_moments, active, largest, origin))
        _check_levels(
            sum(block.observed for block in moments), origin,
            sum(block.sums for block in moments), sum(block.squares for block in moments),
        )  # fmt: skip
        spread = max(block.spread for block in moments) or 1.0
        freedom = sum(block.freedom for block in moments)
        limit = largest_value(signals.dtype)
        if not rescale and largest > limit:
            raise ValueError(
                f"X holds values up to {largest:.3g}, whose squares are too large for "
                f"{signals.dtype}; divide X by a constant, or leave that to rescale=True"
            )
        # Where all nodes agree, centring leaves rounding errors, which are not to be scaled up.
        agree = all(block.agree for block in moments) or not any(block.spread for block in moments)
        if agree and (rescale or largest < LARGEST):
            return cls(active, 1.0 if largest <= limit else largest), 1.0
        if not freedom:
            raise ValueError(
                f"X has no sample in which two nodes are observed, and values up to {largest:.3g}; "
                "divide X by a constant, or leave that to rescale=True"
            )
        # Without overflow or underflow, whatever the unit; for all nodes, observed or not.
        nodes = int(active.sum())
        total = sum(block.centred_squares * (block.spread / spread) ** 2 for block in moments)
        mean_square = total / freedom * ((nodes - 1) / nodes)
        size = spread * (2 * float(np.sqrt(mean_square)))
        if rescale:
            found = cls(active, size)
            if largest > found.farthest(signals.dtype):
                raise ValueError(
                    f"X holds values up to {largest:.3g}, too large for its root mean square of "
                    f"{size:.3g} (without the mean over nodes): are they of another unit?"
                )
            return found, 1.0
        if not SMALLEST < size < LARGEST:
            raise ValueError(
                f"X has a root mean square of {size:.3g} (without the mean over nodes), and "
                f"rescale=False needs one between {SMALLEST:g} and {LARGEST:g}; divide X by a "
                "constant, or leave that to rescale=True"
            )
        return cls(active, 1.0), size**2

    def apply(self, signals: Floats) -> Floats:
        """Return prepared signals (T, active nodes), in the precision of the input."""
        prepared = np.empty((len(signals), int(self.active.sum())), dtype=signals.dtype)
        # In two steps: the scale may be too small or too large for one division.
        root = float(np.sqrt(self.scale))
        for rows in row_slices(signals):
            prepared[rows] = _centred(signals[rows][:, self.active] / root) / root
        return prepared

    def out_of_range(self, signals: Floats) -> Booleans:
        """Return which values (T, N) of active nodes would be too large to be squared."""
        found = np.zeros(signals.shape, dtype=bool)
        widest, farthest = largest_value(signals.dtype) * self.scale, self.farthest(signals.dtype)
        ends = np.fmin.reduce(signals, axis=None), np.fmax.reduce(signals, axis=None)
        if 2 * max(-float(ends[0]), float(ends[1])) <= min(widest, farthest):
            return found  # two passes instead of many, for signals as they usually are
        some = signals[:, self.active]
        # Halves, since a sum of the two ends may be too large.
        middle = np.fmin.reduce(some, axis=1) / 2 + np.fmax.reduce(some, axis=1) / 2
        with np.errstate(over="ignore", invalid="ignore"):
            apart = np.abs(some - middle[:, None]) > widest
            far = np.abs(some) > farthest
        found[:, self.active] = apart | far
        return found

    def farthest(self, dtype: Any) -> float:
        """Return the largest value whose mean with others can be taken off in a precision."""
        return float(np.finfo(dtype).max) / (4 * int(self.active.sum())) * self.scale**0.5

    def embed(self, weights: Floats) -> Floats:
        """Return weights on the active nodes (..., E') as weights on all nodes (..., E)."""
        if self.active.all():
            return weights
        matrix = np.zeros((*weights.shape[:-1], len(self.active), len(self.active)), weights.dtype)
        index = np.flatnonzero(self.active)
        matrix[..., index[:, None], index[None, :]] = graphs.adjacency(weights)
        return graphs.adjacency_to_weights(matrix)

    def restrict(self, weights: Floats) -> Floats:
        """Return weights on all nodes (..., E) as weights on the active nodes (..., E')."""
        if self.active.all():
            return weights
        index = np.flatnonzero(self.active)
        return graphs.adjacency_to_weights(
            graphs.adjacency(weights)[..., index[:, None], index[None, :]]
        )


class PriorOnAllNodes:
    """Adapter: a prior of a user, which is written for all N nodes, for atoms of the active nodes.

    It embeds atoms (K, E') as atoms (K, E), asks the prior, and restricts what that returns.
    """

    def __init__(self, term: Any, preparation: Preparation):
        check_term(term)
        self.term = term
        self.preparation = preparation
        self.__name__ = type(term).__name__
        self._node_numbers = np.flatnonzero(preparation.active)
        # Solvers ask a term which methods it has, so only those of the prior are offered.
        for marker in ("interval", *base.MARKERS):
            if hasattr(term, marker):
                setattr(self, marker, getattr(term, marker))
        for method in ("prox", "prox_conjugate", "gradient"):
            if hasattr(term, method):
                setattr(self, method, self._lift(getattr(term, method)))
        for method in ("value", "lipschitz"):
            if hasattr(term, method):
                setattr(self, method, self._read(getattr(term, method)))

    def _lift(self, function: Any) -> Any:
        embed, restrict = self.preparation.embed, self.preparation.restrict
        return lambda atoms, *others: restrict(function(embed(atoms), *others))

    def _read(self, function: Any) -> Any:
        return lambda atoms, *others: function(self.preparation.embed(atoms), *others)


def largest_value(dtype: Any) -> float:
    """Return the largest number whose square, and sums of such squares, are finite."""
    return 1e-3 * float(np.sqrt(np.finfo(dtype).max))


def each_block(signals: Any, function: Callable[..., Any], *, numbered: bool = False) -> list[Any]:
    """Return ``function(block)`` of every block of rows, in order, wherever the signals are.

    Where blocks are ``numbered``, it is ``function(first row, block)``.
    """
    if hasattr(signals, "each_block"):
        return signals.each_block(function, numbered=numbered)
    slices = row_slices(signals)
    if numbered:
        return [function(rows.start, signals[rows]) for rows in slices]
    return [function(signals[rows]) for rows in slices]


def row_slices(signals: Any) -> list[slice]:
    """Return the rows to handle at a time, so that a memory map is never copied as a whole."""
    size = max(1, BLOCK_BYTES // (signals.shape[1] * signals.dtype.itemsize))
    count = len(signals)
    return [slice(start, min(start + size, count)) for start in range(0, count, size)]


def has_gaps(signals: Any) -> bool:
    """Return whether any value is missing."""
    return any(each_block(signals, _any_missing))


def _any_missing(block: Floats) -> bool:
    return bool(np.isnan(block).any())


def _centred(signals: Floats) -> Floats:
    """Return signals minus their mean over the nodes that were observed."""
    means = signals.mean(axis=1, keepdims=True)
    gaps = np.isnan(means)
    if gaps.any():
        number = np.maximum(np.isfinite(signals).sum(axis=1, keepdims=True), 1)
        means = np.where(gaps, np.nansum(signals, axis=1, keepdims=True) / number, means)
    centred = signals - means.astype(signals.dtype)
    # Where nodes agree the result is exactly 0: rounding of a mean of 1e200 would be large.
    some = np.flatnonzero((centred[:, 0] == centred[:, -1]) | gaps[:, 0])
    found = centred[some]
    agree = np.fmin.reduce(found, axis=1) == np.fmax.reduce(found, axis=1)
    centred[some[agree]] = np.where(np.isnan(found[agree]), np.nan, 0)
    return centred


def _extent(block: Floats) -> tuple[Floats, Floats]:
    return np.fmin.reduce(block, axis=0), np.fmax.reduce(block, axis=0)


class _BlockMoments(NamedTuple):
    """Moments of a block of rows, from which those of all blocks follow."""

    observed: Integers  # (N',) number of observed values of each active column
    sums: Floats  # (N',) their sum, in units of ``largest`` and from ``origin``
    squares: Floats  # (N',) and their sum of squares
    spread: float  # of all values once centred over nodes: half the largest
    centred_squares: float  # of these, in units of ``spread``: sum of squares
    freedom: int  # and degrees of freedom
    agree: bool  # whether all nodes have the same value in every row


def _moments(active: Booleans, largest: float, origin: Floats, block: Floats) -> _BlockMoments:
    block = block[:, active]
    seen = np.isfinite(block)
    scaled = block / largest
    shifted = np.where(seen, scaled - origin, 0)
    lowest, highest = np.fmin.reduce(block, axis=1), np.fmax.reduce(block, axis=1)
    # Each row in a unit of its own, since one may be as much larger than others as numbers go.
    units = np.fmax(np.abs(lowest), np.abs(highest))[:, None]
    units = np.where(units > 0, units, 1)
    centred = np.where(seen, _centred(block / units) / 2, 0) * units
    spread = float(np.abs(centred).max())
    return _BlockMoments(
        seen.sum(axis=0),
        shifted.sum(axis=0, dtype=np.float64),
        np.square(shifted).sum(axis=0, dtype=np.float64),
        spread,
        float(np.square(centred / (spread or 1)).sum(dtype=np.float64)),
        int(np.maximum(seen.sum(axis=1) - 1, 0).sum()),
        not bool((lowest < highest).any()),
    )


def _warn_silent(names: NDArray[Any]) -> None:
    """Warn of nodes that never vary, if any."""
    if len(names):
        some = ", ".join(map(printable, names[:5]))
        more = "" if len(names) <= 5 else f" and {len(names) - 5} more"
        warn(f"{len(names)} node(s) never vary and get no edges: {some}{more}", SilentNodeWarning)


def _check_levels(count: Any, origin: Floats, first: Any, second: Any) -> None:
    """Warn where columns stand at different levels, as sensors of several units do."""
    means = first / count
    within = np.sqrt(max(float(np.mean(second / count - np.square(means))), 0.0))
    between = float(np.std(means + origin))
    if between > LEVELS * within:
        warn(
            f"nodes differ {between / max(within, 1e-300):.0f} times more in their mean levels "
            "than they vary around them, so graphs will join nodes of like level; subtract the "
            "mean of each column first, and standardise columns of different units "
            "(sklearn.preprocessing.StandardScaler)",
            LevelWarning,
        )
