"""What users give of a study, put in one form: coefficients by recording, and labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphdict.core.recordings import Recordings
from graphdict.engine.recordings import recording_names

NAMED = 5  # recordings that an error names


def coefficient_arrays(
    given: Any, names: Sequence[Any] | None = None
) -> tuple[list[str], list[NDArray[Any]]]:
    """Return names and coefficients (T_r, K) of recordings.

    Parameters
    ----------
    given : list or dict of arrays, a fitted model, or InstantaneousGraphs
        Arrays by recording; of a model or graphs, their coefficients cut by their recordings.
    names : sequence, optional
        Names of the recordings, instead of those of ``given``.
    """
    layout = recordings_of(given)
    whole = getattr(given, "coefficients_", getattr(given, "coefficients", None))
    if whole is not None:
        given = [whole] if layout is None else dict(zip(layout.names, layout.split(whole)))
    elif isinstance(given, np.ndarray) and given.ndim == 2:
        given = [given]
    elif not isinstance(given, Mapping):
        given = list(given)
    labels = recording_names(given, names)
    pieces = given.values() if isinstance(given, Mapping) else given
    arrays = [np.asarray(piece) for piece in pieces]
    if not arrays:
        raise ValueError("coefficients must hold at least one recording, got none")
    for label, array in zip(labels, arrays):
        if array.ndim != 2 or array.shape[1] != arrays[0].shape[-1] or not len(array):
            raise ValueError(
                f"coefficients of recording {label} must have the shape (samples, "
                f"{arrays[0].shape[-1] if arrays[0].ndim == 2 else 'columns'}), got {array.shape}"
            )
    return labels, arrays


def recordings_of(given: Any) -> Recordings | None:
    """Return which samples of a model or of graphs are of which recording; None of others."""
    found: Recordings | None = getattr(given, "recordings_", getattr(given, "recordings", None))
    return found


def as_labels(
    given: ArrayLike | Mapping[Any, Any], names: Sequence[str], what: str
) -> NDArray[Any]:
    """Return a label for each recording (R,), in their order.

    Parameters
    ----------
    given : array (R,), or dict (or pandas Series) of recording to label
        A dict names recordings; one that is missing or unknown is an error.
    names : sequence of str
        Names of the recordings.
    what : str
        Name of the argument, for errors.
    """
    index = getattr(given, "index", None)
    if hasattr(given, "to_dict") and getattr(index, "dtype", None) not in (None, np.dtype(int)):
        given = given.to_dict()
    if isinstance(given, Mapping):
        table = {str(name): label for name, label in given.items()}
        missing = [name for name in names if name not in table]
        unknown = [name for name in table if name not in set(names)]
        if missing or unknown:
            said = [f"none for {named(missing)}"] if missing else []
            said += [f"some for {named(unknown)}, which are not recordings"] if unknown else []
            raise ValueError(f"{what} do not match recordings: there are {', and '.join(said)}")
        given = [table[name] for name in names]
    labels = np.array(given, dtype=object)
    if labels.shape != (len(names),):
        raise ValueError(
            f"{what} must have a label for each of the {len(names)} recordings, got shape "
            f"{labels.shape}"
        )
    missing = [name for name, label in zip(names, labels) if _is_missing(label)]
    if missing:
        raise ValueError(f"{what} have no label for {named(missing)}: leave these recordings out")
    return np.array(labels.tolist())


def _is_missing(label: Any) -> bool:
    """Return whether a label is None, NaN, or what pandas has in its place."""
    return label is None or str(label) in ("<NA>", "NaT") or label != label


def named(items: Iterable[Any]) -> str:
    """Return the first few of some names, and how many more there are."""
    names = [str(item) for item in items]
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
