"""Studies of many recordings: false positives, power, and what a group's dictionary predicts.

    python benchmarks/studies.py null      500 studies without a difference, activations given
    python benchmarks/studies.py null --learn           the same with a dictionary for each study
    python benchmarks/studies.py power     studies with one, on learned and true activations
    python benchmarks/studies.py intervals      how often intervals of effects hold the truth
    python benchmarks/studies.py eyes --folder FOLDER   subjects left out of a dictionary
    python benchmarks/studies.py own --folder FOLDER    recordings' own atoms on halves left out
    python benchmarks/studies.py settings --folder FOLDER   the tutorial's test by other settings

Each prints a table; ``--json FILE`` keeps it. ``--studies`` and ``--subjects`` make them shorter,
and ``--seed`` draws other studies (null, power).
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from graphdict import GraphDictMarginal
from graphdict.core import graphs
from graphdict.core.marginal.spectra import zero_sum_basis
from graphdict.metrics import match_atoms
from graphdict.studies import (
    activation_statistics,
    compare_conditions,
    compare_groups,
    regress_on,
)

NODES, ATOMS, SAMPLES, RECORDINGS, STAY = 8, 3, 120, 24, 0.9
SPREAD = 0.4  # of the logarithm of occupancies between subjects


def simulate(rng: np.random.Generator, tilt: np.ndarray) -> tuple[list, list, np.ndarray]:
    """Return signals and activations of each recording, and the atoms (K, E).

    States last as in a Markov chain; how often each is drawn differs between recordings at random,
    and by ``tilt`` (R,) of the logarithm for the first.
    """
    there = rng.random((ATOMS, graphs.n_edges(NODES))) < 0.4
    atoms = there * rng.uniform(0.5, 2, there.shape) + 0.01
    roots = []
    for laplacian in graphs.laplacian(atoms):
        values, vectors = np.linalg.eigh(laplacian)
        roots.append(vectors[:, 1:] / np.sqrt(values[1:]))
    signals, activations = [], []
    for shift in tilt:
        shares = np.exp(SPREAD * rng.standard_normal(ATOMS) + shift * (np.arange(ATOMS) == 0))
        drawn = rng.choice(ATOMS, SAMPLES, p=shares / shares.sum())
        moves = rng.random(SAMPLES) > STAY
        moves[0] = True
        labels = drawn[np.maximum.accumulate(np.where(moves, np.arange(SAMPLES), 0))]
        noise = rng.standard_normal((SAMPLES, NODES - 1))
        signals.append(np.stack([roots[k] @ row for k, row in zip(labels, noise)]))
        activations.append(np.eye(ATOMS)[labels])
    return signals, activations, atoms


def learn(signals: list, seed: int) -> tuple[Any, list[np.ndarray]]:
    """Return the group's dictionary, and the coefficients of each recording under it."""
    model = GraphDictMarginal(
        ATOMS, max_active=1, prior="markov", filter_power=1, tails="gaussian", random_state=seed
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(signals)
        return model, model.transform(signals)


def null(studies: int, first: int, learned: bool = True) -> list[dict[str, Any]]:
    """Return how often tests at 0.05 find something in studies in which nothing differs."""
    asked = {
        "groups": lambda v, seed: compare_groups(
            v, np.repeat(["a", "b"], RECORDINGS // 2), measures=MEASURES, **settings(seed)
        ),
        "groups, two runs a subject": lambda v, seed: compare_groups(
            v, np.repeat(["a", "b"], RECORDINGS // 2), measures=MEASURES,
            subjects=np.arange(RECORDINGS) // 2, **settings(seed),
        ),
        "conditions within subjects": lambda v, seed: compare_conditions(
            v, np.tile(["a", "b"], RECORDINGS // 2), np.arange(RECORDINGS) // 2, measures=MEASURES,
            **settings(seed),
        ),
        "covariate": lambda v, seed: regress_on(
            v, np.random.RandomState(10_000 + seed).gamma(2, size=RECORDINGS), measures=MEASURES,
            **settings(seed),
        ),
    }  # fmt: skip
    found = dict.fromkeys(asked, 0)
    for seed in range(first, first + studies):
        signals, given, _ = simulate(np.random.default_rng(seed), np.zeros(RECORDINGS))
        values = activation_statistics(learn(signals, seed)[1] if learned else given, 100.0)
        for name, ask in asked.items():
            found[name] += bool(ask(values, seed).p_corrected.min() <= 0.05)
        tell(seed, found)
    return [rate(name, count, studies) for name, count in found.items()]


MEASURES = ("occupancy", "lifetime", "switching_rate")


def settings(seed: int) -> dict[str, int]:
    return {"n_permutations": 999, "random_state": seed}


def tell(seed: int, found: dict[str, int]) -> None:
    if seed % 25 == 24:
        print(seed + 1, found, file=sys.stderr, flush=True)


def rate(name: str, count: int, studies: int) -> dict[str, Any]:
    share = count / studies
    error = np.sqrt(share * (1 - share) / studies)
    return {"what": name, "percent": 100 * share, "error": 100 * error, "studies": studies}


def power(studies: int, first: int) -> list[dict[str, Any]]:
    """Return how often a difference in occupancy is found, on learned and on true activations."""
    rows = []
    for shift in (1.0, 1.3):
        found = {"learned": 0, "true": 0}
        for seed in range(first, first + studies):
            tilt = np.repeat([0.0, shift], RECORDINGS // 2)
            signals, truth, atoms = simulate(np.random.default_rng(10_000 + seed), tilt)
            model, learned = learn(signals, seed)
            order = match_atoms(atoms, model.atoms_).learned
            for name, given in (("learned", [c[:, order] for c in learned]), ("true", truth)):
                values = activation_statistics(given, 100.0)
                groups = np.repeat(["a", "b"], RECORDINGS // 2)
                test = compare_groups(values, groups, **settings(seed))
                found[name] += bool(test.p_corrected[0] <= 0.05)
            tell(seed, found)
        rows += [rate(f"shift {shift}, {name}", count, studies) for name, count in found.items()]
    return rows


DRAWS = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "skewed (exponential)": lambda rng, shape: rng.exponential(size=shape) - 1,
    "very skewed (lognormal)": lambda rng, shape: np.exp(rng.standard_normal(shape)) - np.exp(0.5),
    "heavy tails (t 3)": lambda rng, shape: rng.standard_t(3, shape),
}


def intervals(studies: int) -> list[dict[str, Any]]:
    """Return how often intervals of 95 % hold the effect that was simulated, for each design.

    Columns of one comparison are studies of their own here.
    """
    rows = []
    for name, draw in DRAWS.items():
        for units in (8, 15, 30):
            rng = np.random.default_rng(units)
            few = {"n_permutations": 1}
            within, labels = np.arange(2 * units) // 2, np.tile(["a", "b"], units)
            # The effect of a condition differs between subjects as drawn; groups differ by 1.
            paired = np.zeros((2 * units, studies))
            paired[1::2] = 1 + draw(rng, (units, studies))
            apart = draw(rng, (2 * units, studies))
            apart[units:] += 1
            ages = rng.gamma(4, size=2 * units)
            line = draw(rng, (2 * units, studies)) + ages[:, None]
            found = {
                "conditions": compare_conditions(paired, labels, within, **few),
                "groups": compare_groups(apart, np.repeat(["a", "b"], units), **few),
                "covariate": regress_on(line, ages, **few),
            }
            for design, test in found.items():
                low, high = test.effect_interval.T
                row = rate(
                    f"{design}, {name}, {units}", int(((low <= 1) & (high >= 1)).sum()), studies
                )
                rows.append(row | {"width": float(np.median(high - low))})
    return rows


def eyes(
    folder: Path | None, subjects: int, folds: int, seconds: int, atoms: int
) -> list[dict[str, Any]]:
    """Return held-out nats a sample of subjects left out, under dictionaries of the others.

    Every third of 64 channels, so many seconds with eyes open and as many with eyes closed.
    """
    from sklearn.covariance import ledoit_wolf

    from graphdict.datasets import load_eyes

    data = []
    for subject in range(subjects):
        loaded = load_eyes(subject + 1, folder, band=(1, 30), sfreq=80)
        one = loaded.signals[loaded.times < seconds, ::3]
        data.append(one - one.mean(axis=1, keepdims=True))
    scores: dict[str, list[float]] = {}
    for fold in range(folds):
        inside = [one for s, one in enumerate(data) if s % 3 != fold]
        outside = [one for s, one in enumerate(data) if s % 3 == fold]
        basis = zero_sum_basis(inside[0].shape[1])
        flat = np.concatenate(inside) @ basis
        one = Gaussian(ledoit_wolf(flat, assume_centered=True)[0])
        fitted = GraphDictMarginal(atoms, max_active=1, prior="markov", random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted.fit(inside)
        models: dict[str, Any] = {
            "pooled Gaussian": lambda x: one.score(x @ basis),
            f"graphdict, {atoms} atoms": lambda x: fitted.score(x) - _log_scale(fitted, x),
        }
        chain = hmm(flat, atoms)
        if chain is not None:
            models[f"hmmlearn, {atoms} states"] = lambda x: chain.score(x @ basis) / len(x)
        for name, score in models.items():
            scores.setdefault(name, []).extend(float(score(x)) for x in outside)
        print(fold, {name: np.round(v, 2) for name, v in scores.items()}, file=sys.stderr)
    best = np.array(scores["pooled Gaussian"])
    return [
        {
            "what": name, "nats": float(np.mean(values)),
            "gain": float(np.mean(values - best)),
            "error": float(np.std(values - best, ddof=1) / np.sqrt(len(values))),
        }
        for name, values in scores.items()
    ]  # fmt: skip


def own(folder: Path | None, subjects: int, seconds: int, atoms: int, figure: Path | None) -> list:
    """Return what atoms of their own gain in halves of recordings that they were not learned from.

    Each subject has a recording with eyes open and one with eyes closed, divided by its own size;
    channels as in ``eyes``.
    """
    from graphdict.datasets import load_eyes
    from graphdict.studies import recording_atoms

    data: dict[str, np.ndarray] = {}
    for subject in range(subjects):
        loaded = load_eyes(subject + 1, folder, band=(1, 30), sfreq=80)
        for state in ("open", "closed"):
            chosen = (loaded.times < seconds) & (loaded.states == state)
            data[f"{subject + 1} {state}"] = loaded.signals[chosen, ::3]
    model = GraphDictMarginal(
        atoms, max_active=1, prior="markov", rescale="recording", random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(data)
        found = recording_atoms(model, data)
    print(found.in_words(), file=sys.stderr)
    apart = np.where(np.eye(len(data)) > 0, np.inf, found.distances)
    people = np.arange(len(data)) // 2
    nearest = people[apart.argmin(axis=1)] == people
    same = found.distances[people[:, None] == people]
    group = found.scores[np.inf]
    rows: list[dict[str, Any]] = [
        {"what": f"{pseudo:.4g} pseudo-samples", "nats": float((score - group).mean())}
        for pseudo, score in found.scores.items()
    ]
    rows += [
        {"what": "gain, error", "nats": found.gain, "error": found.error},
        {"what": "recordings that gain", "nats": float((found.gains > 0).mean())},
        {"what": "share of the group", "nats": float(found.shrinkage.mean())},
        {"what": "nearest is the same subject", "nats": float(nearest.mean())},
        {"what": "distance within a subject", "nats": float(same[same > 0].mean())},
        {"what": "distance between subjects",
         "nats": float(found.distances[people[:, None] != people].mean())},
    ]  # fmt: skip
    if figure is not None:
        _draw_own(found, figure)
    return rows


TEN_TWENTY = [
    "Fp1", "Fp2", "F7", "F3", "Fz", "F4", "F8", "T7", "C3", "Cz", "C4", "T8", "P7", "P3", "Pz",
    "P4", "P8", "O1", "O2",
]  # fmt: skip


def tutorial_settings(folder: Path | None, subjects: int) -> list[dict[str, Any]]:
    """Return the p-value of the clearest graph, eyes open or closed, by settings of the tutorial.

    All as in ``examples/plot_eeg_2_eyes_open_and_closed.py`` but for electrodes, graphs and rate.
    """
    from graphdict.datasets import load_eyes

    rows = []
    for rate in (80, 40):
        loaded = [load_eyes(s + 1, folder, band=(7, 14), sfreq=rate) for s in range(subjects)]
        for names in (TEN_TWENTY, loaded[0].names):
            study = {}
            for subject, one in enumerate(loaded):
                columns = [one.names.index(name) for name in names]
                for state in ("open", "closed"):
                    minute = one.signals[one.states == state][: 60 * rate]
                    study[f"{subject + 1} {state}"] = minute[:, columns]
            who, what = zip(*(name.split() for name in study))
            for atoms in (3, 4):
                model = GraphDictMarginal(
                    atoms, max_active=1, window_size=rate, rescale="recording", random_state=0
                ).fit(study)
                test = compare_conditions(activation_statistics(model, rate), what, who)
                row = {"what": f"{len(names)} electrodes, {atoms} graphs, {rate} Hz"}
                rows.append(row | {"p": float(test.p_corrected.min())})
                print(rows[-1], file=sys.stderr, flush=True)
    return rows


def _draw_own(found: Any, path: Path) -> None:
    """Draw distances between recordings, and the map on which they are kept."""
    from matplotlib.figure import Figure

    from graphdict.viz import plot_recordings

    drawing = Figure(figsize=(9, 4), layout="constrained", dpi=120)
    left, right = drawing.subplots(1, 2)
    shown = left.imshow(found.distances, cmap="viridis")
    drawing.colorbar(shown, ax=left, label="distance (root nats)")
    left.set(xlabel="recording", ylabel="recording", title="Distances")
    states = [name.split()[1] for name in found.recordings]
    plot_recordings(found, right, groups=states, names=False)
    for first, second in zip(found.positions[::2], found.positions[1::2]):  # of one subject
        right.plot(*np.stack((first, second), axis=1), color="0.7", linewidth=0.8, zorder=0)
    right.set_title("Map; lines join the two recordings of a subject", fontsize=9)
    drawing.savefig(path)


def _log_scale(model: Any, signals: np.ndarray) -> float:
    """Return what dividing signals by ``scale_`` adds to the density of a sample."""
    return (signals.shape[1] - 1) * float(np.log(model.scale_))


class Gaussian:
    """A Gaussian without mean."""

    def __init__(self, covariance: np.ndarray):
        self.factor = np.linalg.cholesky(covariance)

    def score(self, signals: np.ndarray) -> float:
        white = np.linalg.solve(self.factor, signals.T)
        constant = signals.shape[1] * np.log(2 * np.pi) + 2 * np.log(np.diag(self.factor)).sum()
        return float(-0.5 * (constant + np.square(white).sum(axis=0).mean()))


def hmm(signals: np.ndarray, states: int) -> Any:
    try:
        from hmmlearn.hmm import GaussianHMM
    except ImportError:
        return None
    chain = GaussianHMM(states, covariance_type="full", n_iter=50, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return chain.fit(signals)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=["null", "power", "intervals", "eyes", "own", "settings"])
    parser.add_argument("--studies", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0, help="of the first study")
    parser.add_argument("--subjects", type=int, default=15)
    parser.add_argument("--folds", type=int, choices=(1, 2, 3), default=3)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--atoms", type=int, default=3)
    parser.add_argument("--learn", action="store_true")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--figure", type=Path)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    if given.part == "eyes":
        rows = eyes(given.folder, given.subjects, given.folds, given.seconds, given.atoms)
    elif given.part == "own":
        rows = own(given.folder, given.subjects, given.seconds, given.atoms, given.figure)
    elif given.part == "settings":
        rows = tutorial_settings(given.folder, given.subjects)
    elif given.part == "null":
        rows = null(given.studies, given.seed, given.learn)
    elif given.part == "power":
        rows = power(given.studies, given.seed)
    else:
        rows = intervals(given.studies)
    for row in rows:
        print("  ".join(f"{v:.4g}" if isinstance(v, float) else f"{v:<28}" for v in row.values()))
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
