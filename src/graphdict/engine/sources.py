"""Lazy signals, which are read when they are used: memory maps, Zarr, Dask, arrays too large.

What is larger than scikit-learn's setting ``working_memory`` (in MiB; 1024 by default) is never
copied as a whole: it is read and prepared a part at a time, again in each pass. What is smaller is
read once. Results are the same.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Callable, Iterable
from functools import cached_property, partial
from typing import Any

import numpy as np
import sklearn

from graphdict.core.annotations import Floats, Integers
from graphdict.core.likelihoods import Likelihood
from graphdict.core.terms.missing import Gaps
from graphdict.engine.signals import Preparation, each_block
from graphdict.engine.storage.atomic import atomic_file


def too_large(shape: tuple[int, ...], dtype: Any) -> bool:
    """Return whether an array would not fit into scikit-learn's ``working_memory``."""
    return int(np.prod(shape)) * np.dtype(dtype).itemsize > sklearn.get_config()[
        "working_memory"
    ] * (1 << 20)


class Rows:
    """Rows of a large array (T, N) as floating point numbers, read a slice at a time."""

    def __init__(self, array: Any):
        self.array = array
        self.shape = tuple(array.shape)
        self.dtype = np.dtype(
            np.float32 if array.dtype.newbyteorder("=") == np.float32 else np.float64
        )

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> Floats:
        found = self.array[rows]
        if hasattr(found, "compute"):  # Dask
            found = found.compute()
        block = np.array(found, dtype=self.dtype, order="C")
        if isinstance(self.array, np.memmap):
            release_pages(self.array)
        return block


class ClusterRows(Rows):
    """Rows of a Dask array whose work is done by the workers of a cluster."""

    def __init__(self, array: Any, client: Any):
        from graphdict.engine.connection import check_array

        super().__init__(check_array(array, client))
        self.client = client

    def each_block(self, function: Callable[..., Any], *, numbered: bool = False) -> list[Any]:
        from graphdict.engine.cluster import each_block

        return each_block(self.array, self.client, self.dtype, function, numbered)


class Prepared:
    """Prepared signals (T, active nodes), each slice when it is asked for."""

    def __init__(self, rows: Any, preparation: Preparation):
        self.rows = rows
        self.preparation = preparation
        self.shape = (len(rows), int(preparation.active.sum()))
        self.dtype = rows.dtype

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> Floats:
        return self.preparation.apply(self.rows[rows])

    def each_block(self, function: Callable[..., Any], *, numbered: bool = False) -> list[Any]:
        """Return ``function(block)`` of every block of prepared rows, in order."""
        of_prepared = partial(_of_prepared, function, self.preparation)
        return each_block(self.rows, of_prepared, numbered=numbered)


def _of_prepared(function: Callable[..., Any], preparation: Preparation, *arguments: Any) -> Any:
    """Prepare the last argument, a block of rows, and return ``function`` of them all."""
    *number, block = arguments
    return function(*number, preparation.apply(block))


def open_rows(X: Any) -> Any:
    """Return ``X``, or :class:`Rows` where it is on a cluster or too large to be read at once."""
    from graphdict.engine.connection import find_client

    client = find_client(X)
    if client is not None and hasattr(X, "chunks") and X.ndim == 2 and X.dtype.kind in "fiub":
        return ClusterRows(X, client)
    if not is_lazy(X):
        return X
    if X.ndim != 2 or X.dtype.kind not in "fiub" or not too_large(X.shape, X.dtype):
        return np.asarray(X)  # small, or wrong in a way that later checks report
    return Rows(X)


def is_lazy(X: Any) -> bool:
    """Return whether it is a memory map, or an array of Zarr or Dask."""
    return isinstance(X, np.memmap) or (
        hasattr(X, "chunks") and hasattr(X, "dtype") and not isinstance(X, np.ndarray)
    )


def prepared(signals: Any, preparation: Preparation) -> Any:
    """Return prepared signals: an array, or lazy ones."""
    if isinstance(signals, Rows) or too_large(signals.shape, signals.dtype):
        return Prepared(signals, preparation)
    return preparation.apply(signals)


class LazySmoothness:
    """The signal term of lazy signals, a part of which is read at a time."""

    read_when_used = True

    def __init__(self, signals: Any, counts: Integers, gaps: Gaps | None, likelihood: Likelihood):
        self.signals = signals
        self.counts = counts
        self.gaps = gaps
        self.likelihood = likelihood
        self.dtype = signals.dtype
        self.ends = np.cumsum(counts) if len(counts) < len(signals) else None
        self.stands_for = likelihood.signal_kind(self.ends is None, gaps is not None)

    def part(self, rows: slice) -> _LazyPart:
        samples = rows
        if self.ends is not None:
            samples = slice(
                int(self.ends[rows.start] - self.counts[rows.start]), int(self.ends[rows.stop - 1])
            )
        return _LazyPart(self.signals, samples, self.counts[rows], self.gaps, self.likelihood)


class _LazyPart:
    """A part that is read when it is first asked for something, and forgotten with this object."""

    def __init__(
        self, source: Any, samples: slice, counts: Integers, gaps: Gaps | None,
        likelihood: Likelihood
    ):  # fmt: skip
        self.source, self.samples, self.counts, self.gaps = source, samples, counts, gaps
        self.likelihood = likelihood
        single = samples.stop - samples.start == len(counts)
        self.stands_for = likelihood.signal_kind(single, gaps is not None)
        self.dtype = source.dtype

    @cached_property
    def signal_term(self) -> Any:
        signals = self.source[self.samples]
        return self.likelihood.signal_term(signals, self.counts, keep=False, gaps=self.gaps)

    @property
    def signals(self) -> Floats | None:
        return self.signal_term.signals

    @property
    def powers(self) -> Floats:
        return self.signal_term.powers

    def features(self, rows: slice) -> Floats:
        return self.signal_term.features(rows)

    def energies(self, atoms: Floats, rows: slice) -> Floats:
        return self.signal_term.energies(atoms, rows)

    def weighted_distances(self, coefficients: Floats, rows: slice) -> Floats:
        return self.signal_term.weighted_distances(coefficients, rows)


def open_signal_term(
    signals: Any, counts: Integers, gaps: Gaps | None, likelihood: Likelihood, tied: bool
) -> Any:
    """Return the signal term of a likelihood for prepared signals in windows, wherever they are.

    Where priors have ``tied`` samples together, all coefficients would travel to and from a cluster
    in every iteration. Signals that fit into ``working_memory`` come here, once, instead.
    """
    on_cluster = isinstance(signals, Prepared) and isinstance(signals.rows, ClusterRows)
    if on_cluster and tied and not too_large(signals.shape, signals.dtype):
        signals, on_cluster = signals[: len(signals)], False
    if on_cluster:
        from graphdict.engine.cluster import ClusterSmoothness

        return ClusterSmoothness(signals, gaps, likelihood)
    if isinstance(signals, Prepared):
        return LazySmoothness(signals, counts, gaps, likelihood)
    return likelihood.signal_term(signals, counts, gaps=gaps)


def write_rows(
    pieces: Iterable[Floats], counts: Integers, columns: int, dtype: Any, out: Any = None
) -> Floats:
    """Return rows of windows that come piece by piece as one array with a row for each sample.

    ``out`` is an array to fill or the path of a file to write; by default it is an array in memory,
    or a file without a name where that would be too large.
    """
    shape = (int(counts.sum()), columns)
    if isinstance(out, (str, os.PathLike)):
        with atomic_file(out) as file:
            target = np.lib.format.open_memmap(file.name, mode="w+", dtype=dtype, shape=shape)
            _fill(target, pieces, counts)
            target.flush()
        return target
    if out is None and too_large(shape, dtype):
        with tempfile.TemporaryFile() as file:  # the map holds it open
            out = np.memmap(file, dtype=dtype, mode="w+", shape=shape)
    elif out is None:
        out = np.empty(shape, dtype=dtype)
    elif getattr(out, "shape", None) != shape:
        raise ValueError(f"out must be a path or an array of shape {shape}, got {out!r:.80}")
    _fill(out, pieces, counts)
    return out


def _fill(target: Any, pieces: Iterable[Floats], counts: Integers) -> None:
    row, filled = 0, 0
    for piece in pieces:
        some = counts[row : row + len(piece)]
        row += len(piece)
        repeated = piece if (some == 1).all() else np.repeat(piece, some, axis=0)
        target[filled : filled + len(repeated)] = repeated
        filled += len(repeated)
        if isinstance(target, np.memmap):
            release_pages(target)


def release_pages(array: np.memmap) -> None:
    """Let the system drop the pages of a memory map that were read."""
    opened: mmap.mmap | None = getattr(array, "_mmap", None)
    if opened is not None and array.mode != "c" and hasattr(opened, "madvise"):
        opened.madvise(mmap.MADV_DONTNEED)
