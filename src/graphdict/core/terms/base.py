"""What a term is: a function to be minimised that knows its value and one way to descend it.

A term of the objective is any object with

    value(x) -> float                     the function itself, ``inf`` outside its domain

and at least one of

    prox(x, step)                         argmin_u  step * value(u) + |u - x|^2 / 2
    prox_conjugate(y, step)               the same for the convex conjugate of ``value``
    gradient(x) and lipschitz(x)          of a smooth term; the bound may depend on x or its shape

No base class is needed. Either prox gives the other by Moreau's identity, through :func:`prox`
and :func:`prox_conjugate` below. Three optional attributes let a solver combine the proximal
operators of several terms exactly instead of splitting them:

    interval = (low, high)                the term is the constraint low <= x <= high
    elementwise = True                    the term is a sum of one function over all entries
    precedes_elementwise = True           equal neighbours stay equal, so that the prox of the sum
                                          with an elementwise term is that term's prox afterwards
                                          (total variation, constancy over windows)
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

__all__ = ["name_of", "prox", "prox_conjugate", "proximable", "smooth"]


def proximable(term: Any) -> bool:
    """Whether the term has a proximal operator, directly or through its conjugate."""
    return hasattr(term, "prox") or hasattr(term, "prox_conjugate")


def smooth(term: Any) -> bool:
    """Whether the term has a gradient and a bound on its Lipschitz constant."""
    return hasattr(term, "gradient") and hasattr(term, "lipschitz")


def name_of(term: Any) -> str:
    """The name by which messages call a term."""
    return getattr(term, "__name__", type(term).__name__)


def prox(term: Any, x: NDArray, step: float) -> NDArray:
    """Proximal operator of ``step * term``, by Moreau's identity where only the dual is known."""
    if hasattr(term, "prox"):
        return term.prox(x, step)
    return x - step * term.prox_conjugate(x / step, 1 / step)


def prox_conjugate(term: Any, y: NDArray, step: float) -> NDArray:
    """Proximal operator of ``step * term*``, by Moreau's identity where only the primal is."""
    if hasattr(term, "prox_conjugate"):
        return term.prox_conjugate(y, step)
    return y - step * term.prox(y / step, 1 / step)
