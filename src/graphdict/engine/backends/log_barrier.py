"""Compiled backends of models with a logarithmic barrier: on degrees, and on spectra.

They find what the plain backend finds, in tiles of samples that stay in cache
(:mod:`graphdict.native.log_barrier`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from graphdict import native
from graphdict.core.annotations import Floats
from graphdict.core.protocols import BlockStates, CompiledRun, CompiledRunResult, Deferred
from graphdict.core.solvers.mm import Update
from graphdict.core.solvers.primal_dual import (
    BlockIterate,
    CheckNumbers,
    MovedCoefficients,
    PassMessage,
    PassSums,
    check_sums,
)
from graphdict.engine.backends.compiled_coding import CompiledCodingBackend, update_rule
from graphdict.native import contiguous, log_barrier

SECONDS = 0.1  # of compiled iterations until Python can see that it was interrupted


class DegreesBackend(CompiledCodingBackend):
    """Smoothness of single samples with the logarithms of degrees."""

    name = "compiled log-barrier of degrees"
    moves_coefficients = True

    def samples(self, rows: slice) -> Floats:
        """Return what stands for the samples: their signals (T, N)."""
        return self._signal_term.signals[rows]

    @classmethod
    def modes(cls, linear: Any, dtype: Any) -> Floats:
        """Return the modes (M, N) of spectra; none, since the barrier is of degrees."""
        return np.empty((0, linear.size), dtype)

    def primal_dual_pass(
        self,
        rows: slice,
        before: BlockIterate,
        moved: MovedCoefficients | None,
        message: PassMessage,
    ) -> Deferred:
        problem = self.problem
        if message.fixed is not None:
            assert moved is not None
            return super().primal_dual_pass(rows, before, moved, message)
        split_duals: tuple[Floats, ...] = ()
        if moved is None:
            after = np.empty_like(before.coefficients)
            move = log_barrier.CoefficientMove(
                after, 0.0, message.tau, problem.coefficient_priors.box
            )
        else:
            after, split_duals = contiguous(moved.coefficients), moved.split_duals
            move = log_barrier.CoefficientMove(after, moved.extra, message.tau, None)
        job, found = log_barrier.primal_dual_pass(
            self.samples(rows), problem.shares[rows].astype(after.dtype, copy=False),
            _atom_move(message), _arrays(before), move, powers=self.powers, check=message.check,
        )  # fmt: skip

        def read() -> Any:
            iterate = BlockIterate(after, found.dual, found.gradient, split_duals, None)
            distances = 0.0 if self.powers else found.distances
            sums = PassSums(distances, found.gram, mixed_dual=found.mixed_dual)
            if message.check:
                numbers = CheckNumbers(*found.numbers.tolist())
                sums = check_sums(
                    problem, rows, message, sums, before=before, after=iterate, numbers=numbers
                )
            return iterate, sums

        return Deferred(job, read)

    def atom_slopes(
        self, rows: slice, coefficients: Floats, atoms: Floats, atom_images: Floats | None
    ) -> Deferred:
        job, found = log_barrier.atom_slopes(coefficients, self.problem.shares[rows], atom_images)  # type: ignore[arg-type]
        return Deferred(job, lambda: (None, (0.0, found)))

    def update_coefficients(self, rows: slice, coefficients: Floats, update: Update) -> Deferred:
        if update.fixed is not None:
            return super().update_coefficients(rows, coefficients, update)
        job, found = log_barrier.update_coefficients(
            self.samples(rows), self.problem.shares[rows], update.atoms,
            update.atom_images, coefficients,  # type: ignore[arg-type]
            rule=update_rule(update), powers=self.powers,
        )  # fmt: skip
        return self.deferred_updates(rows, job, found)

    @classmethod
    def iterate(
        cls, shards: Any, states: BlockStates, run: CompiledRun, *, pool: Any, sums_at_a_time: int
    ) -> CompiledRunResult | None:
        """Take iterations of BiPDS in one compiled loop, which ends once ``SECONDS`` have passed.

        Between two passes over all blocks the atoms take their step.
        """
        problem = shards[0].backend.problem
        arrays = run.atoms, run.atom_images, run.gradient_atoms, run.gram
        dictionary = log_barrier.DictionaryArrays(*(np.array(array, order="C") for array in arrays))
        dtype = dictionary.atoms.dtype
        following = BlockStates([_empty_like(state) for state in of_shard] for of_shard in states)
        work = [
            [
                log_barrier.BlockArrays(
                    shard.backend.samples(rows),
                    shard.backend.problem.shares[rows].astype(dtype, copy=False),
                    _arrays(before), _arrays(after),
                )
                for rows, before, after in zip(shard.blocks, *of_shard, strict=True)
            ]
            for shard, *of_shard in zip(shards, states, following, strict=True)
        ]  # fmt: skip
        done, tau_atoms, tau = native.iterate(
            pool.compiled, (run.at_most, SECONDS), (work, sums_at_a_time), dictionary,
            (cls.modes(problem.linear, dtype), run.boxes, run.rules()),
        )  # fmt: skip
        if done == 0:
            return None
        return CompiledRunResult(following, *dictionary, done, tau_atoms, tau)


class SpectraBackend(DegreesBackend):
    """Smoothness by powers in shared modes with the logarithms of spectra."""

    name = "compiled log-barrier of spectra"
    powers = True

    def samples(self, rows: slice) -> Floats:
        """Return what stands for the samples: their powers in the modes (T, M)."""
        return self._signal_term.powers[rows]

    @classmethod
    def modes(cls, linear: Any, dtype: Any) -> Floats:
        return linear.rows(dtype)


def _atom_move(message: PassMessage) -> log_barrier.AtomMove:
    assert message.atom_images is not None
    assert message.extrapolated_atom_images is not None
    return log_barrier.AtomMove(
        message.atoms, message.atom_images, message.extrapolated_atom_images, message.sigma
    )


def _arrays(iterate: BlockIterate) -> log_barrier.SampleArrays:
    arrays = iterate.coefficients, iterate.gradient, iterate.dual
    return log_barrier.SampleArrays(*(contiguous(array) for array in arrays))


def _empty_like(iterate: BlockIterate) -> BlockIterate:
    """Return a state of the same shapes, whose arrays are to be filled."""
    empty = log_barrier.SampleArrays(*(np.empty_like(array) for array in _arrays(iterate)))
    return iterate._replace(**empty._asdict())
