"""``graphdict fit``: fit a model to a file and write coefficients and a report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np

from graphdict.app.commands.checks import check_length, check_options
from graphdict.app.commands.console import EXIT_CODES, STOPPED, Console, command_errors
from graphdict.app.commands.flags import with_flags
from graphdict.app.commands.learning import Learned, learn
from graphdict.app.commands.models import MODELS, window_of
from graphdict.app.commands.options import (
    Command,
    execution_options,
    file_argument,
    group_option,
    output_options,
    reading_options,
    verbosity_options,
    with_options,
)
from graphdict.app.commands.outputs import check_free
from graphdict.app.commands.preprocessing import Scaling, attach_metadata
from graphdict.app.commands.reading import learn_scaling, read_recordings
from graphdict.app.commands.repeats import spread_repeats
from graphdict.app.commands.results import (
    about_input,
    describe_atoms,
    evidence_summary,
    signal_summary,
    stability_summary,
    summarise_atoms,
    write_results,
)
from graphdict.app.files import SignalTable
from graphdict.app.files.several import expand_paths
from graphdict.engine.tasks import subtask
from graphdict.selection.findings import describe_findings

CONFIDENT = 0.5  # from which on an edge counts


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
    value): CSV, TSV, Excel, Parquet, Feather, NPY, NPZ, Zarr, or a recording (EDF, BDF, FIF). The
    command prints what it finds in the file and how it handles missing values and units. It writes
    a folder with model.graphdict, coefficients.csv (a row for each sample), atoms.csv (the edges of
    each graph) and report.html, a page to explore them.

    Several files (or a folder, or a pattern in quotes) are recordings: one dictionary is learned
    from all, and nothing crosses the end of one. Nodes are matched by name. --group names the
    column of recordings of a single table. Of a BIDS folder, the EEG recordings are read, and
    recordings.csv says which subject, session, task and run each is.

    \b
    Examples:
      graphdict fit sensors.csv -k 4
      graphdict fit sensors.csv -k 4 --degree 3 --window 10min
      graphdict fit prices.csv -k auto --changes relative --time Date
      graphdict fit readings.csv --node station --value temperature -k 3
      graphdict fit recording.edf -k 6 --window 0.5s -o result --json
      graphdict fit large.parquet -k 5 --model log --memory 500MB
      graphdict fit subject*.edf -k 6 --window 0.5s -o study
      graphdict fit study.csv --group subject --time seconds -k 4
      graphdict fit bids-folder -k 4 --bads interpolate
    """,
)
@file_argument("files", metavar="FILE...", nargs=-1, required=True)
@with_options(
    click.option("-k", "--atoms", type=_Count(), default="auto",
                 help="Number of graphs. auto: chosen by the likelihood of held-out blocks of "
                 "time; one unless more are clearly better."),
    click.option("--active", type=_Count(), default="auto",
                 help="Largest number of graphs active at the same time (marginal); 1: exclusive "
                 "states."),
    click.option("--signed", is_flag=True,
                 help="Edges may be negative, between nodes that vary against one another "
                 "(marginal); one graph is active at a time."),
    click.option("--evidence/--no-evidence", default=True,
                 help="Compare with one graph on held-out blocks of time and on surrogate series, "
                 "and learn again from each half of the time."),
    click.option("--min-confidence", type=click.FloatRange(0, 1), metavar="SHARE",
                 help="Least confidence of an edge in tables and report. [default: 0.5, or 0 with "
                 "--degree, --density or --penalty]"),
    click.option("--model", type=click.Choice(list(MODELS)), default="marginal",
                 help="marginal: most accurate. log: soft coefficients, fast. For the others see "
                 "the documentation."),
    click.option("--degree", type=click.FloatRange(min=0, min_open=True), metavar="NUMBER",
                 help="Wanted number of neighbours of a node, averaged over the graphs."),
    click.option("--density", type=click.FloatRange(min=0, max=1, min_open=True), metavar="SHARE",
                 help="Wanted share of node pairs that are joined by an edge; instead of "
                 "--degree."),
    click.option("--penalty", type=click.FloatRange(min=0), metavar="NUMBER",
                 help="How strongly edges are penalised: the larger, the fewer edges (the setting "
                 "sparsity of marginal, which is 1 by default and 0 for all edges; alpha_w of the "
                 "others). Instead of --degree and --density."),
    click.option("--window", metavar="LENGTH",
                 help="Samples that share their graph: a count (20) or a time (0.5s, 200ms, "
                 "5min)."),
    click.option("--standardise", type=click.Choice(["auto", "yes", "centre", "no"]),
                 default="auto",
                 help="Standardise columns to mean 0 and standard deviation 1, or subtract their "
                 "means only. auto: standardise tables, but not recordings (EDF, BDF, FIF)."),
    click.option("--changes", type=click.Choice(["none", "difference", "relative"]), default="none",
                 help="Learn from changes between samples (prices: relative)."),
    click.option("--missing", type=click.Choice(["auto", "keep", "interpolate", "drop"]),
                 default="auto",
                 help="Missing values: keep them, interpolate them, or drop their rows. auto: keep "
                 "if the model accepts them, else interpolate."),
    click.option("--seed", type=click.IntRange(min=0), default=0, help="Random seed."),
    click.option("--max-iter", type=click.IntRange(min=1), help="Largest number of iterations."),
    click.option("--checkpoint", type=click.Path(path_type=Path), metavar="PATH",
                 help="Save the state of the fit here, and resume from it after an interruption."),
    click.option("--set", "settings", multiple=True, metavar="NAME=VALUE",
                 help="Any other setting of the model, by its name in Python: --set n_init=3, "
                 "--set prior=free; repeat for more. A wrong name lists all."),
    click.option("--table", "table_format", type=click.Choice(["csv", "parquet"]), default="csv",
                 help="Format of the tables."),
)  # fmt: skip
@execution_options
@output_options("the file's name with -graphdict")
@verbosity_options
@reading_options
@group_option
@command_errors
def fit(files: tuple[Path, ...], output: Path | None, force: bool, quiet: bool, as_json: bool,
        table_format: str, **options: Any) -> None:  # fmt: skip
    console = Console(quiet, as_json)
    check_options(options)
    paths = expand_paths(files)
    file = files[0] if len(files) == 1 else Path("recordings")
    folder = output or Path(f"{file.name.split('.')[0].strip('*?') or 'signals'}-graphdict")
    names = [
        "model.graphdict", f"coefficients.{table_format}", f"atoms.{table_format}", "report.html"
    ]  # fmt: skip
    if folder.exists() and not folder.is_dir():
        raise click.UsageError(f"-o {folder} is a file; name a folder")
    check_free([folder / name for name in names], force)
    with console.progress("Reading", 1) as whole:
        with subtask("Reading", cost=0):
            signals, scaling, values = _read(paths, options, console)
        learned = learn(signals, values, options, console, whole)
        model = learned.model
        with subtask("Writing", cost=0):
            least = _min_confidence(options)
            if (known := signals.recordings) is not None:
                console.result(f"{len(known)} recordings, {known.total:,} samples in all")
            model.feature_names_in_ = np.array(signals.names, dtype=object)  # for sentences
            said = _sentences(learned, signals, least, console.interrupted)
            about = {"source": file.name, "findings": said, "min_confidence": least}
            attach_metadata(model, signals, scaling, about)
            written = write_results(
                model, signals, folder, table_format=table_format, file=file, findings=said,
                min_confidence=least, force=force,
            )  # fmt: skip

    atoms = summarise_atoms(model, min_confidence=least)
    for sentence in said:
        console.result(sentence)
    _print_atoms(learned, atoms, options, console)
    for path in written:
        console.result(f"Wrote {path}")
    console.finish(
        {
            "command": "fit",
            "input": about_input(file, signals),
            "preprocessing": {"standardised": scaling.kind, "changes": scaling.changes},
            **_summary(learned, said, atoms),
            "stopped": console.interrupted,
            "files": [str(path) for path in written],
        }
    )
    if console.interrupted:
        click.get_current_context().exit(STOPPED)


def _read(
    paths: list[Path], options: dict[str, Any], console: Console
) -> tuple[SignalTable, Scaling, Any]:
    """Return the signals of all files, their scaling, and the values (T, N) to learn from."""
    signals = read_recordings(paths, options, console)
    scaling = learn_scaling(signals, options, console)
    recordings = signals.recordings
    longest = len(signals.values) if recordings is None else max(recordings.lengths)
    check_length(longest, window_of(options["window"], signals.step), options)
    values = scaling.apply(signals.values)
    if isinstance(values, np.ndarray) and not signals.recording:
        values, told = spread_repeats(signals, values)
        if told is not None:
            signals.notes.append(told)
            console.note(told)
    return signals, scaling, values


def _summary(learned: Learned, said: list[str], atoms: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the model and the result as JSON shows them."""
    model, found, again = learned.model, learned.choices.evidence, learned.stability
    return {
        "model": {
            "class": type(model).__name__, "settings": _settings(model),
            "chosen": learned.choices.settings,
        },
        "result": {
            "objective": float(model.objective_), "iterations": model.n_iter_,
            "seconds": learned.seconds,
            "findings": said, "atoms": atoms, "signals": signal_summary(model),
            "evidence": None if found is None else evidence_summary(found),
            "stability": None if again is None else stability_summary(again),
        },
    }  # fmt: skip


def _sentences(
    learned: Learned, signals: SignalTable, min_confidence: float, interrupted: bool
) -> list[str]:
    """Return what was found in sentences, the first of which says what Ctrl-C cut short, if so."""
    found = describe_findings(
        learned.model, evidence=learned.choices.evidence, stability=learned.stability,
        times=signals.times, step=signals.step, min_confidence=min_confidence,
    )  # fmt: skip
    said = [with_flags(sentence) for sentence in found]
    if learned.choices.remark is not None:
        said.insert(1, learned.choices.remark)
    if interrupted:
        said.insert(0, _stopped(learned.model, learned.complete))
    return said


def _print_atoms(
    learned: Learned, atoms: list[dict[str, Any]], options: dict[str, Any], console: Console
) -> None:
    """Print the table of atoms and how they were learned; warn where fewer would do."""
    model, found = learned.model, learned.choices.evidence
    describe_atoms(console, atoms)
    console.result(
        f"{type(model).__name__} learned {len(atoms)} atom{'s' * (len(atoms) != 1)} in "
        f"{learned.seconds:.1f} s: {model.n_iter_} iterations, objective {model.objective_:.6g}"
    )
    if found is not None and len(atoms) > 1 and not found.clear:
        console.warn(f"one graph explains the signals as well as {len(atoms)}: try -k 1")
    empty = ~np.any(model.atoms_, axis=1)
    idle = [str(a["atom"]) for a in atoms if empty[a["atom"] - 1] or a["samples"] < 1]
    if idle and options["model"] != "hier":
        named = ", ".join(idle[:10]) + " ..." * (len(idle) > 10)
        console.warn(f"no sample uses atom(s) {named}: use fewer atoms")


def _stopped(model: Any, complete: bool) -> str:
    """Return a sentence on what Ctrl-C cut short."""
    if complete:
        return "Stopped by Ctrl-C before it was learned again: what is reproducible is not known."
    return (
        f"Stopped by Ctrl-C after {model.n_iter_} iterations: what follows is what was learned by "
        "then, and may be far from the optimum."
    )


def _min_confidence(options: dict[str, Any]) -> float:
    """Return the least confidence of an edge that counts: 0 where the user asks for a density."""
    if options["min_confidence"] is not None:
        return float(options["min_confidence"])
    asked = any(options[name] is not None for name in ("degree", "density", "penalty"))
    return 0.0 if asked else CONFIDENT


def _settings(model: Any) -> dict[str, Any]:
    """Return the settings of a model that JSON can hold."""
    plain = (str, int, float, bool, type(None))
    return {name: value for name, value in model.get_params().items() if isinstance(value, plain)}
