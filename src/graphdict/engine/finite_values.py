"""Refuse infinite, missing or far too large values of signals, and say where the first is."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from graphdict.core.annotations import Floats
from graphdict.core.recordings import Recordings
from graphdict.engine.signals import Preparation, each_block


def check_finite(
    signals: Floats,
    names: Sequence[Any],
    missing: bool = False,
    advice: str = "",
    preparation: Preparation | None = None,
    recordings: Recordings | None = None,
) -> None:
    """Refuse infinite values, and NaN unless values may be ``missing``; say where the first is.

    ``advice`` is added to the error of missing values. With a ``preparation``, values whose squares
    would overflow after it are refused, too. Of several ``recordings``, errors name the one.
    """
    before = 0
    for rows, wrong in each_block(signals, partial(_first_wrong, missing, preparation)):
        if wrong is not None:
            row, column, value = wrong
            where = f"in row {before + row}, column {names[column]!r}"
            if recordings is not None and len(recordings) > 1:
                name, own = recordings.place(before + row)
                where = f"in row {own}, column {names[column]!r} of recording {name!r}"
            if np.isnan(value):
                raise ValueError(
                    f"X holds a missing value (NaN) {where}; fill in or leave out such rows: all "
                    "values must be finite for this model" + (advice and f" ({advice})")
                )
            if np.isfinite(value):
                raise ValueError(
                    f"X holds {value:.3g} {where}, which is too large compared with the training "
                    "signals (its square would overflow): is it of another unit?"
                )
            raise ValueError(
                f"X holds infinity {where}; fill in or leave out such rows: all values must be "
                "finite" + (", or NaN where they are missing" if missing else "")
            )
        before += rows


def _first_wrong(
    missing: bool, preparation: Preparation | None, block: Floats
) -> tuple[int, tuple[int, int, float] | None]:
    """Return the number of rows, and row, column and value of the first value not allowed, if any.

    Not allowed are infinite values, NaN unless ``missing``, and values out of the range of a
    ``preparation``.
    """
    wrong = np.isinf(block) if missing else ~np.isfinite(block)
    if preparation is not None and not wrong.any():
        wrong |= preparation.out_of_range(block)
    if not wrong.any():
        return len(block), None
    row, column = np.argwhere(wrong)[0]
    return len(block), (int(row), int(column), float(block[row, column]))
