"""What GraphDictMarginal finds of coefficients, powers and tails that signals were drawn with.

    python benchmarks/recovery.py [graded] [filters] [averages] [--draws 3] [--seed 500]

With --real-dir DIR, where the measured sets are.

graded   Coefficients uniform on [0.2, 1], up to two of five atoms: test MCC, the threshold from the
         training truth. *Given* fits atoms with the true training coefficients, and infers those
         of test signals at four levels; all but *defaults* have power 1 and Gaussian tails.
filters  Power and degrees of freedom found where both are learned, for signals of the superposition
         recipe (s = 1, 1,500 samples of 20 nodes, three atoms).
averages What 50 draws from the posterior change: held-out nats a sample, and test MCC without a
         threshold, with power 1 and Gaussian tails; and nats of measured signals, the pieces of 300
         samples that follow one another learned from and held out in turn.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict import GraphDictMarginal
from graphdict.core.marginal.likelihood import GaussianLikelihood
from graphdict.core.marginal.patterns import uniform_probabilities
from graphdict.core.marginal.penalty import shrinkage, with_sparsity
from graphdict.datasets import load_eyes, load_sp500, load_us_temperature, make_superposition
from graphdict.datasets.superposition import MixtureSignals, Superposition
from graphdict.metrics import edge_scores
from graphdict.native.products import weighted_distances

THRESHOLDS = np.r_[0, np.geomspace(0.01, 3, 40)]
PLAIN: dict[str, Any] = {"filter_power": 1, "tails": "gaussian"}
GRADED: dict[str, dict[str, Any]] = {
    "defaults": {},
    "on or off": PLAIN,
    "2 levels": {**PLAIN, "levels": 2},
    "4 levels": {**PLAIN, "levels": 4},
    "2 levels, averaged": {**PLAIN, "levels": 2, "average": 200},
}
Row = tuple[str, dict[str, float]]


def graded(seeds: Sequence[int]) -> Iterator[Row]:
    """Yield the mean test MCC of every way, and its ratio to that with coefficients given."""
    found: dict[str, list[float]] = {name: [] for name in ("given", *GRADED)}
    for seed in seeds:
        drawn = make_superposition(superposition=2, coefficient_range=(0.2, 1), random_state=seed)
        found["given"].append(test_mcc(with_true_coefficients(drawn, seed), drawn))
        for name, options in GRADED.items():
            model = GraphDictMarginal(max_active=2, random_state=seed, **options)
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
    model = GraphDictMarginal(max_active=2, levels=4, **PLAIN, n_init=1, max_iter=1).fit(
        drawn.train.signals
    )
    signals, _ = model._prepare(drawn.train.signals)
    activations = drawn.train.coefficients
    samples, count = activations.shape
    distances = weighted_distances(signals, activations) / samples
    atoms = np.full_like(model.atoms_, 0.5 / signals.shape[1])
    likelihood, usage = GaussianLikelihood.of(activations, atoms), np.full(samples, 1 / samples)
    dense = shrinkage(model.alpha_w_, float(activations.mean()), variance=1.0)
    sparse = with_sparsity(
        dense, 1.0, samples=samples, per_atom=float(activations.sum() / count),
        edges=atoms.shape[1], separate=False, variance=1.0,
    )  # fmt: skip
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


def averages(seeds: Sequence[int], real_dir: str | None = None) -> Iterator[Row]:
    """Yield what averaging changes on each superposition, and on each set of measured signals."""
    for size in (1, 2, 3, 5):
        gains = []
        for seed in seeds:
            drawn = make_superposition(superposition=size, random_state=seed)
            test = drawn.test
            found = [plain_fit(5, drawn.train.signals, seed, average) for average in (0, 50)]
            nats = [model.score(test.signals) for model in found]
            graphs = [model.instantaneous_graphs(test.signals).weights for model in found]
            mcc = [edge_scores(test.weights, weights).mcc.mean() for weights in graphs]
            gains.append((nats[1] - nats[0], mcc[1] - mcc[0]))
        yield f"s = {size}", mean_and_error(("nats", "MCC"), gains)
    sets = {
        "returns": load_sp500(),
        "temperature": load_us_temperature(real_dir),
        "EEG": load_eyes(1, real_dir, download=False),
    }
    for name, measured in sets.items():
        pieces = [measured.signals[i * 300 : (i + 1) * 300] for i in range(2 * len(seeds))]
        gains = []
        for train, test in zip(pieces[::2], pieces[1::2], strict=True):
            found = [plain_fit(3, train - train.mean(0), 0, average) for average in (0, 50)]
            nats = [model.score(test - train.mean(0)) for model in found]
            gains.append((nats[1] - nats[0],))
        yield name, mean_and_error(("nats",), gains)


def plain_fit(atoms: int, signals: NDArray, seed: int, average: int) -> GraphDictMarginal:
    """Return a fit with power 1 and Gaussian tails."""
    model = GraphDictMarginal(atoms, **PLAIN, average=average, random_state=seed)
    return model.fit(signals)


def mean_and_error(names: Sequence[str], gains: Sequence[tuple[float, ...]]) -> dict[str, float]:
    """Return the mean gain in each measure with its standard error."""
    values = np.array(gains)
    errors = values.std(axis=0, ddof=1) / len(values) ** 0.5
    found = {}
    for name, mean, error in zip(names, values.mean(axis=0), errors, strict=True):
        found |= {f"{name} gained": float(mean), f"error of {name}": float(error)}
    return found


PARTS: dict[str, Callable[..., Iterator[Row]]] = {
    "graded": graded,
    "filters": filters,
    "averages": averages,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--seed", type=int, default=500)
    parser.add_argument("--real-dir", help="folder of the measured sets, for averages")
    options = parser.parse_args()
    if unknown := [part for part in options.parts if part not in PARTS]:
        parser.error(f"unknown part {unknown[0]!r}; known: {', '.join(PARTS)}")
    seeds = range(options.seed, options.seed + options.draws)
    for part in options.parts or PARTS:
        print(f"{part}, seeds {seeds.start} to {seeds.stop - 1}", flush=True)
        given = (seeds, options.real_dir) if part == "averages" else (seeds,)
        for case, columns in PARTS[part](*given):
            figures = ", ".join(f"{name} {value:.3f}" for name, value in columns.items())
            print(f"  {case:20} {figures}", flush=True)


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
