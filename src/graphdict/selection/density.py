"""Choose the penalty that gives atoms a wanted degree or density, by bisection."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from graphdict.core import graphs
from graphdict.core.annotations import Floats
from graphdict.metrics import cosines
from graphdict.results import WEAK, thresholded_atoms
from graphdict.selection.trials import as_array, fit_quietly

if TYPE_CHECKING:  # pragma: no cover
    from graphdict.models.base import GraphDictionary

TOLERANCE = 0.05  # relative error of the density
SAME_GRAPH = 0.95  # cosine from which two atoms count as the same graph
CONSTANT = 0.02  # deviation of coefficients below which all samples have the same graph
MAX_FITS = 12
DECADES = {"sparsity": (-3.0, 3.0), "alpha_w": (-2.0, 3.0)}  # of the penalties to try


def densities(atoms: Floats, active: Floats | None = None) -> Floats:
    """Return the density of each atom: the share of node pairs that are joined by an edge.

    Weights below one hundredth of the atom's largest do not count as edges. The average degree is
    the density times the number of nodes minus one.

    Parameters
    ----------
    atoms : array (K, E)
        Edge weights.
    active : boolean array (N,), optional
        Nodes that can have edges; all by default.

    Returns
    -------
    array (K,)
    """
    atoms = np.atleast_2d(atoms)
    nodes = graphs.n_nodes(atoms.shape[1]) if active is None else int(np.sum(active))
    sizes = np.abs(atoms)
    largest = sizes.max(axis=1, keepdims=True)
    result: Floats = ((sizes > WEAK * largest) & (sizes > 0)).sum(axis=1) / graphs.n_edges(nodes)
    return result


@dataclass(frozen=True)
class PenaltyChoice:
    """The penalty chosen by :func:`choose_penalty`.

    Attributes
    ----------
    name : str
        Name of the setting: ``sparsity`` of the marginal model, ``alpha_w`` of the others.
    value : float
        The chosen penalty.
    density, degree : float
        Mean density and mean degree of the atoms with this penalty.
    wanted : float
        The wanted density.
    tried : dict of float to float
        Mean density by penalty, for all penalties that were tried.
    """

    name: str
    value: float
    density: float
    degree: float
    wanted: float
    tried: dict[float, float] = field(default_factory=dict)

    @property
    def reached(self) -> bool:
        """Whether the density is within ten percent of the wanted one."""
        return abs(self.density - self.wanted) <= 2 * TOLERANCE * self.wanted


def choose_penalty(
    model: GraphDictionary,
    X: ArrayLike,
    *,
    degree: float | None = None,
    density: float | None = None,
    report: Callable[[str], None] | None = None,
) -> PenaltyChoice:
    """Choose the penalty that gives atoms the wanted average degree or density.

    Fits the model to ``X`` for a few penalties, by bisection of the logarithm of the penalty. More
    ``sparsity`` of the marginal model means fewer edges. ``alpha_w`` of the others makes graphs
    sparser at first and then denser, since it reduces the contrast between weights. Of several
    suitable penalties the smallest is taken, and none that makes all atoms the same graph. Where no
    penalty gives the wanted density, the nearest is returned, and ``reached`` is false.

    Parameters
    ----------
    model : unfitted graph dictionary
        It is cloned; its other settings are kept.
    X : array (T, N)
        Signals.
    degree, density : float
        One of the two: number of neighbours of a node, or share of joined node pairs, averaged over
        atoms.
    report : callable, optional
        Called with a line of text for each penalty that is tried.

    Returns
    -------
    PenaltyChoice
        Use as ``model.set_params(**{choice.name: choice.value})``.
    """
    if (degree is None) == (density is None):
        raise ValueError(f"give either degree or density, got {degree=} and {density=}")
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
    same_graph: set[float] = set()

    def gap(exponent: float) -> float:
        value = float(10.0**exponent)
        if value not in tried:
            tried[value], same = _trial(model, X, name, value)
            same_graph.update([value] if same else [])
            if report is not None:
                found = f"average degree {tried[value] * (nodes - 1):.2f}"
                but = ", but all atoms are the same graph" if same else ""
                report(f"{name} {value:.3g} gives {found}{but}")
        return np.inf if value in same_graph else tried[value] / density - 1

    _bisect(gap, DECADES[name], rising=name == "alpha_w", budget=MAX_FITS)
    usable = [v for v in tried if v not in same_graph] or list(tried)
    value = min(usable, key=lambda v: (abs(tried[v] - density) > TOLERANCE * density and
                                      abs(tried[v] - density), v))  # fmt: skip
    return PenaltyChoice(name, value, tried[value], tried[value] * (nodes - 1), density, tried)


def _trial(model: Any, X: ArrayLike, name: str, value: float) -> tuple[float, bool]:
    """Return the mean density of the atoms with a penalty, and whether all are the same graph."""
    trial = clone(model).set_params(**{name: value})
    fit_quietly(trial, X)
    alike = cosines(trial.atoms_, trial.atoms_)
    constant = float(np.std(trial.coefficients_, axis=0).max()) < CONSTANT
    same = len(alike) > 1 and (constant or float(alike.min()) > SAME_GRAPH)
    atoms = thresholded_atoms(trial, min_confidence=0)
    return float(densities(atoms, trial.active_nodes_).mean()), same


def _bisect(
    gap: Callable[[float], float], decades: tuple[float, float], rising: bool, budget: int
) -> None:
    """Evaluate ``gap``, a function of the exponent of the penalty, ever closer to its root.

    Starts at 0, steps by 1 to a change of sign, then halves the interval. ``rising`` is whether
    ``gap`` increases with the exponent (beyond its minimum).
    """
    low, high = decades
    here, value = 0.0, gap(0.0)
    if abs(value) <= TOLERANCE:
        return
    up = (value > 0) != rising  # the direction of a change of sign
    there, other = here, value
    for _ in range(budget):
        there = here + 1 if up else here - 1
        if not low <= there <= high:
            return
        other = gap(there)
        if (other > 0) != (value > 0) or abs(other) <= TOLERANCE:
            break
        here, value = there, other
    for _ in range(budget // 2):
        if abs(other) <= TOLERANCE or abs(value) <= TOLERANCE:
            return
        middle = (here + there) / 2
        found = gap(middle)
        if (found > 0) == (value > 0):
            here, value = middle, found
        else:
            there, other = middle, found
