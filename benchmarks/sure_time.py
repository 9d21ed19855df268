"""How much CPU time evidence, stability and confidence take, relative to the fit itself.

    OPENBLAS_NUM_THREADS=1 python benchmarks/sure_time.py [largest number of nodes]

Three graphs that switch every 50 samples; 10, 30 and 64 nodes, 2,000 and 10,000 samples. All
times are CPU seconds of one thread in one run, so that their ratios can be compared on any machine.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from one_graph import draw, random_graph

import graphdict.models.marginal as marginal
from graphdict import GraphDictMarginal
from graphdict.selection import evidence, stability


def timed(function, *given):
    """Return CPU seconds and what the function returns."""
    started = time.process_time()
    found = function(*given)
    return time.process_time() - started, found


def switching(nodes, samples, states=3, length=50):
    rng = np.random.default_rng((nodes, samples))
    atoms = np.array([random_graph(rng, nodes) for _ in range(states)])
    path = rng.integers(states, size=samples // length).repeat(length)
    return draw(rng, atoms[path])


if __name__ == "__main__":
    largest = int(sys.argv[1]) if len(sys.argv) > 1 else 64
    measure, spent = marginal.measure_edges, []

    def measured(*given):
        seconds, found = timed(measure, *given)
        spent.append(seconds)
        return found

    marginal.measure_edges = measured
    for nodes in (10, 30, 64):
        for samples in (2000, 10000):
            if nodes > largest:
                continue
            signals = switching(nodes, samples)
            model = GraphDictMarginal(3, max_active=1, prior="markov", random_state=0)
            spent.clear()
            fit, _ = timed(model.fit, signals)
            edges = spent[0]
            asked, found = timed(evidence, model, signals)
            again, _ = timed(stability, model, signals)
            ratio = (asked + again + edges) / (fit - edges)
            print(
                f"{nodes} nodes, {samples} samples: fit {fit - edges:.2f} s, evidence {asked:.2f}, "
                f"stability {again:.2f}, confidence {edges:.2f}, together {ratio:.2f} of the fit; "
                f"p {found.p_value:.3f}",
                flush=True,
            )
