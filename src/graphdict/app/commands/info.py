"""``graphdict info``: describe a model file or a table of signals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from graphdict.app.commands.console import EXIT_CODES, Console, command_errors
from graphdict.app.commands.options import (
    Command,
    file_argument,
    memory_option,
    read_file,
    reading_options,
    verbosity_options,
)
from graphdict.app.commands.preprocessing import Scaling, read_metadata
from graphdict.app.commands.results import describe_atoms, summarise_atoms
from graphdict.app.commands.transform import open_model
from graphdict.app.files import is_model_file
from graphdict.app.files.lazy_signals import summarise_columns
from graphdict.app.files.times import format_duration, format_time

SHOWN = 40
NUMBERS = ("mean", "spread", "least", "greatest")


@click.command(
    cls=Command,
    epilog=EXIT_CODES,
    help="""Describe a file: a model, or a table of signals.

    A table is read as fit would read it.

    \b
    Examples:
      graphdict info sensors.csv
      graphdict info sensors-graphdict/model.graphdict --json
    """,
)
@file_argument("file", metavar="FILE")
@memory_option
@verbosity_options
@reading_options
@command_errors
def info(file: Path, quiet: bool, as_json: bool, **options: Any) -> None:
    console = Console(quiet, as_json)
    if is_model_file(file) or (file.is_dir() and (file / "model.graphdict").exists()):
        _model(file, console)
    else:
        _table(file, options, console)


def _model(file: Path, console: Console) -> None:
    model = open_model(file)
    before = read_metadata(model)
    kind, names = type(model).__name__, model.node_names
    settings = {
        name: value for name, value in model.get_params().items()
        if isinstance(value, (str, int, float, bool)) and name != "verbose"
    }  # fmt: skip
    atoms = summarise_atoms(model)
    console.result(f"{kind} of {len(atoms)} atom{'s' * (len(atoms) != 1)} on {len(names)} nodes")
    if source := before.about.get("source"):
        console.result(f"learned from {source}, {len(model.coefficients_):,} samples")
    for note in before.about.get("notes", []):
        console.note(note)
    console.result(f"nodes: {', '.join(map(str, names[:SHOWN]))}{' ...' * (len(names) > SHOWN)}")
    console.result("settings: " + ", ".join(f"{k}={v}" for k, v in settings.items()))
    console.result(f"objective {model.objective_:.6g} after {model.n_iter_} iterations")
    describe_atoms(console, atoms)
    console.finish(
        {
            "command": "info", "kind": "model", "file": str(file), "class": kind,
            "nodes": names, "settings": settings, "objective": model.objective_,
            "iterations": model.n_iter_, "samples": len(model.coefficients_),
            "about": before.about, "atoms": atoms,
        }
    )  # fmt: skip


def _table(file: Path, options: dict[str, Any], console: Console) -> None:
    signals = read_file(file, options, console, in_parts=True)
    rows, nodes = signals.values.shape
    console.note(f"in a fit, {Scaling.learn(signals, 'auto', 'none')[1]}")
    span = "no column of times"
    if signals.times is not None:
        first, last = (format_time(time) for time in signals.times[[0, -1]])
        span = f"from {first} to {last} ({signals.time_unit})"
        if signals.step:
            span += f", {format_duration(signals.step)} apart"
    console.result(f"{rows:,} samples of {nodes} nodes, {span}")
    found = summarise_columns(signals.values)
    columns = [
        {"name": name, "unit": signals.units.get(name)}
        | {key: getattr(found, key)[i].item() for key in ("missing", *NUMBERS)}
        for i, name in enumerate(signals.names)
    ]
    width = max(4, min(28, max(len(name) for name in signals.names)))
    console.result(
        f"{'node':{width}}  {'mean':>11} {'spread':>11} {'least':>11} {'greatest':>11} missing"
    )
    for column in columns[:SHOWN]:
        numbers = " ".join(f"{column[key]:11.4g}" for key in NUMBERS)
        console.result(f"{str(column['name'])[:28]:{width}}  {numbers} {column['missing']:7d}")
    if nodes > SHOWN:
        console.result(f"... and {nodes - SHOWN} more")
    console.finish(
        {
            "command": "info", "kind": "signals", "file": str(file), "samples": rows,
            "nodes": nodes, "time": signals.time_name, "time_unit": signals.time_unit,
            "step_seconds": signals.step, "missing": signals.missing, "columns": columns,
            "notes": signals.notes,
        }
    )  # fmt: skip
