"""Would it come out again? A dictionary against those of halves of the time and other starts."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from graphdict.core.annotations import Booleans, Floats
from graphdict.engine.progress import shown_work
from graphdict.metrics import AtomMatching, match_atoms
from graphdict.selection.folds import complete
from graphdict.selection.trials import as_recordings, check_windows, fit_quietly, with_found

if TYPE_CHECKING:  # pragma: no cover
    from graphdict.models.base import GraphDictionary

AGAIN = 0.8  # similarity from which on an atom came out again
FEWER_STARTS = 2
ROUGHEST = 1e-4  # tolerance: to tell atoms apart, fits need not be the best


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

    halves: Floats
    coefficients: Floats
    starts: Floats

    @property
    def again(self) -> Booleans:
        """Which atoms (K,) came out again each time, with a cosine of at least 0.8."""
        worst: Booleans = np.minimum(self.halves.min(axis=0), self.starts) >= AGAIN
        return worst


def stability(
    model: GraphDictionary, X: ArrayLike | Sequence[ArrayLike] | Mapping[Any, ArrayLike]
) -> Stability:
    """Learn the dictionary again from halves of the time and from other starts, and compare.

    Parameters
    ----------
    model : fitted graph dictionary
        It is cloned; one random start is used, and another where atoms do not come out again.
    X : array (T, N), or list or dict of arrays (T_r, N)
        The signals that it was fitted to, in the order of time, or several recordings, each of
        which is halved. Missing values are interpolated.

    Returns
    -------
    Stability
        ``stability.again`` says which atoms came out again.
    """
    check_is_fitted(model, "atoms_")
    parts = as_recordings(model, X)
    window = model.get_params().get("window_size", 1)
    windows = sum(len(part) // window // 2 for part in parts)
    check_windows(max(2, len(model.atoms_)), windows, "half of the time has")
    with shown_work("learning again", 3, model.get_params().get("verbose", 0)):
        return _learned_again(model, [complete(part) for part in parts])


def _learned_again(model: Any, parts: list[Floats]) -> Stability:
    """Return the stability of a fitted model on complete signals (T_r, N) of each recording."""
    known = model.get_params()
    rng = check_random_state(known.get("random_state"))
    trial = with_found(clone(model), model)
    if "tol" in known:
        trial.set_params(tol=max(known["tol"], ROUGHEST))
    if not getattr(model, "_is_papers_model", True):
        trial.set_params(sparsity=0)  # the edges that would go are weak, and take long to find
    window = known.get("window_size", 1)
    middles = [max(1, len(part) // 2 // window) * window for part in parts]
    first = [part[:middle] for part, middle in zip(parts, middles)]
    second = [part[middle:] for part, middle in zip(parts, middles)]
    halves, coefficients = [], []
    for half in (first, second):
        again, matching = _fit_again(trial, half, model, rng)
        halves.append(matching.similarity)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = np.concatenate([np.asarray(again.transform(part)) for part in parts])
        coefficients.append(_correlations(model.coefficients_, found[:, matching.learned]))
    starts = _fit_again(trial, parts, model, rng)[1].similarity
    return Stability(np.array(halves), np.array(coefficients), starts)


def _fit_again(
    trial: Any, parts: list[Floats], model: Any, rng: np.random.RandomState
) -> tuple[Any, AtomMatching]:
    """Return a fit from one random start, and which of its atoms are those of the model.

    Where some do not match, that may be the fault of the start: the better of two counts.
    """
    known = trial.get_params()
    there: Any = [part for part in parts if len(part)]
    signals = there[0] if len(there) == 1 else there
    found = []
    for _ in range(min(known.get("n_init", 1), FEWER_STARTS)):
        again = clone(trial)
        if "n_init" in known:
            again.set_params(n_init=1)
        if "random_state" in known:
            again.set_params(random_state=int(rng.randint(1 << 30)))
        fit_quietly(again, signals, filter_from=model)
        found.append((again, match_atoms(model.atoms_, again.atoms_)))
        if found[-1][1].similarity.min() >= AGAIN:
            break
    return min(found, key=lambda each: float(each[0].objective_))


def _correlations(first: NDArray[Any], second: NDArray[Any]) -> Floats:
    """Return the correlation of each column; 1 where neither varies, 0 where one does not."""
    first = first - first.mean(axis=0)
    second = second - second.mean(axis=0)
    sizes = np.linalg.norm(first, axis=0) * np.linalg.norm(second, axis=0)
    products = np.einsum("tk,tk->k", first, second)
    constant = (np.linalg.norm(first, axis=0) < 1e-9) & (np.linalg.norm(second, axis=0) < 1e-9)
    return np.where(constant, 1.0, products / np.where(sizes > 0, sizes, 1))
