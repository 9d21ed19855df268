"""Several recordings as one array of samples, with what is known of where each begins.

They are a list, a dictionary, or a data frame with a column (or level of its index) "recording".
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.utils import check_array

from graphdict.core.annotations import Integers
from graphdict.core.recordings import Recordings
from graphdict.engine.connection import find_client
from graphdict.engine.containers import about_signals, name_column, unpack
from graphdict.engine.mne_signals import is_mne, read_mne
from graphdict.engine.node_matching import NamedSignals, match_nodes
from graphdict.engine.signals import Preparation
from graphdict.engine.sources import ClusterRows, Rows, is_lazy
from graphdict.exceptions import LevelWarning, SilentNodeWarning

Scalar = TypeVar("Scalar", bound=np.generic)
COLUMN = "recording"  # of a table, that says which recording a row is of


class Joined(NamedTuple):
    """Recordings put one after the other."""

    samples: Any  # (T, N) an array, or rows that are read when they are used
    recordings: Recordings
    nodes: list[str] | None  # names, where recordings have them


class JoinedRows:
    """Rows (T, N) of several arrays, read a slice at a time; columns of each are placed by number.

    Each array is divided by a number of its own, 1 at first.
    """

    def __init__(self, signals: Sequence[NamedSignals], columns: Sequence[Integers | None], n: int):
        self.signals, self.columns = signals, columns
        self.ends = np.cumsum([len(one.values) for one in signals])
        self.scales = np.ones(len(signals))
        self.shape = (int(self.ends[-1]), n)
        single = all(one.values.dtype == np.float32 for one in signals)
        self.dtype = np.dtype(np.float32 if single else np.float64)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        start, stop, _ = rows.indices(len(self))
        first = int(np.searchsorted(self.ends, start, side="right"))
        found = np.empty((max(stop - start, 0), self.shape[1]), dtype=self.dtype)
        row = start
        for number in range(first, len(self.signals)):
            if row >= stop:
                break
            before = int(self.ends[number]) - len(self.signals[number].values)
            own = slice(row - before, min(stop, int(self.ends[number])) - before)
            block = self.signals[number].values[own]
            target = found[row - start : row - start + len(block)]
            columns = self.columns[number]
            if columns is None:
                target[:] = block
            else:
                target[:] = np.nan
                target[:, columns] = block
            if self.scales[number] != 1:
                target /= self.dtype.type(self.scales[number])
            row += len(block)
        return found


def are_several(X: Any) -> bool:
    """Whether ``X`` are recordings: a dictionary, a list of arrays (T, N), or a table of several.

    A list of rows of numbers is one array, and so is everything that is no list.
    """
    if _is_table(X):
        return True
    if isinstance(X, Mapping):
        return not (hasattr(X, "shape") or hasattr(X, "data_vars"))  # sparse matrices, xarray's
    if not isinstance(X, (list, tuple)) or not len(X):
        return False
    first = X[0]
    if is_mne(first):
        return True
    if isinstance(first, (list, tuple)):
        return bool(len(first)) and isinstance(first[0], (list, tuple, np.ndarray))
    return len(getattr(first, "shape", ())) >= 2


def _is_table(X: Any) -> bool:
    """Whether ``X`` is a data frame of pandas that says which recording a row is of."""
    if type(X).__module__.partition(".")[0] != "pandas" or not hasattr(X, "columns"):
        return False
    return COLUMN in X.columns or COLUMN in X.index.names


def by_name(X: Any) -> Any:
    """Return a table of several recordings as a dictionary of tables; all else as it is."""
    if not _is_table(X):
        return X
    owners = X[COLUMN] if COLUMN in X.columns else X.index.get_level_values(COLUMN)
    if owners.isna().any():
        raise ValueError(f"X: column {COLUMN!r} is empty in some rows: leave them out")
    signals = X.drop(columns=COLUMN, errors="ignore")
    return dict(iter(signals.groupby(np.asarray(owners), sort=False)))


def join(X: Any, known: Sequence[str] | None = None, missing: bool = True) -> Joined:
    """Return recordings as one array of samples.

    Parameters
    ----------
    X : list, tuple or dict of recordings, a table of several, or one of MNE
        Each is an array (T, N), a data frame, a memory map, a Zarr or Dask array, or MNE's Raw or
        Epochs. Epochs alone are a recording each.
    known : names, optional
        The nodes of a fitted model, which those of recordings with names are sorted by.
    missing : bool
        Whether nodes may be missing.
    """
    signals = list(_all_signals(X))
    if not signals:
        raise ValueError("X holds no recordings; give at least one")
    columns, nodes, count = match_nodes(signals, known, missing)
    breaks: list[int] = []
    before = 0
    for one in signals:
        breaks += [before + place for place in one.breaks]
        before += len(one.values)
    lengths = tuple(len(one.values) for one in signals)
    recordings = Recordings(tuple(one.name for one in signals), lengths, tuple(breaks))
    return Joined(_rows(signals, columns, count), recordings, nodes)


def _all_signals(X: Any) -> Iterable[NamedSignals]:
    """Yield every recording as an array, with its name."""
    if is_mne(X):
        yield from _signals_of_mne(X)
        return
    if not are_several(X):
        yield _named_signals("0", X)
        return
    X = by_name(X)
    values = X.values() if isinstance(X, Mapping) else X
    given = dict(zip(recording_names(X), values))
    _check_rates({name: value.info["sfreq"] for name, value in given.items() if is_mne(value)})
    for name, value in given.items():
        yield _named_signals(name, value)


def _check_rates(rates: Mapping[str, float]) -> None:
    """Raise ValueError where recordings of MNE differ in samples a second."""
    if rates and max(rates.values()) > 1.001 * min(rates.values()):
        fewest, most = (f(rates, key=lambda name: rates[name]) for f in (min, max))
        raise ValueError(
            f"X: recording {fewest!r} has {rates[fewest]:g} samples a second and recording "
            f"{most!r} has {rates[most]:g}: resample them to one rate"
        )


def recording_names(X: Collection[Any], given: Sequence[Any] | None = None) -> list[str]:
    """Return the names of several recordings: those given, keys of a dictionary, or 0, 1, ..."""
    names = [str(name) for name in (X if isinstance(X, Mapping) else range(len(X)))]
    if given is not None:
        names = [str(name) for name in given]
        if len(names) != len(X):
            raise ValueError(f"names has {len(names)} entries, but there are {len(X)} recordings")
    for name in names:
        if names.count(name) > 1:
            raise ValueError(
                f"{'X' if given is None else 'names'}: two recordings are called {name!r}: give "
                "each a name of its own"
            )
    return names


def _signals_of_mne(X: Any) -> Iterable[NamedSignals]:
    """Yield a Raw, or every one of some Epochs, as a recording."""
    found = read_mne(X)
    ends = np.cumsum(found.epochs)
    for number, (end, length) in enumerate(zip(ends, found.epochs)):
        first = int(end - length)
        if length:  # others have no good sample
            inside = tuple(place - first for place in found.breaks if first < place < end)
            yield NamedSignals(str(number), found.values[first:end], found.names, inside)


def _named_signals(name: str, value: Any) -> NamedSignals:
    """Return one recording, checked; an error names it."""
    try:
        if is_mne(value):
            found = read_mne(value)
            return NamedSignals(name, found.values, found.names, found.breaks)
        value = unpack(value)
        columns = getattr(value, "columns", None)
        nodes = None
        if columns is not None and all(isinstance(column, str) for column in columns):
            nodes = list(columns)
            if len(set(nodes)) < len(nodes):
                twice = next(node for node in nodes if nodes.count(node) > 1)
                raise ValueError(f"two columns are called {twice!r}")
        if is_lazy(value) and value.ndim == 2 and value.dtype.kind in "fiub":
            return NamedSignals(name, _lazy_rows(value), nodes, ())
        try:
            values = check_array(
                value, dtype=[np.float64, np.float32], ensure_all_finite=False,
                ensure_min_features=1,
            )  # fmt: skip
        except (TypeError, ValueError) as error:
            name_column(value, error)
            raise about_signals(value, error) from error
    except (TypeError, ValueError) as error:
        raise type(error)(f"X: recording {name!r}: {error}") from None
    return NamedSignals(name, values, nodes, ())


def _lazy_rows(value: Any) -> Rows:
    client = find_client(value)
    return Rows(value) if client is None else ClusterRows(value, client)


def _rows(
    signals: list[NamedSignals], columns: list[Integers | None], count: int
) -> JoinedRows | ClusterRows:
    """Return the rows of all recordings: on the cluster, where all of them are there."""
    if all(isinstance(one.values, ClusterRows) for one in signals):
        import dask.array

        whole = dask.array.concatenate([one.values.array for one in signals])
        return ClusterRows(whole, signals[0].values.client)
    return JoinedRows(signals, columns, count)


def check_output(model: Any, X: Any) -> None:
    """Raise ValueError where scikit-learn is to make one table of what is a list of arrays."""
    own = getattr(model, "_sklearn_output_config", {}).get("transform")
    asked = own or get_config()["transform_output"]
    if asked != "default" and are_several(X):
        raise ValueError(
            f'transform of several recordings returns a list, which set_output(transform="{asked}")'
            ' cannot turn into a table: use set_output(transform="default"), or '
            "instantaneous_graphs(X).to_pandas()"
        )


def by_recording(
    X: Any, values: NDArray[Scalar], recordings: Recordings
) -> NDArray[Scalar] | list[NDArray[Scalar]]:
    """Return values of all samples, as a list by recording where ``X`` are several of them."""
    return recordings.split(values) if are_several(X) or len(recordings) > 1 else values


def rescaled(joined: Joined, names: Sequence[str]) -> JoinedRows | ClusterRows:
    """Return the samples with each recording divided by its own root mean square.

    That is the size of its samples without their mean over nodes, on the nodes that vary in it.
    """
    rows, recordings = joined.samples, joined.recordings
    scales = []
    for name, own in zip(recordings.names, recordings.slices(), strict=True):
        samples: Any = _of_cluster(rows, own) if isinstance(rows, ClusterRows) else rows[own]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SilentNodeWarning)
                warnings.simplefilter("ignore", LevelWarning)
                found, _ = Preparation.learn(samples, np.array(names, dtype=object), True)
        except ValueError as error:
            raise ValueError(
                f"X: recording {name!r} cannot be divided by its own size: {error}"
            ) from None
        scales.append(found.scale)
    if isinstance(rows, ClusterRows):
        import dask.array

        divided = [rows.array[own] / scale for own, scale in zip(recordings.slices(), scales)]
        return ClusterRows(dask.array.concatenate(divided), rows.client)
    rows.scales = np.array(scales)
    return rows  # type: ignore[no-any-return]


def _of_cluster(rows: ClusterRows, own: slice) -> ClusterRows:
    return ClusterRows(rows.array[own], rows.client)
