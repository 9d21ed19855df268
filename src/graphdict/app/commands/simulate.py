"""``graphdict simulate``: write simulated signals and their true graphs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np

from graphdict.app.commands.console import EXIT_CODES, Console, command_errors
from graphdict.app.commands.options import Command, output_options, verbosity_options, with_options
from graphdict.app.commands.outputs import check_free, results_in
from graphdict.app.files import write_table


@click.command(
    cls=Command,
    epilog=EXIT_CODES,
    help="""Write simulated signals and their true graphs.

    PROCESS is superposition (sums of a few graphs), switching (states that last and return) or
    evolving (edges appear and disappear). The true graphs (-atoms.csv) and the true coefficients
    (-coefficients.csv) are written next to the signals.

    \b
    Examples:
      graphdict simulate -o signals.csv
      graphdict simulate switching --nodes 20 --samples 5000 --seed 3 -o signals.parquet
    """,
)
@click.argument("process", type=click.Choice(["superposition", "switching", "evolving"]),
                default="superposition")  # fmt: skip
@with_options(
    click.option("-k", "--atoms", type=click.IntRange(1, 1000), default=3,
                 help="Number of graphs (evolving: number of steps)."),
    click.option("--nodes", type=click.IntRange(2, 2000), default=14),
    click.option("--samples", type=click.IntRange(2), default=2000),
    click.option("--duration", type=click.IntRange(1), default=20,
                 help="Number of consecutive samples with the same graph."),
    click.option("--active", type=click.IntRange(1), default=2,
                 help="Largest number of graphs in a sum (superposition)."),
    click.option("--rate", type=click.FloatRange(min=0, min_open=True), default=1.0,
                 help="Samples per second, for the time column."),
    click.option("--missing", type=click.FloatRange(0, 0.9), default=0.0,
                 help="Share of missing values."),
    click.option("--seed", type=click.IntRange(min=0), default=0, help="Random seed."),
)  # fmt: skip
@output_options("signals.csv; .tsv and .parquet are written too")
@verbosity_options
@command_errors
def simulate(process: str, output: Path | None, force: bool, quiet: bool, as_json: bool,
             **options: Any) -> None:  # fmt: skip
    console = Console(quiet, as_json)
    target = output or Path("signals.csv")
    if target.suffix not in (".csv", ".tsv", ".parquet"):
        raise click.UsageError(f"-o {target} must end in .csv, .tsv or .parquet")
    parts = ("", "-atoms", "-coefficients")
    paths = [target.with_name(f"{target.stem}{part}{target.suffix}") for part in parts]
    check_free(paths, force)
    signals, atoms, coefficients = _draw(process, options)
    rows, nodes = signals.shape
    if options["missing"]:
        rng = np.random.default_rng([options["seed"], 1])
        signals = np.where(rng.random(signals.shape) < options["missing"], np.nan, signals)
    times = np.arange(rows) / options["rate"]
    names = [f"n{i + 1:0{len(str(nodes))}d}" for i in range(nodes)]
    first, second = np.triu_indices(nodes, 1)
    atom, edge = np.nonzero(atoms)
    labels = np.array(names, dtype=object)
    target.parent.mkdir(parents=True, exist_ok=True)
    with results_in(target.parent, force) as folder:
        write_table(
            folder / paths[0].name, {"time (s)": times, **dict(zip(names, signals.T))}, digits=8
        )
        write_table(
            folder / paths[1].name,
            {"atom": atom + 1, "source": labels[first[edge]], "target": labels[second[edge]],
             "weight": atoms[atom, edge]},
        )  # fmt: skip
        columns = {f"atom_{k + 1}": column for k, column in enumerate(coefficients.T)}
        write_table(folder / paths[2].name, {"time (s)": times, **columns})
    for path in paths:
        console.result(f"Wrote {path}")
    console.finish(
        {"command": "simulate", "process": process, "samples": rows, "nodes": nodes,
         "atoms": len(atoms), "files": [str(path) for path in paths]}
    )  # fmt: skip


def _draw(process: str, options: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Return signals (T, N), atoms (K, E) and coefficients (T, K)."""
    from graphdict.datasets import make_emeg, make_sbg, make_superposition

    count, nodes, rows = options["atoms"], options["nodes"], options["samples"]
    duration, seed = options["duration"], options["seed"]
    edge_probability = min(1.0, max(0.2, 3 / nodes))
    if process == "superposition":
        drawn: Any = make_superposition(
            count, nodes, edge_probability, min(options["active"], count), rows, 0,
            samples_per_graph=duration, random_state=seed,
        ).train  # fmt: skip
    elif process == "switching":
        steps = -(-rows // duration)
        drawn = make_sbg(
            steps, duration, count, nodes, edge_probability, p_stay=0.9, random_state=seed
        )
    else:
        each = -(-rows // count)
        drawn = make_emeg(count, each, nodes, edge_probability, 0.02, 0.1, random_state=seed)
    return drawn.signals[:rows], drawn.atoms, drawn.coefficients[:rows]
