"""Would other recordings give the same atoms? Dictionaries of two halves of a study, compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import check_random_state

from graphdict import metrics
from graphdict.core.annotations import Booleans, Floats, RandomState
from graphdict.engine.recordings import are_several
from graphdict.selection.folds import group_labels
from graphdict.selection.stability import AGAIN, FEWER_STARTS
from graphdict.selection.trials import as_recordings, fit_quietly

if TYPE_CHECKING:  # pragma: no cover
    from graphdict.models.base import GraphDictionary


@dataclass(frozen=True)
class Reproducibility:
    """How alike atoms are that two halves of the recordings give.

    Attributes
    ----------
    cosines : array (S, K)
        In each of S splits, the cosine between the atoms of the two halves that correspond to each
        atom of the model.
    matrix : array (K, K)
        Mean cosine between atoms of the first halves (rows) and of the second (columns), both in
        the order of the model's atoms: the diagonal is what came out again, the rest how alike
        different atoms are anyway.
    halves : list of (first, second)
        Which groups of recordings were in each half.
    """

    cosines: Floats
    matrix: Floats = field(repr=False)
    halves: list[tuple[list[Any], list[Any]]] = field(repr=False)

    @property
    def again(self) -> Booleans:
        """Which atoms (K,) come out again, with a mean cosine of at least 0.8 between halves."""
        found: Booleans = self.cosines.mean(axis=0) >= AGAIN
        return found

    def in_words(self) -> str:
        """Return what was found in a sentence."""
        means, splits = self.cosines.mean(axis=0), len(self.cosines)
        told = f"{splits} split{'s' * (splits > 1)} of the recordings into halves"
        if self.again.all():
            return f"In {told}, all atoms come out again (mean cosine at least {means.min():.2f})."
        named = ", ".join(f"{k + 1} ({means[k]:.2f})" for k in np.flatnonzero(~self.again))
        return f"In {told}, these atoms do not come out again (mean cosine below 0.8): {named}."


def reproducibility(
    model: GraphDictionary,
    recordings: Sequence[ArrayLike] | Mapping[Any, ArrayLike],
    *,
    groups: Sequence[Any] | None = None,
    n_splits: int = 3,
    random_state: RandomState = 0,
) -> Reproducibility:
    """Learn dictionaries from halves of the recordings, and compare their atoms.

    Parameters
    ----------
    model : fitted graph dictionary
        Fitted to all recordings; it is cloned, and at most four random starts are used.
    recordings : list or dict of arrays (T_r, N)
        Signals of each recording.
    groups : R labels, optional
        Recordings with the same label, as of one subject, are in the same half.
    n_splits : int, default=3
        Number of random splits into halves.
    random_state : int, RandomState or None, default=0
        Decides the splits.

    Returns
    -------
    Reproducibility
        ``.in_words()`` says what was found; :func:`graphdict.viz.plot_reproducibility` draws it.
    """
    if not are_several(recordings):
        raise ValueError("recordings must be a list or a dict of arrays (samples, nodes)")
    given = as_recordings(model, recordings)
    labels = group_labels(groups, len(given))
    names = np.unique(labels)
    if len(names) < 2:
        raise ValueError(f"two halves need at least two groups of recordings, got {names.tolist()}")
    if n_splits < 1:
        raise ValueError(f"n_splits must be 1 or more, got {n_splits}")
    rng = check_random_state(random_state)
    trial: Any = clone(model)
    if "n_init" in trial.get_params():
        trial.set_params(n_init=min(trial.n_init, FEWER_STARTS))
    atoms = np.asarray(model.atoms_)
    matrices, halves = [], []
    for _ in range(n_splits):
        first = rng.permutation(names)[: len(names) // 2]
        found = []
        for inside in (True, False):
            again = clone(trial)
            chosen = np.isin(labels, first) == inside
            fit_quietly(again, [given[r] for r in np.flatnonzero(chosen)])
            found.append(again.atoms_[metrics.match_atoms(atoms, again.atoms_).learned])
        matrices.append(metrics.cosines(found[0], found[1]))
        others = names[~np.isin(names, first)]
        halves.append((sorted(first.tolist()), others.tolist()))
    cosines = np.stack([np.diagonal(matrix) for matrix in matrices])
    return Reproducibility(cosines, np.mean(matrices, axis=0), halves)
