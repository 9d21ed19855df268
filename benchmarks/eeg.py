"""Time and memory of a dictionary of the GFP peaks of all 15 subjects: three atoms, 64 electrodes.

python benchmarks/eeg.py --data-dir FOLDER
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np

from graphdict import GraphDictLog
from graphdict.datasets import load_eegbci
from graphdict.eeg import gfp_peaks


def gather(data_dir: str | None) -> np.ndarray:
    """Peaks (P, 64) of the whole recordings, one subject in memory at a time."""
    parts = []
    for number in range(1, 16):
        (subject,) = load_eegbci(number, data_dir=data_dir, kind="raw")
        parts.append(gfp_peaks(subject.data).signals)
    return np.concatenate(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", help="folder that has MNE-eegbci-data")
    parser.add_argument("--atoms", type=int, default=3)
    options = parser.parse_args()
    begin = time.perf_counter()
    peaks = gather(options.data_dir)
    print(f"{len(peaks):,} peaks of {peaks.shape[1]} channels: {time.perf_counter() - begin:.0f} s")
    begin, work = time.perf_counter(), time.process_time()
    model = GraphDictLog(options.atoms, random_state=0).fit(peaks)
    seconds, processor = time.perf_counter() - begin, time.process_time() - work
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(
        f"{options.atoms} atoms: {seconds:.0f} s, {processor:.0f} s of processor time, "
        f"{model.n_iter_} iterations, objective {model.objective_:.4f}; {peak:.2f} GB at most"
    )


if __name__ == "__main__":
    main()
