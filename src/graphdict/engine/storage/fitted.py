"""What a fitted model consists of: attributes whose shapes and ranges fit each other.

Which attributes a model has, it says itself (:class:`graphdict.engine.estimator_protocols.Saved`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy as np

from graphdict.core import graphs
from graphdict.engine.estimator_protocols import Saved

ATTRIBUTE = re.compile(r"[a-z][a-z0-9_]*_")


class FittedValue(NamedTuple):
    """What a fitted attribute may be.

    ``shape`` has a letter for each axis: N nodes, E pairs of nodes, and any other letter a size
    that several attributes share. It is empty for a number, and None where only the type is known.
    """

    shape: str | None = ""
    low: float | None = None  # None where any value will do
    high: float = np.inf
    positive: bool = False
    whole: bool = False  # a whole number, not negative
    choices: Collection[str] = ()  # the names that it may be


NUMBER = FittedValue(None)
COUNT = FittedValue(None, whole=True)


def check_fitted_values(kind: type[Saved], fitted: Mapping[str, Any]) -> None:
    """Refuse fitted attributes by name that no fit of the class ``kind`` could have left."""
    known = kind._fitted_values
    for name in kind._needed:
        if name not in fitted:
            raise ValueError(f"it lacks {name}, which every fitted {kind.__name__} has")
    for name, value in fitted.items():
        if not ATTRIBUTE.fullmatch(name) or hasattr(kind, name):
            raise ValueError(f"{name!r} is not an attribute that a fit of {kind.__name__} sets")
        if name in known:
            _check_value(name, value, known[name])
    nodes = fitted["n_features_in_"]
    sizes = {"N": nodes, "E": graphs.n_edges(nodes)}
    for name, wanted in known.items():
        if name in fitted and wanted.shape:
            _check_shape(name, np.shape(fitted[name]), wanted.shape, sizes)
    active = fitted["active_nodes_"]
    if np.asarray(active).dtype != bool or np.count_nonzero(active) < 2:
        raise ValueError("active_nodes_ must be true for two nodes or more")
    history = fitted.get("history_", {})
    lengths = {np.shape(entry) for entry in history.values()} if isinstance(history, dict) else {()}
    if len(lengths) > 1 or any(len(shape) != 1 for shape in lengths):
        raise ValueError("history_ must have entries of one length")


def _check_value(name: str, value: Any, wanted: FittedValue) -> None:
    if wanted.choices:
        if value not in wanted.choices:
            raise ValueError(
                f"{name} must be one of {tuple(wanted.choices)}, got {repr(value)[:40]}"
            )
        return
    if wanted.whole and (type(value) is not int or value < 0):
        raise ValueError(f"{name} must be a count, got {repr(value)[:40]}")
    if wanted.shape is None and not wanted.whole and type(value) not in (int, float):
        raise ValueError(f"{name} must be a number, got {repr(value)[:40]}")
    if wanted.low is None:
        return
    numbers = np.asarray(value)
    scalar = not wanted.shape
    if numbers.dtype.kind not in ("fiu" if scalar else "fb") or (scalar and numbers.ndim):
        raise ValueError(f"{name} must be {'a number' if scalar else 'an array of numbers'}")
    inside = np.isfinite(numbers) & (numbers >= wanted.low) & (numbers <= wanted.high)
    if not inside.all() or (wanted.positive and not numbers > 0):
        raise ValueError(f"{name} must be finite and lie in [{wanted.low}, {wanted.high}]")


def _check_shape(name: str, shape: tuple[int, ...], letters: str, sizes: dict[str, int]) -> None:
    wanted = tuple(sizes.get(letter, letter) for letter in letters)
    if len(shape) != len(letters) or any(
        sizes.setdefault(letter, length) != length for letter, length in zip(letters, shape)
    ):
        raise ValueError(f"{name} has shape {shape}, which should be {wanted}")
