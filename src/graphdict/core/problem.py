"""The learning problem: which terms, through which operator, over which samples.

With T samples in rows of ``Delta`` (or ``counts`` of them to a row, when rows are windows),

    F(W, Delta) = 1/T sum_t [ <delta_t, e_t(W)> + h(A(delta_t, W)) ] + g_w(W) + g_c(Delta) / T

where ``e_tk = x_t' L_k x_t``. Averaging over samples makes every penalty mean the same for five
hundred and for five million of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.core.annotations import Term
from graphdict.core.operators import BilinearOperator, linear_of
from graphdict.core.prior_checks import (
    check_atom_priors,
    check_barrier,
    check_coefficient_priors,
    check_term,
)
from graphdict.core.terms import base
from graphdict.core.terms.coefficients import window_means
from graphdict.core.terms.constraints import L1, Interval, NonNegative, Sum, UnitBox
from graphdict.native.proxes import Box

__all__ = ["Problem", "TermGroup", "row_barriers"]

ALL = slice(None)
IMAGE_BYTES = 1 << 25


class TermGroup:
    """The terms of one variable, sorted by how a proximal solver can treat them.

    ``direct`` are composed into one exact proximal operator, ``smooth`` enter by their gradient,
    and every further proximable term is ``split`` off with a dual variable of its own.

    With ``counts``, the variable has one row for each window of that many samples, while the terms
    are functions of samples. A group that is ``separable`` may be asked about some ``rows`` alone;
    terms with a function of its own for every entry are given the samples, counted from
    ``first_sample``.
    """

    terms: tuple[Any, ...]
    counts: NDArray[np.intp] | None
    smooth: tuple[Any, ...]
    direct: tuple[Any, ...]
    split: tuple[Any, ...]

    def __init__(
        self, terms: Sequence[Any], counts: NDArray[np.intp] | None = None, first_sample: int = 0
    ):
        for term in terms:
            check_term(term)
        self.terms = tuple(terms)
        self.counts = None if counts is None or np.all(counts == 1) else counts
        self.first_sample = first_sample
        intervals = [t for t in terms if hasattr(t, "interval")]
        elementwise = [t for t in terms if base.elementwise(t)]
        if len(elementwise) > 1 and any(t.interval[0] >= 0 for t in intervals):
            # Only one can be composed: a norm that is linear there makes room for the other.
            terms = [t.on_nonnegatives() if hasattr(t, "on_nonnegatives") else t for t in terms]
            elementwise = [t for t in elementwise if not hasattr(t, "on_nonnegatives")]
        before = [t for t in terms if getattr(t, "precedes_elementwise", False)]
        if before:  # what differs from row to row does not keep equal neighbours equal
            elementwise = [t for t in elementwise if not base.entrywise(t)]
        rest = [t for t in terms if base.proximable(t)]
        self.smooth = tuple(t for t in terms if base.smooth(t) and not base.proximable(t))
        composed = [t for t in elementwise if base.proximable(t)]
        self.direct = (*before[:1], *composed[:1], *intervals) or tuple(rest[:1])
        whole = [t for t in rest if getattr(t, "never_split", False)]
        if whole:
            self.direct = (whole[0],)
        self.split = tuple(t for t in rest if not any(t is d for d in self.direct))

    @cached_property
    def box(self) -> Box | None:
        """The terms as one box of nonnegative numbers with a linear penalty; None for other terms.

        An entry then moves to ``min(max(x - alpha, low), high)`` for a step of one.
        """
        kinds = {type(term) for term in self.terms}  # a subclass may do something else
        simple = bool(kinds) and kinds <= {Interval, NonNegative, UnitBox, L1}
        if self.counts is not None or self.split or not simple:
            return None
        low = max((term.low for term in self.terms if isinstance(term, Interval)), default=-np.inf)
        high = min((term.high for term in self.terms if isinstance(term, Interval)), default=np.inf)
        alpha = sum(term.alpha for term in self.direct if isinstance(term, L1))
        slope = sum(term.alpha for term in self.smooth)
        return Box(low, high, alpha, slope) if 0 <= low <= high else None

    @cached_property
    def separable(self) -> bool:
        """Whether no term ties rows together, as far as terms say."""
        return all(isinstance(term, Sum) for term in self.smooth) and all(
            hasattr(term, "interval") or base.elementwise(term) for term in self.terms
        )

    def value(self, x: NDArray[np.float64], rows: slice = ALL) -> float:
        """Return the sum of the terms, of which ``x`` holds the given rows."""
        x, samples = self._expand(x, rows), self._samples(rows, len(x))
        return float(sum(base.value(term, x, samples) for term in self.terms))

    def gradient(self, x: NDArray[np.float64], rows: slice = ALL) -> NDArray[np.float64] | float:
        """Return the gradient of the smooth terms; zero where there are none."""
        if not self.smooth:
            return 0.0
        expanded, samples = self._expand(x, rows), self._samples(rows, len(x))
        found: Any = sum(base.gradient(term, expanded, samples) for term in self.smooth)
        return self._reduce(found, rows)

    def lipschitz(self, x: NDArray[np.float64]) -> float:
        """Return the Lipschitz constant of the gradient of the smooth terms."""
        if not self.smooth:
            return 0.0
        expanded, samples = self._expand(x, ALL), self._samples(ALL, len(x))
        return float(sum(base.lipschitz(term, expanded, samples) for term in self.smooth))

    def prox(self, x: NDArray[np.float64], step: float, rows: slice = ALL) -> NDArray[np.float64]:
        """Take the proximal step of the ``direct`` terms, composed."""
        for term in self.direct:
            x = self._prox(term, x, step, rows)
        return x

    def prox_conjugate(
        self, term: Any, dual: NDArray[np.float64], step: float, rows: slice = ALL
    ) -> NDArray[np.float64]:
        """Take a dual step of one of the ``split`` terms."""
        expanded, samples = self._expand(dual, rows), self._samples(rows, len(dual))
        return self._reduce(base.prox_conjugate(term, expanded, step, samples), rows)

    def _prox(
        self, term: Any, x: NDArray[np.float64], step: float, rows: slice
    ) -> NDArray[np.float64]:
        samples = self._samples(rows, len(x))
        if hasattr(term, "interval") or base.elementwise(term):
            return base.prox(term, x, step, samples)
        # Exact for terms that keep equal neighbours equal, as total variation does.
        return self._reduce(base.prox(term, self._expand(x, rows), step, samples), rows)

    def _samples(self, rows: slice, count: int) -> slice:
        """Return the samples, counted among all, that some rows stand for."""
        start, stop, _ = rows.indices(rows.stop if rows.stop is not None else count)
        if self.counts is None:
            return slice(self.first_sample + start, self.first_sample + stop)
        before = self.first_sample + int(self.counts[:start].sum())
        return slice(before, before + int(self.counts[start:stop].sum()))

    def _expand(self, x: NDArray[np.float64], rows: slice) -> NDArray[np.float64]:
        return x if self.counts is None else np.repeat(x, self.counts[rows], axis=0)

    def _reduce(self, x: NDArray[np.float64], rows: slice) -> NDArray[np.float64]:
        return x if self.counts is None else window_means(x, self.counts[rows])


@dataclass(frozen=True)
class Problem:
    """A choice of signal fit, operator, barrier and priors; see the module's formula.

    Where the rows are only some of all (:meth:`part`), ``first`` and ``first_sample`` say from
    which row and sample on, and ``samples`` is T.

    Parameters
    ----------
    fit : term
        How much signals vary over their graphs, as :func:`graphdict.terms.smoothness` makes it.
    operator : BilinearOperator
        What the likelihood sees of each sample's graph.
    barrier : term
        ``h``: needs ``values(rows)`` and one of ``prox`` and ``prox_conjugate``; ``slope`` for
        majorise-minimise, ``curvature`` for coding.
    atom_terms, coefficient_terms : sequences of terms
        Priors.
    counts : integer array
        Number of samples in each row: ones, or the lengths of windows.
    samples, first, first_sample : int, optional
        Set by :meth:`part`.
    """

    fit: Any
    operator: BilinearOperator
    barrier: Any
    atom_terms: Sequence[Term]
    coefficient_terms: Sequence[Term]
    counts: NDArray[np.intp]
    samples: int | None = None
    first: int = 0
    first_sample: int = 0

    def __post_init__(self) -> None:
        check_barrier(self.barrier)

    @cached_property
    def atoms(self) -> TermGroup:
        """The priors on atoms, sorted by how a solver can treat them."""
        return TermGroup(self.atom_terms)

    @cached_property
    def coefficients(self) -> TermGroup:
        """The priors on coefficients, sorted by how a solver can treat them."""
        return TermGroup(self.coefficient_terms, self.counts, self.first_sample)

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """Share of all samples that each row stands for."""
        return self.counts / self.total

    @property
    def rows(self) -> int:
        """Number of rows: samples, or windows of them."""
        return len(self.counts)

    @cached_property
    def total(self) -> int:
        """T, the number of all samples."""
        return int(self.counts.sum()) if self.samples is None else self.samples

    @property
    def read_when_used(self) -> bool:
        """Whether parts of it are costly to keep: they are on disk, or larger than memory."""
        return getattr(self.fit, "read_when_used", False)

    def part(self, rows: slice) -> Problem:
        """Return the problem of some rows; their weights stay shares of all samples."""
        fit = self.fit.part(rows) if hasattr(self.fit, "part") else _Rows(self.fit, rows)
        counts = self.counts
        return replace(
            self, fit=fit, counts=counts[rows], samples=self.total, first=self.first + rows.start,
            first_sample=self.first_sample + int(counts[: rows.start].sum()),
        )  # fmt: skip

    def check_priors(self, shape: tuple[int, ...], fixed: str | None = None) -> None:
        """Refuse by name priors that cannot work, for atoms (K, E) of this ``shape``."""
        check_coefficient_priors(self.coefficients, shape[0], self.total)
        if fixed != "atoms":
            check_atom_priors(self, *shape)

    @cached_property
    def linear(self) -> Any:
        """The map of single graphs that the operator lifts; None where it is of another kind."""
        return linear_of(self.operator)

    def images(self, atoms: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Return what the operator sees of each atom (K, ...), if it lifts a map of graphs."""
        return None if self.linear is None else self.linear.apply(atoms)

    def shares(self, rows: slice, like: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return each row's share (rows, 1) of all samples, in the precision of ``like``."""
        return self.weights[rows, None].astype(like.dtype, copy=False)

    def weighted_distances(
        self, rows: slice, coefficients: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return ``(p Delta)' Z`` (K, E) of some rows."""
        result: NDArray[np.float64] = self.fit.weighted_distances(
            self.shares(rows, coefficients) * coefficients, rows
        )
        return result

    def objective(self, coefficients: NDArray[np.float64], atoms: NDArray[np.float64]) -> float:
        """Return the objective ``F`` at coefficients (T, K) and atoms (K, E)."""
        fit = np.einsum("tk,tk->t", coefficients, self.fit.energies(atoms), dtype=np.float64)
        barriers = row_barriers(self.operator, self.barrier, coefficients, atoms)
        samples = float(self.weights @ (fit + barriers))
        return samples + self.priors_value(coefficients, atoms)

    def samples_value(
        self,
        rows: slice,
        coefficients: NDArray[np.float64],
        energies: NDArray[np.float64],
        image: NDArray[np.float64],
    ) -> float:
        """Return what some rows add to ``F``, from their energies ``e(W)`` and ``A(Delta, W)``."""
        fit = np.einsum("tk,tk->t", coefficients, energies, dtype=np.float64)
        return float(self.weights[rows] @ (fit + self.barrier.values(image)))

    def rows_value(
        self,
        rows: slice,
        coefficients: NDArray[np.float64],
        energies: NDArray[np.float64],
        atoms: NDArray[np.float64],
    ) -> float:
        """Return what some rows add to ``F``, priors on their coefficients included."""
        image = self.operator.forward(coefficients, atoms)
        value = self.samples_value(rows, coefficients, energies, image)
        return value + self.coefficients.value(coefficients, rows) / self.total

    def priors_value(self, coefficients: NDArray[np.float64], atoms: NDArray[np.float64]) -> float:
        """Return what the priors add to ``F``."""
        per_sample = self.coefficients.value(coefficients) / self.total
        return self.atoms.value(atoms) + per_sample


class _Rows:
    """Some rows of a signal fit that cannot be cut itself."""

    def __init__(self, fit: Any, rows: slice):
        self.fit = fit
        self.start, self.stop, _ = rows.indices(rows.stop)

    def energies(self, atoms: NDArray[np.float64], rows: slice = ALL) -> NDArray[np.float64]:
        result: NDArray[np.float64] = self.fit.energies(atoms, self._all(rows))
        return result

    def weighted_distances(
        self, coefficients: NDArray[np.float64], rows: slice = ALL
    ) -> NDArray[np.float64]:
        result: NDArray[np.float64] = self.fit.weighted_distances(coefficients, self._all(rows))
        return result

    def _all(self, rows: slice) -> slice:
        start, stop, _ = rows.indices(self.stop - self.start)
        return slice(self.start + start, self.start + stop)


def row_barriers(
    operator: BilinearOperator,
    barrier: Any,
    coefficients: NDArray[np.float64],
    atoms: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return ``h(A(delta, W))`` of every row, found a block at a time: the image may be large."""
    row_bytes = operator.forward(coefficients[:1], atoms).nbytes
    size = max(1, IMAGE_BYTES // row_bytes)
    parts = [
        barrier.values(operator.forward(coefficients[start : start + size], atoms))
        for start in range(0, len(coefficients), size)
    ]
    return np.concatenate(parts)
