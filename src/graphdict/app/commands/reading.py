"""From the files of a command to signals that are ready to be learned from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from graphdict.app.commands.console import Console
from graphdict.app.commands.models import accepts_missing, model_class
from graphdict.app.commands.options import read_file
from graphdict.app.commands.preprocessing import Scaling, difference, drifts, handle_missing
from graphdict.app.files import InputError, SignalTable
from graphdict.app.files.several import about_recordings, combine, recording_names, separate


def read_recordings(paths: list[Path], options: dict[str, Any], console: Console) -> SignalTable:
    """Return the signals of one file, or of several as recordings, preprocessed.

    Of several, files that cannot be read are named, and the others go on.
    """
    if len(paths) == 1:
        signals = read_file(paths[0], options, console, in_parts=True)
        if signals.recordings is None:
            _preprocess(signals, options, console)
            return signals
        tables, known, about = separate(signals), signals.notes, signals.about
        for table in tables:
            _preprocess(table, options, console)
        signals = combine(tables, signals.recordings.names)
        signals.notes = known  # they say already what recordings lack
        signals.about = about
        return signals
    check_group(paths, options["group"])
    tables, read = [], []
    for path in paths:
        try:
            table = read_file(path, options, console)
            _preprocess(table, options, console)
        except InputError as error:
            console.warn(f"left out: {error}")
            continue
        tables.append(table)
        read.append(path)
    if len(tables) < 2:
        raise InputError(
            f"{len(tables)} of {len(paths)} files could be read, and several recordings need at "
            "least 2: the warnings above say why"
        )
    signals = combine(tables, recording_names(read))
    signals.about = about_recordings(read)
    for note in signals.notes:
        console.note(note)
    return signals


def check_group(paths: list[Path], group: str | None) -> None:
    """Raise UsageError where a column of recordings is named, but each of several files is one."""
    if group is not None and len(paths) > 1:
        raise click.UsageError(
            f"--group {group} is for one table: of {len(paths)} files, each is a recording"
        )


def _preprocess(signals: SignalTable, options: dict[str, Any], console: Console) -> None:
    """Take differences and handle missing values in place, and print notes on it."""
    printed = len(signals.notes)
    difference(signals, options["changes"])
    accepts = accepts_missing(model_class(options["model"])())
    how = options["missing"]
    if how == "auto":
        how = "keep" if accepts else "interpolate"
    elif how == "keep" and signals.missing and not accepts:
        raise click.UsageError(
            f"--model {options['model']} accepts no missing values; use --missing interpolate or "
            "drop"
        )
    if done := handle_missing(signals, how):
        signals.notes.append(done)
    for note in signals.notes[printed:]:
        console.note(note)


def learn_scaling(signals: SignalTable, options: dict[str, Any], console: Console) -> Scaling:
    """Return the scaling of the signals, and print notes on it."""
    printed = len(signals.notes)
    scaling, note = Scaling.learn(signals, options["standardise"], options["changes"])
    signals.notes.append(note)
    if options["changes"] == "none" and drifts(signals.values):
        signals.notes.append(
            "columns drift slowly, as prices and totals do, and edges then join what drifts "
            "together; --changes relative (or difference) learns from changes instead"
        )
    for note in signals.notes[printed:]:
        console.note(note)
    return scaling
