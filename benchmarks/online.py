"""How a stream compares with a fit to all samples: held-out score, seconds.

    python benchmarks/online.py [--model log] [--draws 2] [--samples 10000]

For each draw of :func:`graphdict.datasets.make_superposition` (20 nodes, 4 atoms), the score of
one pass over the samples in batches, the score of a fit to all of them, and how far fits from other
random starts lie from that fit, in per cent of it. Positive: the stream (or the fit) is worse.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from graphdict import GraphDictLog, GraphDictMarginal
from graphdict.datasets import make_superposition

MAKERS: dict[str, Callable[[int, int], Any]] = {
    "log": lambda active, seed: GraphDictLog(4, random_state=seed),
    "marginal": lambda active, seed: GraphDictMarginal(
        4, max_active=active, n_init=4, random_state=seed
    ),
}


def compare(name: str, active: int, draw: int, samples: int, batch: int) -> dict[str, float]:
    """One draw: per cent of score lost by a stream and by another start, and seconds."""
    make = MAKERS[name]
    data = make_superposition(4, 20, 0.2, active, samples, 500, random_state=draw)
    signals, new = data.train.signals, data.test.signals
    start = time.perf_counter()
    whole = make(active, 0).fit(signals).score(new)
    fitted = time.perf_counter()
    model = make(active, 0)
    for first in range(0, samples, batch):
        model.partial_fit(signals[first : first + batch])
    streamed = time.perf_counter()
    other = make(active, 1).fit(signals).score(new)
    return {
        "fit_score": whole,
        "stream_lost_percent": 100 * (whole - model.score(new)) / abs(whole),
        "other_start_lost_percent": 100 * (whole - other) / abs(whole),
        "fit_seconds": fitted - start,
        "stream_seconds": streamed - fitted,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", choices=sorted(MAKERS), action="append")
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--samples", type=int, default=10000)
    parser.add_argument("--batch", type=int, default=200)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in options.model or sorted(MAKERS):
        for active in (1, 2, 4):
            found = [
                compare(name, active, draw, options.samples, options.batch)
                for draw in range(options.draws)
            ]
            lines = {key: np.round([one[key] for one in found], 2).tolist() for key in found[0]}
            print(json.dumps({"model": name, "superposition": active, **lines}), flush=True)


if __name__ == "__main__":
    main()
