"""Whether the parts of a likelihood fit each other: tried on small graphs before a fit begins."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.core import graphs
from graphdict.core.likelihoods import Likelihood
from graphdict.core.prior_checks import check_barrier
from graphdict.core.terms.base import prox

__all__ = ["check_likelihood"]

STEP = 1e-3  # of finite differences of two orders, relative to an atom
ASIDE = 1e-2  # how far from a proximal point its neighbours are, relatively
SIZES = (1e-2, 1.0, 1e2)  # of graphs on which a barrier must decrease
MIXTURES = np.array([[0.5, 0.5], [1.0, 0.2], [0.3, 0.9]])


def check_likelihood(likelihood: Likelihood, nodes: int) -> None:
    """Refuse by name a likelihood whose parts do not fit each other.

    The map, the barrier and whatever derivatives it has are tried on three mixtures of two complete
    graphs: shapes must be right, derivatives those of ``values``, and a prox must be minimal.
    """
    name = type(likelihood).__name__
    if not isinstance(likelihood, Likelihood):
        raise TypeError(f"on_nodes(active) of a likelihood must return a Likelihood, not {name}")
    if not hasattr(likelihood, "barrier"):
        raise TypeError(f"the likelihood {name} lacks a barrier: set self.barrier in __init__")
    barrier = likelihood.barrier
    check_barrier(barrier)
    try:
        atoms = 1 + np.random.default_rng(0).random((2, graphs.n_edges(nodes)))
        linear = likelihood.linear_map(nodes)
        images = _check_map(name, linear, atoms)
        _check_barrier(name, barrier, images)
        if hasattr(barrier, "slope"):
            _check_decrease(name, linear, barrier, np.tensordot(MIXTURES, images, 1))
        _expect(name, "rest(signals)", likelihood.rest(np.zeros((3, nodes))), (3,))
    except (IndexError, ValueError) as error:
        raise TypeError(
            f"the likelihood {name} cannot be used on graphs of {nodes} nodes, those that vary: "
            f"{error}. One with numbers for each node needs on_nodes(active)"
        ) from error


def _check_map(name: str, linear: Any, atoms: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the images (2, ...) of two atoms, once the map is known to be one."""
    for part in ("apply", "adjoint", "norm"):
        if not hasattr(linear, part):
            raise TypeError(f"the linear map of {name} lacks {part}")
    if callable(linear.norm):
        raise TypeError(f"norm of the linear map of {name} must be a property, not a method")
    images = linear.apply(atoms)
    _expect(name, "apply(weights) of the linear map", images, (2, *np.shape(images)[1:]))
    values = np.random.default_rng(1).random(images.shape)
    pulled = linear.adjoint(values)
    _expect(name, "adjoint(values) of the linear map", pulled, atoms.shape)
    forward, backward = float(np.vdot(images, values)), float(np.vdot(atoms, pulled))
    if not np.isclose(forward, backward, rtol=1e-4):
        raise TypeError(
            f"adjoint of the linear map of {name} is not the adjoint of apply: <apply(w), y> is "
            f"{forward:.4g} and <w, adjoint(y)> is {backward:.4g}"
        )
    stretch = float(np.linalg.norm(images[0]) / np.linalg.norm(atoms[0]))
    if not linear.norm >= stretch * (1 - 1e-4):
        raise TypeError(
            f"norm of the linear map of {name} is {linear.norm:.4g}, but apply makes a graph "
            f"{stretch:.4g} times as large: it must be the largest singular value, or a bound"
        )
    return images


def _check_barrier(name: str, barrier: Any, images: NDArray[np.float64]) -> None:
    rows = np.tensordot(MIXTURES, images, 1)
    values = barrier.values(rows)
    _expect(name, "values(rows)", values, (3,))
    if not np.isfinite(values).any():
        raise TypeError(
            f"values(rows) of the barrier of {name} are {values[0]} for graphs that "
            "join all nodes: they must be numbers there"
        )
    ahead, behind = (barrier.values(rows + s * images[:1]) for s in (STEP, -STEP))
    if hasattr(barrier, "slope"):
        slope = barrier.slope(rows)
        _expect(name, "slope(rows)", slope, rows.shape)
        found = -np.tensordot(slope.reshape(3, -1), images[0].reshape(-1), 1)
        change = (ahead - behind) / (2 * STEP)
        _compare(name, "slope(rows)", "minus the gradient", found, change)
    if hasattr(barrier, "curvature"):
        curvature = barrier.curvature(rows, images)
        _expect(name, "curvature(rows, images)", curvature, (3, 2, 2))
        bend = (ahead - 2 * values + behind) / STEP**2
        what = "the second derivative in the coefficients"
        _compare(name, "curvature(rows, images)", what, curvature[:, 0, 0], bend)
    _check_prox(name, barrier, rows, ASIDE * images)


def _check_decrease(name: str, linear: Any, barrier: Any, rows: NDArray[np.float64]) -> None:
    """Raise where a barrier that has a slope grows with some edge: MM would not descend."""
    for size in SIZES:
        inside = rows[np.isfinite(barrier.values(size * rows))] * size
        gain = linear.adjoint(barrier.slope(inside))
        if (gain < -1e-6 * np.abs(gain).max(initial=0)).any():
            raise TypeError(
                f"the barrier of {name} has slope(rows), by which solver='mm' descends, but it "
                "grows with the weight of some edge, where that needs a decreasing one: leave "
                "slope out, and solver='bipds' is used"
            )


def _check_prox(
    name: str, barrier: Any, rows: NDArray[np.float64], moves: NDArray[np.float64]
) -> None:
    """Raise where neighbours of the prox have less of what it should minimise."""
    step = float(np.square(rows).mean())  # so that the two parts of the cost weigh alike
    point = prox(barrier, rows, step)
    _expect(name, "prox(rows, step)", point, rows.shape)
    if not np.isfinite(point).all():
        raise TypeError(
            f"prox(rows, step) (or prox_conjugate) of the barrier of {name} returns numbers "
            "that are not finite, for rows of graphs that join all nodes"
        )

    def cost(x: NDArray[np.float64]) -> NDArray[np.float64]:
        away = np.square(x - rows).reshape(3, -1).sum(axis=1)
        return step * barrier.values(x) + away / 2

    least = cost(point)
    for move in (ASIDE * (rows - point), -ASIDE * point, *moves, *-moves):
        if (cost(point + move) < least - 1e-9 * (1 + np.abs(least))).any():
            raise TypeError(
                f"prox(rows, step) (or prox_conjugate) of the barrier of {name} does not minimise "
                "step * values(u) + |u - rows|^2 / 2: a neighbour of what it returns has less"
            )


def _compare(
    name: str, method: str, what: str, found: NDArray[np.float64], wanted: NDArray[np.float64]
) -> None:
    if np.isfinite(wanted).all() and not np.allclose(found, wanted, rtol=1e-2, atol=1e-4):
        raise TypeError(
            f"{method} of the barrier of {name} must be {what} of values(rows): along an atom it "
            f"says {found.flat[0]:.4g}, and finite differences {wanted.flat[0]:.4g}"
        )


def _expect(name: str, method: str, found: Any, wanted: tuple[int, ...]) -> None:
    if not isinstance(found, np.ndarray) or found.shape != wanted:
        kind = "" if isinstance(found, np.ndarray) else f"a {type(found).__name__} of "
        raise TypeError(
            f"{method} of {name} returns {kind}shape {np.shape(found)} for three samples and two "
            f"atoms, which should be an array of shape {wanted}"
        )
