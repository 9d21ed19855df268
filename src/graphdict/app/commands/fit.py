"""``graphdict fit``: fit a model to a file and write coefficients and a report."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from graphdict.app.commands.choose import choose_counts, choose_degree
from graphdict.app.commands.console import EXIT_CODES, Console, command_errors
from graphdict.app.commands.execution import open_signals
from graphdict.app.commands.models import (
    MODELS,
    accepts_missing,
    build_model,
    model_class,
    reads_in_parts,
    window_of,
)
from graphdict.app.commands.options import (
    Command,
    execution_options,
    file_argument,
    output_options,
    read_file,
    reading_options,
    verbosity_options,
)
from graphdict.app.commands.outputs import check_free
from graphdict.app.commands.preprocessing import (
    Scaling,
    attach_metadata,
    difference,
    drifts,
    handle_missing,
    subsample,
)
from graphdict.app.commands.progress_bar import ProgressBar
from graphdict.app.commands.results import (
    about_input,
    describe_atoms,
    signal_summary,
    summarise_atoms,
    write_results,
)
from graphdict.app.files import SignalTable

__all__ = ["fit"]


class _Count(click.ParamType):
    """A whole number from 1, or "auto"."""

    name = "N|auto"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if value == "auto" or isinstance(value, int):
            return value
        if not str(value).isdecimal() or int(value) < 1:
            self.fail(f"expected a whole number from 1, or auto, got {value!r}", param, ctx)
        return int(value)


@click.command(
    cls=Command,
    epilog=EXIT_CODES,
    help="""Learn graphs from a table of signals, and write a report.

    FILE has a row for each sample and a column for each node (or, in long format, a row for each
    value): CSV, TSV, Parquet, NPY, NPZ, Zarr, EDF or FIF. The command prints what it finds in the
    file and how it handles missing values and units. It writes a folder with model.graphdict,
    coefficients.csv (a row for each sample), atoms.csv (the edges of each graph) and report.html,
    a page to explore them.

    \b
    Examples:
      graphdict fit sensors.csv -k 4
      graphdict fit sensors.csv -k 4 --degree 3 --window 10min
      graphdict fit prices.csv -k auto --changes relative --time Date
      graphdict fit readings.csv --node station --value temperature -k 3
      graphdict fit recording.edf -k 6 --window 0.5s -o result --json
      graphdict fit large.parquet -k 5 --model log --memory 500MB
    """,
)
@file_argument("file", metavar="FILE")
@click.option(
    "-k",
    "--atoms",
    type=_Count(),
    default="auto",
    show_default=True,
    help="Number of graphs. auto: chosen by the likelihood of held-out signals.",
)
@click.option(
    "--active",
    type=_Count(),
    default="auto",
    show_default=True,
    help="Largest number of graphs active at the same time (marginal); 1: exclusive states.",
)
@click.option(
    "--model",
    type=click.Choice(list(MODELS)),
    default="marginal",
    show_default=True,
    help="marginal: most accurate. log: soft coefficients, fast. spectral, exact, hier: "
    "see the documentation.",
)
@click.option(
    "--degree",
    type=click.FloatRange(min=0, min_open=True),
    metavar="NUMBER",
    help="Wanted number of neighbours of a node, averaged over the graphs.",
)
@click.option(
    "--density",
    type=click.FloatRange(min=0, max=1, min_open=True),
    metavar="SHARE",
    help="Wanted share of node pairs that are joined by an edge; instead of --degree.",
)
@click.option(
    "--penalty",
    type=click.FloatRange(min=0),
    metavar="NUMBER",
    help="Penalty on edges: sparsity (marginal) or alpha_w (others); instead of --degree.",
)
@click.option(
    "--window",
    metavar="LENGTH",
    help="Samples that share their graph: a count (20) or a time (0.5s, 200ms, 5min).",
)
@click.option(
    "--standardise",
    type=click.Choice(["auto", "yes", "centre", "no"]),
    default="auto",
    show_default=True,
    help="Standardise columns to mean 0 and standard deviation 1. auto: if units differ, or "
    "standard deviations by more than a factor of 10; otherwise at most subtract the means.",
)
@click.option(
    "--changes",
    type=click.Choice(["none", "difference", "relative"]),
    default="none",
    show_default=True,
    help="Learn from changes between samples (prices: relative).",
)
@click.option(
    "--missing",
    type=click.Choice(["auto", "keep", "interpolate", "drop"]),
    default="auto",
    show_default=True,
    help="Missing values: keep them, interpolate them, or drop their rows. auto: keep if the "
    "model accepts them, else interpolate.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Random seed.",
)
@click.option("--max-iter", type=click.IntRange(min=1), help="Largest number of iterations.")
@click.option(
    "--checkpoint",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Save the state of the fit here, and resume from it after an interruption.",
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="Any other setting of the model; repeat for more.",
)
@click.option(
    "--table",
    "table_format",
    type=click.Choice(["csv", "parquet"]),
    default="csv",
    show_default=True,
    help="Format of the tables.",
)
@execution_options
@output_options("the file's name with -graphdict")
@verbosity_options
@reading_options
@command_errors
def fit(file: Path, output: Path | None, force: bool, quiet: bool, as_json: bool,
        table_format: str, **options: Any) -> None:  # fmt: skip
    console = Console(quiet, as_json)
    _check(options)
    folder = output or Path(f"{file.name.split('.')[0] or 'signals'}-graphdict")
    names = [
        "model.graphdict", f"coefficients.{table_format}", f"atoms.{table_format}", "report.html"
    ]  # fmt: skip
    if folder.exists() and not folder.is_dir():
        raise click.UsageError(f"-o {folder} is a file; name a folder")
    check_free([folder / name for name in names], force)
    in_parts = reads_in_parts(model_class(options["model"]), options["memory"], options["dask"])
    signals = read_file(file, options, console, in_parts)
    scaling = _prepare(signals, options, console)
    values = scaling.apply(signals.values)
    with open_signals(values, options["dask"], console) as X:
        chosen = choose_counts(signals, subsample(values), options, console)
        model = build_model(signals, options, console)
        if options["degree"] is not None or options["density"] is not None:
            chosen["penalty"] = choose_degree(model, subsample(values), options, console)
        seconds, objective = _learn(model, X, console)
    attach_metadata(model, signals, scaling, {"source": file.name})
    written = write_results(model, signals, folder, table_format, file)

    atoms = summarise_atoms(model)
    title = type(model).__name__
    console.result(
        f"{title} learned {len(atoms)} atom{'s' * (len(atoms) != 1)} in {seconds:.1f} s: "
        f"{model.n_iter_} iterations, objective {objective:.6g}"
    )
    signals_learned = signal_summary(model)
    for sentence in signals_learned["in_words"]:
        console.result(sentence)
    describe_atoms(console, atoms)
    idle = [str(atom["atom"]) for atom in atoms if not atom["edges"] or atom["samples"] < 1]
    if idle and options["model"] != "hier":
        named = ", ".join(idle[:10]) + " ..." * (len(idle) > 10)
        console.warn(f"no sample uses atom(s) {named}: use fewer atoms")
    if pairs := getattr(model, "alike_atoms_", []):
        named = ", ".join(f"{a + 1} and {b + 1}" for a, b in pairs[:5])
        console.warn(f"atoms {named} are the same graph but for its strength: use fewer atoms")
    for path in written:
        console.result(f"Wrote {path}")
    console.finish(
        {
            "command": "fit",
            "input": about_input(file, signals),
            "model": {"class": title, "settings": _settings(model), "chosen": chosen},
            "result": {
                "objective": objective, "iterations": model.n_iter_, "seconds": seconds,
                "atoms": atoms, "signals": signals_learned,
            },
            "files": [str(path) for path in written],
        }
    )  # fmt: skip


def _check(options: dict[str, Any]) -> None:
    """Raise UsageError for options that exclude each other."""
    given = [n for n in ("degree", "density", "penalty") if options[n] is not None]
    if len(given) > 1:
        raise click.UsageError(f"give one of --degree, --density and --penalty, not {len(given)}")
    window_of(options["window"], 1e-12)  # raises for text that is no window
    if options["atoms"] == "auto" and options["model"] != "marginal":
        raise click.UsageError(
            f"-k auto needs --model marginal: {options['model']} fits coefficients to the samples "
            "it scores; give the number of atoms with -k"
        )


def _prepare(signals: SignalTable, options: dict[str, Any], console: Console) -> Scaling:
    """Preprocess the signals in place, print notes on it, and return their scaling."""
    printed = len(signals.notes)
    difference(signals, options["changes"])
    how, accepts = options["missing"], accepts_missing(model_class(options["model"])())
    if how == "auto":
        how = "keep" if accepts else "interpolate"
    elif how == "keep" and signals.missing and not accepts:
        raise click.UsageError(
            f"--model {options['model']} accepts no missing values; use --missing interpolate or "
            "drop"
        )
    if done := handle_missing(signals, how):
        signals.notes.append(done)
    scaling, note = Scaling.learn(signals, options["standardise"], options["changes"])
    signals.notes.append(note)
    if options["changes"] == "none" and drifts(signals.values):
        signals.notes.append(
            "columns drift slowly, as prices and totals do, and edges then join what drifts "
            "together; --changes relative (or difference) learns from changes instead"
        )
    for note in signals.notes[printed:]:
        console.note(note)
    return scaling


def _learn(model: Any, values: Any, console: Console) -> tuple[float, float]:
    """Fit with a progress bar; return the seconds it took, and the objective."""
    known = model.get_params()
    path = known.get("checkpoint")
    if path is not None and Path(path).exists():
        console.say(f"Resuming from the checkpoint {path} ...")
    started = time.perf_counter()
    limit = known["max_iter"] * (2 if "sparsity" in known else 1) + 3 * known.get("average", 0) // 2
    with console.warnings_as_lines(), ProgressBar("Learning", limit, not console.quiet) as bar:
        if "callback" in known:
            model.set_params(callback=bar)
        model.fit(values)
    if "callback" in known:
        model.set_params(callback=None)
    return time.perf_counter() - started, float(model.objective_)


def _settings(model: Any) -> dict[str, Any]:
    """Return the settings of a model that JSON can hold."""
    plain = (str, int, float, bool, type(None))
    return {name: value for name, value in model.get_params().items() if isinstance(value, plain)}
