"""The penalty of atoms that have a wanted degree or density, by bisection."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from graphdict.core import graphs
from graphdict.results import held_atoms
from graphdict.selection.trials import as_array, fit_quietly

__all__ = ["EDGE", "PenaltyChoice", "choose_penalty", "densities"]

EDGE = 0.01  # of the largest weight of an atom: less is hardly an edge
CLOSE = 0.05  # relative error of the density that is close enough
ALIKE = 0.95  # cosine from which two atoms are one graph
IDLE = 0.02  # variation of coefficients below which all samples have the same graph
TRIALS = 12
DECADES = {"sparsity": (-3.0, 3.0), "alpha_w": (-2.0, 3.0)}  # of the penalties to try


def densities(atoms: NDArray, active: NDArray | None = None) -> NDArray:
    """Share of all pairs of nodes that each atom (K, E) joins.

    An edge counts from one hundredth of the atom's largest weight. ``active`` (N,) marks the nodes
    that can have edges. The average degree is the density times the number of nodes minus one.
    """
    atoms = np.atleast_2d(atoms)
    nodes = graphs.n_nodes(atoms.shape[1]) if active is None else int(np.sum(active))
    largest = atoms.max(axis=1, keepdims=True)
    return ((atoms > EDGE * largest) & (atoms > 0)).sum(axis=1) / graphs.n_edges(nodes)


@dataclass(frozen=True)
class PenaltyChoice:
    """The penalty that was chosen, and what it gave."""

    name: str
    """The setting: ``sparsity`` of the marginal model, ``alpha_w`` of the others."""
    value: float
    density: float
    """Mean density of the atoms that was reached."""
    degree: float
    """Mean degree that was reached."""
    wanted: float
    """The density that was asked for."""
    tried: dict[float, float] = field(default_factory=dict)
    """Density by penalty."""

    @property
    def reached(self) -> bool:
        """Whether it is within ten percent of what was asked for."""
        return abs(self.density - self.wanted) <= 2 * CLOSE * self.wanted


def choose_penalty(
    model: Any,
    X: ArrayLike,
    *,
    degree: float | None = None,
    density: float | None = None,
    report: Callable[[str], None] | None = None,
) -> PenaltyChoice:
    """The penalty of a dictionary whose atoms have the wanted average degree, or density.

    Fits the model to ``X`` for a few penalties and closes in on the wanted density by halving the
    logarithm of the penalty between two that lie on either side. For the marginal model more
    ``sparsity`` means fewer edges. For the others ``alpha_w`` first thins the graphs a little and
    then fills them, since a pull on all weights alike blurs the contrast between pairs; of several
    penalties that would do, the smallest is taken, and none that makes all atoms the same graph.
    Where no penalty gives the wanted density, the nearest is returned, and ``reached`` is false.

    Parameters
    ----------
    model : a dictionary
        Not changed. Its other settings are kept.
    X : array (T, N)
        Signals.
    degree, density : float
        One of the two: neighbours of a node, or share of all pairs, on average over atoms.
    report : callable, optional
        Told in words what is tried.

    Returns
    -------
    PenaltyChoice
        Use as ``model.set_params(**{choice.name: choice.value})``.
    """
    if (degree is None) == (density is None):
        raise ValueError(f"give degree or density, one of them; got {degree=} and {density=}")
    samples = as_array(model, X)
    varies = np.fmax.reduce(samples, axis=0) > np.fmin.reduce(samples, axis=0)
    nodes = int(varies.sum())  # those that can have edges
    if nodes < 2:
        raise ValueError(f"X has {nodes} node(s) that vary; edges need at least 2")
    if degree is not None:
        if not 0 < degree <= nodes - 1:
            raise ValueError(f"degree must lie in (0, {nodes - 1}] for {nodes} nodes, got {degree}")
        density = degree / (nodes - 1)
    assert density is not None
    if not 0 < density <= 1:
        raise ValueError(f"density must lie in (0, 1], got {density}")
    name = "sparsity" if "sparsity" in model.get_params() else "alpha_w"
    if name not in model.get_params() or not hasattr(model, "n_init"):
        raise ValueError(f"{type(model).__name__} has no penalty to choose; set its own")
    tried: dict[float, float] = {}
    alike: set[float] = set()

    def gap(exponent: float) -> float:
        value = float(10.0**exponent)
        if value not in tried:
            tried[value], same = _trial(model, X, name, value)
            alike.update([value] if same else [])
            if report is not None:
                found = f"average degree {tried[value] * (nodes - 1):.2f}"
                but = ", but all the same graph" if same else ""
                report(f"{name} {value:.3g} gives atoms of {found}{but}")
        return np.inf if value in alike else tried[value] / density - 1

    _close_in(gap, DECADES[name], rising=name == "alpha_w", budget=TRIALS)
    usable = [v for v in tried if v not in alike] or list(tried)
    value = min(usable, key=lambda v: (abs(tried[v] - density) > CLOSE * density and
                                      abs(tried[v] - density), v))  # fmt: skip
    return PenaltyChoice(name, value, tried[value], tried[value] * (nodes - 1), density, tried)


def _trial(model: Any, X: ArrayLike, name: str, value: float) -> tuple[float, bool]:
    """Mean density of the atoms with a penalty, and whether they have become one graph."""
    trial = clone(model).set_params(**{name: value})
    fit_quietly(trial, X)
    norms = np.linalg.norm(trial.atoms_, axis=1, keepdims=True)
    unit = trial.atoms_ / np.where(norms > 0, norms, 1)
    idle = float(np.std(trial.coefficients_, axis=0).max()) < IDLE
    same = len(unit) > 1 and (idle or float((unit @ unit.T).min()) > ALIKE)
    return float(densities(held_atoms(trial), trial.active_nodes_).mean()), same


def _close_in(
    gap: Callable[[float], float], decades: tuple[float, float], rising: bool, budget: int
) -> None:
    """Evaluate ``gap`` at ever closer points around its root, from 1 outwards.

    It falls (or, beyond its least value, rises) with the exponent; the first step tells the side.
    """
    low, high = decades
    here, value = 0.0, gap(0.0)
    if abs(value) <= CLOSE:
        return
    up = (value > 0) != rising  # where to go for a gap of the other sign
    there, other = here, value
    for _ in range(budget):
        there = here + 1 if up else here - 1
        if not low <= there <= high:
            return
        other = gap(there)
        if (other > 0) != (value > 0) or abs(other) <= CLOSE:
            break
        here, value = there, other
    for _ in range(budget // 2):
        if abs(other) <= CLOSE or abs(value) <= CLOSE:
            return
        middle = (here + there) / 2
        found = gap(middle)
        if (found > 0) == (value > 0):
            here, value = middle, found
        else:
            there, other = middle, found
