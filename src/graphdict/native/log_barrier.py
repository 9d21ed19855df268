"""Compiled passes over samples of models with a logarithmic barrier.

The C++ goes over tiles of samples that stay in cache, with the samples along the vector registers.
The barrier of a sample sees ``d_t = sum_k c_tk g_k``, where ``g_k`` are the degrees (or the
spectrum) of atom k, its image. The plain formulas are in :mod:`graphdict.core.operators` and
:class:`graphdict.core.terms.LogBarrier`; tests compare.

Arrays have samples first: signals (T, N), coefficients (T, K), atoms (K, E), their images (K, N),
all in one precision. Whole passes are jobs: a job is called, or the threads of a pool share
several; what it finds is in arrays that exist before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphdict import native
from graphdict.native import contiguous
from graphdict.native.coefficients import UpdateResult, UpdateRule

if TYPE_CHECKING:
    from graphdict.core.term_group import Box


def atom_slopes(
    coefficients: NDArray[Any], shares: NDArray[Any], atom_images: NDArray[Any]
) -> tuple[native.Job, NDArray[Any]]:
    """Return a job for ``(p C)' (1 / D)`` (K, N) with ``D = C atom_images``, and what it fills.

    ``shares`` (T,) are the ``p`` of the samples.
    """
    found = np.empty_like(atom_images)
    job = native.log_barrier_atom_slopes(
        contiguous(coefficients), contiguous(shares), contiguous(atom_images), found
    )
    return job, found


def update_coefficients(
    samples: NDArray[Any],
    shares: NDArray[Any],
    atoms: NDArray[Any],
    atom_images: NDArray[Any],
    coefficients: NDArray[Any],
    rule: UpdateRule,
    powers: bool,
) -> tuple[native.Job, UpdateResult]:
    """Return a job for multiplicative updates of coefficients (T, K), and the arrays it fills.

    Their slope is ``(1 / D) atom_images'``. ``samples`` (T, N) are signals, or ``powers`` in
    modes.
    """
    found = UpdateResult(
        np.empty_like(coefficients, order="C"),
        np.empty_like(atom_images if powers else atoms, order="C"),
        np.empty(3),
    )
    edges = contiguous(atoms[:, :0] if powers else atoms)
    job = native.log_barrier_update_coefficients(
        contiguous(samples), contiguous(shares), (edges, contiguous(atom_images)),
        contiguous(coefficients),
        rule, found, powers,
    )  # fmt: skip
    return job, found


class AtomMove(NamedTuple):
    """The atoms' step, as a pass of BiPDS needs it.

    Compiled loops unpack the fields in this order: ``AtomMove`` in primal_dual_arrays.hpp.
    """

    atoms: NDArray[Any]  # where they went
    atom_images: NDArray[Any]
    extrapolated: NDArray[Any]  # the images of the extrapolated atoms
    sigma: float  # the step of the dual


class SampleArrays(NamedTuple):
    """An iterate of BiPDS as far as it is the size of the samples.

    Compiled loops unpack the fields in this order: ``GivenIterate`` in primal_dual_arrays.hpp.
    """

    coefficients: NDArray[Any]
    gradient: NDArray[Any]  # in the coefficients
    dual: NDArray[Any]


class CoefficientMove(NamedTuple):
    """The coefficients' step, as a pass of BiPDS needs it: taken already, or to be taken by it.

    With a ``box`` the pass takes it, as ``projected_step`` does; ``extra`` is the slope of the box
    then, whatever it says here.
    """

    coefficients: NDArray[Any]  # after the step, or room for them
    extra: NDArray[Any] | float  # their gradient by smooth priors and split-off duals
    tau: float
    box: Box | None


class PassResult(NamedTuple):
    """What a pass finds: arrays by sample, then sums over samples, then the numbers of a check.

    Compiled loops unpack the fields in this order: ``PassResult`` in primal_dual_arrays.hpp.
    """

    coefficients: NDArray[Any]
    dual: NDArray[Any]
    gradient: NDArray[Any]  # in the coefficients
    energies: NDArray[Any]  # of the atoms (T, K); only if checked
    distances: NDArray[Any]  # (p C)' Z (K, E); no edges where samples are powers
    mixed_dual: NDArray[Any]  # (p C)' Y+ (K, N), powers included
    gram: NDArray[Any]  # (p C)' C
    numbers: NDArray[Any]  # of a check: those of ``CheckNumbers`` in core/solvers/primal_dual.py


def primal_dual_pass(
    samples: NDArray[Any],
    shares: NDArray[Any],
    atoms: AtomMove,
    before: SampleArrays,
    move: CoefficientMove,
    powers: bool,
    check: bool,
) -> tuple[native.Job, PassResult]:
    """Return a job for the dual step of BiPDS and all gradients at the new coefficients ``C``.

    The dual step is

        Y+ = prox_{sigma h*}(Y + sigma A(2 C - before, extrapolated atoms))

    ``samples`` (T, N) are signals, or ``powers`` in modes, which act where the dual does.
    """
    (count, edges), (rows, nodes), dtype = atoms.atoms.shape, samples.shape, samples.dtype
    gradient = np.empty((rows, count), dtype)
    if move.box is None:
        gradient[:] = move.extra
    found = PassResult(
        coefficients=move.coefficients,
        dual=np.empty((rows, nodes), dtype),
        gradient=gradient,
        energies=np.empty((rows if check else 0, count), dtype),
        distances=np.empty((count, 0 if powers else edges), dtype),
        mixed_dual=np.empty((count, nodes), dtype),
        gram=np.empty((count, count), dtype),
        numbers=np.empty(6 if check else 0),
    )
    edges_of = np.empty((count, 0), dtype) if powers else contiguous(atoms.atoms)
    atom_images, extrapolated = contiguous(atoms.atom_images), contiguous(atoms.extrapolated)
    atoms = AtomMove(edges_of, atom_images, extrapolated, atoms.sigma)
    seen = contiguous(samples), contiguous(shares), powers
    return native.primal_dual_pass(seen, atoms, before, (move.tau, move.box), found), found


class DictionaryArrays(NamedTuple):
    """What a compiled run needs of the atoms, and writes over with what it finds.

    Compiled loops unpack them in this order: ``GivenDictionary`` in primal_dual_iterations.hpp.
    """

    atoms: NDArray[Any]
    atom_images: NDArray[Any]
    gradient: NDArray[Any]  # in the atoms
    gram: NDArray[Any]  # (p C)' C


class BlockArrays(NamedTuple):
    """Some samples, their iterate, and arrays for the next one.

    Compiled loops unpack them in this order: ``GivenBlock`` in primal_dual_iterations.hpp.
    """

    samples: NDArray[Any]
    shares: NDArray[Any]
    before: SampleArrays
    after: SampleArrays
