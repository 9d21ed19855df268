"""The terms of one variable, sorted by how a proximal solver can treat them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from graphdict.core.annotations import Floats, Integers
from graphdict.core.prior_checks import check_term
from graphdict.core.terms import base
from graphdict.core.terms.coefficients import window_means
from graphdict.core.terms.constraints import L1, Interval, NonNegative, Sum, UnitBox

ALL = slice(None)


class Box(NamedTuple):
    """An interval that holds every entry of a variable, and the penalties that are linear in it.

    Compiled loops unpack the fields in this order: ``Box`` in primal_dual_arrays.hpp.
    """

    low: float
    high: float
    alpha: float  # strength of the penalties that enter by their prox
    slope: float  # of those that enter by their gradient


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
    counts: Integers | None
    smooth: tuple[Any, ...]
    direct: tuple[Any, ...]
    split: tuple[Any, ...]

    def __init__(self, terms: Sequence[Any], counts: Integers | None = None, first_sample: int = 0):
        for term in terms:
            check_term(term)
        self.terms = tuple(terms)
        self.counts = None if counts is None or np.all(counts == 1) else counts
        self.first_sample = first_sample
        intervals = [t for t in terms if hasattr(t, "interval")]
        sums = [t for t in terms if base.sums_over_entries(t)]
        if len(sums) > 1 and any(t.interval[0] >= 0 for t in intervals):
            # Only one can be composed: a norm that is linear there makes room for the other.
            terms = [t.on_nonnegatives() if base.is_exactly(t, L1) else t for t in terms]
            sums = [t for t in sums if not base.is_exactly(t, L1)]
        before = [t for t in terms if getattr(t, "precedes_elementwise", False)]
        if before:  # what differs from row to row does not keep equal neighbours equal
            sums = [t for t in sums if not base.entrywise(t)]
        rest = [t for t in terms if base.proximable(t)]
        self.smooth = tuple(t for t in terms if base.smooth(t) and not base.proximable(t))
        composed = [t for t in sums if base.proximable(t)]
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
        kinds = Interval, NonNegative, UnitBox, L1
        simple = bool(self.terms) and all(base.is_exactly(term, *kinds) for term in self.terms)
        if self.counts is not None or self.split or not simple:
            return None
        low = max((term.low for term in self.terms if isinstance(term, Interval)), default=-np.inf)
        high = min((term.high for term in self.terms if isinstance(term, Interval)), default=np.inf)
        alpha = sum(term.alpha for term in self.direct if base.is_exactly(term, L1))
        slope = sum(term.alpha for term in self.smooth)
        return Box(low, high, alpha, slope) if 0 <= low <= high else None

    @cached_property
    def separable(self) -> bool:
        """Whether no term ties rows together, as far as terms say."""
        return all(base.is_exactly(term, Sum) for term in self.smooth) and all(
            hasattr(term, "interval") or base.sums_over_entries(term) for term in self.terms
        )

    def value(self, x: Floats, rows: slice = ALL) -> float:
        """Return the sum of the terms, of which ``x`` holds the given rows."""
        x, samples = self._expand(x, rows), self._samples(rows, len(x))
        return float(sum(base.value(term, x, samples) for term in self.terms))

    def gradient(self, x: Floats, rows: slice = ALL) -> Floats | float:
        """Return the gradient of the smooth terms; zero where there are none."""
        if not self.smooth:
            return 0.0
        expanded, samples = self._expand(x, rows), self._samples(rows, len(x))
        found: Any = sum(base.gradient(term, expanded, samples) for term in self.smooth)
        return self._reduce(found, rows)

    def lipschitz(self, x: Floats) -> float:
        """Return the Lipschitz constant of the gradient of the smooth terms."""
        if not self.smooth:
            return 0.0
        expanded, samples = self._expand(x, ALL), self._samples(ALL, len(x))
        return float(sum(base.lipschitz(term, expanded, samples) for term in self.smooth))

    def prox(self, x: Floats, step: float, rows: slice = ALL) -> Floats:
        """Take the proximal step of the ``direct`` terms, composed."""
        for term in self.direct:
            x = self._prox(term, x, step, rows)
        return x

    def prox_conjugate(self, term: Any, dual: Floats, step: float, rows: slice = ALL) -> Floats:
        """Take a dual step of one of the ``split`` terms."""
        expanded, samples = self._expand(dual, rows), self._samples(rows, len(dual))
        return self._reduce(base.prox_conjugate(term, expanded, step, samples), rows)

    def _prox(self, term: Any, x: Floats, step: float, rows: slice) -> Floats:
        samples = self._samples(rows, len(x))
        if hasattr(term, "interval") or base.sums_over_entries(term):
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

    def _expand(self, x: Floats, rows: slice) -> Floats:
        return x if self.counts is None else np.repeat(x, self.counts[rows], axis=0)

    def _reduce(self, x: Floats, rows: slice) -> Floats:
        return x if self.counts is None else window_means(x, self.counts[rows])
