"""The settings of GraphDictMarginal, and what each may be."""

from __future__ import annotations

import os
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval, StrOptions

from graphdict.core.annotations import PriorName, RandomState, RescaleName, StrPath
from graphdict.core.marginal.filters import FILTERS
from graphdict.core.solvers.base import Callback
from graphdict.models.base import GraphDictionary

MOST_POWER = 16  # that can be asked for: 1 to 4 suit most signals


@dataclass(repr=False, eq=False)
class MarginalSettings(GraphDictionary):
    """Base of :class:`GraphDictMarginal`: its constructor, which only stores."""

    n_atoms: int = 5
    _: KW_ONLY
    max_active: int | None = None
    levels: int = 1
    filter_power: float | str = "auto"
    tails: float | str = "auto"
    signed: bool = False
    alpha_w: float | str = "auto"
    sparsity: float = 1.0
    prior: PriorName = "independent"
    average: int = 0
    window_size: int = 1
    forgetting: float = 1.0
    n_init: int = 8
    max_iter: int = 200
    tol: float = 1e-5
    rescale: bool | RescaleName = True
    random_state: RandomState = None
    callback: Callback | None = None
    checkpoint: StrPath | None = None
    verbose: int = 0

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_atoms": [Interval(Integral, 1, None, closed="left")],
        "max_active": [Interval(Integral, 1, None, closed="left"), None],
        "levels": [Interval(Integral, 1, None, closed="left")],
        "filter_power": [
            Interval(Real, 1, MOST_POWER, closed="both"),
            StrOptions({"auto", *(kind.name for kind in FILTERS.values() if kind.by_name)}),
        ],
        "tails": [Interval(Real, 2, None, closed="neither"), StrOptions({"auto", "gaussian"})],
        "signed": ["boolean"],
        "alpha_w": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "sparsity": [Interval(Real, 0, None, closed="left")],
        "prior": [StrOptions({"independent", "free", "markov", "hierarchy"})],
        "average": [Interval(Integral, 0, None, closed="left")],
        "window_size": [Interval(Integral, 1, None, closed="left")],
        "forgetting": [Interval(Real, 0, 1, closed="right")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "rescale": ["boolean", StrOptions({"recording"})],
        "random_state": ["random_state"],
        "callback": [callable, None],
        "checkpoint": [str, os.PathLike, None],
        "verbose": ["verbose"],
    }
