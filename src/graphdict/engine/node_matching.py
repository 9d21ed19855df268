"""Nodes of several recordings, matched by their names where they have them (data frames, MNE).

The nodes are all names in the order in which they first appear, and those that a recording lacks
are missing values there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from graphdict.core.annotations import Integers
from graphdict.core.recordings import abbreviated, check_common_nodes
from graphdict.exceptions import MissingNodeWarning, warn


class Part(NamedTuple):
    """One recording as it was given."""

    name: str
    values: Any  # (T, N)
    nodes: list[str] | None
    breaks: tuple[int, ...]  # samples before which something is left out


def match_nodes(
    parts: Sequence[Part], known: Sequence[str] | None, missing: bool
) -> tuple[list[Integers | None], list[str] | None, int]:
    """Return where columns of each part go (None: as they are), the names, and their number.

    ``known`` are the nodes of a fitted model, and ``missing`` is whether any may be.
    """
    without = [part.name for part in parts if part.nodes is None]
    if without:
        if len(without) < len(parts):
            named = next(part.name for part in parts if part.nodes is not None)
            raise ValueError(
                f"X: recording {without[0]!r} has no names of nodes and recording {named!r} has: "
                "give all as data frames, or all as arrays"
            )
        return [None] * len(parts), None, _common_width(parts)
    own = [part.nodes or [] for part in parts]
    nodes = _all_nodes(parts, own) if known is None else list(known)
    column_of = {node: number for number, node in enumerate(nodes)}
    for part, names in zip(parts, own):
        strange = [name for name in names if name not in column_of]
        if strange:
            raise ValueError(
                f"X: recording {part.name!r} has node(s) {abbreviated(strange)} that the model was "
                "not fitted with: leave them out"
            )
    columns = [
        None if names == nodes else np.array([column_of[name] for name in names]) for names in own
    ]
    lacking = {
        part.name: [node for node in nodes if node not in set(names)]
        for part, names in zip(parts, own) if len(names) < len(nodes)
    }  # fmt: skip
    if lacking:
        _report_lacking(lacking, len(parts), missing)
    return columns, nodes, len(nodes)


def _common_width(parts: Sequence[Part]) -> int:
    """Return the number of nodes of parts without names, which have to be as many."""
    count: int = parts[0].values.shape[1]
    for part in parts:
        if part.values.shape[1] != count:
            raise ValueError(
                f"X: recording {part.name!r} has {part.values.shape[1]} nodes and recording "
                f"{parts[0].name!r} has {count}; arrays need the same nodes in the same order, "
                "and data frames are matched by the names of their columns"
            )
    return count


def _all_nodes(parts: Sequence[Part], own: Sequence[list[str]]) -> list[str]:
    """Return the nodes of all parts in the order in which they first appear."""
    try:
        check_common_nodes([part.name for part in parts], own)
    except ValueError as error:
        raise ValueError(f"X: {error}") from None
    return list(dict.fromkeys(node for names in own for node in names))


def _report_lacking(lacking: dict[str, list[str]], parts: int, missing: bool) -> None:
    """Warn of nodes that recordings lack, or raise where none may be ``missing``."""
    text = "; ".join(f"{name!r} lacks {abbreviated(gone)}" for name, gone in lacking.items())
    text = text if len(text) <= 500 else text[:500] + " ..."
    if not missing:
        raise ValueError(
            f"X: recordings differ in their nodes, and this model takes no missing values: {text}"
        )
    warn(
        f"{len(lacking)} of {parts} recording(s) lack nodes, which are missing values there: "
        f"{text}",
        MissingNodeWarning,
    )
