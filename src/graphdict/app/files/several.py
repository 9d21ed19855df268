"""Several files as recordings: which files are meant, and their signals as one table."""

from __future__ import annotations

import glob
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from graphdict.app.files.errors import InputError
from graphdict.app.files.table import SignalTable, quote_names
from graphdict.app.files.zarrs import is_zarr
from graphdict.core.annotations import Floats
from graphdict.core.recordings import Recordings, check_common_nodes
from graphdict.eeg.bids import bids_files, bids_name, bids_root, describe_bids, is_bids_file


def expand_paths(given: Sequence[Path]) -> list[Path]:
    """Return the files that paths, folders and patterns (``"day*.csv"``) stand for, sorted.

    Of a BIDS folder, or one inside it, these are the EEG recordings.
    """
    found: list[Path] = []
    for path in given:
        if path.is_dir() and not is_zarr(path):
            inside = _bids_files_in(path)
            if inside is None:
                inside = sorted(p for p in path.iterdir() if p.is_file() and p.name[0] != ".")
            if not inside:
                raise InputError(f"{path} is a folder without files")
            found += inside
        elif not path.exists() and glob.has_magic(str(path)):
            matching = sorted(map(Path, glob.glob(str(path), recursive=True)))
            if not matching:
                raise InputError(f"{path} matches no file")
            found += matching
        else:
            found.append(path)
    return list(dict.fromkeys(found))


def _bids_files_in(folder: Path) -> list[Path] | None:
    """Return the EEG recordings of a BIDS folder, or of a part of it; None where it is in none."""
    root = bids_root(folder.resolve())
    if root is None:
        return None
    try:
        found = [path for path in bids_files(root).values() if folder.resolve() in path.parents]
    except ValueError as error:
        raise InputError(str(error)) from None
    if not found:
        raise InputError(f"{folder} has no EEG recordings, and is part of the BIDS folder {root}")
    return found


def about_recordings(paths: Sequence[Path]) -> dict[str, NDArray] | None:
    """Return what names and participants.tsv of a BIDS folder say of each file, as columns.

    None where files are not of one BIDS folder.
    """
    roots = {bids_root(path) if is_bids_file(path) else None for path in paths}
    if None in roots or len(roots) > 1:
        return None
    table = describe_bids(dict(zip(recording_names(paths), paths))).reset_index()
    return {name: table[name].to_numpy() for name in table}


def recording_names(paths: Sequence[Path]) -> list[str]:
    """Return a name for each file: without its folder and ending, where that tells them apart."""
    short = [
        bids_name(path) if is_bids_file(path) else path.name.split(".")[0] for path in paths
    ]  # fmt: skip
    if max(Counter(short).values()) == 1:
        return short
    return [str(path) for path in paths]


def combine(tables: Sequence[SignalTable], names: Sequence[str]) -> SignalTable:
    """Return recordings one after the other, with their nodes matched by name.

    The nodes are all names in the order in which they first appear; those that a recording lacks
    are missing values there. Raises InputError for recordings that have none of the others' nodes.
    """
    nodes = list(dict.fromkeys(node for table in tables for node in table.names))
    try:
        check_common_nodes(names, [table.names for table in tables])
    except ValueError as error:
        raise InputError(str(error)) from None
    notes = []
    for name, table in zip(names, tables, strict=True):
        lacking = [node for node in nodes if node not in set(table.names)]
        if lacking:
            notes.append(f"recording {name!r} lacks {quote_names(lacking)}: missing values there")
    lengths = tuple(len(table.values) for table in tables)
    values = np.full((sum(lengths), len(nodes)), np.nan)
    recordings = Recordings(tuple(names), lengths)
    for table, rows in zip(tables, recordings.slices(), strict=True):
        columns = [nodes.index(node) for node in table.names]
        values[rows, columns] = table.values
    first = tables[0]
    steps = {name: table.step for name, table in zip(names, tables) if table.step is not None}
    step = first.step
    if steps and max(steps.values()) > 1.001 * min(steps.values()):
        least, most = (f(steps, key=lambda name: steps[name]) for f in (min, max))
        told = f"{steps[least]:g} in {least!r}, {steps[most]:g} in {most!r}"
        notes.append(
            f"recordings differ in the seconds between samples ({told}): durations are in samples"
        )
        step = None
    return SignalTable(
        values, nodes, _times(tables), first.time_unit, _positions(tables, nodes), notes,
        {node: unit for table in tables for node, unit in table.units.items()}, first.time_name,
        step, all(table.recording for table in tables), recordings,
    )  # fmt: skip


def separate(signals: SignalTable, all_nodes: bool = False) -> list[SignalTable]:
    """Return the recordings that were combined, without notes.

    Each has the nodes that it has values of, or all.
    """
    if signals.recordings is None:
        return [signals]
    found = []
    for rows in signals.recordings.slices():
        values = signals.values[rows]
        there = ~np.isnan(values).all(axis=0) | all_nodes
        names = [name for name, kept in zip(signals.names, there) if kept]
        found.append(
            replace(
                signals, values=values[:, there], names=names, notes=[], recordings=None,
                times=None if signals.times is None else signals.times[rows],
                positions=None if signals.positions is None else signals.positions[there],
                units={name: unit for name, unit in signals.units.items() if name in names},
            )
        )  # fmt: skip
    return found


def _times(tables: Sequence[SignalTable]) -> NDArray | None:
    """Return the times of all samples, where all recordings have times of one kind."""
    times = [table.times for table in tables if table.times is not None]
    alike = len({(time.dtype.kind, table.time_unit) for time, table in zip(times, tables)}) == 1
    return np.concatenate(times) if len(times) == len(tables) and alike else None


def _positions(tables: Sequence[SignalTable], nodes: Sequence[str]) -> Floats | None:
    """Return where nodes are, by the first recording that says it; None where none does."""
    known: dict[str, Floats] = {}
    for table in tables:
        if table.positions is not None:
            known = {**dict(zip(table.names, table.positions)), **known}
    return np.array([known[node] for node in nodes]) if known.keys() >= set(nodes) else None
