"""What GraphDictMarginal finds of coefficients, powers and tails that signals were drawn with.

    python benchmarks/recovery.py [graded] [filters] [--draws 3] [--seed 500]

graded   Coefficients uniform on [0.2, 1], up to two of five atoms: test MCC, the threshold from the
         training truth. *Given* fits atoms with the true training coefficients, and infers those
         of test signals at four levels.
filters  Power and degrees of freedom found where both are learned, for signals of the superposition
         recipe (s = 1, 1,500 samples of 20 nodes, three atoms).
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from graphdict import GraphDictMarginal
from graphdict.core.marginal.likelihood import GaussianLikelihood
from graphdict.core.marginal.patterns import uniform_probabilities
from graphdict.core.marginal.penalty import shrinkage, with_sparsity
from graphdict.datasets import make_superposition
from graphdict.datasets.superposition import MixtureSignals, Superposition
from graphdict.metrics import edge_scores
from graphdict.native.products import weighted_distances

THRESHOLDS = np.r_[0, np.geomspace(0.01, 3, 40)]
GRADED: dict[str, dict[str, int]] = {
    "on or off": {},
    "2 levels": {"levels": 2},
    "4 levels": {"levels": 4},
    "2 levels, averaged": {"levels": 2, "average": 200},
}
Row = tuple[str, dict[str, float]]


def graded(seeds: Sequence[int]) -> Iterator[Row]:
    """Yield the mean test MCC of every way, and its ratio to that with coefficients given."""
    found: dict[str, list[float]] = {name: [] for name in ("given", *GRADED)}
    for seed in seeds:
        drawn = make_superposition(superposition=2, coefficient_range=(0.2, 1), random_state=seed)
        found["given"].append(test_mcc(with_true_coefficients(drawn, seed), drawn))
        for name, options in GRADED.items():
            model = GraphDictMarginal(
                max_active=2, filter_power=1, tails="gaussian", random_state=seed, **options
            )
            found[name].append(test_mcc(model.fit(drawn.train.signals), drawn))
    bound = np.mean(found["given"])
    for name, values in found.items():
        yield name, {"test MCC": float(np.mean(values)), "/ given": float(np.mean(values) / bound)}


def test_mcc(model: GraphDictMarginal, drawn: Superposition) -> float:
    """Return the mean MCC of test graphs with the threshold that is best for training graphs."""
    least = 0.0 if model.average else None  # the threshold decides alone
    train, test = (
        np.asarray(model.instantaneous_graphs(part.signals, min_probability=least).weights)
        for part in (drawn.train, drawn.test)
    )

    def mcc(part: MixtureSignals, weights: NDArray, threshold: float) -> float:
        kept = np.where(weights > threshold, weights, 0)
        return float(edge_scores(part.weights, kept).mcc.mean())

    best = max(THRESHOLDS * train.mean(), key=lambda value: mcc(drawn.train, train, value))
    return mcc(drawn.test, test, best)


def with_true_coefficients(drawn: Superposition, seed: int) -> GraphDictMarginal:
    """Return a model whose atoms were fitted with the true coefficients and the same penalties."""
    model = GraphDictMarginal(
        max_active=2, levels=4, filter_power=1, tails="gaussian", n_init=1, max_iter=1
    ).fit(drawn.train.signals)
    signals, _ = model._prepare(drawn.train.signals)
    activations = drawn.train.coefficients
    samples, count = activations.shape
    distances = weighted_distances(signals, activations) / samples
    atoms = np.full_like(model.atoms_, 0.5 / signals.shape[1])
    likelihood, usage = GaussianLikelihood.of(activations, atoms), np.full(samples, 1 / samples)
    dense = shrinkage(model.alpha_w_, float(activations.mean()))
    given = samples, float(activations.sum() / count), atoms.shape[1]
    sparse = with_sparsity(dense, 1.0, *given, separate=False, variance=1.0)
    for penalty, steps in ((dense, 60), (sparse, 100)):
        _, atoms = likelihood.m_step(atoms, (distances,), usage, penalty, steps)
    model.atoms_ = np.where(atoms > sparse.width, atoms, 0)
    model.pattern_probabilities_ = uniform_probabilities(model.patterns_)
    return model


def filters(seeds: Sequence[int]) -> Iterator[Row]:
    """Yield the range of powers and of degrees of freedom found for each pair of true ones."""
    for power in (1.0, 2.0, 3.0):
        for tails in (np.inf, 10.0, 4.0):
            models = [found_filter(power, tails, seed) for seed in seeds]
            powers, degrees = (np.array(values) for values in zip(*models, strict=True))
            yield f"p = {power:g}, nu = {tails:g}", {
                "least p": powers.min(), "most p": powers.max(),
                "least nu": degrees.min(), "most nu": degrees.max(),
            }  # fmt: skip


def found_filter(power: float, tails: float, seed: int) -> tuple[float, float]:
    """Return the power and the degrees of freedom of a fit by default."""
    drawn = make_superposition(
        3, 20, n_train=1500, n_test=0, filter=power, random_state=seed,
        tails=None if np.isinf(tails) else tails,
    )  # fmt: skip
    model = GraphDictMarginal(3, max_active=1, random_state=seed).fit(drawn.train.signals)
    return (model.filter_power_ if model.filter_ == "power" else np.nan), model.tails_


PARTS = {"graded": graded, "filters": filters}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--seed", type=int, default=500)
    options = parser.parse_args()
    if unknown := [part for part in options.parts if part not in PARTS]:
        parser.error(f"unknown part {unknown[0]!r}; known: {', '.join(PARTS)}")
    seeds = range(options.seed, options.seed + options.draws)
    for part in options.parts or PARTS:
        print(f"{part}, seeds {seeds.start} to {seeds.stop - 1}", flush=True)
        for case, columns in PARTS[part](seeds):
            figures = ", ".join(f"{name} {value:.3f}" for name, value in columns.items())
            print(f"  {case:20} {figures}", flush=True)


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
