"""The tables of README and docs, written from the results: each stands between two marks.

<!-- table NAME -->
...
<!-- end -->

python results/pages.py            # write them anew
python results/pages.py --check    # fail where a page says other than the results
"""

from __future__ import annotations

import argparse
import csv
import re
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import mean, stdev

ROOT = Path(__file__).parents[1]
PAGES = (
    "README.md", "docs/index.md", "docs/experiments.md", "docs/models.md", "docs/speed.md",
    "docs/brain.md", "docs/real.md",
)  # fmt: skip
MARKED = re.compile(r"(<!-- table (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)


def read(name: str) -> list[dict[str, str]]:
    """Return the lines of a CSV file."""
    return list(csv.DictReader((ROOT / name).read_text().splitlines()))


def table_of(name: str, which: int = 0) -> str:
    """Return one of the tables of a Markdown file, counted from zero."""
    found, lines = [], []
    for line in [*(ROOT / name).read_text().splitlines(), ""]:
        if line.startswith("|"):
            lines.append(line)
        elif lines:
            found.append("\n".join(lines))
            lines = []
    return found[which]


def front_edges() -> str:
    """Return the README's table of edge recovery."""
    columns = {
        "sums of up to 1 graph": ("superposition", "s1"),
        "3 graphs": ("superposition", "s3"),
        "5 graphs": ("superposition", "s5"),
        "evolving 32 x 20": ("time-varying", "emeg-32x20"),
        "evolving 512 x 1": ("time-varying", "emeg-512x1"),
    }
    ours = {
        "GraphDictMarginal": "`GraphDictMarginal`",
        "GraphDictLog": "`GraphDictLog`, the paper's best",
    }
    rows: dict[str, list[float]] = {name: [] for name in [*ours.values(), OTHERS]}
    for experiment, data in columns.values():
        lines = read(f"results/{experiment}/summary.csv")
        scores = {x["model"]: 100 * float(x["mcc"]) for x in lines if x["data"] == data}
        for model, name in ours.items():
            rows[name].append(scores.pop(model))
        rows[OTHERS].append(max(scores.values()))
    tops = [max(column) for column in zip(*rows.values())]
    body = [
        [name, *(f"**{x:.1f}**" if x == top else f"{x:.1f}" for x, top in zip(values, tops))]
        for name, values in rows.items()
    ]
    return markdown(["", *columns], body)


OTHERS = "best of the others (clusters, mixtures, windows, trees)"


SETS = {
    "returns": "returns of shares, 20",
    "temperature": "temperature of US states, 45",
    "brittany": "weather of Brittany, 37",
    "flights": "delays of flights, 30",
    "income": "income of US states, 48",
    "fmri": "fMRI at rest, 28",
    "eeg": "EEG at rest, 64",
    "eyes": "EEG: eyes open or closed, 64",
    "eyes-alpha": "the same, 7 to 14 Hz",
    "seasons": "temperature: winter or summer, 45",
    "imagery": "EEG: which fist is imagined, 21",
}


def front_real() -> str:
    """Return the README's table of measured signals: ours beside the best other on each set."""
    columns = {
        "nats": "held-out nats a sample, ahead by",
        "imputation": "error of hidden entries",
        "map": "edges: AUC",
        "states": "states: adjusted Rand; AUROC for fists",
    }
    cells: dict[str, dict[str, str]] = {}
    same = {"graphs": "map", "features": "states"}  # columns that measures share
    runs = [read(f"{run}/verdicts.csv") for run in REAL_RUNS if (ROOT / run).exists()]
    newest = {(line["measure"], line["data"]): line for run in runs for line in run}
    for line in newest.values():
        measure = same.get(line["measure"], line["measure"])
        if measure not in columns:
            continue
        ours, other = float(line["ours"]), float(line["best_other"])
        if measure == "nats":
            text = f"{float(line['ahead']):+.2f} ± {float(line['error']):.2f}"
        else:
            text = f"{ours:.2f} ({other:.2f})"
        bold = f"**{text}**" if line["verdict"] == "better" else text
        mark = " (behind)" if line["verdict"] == "worse" else ""
        name = line["data"].replace("netsim-", "simulated fMRI ")
        cells.setdefault(SETS.get(line["data"], name), {})[measure] = bold + mark
    body = [[name, *(found.get(m, "") for m in columns)] for name, found in cells.items()]
    return markdown(["set, number of signals", *columns.values()], body)


def front_speed() -> str:
    """Return the README's table of speed and memory."""
    lines = read("benchmarks/results/comparison.csv")

    def numbers(start: str, samples: str) -> list[str]:
        line = next(x for x in lines if x["what"].startswith(start) and x["samples"] == samples)
        return [f"{rounded(float(line[side]))} {line['unit']}" for side in ("peer", "graphdict")]

    rows = {
        "`GraphDictLog` to the objective of 1,000 of its iterations (2,500 x 30, 5 atoms)": (
            "GraphDictLog, to the objective", "2500",
        ),
        "coefficients of 100,000 new signals (64 nodes, 5 atoms)": ("transform", "100000"),
        "an iteration of its algorithm on 60,000 x 64, 3 atoms": (
            "GraphDictLog, BiPDS iteration, float64", "60000",
        ),
        "memory beyond the data there": ("peak memory", "60000"),
    }  # fmt: skip
    body = [[name, *numbers(*where)] for name, where in rows.items()]
    return markdown(["", "authors' package", "graphdict"], body)


def rounded(value: float) -> str:
    """Return a number with two digits that count, three from one hundred on."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}" if value >= 1 else f"{value:.2g}"


def brain() -> str:
    """Return the table of the brain experiment: one row for each pipeline and model."""
    lines = read("results/brain/summary.csv")
    starts = {"0": "from the cue", "1": "from 1 s after it"}
    groups: dict[tuple[str, str], dict[str, list[tuple[str, str]]]] = {}
    for line in lines:
        start = str(int(float(line["start"])))
        entry = f"{100 * float(line['auroc']):.1f} ± {100 * float(line['auroc_error']):.1f}"
        group = groups.setdefault((line["pipeline"], line["model"]), {})
        group.setdefault(start, []).append((line["size"], entry))
    body = []
    for (pipeline, model), found in groups.items():
        sizes = [size for size, _ in found["0"]]
        cells = []
        for start in starts:
            entries = dict(found.get(start, []))
            cells.append(" / ".join(entries.get(size, "-") for size in sizes) if entries else "")
        body.append([pipeline, model, " / ".join(filter(None, sizes)), *cells])
    return markdown(["pipeline", "model", "size", *starts.values()], body, text=3)


def brain_claim() -> str:
    """Return the paper's claim on the brain, as it comes out with every term of the paper."""
    body = [
        [
            x["model"], x["size"], x["seeds"], f"{100 * float(x['auroc']):.1f} ± "
            f"{100 * float(x['auroc_error']):.1f}", f"{100 * float(x['auroc_best']):.1f}",
            x["features"],
        ]
        for x in read("results/brain-paper/summary.csv")
        if x["pipeline"] == "paper"
    ]  # fmt: skip
    header = ["model", "size", "seeds", "AUROC", "best on held-out subjects", "features"]
    return markdown(header, body, text=1)


def brain_regions() -> str:
    """Return what each region of the head tells, from the cue and after its first second."""
    columns = [(start, region) for start in ("0", "1") for region in ("all", "eyes", "motor")]
    found: dict[tuple[str, str], dict[tuple[str, str], str]] = {}
    for x in read("results/brain-paper/summary.csv"):
        if x["pipeline"] in ("guided", "reference") and "chosen" not in x["model"]:
            name = x["model"] + (f", {x['size']} atoms" if x["pipeline"] == "guided" else "")
            entry = f"{100 * float(x['auroc']):.1f} ± {100 * float(x['auroc_error']):.1f}"
            place = str(int(float(x["start"]))), x["channels"]
            found.setdefault((x["pipeline"], name), {})[place] = entry
    body = [
        [name, *(each.get(place, "") for place in columns)] for (_, name), each in found.items()
    ]
    titles = [f"{'cue' if start == '0' else '1 s'}: {region}" for start, region in columns]
    return markdown(["", *titles], body)


def noise() -> str:
    """Return the scores of series with noise: mean and deviation over draws."""
    scores: dict[tuple[str, str], dict[str, list[float]]] = {}
    for x in read("results/noise/check.csv"):
        levels = scores.setdefault((x["data"], x["method"]), {})
        levels.setdefault(x["noise"], []).append(100 * float(x["mcc"]))
    body = [
        [
            f"{data.replace('x', ' x ').replace('-', ' ').upper().replace('X', 'x')}, {method}",
            *(f"{mean(each):.0f} ± {stdev(each):.0f}" for each in levels.values()),
        ]
        for (data, method), levels in scores.items()
    ]
    levels = [f"{float(level):f}".rstrip("0") for level in list(next(iter(scores.values())))[1:]]
    return markdown(["", "no noise", *levels], body)


def without_wall_time() -> str:
    """Return the table of seconds by CPU time: other work shared the machine."""
    lines = table_of("benchmarks/results/accuracy.md", 2).splitlines()
    return "\n".join(line.rstrip("|").rpartition("|")[0].rstrip() + " |" for line in lines)


def markdown(header: list[str], body: list[list[str]], text: int = 1) -> str:
    """Return a table whose first ``text`` columns are words."""
    rule = ["---"] * text + ["---:"] * (len(header) - text)
    lines = [header, rule, *body]
    return "\n".join(f"| {' | '.join(line)} |".replace("|  |", "| |") for line in lines)


REAL_RUNS = "results/real", "results/real-states"
NOT_RUN = "(not part of the last run)"
REAL = {
    "verdicts": "GraphDictMarginal beside", "nats": "Held-out nats",
    "imputation": "Error of hidden", "map": "Edges against the map: AUC",
    "map-precision": "Edges against the map: share",
    "states": "States against", "control": "The same where", "features": "Which fist",
    "graphs": "Edges against known networks: AUC",
    "graph-precision": "Edges against known networks: share",
}  # fmt: skip


def real(name: str) -> str:
    """Return a table of the experiment on measured signals; a remark where it was not run.

    Rows of ``results/real-states``, a later run of the sets with known states, come in the place of
    those of ``results/real``.
    """
    pattern = rf"^{re.escape(REAL[name])}[^\n]*:\n\n((?:\|[^\n]*\n)+)"
    found = [
        re.search(pattern, (ROOT / folder / "table.md").read_text(), re.MULTILINE)
        for folder in REAL_RUNS
        if (ROOT / folder).exists()
    ]
    lines = [match[1].splitlines() for match in found if match]
    if not lines:
        return NOT_RUN
    key = 2 if name == "verdicts" else 1
    newer = {tuple(line.split(" | ")[:key]): line for table in lines for line in table}
    return "\n".join(newer[tuple(line.split(" | ")[:key])] for line in lines[0])


def answers() -> str:
    """Return the table of the time to an answer."""
    name = "benchmarks/results/answers.md"
    return table_of(name) if (ROOT / name).exists() else NOT_RUN


TABLES: dict[str, Callable[[], str]] = {
    "front-edges": front_edges,
    "front-speed": front_speed,
    "superposition": lambda: table_of("results/superposition/table.md"),
    "time-varying": lambda: table_of("results/time-varying/table.md"),
    "superposition-paper": lambda: table_of("results/superposition-paper/table.md"),
    "time-varying-paper": lambda: table_of("results/time-varying-paper/table.md"),
    "comparison": lambda: table_of("benchmarks/results/comparison.md"),
    "bound": lambda: table_of("benchmarks/results/accuracy.md", 0),
    "atoms": lambda: table_of("benchmarks/results/accuracy.md", 1),
    "seconds": without_wall_time,
    "apart": lambda: table_of("benchmarks/results/accuracy.md", 3),
    "brain": brain,
    "brain-claim": brain_claim,
    "brain-regions": brain_regions,
    "noise": noise,
    "front-real": front_real,
    **{f"real-{name}": partial(real, name) for name in REAL},
    "answers": answers,
}


def renewed(page: str) -> str:
    """Return the text of a page with its tables as the results have them."""
    text = (ROOT / page).read_text()
    return MARKED.sub(lambda found: f"{found[1]}{TABLES[found[2]]()}\n{found[3]}", text)


def main() -> int:
    """Write the pages, or check them; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing, fail if stale")
    check = parser.parse_args().check
    stale = []
    for page in PAGES:
        text = renewed(page)
        if text != (ROOT / page).read_text():
            stale.append(page)
            if not check:
                (ROOT / page).write_text(text)
    for page in stale:
        print(f"{page}: {'stale' if check else 'written'}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
