"""Whether two versions of graphdict learn the same: fits of every model, written and compared.

    python benchmarks/same_fits.py write fits.npz      # with one version installed
    python benchmarks/same_fits.py compare fits.npz    # with the other one

Comparing prints the largest difference of each fit relative to the largest value of its array, and
fails where one is above ``--tolerance`` (1e-9).
"""

from __future__ import annotations

import argparse
import inspect
import sys
import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from graphdict import (
    GraphDictExact,
    GraphDictHier,
    GraphDictLog,
    GraphDictMarginal,
    GraphDictSpectral,
    GraphDictSpectralRelaxed,
    baselines,
)
from graphdict.datasets import make_sbg, make_superposition

ATTRIBUTES = (
    "atoms_", "coefficients_", "objective_", "pattern_probabilities_", "edge_probabilities_",
)  # fmt: skip


def signals(seed: int, samples: int, nodes: int, gaps: bool = False) -> np.ndarray:
    data = make_superposition(
        n_atoms=3, n_nodes=nodes, superposition=2, n_train=samples, n_test=10, random_state=seed
    )
    x = data.train.signals.copy()
    if gaps:
        x[np.random.default_rng(seed).random(x.shape) < 0.05] = np.nan
    return x


class Reference:
    """Weights near those of a template, by a quadratic: a prior of a user."""

    def value(self, atoms: np.ndarray) -> float:
        return 0.25 * float(np.sum((atoms - 0.3) ** 2))

    def gradient(self, atoms: np.ndarray) -> np.ndarray:
        return 0.5 * (atoms - 0.3)

    def lipschitz(self, atoms: np.ndarray) -> float:
        return 0.5


def cases(seed: int) -> Iterator[tuple[str, Any, np.ndarray]]:
    """Names, estimators and signals."""
    x, gappy = signals(seed, 700, 12), signals(seed + 1, 300, 9, gaps=True)
    large = signals(seed + 2, 6000, 20)
    states = np.asarray(make_sbg(n_nodes=12, random_state=seed).signals)[:512]
    spectral = partial(GraphDictSpectralRelaxed, alpha_modes=0)
    soft: dict[str, Any] = {"log": GraphDictLog, "spectral": spectral, "exact": GraphDictExact}
    for name, kind in soft.items():
        small = x[:200] if name == "exact" else x
        for solver in ("mm", "bipds", "alternating"):
            yield f"{name} {solver}", kind(3, solver=solver, max_iter=40, random_state=seed), small
            yield (
                f"{name} {solver} float32",
                kind(3, solver=solver, max_iter=10, random_state=seed),
                small.astype(np.float32),
            )
        options: dict[str, dict[str, Any]] = {
            "windows": {"window_size": 5},
            "orthogonal": {"alpha_orth": 0.1, "alpha_c": 0.05},
            "starts": {"n_init": 3, "init": "uniform"},
            "total variation": {"alpha_diff": 0.5, "alpha_c": 0.1},
            "windows and total variation": {"alpha_diff": 0.5, "window_size": 4},
            "prior": {"atom_priors": [Reference()]},
        }
        for label, given in options.items():
            yield f"{name} {label}", kind(3, max_iter=30, random_state=seed, **given), small[:150]
        if name != "exact":
            yield f"{name} gaps", kind(3, max_iter=30, random_state=seed), gappy
            yield f"{name} large", kind(4, max_iter=15, random_state=seed), large
            yield (
                f"{name} large bipds",
                kind(4, max_iter=25, solver="bipds", random_state=seed),
                large,
            )
    shared_modes: dict[str, dict[str, Any]] = {
        "": {},
        " orthogonal": {"alpha_orth": 0.1, "alpha_c": 0.05},
        " total variation": {"alpha_diff": 0.5},
    }
    for label, given in shared_modes.items():
        model = GraphDictSpectral(3, max_iter=20, random_state=seed, **given)
        yield f"shared modes{label}", model, x[:300]
    marginal: dict[str, dict[str, Any]] = {
        "default": {},
        "one active": {"max_active": 1},
        "free": {"prior": "free", "max_active": 2},
        "markov": {"prior": "markov", "max_active": 1},
        "windows": {"window_size": 10, "max_active": 2},
        "average": {"average": 20, "max_active": 2},
        "dense": {"sparsity": 0.0, "alpha_w": 0.0, "max_active": 1},
    }
    # Versions without these parameters have such a filter and such tails.
    plain = {"filter_power": 1, "tails": "gaussian"}
    known = set(inspect.signature(GraphDictMarginal).parameters)
    shared: dict[str, Any] = {name: value for name, value in plain.items() if name in known}
    shared["random_state"] = seed
    for label, given in marginal.items():
        yield f"marginal {label}", GraphDictMarginal(3, n_init=2, **shared, **given), x
    yield "marginal gaps", GraphDictMarginal(2, max_active=1, n_init=2, **shared), gappy
    yield "marginal hierarchy", GraphDictMarginal(7, prior="hierarchy", **shared), states
    yield "hier", GraphDictHier(3), states
    yield "hier log-degree", GraphDictHier(3, likelihood="log-degree", beta=0.1), states
    for name in baselines.__all__:
        kind = getattr(baselines, name)
        given = {"random_state": seed} if "random_state" in kind().get_params() else {}
        yield name, kind(**given), states


def fits(seeds: int) -> dict[str, np.ndarray]:
    """Arrays of all fits, by case and attribute, with scores of other signals."""
    found: dict[str, np.ndarray] = {}
    for seed in range(seeds):
        for name, model, x in cases(seed):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(x)
                label = f"{name}, seed {seed}"
                for attribute in ATTRIBUTES:
                    if hasattr(model, attribute):
                        found[f"{label}: {attribute}"] = np.asarray(getattr(model, attribute))
                if hasattr(model, "transform"):
                    found[f"{label}: transform"] = np.asarray(model.transform(x[:50]))
                if hasattr(model, "score") and not isinstance(model, GraphDictHier):
                    found[f"{label}: score"] = np.asarray(model.score(x[:50]))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["write", "compare"])
    parser.add_argument("file")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--tolerance", type=float, default=1e-9)
    given = parser.parse_args()
    found = fits(given.seeds)
    if given.what == "write":
        np.savez_compressed(given.file, **found)
        return
    worst = 0.0
    with np.load(given.file) as before:
        for name in before.files:
            old, new = before[name], found[name]
            if old.shape != new.shape:
                print(f"{name}: shape {new.shape} where it was {old.shape}")
                worst = np.inf
                continue
            scale = float(np.abs(old).max(initial=0)) or 1.0
            single = old.dtype == np.float32
            difference = float(np.abs(new.astype(float) - old).max(initial=0)) / scale
            limit = max(given.tolerance, 1e-5 if single else 0.0)
            if not difference <= limit:
                print(f"{name}: differs by {difference:.2g}")
            if not single:
                worst = max(worst, difference)
        print(f"{len(before.files)} arrays compared; largest difference {worst:.2g}")
    sys.exit(worst > given.tolerance)


if __name__ == "__main__":
    main()
