"""Settings chosen from data: atoms of a wanted degree, how many there are, how many are active.

The penalty that gives sparse graphs has no scale that people know. How many neighbours a node has,
or which share of all pairs is joined, they do know: the penalty is searched for that gives it. How
many atoms there are, and may be active at once, is decided by signals that were not learned from.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from graphdict import graphs
from graphdict.exceptions import InterruptedFitWarning
from graphdict.marginal.patterns import default_max_active
from graphdict.results import held_atoms

__all__ = [
    "PenaltyChoice",
    "ScoreChoice",
    "choose_max_active",
    "choose_n_atoms",
    "choose_penalty",
    "densities",
]

EDGE = 0.01  # of the largest weight of an atom: less is hardly an edge
CLOSE = 0.05  # relative error of the density that is close enough
ALIKE = 0.95  # cosine from which two atoms are one graph
IDLE = 0.02  # variation of coefficients below which all samples have the same graph
TRIALS = 12
DECADES = {"sparsity": (-3.0, 3.0), "alpha_w": (-2.0, 3.0)}  # of the penalties to try
FOLDS = 5  # one block of samples in so many is held out
BLOCKS = 20
PATIENCE = 2  # values to try after the best
LITTLE = 0.01  # of all that is gained over the worst: not worth another atom
MOST_ROWS = 20_000  # samples that suffice to tell how many atoms there are


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
    _fit_trial(trial, X)
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


@dataclass(frozen=True)
class ScoreChoice:
    """The value of a setting that held-out signals ask for."""

    name: str
    value: int
    scores: dict[int, float]
    """Mean held-out log-likelihood of a sample, by value; higher is better."""
    errors: dict[int, float]
    """Standard error of the difference to the best, over blocks of samples."""


def choose_n_atoms(
    model: Any,
    X: ArrayLike,
    candidates: Iterable[int] = range(1, 11),
    *,
    report: Callable[[str], None] | None = None,
) -> ScoreChoice:
    """The number of atoms by the likelihood of signals that were not learned from.

    Every fifth of twenty blocks of consecutive samples is held out, and ``candidates`` are tried in
    rising order until two in a row do not help, or some atom is used by no sample. The smallest is
    taken whose held-out likelihood is within one standard error of the best, or lacks at most a
    hundredth of what is gained in all. Only models that fit nothing to the samples
    they score can tell: :class:`~graphdict.GraphDictMarginal` does, the soft models do not. Of
    more than 20,000 samples, blocks spread over all of them are used.
    """
    return _choose_by_score(model, X, "n_atoms", candidates, 1.0, report)


def choose_max_active(
    model: Any,
    X: ArrayLike,
    candidates: Iterable[int] | None = None,
    *,
    report: Callable[[str], None] | None = None,
) -> ScoreChoice:
    """How many atoms may be active at once, chosen like :func:`choose_n_atoms`.

    One makes the atoms states that exclude each other. Allowing many more than there are lets other
    decompositions explain the same signals, so that this choice decides which atoms are found. One
    too many costs little, since how many are active is learned, and one too few mixes atoms up:
    hence the best counts here, whatever its standard error, unless all that it gains over a smaller
    one is a hundredth. By default all numbers are tried that leave at most 5,000 sets.
    """
    tried = range(1, default_max_active(model.n_atoms) + 1) if candidates is None else candidates
    return _choose_by_score(model, X, "max_active", tried, 0.0, report)


def _choose_by_score(
    model: Any,
    X: ArrayLike,
    name: str,
    candidates: Iterable[int],
    doubt: float,
    report: Callable[[str], None] | None,
) -> ScoreChoice:
    """The smallest value about as good as the best: within ``doubt`` standard errors of it."""
    if "max_active" not in model.get_params():
        raise ValueError(
            f"{name} is chosen with GraphDictMarginal; {type(model).__name__} fits coefficients to "
            "the samples it scores, so that more atoms never look worse"
        )
    tried = sorted(set(candidates))
    if not tried:
        raise ValueError(f"candidates must hold at least one {name} to try, got none")
    if name == "max_active" and model.prior == "hierarchy":
        raise ValueError(
            'max_active has no meaning with prior="hierarchy", which gives activations'
        )
    learn, blocks = _split(np.asarray(X), model.window_size)
    found: dict[int, NDArray] = {}
    best = 0
    for value in tried:
        trial = clone(model).set_params(**{name: value})
        _fit_trial(trial, learn)
        if found and (trial.coefficients_.sum(axis=0) < 1).any():
            break  # an atom that no sample uses: these are more than enough
        found[value] = np.array([trial.score(block) for block in blocks])
        if report is not None:
            counts = f"{trial.n_atoms} atoms, {trial.max_active or 'all'} active"
            report(f"{counts}: held-out log-likelihood {found[value].mean():.4f}")
        best = max(found, key=lambda v: found[v].mean())
        if sum(v > best for v in found) >= PATIENCE:
            break
    errors = {
        v: float(np.std(found[best] - s, ddof=1) / np.sqrt(len(blocks))) if len(blocks) > 1 else 0.0
        for v, s in found.items()
    }
    top, lowest = found[best].mean(), min(s.mean() for s in found.values())
    near = [
        v for v, s in found.items()
        if top - s.mean() <= max(doubt * errors[v], LITTLE * (top - lowest))
    ]  # fmt: skip
    return ScoreChoice(name, min(near), {v: float(s.mean()) for v, s in found.items()}, errors)


def _fit_trial(trial: Any, X: ArrayLike) -> None:
    """Fit without a word; Ctrl-C ends the search, where a fit alone would end with what it has."""
    known = trial.get_params()
    trial.set_params(**{name: None for name in ("callback", "checkpoint") if name in known})
    trial.set_params(verbose=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", InterruptedFitWarning)
        try:
            trial.fit(X)
        except InterruptedFitWarning:
            raise KeyboardInterrupt from None


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
    blocks = [signals[a : min(b, a + longest)] for a, b in pairwise(edges)]
    held = [block for place, block in enumerate(blocks) if place % FOLDS == FOLDS - 1]
    learn = [block for place, block in enumerate(blocks) if place % FOLDS != FOLDS - 1]
    return np.concatenate(learn), held
