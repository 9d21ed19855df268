"""Would it come out again? A dictionary beside those of each half of the time, and other starts."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from graphdict.core.annotations import Signals
from graphdict.engine.progress import shown_work
from graphdict.metrics import match_atoms
from graphdict.selection.folds import complete
from graphdict.selection.trials import (
    as_array,
    as_recordings,
    check_windows,
    fit_quietly,
    with_found,
)

if TYPE_CHECKING:  # pragma: no cover
    from graphdict.models.base import GraphDictionary

__all__ = ["Stability", "stability"]

AGAIN = 0.8  # similarity from which on an atom came out again
FEWER_STARTS = 2


@dataclass(frozen=True)
class Stability:
    """How alike atoms and coefficients are that were learned again.

    Attributes
    ----------
    halves : array (2, K)
        Cosine between the weights of each atom and of the atom that corresponds to it, learned from
        the first and from the second half of the time.
    coefficients : array (2, K)
        Correlation of their coefficients over all samples.
    starts : array (K,)
        Cosine with the corresponding atom learned from all samples and other random starts.
    """

    halves: NDArray[np.float64]
    coefficients: NDArray[np.float64]
    starts: NDArray[np.float64]

    @property
    def again(self) -> NDArray[np.bool_]:
        """Which atoms (K,) came out again each time, with a cosine of at least 0.8."""
        worst: NDArray[np.bool_] = np.minimum(self.halves.min(axis=0), self.starts) >= AGAIN
        return worst


def stability(model: GraphDictionary, X: Signals) -> Stability:
    """Learn the dictionary again from halves of the time and from other starts, and compare.

    Of several recordings, these are the first and the second half of each;
    :func:`reproducibility` compares halves of the recordings.

    Parameters
    ----------
    model : fitted graph dictionary
        It is cloned; at most two random starts are used.
    X : array (T, N), or a list or dict of recordings
        The signals that it was fitted to, in the order of time. Missing values are interpolated.

    Returns
    -------
    Stability
        ``stability.again`` says which atoms came out again.
    """
    check_is_fitted(model, "atoms_")
    recordings = as_recordings(model, X)
    parts = [as_array(model, X)] if recordings is None else recordings
    window = model.get_params().get("window_size", 1)
    windows = sum(len(part) // window // 2 for part in parts)
    check_windows(max(2, len(model.atoms_)), windows, "half of the time has")
    with shown_work("learning again", 3, model.get_params().get("verbose", 0)):
        return _learned_again(model, [complete(part) for part in parts])


def _halves(recordings: list[NDArray[np.float64]], window: int) -> list[Any]:
    """Return the first halves of recordings, in whole windows, and the second."""
    middles = [max(1, len(part) // 2 // window) * window for part in recordings]
    cut = [(part[:middle], part[middle:]) for part, middle in zip(recordings, middles)]
    return [[half for half in halves if len(half)] for halves in zip(*cut)]


def _learned_again(model: Any, signals: list[NDArray[np.float64]]) -> Stability:
    """Return the stability of a fitted model on complete signals (T_r, N) of recordings."""
    known = model.get_params()
    seed = int(check_random_state(known.get("random_state")).randint(1 << 30))
    trial = with_found(clone(model), model)
    if "n_init" in known:
        trial.set_params(n_init=min(known["n_init"], FEWER_STARTS))
    window = known.get("window_size", 1)
    halves, coefficients = [], []
    for part in _halves(signals, window):
        again = clone(trial)
        fit_quietly(again, part)
        matching = match_atoms(model.atoms_, again.atoms_)
        halves.append(matching.similarity)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = np.concatenate(again.transform(signals))[:, matching.learned]
        coefficients.append(_correlations(model.coefficients_, found))
    other = clone(trial)
    if "random_state" in known:
        other.set_params(random_state=seed)
    fit_quietly(other, signals)
    starts = match_atoms(model.atoms_, other.atoms_).similarity
    return Stability(np.array(halves), np.array(coefficients), starts)


def _correlations(first: NDArray[Any], second: NDArray[Any]) -> NDArray[np.float64]:
    """Return the correlation of each column; 1 where neither varies, 0 where one does not."""
    first = first - first.mean(axis=0)
    second = second - second.mean(axis=0)
    sizes = np.linalg.norm(first, axis=0) * np.linalg.norm(second, axis=0)
    products = np.einsum("tk,tk->k", first, second)
    constant = (np.linalg.norm(first, axis=0) < 1e-9) & (np.linalg.norm(second, axis=0) < 1e-9)
    return np.where(constant, 1.0, products / np.where(sizes > 0, sizes, 1))
