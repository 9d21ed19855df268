"""Tables of results: the setting that training scores choose for each model, and its scores."""

from __future__ import annotations

import csv
import io
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from graphdict.app.experiments.grids import Cell, Grid
from graphdict.engine.storage.atomic import write_atomically

METRICS = ("mcc", "precision", "recall")


@dataclass(frozen=True)
class Choice:
    """The chosen setting and threshold of one model on one data set, and its scores."""

    data: str
    seed: int
    model: str
    setting: dict[str, Any]
    threshold: float
    train: dict[str, float]
    scores: dict[str, float]  # on the test set, or on the training set where there is none
    tried: int


def choose(rows: Iterable[dict[str, Any]], thresholds: Sequence[float]) -> list[Choice]:
    """Return the setting and threshold of the best training MCC for each data set, seed and model.

    Test scores play no part; of equal ones the first of the grid is taken.
    """
    choices = []
    for (data, seed, model), tried in _finished(rows).items():
        curves = np.array([row["train"]["mcc"] for row in tried])
        best, cut = divmod(int(np.argmax(curves)), curves.shape[1])
        row = tried[best]
        scored = row.get("test") or row["train"]
        choices.append(
            Choice(
                data, seed, model, row["cell"]["setting"], thresholds[cut],
                {m: row["train"][m][cut] for m in METRICS},
                {m: scored[m][cut] for m in METRICS},
                len(tried),
            )
        )  # fmt: skip
    return choices


def _finished(rows: Iterable[dict[str, Any]]) -> dict[tuple, list[dict[str, Any]]]:
    """Return the rows of cells that did not fail by data set, seed and model."""
    groups: dict[tuple, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        if row["status"] == "done":
            cell = row["cell"]
            groups[cell["data"], cell["seed"], cell["model"]].append(row)
    return groups


def summarise(choices: Iterable[Choice]) -> list[dict[str, Any]]:
    """Return mean and standard deviation over seeds, for each data set and model."""
    groups: dict[tuple[str, str], list[Choice]] = defaultdict(list)
    for choice in choices:
        groups[choice.data, choice.model].append(choice)
    summary = []
    for (data, model), group in groups.items():
        line: dict[str, Any] = {"data": data, "model": model, "seeds": len(group)}
        for metric in METRICS:
            values = np.array([choice.scores[metric] for choice in group])
            line[metric] = float(values.mean())
            line[f"{metric}_std"] = _deviation(values)
        summary.append(line)
    return summary


def restarts(grid: Grid, choices: Iterable[Choice], starts: int) -> list[Cell]:
    """Return the cells that repeat the chosen fits from ``starts - 1`` other random starts."""
    cells = []
    for choice in choices:
        model = grid.build(choice.model, choice.setting, choice.seed)
        if hasattr(model, "get_params") and "random_state" not in model.get_params():
            continue  # nothing in it is random
        cells += [
            Cell(grid.experiment, choice.data, choice.seed, choice.model, choice.setting, start)
            for start in range(1, starts)
        ]
    return cells


def write_starts(
    grid: Grid, choices: Sequence[Choice], rows: Iterable[dict[str, Any]], folder: Path
) -> Path:
    """Write starts.csv: deviations of the chosen fits over random starts, beside those over draws.

    ``rows`` are those of :func:`restarts`. Thresholds are those of the choices.
    """
    again = _finished(rows)
    groups: dict[tuple[str, str], list[tuple[Choice, list[dict[str, Any]]]]] = defaultdict(list)
    for choice in choices:
        found = again[choice.data, choice.seed, choice.model]
        groups[choice.data, choice.model].append((choice, found))
    lines = []
    for (data, model), group in groups.items():
        count = 1 + min(len(found) for _, found in group)
        line: dict[str, Any] = {
            "data": data, "model": model, "draws": len(group), "starts": count,
        }  # fmt: skip
        for metric in METRICS:
            table = np.array(
                [
                    [choice.scores[metric], *(_score(row, metric, choice, grid) for row in found)]
                    for choice, found in ((c, f[: count - 1]) for c, f in group)
                ]
            )
            line[metric] = float(table.mean())
            line[f"{metric}_std_draws"] = _deviation(table.mean(axis=1))
            line[f"{metric}_std_starts"] = float(np.mean([_deviation(x) for x in table]))
        lines.append(line)
    return write_csv(folder / "starts.csv", lines)


def _score(row: dict[str, Any], metric: str, choice: Choice, grid: Grid) -> float:
    scored = row.get("test") or row["train"]
    return float(scored[metric][list(grid.thresholds).index(choice.threshold)])


def _deviation(values: Any) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def write_tables(
    grid: Grid, rows: Sequence[dict[str, Any]], folder: Path
) -> tuple[list[Choice], list[Path]]:
    """Write results.csv, summary.csv, cells.csv and timings.csv.

    The first three are the same in every run of the same grid.
    """
    choices = choose(rows, grid.thresholds)
    results = [
        {
            "experiment": grid.experiment, "data": c.data, "seed": c.seed, "model": c.model,
            **c.scores, **{f"train_{m}": c.train[m] for m in METRICS},
            "threshold": c.threshold, "setting": json.dumps(c.setting), "settings_tried": c.tried,
        }
        for c in choices
    ]  # fmt: skip
    tables = {
        "results.csv": results,
        "summary.csv": summarise(choices),
        "cells.csv": [_cell_line(row, grid.thresholds) for row in rows],
        "timings.csv": [_timing_line(row) for row in rows if row["status"] == "done"],
    }
    return choices, [write_csv(folder / name, lines) for name, lines in tables.items()]


def write_csv(path: Path, lines: Sequence[dict[str, Any]]) -> Path:
    """Write dictionaries with the same keys as CSV, numbers to six digits; return the path."""
    text = io.StringIO(newline="")
    if lines:
        writer = csv.DictWriter(text, list(lines[0]), lineterminator="\n")
        writer.writeheader()
        for line in lines:
            writer.writerow({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in line.items()})
    write_atomically(path, text.getvalue())
    return path


def _cell_line(row: dict[str, Any], thresholds: Sequence[float]) -> dict[str, Any]:
    """Return the line of one cell, at the threshold of its best training MCC."""
    cell = row["cell"]
    line = {**cell, "setting": json.dumps(cell["setting"]), "status": row["status"]}
    line |= dict.fromkeys(["threshold", *(f"train_{m}" for m in METRICS)], "")
    line |= dict.fromkeys((f"test_{m}" for m in METRICS), "")
    if row["status"] == "done":
        cut = int(np.argmax(row["train"]["mcc"]))
        line["threshold"] = thresholds[cut]
        for part in ("train", "test"):
            if part in row:
                line |= {f"{part}_{m}": row[part][m][cut] for m in METRICS}
    line["warnings"] = len(row["warnings"])
    line["error"] = row.get("error", "")
    return line


def _timing_line(row: dict[str, Any]) -> dict[str, Any]:
    cell = row["cell"]
    return {**cell, "setting": json.dumps(cell["setting"]), **row["seconds"]}


def with_published(summary: Sequence[dict[str, Any]], published: Any) -> list[dict[str, Any]]:
    """Return a line for each data set, model and metric, with the published number if any."""
    lines = []
    for line in summary:
        for metric in METRICS:
            mean, std = published.get(line["model"], {}).get(line["data"], {}).get(metric, ("", ""))
            lines.append(
                {
                    "data": line["data"], "model": line["model"], "metric": metric,
                    "mean": line[metric], "std": line[f"{metric}_std"], "seeds": line["seeds"],
                    "paper_mean": mean / 100 if mean else "", "paper_std": std / 100 if std else "",
                }
            )  # fmt: skip
    return lines


def write_markdown(
    path: Path,
    summary: Sequence[dict[str, Any]],
    columns: Mapping[str, str],
    published: Any = None,
) -> Path:
    """Write means and standard deviations over seeds in percent; the best of each column in bold.

    One table for each metric: a row for each model, a column for each data set, and the published
    number in brackets.
    """
    found = {(line["model"], line["data"]): line for line in summary}
    models = list(dict.fromkeys(line["model"] for line in summary))
    columns = {name: title for name, title in columns.items() if any(n == name for _, n in found)}
    parts = []
    for metric in METRICS:
        parts.append(f"| {metric.upper() if metric == 'mcc' else metric.capitalize()} (%) | ")
        parts[-1] += " | ".join(columns.values()) + " |"
        parts.append("| --- |" + " ---: |" * len(columns))
        tops = {n: max(x[metric] for x in summary if x["data"] == n) for n in columns}
        for model in models:
            entries = [model]
            for name in columns:
                line = found.get((model, name))
                if line is None:
                    entries.append("")
                    continue
                entry = f"{100 * line[metric]:.1f}"
                if line["seeds"] > 1:
                    entry += f" ± {100 * line[f'{metric}_std']:.1f}"
                if line[metric] == tops[name]:
                    entry = f"**{entry}**"
                paper = (published or {}).get(model, {}).get(name, {}).get(metric)
                entries.append(entry + (f" ({paper[0]})" if paper else ""))
            parts.append("| " + " | ".join(entries) + " |")
        parts.append("")
    write_atomically(path, "\n".join(parts))
    return path
