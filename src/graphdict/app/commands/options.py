"""Options shared by several commands: reading files, execution, verbosity, output."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from graphdict.app.commands.console import Console
from graphdict.app.commands.flags import READING_OPTIONS, with_flags
from graphdict.app.files import SignalTable, read_signals

MEMORY = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([KMGT]i?B?|B)\s*", re.IGNORECASE)
UNITS = {
    prefix + end: (1000 if end == "B" else 1024) ** power
    for power, prefix in enumerate(("", "K", "M", "G", "T"))
    for end in ("B", "IB", "")
}


class Command(click.Command):
    """A command whose help shows options in groups."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        groups: dict[str, list] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if record is not None:
                groups.setdefault(getattr(parameter, "group", "Options"), []).append(record)
        for title in sorted(groups, key=lambda t: t == "Reading the file"):
            with formatter.section(title):
                formatter.write_dl(groups[title])


class _Reading(click.Option):
    """An option of how to read a file."""

    group = "Reading the file"


def with_options(*options: Callable) -> Callable:
    """Return a decorator that adds options to a command, listed in this order."""

    def add(function: Callable) -> Callable:
        for option in reversed(options):
            function = option(function)
        return function

    return add


# How to read a table.
reading_options = with_options(
    click.option("--time", cls=_Reading, metavar="COLUMN", help="Column of times."),
    click.option("--no-time", cls=_Reading, is_flag=True, help="No column is a time."),
    click.option("--rate", cls=_Reading, type=click.FloatRange(min=0, min_open=True),
                 metavar="HZ", help="Samples per second, if no column holds times."),
    click.option("--sort", cls=_Reading, is_flag=True, help="Sort the rows by time."),
    click.option("--column", "columns", cls=_Reading, multiple=True,
                 metavar="COLUMN",
                 help="Take this column, or all that match a pattern (temp_*); repeatable."),
    click.option("--ignore", cls=_Reading, multiple=True, metavar="COLUMN",
                 help="Leave this column, or all that match a pattern, out; repeatable."),
    click.option("--layout", cls=_Reading, default="auto",
                 type=click.Choice(["auto", "wide", "long"]),
                 help="wide: a column for each node; long: a row for each value."),
    click.option("--node", cls=_Reading, metavar="COLUMN", help="Nodes of a long table."),
    click.option("--value", cls=_Reading, metavar="COLUMN", help="Values of a long table."),
    click.option("--transpose", cls=_Reading, is_flag=True, help="Rows are nodes."),
    click.option("--header/--no-header", cls=_Reading, default=None,
                 help="Whether the first row names the columns."),
    click.option("--delimiter", cls=_Reading, metavar="CHAR",
                 help="Separator of cells: a character, or tab, space, ..."),
    click.option("--decimal", cls=_Reading, type=click.Choice([".", ","]),
                 help="The decimal sign."),
    click.option("--encoding", cls=_Reading, metavar="NAME", help="Such as latin-1."),
    click.option("--na", cls=_Reading, multiple=True, metavar="TEXT",
                 help="Another way to write a missing value; repeat for more."),
    click.option("--keep-codes", cls=_Reading, is_flag=True,
                 help="Do not read codes like -9999 as missing."),
    click.option("--number-duplicates", cls=_Reading, is_flag=True,
                 help="Number columns of the same name."),
    click.option("--array", cls=_Reading, metavar="NAME",
                 help="The array of an NPZ file, or the sheet of a workbook."),
    click.option("--bads", cls=_Reading, type=click.Choice(["missing", "interpolate"]),
                 default="missing",
                 help="Bad channels of EEG: missing values, or interpolated."),
)  # fmt: skip
group_option = click.option("--group", cls=_Reading, metavar="COLUMN",
                            help="Column that says which recording a row is from.")  # fmt: skip


class _Memory(click.ParamType):
    """An amount of memory such as 500MB, converted to MiB."""

    name = "SIZE"

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        if isinstance(value, float):
            return value
        found = MEMORY.fullmatch(str(value))
        if found is None or not float(found[1]):
            self.fail(f"expected an amount like 500MB or 2GB, got {value!r}", param, ctx)
        return float(found[1]) * UNITS[found[2].upper()] / (1 << 20)


def _set_memory(ctx: click.Context, parameter: Any, value: float | None) -> float | None:
    """Set scikit-learn's working_memory for the duration of the command."""
    if value is not None:
        import sklearn

        ctx.with_resource(sklearn.config_context(working_memory=value))
    return value


memory_option = click.option(
    "--memory", type=_Memory(), callback=_set_memory,
    help="Read signals larger than this (500MB, 2GB) in chunks, from Parquet, NPY and Zarr  "
    "[default: 1GiB]",
)  # fmt: skip
execution_options = with_options(
    memory_option,
    click.option("--dask", metavar="ADDRESS", help="Run on the Dask cluster of this scheduler."),
)
verbosity_options = with_options(
    click.option("--json", "as_json", is_flag=True, help="Print the result as JSON."),
    click.option("-q", "--quiet", is_flag=True, help="Print warnings only."),
)


def read_file(
    path: Path,
    options: dict[str, Any],
    console: Console,
    in_parts: bool = False,
    expected: tuple[str, ...] = (),
) -> SignalTable:
    """Read a file by the reading options, and print what was found."""
    given = {name: options[name] for name in READING_OPTIONS}
    given["group"] = options.get("group")
    signals = read_signals(path, in_parts=in_parts, expected=expected, **given)
    signals.notes = [with_flags(note) for note in signals.notes]
    rows, nodes = signals.values.shape
    console.say(f"{path}: {rows:,} samples of {nodes} nodes")
    for note in signals.notes:
        console.note(note)
    return signals


def output_options(default: str) -> Callable:
    """Add -o and --force."""
    return with_options(
        click.option("-o", "--output", type=click.Path(path_type=Path), metavar="PATH",
                     help=f"Where to write  [default: {default}]"),
        click.option("--force", is_flag=True, help="Replace existing results."),
    )  # fmt: skip


def file_argument(name: str, **settings: Any) -> Callable:
    """Add an argument that is a path."""
    return click.argument(name, type=click.Path(path_type=Path), **settings)
