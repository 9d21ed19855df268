"""Grids of cells (data x seed x model x setting), with one list of thresholds for all models."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

# In units of the mean weight that a method predicts on the training set: zero keeps every positive
# weight, the largest only weights of thirty times the mean.
THRESHOLDS = (0.0, *(round(float(x), 6) for x in np.geomspace(0.01, 30, 49)))


@dataclass(frozen=True)
class Dataset:
    """Simulated training signals and their true graphs, with or without a test set.

    Without a test set, as in the paper's time-varying experiment, the training signals are scored.
    """

    signals: NDArray[Any]  # (T, N)
    graphs: NDArray[Any]  # (T, E)
    test_signals: NDArray[Any] | None = None
    test_graphs: NDArray[Any] | None = None


@dataclass(frozen=True)
class Cell:
    """One fit: a model with one setting on one simulated data set.

    Other values of ``start`` than zero repeat a fit from other random starts on the same data.
    """

    experiment: str
    data: str
    seed: int
    model: str
    setting: Mapping[str, Any]
    start: int = 0

    def describe(self) -> dict[str, Any]:
        """Return the cell as JSON."""
        described = {
            "experiment": self.experiment,
            "data": self.data,
            "seed": self.seed,
            "model": self.model,
            "setting": dict(self.setting),
        }
        return {**described, "start": self.start} if self.start else described

    @property
    def fit_seed(self) -> int:
        """The seed of the fit: that of the data for the first start, and another for others."""
        return self.seed + 1000 * self.start

    @property
    def key(self) -> str:
        """A unique name that is the same in every run, and valid as a file name."""
        digest = hashlib.sha256(_canonical(self.describe()).encode()).hexdigest()[:12]
        return f"{self.data}_{self.seed}_{self.model}_{digest}"


@dataclass(frozen=True)
class Grid:
    """The grid of an experiment: plain data, and the functions that run a cell.

    Parameters
    ----------
    experiment, scale : str
        Which experiment, and whether it is the "quick", the "full" or the "paper" one.
    data : dict of dict
        Arguments of ``draw`` by the name of the data set.
    models : dict of list of dict
        Settings to try, by the name of the model.
    seeds : sequence of int
        Each is the seed of its own data and fits.
    draw : callable
        ``draw(arguments, seed) -> Dataset``, or what ``measure`` takes; importable, for other
        processes.
    build : callable
        ``build(model, setting, seed) -> estimator``; importable.
    thresholds : sequence of float
        Edge thresholds, relative to the mean predicted weight.
    measure : callable, optional
        ``measure(grid, cell) -> dict``: runs a cell, where that is not the recovery of graphs.
    """

    experiment: str
    scale: str
    data: Mapping[str, Mapping[str, Any]]
    models: Mapping[str, Sequence[Mapping[str, Any]]]
    seeds: Sequence[int]
    draw: Callable[[Mapping[str, Any], int], Any]
    build: Callable[[str, Mapping[str, Any], int], Any]
    thresholds: Sequence[float] = THRESHOLDS
    measure: Callable[[Any, Cell], dict[str, Any]] | None = None

    def describe(self) -> dict[str, Any]:
        """Return the grid as JSON, for the manifest."""
        return {
            "experiment": self.experiment,
            "scale": self.scale,
            "data": {name: dict(arguments) for name, arguments in self.data.items()},
            "models": {name: [dict(s) for s in tried] for name, tried in self.models.items()},
            "seeds": list(self.seeds),
            "thresholds": list(self.thresholds),
        }

    @property
    def digest(self) -> str:
        """Hash of the grid's description."""
        return hashlib.sha256(_canonical(self.describe()).encode()).hexdigest()

    def cells(
        self,
        models: Iterable[str] | None = None,
        data: Iterable[str] | None = None,
        seeds: Iterable[int] | None = None,
    ) -> list[Cell]:
        """Return the cells of some (by default all) models, data sets and seeds, in order."""
        kept_models = _select("model", self.models, models)
        kept_data = _select("data set", self.data, data)
        kept_seeds = _select("seed", self.seeds, seeds)
        return [
            Cell(self.experiment, source, seed, model, setting)
            for source, seed, model in product(kept_data, kept_seeds, kept_models)
            for setting in self.models[model]
        ]


def settings(**values: Sequence[Any]) -> list[dict[str, Any]]:
    """Return every combination of the listed values, the last name changing fastest."""
    return [dict(zip(values, chosen)) for chosen in product(*values.values())]


def unknown_name(kind: str, given: Any, known: Iterable[Any]) -> str:
    """Return the error message for a name that does not exist."""
    return f"unknown {kind} {given!r}; known: {', '.join(map(str, known))}"


def _select(kind: str, known: Iterable[Any], wanted: Iterable[Any] | None) -> list[Any]:
    """Return the wanted names (all by default) in the order of the known ones."""
    known = list(known)
    if wanted is None:
        return known
    wanted = list(wanted)
    for name in wanted:
        if name not in known:
            raise ValueError(unknown_name(kind, name, known))
    return [name for name in known if name in wanted]


def _canonical(description: Any) -> str:
    return json.dumps(description, sort_keys=True, separators=(",", ":"))
