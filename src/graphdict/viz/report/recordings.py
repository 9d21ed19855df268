"""What the report says of several recordings: where each begins, and what it has of each atom."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphdict.core.annotations import Floats
from graphdict.core.recordings import Recordings
from graphdict.viz.report.encode import packed

PER_SAMPLES = 1000  # of which switches are counted


def several_recordings(model: Any, samples: int) -> Recordings | None:
    """Return the recordings that a model was fitted to, where they are several of so many samples.

    None for a single recording, and for coefficients of other samples.
    """
    found: Recordings | None = getattr(model, "recordings_", None)
    return found if found is not None and len(found) > 1 and found.total == samples else None


def describe_recordings(recordings: Recordings, coefficients: Floats) -> dict[str, Any]:
    """Return names, first samples, mean coefficients (R, K) and switches of each recording.

    A switch is a sample whose strongest atom is another than that of the sample before it.
    """
    starts, lengths = recordings.starts, np.array(recordings.lengths)
    means = np.add.reduceat(coefficients, starts, axis=0, dtype=np.float64) / lengths[:, None]
    strongest = np.argmax(coefficients, axis=1)
    switched = np.append(False, strongest[1:] != strongest[:-1])
    switched[starts] = False
    switches = PER_SAMPLES * np.add.reduceat(switched, starts) / np.maximum(lengths - 1, 1)
    return {
        "names": [str(name) for name in recordings.names],
        "start": packed(starts, "u4"),
        "means": packed(means, "f4"),
        "switches": packed(switches, "f4"),
        "per": PER_SAMPLES,
    }
