"""Which samples belong to which recording, where several were put one after the other."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from graphdict.core.annotations import Integers
from graphdict.core.terms.coefficients import window_counts

Scalar = TypeVar("Scalar", bound=np.generic)


@dataclass(frozen=True)
class Recordings:
    """Names and lengths of the recordings whose samples stand one after the other in one array.

    Parameters
    ----------
    names : tuple of R str
    lengths : tuple of R int
        Number of samples of each.
    breaks : tuple of int
        Samples, counted among all, before which something is left out of their recording: the first
        of an epoch, or after a bad segment. Nothing crosses these either.

    Examples
    --------
    >>> import numpy as np
    >>> from graphdict.results import Recordings
    >>> recordings = Recordings(("ann", "bob"), (2, 3))
    >>> recordings.labels()
    array([0, 0, 1, 1, 1])
    >>> recordings.split(np.arange(5))
    [array([0, 1]), array([2, 3, 4])]
    """

    names: tuple[str, ...]
    lengths: tuple[int, ...]
    breaks: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if len(self.names) != len(self.lengths) or not self.names:
            raise ValueError(f"got {len(self.names)} names for {len(self.lengths)} recordings")

    @classmethod
    def single(cls, samples: int) -> Recordings:
        """Return one recording of so many samples, named "0".

        Parameters
        ----------
        samples : int

        Returns
        -------
        Recordings
        """
        return cls(("0",), (int(samples),))

    def __len__(self) -> int:
        return len(self.names)

    @property
    def total(self) -> int:
        """Number of samples of all recordings."""
        return sum(self.lengths)

    @cached_property
    def starts(self) -> Integers:
        """The first sample (R,) of each recording."""
        return np.concatenate(([0], np.cumsum(self.lengths)[:-1])).astype(np.intp)

    @cached_property
    def piece_starts(self) -> Integers:
        """The first sample of each piece in which nothing is left out: recordings and breaks."""
        return np.union1d(self.starts, np.array(self.breaks, dtype=np.intp))

    @property
    def piece_lengths(self) -> Integers:
        """Number of samples of each piece."""
        return np.diff(np.append(self.piece_starts, self.total))

    def slices(self) -> list[slice]:
        """Return the samples of each recording, as slices of the array of all.

        Returns
        -------
        list of R slices
        """
        return [slice(int(a), int(a) + n) for a, n in zip(self.starts, self.lengths, strict=True)]

    def split(self, array: NDArray[Scalar]) -> list[NDArray[Scalar]]:
        """Return what an array of all samples has for each recording, as views.

        Parameters
        ----------
        array : array (T, ...)

        Returns
        -------
        list of R arrays
        """
        if len(array) != self.total:
            raise ValueError(
                f"the array has {len(array)} rows and the {len(self)} recording(s) have "
                f"{self.total} samples"
            )
        return [array[rows] for rows in self.slices()]

    def labels(self) -> Integers:
        """Return the number of the recording that each sample is from.

        Returns
        -------
        integer array (T,)
        """
        return np.repeat(np.arange(len(self)), self.lengths)

    def number(self, recording: int | str) -> int:
        """Return the number of a recording.

        Parameters
        ----------
        recording : int or str
            Its number, also from the end as -1, or its name.

        Returns
        -------
        int
        """
        if isinstance(recording, str):
            if recording not in self.names:
                known = ", ".join(map(repr, self.names[:8])) + (" ..." if len(self) > 8 else "")
                raise ValueError(f"no recording is called {recording!r}; there are {known}")
            return self.names.index(recording)
        if not -len(self) <= recording < len(self):
            raise ValueError(f"there is no recording {recording}: there are {len(self)}")
        return int(recording) % len(self)

    def place(self, sample: int) -> tuple[str, int]:
        """Return the name of the recording that a sample is from, and its number within that.

        Parameters
        ----------
        sample : int
            Counted among all.

        Returns
        -------
        pair of str and int
        """
        owner = int(np.searchsorted(self.starts, sample, side="right")) - 1
        return self.names[owner], sample - int(self.starts[owner])

    def window_counts(self, size: int) -> Integers:
        """Return the number of samples in each window of ``size``.

        No window has samples of two recordings, nor of both sides of a break: the last one of each
        piece may be shorter.

        Parameters
        ----------
        size : int

        Returns
        -------
        integer array (B,)
        """
        pieces = self.piece_lengths
        if len(pieces) == 1 or size == 1:
            return window_counts(self.total, size)
        return np.concatenate([window_counts(int(length), size) for length in pieces])

    def window_starts(self, size: int) -> Integers:
        """Return the number of the first window of each piece.

        Parameters
        ----------
        size : int
            Samples in a window.

        Returns
        -------
        integer array
        """
        windows = -(-self.piece_lengths // size)
        return np.concatenate(([0], np.cumsum(windows)[:-1])).astype(np.intp)

    def cut(self, pieces: Sequence[slice]) -> Recordings:
        """Return the recordings of some samples, put one after the other.

        Samples that were next to each other stay in one recording, and nothing joins those that
        were not.

        Parameters
        ----------
        pieces : sequence of slices
            Of all samples, in order.

        Returns
        -------
        Recordings
        """
        names: list[str] = []
        lengths: list[int] = []
        starts, before = self.piece_starts, -1
        ends = starts + self.piece_lengths
        for piece in pieces:
            sample = piece.start
            while sample < piece.stop:
                own = int(np.searchsorted(ends, sample, side="right"))
                stop = min(piece.stop, int(ends[own]))
                if sample == before and sample != starts[own]:
                    lengths[-1] += stop - sample
                else:
                    names.append(self.place(sample)[0])
                    lengths.append(stop - sample)
                sample = before = stop
        return Recordings(tuple(names), tuple(lengths))


def check_common_nodes(names: Sequence[str], nodes: Sequence[Collection[str]]) -> None:
    """Raise ValueError if recordings fall into groups without common nodes.

    The message names the smaller group.

    Parameters
    ----------
    names : sequence of R str
    nodes : sequence of R collections of str
        The nodes of each recording.
    """
    reached, apart = set(nodes[0]), list(range(1, len(names)))
    while near := [number for number in apart if reached.intersection(nodes[number])]:
        reached.update(*(nodes[number] for number in near))
        apart = [number for number in apart if number not in near]
    if not apart:
        return
    theirs = set().union(*(nodes[number] for number in apart))
    if 2 * len(apart) > len(names):
        apart = [number for number in range(len(names)) if number not in apart]
        reached, theirs = theirs, reached
    who = abbreviated([names[number] for number in apart])
    raise ValueError(
        (f"recording {who} has" if len(apart) == 1 else f"recordings {who} have")
        + f" no node in common with the others: nodes there are {abbreviated(sorted(theirs))}, "
        f"those of the others {abbreviated(sorted(reached))}"
    )


def abbreviated(names: Sequence[str]) -> str:
    """Return the first few names, and how many more there are."""
    more = f" and {len(names) - 6} more" if len(names) > 6 else ""
    return ", ".join(map(repr, names[:6])) + more
