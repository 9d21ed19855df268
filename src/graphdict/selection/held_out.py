"""Choose the number of atoms, and of active atoms, by the likelihood of held-out signals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike
from sklearn.base import clone

from graphdict.core.annotations import Floats
from graphdict.core.marginal.patterns import default_max_active
from graphdict.engine.progress import shown_work
from graphdict.engine.recordings import are_several
from graphdict.selection.folds import (
    FOLDS,
    HeldOutBlocks,
    block_scores,
    complete,
    cut_blocks,
    cut_recordings,
    error_of_mean,
)
from graphdict.selection.merging import merged
from graphdict.selection.trials import as_recordings

if TYPE_CHECKING:  # pragma: no cover
    from graphdict.models.marginal import GraphDictMarginal

PATIENCE = 2  # values to try after the best
NEGLIGIBLE = 0.01  # share of the gain over the worst that is not worth another atom
ACTIVE_ERRORS = 0.5  # standard errors that one more active atom has to gain
FEWEST_MERGED = 2  # atoms that are not merged: one graph is compared by other rules
CLEARLY = 2.0  # standard errors by which more than one atom has to beat one


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
    block_scores : dict of int to array (B,)
        The score of each block of time (or group of recordings) by value.
    models : dict of int to GraphDictMarginal
        The model fitted to all blocks, by value.
    """

    name: str
    value: int
    scores: dict[int, float]
    errors: dict[int, float]
    block_scores: dict[int, Floats] = field(default_factory=dict, repr=False)
    models: dict[int, Any] = field(default_factory=dict, repr=False)


def choose_n_atoms(
    model: GraphDictMarginal,
    X: ArrayLike | Sequence[ArrayLike] | Mapping[Any, ArrayLike],
    candidates: Iterable[int] = range(1, 11),
    *,
    groups: Sequence[Any] | None = None,
    block_length: int | None = None,
    report: Callable[[str], None] | None = None,
) -> ScoreChoice:
    """Choose the number of atoms by the likelihood of held-out blocks of time.

    The memory that all nodes share is taken out of the series, which is then cut in about twenty
    blocks, longer than that memory. Each block is predicted by models learned from others, and
    ``candidates`` are tried in ascending order until two in a row do not improve the score, or an
    atom is active in fewer samples than there are nodes. The smallest is chosen whose score
    is within one standard error of the best, over blocks, or below it by at most a hundredth of the
    total gain; and one atom, if that is among the candidates, unless more gain at least two
    standard errors. One atom fewer is tried once more with the two most alike made one, under the
    same filter.

    Missing values are interpolated. Of more than 5,000 samples, half of every block is used, or as
    much as makes 20,000 in all.

    Of several recordings, whole ones are held out instead of blocks of time.

    Parameters
    ----------
    model : unfitted GraphDictMarginal
        It is cloned; at most four starts, an ``alpha_w`` of 0.001 and, for one active atom, no
        sparsity are used. Soft models cannot be compared in this way: they fit coefficients to the
        samples they score.
    X : array (T, N), or list or dict of arrays (T_r, N)
        Signals in the order of time, or those of several recordings.
    candidates : iterable of int, default=1 to 10
        Values to try.
    groups : R labels, optional
        Of several recordings: those with the same label, as of one subject, are held out together.
    block_length : int, optional
        Samples in a block; at least as long as the memory of the series.
    report : callable, optional
        Called with a line of text for each value that is tried.

    Returns
    -------
    ScoreChoice
        Use as ``model.set_params(n_atoms=choice.value)``.
    """
    check_comparable(model, "n_atoms")
    blocks = _blocks(model, X, groups, block_length)
    return choose_by_blocks(model, blocks, "n_atoms", candidates, report=report)


def choose_max_active(
    model: GraphDictMarginal,
    X: ArrayLike | Sequence[ArrayLike] | Mapping[Any, ArrayLike],
    candidates: Iterable[int] | None = None,
    *,
    groups: Sequence[Any] | None = None,
    block_length: int | None = None,
    report: Callable[[str], None] | None = None,
) -> ScoreChoice:
    """Choose how many atoms may be active at once, by the likelihood of held-out blocks of time.

    Works like :func:`choose_n_atoms`. With one, atoms are exclusive states. With many more than
    there are, other decompositions explain the same signals. One too many costs little, since the
    number of active atoms is learned, while one too few mixes atoms up: hence the best score wins
    here, unless its gain over a smaller value is below half of its standard error, or a hundredth.

    Parameters
    ----------
    model : unfitted GraphDictMarginal
        It is cloned.
    X : array (T, N), or list or dict of arrays (T_r, N)
        Signals in the order of time, or those of several recordings.
    candidates : iterable of int, optional
        Values to try; by default all that give at most 5,000 patterns.
    groups : R labels, optional
        Of several recordings: those with the same label, as of one subject, are held out together.
    block_length : int, optional
        Samples in a block; at least as long as the memory of the series.
    report : callable, optional
        Called with a line of text for each value that is tried.

    Returns
    -------
    ScoreChoice
        Use as ``model.set_params(max_active=choice.value)``.
    """
    check_comparable(model, "max_active")
    tried = range(1, default_max_active(model.n_atoms) + 1) if candidates is None else candidates
    blocks = _blocks(model, X, groups, block_length)
    return choose_by_blocks(
        model, blocks, "max_active", tried, tolerance=ACTIVE_ERRORS, report=report
    )


def check_groups(groups: Sequence[Any] | None, X: Any) -> None:
    """Raise ValueError where there are labels of recordings, but ``X`` is one array."""
    if groups is not None and not are_several(X):
        raise ValueError(
            "groups are labels of recordings, but X is one array: give a list of arrays"
        )


def _blocks(model: Any, X: Any, groups: Sequence[Any] | None, length: int | None) -> HeldOutBlocks:
    """Return what is held out: blocks of time of an array, or whole recordings."""
    check_groups(groups, X)
    parts = [complete(part) for part in as_recordings(model, X)]
    if not are_several(X):
        return cut_blocks(parts[0], model.window_size, length)
    if length is not None:
        raise ValueError(
            f"block_length={length} is for one array; of {len(parts)} recordings, whole ones are "
            "held out"
        )
    return cut_recordings(parts, groups, model.window_size)


def check_comparable(model: Any, name: str) -> None:
    """Raise ValueError where the setting ``name`` of a model cannot be chosen by its score."""
    if "max_active" not in model.get_params():
        raise ValueError(
            f"{name} is chosen with GraphDictMarginal; {type(model).__name__} fits coefficients to "
            "the samples it scores, so that more atoms never score worse"
        )
    if model.prior == "hierarchy":
        raise ValueError(
            f'{name} is not chosen with prior="hierarchy": the time of a sample decides which '
            "atoms are active, and the number of windows decides n_atoms (3, 7, 15 or 10, 36, 136)"
        )


def choose_by_blocks(
    model: Any,
    blocks: HeldOutBlocks,
    name: str,
    candidates: Iterable[int],
    *,
    tolerance: float = 1.0,
    folds: int = FOLDS,
    report: Callable[[str], None] | None = None,
) -> ScoreChoice:
    """Choose the smallest value within ``tolerance`` standard errors of the best.

    Where several atoms may be active, graphs are sparse: only so sets of them are told from as many
    states.
    """
    sparse = name == "max_active" or model.max_active != 1
    tried = sorted(set(candidates))
    if not tried:
        raise ValueError(f"candidates must hold at least one {name} to try, got none")
    found: dict[int, Floats] = {}
    models: dict[int, Any] = {}
    best, nodes = tried[0], blocks.pieces[0].shape[1]
    with shown_work(f"choosing {name}", sum(tried[:PATIENCE]), model.verbose) as task:
        for value in tried:
            patience = max(1, PATIENCE - sum(v > best for v in found))
            task.plan(task.done + sum([v for v in tried if v >= value][:patience]))
            task.cost = task.total
            trial = clone(model).set_params(**{name: value})
            scored = block_scores(trial, blocks, folds, cost=value, sparse=sparse)
            if found and _fewest_samples(scored.model) < (1 if len(found) == 1 else nodes):
                break  # there are too many: so few samples show no graph
            found[value], models[value] = scored.blocks, scored.model
            if name == "n_atoms" and value == 1 and scored.model._is_papers_model:
                model = clone(model).set_params(filter_power=1)  # nor do several need another
            if report is not None:
                most = scored.model.max_active or int(scored.model.patterns_.sum(axis=1).max())
                count = value if name == "n_atoms" else model.n_atoms
                atoms = f"{count} atom{'s' * (count > 1)}, {most} active"
                report(f"{atoms}: held-out log-likelihood {found[value].mean():.4f}")
            best = _best(found)
            if sum(v > best for v in found) >= PATIENCE:
                break
        value = _smallest_near(found, tolerance)
        while name == "n_atoms" and value - 1 in found and value > FEWEST_MERGED:
            # What a lucky start or another filter gains is no sign of one atom more.
            trial = clone(model).set_params(n_atoms=value - 1)
            if (start := merged(models[value])) is None:
                break
            task.plan(task.done + value - 1)
            scored = block_scores(trial, blocks, folds, start, value - 1, sparse)
            if scored.blocks.mean() <= found[value - 1].mean():
                break
            found[value - 1], models[value - 1] = scored.blocks, scored.model
            if (fewer := _smallest_near(found, tolerance)) >= value:
                break
            value = fewer
    best = _best(found)
    if name == "n_atoms" and 1 in found and value > 1:
        gains = found[value] - found[1]
        value = value if gains.mean() > CLEARLY * error_of_mean(gains) else 1
    scores = {v: float(s.mean()) for v, s in found.items()}
    errors = {v: error_of_mean(found[best] - s) for v, s in found.items()}
    return ScoreChoice(name, value, scores, errors, found, models)


def _best(found: dict[int, Floats]) -> int:
    """Return the value with the best mean score of all blocks."""
    return max(found, key=lambda value: found[value].mean())


def _smallest_near(found: dict[int, Floats], tolerance: float) -> int:
    """Return the smallest value within so many standard errors of the best, or nearly as good."""
    best = found[_best(found)]
    negligible = NEGLIGIBLE * (best.mean() - min(scores.mean() for scores in found.values()))
    return min(
        value for value, scores in found.items()
        if (best - scores).mean() <= max(tolerance * error_of_mean(best - scores), negligible)
    )  # fmt: skip


def _fewest_samples(fitted: Any) -> float:
    """Return in how many samples that atom is active which is so in the fewest."""
    return float(fitted.coefficients_.sum(axis=0).min())
