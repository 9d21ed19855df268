"""The settings of the soft dictionaries, and what each may be."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval, Options, StrOptions

from graphdict.core.annotations import (
    HeldVariable,
    InitName,
    RandomState,
    RescaleName,
    SolverName,
    StrPath,
    Term,
)
from graphdict.core.solvers.base import Callback
from graphdict.models.base import GraphDictionary
from graphdict.models.starts import STARTS

# What single precision can multiply and divide by.
STEP_SIZES = [Interval(Real, 1e-30, 1e30, closed="both"), Options(Real, {0.0}), None]


@dataclass(repr=False, eq=False)
class SoftSettings(GraphDictionary):
    """Base of the soft dictionaries: their constructor, which only stores."""

    n_atoms: int = 5
    _: KW_ONLY
    alpha_w: float = 0.1
    alpha_c: float = 0.0
    alpha_orth: float = 0.0
    alpha_diff: float = 0.0
    window_size: int = 1
    solver: SolverName = "auto"
    max_iter: int = 1000
    tol: float = 1e-4
    tau_atoms: float | None = None
    tau_coefficients: float | None = None
    sigma: float | None = None
    last_iterate: bool = False
    n_init: int = 1
    init: InitName = "k-means++"
    atoms: ArrayLike | None = None
    coefficients: ArrayLike | None = None
    fix: HeldVariable | None = None
    atom_priors: Sequence[Term] | None = None
    coefficient_priors: Sequence[Term] | None = None
    rescale: bool | RescaleName = True
    random_state: RandomState = None
    callback: Callback | None = None
    checkpoint: StrPath | None = None
    verbose: int = 0

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_atoms": [Interval(Integral, 1, None, closed="left")],
        "alpha_w": [Interval(Real, 0, None, closed="left")],
        "alpha_c": [Interval(Real, 0, None, closed="left")],
        "alpha_orth": [Interval(Real, 0, None, closed="left")],
        "alpha_diff": [Interval(Real, 0, None, closed="left")],
        "window_size": [Interval(Integral, 1, None, closed="left")],
        "solver": [StrOptions({"auto", "bipds", "alternating", "mm"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "tau_atoms": STEP_SIZES,
        "tau_coefficients": STEP_SIZES,
        "sigma": STEP_SIZES,
        "last_iterate": ["boolean"],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "init": [StrOptions(set(STARTS))],
        "atoms": ["array-like", None],
        "coefficients": ["array-like", None],
        "fix": [StrOptions({"atoms", "coefficients"}), None],
        "atom_priors": [list, tuple, None],
        "coefficient_priors": [list, tuple, None],
        "rescale": ["boolean", StrOptions({"recording"})],
        "random_state": ["random_state"],
        "callback": [callable, None],
        "checkpoint": [str, os.PathLike, None],
        "verbose": ["verbose"],
    }

    @property
    def _penalty_units(self) -> dict[str, int]:
        return {"alpha_w": 1, "alpha_c": 0, "alpha_orth": 2, "alpha_diff": 0}
