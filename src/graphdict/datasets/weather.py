"""Weather at stations on a map: the United States by day, Brittany by hour."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.io import loadmat

from graphdict.core.annotations import StrPath
from graphdict.datasets.measured import MeasuredSignals, find_file, nearest_neighbours

FIRST_DAY = np.datetime64("2000-01-01")  # of 5,844 days: sixteen years with four leap days
WINTER = (10, 11, 12, 1, 2, 3)  # months of the colder half of the year


def load_us_temperature(folder: StrPath | None = None, *, changes: bool = True) -> MeasuredSignals:
    """Load the daily mean temperature of 45 of the United States over 16 years.

    Averages over the stations of each state, as distributed with the Graph_Learning code of
    STAC-USC (``us_temperature.mat``); observations by the weather services of the United States,
    which are in the public domain. The file has no dates: the first of its 5,844 days is taken to
    be a 1 January, and the years are counted from 2000.

    Parameters
    ----------
    folder : path, optional
        Where ``us_temperature.mat`` is; by default the folder that ``GRAPHDICT_DATA`` names.
    changes : bool, default=True
        Whether to return day-to-day changes, (5843, 45), or the temperatures, (5844, 45).

    Returns
    -------
    MeasuredSignals
        ``places`` are the centres of the states; ``edges`` join each to its four nearest;
        ``states`` are "winter" (October to March) and "summer".
    """
    path = find_file(["us_temperature.mat"], folder, "temperature of US states (STAC-USC)")
    file = loadmat(path, squeeze_me=True)
    signals = np.asarray(file["data_2d_state"], dtype=np.float64)
    days = FIRST_DAY + np.arange(len(signals))
    if changes:
        signals, days = np.diff(signals, axis=0), days[1:]
    places = np.asarray(file["center_vector"], dtype=np.float64)
    months = days.astype("datetime64[M]").astype(int) % 12 + 1
    return MeasuredSignals(
        signals,
        [str(name) for name in file["state_list"]],
        times=days,
        places=places,
        edges=nearest_neighbours(places),
        states=np.where(np.isin(months, WINTER), "winter", "summer"),
    )


def load_brittany_weather(
    folder: StrPath | None = None, *, variable: str = "temperature", changes: bool = True
) -> MeasuredSignals:
    """Load the hourly weather of Brittany in January 2014.

    Measured by Météo-France, opened under the French Licence Ouverte, and collected by B. Girault
    (``molene.mat`` of the Molene-Dataset).

    Parameters
    ----------
    folder : path, optional
        Where ``molene.mat`` is; by default the folder that ``GRAPHDICT_DATA`` names.
    variable : str, default="temperature"
        One of those that the file has; an error lists them.
    changes : bool, default=True
        Whether to return hour-to-hour changes, (743, N), or the values, (744, N).

    Returns
    -------
    MeasuredSignals
        ``places`` in metres; ``edges`` join each of 31 to 37 stations to its four nearest.
    """
    path = find_file(["molene.mat"], folder, "weather of Brittany (Météo-France, Molene-Dataset)")
    file = loadmat(path, squeeze_me=True, struct_as_record=False)
    known: dict[str, tuple[Any, NDArray[Any]]] = {}
    for group in file["gsp_molene_graphs"]:
        tables = [group.data] if isinstance(group.data_name, str) else group.data
        for name, table in zip(np.atleast_1d(group.data_name), tables, strict=True):
            known.setdefault(str(name), (group, table))
    if variable not in known:
        raise ValueError(f"variable must be one of {sorted(known)}, got {variable!r}")
    group, table = known[variable]
    signals = np.asarray(table, dtype=np.float64).T
    times = np.datetime64("2014-01-01T00") + np.arange(len(signals))
    if changes:
        signals, times = np.diff(signals, axis=0), times[1:]
    places = np.asarray(group.coordinates, dtype=np.float64)[:, :2]
    names = [str(name) for name in group.grasp_node_names]
    return MeasuredSignals(signals, names, times, places, nearest_neighbours(places))
