"""Passes of models with a log-barrier by compiled tiles; they find what the plain passes find.

They serve problems of smoothness with the logarithms of degrees, whose samples are single and at
hand, and those of powers in modes with the logarithms of spectra.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict import native
from graphdict.core.operators import Degrees, Spectra, linear_of
from graphdict.core.problem import Problem
from graphdict.core.solvers.passes import powers_at_hand, single_at_hand
from graphdict.core.terms import LogBarrier
from graphdict.engine.executor import TOGETHER, Part, States
from graphdict.engine.thread_pool import Team
from graphdict.native import log_barrier

__all__ = ["land", "of_powers", "push", "recode", "serves", "stretch"]

PATIENCE = 0.1  # seconds until Python has a say, who may have been interrupted


def serves(problem: Problem, atoms: NDArray) -> bool:
    """Whether the problem is of this kind."""
    linear = linear_of(problem.operator)
    return type(problem.barrier) is LogBarrier and (
        (isinstance(linear, Degrees) and single_at_hand(problem, atoms))
        or (isinstance(linear, Spectra) and powers_at_hand(problem, atoms))
    )


def push(
    problem: Problem, rows: slice, coefficients: NDArray, images: NDArray
) -> tuple[native.Job, NDArray]:
    """``(p Delta)' (1 / A(Delta, W))`` of some rows, where ``images`` are ``M(W)``."""
    return log_barrier.atom_slopes(coefficients, problem.weights[rows], images)


def recode(
    problem: Problem,
    rows: slice,
    coefficients: NDArray,
    atoms: NDArray,
    images: NDArray,
    shrinkage: float,
    rounds: int,
    stretch: bool,
) -> tuple[native.Job, log_barrier.CoefficientUpdates]:
    """``rounds`` updates of the coefficients; value, squares of the residual, ``(p Delta)' Z``."""
    samples, powers = _samples(problem, rows)
    return log_barrier.update_coefficients(
        samples, problem.weights[rows], atoms, images, coefficients, shrinkage, rounds, stretch,
        powers,
    )  # fmt: skip


def land(
    problem: Problem, rows: slice, before: Any, moved: Any, step: Any
) -> tuple[native.Job, Callable[[], Any]]:
    """The dual step of BiPDS and all gradients where the coefficients have ``moved``.

    That is (coefficients, duals of other terms, what these add to the gradient); None where they
    are yet to be moved, which is done on the way. The job does all this, the function then says
    what was found: coefficients, dual, gradient; the sums over samples of the gradient in the
    atoms, the Gram matrix, and what ``M*`` is still to be taken of; the numbers of a check.
    """
    samples, powers = _samples(problem, rows)
    if moved is None:
        after, extra, box = np.empty_like(before.coefficients), 0.0, problem.coefficients.box
    else:
        after, extra, box = np.ascontiguousarray(moved[0]), moved[2], None
    job, found = log_barrier.primal_dual_pass(
        samples,
        problem.weights[rows].astype(after.dtype, copy=False),
        step.lead,
        _stand(before),
        log_barrier.CoefficientMove(after, extra, step.tau, box),
        powers,
        step.check,
    )

    def read() -> Any:
        sums = 0.0 if powers else found.distances, found.gram, found.mixed_dual
        return after, found.dual, found.gradient, sums, found.numbers.tolist()

    return job, read


def stretch(
    parts: Sequence[Part], states: States, team: Team, dictionary: log_barrier.DictionaryArrays, pace: Any,
    count: int,
) -> tuple[States, int, float, float]:  # fmt: skip
    """Some iterations of BiPDS, at most ``count``, on samples and atoms that boxes hold.

    The arrays of the dictionary are changed. Found are the states of the samples, how many
    iterations it took to get there, and the last steps of both variables.
    """
    problem, dtype = parts[0].problem, dictionary.atoms.dtype
    linear = linear_of(problem.operator)
    modes = linear.rows(dtype) if of_powers(problem) else np.empty((0, linear.size), dtype)
    following = States([_room(state) for state in of_part] for of_part in states)
    work = [
        [
            log_barrier.BlockArrays(
                _samples(part.problem, rows)[0],
                part.problem.weights[rows].astype(dtype, copy=False),
                _stand(before), _stand(after),
            )
            for rows, before, after in zip(part.blocks, *of_part, strict=True)
        ]
        for part, *of_part in zip(parts, states, following, strict=True)
    ]  # fmt: skip
    found = log_barrier.iterate(
        team.compiled, count, PATIENCE, work, modes, dictionary,
        (problem.atoms.box, problem.coefficients.box),  # type: ignore[arg-type]
        pace, TOGETHER,
    )  # fmt: skip
    return following, *found


def _stand(state: Any) -> log_barrier.SampleArrays:
    return log_barrier.SampleArrays(state.coefficients, state.gradient, state.dual)


def _room(state: Any) -> Any:
    """Arrays that a new state can go to."""
    new = log_barrier.SampleArrays(*(np.empty_like(array) for array in _stand(state)))
    return state._replace(**new._asdict())


def of_powers(problem: Problem) -> bool:
    """Whether samples are powers in modes, not signals."""
    return isinstance(linear_of(problem.operator), Spectra)


def _samples(problem: Problem, rows: slice) -> tuple[NDArray, bool]:
    """Signals, or powers in modes; and whether they are powers."""
    powers = of_powers(problem)
    return (problem.fit.powers if powers else problem.fit.signals)[rows], powers
