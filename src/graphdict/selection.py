"""Settings chosen from data: atoms of a wanted degree or density, and how many atoms there are.

The penalty that gives sparse graphs has no scale that people know. How many neighbours a node has, or
which share of all pairs is joined, they do know: the penalty is searched for that gives it. And how
many atoms there are is decided by signals that were not learned from.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from graphdict import graphs

__all__ = ["AtomsChoice", "PenaltyChoice", "choose_n_atoms", "choose_penalty", "densities"]

EDGE = 0.01  # of the largest weight of an atom: less is hardly an edge
CLOSE = 0.05  # relative error of the density that is close enough
TRIALS = 12
TRIAL_STARTS = 2
DECADES = {"sparsity": (-3.0, 3.0), "alpha_w": (-2.0, 3.0)}  # of the penalties to try
FOLDS = 5  # one block of samples in so many is held out
BLOCKS = 20
MOST_ROWS = 20_000  # samples that suffice to tell how many atoms there are
PATIENCE = 2  # numbers of atoms to try after the best


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

    Fits the model to ``X`` for a few penalties, from few starts, and closes in on the wanted
    density: by halving the logarithm of the penalty between two that lie on either side. For the
    marginal model more ``sparsity`` means fewer edges. For the others ``alpha_w`` first thins the
    graphs a little and then fills them, since a pull on all weights alike blurs the contrast between
    pairs; of several penalties that would do, the smallest is taken. Where no penalty gives
    the wanted density, the nearest is returned, and ``reached`` is false.

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
    spans = np.nanmax(X, axis=0) - np.nanmin(X, axis=0)
    nodes = int((spans > 0).sum())  # those that can have edges
    if (degree is None) == (density is None):
        raise ValueError(f"give degree or density, one of them; got {degree=} and {density=}")
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

    def gap(exponent: float) -> float:
        value = float(10.0**exponent)
        if value not in tried:
            tried[value] = _trial(model, X, name, value)
            if report is not None:
                found = tried[value] * (nodes - 1)
                report(f"{name} {value:.3g} gives atoms of average degree {found:.2f}")
        return tried[value] / density - 1

    _close_in(gap, DECADES[name], rising=name == "alpha_w", budget=TRIALS)
    value = min(tried, key=lambda v: (abs(tried[v] - density) > CLOSE * density and
                                      abs(tried[v] - density), v))  # fmt: skip
    return PenaltyChoice(name, value, tried[value], tried[value] * (nodes - 1), density, tried)


def _trial(model: Any, X: ArrayLike, name: str, value: float) -> float:
    """Mean density of the atoms with a penalty."""
    trial = clone(model).set_params(**{name: value, "n_init": min(model.n_init, TRIAL_STARTS)})
    trial.set_params(**{k: None for k in ("callback", "checkpoint") if k in trial.get_params()})
    trial.set_params(verbose=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trial.fit(X)
    return float(densities(trial.atoms_, trial.active_nodes_).mean())


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


@dataclass(frozen=True)
class AtomsChoice:
    """How many atoms held-out signals ask for."""

    n_atoms: int
    scores: dict[int, float]
    """Mean held-out log-likelihood of a sample, by number of atoms; higher is better."""
    errors: dict[int, float]
    """Standard error of the difference to the best, over blocks of samples."""


def choose_n_atoms(
    model: Any,
    X: ArrayLike,
    candidates: Iterable[int] = range(1, 11),
    *,
    report: Callable[[str], None] | None = None,
) -> AtomsChoice:
    """The number of atoms by the likelihood of signals that were not learned from.

    Every fifth of twenty blocks of consecutive samples is held out, and ``candidates`` are tried in
    rising order until two in a row do not help. Of those whose held-out likelihood is within one
    standard error of the best, the smallest number is taken. Only models that do not fit anything to the
    samples they score can tell: :class:`~graphdict.GraphDictMarginal` does, the soft models do not.

    Of more than 20,000 samples, blocks spread over all of them are used.
    """
    if not hasattr(model, "sparsity"):
        raise ValueError(
            f"the number of atoms is chosen with GraphDictMarginal; {type(model).__name__} fits "
            "coefficients to the samples it scores, so that more atoms never look worse"
        )
    learn, blocks = _split(np.asarray(X), model.window_size)
    found: dict[int, NDArray] = {}
    best = 0
    for number in sorted(set(candidates)):
        trial = clone(model).set_params(n_atoms=number, callback=None, verbose=0)
        if trial.max_active is not None:
            trial.set_params(max_active=min(trial.max_active, number))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            trial.fit(learn)
            found[number] = np.array([trial.score(block) for block in blocks])
        if report is not None:
            report(f"{number} atom(s): held-out log-likelihood {found[number].mean():.4f}")
        best = max(found, key=lambda n: found[n].mean())
        if len([n for n in found if n > best]) >= PATIENCE:
            break
    errors = {
        n: float(np.std(found[best] - s, ddof=1) / np.sqrt(len(blocks))) if len(blocks) > 1 else 0.0
        for n, s in found.items()
    }
    near = [n for n, s in found.items() if found[best].mean() - s.mean() <= errors[n]]
    return AtomsChoice(min(near), {n: float(s.mean()) for n, s in found.items()}, errors)


def _split(signals: NDArray, window: int) -> tuple[NDArray, list[NDArray]]:
    """Samples to learn from, and blocks to measure with; whole windows each."""
    windows = len(signals) // window
    count = min(BLOCKS, windows)
    if count < FOLDS:
        raise ValueError(
            f"choosing the number of atoms needs at least {FOLDS} windows, and {len(signals)} "
            f"samples in windows of {window} are {windows}; give the number"
        )
    edges = np.linspace(0, windows, count + 1).astype(int) * window
    longest = max(window, MOST_ROWS // count // window * window)
    blocks = [signals[a : min(b, a + longest)] for a, b in zip(edges, edges[1:])]
    held = [block for place, block in enumerate(blocks) if place % FOLDS == FOLDS - 1]
    learn = [block for place, block in enumerate(blocks) if place % FOLDS != FOLDS - 1]
    return np.concatenate(learn), held
