"""Compare recordings: between groups, between conditions of the same subjects, on a covariate.

Tests permute what could have been otherwise and nothing else: recordings of one subject are never
taken for independent ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphdict.core.annotations import Floats, Integers, RandomState
from graphdict.studies.comparison import Comparison
from graphdict.studies.condition_designs import Pairs, Repeated
from graphdict.studies.designs import Design
from graphdict.studies.given import as_labels, named
from graphdict.studies.group_design import Groups
from graphdict.studies.recording_atoms import RecordingAtoms
from graphdict.studies.regression_design import Regression
from graphdict.studies.statistics import ActivationStatistics, as_columns
from graphdict.studies.testing import permutation_test

PERMUTATIONS = 4999

Labels = ArrayLike | Mapping[Any, Any]


def compare_groups(
    values: ActivationStatistics | RecordingAtoms | ArrayLike,
    groups: Labels,
    *,
    measures: str | Sequence[str] | None = None,
    subjects: Labels | None = None,
    n_permutations: int = PERMUTATIONS,
    confidence: float = 0.95,
    random_state: RandomState = 0,
) -> Comparison:
    """Test whether recordings of different groups of subjects differ.

    Two groups are compared by Welch's t, more by F. Groups are exchanged between whole subjects:
    the recordings of a subject are averaged first.

    Parameters
    ----------
    values : ActivationStatistics, RecordingAtoms, array (R, M) or pandas.DataFrame
        A row for each recording. NaN where a recording has no value.
    groups : array (R,) or dict of recording to group
        Which group each recording is of.
    measures : str or sequence of str, optional
        Which measures of :class:`ActivationStatistics` to compare, corrected over all of them;
        "occupancy" by default. Of :class:`RecordingAtoms`, all weights.
    subjects : array (R,) or dict of recording to subject, optional
        Which subject each recording is of; by default each is of another.
    n_permutations : int, default=4999
        Number of random arrangements; where no more than that exist, all are enumerated.
    confidence : float, default=0.95
        Of the intervals.
    random_state : int, RandomState or None, default=0
        Decides what is drawn.

    Returns
    -------
    Comparison
        ``.in_words()`` and ``.to_pandas()`` say what was found.

    Examples
    --------
    >>> import numpy as np
    >>> from graphdict.studies import compare_groups
    >>> occupancy = np.array([[0.2], [0.3], [0.25], [0.6], [0.7], [0.65]])
    >>> found = compare_groups(occupancy, ["a", "a", "a", "b", "b", "b"])
    >>> float(found.p_values[0])  # the most extreme two of 20 arrangements
    0.1
    """
    table, columns, names = as_columns(values, measures)
    labels = as_labels(groups, names, "groups").astype(str)
    units = _subjects(subjects, names)
    levels = _levels(labels, "groups")
    unit_names, unit_codes = np.unique(units, return_inverse=True)
    codes = np.searchsorted(levels, labels)
    for unit, name in enumerate(unit_names):
        own = np.unique(labels[unit_codes == unit])
        if len(own) > 1:
            raise ValueError(
                f"subject {name} has recordings in {named(own)}: groups are of whole subjects; use "
                "compare_conditions for conditions within subjects"
            )
    table, of_unit = _averages(table, unit_codes), codes[_first(unit_codes)]
    for code, level in enumerate(levels):
        own = np.flatnonzero(of_unit == code)
        if len(own) < 2:
            raise ValueError(
                f"group {level} has a single member ({unit_names[own[0]]}): a comparison needs at "
                "least two of each group"
            )
    design = Groups(table, of_unit)
    means = np.stack([_mean(table[of_unit == code]) for code in range(len(levels))])
    sizes = [int((of_unit == code).sum()) for code in range(len(levels))]
    told = ", ".join(f"{level} ({size})" for level, size in zip(levels, sizes))
    return _compare(
        f"Groups of {'subjects' if subjects is not None else 'recordings'}: {told}",
        design, columns, levels.tolist(), means, sizes,
        (n_permutations, confidence, random_state),
    )  # fmt: skip


def compare_conditions(
    values: ActivationStatistics | RecordingAtoms | ArrayLike,
    conditions: Labels,
    subjects: Labels,
    *,
    measures: str | Sequence[str] | None = None,
    n_permutations: int = PERMUTATIONS,
    confidence: float = 0.95,
    random_state: RandomState = 0,
) -> Comparison:
    """Test whether recordings of the same subjects differ between conditions.

    Two conditions are compared by the t of differences, whose signs are exchanged; more by F of
    repeated measures, with conditions exchanged within each subject. Several recordings of a
    subject in one condition are averaged first.

    Parameters
    ----------
    values : ActivationStatistics, RecordingAtoms, array (R, M) or pandas.DataFrame
        A row for each recording. NaN where a recording has no value.
    conditions, subjects : array (R,) or dict of recording to label
        The condition and the subject of each recording.
    measures, n_permutations, confidence, random_state
        As in :func:`compare_groups`.

    Returns
    -------
    Comparison
    """
    table, columns, names = as_columns(values, measures)
    labels = as_labels(conditions, names, "conditions").astype(str)
    units = as_labels(subjects, names, "subjects").astype(str)
    levels = _levels(labels, "conditions")
    unit_names, unit_codes = np.unique(units, return_inverse=True)
    codes = np.searchsorted(levels, labels)
    cells = unit_codes * len(levels) + codes
    there = np.isin(np.arange(len(unit_names) * len(levels)), cells).reshape(-1, len(levels))
    if not there.all():
        lacking = [
            f"{unit_names[u]} (no {levels[c]})" for u, c in np.argwhere(~there)
        ]  # fmt: skip
        raise ValueError(
            f"every subject needs a recording of every condition, which these lack: "
            f"{named(lacking)}; leave them out, or use compare_groups where conditions are of "
            "different subjects"
        )
    if len(unit_names) < 2:
        raise ValueError(
            f"there is a single subject ({unit_names[0]}): a comparison of conditions needs at "
            "least two"
        )
    cube = _averages(table, cells).reshape(len(unit_names), len(levels), -1)
    pair = len(levels) == 2
    design: Design = Pairs(cube[:, 1] - cube[:, 0]) if pair else Repeated(cube)
    complete = np.where(np.isfinite(cube).all(axis=1, keepdims=True), cube, np.nan)
    means = np.stack([_mean(complete[:, code]) for code in range(len(levels))])
    return _compare(
        f"Conditions {', '.join(levels)} of {len(unit_names)} subjects",
        design, columns, levels.tolist(), means, [len(unit_names)],
        (n_permutations, confidence, random_state),
    )  # fmt: skip


def regress_on(
    values: ActivationStatistics | RecordingAtoms | ArrayLike,
    covariate: Labels,
    *,
    measures: str | Sequence[str] | None = None,
    subjects: Labels | None = None,
    n_permutations: int = PERMUTATIONS,
    confidence: float = 0.95,
    random_state: RandomState = 0,
) -> Comparison:
    """Test whether values of recordings depend on a covariate, such as age or dose.

    The slope is compared with those of the covariate in other orders. Where subjects have several
    recordings: a covariate of subjects (each has one value) is exchanged between subjects, whose
    recordings are averaged; one that varies within subjects is exchanged within them, and values
    are taken relative to the subject's mean.

    Parameters
    ----------
    values : ActivationStatistics, RecordingAtoms, array (R, M) or pandas.DataFrame
        A row for each recording. NaN where a recording has no value.
    covariate : array (R,) or dict of recording to number
    measures, subjects, n_permutations, confidence, random_state
        As in :func:`compare_groups`.

    Returns
    -------
    Comparison
    """
    table, columns, names = as_columns(values, measures)
    given = as_labels(covariate, names, "covariate")
    try:
        numbers = given.astype(np.float64)
    except ValueError:
        raise ValueError(
            f"covariate must be numbers, got {given[0]!r}: use compare_groups for labels"
        ) from None
    endless = [name for name, number in zip(names, numbers) if np.isinf(number)]
    if endless:
        raise ValueError(f"covariate is infinite for {named(endless)}: leave these out")
    units = _subjects(subjects, names)
    _, codes = np.unique(units, return_inverse=True)
    means = _averages(numbers[:, None], codes)[:, 0]
    within = bool((np.abs(numbers - means[codes]) > 1e-12 * np.abs(numbers).max()).any())
    if within:
        # Subjects whose value does not change say nothing of what it does.
        table_of, numbers_of, blocks = table, numbers, codes
        told = f"{len(table)} recordings, within {len(means)} subjects"
    else:
        table_of, numbers_of = _averages(table, codes), means
        blocks = np.zeros(len(means), dtype=np.intp)
        told = f"{len(means)} {'subjects' if subjects is not None else 'recordings'}"
    if np.ptp(numbers_of) <= 1e-12 * np.abs(numbers_of).max():
        raise ValueError(
            f"covariate is {numbers_of[0]:g} for all: a regression needs values that differ"
        )
    if len(table_of) < 3:
        raise ValueError(f"a regression needs at least three recordings, got {len(table_of)}")
    design = Regression(table_of, numbers_of, blocks)
    return _compare(
        f"Regression on a covariate of {told}",
        design, columns, [], np.empty((0, table.shape[1])), [len(table_of)],
        (n_permutations, confidence, random_state),
    )  # fmt: skip


def _compare(
    question: str,
    design: Design,
    columns: list[tuple[str, str]],
    levels: list[str],
    means: Floats,
    n_units: list[int],
    settings: tuple[int, float, RandomState],
) -> Comparison:
    n_permutations, confidence, random_state = settings
    seed = random_state
    if isinstance(seed, np.random.RandomState):
        seed = int(seed.randint(1 << 30))
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence}")
    test = permutation_test(design, n_permutations, seed)
    most = test.largest.max()
    smallest = float((test.largest >= most * (1 - 1e-9)).mean()) if np.isfinite(most) else np.nan
    if not np.isfinite(smallest):
        smallest = float(np.isinf(test.largest).mean())
    if not test.exact:
        smallest = 1 / len(test.largest)
    return Comparison(
        question, columns, design.statistic_name, design.size_name, levels, means,
        *design.effects(confidence), test.statistic, test.p_values,
        test.p_corrected, n_units, len(test.largest), test.exact, confidence, smallest,
    )  # fmt: skip


def _subjects(subjects: Labels | None, names: Sequence[str]) -> NDArray[Any]:
    """Return the subject (R,) of each recording; each is its own by default."""
    if subjects is None:
        repeated = len(set(names)) < len(names)
        return np.array([f"row {number + 1}" if repeated else n for number, n in enumerate(names)])
    return as_labels(subjects, names, "subjects").astype(str)


def _levels(labels: NDArray[Any], what: str) -> NDArray[Any]:
    """Return the different labels, of which there have to be two."""
    levels = np.unique(labels)
    if len(levels) < 2:
        raise ValueError(f"{what} are all {levels[0]}: a comparison needs at least two")
    return levels


def _first(codes: Integers) -> Integers:
    """Return where each code (0, 1, ...) is first."""
    return np.unique(codes, return_index=True)[1]


def _averages(table: Floats, codes: Integers) -> Floats:
    """Return the means (U, M) of the rows of each code, in the order of codes, NaN left out."""
    return np.stack([_mean(table[codes == code]) for code in np.unique(codes)])


def _mean(rows: Floats) -> Floats:
    """Return the mean of each column (M,), NaN left out; NaN where there is nothing else."""
    known = np.isfinite(rows)
    count = known.sum(axis=0)
    sums = np.where(known, rows, 0.0).sum(axis=0)
    return np.where(count > 0, sums / np.maximum(count, 1), np.nan)
