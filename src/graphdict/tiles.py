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

from typing import NamedTuple

import numpy as np
from numpy import ascontiguousarray as in_order
from numpy.typing import NDArray

from graphdict import native

__all__ = [
    "Goal",
    "Landing",
    "Lead",
    "Recoding",
    "Stand",
    "advance",
    "energies",
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

    If there is a ``box``, they are still to go: by a step ``tau`` along the gradient, then by the
    first number of the box, then to between the other two.
    """

    coefficients: NDArray
    extra: NDArray | float
    tau: float
    box: tuple[float, float, float] | None


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
