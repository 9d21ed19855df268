"""A writer of small EDF+ files, so that the loader can be tested without the recordings."""

from __future__ import annotations

import numpy as np

from graphdict.datasets.eegbci import EEGBCI_CHANNELS, FOLDER

ANNOTATIONS = 240  # bytes for the notes of one record


def write_edf(path, *, channels=EEGBCI_CHANNELS, sfreq=160, seconds=24, notes=(), seed=0):
    """Noise of 20 microvolts; ``notes`` are (onset, duration, text)."""
    rng = np.random.default_rng(seed)
    names = [*(name.ljust(4, ".") for name in channels), "EDF Annotations"]
    count = len(names)
    rates = [sfreq] * len(channels) + [ANNOTATIONS // 2]

    def fields(width, values):
        return "".join(str(value).ljust(width) for value in values)

    signal = [True] * len(channels) + [False]
    header = fields(8, ["0"]) + fields(80, ["X X X X", "Startdate 01-JAN-2009 X X X"])
    header += fields(8, ["01.01.09", "00.00.00", 256 * (count + 1)]) + fields(44, ["EDF+C"])
    header += fields(8, [seconds, 1]) + fields(4, [count])
    header += fields(16, names) + fields(80, [""] * count)
    header += fields(8, ["uV" if s else "" for s in signal])
    header += fields(8, [-1000 if s else -1 for s in signal])
    header += fields(8, [1000 if s else 1 for s in signal])
    header += fields(8, [-32768] * count) + fields(8, [32767] * count)
    header += fields(80, [""] * count) + fields(8, rates) + fields(32, [""] * count)

    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "wb") as file:
        file.write(header.encode("ascii"))
        for second in range(seconds):
            data = rng.normal(0, 20, (len(channels), sfreq)) * 32767 / 1000
            file.write(data.astype("<i2").tobytes())
            text = f"+{second}\x14\x14\x00"
            for onset, duration, name in notes:
                if second <= onset < second + 1:
                    text += f"+{onset}\x15{duration}\x14{name}\x14\x00"
            file.write(text.encode("ascii").ljust(ANNOTATIONS, b"\x00"))
    return path


def write_subject(folder, subject, *, runs=(4, 8, 12), kinds=("T1", "T2", "T2", "T1"), **options):
    """A subject in the layout of MNE, with a trial every six seconds after a rest."""
    notes = [
        (6 * i + shift, 2, name)
        for i, kind in enumerate(kinds)
        for shift, name in ((0, "T0"), (1, kind))
    ]
    paths = [folder / FOLDER / f"S{subject:03d}" / f"S{subject:03d}R{run:02d}.edf" for run in runs]
    return [write_edf(path, notes=notes, seed=i, **options) for i, path in enumerate(paths)]
