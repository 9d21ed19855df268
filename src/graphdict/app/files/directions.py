"""Columns of angles in degrees: 350 and 10 are near one another, as their sine and cosine are."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace

import numpy as np

from graphdict.app.files.table import Column, Table, quote_names

DIRECTIONS = ("dir", "direction", "winddir", "wdir", "wd", "winddirection", "heading", "bearing",
              "azimuth", "aspect")  # fmt: skip
LEAST_VALUES = 5  # fewer are labels
PARTS = (("cos", np.cos), ("sin", np.sin))


def split_directions(
    table: Table, columns: list[Column], kept: Collection[str], expected: Collection[str] = ()
) -> list[Column]:
    """Return the columns, with cosine and sine in place of each direction in degrees; add a note.

    A direction has such a name, and values from 0 to 360 in both halves of the circle. Those in
    ``kept`` stay as they are, and for a model only those are split whose parts are ``expected``.
    """
    found, split = [], []
    for column in columns:
        known = expected and f"{column.name} {PARTS[0][0]}" in expected
        if not (known or (not expected and column.name not in kept and _is_direction(column))):
            found.append(column)
            continue
        split.append(column.name)
        angle = np.deg2rad(column.values)
        found += [
            replace(column, name=f"{column.name} {name}", values=of(angle), unit=None)
            for name, of in PARTS
        ]
    if split:
        table.notes.append(
            f"column(s) of directions in degrees, whose cosine and sine are the signals: "
            f"{quote_names(split)} (columns=... takes them as they are)"
        )
    return found


def _is_direction(column: Column) -> bool:
    words = re.findall(r"[a-z]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", column.name).lower())
    if not column.numeric or not words or not set(words) & set(DIRECTIONS):
        return False
    known = column.values[~np.isnan(column.values)]
    if len(np.unique(known[:1000])) < LEAST_VALUES:
        return False
    return bool(known.min() >= 0 and 180 < known.max() <= 360 and known.min() < 180)
