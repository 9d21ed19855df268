"""What a term is: a function to be minimised that knows its value and one way to descend it.

A term of the objective is any object with

    value(x) -> float                     the function itself, ``inf`` outside its domain

and at least one of

    prox(x, step)                         argmin_u  step * value(u) + |u - x|^2 / 2
    prox_conjugate(y, step)               the same for the convex conjugate of ``value``
    gradient(x) and lipschitz(x)          of a smooth term; the bound may depend on x or its shape

No base class is needed. Either prox gives the other by Moreau's identity, through :func:`prox`
and :func:`prox_conjugate` below. Optional attributes let a solver combine the proximal operators of
several terms exactly instead of splitting them, and ask a term about some samples at a time:

    interval = (low, high)                the term is the constraint low <= x <= high
    elementwise = True                    the term is a sum of one and the same function over all
                                          entries, whatever the shape of x
    entrywise = True                      the term is a sum of separate functions, one for each
                                          entry. Methods take one more argument, ``rows``: the
                                          slice of all samples (or atoms) that x holds
    precedes_elementwise = True           equal neighbours stay equal, so that the prox of the sum
                                          with an elementwise term is that term's prox afterwards
                                          (total variation, constancy over windows)
    never_split = True                    the term's own prox is taken, and other proximable terms
                                          are split off: every iterate satisfies this constraint

A term without any of these is always given the whole array. A subclass of a term inherits them and
may be another function all the same: whoever knows a formula of one class asks :func:`is_exactly`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

from graphdict.core.annotations import Floats

ALL = slice(None)
MARKERS = ("elementwise", "entrywise", "precedes_elementwise", "never_split")


class Barrier(Protocol):
    """``h``: a convex function of what the likelihood sees of a graph, one sample in each row.

    It also has ``prox(rows, step)`` or ``prox_conjugate(dual, step)``, both as those of a term.
    With ``slope(rows)``, minus the gradient in the shape of the rows, solver="mm" has its updates,
    and with ``curvature(rows, images)`` besides, the Hessians (T, K, K) in the coefficients of K
    atoms with these images (K, ...), coding takes Newton steps. Rows are (T, ...), and each
    sample's numbers depend on its own row alone. A ``kind`` is for compiled backends, as in
    :class:`SignalTerm`.
    """

    @property
    def values(self) -> Callable[[Floats], Floats]:
        """Return the barrier of each row (T,), ``inf`` outside its domain."""


class SignalTerm(Protocol):
    """How much signals vary over graphs: ``<delta_t, e_t(W)>``, linear in each of the two.

    A fit also needs ``features(rows)``, by which samples are clustered where it begins, and a term
    that can be cut has ``part(rows)``, the term of these rows alone. One that is costly to keep
    says ``read_when_used = True``, and one whose samples are elsewhere brings their ``executor``.
    Rows are those of the problem: samples, or windows of them.

    Three attributes choose a compiled backend (:mod:`graphdict.engine.backends`), without which
    there is none: ``kind``, what a class says of itself in its own body; ``stands_for``, the class
    whose kind counts, where that of the term itself says nothing since it only reads samples when
    they are used; and ``dtype``, the precision of the samples, in which all is then computed.
    """

    @property
    def energies(self) -> Callable[..., Floats]:
        """Return ``e(W)`` (T, K) of ``(atoms, rows)``, the gradient in the coefficients."""

    @property
    def weighted_distances(self) -> Callable[..., Floats]:
        """Return the gradient in the atoms (K, E) of ``(coefficients, rows)``."""


def proximable(term: Any) -> bool:
    """Whether the term has a proximal operator, directly or through its conjugate."""
    return hasattr(term, "prox") or hasattr(term, "prox_conjugate")


def smooth(term: Any) -> bool:
    """Whether the term has a gradient and a bound on its Lipschitz constant."""
    return hasattr(term, "gradient") and hasattr(term, "lipschitz")


def name_of(term: Any) -> str:
    """Return the name of a term in messages."""
    return getattr(term, "__name__", type(term).__name__)


def is_exactly(term: Any, *kinds: type) -> bool:
    """Whether a term is of one of these classes itself: a subclass may be another function."""
    return type(term) in kinds


def total_alpha(terms: Iterable[Any], *kinds: type) -> float:
    """Return the sum of the ``alpha`` of those terms that are exactly of these classes."""
    return float(sum(term.alpha for term in terms if is_exactly(term, *kinds)))


def entrywise(term: Any) -> bool:
    """Whether the term is a sum of separate functions of the entries, and is given the rows."""
    return bool(getattr(term, "entrywise", False))


def sums_over_entries(term: Any) -> bool:
    """Whether the term is a sum over entries, of one function or of separate ones."""
    return bool(getattr(term, "elementwise", False)) or entrywise(term)


def value(term: Any, x: Floats, rows: slice = ALL) -> float:
    """Return the term at ``x``, which holds the given rows of all."""
    result: float = _call(term, "value", x, rows)
    return result


def gradient(term: Any, x: Floats, rows: slice = ALL) -> Floats:
    """Return the gradient of a smooth term."""
    result: Floats = _call(term, "gradient", x, rows)
    return result


def lipschitz(term: Any, x: Floats, rows: slice = ALL) -> float:
    """Return the Lipschitz constant of the gradient of a smooth term."""
    result: float = _call(term, "lipschitz", x, rows)
    return result


def prox(term: Any, x: Floats, step: float, rows: slice = ALL) -> Floats:
    """Apply the prox of ``step * term``, by Moreau's identity where only the dual's is known.

    Parameters
    ----------
    term : term
    x : array
    step : float
    rows : slice, optional
        The rows of all that ``x`` holds, for terms that are ``entrywise``.

    Returns
    -------
    array like ``x``
    """
    if hasattr(term, "prox"):
        result: Floats = _call(term, "prox", x, rows, step)
        return result
    result = x - step * _call(term, "prox_conjugate", x / step, rows, 1 / step)
    return result


def prox_conjugate(term: Any, y: Floats, step: float, rows: slice = ALL) -> Floats:
    """Apply the prox of ``step * term*``, by Moreau's identity where only the primal's is known.

    Parameters
    ----------
    term : term
    y : array
    step : float
    rows : slice, optional
        The rows of all that ``y`` holds, for terms that are ``entrywise``.

    Returns
    -------
    array like ``y``
    """
    if hasattr(term, "prox_conjugate"):
        result: Floats = _call(term, "prox_conjugate", y, rows, step)
        return result
    result = y - step * _call(term, "prox", y / step, rows, 1 / step)
    return result


def _call(term: Any, method: str, x: Floats, rows: slice, *step: float) -> Any:
    """Call a method of a term, with ``rows`` if it is entrywise; its errors name the term."""
    try:
        return getattr(term, method)(x, *step, *((rows,) if entrywise(term) else ()))
    except (IndexError, TypeError, ValueError) as error:
        raise ValueError(
            f"{method} of the term {name_of(term)} fails on an array of shape {x.shape}: {error}"
        ) from error
