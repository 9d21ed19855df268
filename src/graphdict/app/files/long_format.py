"""Detect tables in long format (one row for each value of each node) and make them wide."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.app.files.errors import InputError
from graphdict.app.files.roles import calendar_part, leave_out_roles, role_of
from graphdict.app.files.table import Column, Table, quote_names
from graphdict.app.files.times import format_time, parse_times

NODE_NAMES = ("node", "sensor", "station", "channel", "electrode", "variable", "series", "name",
              "ticker", "symbol", "id", "unit", "site", "location", "region", "country", "city",
              "state", "device", "machine", "meter", "key", "tag", "metric", "parameter", "ch",
              "asset", "stock", "detector", "area", "zone", "signal", "item", "label")  # fmt: skip
MOST_NODES = 20_000


@dataclass(frozen=True)
class LongFormat:
    """The column of nodes and the columns of values of a table in long format."""

    node: Column
    values: list[Column]


def find_long_format(
    table: Table,
    time: Column | None,
    node: str | None,
    value: str | None,
    layout: str,
    explicit: Iterable[str] = (),
) -> LongFormat | None:
    """Return the columns of a table in long format; None where the table is wide.

    A table is long where times repeat and a column of few distinct values, about equally frequent,
    distinguishes the rows of each time. Columns in ``explicit`` hold values whatever their names.
    """
    if layout == "wide":
        return None
    columns = [column for column in table.columns if column is not time]
    named = {column.name: column for column in columns}
    asked = layout == "long" or node is not None or value is not None
    if node is not None:
        chosen = named[node]
    else:
        candidates = [c for c in columns if c.name != value and _could_be_node(c, time, asked)]
        candidates.sort(key=lambda c: (c.numeric, not _named_like_node(c.name)))
        if not candidates:
            if asked:
                raise InputError("is not a long table: name the column of the nodes with node=...")
            return None
        chosen = candidates[0]
    if node is None and not _is_long(chosen, time):
        joined = _joined([c for c in candidates if not c.numeric])
        if joined is not None and _is_long(joined, time):
            chosen = joined
        elif not asked:
            return None
    if value is not None:
        values = [named[value]]
    else:
        numbers = [column for column in columns if column.numeric and column is not chosen]
        values = leave_out_roles(numbers, table, explicit, least=1)
    if not values:
        raise InputError("is a long table without a column of numbers: name it with value=...")
    for column in values:
        if not column.numeric:
            raise InputError(f"column {column.name!r} holds text, not numbers")
    return LongFormat(chosen, values)


def _joined(columns: list[Column]) -> Column | None:
    """Join several columns that name a node together, such as device and quantity."""
    if len(columns) < 2:
        return None
    columns = sorted(columns, key=lambda column: column.name)
    cells = [" ".join(map(str, row)) for row in zip(*(column.values for column in columns))]
    name = " and ".join(column.name for column in columns)
    return Column(name, np.array(cells, dtype=object))


def _named_like_node(name: str) -> bool:
    words = name.lower().replace("_", " ").replace("-", " ").split()
    return any(word.rstrip("s") in NODE_NAMES for word in words)


def _could_be_node(column: Column, time: Column | None, asked: bool) -> bool:
    """Return whether a column may name nodes: repeated text, or whole numbers.

    Numbers need such a name, or one row for each of them and each time.
    """
    if column.values.dtype.kind == "M" or column.missing.any():
        return False
    if column.numeric and (calendar_part(column) is not None or (column.values % 1 != 0).any()):
        return False
    if column.numeric and not asked and role_of(column) == "labels":
        return False
    if column.numeric and not (_named_like_node(column.name) or _is_full_grid(column, time)):
        return False
    distinct = len(set(column.values.tolist()))
    return 2 <= distinct <= MOST_NODES and (asked or 2 * distinct <= len(column.values))


def _is_full_grid(node: Column, time: Column | None) -> bool:
    """Return whether there is exactly one row for each pair of a node and a time."""
    if time is None:
        return False
    when, whose = (np.unique(v, return_inverse=True) for v in (_comparable(time), node.values))
    full = len(when[0]) * len(whose[0]) == len(node.values)
    return full and len(np.unique(when[1] * len(whose[0]) + whose[1])) == len(node.values)


def _is_long(node: Column, time: Column | None) -> bool:
    """Return whether the node distinguishes most rows of the same time."""
    whose = _codes(node)[1]
    if time is None:
        # Without times, a table is long only if all its nodes have equally many rows.
        counts = np.bincount(whose)
        return bool(_named_like_node(node.name) and counts.min() == counts.max() and counts[0] > 1)
    when = np.unique(_comparable(time), return_inverse=True)[1]
    pairs = len(np.unique(when.astype(np.int64) * (whose.max() + 1) + whose))
    repeats = len(whose) / (when.max() + 1)
    return bool(repeats >= 1.5 and pairs > 0.9 * len(whose))


def to_wide(table: Table, time: Column | None, long: LongFormat) -> Table:
    """Return a wide table: a column for each node (and each value column), rows sorted by time."""
    names, whose = _codes(long.node)
    if time is None:
        when = _occurrences(whose, len(names))
        moments, rows = None, int(when.max()) + 1
    else:
        moments, when = np.unique(_comparable(time), return_inverse=True)
        rows = len(moments)
    cells = when.astype(np.int64) * len(names) + whose
    columns, doubled, empty = [], np.zeros(rows, dtype=np.int64), 0
    for value in long.values:
        present = ~np.isnan(value.values)
        sums = np.bincount(cells[present], value.values[present], minlength=rows * len(names))
        counts = np.bincount(cells[present], minlength=rows * len(names))
        wide = np.divide(sums, counts, out=np.full(len(sums), np.nan), where=counts > 0)
        once = counts == 1  # a sum of one value is that value, exactly
        wide[cells[present & once[cells]]] = value.values[present & once[cells]]
        doubled += (counts > 1).reshape(rows, -1).sum(axis=1)
        empty += int((counts == 0).sum())
        wide = wide.reshape(rows, len(names))
        for index, name in enumerate(names):
            full = name if len(long.values) == 1 else f"{name} {value.name}"
            columns.append(Column(full, wide[:, index].copy(), value.unit))
    kinds = quote_names([value.name for value in long.values])
    table.notes.append(
        f"the table is long: {len(names)} nodes in column {long.node.name!r}, values in {kinds}, "
        f"now {rows:,} rows of {len(columns)} columns (layout='wide' leaves it as it is)"
    )
    if len(long.values) > 1:
        table.notes.append(
            "every node has several values, each a node of its own (value=... takes one)"
        )
    if doubled.any():
        first = "" if moments is None else f", first {format_time(moments[(doubled > 0).argmax()])}"
        table.notes.append(
            f"{int((doubled > 0).sum()):,} time(s) have several values of a node{first}: their "
            "mean was taken"
        )
    if moments is not None:
        assert time is not None
        read = parse_times(time)
        clock = read and (moments, *read[1:])
        columns.insert(0, Column(time.name, moments, time.unit, clock))
        if not doubled.any() and empty == 0 and (np.diff(when) < 0).any():
            table.notes.append("rows were put in order of time")
    return Table(columns, table.notes)


def _comparable(time: Column) -> NDArray[Any]:
    """Return times that sort in order of time, not as text."""
    read = parse_times(time)
    return time.values if read is None else read[0]


def _codes(column: Column) -> tuple[list[str], NDArray[Any]]:
    """Return the distinct names in order of appearance, and for each row the index of its name."""
    places: dict = {}
    codes = np.fromiter(
        (places.setdefault(value, len(places)) for value in column.values.tolist()),
        np.intp, len(column.values),
    )  # fmt: skip
    names = [f"{name:g}" if isinstance(name, float) else str(name) for name in places]
    return names, codes


def _occurrences(whose: NDArray[Any], nodes: int) -> NDArray[Any]:
    """Return for each row how many earlier rows have the same node."""
    order = np.argsort(whose, kind="stable")
    counts = np.bincount(whose, minlength=nodes)
    starts = np.repeat(np.concatenate([[0], np.cumsum(counts)[:-1]]), counts)
    turns = np.empty(len(whose), dtype=np.intp)
    turns[order] = np.arange(len(whose)) - starts
    return turns
