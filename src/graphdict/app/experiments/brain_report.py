"""Tables and figures of the brain experiment."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from graphdict.app.experiments.grids import Grid
from graphdict.app.experiments.tables import write_csv
from graphdict.engine.storage.atomic import write_atomically

__all__ = ["report", "select_settings", "summarise", "tables"]

PIPELINES = {"paper": "Paper", "adapted": "Adapted", "guided": "Guided", "reference": "Reference"}


def select_settings(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return a line for each pipeline, model, size and held-out subject.

    Of several settings, the one with the best score on the other subjects is taken.
    """
    groups: dict[tuple, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        if row["status"] == "done":
            setting = row["cell"]["setting"]
            size = setting.get("n_states", setting.get("phases"))
            key = setting["pipeline"], setting["start"], row["cell"]["model"], size
            groups[key].append(row)
    lines = []
    for (pipeline, start, model, size), tried in groups.items():
        for subject in tried[0]["held_out"]:
            best = tried[0]
            if len(tried) > 1:
                best = max(tried, key=lambda row: row["training"][subject])
            lines.append(
                {
                    "pipeline": pipeline, "start": start, "model": model, "size": size,
                    "subject": int(subject), "auroc": best["held_out"][subject],
                    "auroc_forest": best.get("forest", {}).get(subject, ""),
                    "auroc_training": best.get("training", {}).get(subject, ""),
                    "features": best["features"], "settings_tried": len(tried),
                    "setting": json.dumps(_own_settings(best["cell"]["setting"])),
                }
            )  # fmt: skip
    return [*lines, *_best_guided(lines)]


def _best_guided(lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return lines of the guided dictionaries with model and size chosen on the other subjects."""
    found: dict[tuple, list[dict[str, Any]]] = defaultdict(list)
    for line in lines:
        if line["pipeline"] == "guided" and line["model"].startswith("GraphDict"):
            found[line["start"], line["subject"]].append(line)
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
    """Return mean, deviation and range over held-out subjects by pipeline, model and size."""
    groups: dict[tuple, list[Mapping[str, Any]]] = defaultdict(list)
    for line in lines:
        groups[line["pipeline"], line["start"], line["model"], line["size"]].append(line)
    summary = []
    for (pipeline, start, model, size), group in groups.items():
        values = np.array([line["auroc"] for line in group])
        forests = [line["auroc_forest"] for line in group if line["auroc_forest"] != ""]
        summary.append(
            {
                "pipeline": pipeline, "start": start, "model": model, "size": size,
                "subjects": len(values), "auroc": float(values.mean()),
                "auroc_std": float(values.std(ddof=1)) if len(values) > 1 else 0.0,
                "auroc_median": float(np.median(values)), "auroc_min": float(values.min()),
                "auroc_max": float(values.max()),
                "auroc_forest": float(np.mean(forests)) if forests else "",
                "features": group[0]["features"],
            }
        )  # fmt: skip
    order = list(PIPELINES)
    return sorted(summary, key=lambda x: (x["start"], order.index(x["pipeline"]), x["model"]))


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
            f"Events from {since}, mean AUROC (%) over held-out subjects and its deviation:", "",
            "| pipeline | model | size | AUROC | median | lowest | highest | features |",
            "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
        ]  # fmt: skip
        for line in (x for x in summary if x["start"] == start):
            numbers = [100 * line[f"auroc_{name}"] for name in ("median", "min", "max")]
            parts.append(
                f"| {line['pipeline']} | {line['model']} | {line['size']} | "
                f"{100 * line['auroc']:.1f} ± {100 * line['auroc_std']:.1f} | "
                + " | ".join(f"{value:.1f}" for value in numbers)
                + f" | {line['features'] if line['size'] != '' else ''} |"
            )
        parts.append("")
    write_atomically(path, "\n".join(parts))
    return path


def _own_settings(setting: Mapping[str, Any]) -> dict[str, Any]:
    """Return a setting without the keys that are columns of the table."""
    columns = ("pipeline", "start", "n_states", "phases")
    return {k: v for k, v in setting.items() if k not in columns}
