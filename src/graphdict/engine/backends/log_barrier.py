"""Compiled backends of models with a logarithmic barrier: on degrees, and on spectra.

They find what the plain backend finds, in tiles of samples that stay in cache
(:mod:`graphdict.native.log_barrier`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict import native
from graphdict.core.plain_backend import PlainBackend
from graphdict.core.protocols import BlockStates, Deferred
from graphdict.core.solvers.interior_point import RULES, WARM_UP
from graphdict.core.solvers.mm import Update
from graphdict.core.solvers.primal_dual import (
    BlockIterate,
    CheckNumbers,
    Moved,
    PassMessage,
    PassSums,
    check_sums,
)
from graphdict.native import contiguous, log_barrier

__all__ = ["CompiledBackend", "DegreesBackend", "SpectraBackend"]

SECONDS = 0.1  # of compiled iterations until Python can see that it was interrupted
MOST_ATOMS = 128  # with more, systems of one sample fill the cache, and compiled steps gain nothing


class CompiledBackend(PlainBackend):
    """What compiled backends share: the coefficients of samples alone, and what updates return.

    It is also used where samples are windows or have gaps, for which only coding is compiled.
    """

    name = "plain, with compiled coding"

    powers = False  # whether samples are powers in modes, not signals

    def solve_coefficients(
        self, costs: NDArray[Any], images: NDArray[Any], max_iter: int, tol: float
    ) -> NDArray[Any]:
        if len(images) > MOST_ATOMS:
            return super().solve_coefficients(costs, images, max_iter, tol)
        job, found = log_barrier.solve_coefficients(costs, images, max_iter, tol, WARM_UP, RULES)
        job()
        return found

    def updates_of(
        self, rows: slice, job: Callable[[], Any], found: log_barrier.CoefficientUpdates
    ) -> Deferred:
        """Return compiled updates of coefficients as the plain backend returns its own."""

        def read() -> Any:
            problem = self.problem
            value, *squares = found.numbers.tolist()
            value += problem.coefficients.value(found.coefficients, rows) / problem.total
            sums = (0.0, found.distances) if self.powers else (found.distances, 0.0)
            return found.coefficients, (value, *squares, *sums)

        return Deferred(job, read)


class DegreesBackend(CompiledBackend):
    """Smoothness of single samples with the logarithms of degrees."""

    name = "compiled log-barrier of degrees"
    moves_coefficients = True

    def samples(self, rows: slice) -> NDArray[Any]:
        """Return what stands for the samples: their signals (T, N)."""
        return self.problem.fit.signals[rows]

    @classmethod
    def modes(cls, linear: Any, dtype: Any) -> NDArray[Any]:
        """Return the modes (M, N) of spectra; none, since the barrier is of degrees."""
        return np.empty((0, linear.size), dtype)

    def primal_dual_pass(
        self, rows: slice, before: BlockIterate, moved: Moved | None, step: PassMessage
    ) -> Deferred:
        problem = self.problem
        if step.atom_move is None:
            assert moved is not None
            return super().primal_dual_pass(rows, before, moved, step)
        split_duals: tuple[NDArray[Any], ...] = ()
        if moved is None:
            after = np.empty_like(before.coefficients)
            move = log_barrier.CoefficientMove(after, 0.0, step.tau, problem.coefficients.box)
        else:
            after, split_duals = contiguous(moved.coefficients), moved.split_duals
            move = log_barrier.CoefficientMove(after, moved.extra, step.tau, None)
        job, found = log_barrier.primal_dual_pass(
            self.samples(rows), problem.weights[rows].astype(after.dtype, copy=False),
            step.atom_move, _arrays(before), move, self.powers, step.check,
        )  # fmt: skip

        def read() -> Any:
            iterate = BlockIterate(after, found.dual, found.gradient, split_duals, None)
            distances = 0.0 if self.powers else found.distances
            sums = PassSums(distances, found.gram, mixed_dual=found.mixed_dual)
            if step.check:
                numbers = CheckNumbers(*found.numbers.tolist())
                sums = check_sums(problem, rows, before, iterate, sums, step, numbers)
            return iterate, sums

        return Deferred(job, read)

    def atom_slopes(
        self,
        rows: slice,
        coefficients: NDArray[Any],
        atoms: NDArray[Any],
        images: NDArray[Any] | None,
    ) -> Deferred:
        job, found = log_barrier.atom_slopes(coefficients, self.problem.weights[rows], images)  # type: ignore[arg-type]
        return Deferred(job, lambda: (None, (0.0, found)))

    def update_coefficients(
        self, rows: slice, coefficients: NDArray[Any], update: Update
    ) -> Deferred:
        if update.fixed is not None:
            return super().update_coefficients(rows, coefficients, update)
        job, found = log_barrier.update_coefficients(
            self.samples(rows), self.problem.weights[rows], update.atoms,
            update.images, coefficients,  # type: ignore[arg-type]
            update.shrinkage, update.rounds, update.over_relaxed, self.powers,
        )  # fmt: skip
        return self.updates_of(rows, job, found)

    @classmethod
    def iterate(cls, shards: Any, states: BlockStates, count: int, **message: Any) -> Any:
        """Take some iterations of BiPDS, at most ``count``, in one compiled loop.

        Between two passes over all blocks the atoms take their step.

        Message: ``dictionary`` (atoms, images, gradient in the atoms, Gram matrix), ``boxes`` of
        atoms and coefficients, ``rules`` (a function) of the step sizes, ``pool`` and
        ``sums_at_a_time``. Return the states, the new dictionary, the number of iterations, and the
        last steps of both variables; None where no iteration was done.
        """
        problem = shards[0].backend.problem
        dictionary = log_barrier.DictionaryArrays(
            *(np.array(array, order="C") for array in message["dictionary"])
        )
        dtype = dictionary.atoms.dtype
        following = BlockStates([_room(state) for state in of_shard] for of_shard in states)
        work = [
            [
                log_barrier.BlockArrays(
                    shard.backend.samples(rows),
                    shard.backend.problem.weights[rows].astype(dtype, copy=False),
                    _arrays(before), _arrays(after),
                )
                for rows, before, after in zip(shard.blocks, *of_shard, strict=True)
            ]
            for shard, *of_shard in zip(shards, states, following, strict=True)
        ]  # fmt: skip
        done, tau_atoms, tau = native.iterate(
            message["pool"].compiled, count, SECONDS, work, cls.modes(problem.linear, dtype),
            dictionary, message["boxes"], message["rules"](), message["sums_at_a_time"],
        )  # fmt: skip
        return None if done == 0 else (following, dictionary, done, tau_atoms, tau)


class SpectraBackend(DegreesBackend):
    """Smoothness by powers in shared modes with the logarithms of spectra."""

    name = "compiled log-barrier of spectra"
    powers = True

    def samples(self, rows: slice) -> NDArray[Any]:
        """Return what stands for the samples: their powers in the modes (T, M)."""
        return self.problem.fit.powers[rows]

    @classmethod
    def modes(cls, linear: Any, dtype: Any) -> NDArray[Any]:
        return linear.rows(dtype)


def _arrays(iterate: BlockIterate) -> log_barrier.SampleArrays:
    arrays = iterate.coefficients, iterate.gradient, iterate.dual
    return log_barrier.SampleArrays(*(contiguous(array) for array in arrays))


def _room(iterate: BlockIterate) -> BlockIterate:
    """Return a state of empty arrays that a new iterate can go to."""
    empty = log_barrier.SampleArrays(*(np.empty_like(array) for array in _arrays(iterate)))
    return iterate._replace(**empty._asdict())
