"""Tables of the experiment: every score, one table for each measure, and where ours stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from graphdict.app.experiments.grids import Grid
from graphdict.app.experiments.real.selection import HIGHER, OURS, Scores, compare, gather
from graphdict.app.experiments.tables import write_csv
from graphdict.engine.storage.atomic import write_atomically

HEADINGS = {
    "nats": "Held-out nats a sample, relative to ours (negative: ours is better)",
    "imputation": "Error of hidden entries, in standard deviations of their node",
    "map": "Edges against the map: AUC",
    "map precision": "Edges against the map: share of true ones among as many strongest",
    "states": "States against known states: adjusted Rand index",
    "control": "The same where nothing should be found",
    "features": "Which fist is imagined: AUROC of held-out runs",
    "graphs": "Edges against known networks: AUC",
    "graph precision": "Edges against known networks: share of true ones among as many strongest",
}


def tables(
    grid: Grid, rows: Sequence[Mapping[str, Any]], folder: Path
) -> tuple[dict[str, Any], list[Path]]:
    """Write scores.csv, verdicts.csv and table.md; return what `report` draws, and the paths."""
    scores = _merged(gather(rows))
    found = verdicts(scores)
    lines = [
        {
            "measure": s.measure, "data": s.data, "model": s.model, "mean": s.mean,
            "error": s.error, "count": len(s.values), "settings_tried": s.tried,
            "cpu_seconds": float(np.mean(s.cpu)),
            "megabytes": float(np.mean(s.megabytes)) if s.megabytes else "",
        }
        for s in scores
    ]  # fmt: skip
    written = [
        write_csv(folder / "scores.csv", lines),
        write_csv(folder / "verdicts.csv", found),
    ]
    text = "\n".join([_verdict_table(found), *(_table(scores, name) for name in HIGHER)])
    write_atomically(folder / "table.md", text)
    written.append(folder / "table.md")
    outcomes = {"scores": scores, "rows": list(rows), "verdicts": found}
    return (outcomes if scores else {}), written


def report(grid: Grid, outcomes: Mapping[str, Any], folder: Path) -> list[Path]:
    """Draw nats by method, states in time and graphs on the map."""
    # Imported here, so that workers start without Matplotlib.
    from graphdict.app.experiments.figures import save
    from graphdict.app.experiments.real import figures

    drawn = {
        "nats": figures.nats(outcomes["scores"]),
        "states": figures.states_in_time(outcomes["rows"]),
        "map": figures.graphs_on_the_map(outcomes["rows"], *grid.draw.args[:1]),  # type: ignore[attr-defined]
    }
    written: list[Path] = []
    for name, figure in drawn.items():
        if figure is not None:
            written += save(figure, folder / name)
    return written


def _merged(scores: list[Scores]) -> list[Scores]:
    """Return the scores with all EEG recordings as one set, whose units are recordings."""
    kept: dict[tuple[str, str, str], Scores] = {}
    for s in scores:
        if not s.data.startswith("eeg-"):
            kept[s.measure, s.data, s.model] = s
            continue
        whole = kept.setdefault((s.measure, "eeg", s.model), Scores(s.measure, "eeg", s.model))
        whole.values += s.values
        whole.units += [f"{s.data}/{unit}" for unit in s.units]
        whole.cpu += s.cpu
        whole.megabytes += s.megabytes
        whole.tried = s.tried
    return list(kept.values())


def verdicts(scores: Sequence[Scores]) -> list[dict[str, Any]]:
    """Return, for each measure and set, ours beside the best other method.

    ``ahead`` is by how much ours is better, ``error`` its standard error over blocks or subjects;
    "equal" is within one of them.
    """
    lines = []
    for measure in HIGHER:
        for data in dict.fromkeys(s.data for s in scores if s.measure == measure):
            group = {s.model: s for s in scores if s.measure == measure and s.data == data}
            ours = group.pop(OURS, None)
            if ours is None or not group or measure == "control":
                continue
            sign = 1 if HIGHER[measure] else -1
            best = max(group.values(), key=lambda s: sign * s.mean)
            ahead, error = compare(ours, best)
            if np.isnan(error):
                verdict = "better" if ahead > 0 else "worse" if ahead < 0 else "equal"
            else:
                verdict = "equal" if abs(ahead) <= error else "better" if ahead > 0 else "worse"
            lines.append(
                {
                    "measure": measure, "data": data, "ours": ours.mean, "best_other": best.mean,
                    "other": best.model, "ahead": ahead, "error": error, "verdict": verdict,
                    "cpu_ours": float(np.mean(ours.cpu)), "cpu_other": float(np.mean(best.cpu)),
                }
            )  # fmt: skip
    return lines


def _verdict_table(found: Sequence[Mapping[str, Any]]) -> str:
    lines = [
        f"{OURS} beside the best other method of each row:", "",
        "| measure | set | ours | best other | by | ours ahead by | |",
        "| --- | --- | ---: | ---: | --- | ---: | --- |",
    ]  # fmt: skip
    for x in found:
        error = "" if np.isnan(x["error"]) else f" ± {x['error']:.3f}"
        lines.append(
            f"| {x['measure']} | {x['data']} | {x['ours']:.3f} | {x['best_other']:.3f} | "
            f"{x['other']} | {x['ahead']:+.3f}{error} | {x['verdict']} |"
        )
    return "\n".join([*lines, ""])


def _table(scores: Sequence[Scores], measure: str) -> str:
    """Return one table: a row for each set, a column for each method, the best in bold."""
    chosen = [s for s in scores if s.measure == measure]
    if not chosen:
        return ""
    models = list(dict.fromkeys(s.model for s in chosen))
    lines = [f"{HEADINGS[measure]}:", "", f"| | {' | '.join(models)} |"]
    lines.append("| --- |" + " ---: |" * len(models))
    for data in dict.fromkeys(s.data for s in chosen):
        group = {s.model: s for s in chosen if s.data == data}
        sign = 1 if HIGHER[measure] else -1
        top = max(group.values(), key=lambda s: sign * s.mean)
        entries = []
        for model in models:
            s = group.get(model)
            entries.append("" if s is None else _entry(s, group, top))
        count = len(top.values)
        lines.append(f"| {data} ({count}) | {' | '.join(entries)} |")
    return "\n".join([*lines, ""])


def _entry(s: Scores, group: Mapping[str, Scores], top: Scores) -> str:
    """Return mean and error; bold for the best and those within one paired error of it."""
    if s.measure == "nats" and OURS in group:
        ahead, error = compare(group[OURS], s)
        text = f"{s.mean:.2f}" if s.model == OURS else f"{-ahead:+.2f}"
        error = s.error if s.model == OURS else error
    else:
        text, error = f"{s.mean:.3f}", s.error
    if not np.isnan(error):
        text += f" ± {error:.2f}" if s.measure == "nats" else f" ± {error:.3f}"
    behind, deviation = compare(top, s)
    near = s is top or (not np.isnan(deviation) and behind <= deviation)
    return f"**{text}**" if near and s.measure != "control" else text
