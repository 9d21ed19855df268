"""Whether the parts of a likelihood fit each other: tried on small graphs before a fit begins."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphdict.core import graphs
from graphdict.core.annotations import Floats
from graphdict.core.likelihoods import Likelihood
from graphdict.core.prior_checks import check_barrier
from graphdict.core.terms.base import prox

STEP = 1e-3  # of finite differences of two orders, relative to an atom
ASIDE = 1e-2  # how far from a proximal point its neighbours are, relatively
MIXTURES = np.array([[0.5, 0.5], [1.0, 0.2], [0.3, 0.9]])


def check_likelihood(likelihood: Likelihood, nodes: int, windows: bool = False) -> None:
    """Refuse by name a likelihood whose parts do not fit each other.

    The map, the barrier and whatever derivatives it has are tried on three mixtures of two complete
    graphs: shapes must be right, derivatives those of ``values``, and a prox must be minimal. The
    signal term is tried on three random signals, with ``windows`` also on windows of them.
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
        _expect(name, "rest(signals)", likelihood.rest(np.zeros((3, nodes))), (3,))
        _check_signal_term(name, likelihood, atoms, windows)
    except (IndexError, ValueError) as error:
        raise TypeError(
            f"the likelihood {name} cannot be used on graphs of {nodes} nodes, those that vary: "
            f"{error}. One with numbers for each node needs on_nodes(active)"
        ) from error


def _check_map(name: str, linear: Any, atoms: Floats) -> Floats:
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


def _check_barrier(name: str, barrier: Any, images: Floats) -> None:
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


def _check_prox(name: str, barrier: Any, rows: Floats, moves: Floats) -> None:
    """Raise where neighbours of the prox have less of what it should minimise."""
    step = float(np.square(rows).mean())  # so that the two parts of the cost weigh alike
    point = prox(barrier, rows, step)
    _expect(name, "prox(rows, step)", point, rows.shape)
    if not np.isfinite(point).all():
        raise TypeError(
            f"prox(rows, step) (or prox_conjugate) of the barrier of {name} returns numbers "
            "that are not finite, for rows of graphs that join all nodes"
        )

    def cost(x: Floats) -> Floats:
        away = np.square(x - rows).reshape(3, -1).sum(axis=1)
        return step * barrier.values(x) + away / 2

    least = cost(point)
    for move in (ASIDE * (rows - point), -ASIDE * point, *moves, *-moves):
        if (cost(point + move) < least - 1e-9 * (1 + np.abs(least))).any():
            raise TypeError(
                f"prox(rows, step) (or prox_conjugate) of the barrier of {name} does not minimise "
                "step * values(u) + |u - rows|^2 / 2: a neighbour of what it returns has less"
            )


def _check_signal_term(name: str, likelihood: Likelihood, atoms: Floats, windows: bool) -> None:
    """Raise where the term is not linear in graphs, row by row, or windows are not means."""
    signals = np.random.default_rng(2).standard_normal((3, graphs.n_nodes(atoms.shape[1])))
    signals -= signals.mean(axis=1, keepdims=True)

    def energies_of(counts: list[int]) -> Floats:
        term = likelihood.signal_term(signals, np.array(counts), keep=None, gaps=None)
        return _check_rows(f"signal_term(signals, counts={counts}) of {name}", term, atoms, counts)

    alone = energies_of([1, 1, 1])
    if not windows:
        return
    found, wanted = energies_of([2, 1])[0], alone[:2].mean(axis=0)
    if not np.allclose(found, wanted, rtol=1e-4):
        raise TypeError(
            f"signal_term(signals, counts) of {name} has energies of a window, {found[0]:.4g}, "
            f"that are not the mean of those of its samples, {wanted[0]:.4g}"
        )


def _check_rows(what: str, term: Any, atoms: Floats, counts: list[int]) -> Floats:
    """Return the energies (B, 2) of a signal term of B rows, once it is known to be one."""
    for method in ("energies", "weighted_distances", "features"):
        if not callable(getattr(term, method, None)):
            raise TypeError(
                f"{what} returns a {type(term).__name__}, which lacks {method}; "
                "graphdict.terms.CachedSmoothness(distances) has all that is needed"
            )
    coefficients = np.random.default_rng(3).random((len(counts), 2))
    energies = term.energies(atoms, slice(0, len(counts)))
    for rows in (slice(0, len(counts)), slice(1, 2)):
        some, found = coefficients[rows], term.energies(atoms, rows)
        _expect(what, f"energies(atoms, {rows})", found, some.shape)
        distances = term.weighted_distances(some, rows)
        _expect(what, f"weighted_distances(coefficients, {rows})", distances, atoms.shape)
        if not (found >= 0).all():
            raise TypeError(
                f"energies(atoms, rows) of {what} are {found.min():.4g} for graphs of positive "
                "weights: they must be numbers from 0 on"
            )
        sums = [float(np.vdot(some, energies[rows])), float(np.vdot(distances, atoms))]
        agree = np.isclose(sums[0], sums[1], rtol=1e-4)
        if not (agree and np.allclose(found, energies[rows], rtol=1e-4)):
            raise TypeError(
                f"energies and weighted_distances of {what} contradict each other for {rows}: "
                f"<coefficients, energies(atoms)> is {sums[0]:.4g}, and "
                f"<weighted_distances(coefficients), atoms> is {sums[1]:.4g}"
            )
        features = term.features(rows)
        wanted = (len(some), *(np.shape(features)[1:2] or (1,)))
        _expect(what, f"features({rows})", features, wanted)
    result: Floats = energies
    return result


def _compare(name: str, method: str, what: str, found: Floats, wanted: Floats) -> None:
    """Raise TypeError where a derivative of the barrier is not that of finite differences."""
    if np.isfinite(wanted).all() and not np.allclose(found, wanted, rtol=1e-2, atol=1e-4):
        raise TypeError(
            f"{method} of the barrier of {name} must be {what} of values(rows): along an atom it "
            f"says {found.flat[0]:.4g}, and finite differences {wanted.flat[0]:.4g}"
        )


def _expect(name: str, method: str, found: Any, wanted: tuple[int, ...]) -> None:
    """Raise TypeError where what a method returned is not an array of the wanted shape."""
    if not isinstance(found, np.ndarray) or found.shape != wanted:
        kind = "" if isinstance(found, np.ndarray) else f"a {type(found).__name__} of "
        raise TypeError(
            f"{method} of {name} returns {kind}shape {np.shape(found)} for three samples and two "
            f"atoms, which should be an array of shape {wanted}"
        )
