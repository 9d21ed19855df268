"""Options that several commands share: how to read a file, what to say, where to write."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from graphdict.app.commands.console import Console
from graphdict.app.files import SignalTable, read_signals

__all__ = [
    "Command",
    "file_argument",
    "memory_option",
    "output_options",
    "place_options",
    "read_file",
    "reading_options",
    "talk_options",
]

READING = ("time", "no_time", "node", "value", "layout", "columns", "ignore", "rate", "sort",
           "transpose", "header", "delimiter", "decimal", "encoding", "na", "keep_codes",
           "number_duplicates", "array")  # fmt: skip
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
    """An option about the file that is read."""

    group = "Reading the file"


def _names(ctx: Any, parameter: Any, value: tuple[str, ...]) -> tuple[str, ...]:
    """Names given one by one."""
    return tuple(value)


def reading_options(function: Callable) -> Callable:
    """Add the options that say how to read a table."""
    options = [
        click.option("--time", cls=_Reading, metavar="COLUMN", help="Column of times."),
        click.option("--no-time", cls=_Reading, is_flag=True, help="No column is a time."),
        click.option("--rate", cls=_Reading, type=click.FloatRange(min=0, min_open=True),
                     metavar="HZ", help="Samples in a second, where no column tells."),
        click.option("--sort", cls=_Reading, is_flag=True, help="Sort the rows by time."),
        click.option("--column", "columns", cls=_Reading, multiple=True, callback=_names,
                     metavar="COLUMN", help="Take this column as a node; repeat for more."),
        click.option("--ignore", cls=_Reading, multiple=True, callback=_names, metavar="COLUMN",
                     help="Leave this column out; repeat for more."),
        click.option("--layout", cls=_Reading, default="auto", show_default=True,
                     type=click.Choice(["auto", "wide", "long"]),
                     help="A column for each node, or a row for each value."),
        click.option("--node", cls=_Reading, metavar="COLUMN", help="Nodes of a long table."),
        click.option("--value", cls=_Reading, metavar="COLUMN", help="Values of a long table."),
        click.option("--transpose", cls=_Reading, is_flag=True, help="Rows are nodes."),
        click.option("--header/--no-header", cls=_Reading, default=None,
                     help="Whether the first row names the columns."),
        click.option("--delimiter", cls=_Reading, metavar="CHAR",
                     help="What separates cells: a character, or tab, space, ..."),
        click.option("--decimal", cls=_Reading, type=click.Choice([".", ","]),
                     help="The decimal sign."),
        click.option("--encoding", cls=_Reading, metavar="NAME", help="Such as latin-1."),
        click.option("--na", cls=_Reading, multiple=True, metavar="TEXT",
                     help="Another way to write a missing value; repeat for more."),
        click.option("--keep-codes", cls=_Reading, is_flag=True,
                     help="Do not read codes like -9999 as missing."),
        click.option("--number-duplicates", cls=_Reading, is_flag=True,
                     help="Number columns of the same name."),
        click.option("--array", cls=_Reading, metavar="NAME", help="The array of an NPZ file."),
    ]  # fmt: skip
    for option in reversed(options):
        function = option(function)
    return function


class _Memory(click.ParamType):
    """An amount of memory like 500MB, in MiB."""

    name = "SIZE"

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        if isinstance(value, float):
            return value
        found = MEMORY.fullmatch(str(value))
        if found is None or not float(found[1]):
            self.fail(f"expected an amount like 500MB or 2GB, got {value!r}", param, ctx)
        return float(found[1]) * UNITS[found[2].upper()] / (1 << 20)


def _set_memory(ctx: click.Context, parameter: Any, value: float | None) -> float | None:
    """For all that this command does."""
    if value is not None:
        import sklearn

        ctx.with_resource(sklearn.config_context(working_memory=value))
    return value


def memory_option(function: Callable) -> Callable:
    """Add --memory."""
    return click.option(
        "--memory", type=_Memory(), callback=_set_memory,
        help="Signals larger than this (500MB, 2GB) are read part by part, from Parquet, NPY and "
        "Zarr  [default: 1GiB]",
    )(function)  # fmt: skip


def place_options(function: Callable) -> Callable:
    """Add --memory and --dask: where signals are while they are worked on."""
    dask = click.option(
        "--dask", metavar="ADDRESS", help="Work on the Dask cluster of this scheduler."
    )
    return memory_option(dask(function))


def read_file(
    path: Path,
    options: dict[str, Any],
    console: Console,
    in_parts: bool = False,
    expected: tuple[str, ...] = (),
) -> SignalTable:
    """Read a file as the options say, and tell what was found."""
    asked = {name: options[name] for name in READING}
    signals = read_signals(path, in_parts=in_parts, expected=expected, **asked)
    rows, nodes = signals.values.shape
    console.say(f"{path}: {rows:,} samples of {nodes} nodes")
    for note in signals.notes:
        console.note(note)
    return signals


def talk_options(function: Callable) -> Callable:
    """Add --json and --quiet."""
    function = click.option("-q", "--quiet", is_flag=True, help="Say nothing but warnings.")(
        function
    )
    return click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")(
        function
    )


def output_options(default: str) -> Callable:
    """Add -o and --force."""

    def add(function: Callable) -> Callable:
        function = click.option("--force", is_flag=True, help="Replace existing results.")(function)
        return click.option(
            "-o", "--output", type=click.Path(path_type=Path), metavar="PATH", default=None,
            help=f"Where to write  [default: {default}]",
        )(function)  # fmt: skip

    return add


def file_argument(name: str, **settings: Any) -> Callable:
    """A file that must be there; whether it can be read is found when it is."""
    return click.argument(name, type=click.Path(path_type=Path), **settings)
