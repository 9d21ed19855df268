"""Types that many functions share: arrays, and arguments of public functions."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol, SupportsIndex, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.intp]
Booleans: TypeAlias = NDArray[np.bool_]
SolverName: TypeAlias = Literal["auto", "bipds", "alternating", "mm"]
InitName: TypeAlias = Literal["k-means++", "uniform", "discrete"]
ModesName: TypeAlias = Literal["covariance", "graph"]
HeldVariable: TypeAlias = Literal["atoms", "coefficients"]
PriorName: TypeAlias = Literal["independent", "free", "markov", "hierarchy"]
RandomState: TypeAlias = int | np.random.RandomState | None
RowIndex: TypeAlias = (
    SupportsIndex | slice | Sequence[int] | NDArray[np.integer[Any]] | NDArray[np.bool_]
)
StrPath: TypeAlias = str | os.PathLike[str]
RescaleName: TypeAlias = Literal["recording"]


class HasData(Protocol):
    """MNE's Raw or Epochs."""

    def get_data(self, *args: Any, **kwargs: Any) -> Any:
        """Return the signals."""


SeveralSignals: TypeAlias = (
    "list[NDArray[Any]] | tuple[NDArray[Any], ...] | list[HasData] | Mapping[str, Any]"
)
"""Several recordings (T, N); what is a data frame may be in a dictionary."""

Signals: TypeAlias = "ArrayLike | HasData | Sequence[Any] | Mapping[str, Any]"
"""Signals (T, N), or several recordings of them."""


class Term(Protocol):
    """A term of the objective; the page "Add your own prior" says what else it has.

    Its value may depend on the rows it is shown, so that no more is said of its arguments.
    """

    @property
    def value(self) -> Callable[..., float]:
        """The function itself."""


class HasWeights(Protocol):
    """What has the edge weights (T, E) of graphs, such as ``InstantaneousGraphs``."""

    @property
    def weights(self) -> NDArray[np.float64]:
        """Edge weights (T, E)."""
