"""How accurate and how fast GraphDictMarginal is, on draws that nothing was tuned on.

    python benchmarks/accuracy.py [PART ...] [--draws 5] [--seed 500] [--jobs N] [--output DIR]

bound         Superposition s = 1..5, test MCC: of bound A (atoms fitted with the true activations
              by the same estimator and penalties, activations of test signals inferred); of the
              model tuned as in the paper (grid, thresholds and choice are those of
              ``graphdict experiment superposition --full``); and with nothing taken from the truth:
              ``max_active`` by ``choose_max_active``, atoms averaged over 200 draws, edges those
              that the model calls probable, all else by default. All three are told that there are
              five atoms, the default.
atoms         How often ``choose_n_atoms`` finds the five atoms among 3 to 8, at s = 1 and 2, with
              ``max_active`` right and one too many.
time          Seconds of four restarts on 2,500 signals of s = 5, beside 1,000 iterations of the
              authors' GraphDictLog in an environment of its own; and seconds over T.
disconnected  MCC where atoms ER(36, 0.05) fall apart, and where some nodes are silent, with default
              settings and ``max_active`` = s; whether all that comes out is finite.

Draws are those of seeds S, S + 1, ...; the experiments choose grids and measure with 0 to 13.
Writes accuracy.csv and accuracy.md after every row; parts that are not run stay as they are there.
"""

from __future__ import annotations

import argparse
import csv
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from compare import measure, peer_python
from joblib import Parallel, delayed, parallel_config

from graphdict import GraphDictMarginal
from graphdict.app.experiments import superposition
from graphdict.app.experiments.cells import run_cell
from graphdict.app.experiments.tables import choose, write_csv
from graphdict.core.marginal.e_step import ExpectedStatistics
from graphdict.datasets import make_superposition
from graphdict.engine.marginal import em
from graphdict.engine.signals import Preparation
from graphdict.engine.storage.atomic import write_atomically
from graphdict.metrics import edge_scores
from graphdict.native.products import weighted_distances
from graphdict.selection import choose_max_active, choose_n_atoms

HERE = Path(__file__).parent
MODEL = "GraphDictMarginal"
DRAWS = 200  # of atoms, to average
SIZES = (1_000, 3_000, 10_000, 30_000, 100_000)
CLOCKS = ("cpu seconds", "wall seconds")
Rows = Iterator[tuple[str, dict[str, Any]]]  # a case, and by column one value or one for each draw


# How close to what the data allow ---------------------------------------------------------------


def bound(seeds: Sequence[int]) -> Rows:
    """Test MCC with the true activations, tuned on the true graphs, and without any truth."""
    ways = {"bound A": with_true_activations, "tuned": tuned, "no truth": without_truth}
    for s in range(1, 6):
        calls = [delayed(way)(s, seed) for way in ways.values() for seed in seeds]
        found = np.reshape(Parallel()(calls), (len(ways), -1))
        columns: dict[str, Any] = dict(zip(ways, found.tolist(), strict=True))
        means = {name: np.mean(values) for name, values in columns.items()}
        columns["tuned / bound"] = means["tuned"] / means["bound A"]
        columns["no truth / tuned"] = means["no truth"] / means["tuned"]
        yield f"s = {s}", columns


def tuned(s: int, seed: int, settings: Sequence[Any] | None = None) -> float:
    """Test MCC of the setting and threshold that the true training graphs choose."""
    grid = superposition.grid("full")
    grid = replace(grid, seeds=(seed,), models={MODEL: settings or grid.models[MODEL]})
    rows = [run_cell(grid, cell) for cell in grid.cells(data=[f"s{s}"])]
    failed = [row["error"] for row in rows if row["status"] == "failed"]
    if failed:
        raise RuntimeError(f"{MODEL} at s = {s}, seed {seed}: {failed[0]}")
    return choose(rows, grid.thresholds)[0].scores["mcc"]


def with_true_activations(s: int, seed: int) -> float:
    """Bound A: the same penalties, chosen in the same way, and known training activations."""
    tried = superposition.grid("full").models[MODEL]
    penalties = {(setting["sparsity"], setting["alpha_w"]) for setting in tried}
    settings = [
        {
            "max_active": s,
            "sparsity": sparsity,
            "alpha_w": alpha,
            "n_init": 1,
            "filter_power": 1,
            "tails": "gaussian",
        }
        for sparsity, alpha in sorted(penalties)
    ]
    train = make_superposition(superposition=s, random_state=seed).train
    with activations_known(train.signals, train.coefficients):
        return tuned(s, seed, settings)


@contextmanager
def activations_known(signals: np.ndarray, coefficients: np.ndarray) -> Iterator[None]:
    """Fits within have the E-step that knows which atoms are active in each training signal."""
    names = np.arange(signals.shape[1]).astype(object)
    preparation, _ = Preparation.learn(signals, names, True)
    prepared = preparation.apply(signals)
    distances = weighted_distances(prepared, coefficients)

    def e_step(data: Any, dictionary: Any, *_: Any, **__: Any) -> ExpectedStatistics:
        patterns = dictionary.patterns
        which = (coefficients[:, None] == patterns).all(axis=2).argmax(axis=1)
        usage = np.bincount(which, minlength=len(patterns)).astype(float)
        determinants = dictionary.likelihood.log_determinants(dictionary.atoms)
        energy = float((distances * dictionary.atoms).sum())
        evidence = usage @ np.log(dictionary.probabilities)
        evidence += (usage @ determinants - energy) / 2
        totals = data.total, data.windows, usage, usage, 0.0, evidence
        return ExpectedStatistics(*totals, (distances,))

    with mock.patch.object(em, "e_step", e_step):
        yield


def without_truth(s: int, seed: int) -> float:
    """Test MCC of the edges that averaged atoms call probable, under the paper's model."""
    drawn = make_superposition(superposition=s, random_state=seed)
    model = GraphDictMarginal(filter_power=1, tails="gaussian", random_state=seed)
    active = choose_max_active(model, drawn.train.signals).value
    model.set_params(max_active=active, average=DRAWS)
    graphs = model.fit(drawn.train.signals).instantaneous_graphs(drawn.test.signals)
    return edge_scores(drawn.test.weights, graphs).mean()["mcc"]


# How many atoms ---------------------------------------------------------------------------------


def atoms(seeds: Sequence[int], tried: Sequence[int] = range(3, 9)) -> Rows:
    """The number of atoms that held-out signals choose; there are five."""
    for s, active in ((1, 1), (1, 2), (2, 2), (2, 3)):
        found = []
        for seed in seeds:
            signals = make_superposition(superposition=s, random_state=seed).train.signals
            model = GraphDictMarginal(
                max_active=active, filter_power=1, tails="gaussian", random_state=seed
            )
            found.append(choose_n_atoms(model, signals, tried).value)
        right = f"{found.count(5)} of {len(found)}"
        yield f"s = {s}, max_active={active}", {"chosen": " ".join(map(str, found)), "right": right}


# How fast ---------------------------------------------------------------------------------------


def seconds(seeds: Sequence[int], sizes: Sequence[int] = SIZES, repeats: int = 3) -> Rows:
    """CPU and wall seconds of whole fits, each in a process of its own, on one thread."""

    def timed(python: str, library: str, model: str, samples: int, count: int, **options: Any):
        drawn = make_superposition(superposition=5, n_train=samples, n_test=0, random_state=seed)
        with tempfile.NamedTemporaryFile(suffix=".npy") as file:
            np.save(file, drawn.train.signals)
            file.flush()
            found = [
                measure(python, library, "fit", 1, signals=file.name, model=model, options=options)
                for _ in range(count)
            ]
        return {name: float(np.median([one[name] for one in found])) for name in CLOCKS}

    seed = seeds[0]
    options = {"max_active": 5, "n_init": 4, "random_state": seed}
    ours = partial(timed, sys.executable, "graphdict", MODEL, **options)
    mine = ours(2500, repeats)
    yield "2,500 signals, four restarts", mine
    try:
        peer = peer_python(HERE.parent / ".bench" / "peer")
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"the authors' package cannot be installed here, left out: {error}", flush=True)
    else:
        options = {"n_atoms": 5, "max_iter": 1000, "tol": 0, "random_state": seed}
        theirs = timed(peer, "peer", "GraphDictLog", 2500, 1, **options)
        yield "authors' GraphDictLog, 1,000 iterations", theirs
        yield "restarts / authors'", {name: mine[name] / theirs[name] for name in CLOCKS}
    found = []
    for samples in sizes:
        found.append(ours(samples, 1))
        yield f"{samples:,} signals, four restarts", found[-1]
    half = len(sizes) // 2  # where what does not grow with T no longer shows
    slopes = {
        name: np.polyfit(np.log(sizes[half:]), np.log([f[name] for f in found[half:]]), 1)[0]
        for name in CLOCKS
    }
    yield f"log-log slope from {sizes[half]:,} signals on", slopes


# Graphs that fall apart, nodes that are silent ----------------------------------------------------


APART = {"n_nodes": 36, "edge_probability": 0.05}
CASES = {  # arguments of make_superposition, and how many silent nodes join those it draws
    "ER(36, 0.05), s = 1": (APART | {"superposition": 1}, 0),
    "ER(36, 0.05), s = 2": (APART | {"superposition": 2}, 0),
    "ER(36, 0.05), s = 3": (APART | {"superposition": 3}, 0),
    "ER(27, 0.2), 3 silent nodes, s = 1": ({"n_nodes": 27, "superposition": 1}, 3),
    "ER(33, 0.05), 3 silent nodes, s = 2": (APART | {"n_nodes": 33, "superposition": 2}, 3),
}


def disconnected(seeds: Sequence[int], cases: Mapping[str, Any] = CASES) -> Rows:
    """Recovery where determinants vanish, and whether all that comes out is finite."""
    for case, (recipe, silent) in cases.items():
        found = [among_silent(recipe, silent, seed) for seed in seeds]
        finite = "yes" if all(finite for _, finite in found) else "NO"
        yield case, {"test MCC": [mcc for mcc, _ in found], "all finite": finite}


def among_silent(recipe: Mapping[str, Any], silent: int, seed: int) -> tuple[float, bool]:
    """Test MCC and whether everything is finite, ``silent`` nodes being put among the others."""
    drawn = make_superposition(**recipe, random_state=seed)
    active = np.arange(drawn.train.signals.shape[1] + silent) >= silent
    np.random.default_rng(seed).shuffle(active)
    train, test = (np.zeros((len(part), len(active))) for part in (drawn.train, drawn.test))
    train[:, active], test[:, active] = drawn.train.signals, drawn.test.signals
    model = GraphDictMarginal(max_active=drawn.superposition, random_state=seed).fit(train)
    graphs = model.instantaneous_graphs(test).weights
    given = (model.atoms_, model.coefficients_, model.score_samples(test), graphs)
    true = Preparation(active, 1.0).embed(drawn.test.weights)
    return edge_scores(true, graphs).mean()["mcc"], all(np.isfinite(g).all() for g in given)


# Tables -------------------------------------------------------------------------------------------

PARTS = {"bound": bound, "atoms": atoms, "time": seconds, "disconnected": disconnected}
MINUTES = {"bound": 6.0, "atoms": 0.7, "disconnected": 0.25}  # of a draw, on one core
MINUTES_ONCE = {"time": 2.5}
TITLES = {
    "bound": "Test MCC of the superposition experiment",
    "atoms": "Number of atoms chosen among 3 to 8 by held-out likelihood; there are five",
    "time": "Seconds of whole fits, 30 nodes, five atoms, s = 5, one thread",
    "disconnected": "Graphs that fall apart, and silent nodes; default settings, told s",
}


def lines_of(part: str, seeds: Sequence[int]) -> Iterator[list[dict[str, Any]]]:
    """The figures of a row, one line for each; shown as soon as they are found."""
    used = seeds[:1] if part == "time" else seeds
    told = {"draws": len(used), "seeds": " ".join(map(str, used))}
    for case, columns in PARTS[part](seeds):
        lines = []
        for name, found in columns.items():
            each = found if isinstance(found, list) else []
            line = {"part": part, "case": case, "measure": name, "shown": shown(found)}
            lines.append({**line, "each": " ".join(f"{value:.4f}" for value in each), **told})
        figures = ", ".join(f"{line['measure']} {line['shown']}" for line in lines)
        print(f"{part:12} {case:40} {figures} (seeds {told['seeds']})", flush=True)
        yield lines


def shown(found: Any) -> str:
    """A value, or mean and standard deviation over draws, with three digits that mean something."""
    if isinstance(found, str):
        return found
    values = np.atleast_1d(found)
    digits = max(0, 2 - int(np.floor(np.log10(abs(values.mean()) or 1.0) + 1e-9)))
    spread = f" ± {values.std(ddof=1):.{digits}f}" if len(values) > 1 else ""
    return f"{values.mean():.{digits}f}{spread}"


def markdown(lines: Sequence[dict[str, Any]]) -> str:
    """A table for each part: a row for each case, a column for each measure."""
    text = []
    for part in (name for name in PARTS if any(line["part"] == name for line in lines)):
        here = [line for line in lines if line["part"] == part]
        columns = list(dict.fromkeys(line["measure"] for line in here))
        text += [f"{TITLES[part]} (`accuracy.py {part}`; seeds {here[0]['seeds']}).", ""]
        text += ["| | " + " | ".join(columns) + " |", "| --- |" + " ---: |" * len(columns)]
        for case in dict.fromkeys(line["case"] for line in here):
            found = {line["measure"]: line["shown"] for line in here if line["case"] == case}
            text.append(f"| {case} | " + " | ".join(found.get(c, "") for c in columns) + " |")
        text.append("")
    return "\n".join(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--seed", type=int, default=500)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes of `bound`")
    parser.add_argument("--output", type=Path, default=HERE / "results")
    options = parser.parse_args()
    parts = options.parts or list(PARTS)
    if unknown := [part for part in parts if part not in PARTS]:
        parser.error(f"unknown part {unknown[0]!r}; known: {', '.join(PARTS)}")
    if options.draws < 1:
        parser.error(f"--draws must be at least 1, got {options.draws}")
    options.output.mkdir(parents=True, exist_ok=True)
    minutes = sum(MINUTES.get(p, 0) * options.draws + MINUTES_ONCE.get(p, 0) for p in parts)
    print(f"about {minutes:.0f} minutes on one core", flush=True)
    seeds = range(options.seed, options.seed + options.draws)
    path = options.output / "accuracy.csv"
    kept = list(csv.DictReader(path.read_text().splitlines())) if path.exists() else []
    with parallel_config(n_jobs=options.jobs):
        for part in parts:
            kept = [line for line in kept if line["part"] != part]
            for lines in lines_of(part, seeds):
                kept = sorted(kept + lines, key=lambda line: list(PARTS).index(line["part"]))
                write_csv(path, kept)
                write_atomically(options.output / "accuracy.md", markdown(kept))


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
