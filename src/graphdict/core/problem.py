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

from graphdict.core.annotations import Floats, Integers, Term
from graphdict.core.operators import BilinearOperator, linear_of
from graphdict.core.prior_checks import (
    check_atom_priors,
    check_barrier,
    check_coefficient_priors,
)
from graphdict.core.renamed import renamed
from graphdict.core.term_group import ALL, TermGroup
from graphdict.core.terms.base import Barrier, SignalTerm

BLOCK_BYTES = 1 << 25  # of the images of mixtures that are held at once


@renamed("fit", "signal_term")
@renamed("atoms", "atom_priors")
@renamed("coefficients", "coefficient_priors")
@renamed("weights", "shares")
@dataclass(frozen=True)
class Problem:
    """A choice of signal term, operator, barrier and priors; see the module's formula.

    Where the rows are only some of all (:meth:`part`), ``first`` and ``first_sample`` say from
    which row and sample on, and ``samples`` is T.

    Parameters
    ----------
    signal_term : term
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

    signal_term: SignalTerm
    operator: BilinearOperator
    barrier: Barrier
    atom_terms: Sequence[Term]
    coefficient_terms: Sequence[Term]
    counts: Integers
    samples: int | None = None
    first: int = 0
    first_sample: int = 0

    def __post_init__(self) -> None:
        check_barrier(self.barrier)

    @cached_property
    def atom_priors(self) -> TermGroup:
        """The priors on atoms, sorted by how a solver can treat them."""
        return TermGroup(self.atom_terms)

    @cached_property
    def coefficient_priors(self) -> TermGroup:
        """The priors on coefficients, sorted by how a solver can treat them."""
        return TermGroup(self.coefficient_terms, self.counts, self.first_sample)

    @cached_property
    def shares(self) -> Floats:
        """Share ``p`` (rows,) of all samples that each row stands for."""
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
        return getattr(self.signal_term, "read_when_used", False)

    def part(self, rows: slice) -> Problem:
        """Return the problem of some rows; their shares stay those of all samples."""
        term = self.signal_term
        term = term.part(rows) if hasattr(term, "part") else _Rows(term, rows)
        counts = self.counts
        return replace(
            self, signal_term=term, counts=counts[rows], samples=self.total,
            first=self.first + rows.start,
            first_sample=self.first_sample + int(counts[: rows.start].sum()),
        )  # fmt: skip

    def check_priors(self, shape: tuple[int, ...], fixed: str | None = None) -> None:
        """Refuse by name priors that cannot work, for atoms (K, E) of this ``shape``."""
        check_coefficient_priors(self.coefficient_priors, shape[0], self.total)
        if fixed != "atoms":
            check_atom_priors(self, *shape)

    @cached_property
    def linear(self) -> Any:
        """The map of single graphs that the operator lifts; None where it is of another kind."""
        return linear_of(self.operator)

    def atom_images(self, atoms: Floats) -> Floats | None:
        """Return ``M(W)`` (K, ...), what the operator sees of each atom, if it lifts an ``M``."""
        return None if self.linear is None else self.linear.apply(atoms)

    images = atom_images  # its earlier name

    def share_weighted(self, rows: slice, coefficients: Floats) -> Floats:
        """Return ``p Delta``: coefficients of some rows, times the share of each row."""
        shares = self.shares[rows, None].astype(coefficients.dtype, copy=False)
        return shares * coefficients

    def weighted_distances(self, rows: slice, coefficients: Floats) -> Floats:
        """Return ``(p Delta)' Z`` (K, E) of some rows."""
        weighted = self.share_weighted(rows, coefficients)
        result: Floats = self.signal_term.weighted_distances(weighted, rows)
        return result

    def objective(self, coefficients: Floats, atoms: Floats) -> float:
        """Return the objective ``F`` at coefficients (T, K) and atoms (K, E)."""
        energies = self.signal_term.energies(atoms)
        fit = np.einsum("tk,tk->t", coefficients, energies, dtype=np.float64)
        barriers = row_barriers(self.operator, self.barrier, coefficients, atoms)
        samples = float(self.shares @ (fit + barriers))
        return samples + self.priors_value(coefficients, atoms)

    def samples_value(
        self, rows: slice, coefficients: Floats, energies: Floats, image: Floats
    ) -> float:
        """Return what some rows add to ``F``, from their ``e(W)`` and their ``image``.

        That is ``A(Delta, W)``, what the operator sees of each row's mixture of atoms.
        """
        fit = np.einsum("tk,tk->t", coefficients, energies, dtype=np.float64)
        return float(self.shares[rows] @ (fit + self.barrier.values(image)))

    def rows_value(
        self, rows: slice, coefficients: Floats, energies: Floats, atoms: Floats
    ) -> float:
        """Return what some rows add to ``F``, priors on their coefficients included."""
        mixed_images = self.operator.forward(coefficients, atoms)
        value = self.samples_value(rows, coefficients, energies, mixed_images)
        return value + self.coefficient_priors.value(coefficients, rows) / self.total

    def priors_value(self, coefficients: Floats, atoms: Floats) -> float:
        """Return what the priors add to ``F``."""
        per_sample = self.coefficient_priors.value(coefficients) / self.total
        return self.atom_priors.value(atoms) + per_sample


class _Rows:
    """Some rows of a signal term that cannot be cut itself."""

    def __init__(self, signal_term: SignalTerm, rows: slice):
        self.signal_term = signal_term
        self.start, self.stop, _ = rows.indices(rows.stop)

    def energies(self, atoms: Floats, rows: slice = ALL) -> Floats:
        result: Floats = self.signal_term.energies(atoms, self._all(rows))
        return result

    def weighted_distances(self, coefficients: Floats, rows: slice = ALL) -> Floats:
        result: Floats = self.signal_term.weighted_distances(coefficients, self._all(rows))
        return result

    def _all(self, rows: slice) -> slice:
        start, stop, _ = rows.indices(self.stop - self.start)
        return slice(self.start + start, self.start + stop)


def row_barriers(
    operator: BilinearOperator, barrier: Barrier, coefficients: Floats, atoms: Floats
) -> Floats:
    """Return ``h(A(delta, W))`` of every row, found a block at a time since images may be large."""
    row_bytes = operator.forward(coefficients[:1], atoms).nbytes
    size = max(1, BLOCK_BYTES // row_bytes)
    parts = [
        barrier.values(operator.forward(coefficients[start : start + size], atoms))
        for start in range(0, len(coefficients), size)
    ]
    return np.concatenate(parts)
