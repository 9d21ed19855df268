"""Which backend a problem gets: decided here, and only here.

A compiled backend is written for one likelihood: one kind of signal term, of linear map and of
barrier. Each of these says in its own class body of which ``kind`` it is; a subclass that does not
say so itself counts as something else, since it may compute something else. Whatever has no
compiled backend is served by :class:`graphdict.core.plain_backend.PlainBackend`, from the formulas
of its terms; coding is compiled even so where the barrier is one of ours. To add a backend, write a
class with the operations of :class:`graphdict.core.protocols.Backend` and give it a line in
``COMPILED``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from graphdict.core.plain_backend import PlainBackend
from graphdict.core.problem import Problem
from graphdict.core.protocols import Backend
from graphdict.engine.backends.compiled_coding import CompiledCodingBackend
from graphdict.engine.backends.log_barrier import DegreesBackend, SpectraBackend
from graphdict.engine.backends.log_determinant import LogDetBackend

__all__ = ["backend_of", "name_of_backend"]

COMPILED: dict[tuple[str, str, str], type[PlainBackend]] = {
    ("signals", "degrees", "log-barrier"): DegreesBackend,
    ("powers", "spectra", "log-barrier"): SpectraBackend,
    ("signals", "laplacians", "log-determinant"): LogDetBackend,
}
COMPILED_CODING = ("log-barrier", "log-determinant")  # whatever stands for the samples


def backend_of(problem: Any) -> Backend:
    """Return the backend of a problem, or of a shard of one.

    Samples that are no :class:`~graphdict.core.problem.Problem` (those of the marginal model) are
    returned as they are: they bring their own operations.
    """
    return _class_for(problem)(problem) if isinstance(problem, Problem) else problem


def name_of_backend(problem: Any) -> str:
    """Return the name of the backend of a problem."""
    return _class_for(problem).name if isinstance(problem, Problem) else type(problem).__name__


def _class_for(problem: Problem) -> type[PlainBackend]:
    """Return the class of a problem's backend, by the kinds of its parts and its precision."""
    # What is on disk is not read to find out.
    signals = getattr(problem.signal_term, "stands_for", type(problem.signal_term))
    kinds = _kind(signals), _kind(type(problem.linear)), _kind(type(problem.barrier))
    precision = getattr(problem.signal_term, "dtype", None)
    if precision not in (np.float32, np.float64):
        return PlainBackend
    other = CompiledCodingBackend if kinds[2] in COMPILED_CODING else PlainBackend
    return COMPILED.get(kinds, other)  # type: ignore[arg-type]


def _kind(part: type | None) -> str | None:
    """Return what a class says of itself, not what it inherits."""
    return None if part is None else vars(part).get("kind")
