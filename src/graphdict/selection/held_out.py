"""How many atoms there are, and are active at once, by the likelihood of held-out signals."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from graphdict.core.marginal.patterns import default_max_active
from graphdict.engine.marginal.active import hold_out
from graphdict.selection.trials import as_array, fit_quietly

__all__ = ["ScoreChoice", "choose_max_active", "choose_n_atoms"]

PATIENCE = 2  # values to try after the best
LITTLE = 0.01  # of all that is gained over the worst: not worth another atom


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
    if model.prior == "hierarchy":
        raise ValueError(
            f'{name} is not chosen with prior="hierarchy": its activations are given by the time '
            "of each sample, and n_atoms by how finely time is cut (3, 7, 15 or 10, 36, 136)"
        )
    learn, blocks = hold_out(as_array(model, X), model.window_size)
    found: dict[int, NDArray] = {}
    best = 0
    for value in tried:
        trial = clone(model).set_params(**{name: value})
        fit_quietly(trial, learn)
        if found and (trial.coefficients_.sum(axis=0) < 1).any():
            break  # an atom that no sample uses: these are more than enough
        found[value] = np.array([trial.score(block) for block in blocks])
        if report is not None:
            most = trial.max_active or int(trial.patterns_.sum(axis=1).max())
            counts = f"{trial.n_atoms} atoms, {most} active"
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
