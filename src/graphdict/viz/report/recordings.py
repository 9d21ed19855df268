"""What the report says of several recordings: where each begins, and what it has of each atom."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.viz.report.encode import packed

__all__ = ["describe_recordings", "recordings_of"]

PER_SAMPLES = 1000  # of which switches are counted


def recordings_of(model: Any, samples: int) -> tuple[list[str], NDArray[np.intp]] | None:
    """Return names and first samples (R,) of the recordings that a model was fitted to.

    None for a single recording, and for coefficients of other samples.
    """
    found = getattr(model, "recordings_", None)
    if found is None or len(found.lengths) < 2 or sum(found.lengths) != samples:
        return None
    starts = np.concatenate([[0], np.cumsum(found.lengths)[:-1]]).astype(np.intp)
    return [str(name) for name in found.names], starts


def describe_recordings(
    names: list[str], starts: NDArray[np.intp], coefficients: NDArray[np.float64]
) -> dict[str, Any]:
    """Return names, first samples, mean coefficients (R, K) and switches of each recording.

    A switch is a sample whose strongest atom is another than that of the sample before it.
    """
    lengths = np.diff(np.append(starts, len(coefficients)))
    means = np.add.reduceat(coefficients, starts, axis=0, dtype=np.float64) / lengths[:, None]
    strongest = np.argmax(coefficients, axis=1)
    switched = np.append(False, strongest[1:] != strongest[:-1])
    switched[starts] = False
    switches = PER_SAMPLES * np.add.reduceat(switched, starts) / np.maximum(lengths - 1, 1)
    return {
        "names": names,
        "start": packed(starts, "u4"),
        "means": packed(means, "f4"),
        "switches": packed(switches, "f4"),
        "per": PER_SAMPLES,
    }
