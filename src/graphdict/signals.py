"""From the signals a user has to the signals a model sees.

Three things happen, none of which changes what a graph can explain: nodes that never vary are set
aside, the mean over nodes is taken from each sample (a Laplacian is blind to it, arithmetic is
not), and all signals are divided by one number, so that volts and microvolts give the same graphs.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict import graphs
from graphdict.exceptions import LevelWarning, SilentNodeWarning

__all__ = ["OnAllNodes", "Preparation", "check_finite"]

BLOCK_BYTES = 1 << 24
LEVELS = 5  # how many times levels must exceed variation to be worth a warning


@dataclass(frozen=True)
class Preparation:
    """How signals are prepared: which nodes are active, and the common scale."""

    active: NDArray[np.bool_]
    scale: float

    @classmethod
    def learn(cls, signals: NDArray, names: NDArray, rescale: bool) -> Preparation:
        """From training signals (T, N); warns about silent nodes."""
        active = signals.max(axis=0) > signals.min(axis=0)
        if active.sum() < 2:
            raise ValueError(
                f"X has {int(active.sum())} node(s) that vary over its {len(signals)} samples; "
                "learning a graph needs at least 2"
            )
        if not active.all():
            silent = ", ".join(map(str, names[~active][:5]))
            more = "" if (~active).sum() <= 5 else f" and {int((~active).sum()) - 5} more"
            warnings.warn(
                f"{int((~active).sum())} node(s) never vary and get no edges: {silent}{more}",
                SilentNodeWarning,
                stacklevel=4,
            )
        _check_levels(signals, active)
        # Where all nodes agree, what centring leaves is rounding: nothing to blow up.
        if not rescale or _all_nodes_agree(signals, active):
            return cls(active, 1.0)
        return cls(active, _root_mean_square(signals, active))

    def apply(self, signals: NDArray) -> NDArray:
        """Prepared signals (T, active nodes), in the precision of the input."""
        prepared = np.empty((len(signals), int(self.active.sum())), dtype=signals.dtype)
        # In two steps: the scale may be too small or too large for one division.
        root = float(np.sqrt(self.scale))
        for rows in _blocks(signals):
            prepared[rows] = _centred(signals[rows, self.active] / root) / root
        return prepared

    def embed(self, weights: NDArray) -> NDArray:
        """Weights on the active nodes (..., E') as weights on all nodes (..., E)."""
        if self.active.all():
            return weights
        matrix = np.zeros((*weights.shape[:-1], len(self.active), len(self.active)), weights.dtype)
        index = np.flatnonzero(self.active)
        matrix[..., index[:, None], index[None, :]] = graphs.adjacency(weights)
        return graphs.adjacency_to_weights(matrix)

    def restrict(self, weights: NDArray) -> NDArray:
        """Weights on all nodes (..., E) as weights on the active nodes (..., E')."""
        if self.active.all():
            return weights
        index = np.flatnonzero(self.active)
        return graphs.adjacency_to_weights(
            graphs.adjacency(weights)[..., index[:, None], index[None, :]]
        )


class OnAllNodes:
    """A prior on atoms over all nodes, for atoms over the active nodes."""

    def __init__(self, term: Any, preparation: Preparation):
        self.term = term
        self.preparation = preparation
        self.__name__ = type(term).__name__
        # A solver looks at what a term can do: only what the wrapped one can is offered.
        for marker in ("interval", "elementwise", "precedes_elementwise"):
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
        return lambda atoms, *step: restrict(function(embed(atoms), *step))

    def _read(self, function: Any) -> Any:
        return lambda atoms: function(self.preparation.embed(atoms))


def check_finite(signals: NDArray, names: Sequence[Any]) -> None:
    """Refuse missing and infinite values, saying where the first one is."""
    for rows in _blocks(signals):
        wrong = ~np.isfinite(signals[rows])
        if wrong.any():
            row, column = np.argwhere(wrong)[0]
            value = signals[rows][row, column]
            kind = "a missing value (NaN)" if np.isnan(value) else "infinity"
            raise ValueError(
                f"X holds {kind} in row {rows.start + row}, column {names[column]!r}; fill in or "
                "leave out such rows: all values must be finite"
            )


def _centred(signals: NDArray) -> NDArray:
    """Signals minus their mean over nodes."""
    return signals - signals.mean(axis=1, keepdims=True)


def _all_nodes_agree(signals: NDArray, active: NDArray) -> bool:
    """Whether no sample differs from node to node."""
    blocks = (signals[rows, active] for rows in _blocks(signals))
    return all(bool((block == block[:, :1]).all()) for block in blocks)


def _check_levels(signals: NDArray, active: NDArray) -> None:
    """Warn where columns stand at different levels, as sensors of several units do."""
    largest = _largest(signals, active)
    first, second = np.zeros(int(active.sum())), np.zeros(int(active.sum()))
    origin = signals[0, active] / largest
    for rows in _blocks(signals):
        centred = signals[rows, active] / largest - origin
        first += centred.sum(axis=0, dtype=np.float64)
        second += np.square(centred).sum(axis=0, dtype=np.float64)
    means = first / len(signals)
    within = np.sqrt(max(float(np.mean(second / len(signals) - np.square(means))), 0.0))
    between = float(np.std(means + origin))
    if between > LEVELS * within:
        warnings.warn(
            f"nodes differ {between / max(within, 1e-300):.0f} times more in their mean levels "
            "than they vary around them, so graphs will join nodes of like level; subtract the "
            "mean of each column first, and standardise columns of different units "
            "(sklearn.preprocessing.StandardScaler)",
            LevelWarning,
            stacklevel=5,
        )


def _largest(signals: NDArray, active: NDArray) -> float:
    """The largest absolute value of the active nodes."""
    highs, lows = signals.max(axis=0)[active], signals.min(axis=0)[active]
    return float(max(np.abs(highs).max(), np.abs(lows).max()))


def _root_mean_square(signals: NDArray, active: NDArray) -> float:
    """Of the centred signals, without overflow or underflow, whatever the unit."""
    largest = _largest(signals, active)
    total = 0.0
    for rows in _blocks(signals):
        centred = _centred(signals[rows, active] / largest)
        total += float(np.square(centred).sum(dtype=np.float64))
    return largest * float(np.sqrt(total / (len(signals) * int(active.sum()))))


def _blocks(signals: NDArray) -> list[slice]:
    """Rows to handle at a time, so that a memory map is never copied as a whole."""
    size = max(1, BLOCK_BYTES // (signals.shape[1] * signals.itemsize))
    return [slice(start, start + size) for start in range(0, len(signals), size)]
