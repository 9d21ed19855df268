"""``graphdict transform``: encode new signals with a fitted model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np

from graphdict.app.commands.console import EXIT_CODES, Console, command_errors
from graphdict.app.commands.execution import open_signals
from graphdict.app.commands.models import accepts_missing
from graphdict.app.commands.options import (
    Command,
    execution_options,
    file_argument,
    group_option,
    output_options,
    read_file,
    reading_options,
    verbosity_options,
)
from graphdict.app.commands.outputs import check_free
from graphdict.app.commands.preprocessing import difference, handle_missing, read_metadata
from graphdict.app.commands.reading import check_group
from graphdict.app.commands.results import about_input, summarise_atoms, write_coefficients
from graphdict.app.files import InputError, SignalTable
from graphdict.app.files.lazy_signals import LazySignals
from graphdict.app.files.several import combine, expand_paths, recording_names, separate
from graphdict.app.files.table import quote_names
from graphdict.engine.storage.atomic import atomic_file


@click.command(
    cls=Command,
    epilog=EXIT_CODES,
    help="""Compute the coefficients of new signals under a fitted model.

    MODEL is the model.graphdict of a fit, or its folder. FILE must have the columns of the training
    signals, in any order; they are preprocessed in the same way. Writes a table of coefficients
    with a row for each sample. Several files (or a folder, or a pattern in quotes) are recordings,
    which the table has a column for; --group names the column of recordings of a single table.

    \b
    Examples:
      graphdict transform sensors-graphdict/model.graphdict new.csv
      graphdict transform sensors-graphdict new.csv -o new-coefficients.parquet
      graphdict transform sensors-graphdict large.parquet --memory 500MB -o coefficients.npy
    """,
)
@file_argument("model_file", metavar="MODEL")
@file_argument("files", metavar="FILE...", nargs=-1, required=True)
@execution_options
@output_options("the file's name with -coefficients.csv; .tsv, .parquet and .npy are written too")
@verbosity_options
@reading_options
@group_option
@command_errors
def transform(model_file: Path, files: tuple[Path, ...], output: Path | None, force: bool,
              quiet: bool, as_json: bool, **options: Any) -> None:  # fmt: skip
    console = Console(quiet, as_json)
    paths = expand_paths(files)
    file = files[0] if len(files) == 1 else Path("recordings")
    target = output or Path(f"{file.name.split('.')[0].strip('*?') or 'signals'}-coefficients.csv")
    if target.suffix not in (".csv", ".tsv", ".parquet", ".npy"):
        raise click.UsageError(f"-o {target} must end in .csv, .tsv, .parquet or .npy")
    check_free([target], force)
    model = open_model(model_file)
    out = target if target.suffix == ".npy" else None
    check_group(paths, options["group"])
    if out is not None and (options["group"] is not None or len(paths) > 1):
        raise click.UsageError(f"-o {target}: of recordings, write a .csv, .tsv or .parquet")
    if len(paths) == 1:
        signals, coefficients = encode(model, paths[0], options, console, out)
    else:
        signals, coefficients = _encode_all(model, paths, options, console)
    if out is None:
        write_coefficients(
            target, coefficients, signals.times, signals.time_name, signals.recordings
        )
    console.result(
        f"Wrote {target}: {len(coefficients):,} rows of {len(model.atoms_)} coefficients"
    )
    console.finish(
        {
            "command": "transform",
            "input": about_input(file, signals),
            "result": {"atoms": summarise_atoms(model, coefficients)},
            "files": [str(target)],
        }
    )


def _encode_all(
    model: Any, paths: list[Path], options: dict[str, Any], console: Console
) -> tuple[SignalTable, Any]:
    """Return the signals of several files as recordings, and their coefficients.

    Files that cannot be read are named, and the others go on.
    """
    found, read = [], []
    for path in paths:
        try:
            found.append(encode(model, path, options, console, missing=True))
            read.append(path)
        except InputError as error:
            console.warn(f"left out: {error}")
    if not found:
        raise InputError(f"none of {len(paths)} files could be read: the warnings above say why")
    signals = combine([table for table, _ in found], recording_names(read))
    return signals, np.concatenate([coefficients for _, coefficients in found])


def _encode_recordings(
    model: Any, whole: SignalTable, options: dict[str, Any], console: Console
) -> tuple[SignalTable, Any]:
    """Return the signals of the recordings of one table, and their coefficients."""
    assert whole.recordings is not None
    tables = separate(whole, all_nodes=True)
    found = [_encode_signals(model, table, options, console) for table in tables]
    signals = combine([table for table, _ in found], whole.recordings.names)
    return signals, np.concatenate([coefficients for _, coefficients in found])


def open_model(path: Path) -> Any:
    """Load a model from its file or the folder of its fit."""
    from graphdict import load_model

    if path.is_dir() and (path / "model.graphdict").exists():
        path = path / "model.graphdict"
    try:
        return load_model(path)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from None


def encode(
    model: Any,
    file: Path,
    options: dict[str, Any],
    console: Console,
    out: Path | None = None,
    silence: bool = False,
    missing: bool = False,
) -> tuple[SignalTable, Any]:
    """Return the signals of a file, preprocessed like the training signals, and coefficients.

    Coefficients are written to ``out``, an NPY file, in chunks where the model can. With
    ``silence``, InstantaneousGraphs are returned instead where nodes may be silent. With
    ``missing``, nodes that the file lacks are missing values where the model takes them.
    """
    nodes = tuple(map(str, model.node_names))
    signals = read_file(file, options, console, True, nodes)
    signals = _matched(signals, model, file, console, missing)
    if signals.recordings is not None:
        if out is not None:
            raise click.UsageError(f"-o {out}: of recordings, write a .csv, .tsv or .parquet")
        return _encode_recordings(model, signals, options, console)
    return _encode_signals(model, signals, options, console, out, silence)


def _encode_signals(
    model: Any,
    signals: SignalTable,
    options: dict[str, Any],
    console: Console,
    out: Path | None = None,
    silence: bool = False,
) -> tuple[SignalTable, Any]:
    """Return signals that have the model's columns, preprocessed, and their coefficients."""
    before = read_metadata(model)
    dask = options.get("dask")
    difference(signals, before.scaling.changes)
    if not accepts_missing(model) and (done := handle_missing(signals, "interpolate")):
        signals.notes.append(done)
        console.note(done)
    step, then = signals.step, before.about.get("step")
    if step and then and not 0.9 < step / then < 1.1 and getattr(model, "window_size", 1) > 1:
        console.warn(
            f"samples are {step:.4g} s apart, but the training samples were {then:.4g} s apart: "
            f"a window of {model.window_size} samples has another duration"
        )
    values = before.scaling.apply(signals.values)
    with open_signals(values, dask, console) as X, console.warnings_as_lines():
        if out is not None and hasattr(model, "transform"):
            return signals, model.transform(X, out=out)
        if silence and getattr(model, "prior", None) == "hierarchy":
            return signals, model.instantaneous_graphs(X)
        if hasattr(model, "transform"):
            coefficients = np.asarray(model.transform(X))
        else:
            coefficients = np.asarray(model.instantaneous_graphs(X).coefficients)
    if out is not None:
        with atomic_file(out) as file:
            np.save(file, coefficients)
    return signals, coefficients


def _matched(
    signals: SignalTable, model: Any, file: Path, console: Console, missing: bool
) -> SignalTable:
    """Return the signals with the columns of the model, in its order."""
    wanted = [str(name) for name in model.node_names]
    named = hasattr(model, "feature_names_in_")
    if not named or (not set(wanted) & set(signals.names) and len(wanted) == len(signals.names)):
        if len(wanted) != len(signals.names):
            raise InputError(
                f"{file} has {len(signals.names)} columns, and the model {len(wanted)}"
            )
        if named:
            console.warn(
                "no column has the name of a node of the model: columns are taken in order"
            )
        return signals
    indices = {name: index for index, name in enumerate(signals.names)}
    lacking = [name for name in wanted if name not in indices]
    if lacking:
        said = f"{file} lacks {len(lacking)} column(s) of the model: {quote_names(lacking)}"
        lazy = isinstance(signals.values, LazySignals)
        if not missing or lazy or len(lacking) == len(wanted) or not accepts_missing(model):
            raise InputError(said)
        console.warn(f"{said}; they are missing values there")
        empty = np.full((len(signals.values), len(lacking)), np.nan)
        signals.values = np.concatenate((signals.values, empty), axis=1)
        indices |= {name: len(indices) + place for place, name in enumerate(lacking)}
    extra = [name for name in signals.names if name not in wanted]
    if extra:
        console.note(f"left out {len(extra)} column(s) that the model does not have")
    order = [indices[name] for name in wanted]
    values = signals.values
    if isinstance(values, LazySignals):
        codes = tuple((order.index(at), code) for at, code in values.codes if at in order)
        columns = [values.columns[index] for index in order]
        signals.values = replace(values, columns=columns, codes=codes)
    else:
        signals.values = values[:, order]
    signals.names = wanted
    return signals
