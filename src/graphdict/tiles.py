"""Compiled passes over samples of models with a logarithmic barrier.

:mod:`graphdict.native` goes over tiles of samples that stay in cache, with the samples along the
vector registers. Both big products of an iteration,

    e_tk = <z_t, w_k>   and   [C' Z]_k = sum_t c_tk z_t,

take half the arithmetic there that matrix products of the signals need (:mod:`graphdict.kernels`
holds those, as the plain reference). ``python benchmarks/kernels.py`` compares both ways.

The barrier of a sample sees ``d_t = sum_k c_tk g_k``, where ``g_k`` are the degrees (or the
spectrum) of atom k: its images. The plain formulas are in :mod:`graphdict.operators` and
:class:`graphdict.terms.LogBarrier`; tests compare.

Arrays come as everywhere, samples first: signals (T, N), coefficients (T, K), atoms (K, E), images
(K, N), all in one precision. Whole passes of solvers are jobs: a job is called, or threads share
several; what it finds is in arrays that are there before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy import ascontiguousarray as in_order
from numpy.typing import NDArray

from graphdict import native

__all__ = [
    "Block",
    "Box",
    "CodingRules",
    "Dictionary",
    "Goal",
    "Landing",
    "Lead",
    "Pace",
    "Recoding",
    "Stand",
    "advance",
    "code",
    "degrees",
    "degrees_adjoint",
    "descend",
    "energies",
    "iterate",
    "push_on_atoms",
    "recode",
    "weighted_distances",
]


def energies(signals: NDArray, atoms: NDArray) -> NDArray:
    """``Z W'`` (T, K)."""
    found = np.empty((len(signals), len(atoms)), signals.dtype)
    native.energies(in_order(signals), in_order(atoms.astype(signals.dtype, copy=False)), found)
    return found


def weighted_distances(signals: NDArray, coefficients: NDArray) -> NDArray:
    """``C' Z`` (K, E)."""
    nodes, count = signals.shape[1], coefficients.shape[1]
    found = np.empty((count, nodes * (nodes - 1) // 2), signals.dtype)
    coefficients = coefficients.astype(signals.dtype, copy=False)
    native.weighted_distances(in_order(signals), in_order(coefficients), found)
    return found


def degrees(weights: NDArray, nodes: int) -> NDArray:
    """``D W`` (K, N) of graphs (K, E)."""
    found = np.empty((len(weights), nodes), weights.dtype)
    native.degrees(in_order(weights), found)
    return found


def degrees_adjoint(values: NDArray) -> NDArray:
    """What both ends of each edge have together (K, E), of values at nodes (K, N)."""
    count, nodes = values.shape
    found = np.empty((count, nodes * (nodes - 1) // 2), values.dtype)
    native.degrees_adjoint(in_order(values), found)
    return found


def push_on_atoms(
    coefficients: NDArray, weights: NDArray, images: NDArray
) -> tuple[native.Job, NDArray]:
    """``(p C)' (1 / D)`` (K, N) with ``D = C images`` and the shares ``p`` (T,)."""
    found = np.empty_like(images)
    return native.push(in_order(coefficients), weights, in_order(images), found), found


class Recoding(NamedTuple):
    """What updates of the coefficients find."""

    coefficients: NDArray
    distances: NDArray  # (p C)' Z (K, E); of powers (p C)' Z in their modes (K, N)
    numbers: NDArray  # value; squares of the projected gradient at the start, and of its scale


def recode(
    samples: NDArray,
    weights: NDArray,
    atoms: NDArray,
    images: NDArray,
    coefficients: NDArray,
    shrinkage: float,
    rounds: int,
    stretch: bool,
    powers: bool,
) -> tuple[native.Job, Recoding]:
    """``rounds`` multiplicative updates of the coefficients (T, K).

    ``c <- min(1, c (push / pull)^q)`` with ``pull = e + shrinkage``, ``push = (1 / D) images'``,
    ``q`` = 1, or 1.5 to ``stretch``. ``samples`` (T, N) are signals, or ``powers`` in modes.
    """
    found = Recoding(
        np.empty_like(coefficients, order="C"),
        np.empty_like(images if powers else atoms, order="C"),
        np.empty(3),
    )
    given = in_order(images), in_order(coefficients), shrinkage, rounds, stretch
    edges = in_order(atoms[:, :0] if powers else atoms)
    return native.recode(samples, weights, edges, *given, *found, powers), found


class CodingRules(NamedTuple):
    """The constants of :mod:`graphdict.solvers.coding`."""

    tie_break: float
    centring: float
    reach: float
    at_bound: float
    damping: float


def code(
    costs: NDArray, images: NDArray, max_iter: int, tol: float, warm_up: int, rules: CodingRules
) -> tuple[native.Job, NDArray]:
    """Coefficients (T, K) in [0, 1] of least ``<c, costs> + h(c images)``, all double.

    ``h`` is minus the sum of logarithms of degrees or spectra (K, N), or minus the log-determinant
    of Laplacians (K, N, N).
    """
    found = np.empty_like(costs, order="C")
    given = native.doubles(costs), native.doubles(images)
    return native.code(*given, max_iter, tol, warm_up, rules, found), found


class Box(NamedTuple):
    """What holds single entries of a variable: an interval, and what pulls towards zero."""

    low: float
    high: float
    alpha: float  # by its prox
    slope: float  # by its gradient


def descend(before: NDArray, gradient: NDArray, tau: float, box: Box) -> NDArray:
    """``min(max(before - tau (gradient + alpha), low), high)``."""
    found = np.empty_like(before, order="C")
    native.descend(in_order(before), in_order(gradient), tau, box, found)
    return found


class Lead(NamedTuple):
    """What a pass of BiPDS is told of the atoms."""

    atoms: NDArray
    images: NDArray
    ahead: NDArray  # those of the extrapolated atoms
    sigma: float

    @classmethod
    def of(cls, atoms: NDArray, images: NDArray, before: NDArray, sigma: float) -> Lead:
        """With the images of the atoms ``before``, from which they lead ahead."""
        return cls(in_order(atoms), in_order(images), in_order(2 * images - before), sigma)


class Stand(NamedTuple):
    """Where samples are before a pass."""

    coefficients: NDArray
    gradient: NDArray  # in them
    dual: NDArray


class Goal(NamedTuple):
    """Where their coefficients go, and what is in the gradient there beside the rest.

    If there is a ``box``, they are still to go: they :func:`descend`, and its slope is the extra.
    """

    coefficients: NDArray
    extra: NDArray | float
    tau: float
    box: Box | None


class Landing(NamedTuple):
    """What a pass finds: samples first, then sums over them, then the numbers of a check."""

    coefficients: NDArray
    dual: NDArray
    gradient: NDArray  # in the coefficients
    energies: NDArray  # of the atoms (T, K); only if checked
    distances: NDArray  # (p C)' Z (K, E); no edges where samples are powers
    mixed: NDArray  # (p C)' Y+ (K, N), powers included
    gram: NDArray  # (p C)' C
    numbers: NDArray  # value, dual gap, image, energy, coefficient gap, size; squares but the first


def advance(
    samples: NDArray,
    weights: NDArray,
    lead: Lead,
    stand: Stand,
    goal: Goal,
    powers: bool,
    check: bool,
) -> tuple[native.Job, Landing]:
    """The dual step of BiPDS, and all gradients at the coefficients ``C`` where they went.

    That step is

        Y+ = prox_{sigma h*}(Y + sigma A(2 C - before, atoms ahead))

    ``samples`` (T, N) are signals, or ``powers`` in modes, which act where the dual does.
    """
    (count, edges), (rows, nodes), dtype = lead.atoms.shape, samples.shape, samples.dtype
    gradient = np.empty((rows, count), dtype)
    if goal.box is None:
        gradient[:] = goal.extra
    found = Landing(
        goal.coefficients,
        np.empty((rows, nodes), dtype),
        gradient,
        np.empty((rows if check else 0, count), dtype),
        np.empty((count, 0 if powers else edges), dtype),
        np.empty((count, nodes), dtype),
        np.empty((count, count), dtype),
        np.empty(6 if check else 0),
    )
    atoms = np.empty((count, 0), dtype) if powers else lead.atoms
    given = samples, weights, atoms, *lead[1:], *stand, goal.tau, goal.box
    return native.split(*given, *found, powers), found


class Pace(NamedTuple):
    """What step sizes follow from: see :mod:`graphdict.solvers.steps`."""

    norm: float  # of the map of single graphs
    floor_atoms: float
    floor_coefficients: float
    sigma: float
    eagerness: float
    tau_atoms: float  # as given, else zero
    tau: float


class Dictionary(NamedTuple):
    """What iterations need of the atoms; what they find takes its place."""

    atoms: NDArray
    images: NDArray
    gradient: NDArray  # in the atoms
    gram: NDArray  # (p C)' C


class Block(NamedTuple):
    """Some samples, where they are, and arrays for where they go."""

    samples: NDArray
    weights: NDArray
    before: Stand
    after: Stand


def iterate(
    team: native.Team,
    count: int,
    patience: float,
    parts: Sequence[Sequence[Block]],
    modes: NDArray,
    dictionary: Dictionary,
    atom_box: Box,
    coefficient_box: Box,
    pace: Pace,
    together: int,
) -> tuple[int, float, float]:
    """Up to ``count`` iterations of BiPDS, fewer if that takes longer than ``patience`` seconds.

    Between two passes over all blocks the atoms take their step. ``modes`` (M, N) has no rows where
    the barrier is of degrees. Returned are the iterations done and the last ``tau_w, tau_c``.
    """
    arrays = [[(*block[:2], *block.before, *block.after) for block in part] for part in parts]
    return native.iterate(
        team, count, patience, arrays, modes, *dictionary, atom_box, coefficient_box, pace, together
    )
