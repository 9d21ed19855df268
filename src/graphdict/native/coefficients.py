"""Compiled work on coefficients, the same for both barriers: coding, and what updates take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphdict import native

if TYPE_CHECKING:
    from graphdict.core.solvers.interior_point import InteriorPointRules

LARGEST_RATIO = 1e6  # of slope and cost: where the slope is larger by far, it could overflow


class UpdateRule(NamedTuple):
    """Multiplicative updates ``c <- min(1, c (slope / cost)^q)`` with ``cost = e + alpha``.

    Compiled loops unpack the fields in this order: ``UpdateRule`` in multiplicative_update.hpp.
    """

    coefficient_alpha: float  # that of the L1 prior on coefficients
    rounds: int  # how many, one after the other
    over_relaxed: bool  # whether q is 1.5, not 1
    largest_ratio: float = LARGEST_RATIO


class UpdateResult(NamedTuple):
    """Arrays for what multiplicative updates of the coefficients find.

    Compiled loops unpack them in this order: ``UpdateResult`` in multiplicative_update.hpp.
    """

    coefficients: NDArray[Any]
    distances: NDArray[Any]  # (p C)' Z (K, E); of powers (p C)' Z in their modes (K, N)
    numbers: NDArray[Any]  # value; squares of the projected gradient at the start, and of its scale


def solve_coefficients(
    costs: NDArray[Any],
    atom_images: NDArray[Any],
    max_iter: int,
    tol: float,
    warm_up: int,
    rules: InteriorPointRules,
) -> tuple[native.Job, NDArray[Any]]:
    """Return a job for coefficients (T, K) in [0, 1] of least ``<c, costs> + h(c atom_images)``.

    ``h`` is minus the sum of logarithms of degrees or spectra (K, N), or minus the log-determinant
    of Laplacians (K, N, N). All is in double precision.
    """
    found = np.empty_like(costs, order="C")
    costs, atom_images = native.doubles(costs), native.doubles(atom_images)
    limits = max_iter, tol, warm_up
    return native.solve_coefficients(costs, atom_images, limits, rules, found), found
