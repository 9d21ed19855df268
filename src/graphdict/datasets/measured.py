"""What loaders of measured signals return, and how they find their files.

Nothing is shipped with the package. A loader reads from the folder that it is given, from the one
that the environment variable ``GRAPHDICT_DATA`` names, or from another package that ships the set.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from graphdict.core.annotations import Booleans, Floats, StrPath

VARIABLE = "GRAPHDICT_DATA"


class DatasetNotFoundError(FileNotFoundError):
    """Raised where the files of a data set are absent; says where they were looked for."""


@dataclass(frozen=True)
class MeasuredSignals:
    """Signals that somebody measured, and what is known about them.

    Attributes
    ----------
    signals : array (T, N)
        One row for each time.
    names : list of str
        Names of the nodes.
    times : array (T,) or None
        When samples were taken: dates, or seconds.
    places : array (N, 2) or None
        Where the nodes are: longitude and latitude, or metres.
    edges : boolean array (E,) or None
        Which pairs of nodes belong together by what is known from elsewhere (a map, anatomy, the
        simulation), in the order of ``np.triu_indices(N, 1)``.
    states : array (T,) or None
        The known state of every sample.
    """

    signals: Floats
    names: list[str]
    times: NDArray[np.generic] | None = None
    places: Floats | None = None
    edges: Booleans | None = None
    states: NDArray[np.generic] | None = None


def find_file(
    paths: Sequence[str], folder: StrPath | None, what: str, package: str | None = None
) -> Path:
    """Return the first of ``paths`` that exists.

    Parameters
    ----------
    paths : sequence of str
        Names to look for below the folder; the first names the file in messages.
    folder : path or None
        Where to look; None stands for ``GRAPHDICT_DATA`` and then for the installed ``package``.
    what : str
        The data set in a few words, and where it comes from, for the message.
    package : str, optional
        A package whose installation brings the file, at ``paths`` beside its own folder.

    Raises
    ------
    DatasetNotFoundError
        Where none exists.
    """
    named = os.environ.get(VARIABLE)
    roots = [Path(folder).expanduser()] if folder is not None else []
    if folder is None and named:
        roots.append(Path(named).expanduser())
    if folder is None and package is not None:
        found = importlib.util.find_spec(package)
        if found is not None and found.submodule_search_locations:
            roots.append(Path(next(iter(found.submodule_search_locations))).parent)
    for root in roots:
        for path in paths:
            if (root / path).is_file():
                return root / path
    looked = " and ".join(map(str, roots)) or "no folder, since none is named"
    advice = f"give folder=, or set {VARIABLE}"
    if package is not None:
        advice = f"install the package {package}, which brings it, or {advice}"
    raise DatasetNotFoundError(f"{what}: {paths[0]} was looked for in {looked}; {advice}")


def nearest_neighbours(places: Floats, count: int = 4) -> Booleans:
    """Return which pairs (E,) are neighbours: one is among the ``count`` nearest of the other."""
    distances = cdist(places, places)
    np.fill_diagonal(distances, np.inf)
    near = np.zeros(distances.shape, dtype=bool)
    np.put_along_axis(near, np.argsort(distances, axis=1)[:, :count], True, axis=1)
    return (near | near.T)[np.triu_indices(len(near), 1)]
