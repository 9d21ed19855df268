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


class NamedSignals(NamedTuple):
    """The signals of one recording as they were given, with the names of their nodes if known."""

    name: str
    values: Any  # (T, N)
    nodes: list[str] | None
    breaks: tuple[int, ...]  # samples before which something is left out


def match_nodes(
    recordings: Sequence[NamedSignals], known: Sequence[str] | None, missing: bool
) -> tuple[list[Integers | None], list[str] | None, int]:
    """Return the columns that those of each recording become, the names of all nodes, their number.

    Columns are None for a recording that has all nodes in order, and names where none are known.

    ``known`` are the nodes of a fitted model; nodes of a recording may be ``missing`` or not.
    """
    without = [recording.name for recording in recordings if recording.nodes is None]
    if without:
        if len(without) < len(recordings):
            named = next(recording.name for recording in recordings if recording.nodes is not None)
            raise ValueError(
                f"X: recording {without[0]!r} has no names of nodes and recording {named!r} has: "
                "give all as data frames, or all as arrays"
            )
        return [None] * len(recordings), None, _common_width(recordings)
    own = [recording.nodes or [] for recording in recordings]
    nodes = _all_nodes(recordings, own) if known is None else list(known)
    column_of = {node: number for number, node in enumerate(nodes)}
    for recording, names in zip(recordings, own):
        unknown = [name for name in names if name not in column_of]
        if unknown:
            raise ValueError(
                f"X: recording {recording.name!r} has node(s) {abbreviated(unknown)} that the "
                "model was not fitted with: leave them out"
            )
    columns = [
        None if names == nodes else np.array([column_of[name] for name in names]) for names in own
    ]
    lacking = {
        recording.name: [node for node in nodes if node not in set(names)]
        for recording, names in zip(recordings, own) if len(names) < len(nodes)
    }  # fmt: skip
    if lacking:
        _report_lacking(lacking, len(recordings), missing)
    return columns, nodes, len(nodes)


def _common_width(recordings: Sequence[NamedSignals]) -> int:
    """Return the number of nodes of recordings without names; raise where they differ in it."""
    count: int = recordings[0].values.shape[1]
    for name, values, *_ in recordings:
        if values.shape[1] != count:
            raise ValueError(
                f"X: recording {name!r} has {values.shape[1]} nodes and recording "
                f"{recordings[0].name!r} has {count}; arrays need the same nodes in the same "
                "order, and data frames are matched by the names of their columns"
            )
    return count


def _all_nodes(recordings: Sequence[NamedSignals], own: Sequence[list[str]]) -> list[str]:
    """Return the nodes of all recordings in the order in which they first appear."""
    try:
        check_common_nodes([recording.name for recording in recordings], own)
    except ValueError as error:
        raise ValueError(f"X: {error}") from None
    return list(dict.fromkeys(node for names in own for node in names))


def _report_lacking(lacking: dict[str, list[str]], count: int, missing: bool) -> None:
    """Warn of nodes that recordings lack, or raise where none may be ``missing``."""
    text = "; ".join(f"{name!r} lacks {abbreviated(gone)}" for name, gone in lacking.items())
    text = text if len(text) <= 500 else text[:500] + " ..."
    if not missing:
        raise ValueError(
            f"X: recordings differ in their nodes, and this model takes no missing values: {text}"
        )
    warn(
        f"{len(lacking)} of {count} recording(s) lack nodes, which are missing values there: "
        f"{text}",
        MissingNodeWarning,
    )
