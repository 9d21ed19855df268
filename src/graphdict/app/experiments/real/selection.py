"""Choose a setting for each method without the truth that scores it, and gather its scores.

Signals: by validation blocks, hidden entries by the error of theirs and all else by likelihood; for
the map among fits that have edges to show for it.
States, features and graphs: by the other subjects. Methods without a likelihood keep their first
setting on signals.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

OURS = "GraphDictMarginal"
# Whether more is better, by measure.
HIGHER = {
    "nats": True, "imputation": False, "map": True, "map precision": True, "states": True,
    "control": False, "features": True, "graphs": True, "graph precision": True,
}  # fmt: skip


@dataclass
class Scores:
    """Scores of one method on one set by one measure, with those of other methods in one order.

    ``values`` are of blocks, folds or subjects, in the order of ``units``.
    """

    measure: str
    data: str
    model: str
    values: list[float] = field(default_factory=list)
    units: list[str] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    megabytes: list[float] = field(default_factory=list)
    tried: int = 1

    @property
    def mean(self) -> float:
        """Mean over blocks, folds or subjects."""
        return float(np.mean(self.values))

    @property
    def error(self) -> float:
        """Standard error of the mean."""
        return _standard_error(self.values)


def _standard_error(values: Sequence[float]) -> float:
    """Return the standard error of a mean; nan for one value."""
    if len(values) < 2:
        return float("nan")
    return float(np.std(values, ddof=1) / np.sqrt(len(values)))


def compare(ours: Scores, other: Scores) -> tuple[float, float]:
    """Return by how much ours is better, and the standard error over what both were scored on."""
    theirs = dict(zip(other.units, other.values))
    sign = 1 if HIGHER[ours.measure] else -1
    gaps = [sign * (v - theirs[u]) for u, v in zip(ours.units, ours.values) if u in theirs]
    return float(np.mean(gaps)), _standard_error(gaps)


def gather(rows: Iterable[Mapping[str, Any]]) -> list[Scores]:
    """Return the scores of every measure, set and method, with chosen settings."""
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        if row["status"] == "done":
            groups[row["cell"]["data"], row["cell"]["model"]].append(row)
    found: list[Scores] = []
    for (data, model), tried in groups.items():
        task = tried[0]["cell"]["setting"]["task"]
        collect = COLLECTORS[task]
        found += [scores for scores in collect(data, model, tried) if scores.values]
    return found


def likeliest_row(rows: Sequence[Any]) -> Any:
    """Return the row whose validation blocks are likeliest; the first without a likelihood."""
    if "nats" not in rows[0]:
        return rows[0]
    return max(rows, key=lambda row: np.mean(row["nats"]["validation"]))


def _signals(data: str, model: str, rows: list[Any]) -> list[Scores]:
    measures = ("nats", "imputation", "map", "map precision")
    found = {name: Scores(name, data, model) for name in measures}
    for part in sorted({row["cell"]["seed"] for row in rows}):
        tried = [row for row in rows if row["cell"]["seed"] == part]
        likeliest = closest = likeliest_row(tried)
        if "nats" in likeliest:
            closest = min(tried, key=lambda row: np.mean(row["imputation"]["validation"]))
        with_map = [row for row in tried if "map" in row]
        edges = likeliest_row(with_map)["map"] if with_map else {}
        values: dict[str, list[float]] = {
            "nats": likeliest.get("nats", {}).get("test", []),
            "imputation": closest.get("imputation", {}).get("test", []),
            "map": [edges["auc"]] if edges else [],
            "map precision": [edges["precision"]] if edges else [],
        }
        for name, scores in found.items():
            scores.values += values[name]
            scores.units += [f"{part}/{index}" for index in range(len(values[name]))]
            _add_cost(scores, closest if name == "imputation" else likeliest, len(tried))
    return list(found.values())


def _by_subject(measures: tuple[str, ...], data: str, model: str, rows: list[Any]) -> list[Scores]:
    """Return the scores of each subject, with the setting whose first measure is best of others."""
    found = {name: Scores(name, data, model) for name in measures}
    for part, best, count in chosen_by_others(rows, measures[0]):
        for name, scores in found.items():
            scores.values.append(best[name])
            scores.units.append(str(part))
            _add_cost(scores, best, count)
    return list(found.values())


def chosen_by_others(rows: list[Any], measure: str) -> list[tuple[int, Any, int]]:
    """Return (part, row, settings tried): the setting with the best mean score of other parts."""
    by_setting: dict[str, dict[int, Any]] = defaultdict(dict)
    for row in rows:
        by_setting[str(row["cell"]["setting"])][row["cell"]["seed"]] = row
    parts = sorted({row["cell"]["seed"] for row in rows})
    chosen = []
    for part in parts:
        tried = [found for found in by_setting.values() if part in found]
        best = max(
            tried,
            key=lambda found: np.mean([r[measure] for p, r in found.items() if p != part] or [0]),
        )
        chosen.append((part, best[part], len(tried)))
    return chosen


def _graphs(data: str, model: str, rows: list[Any]) -> list[Scores]:
    found = {
        "auc": Scores("graphs", data, model),
        "precision": Scores("graph precision", data, model),
    }
    totals = [np.array(row["auc"]) for row in rows]
    for subject in range(len(totals[0])):
        best = rows[int(np.argmax([total.sum() - total[subject] for total in totals]))]
        for name, scores in found.items():
            scores.values.append(best[name][subject])
            scores.units.append(str(subject))
            if subject == 0:
                _add_cost(scores, best, len(rows))
    return list(found.values())


COLLECTORS: dict[str, Callable[[str, str, list[Any]], list[Scores]]] = {
    "signals": _signals,
    "states": partial(_by_subject, ("states", "control")),
    "features": partial(_by_subject, ("features",)),
    "graphs": _graphs,
}


def _add_cost(scores: Scores, row: Any, tried: int) -> None:
    scores.cpu.append(row["seconds"]["cpu"])
    if row.get("megabytes") is not None:
        scores.megabytes.append(row["megabytes"])
    scores.tried = tried
