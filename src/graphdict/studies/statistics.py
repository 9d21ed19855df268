"""Statistics of activations by recording: occupancy, lifetimes, switching, transitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from graphdict.core.annotations import Floats, Integers
from graphdict.exceptions import import_extra
from graphdict.studies.features import active_states, feature_table, hard_labels, switching_rates
from graphdict.studies.given import coefficient_arrays, recordings_of
from graphdict.studies.transitions import expected_transitions, observed_transitions

if TYPE_CHECKING:  # pragma: no cover
    import pandas

    from graphdict.models.base import GraphDictionary
    from graphdict.results import InstantaneousGraphs

MEASURES = ("occupancy", "occurrences", "lifetime", "interval", "mean_coefficient")
OF_RUNS = ("lifetime", "interval")  # not known where there is no run, or no second one
LIKELY = 0.5  # probability from which on an atom is active, where several may be


@dataclass(frozen=True)
class ActivationStatistics:
    """What is published of activations, for each recording.

    Attributes
    ----------
    recordings, atoms : list of str
        Names of the R recordings and of the K atoms.
    measures : dict of str to array (R, K)
        By name: "occupancy" (share of the time in which an atom is active), "occurrences" (runs a
        second), "lifetime" (mean duration of a run in seconds), "interval" (mean time between two
        runs), "mean_coefficient". NaN where there is no run, or no second one, to measure.
    switching_rate : array (R,)
        How often a second the set of active atoms changes.
    transitions, expected_transitions : array (R, K, K)
        Probability of the next other atom, from the row's to the column's: as observed, and with
        samples in random order. By the atom with the largest coefficient.
    seconds : array (R,)
        Duration of each recording.
    """

    recordings: list[str]
    atoms: list[str]
    measures: dict[str, Floats]
    switching_rate: Floats
    transitions: Floats = field(repr=False)
    expected_transitions: Floats = field(repr=False)
    seconds: Floats = field(repr=False)

    def columns(
        self, measures: str | Sequence[str] | None = None
    ) -> tuple[Floats, list[tuple[str, str]]]:
        """Return values (R, M) of some measures side by side, and (measure, atom) of each column.

        Parameters
        ----------
        measures : str or sequence of str, optional
            Names of ``measures``, "switching_rate" or "transitions"; "occupancy" by default.

        Returns
        -------
        pair of array (R, M) and list of M pairs of str
        """
        measures = "occupancy" if measures is None else measures
        chosen = [measures] if isinstance(measures, str) else list(measures)
        known = [*self.measures, "switching_rate", "transitions"]
        unknown = [name for name in chosen if name not in known]
        if unknown or not chosen:
            raise ValueError(f"measures must be some of {known}, got {measures!r}")
        values, labels = [], []
        for name in chosen:
            if name == "switching_rate":
                values.append(self.switching_rate[:, None])
                labels.append((name, "all"))
            elif name == "transitions":
                off = ~np.eye(len(self.atoms), dtype=bool)
                values.append(self.transitions[:, off])
                labels += [
                    (name, f"{self.atoms[i]} to {self.atoms[j]}") for i, j in np.argwhere(off)
                ]
            else:
                values.append(self.measures[name])
                labels += [(name, atom) for atom in self.atoms]
        return np.concatenate(values, axis=1), labels

    def to_pandas(self) -> pandas.DataFrame:
        """Return all values as one tidy table.

        Returns
        -------
        pandas.DataFrame
            A row for each value: ``recording``, ``atom`` ("all" where it is of none), ``to`` (the
            next atom of a transition, otherwise empty), ``measure``, ``value``.
        """
        tables = import_extra("pandas", "a table of statistics", "tables")
        rows: list[tuple[str, str, str, str, float]] = []
        for r, name in enumerate(self.recordings):
            for measure, values in self.measures.items():
                rows += [(name, a, "", measure, values[r, k]) for k, a in enumerate(self.atoms)]
            rows.append((name, "all", "", "switching_rate", self.switching_rate[r]))
            for measure, matrices in (
                ("transition", self.transitions),
                ("expected_transition", self.expected_transitions),
            ):
                rows += [
                    (name, start, end, measure, matrices[r, i, j])
                    for i, start in enumerate(self.atoms)
                    for j, end in enumerate(self.atoms) if i != j
                ]  # fmt: skip
        frame: pandas.DataFrame = tables.DataFrame(
            rows, columns=["recording", "atom", "to", "measure", "value"]
        )
        return frame


def activation_statistics(
    coefficients: Sequence[ArrayLike]
    | Mapping[Any, ArrayLike]
    | GraphDictionary
    | InstantaneousGraphs,
    sfreq: float = 1.0,
    *,
    activity: str | ArrayLike | None = None,
    names: Sequence[Any] | None = None,
    atom_names: Sequence[Any] | None = None,
) -> ActivationStatistics:
    """Return occupancy, lifetimes, intervals, switching and transitions of each recording.

    Nothing is counted across the end of a recording, nor, of a model or graphs, across what is left
    out of one. Runs that its beginning or end cuts off count as they are seen.

    Parameters
    ----------
    coefficients : list or dict of arrays (T_r, K), a fitted model, or InstantaneousGraphs
        Coefficients by recording, as ``model.transform`` of a list of signals returns them; NaN
        where a sample has none. Of a model those of the signals it was fitted to, and of new ones
        ``model.instantaneous_graphs(recordings)``.
    sfreq : float, default=1
        Samples a second; with 1, times are in samples.
    activity : "largest" or array (K,), optional
        Which atoms are active in a sample: the one with the largest coefficient, or those that
        reach a threshold. By default the largest, and 0.5 for a model whose atoms may be active
        together.
    names, atom_names : sequence, optional
        Names of recordings (by default the keys of a dict or those of the model, or 0, 1, ... as a
        model names them) and of atoms (1, 2, ...).

    Returns
    -------
    ActivationStatistics
        ``.to_pandas()`` is the table of all of them.

    Examples
    --------
    >>> import numpy as np
    >>> from graphdict.studies import activation_statistics
    >>> labels = {"a": [0, 0, 1, 1], "b": [1, 1, 1, 0]}
    >>> found = activation_statistics({name: np.eye(2)[row] for name, row in labels.items()})
    >>> found.measures["occupancy"]
    array([[0.5 , 0.5 ],
           [0.25, 0.75]])
    """
    if not sfreq > 0:
        raise ValueError(f"sfreq must be positive, got {sfreq}")
    labels, arrays = coefficient_arrays(coefficients, names)
    if activity is None:
        patterns = getattr(coefficients, "patterns_", None)
        together = patterns is not None and (np.asarray(patterns) > 0).sum(axis=1).max() > 1
        activity = LIKELY if together else "largest"
    rows = np.concatenate(arrays).astype(np.float64)
    count = rows.shape[1]
    atoms = [str(a) for a in (range(1, count + 1) if atom_names is None else atom_names)]
    if len(atoms) != count:
        raise ValueError(f"atom_names has {len(atoms)} entries, but there are {count} atoms")
    lengths = np.array([len(array) for array in arrays])
    segments, owner = _segments(lengths, recordings_of(coefficients))
    table = feature_table(rows, activity, segments, owner, len(arrays), sfreq, MEASURES)
    hard = hard_labels(rows)
    active, counted = active_states(rows, activity)
    own = [segments[owner == number] for number in range(len(arrays))]
    return ActivationStatistics(
        labels, atoms, _measures(table),
        switching_rates(active, counted, segments, owner, len(arrays), sfreq),
        np.stack([observed_transitions(hard, pieces, count) for pieces in own]),
        np.stack([expected_transitions(hard, pieces, count) for pieces in own]),
        lengths / sfreq,
    )  # fmt: skip


def _segments(lengths: Integers, layout: Any) -> tuple[Integers, Integers]:
    """Return the bounds (S, 2) of each piece without gaps, and the recording (S,) that it is of."""
    ends = np.cumsum(lengths)
    starts = getattr(layout, "piece_starts", None)
    starts = np.append(0, ends[:-1]) if starts is None else np.asarray(starts)
    segments = np.column_stack((starts, np.append(starts[1:], ends[-1]))).astype(np.intp)
    return segments, np.searchsorted(ends, starts, side="right").astype(np.intp)


def _measures(table: Floats) -> dict[str, Floats]:
    """Return the columns of a feature table (R, K, F) by name, NaN where there is no run."""
    found = dict(zip(MEASURES, np.moveaxis(table, -1, 0)))
    return {
        name: np.where(values > 0, values, np.nan) if name in OF_RUNS else values
        for name, values in found.items()
    }


def as_columns(
    values: Any, measures: str | Sequence[str] | None = None
) -> tuple[Floats, list[tuple[str, str]], list[str]]:
    """Return values (R, M) to compare, (measure, item) of each column, and names of recordings.

    Parameters
    ----------
    values : ActivationStatistics, RecordingAtoms, array (R, M) or pandas.DataFrame
        Of objects with ``columns``, the measures asked for; a frame has a row for each recording.
    measures : str or sequence of str, optional
    """
    if callable(getattr(values, "columns", None)):
        found, labels = values.columns(measures)
        return found, labels, list(values.recordings)
    own = getattr(values, "index", None)
    array = np.asarray(values, dtype=np.float64)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or not array.size:
        raise ValueError(f"values must have the shape (recordings, columns), got {array.shape}")
    items = getattr(values, "columns", None)
    heads = range(1, array.shape[1] + 1) if items is None else items
    rows = range(len(array)) if own is None else own
    return array, [("value", str(item)) for item in heads], [str(name) for name in rows]
