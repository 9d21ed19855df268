"""Choose the number of atoms, and of active atoms, by the likelihood of held-out signals."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from graphdict.core.marginal.patterns import default_max_active
from graphdict.engine.marginal.active import hold_out
from graphdict.selection.trials import as_array, fit_quietly

if TYPE_CHECKING:  # pragma: no cover
    from graphdict.models.marginal import GraphDictMarginal

__all__ = ["ScoreChoice", "choose_max_active", "choose_n_atoms"]

PATIENCE = 2  # values to try after the best
NEGLIGIBLE = 0.01  # share of the gain over the worst that is not worth another atom


@dataclass(frozen=True)
class ScoreChoice:
    """The value of a setting chosen by held-out likelihood.

    Attributes
    ----------
    name : str
        Name of the setting.
    value : int
        The chosen value.
    scores : dict of int to float
        Mean held-out log-likelihood of a sample, by value; higher is better.
    errors : dict of int to float
        Standard error of the difference to the best score, over blocks of samples, by value.
    """

    name: str
    value: int
    scores: dict[int, float]
    errors: dict[int, float]


def choose_n_atoms(
    model: GraphDictMarginal,
    X: ArrayLike,
    candidates: Iterable[int] = range(1, 11),
    *,
    report: Callable[[str], None] | None = None,
) -> ScoreChoice:
    """Choose the number of atoms by the likelihood of held-out signals.

    Every fifth of twenty blocks of consecutive samples is held out, and ``candidates`` are tried in
    ascending order until two in a row do not improve the score, or an atom is used by no sample.
    The smallest is chosen whose held-out log-likelihood is within one standard error of the best,
    or below it by at most a hundredth of the total gain. Of more than 20,000 samples, blocks spread
    over all of them are used.

    Parameters
    ----------
    model : unfitted GraphDictMarginal
        It is cloned. Soft models cannot be compared in this way: they fit coefficients to the
        samples they score.
    X : array (T, N)
        Signals.
    candidates : iterable of int, default=1 to 10
        Values to try.
    report : callable, optional
        Called with a line of text for each value that is tried.

    Returns
    -------
    ScoreChoice
        Use as ``model.set_params(n_atoms=choice.value)``.
    """
    return _choose_by_score(model, X, "n_atoms", candidates, 1.0, report)


def choose_max_active(
    model: GraphDictMarginal,
    X: ArrayLike,
    candidates: Iterable[int] | None = None,
    *,
    report: Callable[[str], None] | None = None,
) -> ScoreChoice:
    """Choose how many atoms may be active at once, by the likelihood of held-out signals.

    Works like :func:`choose_n_atoms`. With one, atoms are exclusive states. With many more than
    there are, other decompositions explain the same signals. One too many costs little, since the
    number of active atoms is learned, while one too few mixes atoms up: hence the best score wins
    here, whatever its standard error, unless its gain over a smaller value is below a hundredth.

    Parameters
    ----------
    model : unfitted GraphDictMarginal
        It is cloned.
    X : array (T, N)
        Signals.
    candidates : iterable of int, optional
        Values to try; by default all that give at most 5,000 patterns.
    report : callable, optional
        Called with a line of text for each value that is tried.

    Returns
    -------
    ScoreChoice
        Use as ``model.set_params(max_active=choice.value)``.
    """
    tried = range(1, default_max_active(model.n_atoms) + 1) if candidates is None else candidates
    return _choose_by_score(model, X, "max_active", tried, 0.0, report)


def _choose_by_score(
    model: Any,
    X: ArrayLike,
    name: str,
    candidates: Iterable[int],
    tolerance: float,
    report: Callable[[str], None] | None,
) -> ScoreChoice:
    """Choose the smallest value within ``tolerance`` standard errors of the best."""
    if "max_active" not in model.get_params():
        raise ValueError(
            f"{name} is chosen with GraphDictMarginal; {type(model).__name__} fits coefficients to "
            "the samples it scores, so that more atoms never score worse"
        )
    tried = sorted(set(candidates))
    if not tried:
        raise ValueError(f"candidates must hold at least one {name} to try, got none")
    if model.prior == "hierarchy":
        raise ValueError(
            f'{name} is not chosen with prior="hierarchy": the time of a sample decides which '
            "atoms are active, and the number of windows decides n_atoms (3, 7, 15 or 10, 36, 136)"
        )
    learn, blocks = hold_out(as_array(model, X), model.window_size)
    found: dict[int, NDArray[np.float64]] = {}
    best = 0
    for value in tried:
        trial = clone(model).set_params(**{name: value})
        fit_quietly(trial, learn)
        if found and (trial.coefficients_.sum(axis=0) < 1).any():
            break  # no sample uses some atom: there are too many
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
        if top - s.mean() <= max(tolerance * errors[v], NEGLIGIBLE * (top - lowest))
    ]  # fmt: skip
    return ScoreChoice(name, min(near), {v: float(s.mean()) for v, s in found.items()}, errors)
