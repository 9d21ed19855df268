"""Tables and figures of the brain experiment."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.app.experiments.brain import PIPELINES
from graphdict.app.experiments.grids import Grid
from graphdict.app.experiments.tables import write_csv
from graphdict.engine.storage.atomic import write_atomically


def select_settings(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return a line for each pipeline, model, size, seed and held-out subject.

    Of several settings, the one with the best score on the other subjects is taken.
    """
    groups: dict[tuple, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        if row["status"] == "done" and "held_out" in row:
            setting = row["cell"]["setting"]
            size = setting.get("n_states", setting.get("phases"))
            place = setting["pipeline"], setting["start"], setting.get("channels", "all")
            groups[*place, row["cell"]["model"], size, row["cell"].get("seed", 0)].append(row)
    lines = []
    for (pipeline, start, channels, model, size, seed), tried in groups.items():
        best_of_all = max(score for row in tried for score in _mean_scores(row))
        for subject in tried[0]["held_out"]:
            best = tried[0]
            if len(tried) > 1:
                best = max(tried, key=lambda row: row["training"][subject])
            lines.append(
                {
                    "pipeline": pipeline, "start": start, "channels": channels, "model": model,
                    "size": size, "seed": seed, "subject": int(subject),
                    "auroc": best["held_out"][subject],
                    "auroc_forest": best.get("forest", {}).get(subject, ""),
                    "auroc_training": best.get("training", {}).get(subject, ""),
                    "features": best["features"], "settings_tried": len(tried),
                    "auroc_best": best_of_all,
                    "setting": json.dumps(_own_settings(best["cell"]["setting"])),
                }
            )  # fmt: skip
    return [*lines, *_best_guided(lines)]


def _mean_scores(row: Mapping[str, Any]) -> list[float]:
    """Return the mean held-out score of a cell, one for each of its forests."""
    return row.get("forests") or [float(np.mean(list(row["held_out"].values())))]


def _best_guided(lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return lines of the guided dictionaries with model and size chosen on the other subjects."""
    found: dict[tuple, list[dict[str, Any]]] = defaultdict(list)
    for line in lines:
        if line["pipeline"] == "guided" and line["model"].startswith("GraphDict"):
            found[line["start"], line["channels"], line["subject"]].append(line)
    best = [max(group, key=lambda line: line["auroc_training"]) for group in found.values()]
    return [
        {
            **line,
            "model": "GraphDict (chosen)",
            "size": "",
            "setting": json.dumps({"model": line["model"], "n_states": line["size"]}),
        }
        for line in best
    ]


def summarise(lines: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return mean, error and range over held-out subjects by pipeline, model and size.

    Every subject's score is its mean over seeds. ``auroc_error`` is the standard error of the mean,
    by subjects and by seeds: states are learned once for all subjects, whose scores a seed moves
    together. ``auroc_best`` is what the setting and forest of the best held-out scores have, which
    is no honest score.
    """
    groups: dict[tuple, list[Mapping[str, Any]]] = defaultdict(list)
    for line in lines:
        place = line["pipeline"], line["start"], line["channels"]
        groups[*place, line["model"], line["size"]].append(line)
    summary = []
    for (pipeline, start, channels, model, size), group in groups.items():
        table = _by_seed(group)
        values = table.mean(axis=0)
        seeds = len(table)
        error = float(values.var(ddof=1) / len(values)) if len(values) > 1 else 0.0
        if seeds > 1:
            error += float(table.mean(axis=1).var(ddof=1) / seeds)
        forests = [line["auroc_forest"] for line in group if line["auroc_forest"] != ""]
        summary.append(
            {
                "pipeline": pipeline, "start": start, "channels": channels, "model": model,
                "size": size, "subjects": len(values), "seeds": seeds, "auroc_error": error**0.5,
                "auroc_best": float(np.mean([line["auroc_best"] for line in group])),
                "auroc": float(values.mean()),
                "auroc_std": float(values.std(ddof=1)) if len(values) > 1 else 0.0,
                "auroc_median": float(np.median(values)), "auroc_min": float(values.min()),
                "auroc_max": float(values.max()),
                "auroc_forest": float(np.mean(forests)) if forests else "",
                "features": group[0]["features"],
            }
        )  # fmt: skip
    order = list(PIPELINES)
    return sorted(
        summary,
        key=lambda x: (x["start"], x["channels"], order.index(x["pipeline"]), x["model"]),
    )


def _by_seed(group: Sequence[Mapping[str, Any]]) -> NDArray[Any]:
    """Return the scores (seeds, subjects) of lines."""
    seeds = sorted({line["seed"] for line in group})
    subjects = sorted({line["subject"] for line in group})
    table = np.full((len(seeds), len(subjects)), np.nan)
    for line in group:
        table[seeds.index(line["seed"]), subjects.index(line["subject"])] = line["auroc"]
    return table


def tables(
    grid: Grid, rows: Sequence[Mapping[str, Any]], folder: Path
) -> tuple[dict[str, Any], list[Path]]:
    """Write scores.csv, summary.csv and table.md; return what `report` draws, and the paths."""
    lines = select_settings(rows)
    summary = summarise(lines)
    portraits = {
        json.dumps(row["cell"]["setting"]): {"model": row["cell"]["model"], **row["portrait"]}
        for row in rows
        if "portrait" in row
    }
    outcomes = {"lines": lines, "summary": summary, "portraits": portraits}
    written = [
        write_csv(folder / "scores.csv", lines),
        write_csv(folder / "summary.csv", summary),
        _write_markdown(folder / "table.md", summary),
    ]
    return (outcomes if lines else {}), written


def report(grid: Grid, outcomes: Mapping[str, Any], folder: Path) -> list[Path]:
    """Draw the paper's Figure 4, and its Figure 5 for the paper's and the guided pipeline."""
    # Imported here, so that workers start without Matplotlib.
    from graphdict.app.experiments.brain_figures import atoms_figure, scores_figure
    from graphdict.app.experiments.figures import save

    written = save(scores_figure(outcomes["lines"]), folder / "scores")
    for pipeline in ("paper", "guided"):
        portrait = _best_portrait(outcomes, pipeline)
        if portrait:
            written += save(atoms_figure(portrait), folder / f"atoms-{pipeline}")
    return written


def _best_portrait(outcomes: Mapping[str, Any], pipeline: str) -> dict[str, Any] | None:
    """Return what to draw of the setting that was chosen for the most subjects."""
    found = {
        json.dumps(_own_settings(json.loads(setting))): portrait
        for setting, portrait in outcomes["portraits"].items()
        if json.loads(setting)["pipeline"] == pipeline
    }
    votes = [
        line["setting"]
        for line in outcomes["lines"]
        if line["pipeline"] == pipeline and line["size"] == 3 and line["setting"] in found
    ]
    return found[max(votes, key=votes.count)] if votes else None


def _write_markdown(path: Path, summary: Sequence[Mapping[str, Any]]) -> Path:
    parts = []
    for start in sorted({line["start"] for line in summary}):
        since = "the cue" if start == 0 else f"{start:g} s after it"
        parts += [
            f"Events from {since}, mean AUROC (%) over held-out subjects, its standard error over "
            "subjects and seeds, the deviation of subjects, and the best setting on held-out "
            "subjects themselves:", "",
            "| pipeline | channels | model | size | seeds | AUROC | deviation | lowest | highest | "
            "best | features |",
            "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        ]  # fmt: skip
        for line in (x for x in summary if x["start"] == start):
            numbers = [100 * line[f"auroc_{name}"] for name in ("std", "min", "max", "best")]
            parts.append(
                f"| {line['pipeline']} | {line['channels']} | {line['model']} | {line['size']} | "
                f"{line['seeds']} | "
                f"{100 * line['auroc']:.1f} ± {100 * line['auroc_error']:.1f} | "
                + " | ".join(f"{value:.1f}" for value in numbers)
                + f" | {line['features'] if line['size'] != '' else ''} |"
            )
        parts.append("")
    write_atomically(path, "\n".join(parts))
    return path


def _own_settings(setting: Mapping[str, Any]) -> dict[str, Any]:
    """Return a setting without the keys that are columns of the table."""
    columns = ("pipeline", "start", "channels", "n_states", "phases")
    return {k: v for k, v in setting.items() if k not in columns}
