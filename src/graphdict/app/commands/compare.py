"""``graphdict compare``: statistics of recordings, and tests between groups and conditions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np

from graphdict.app.commands.console import EXIT_CODES, Console, command_errors
from graphdict.app.commands.options import (
    Command,
    file_argument,
    output_options,
    verbosity_options,
    with_options,
)
from graphdict.app.commands.outputs import check_free, results_in
from graphdict.app.commands.recording_tables import (
    RecordingTable,
    read_activations,
    read_recording_table,
    written_table,
)
from graphdict.app.files import write_table

FILES = ("statistics.csv", "tests.csv", "effects.png")


@click.command(
    cls=Command,
    epilog=EXIT_CODES,
    help="""Measure activations of recordings, and test what differs between them.

    SOURCE is the folder of a fit to several recordings, a table of coefficients with a column
    "recording", or a table of coefficients for each recording, as `graphdict transform` writes
    them. Writes occupancy, lifetimes, intervals, switching and transitions of each recording. With
    --table, recordings are compared: between groups, between conditions of the same subjects, or on
    a covariate, by permutations that keep the recordings of a subject together. A fit to a BIDS
    folder, or to a table with --group, has written that table (recordings.csv) itself.

    \b
    Examples:
      graphdict compare study-graphdict
      graphdict compare study-graphdict --table subjects.csv --group diagnosis
      graphdict compare study-graphdict --table runs.csv --condition eyes --subject subject
      graphdict compare bids-graphdict --condition task --subject subject
      graphdict compare *-coefficients.csv --table runs.csv --covariate age --measure lifetime
    """,
)
@file_argument("sources", metavar="SOURCE...", nargs=-1, required=True)
@with_options(
    click.option("--table", "table_file", type=click.Path(path_type=Path), metavar="FILE",
                 help='Table with a row for each recording, named in its column "recording" or its '
                 "first one."),
    click.option("--group", metavar="COLUMN", help="Groups of subjects to compare."),
    click.option("--condition", metavar="COLUMN",
                 help="Conditions to compare within subjects (needs --subject)."),
    click.option("--covariate", metavar="COLUMN", help="Numbers to regress on."),
    click.option("--subject", metavar="COLUMN",
                 help="Subjects; recordings of one subject are not independent."),
    click.option("--measure", "measures", multiple=True, metavar="NAME",
                 help="occupancy, occurrences, lifetime, interval, mean_coefficient, "
                 "switching_rate or transitions; repeatable  [default: occupancy]"),
    click.option("--rate", type=click.FloatRange(min=0, min_open=True), metavar="HZ",
                 help="Samples per second  [default: by the column of times]"),
    click.option("--threshold", type=click.FloatRange(0, 1), metavar="NUMBER",
                 help="Least coefficient of an active atom  [default: only the largest is active]"),
    click.option("--permutations", type=click.IntRange(min=1), default=4999,
                 help="Number of random permutations; all are enumerated where there are fewer."),
    click.option("--seed", type=click.IntRange(min=0), default=0, help="Random seed."),
)  # fmt: skip
@output_options("comparison, a folder")
@verbosity_options
@command_errors
def compare(sources: tuple[Path, ...], table_file: Path | None, output: Path | None, force: bool,
            quiet: bool, as_json: bool, **options: Any) -> None:  # fmt: skip
    from graphdict.studies import activation_statistics

    console = Console(quiet, as_json)
    asked = {name: options[name] for name in ("group", "condition", "covariate") if options[name]}
    if asked and table_file is None:
        table_file = written_table(sources)
        if table_file is None:
            raise click.UsageError(
                f"--{next(iter(asked))} names a column of --table FILE: give both"
            )
    if table_file is not None and not asked:
        raise click.UsageError("--table needs --group, --condition or --covariate COLUMN")
    if options["condition"] and not options["subject"]:
        raise click.UsageError("--condition needs --subject COLUMN: conditions are of one subject")
    folder = output or Path("comparison")
    check_free([folder / name for name in FILES], force)
    activations = read_activations(sources)
    rate = options["rate"] or activations.rate
    if rate is None:
        console.note(
            "times are in samples, since there is no common sampling rate: give it with --rate"
        )
    found = activation_statistics(
        activations.coefficients, rate or 1.0, activity=activations.activity(options["threshold"])
    )
    console.say(f"{len(found.recordings)} recordings, {len(found.atoms)} atoms")
    measures = list(options["measures"]) or ["occupancy"]
    found.columns(measures)  # names that are not known are told before anything is tested
    tests: dict[str, Any] = {}
    if table_file is not None:
        table = read_recording_table(table_file, found.recordings)
        for note in table.notes:
            console.note(note)
        for kind, column in asked.items():
            tests[f"{kind} {column}"] = _test(
                kind, column, table, found, measures, options, console
            )
    with results_in(folder, force) as made:
        _write(made, found, tests)
        files = sorted(path.name for path in made.iterdir())
    for comparison in tests.values():
        console.result(comparison.in_words())
    console.result(f"Wrote {', '.join(str(folder / name) for name in files)}")
    console.finish(
        {
            "command": "compare",
            "recordings": found.recordings,
            "samples_per_second": rate,
            "statistics": {
                **found.measures,
                "switching_rate": found.switching_rate,
            },
            "tests": [_summary(name, comparison) for name, comparison in tests.items()],
            "files": [str(folder / name) for name in files],
        }
    )


def _test(
    kind: str,
    column: str,
    table: RecordingTable,
    found: Any,
    measures: list[str],
    options: dict[str, Any],
    console: Console,
) -> Any:
    """Return one comparison, on the recordings that have what it needs."""
    from graphdict import studies

    settings = {"n_permutations": options["permutations"], "random_state": options["seed"]}
    names = [column, *([options["subject"]] if options["subject"] else [])]
    rows, left_out = table.complete(names)
    if left_out:
        told = ", ".join(left_out[:5]) + (" ..." if len(left_out) > 5 else "")
        console.note(f"left out {len(left_out)} recording(s) without {' or '.join(names)}: {told}")
    values, columns = found.columns(measures)
    frame = table.frame_of(values, columns, rows)
    labels = table.values(column)[rows]
    subjects: Any = table.values(options["subject"])[rows] if options["subject"] else None
    if kind == "condition":
        result = studies.compare_conditions(frame, labels, subjects, **settings)
    elif kind == "group":
        result = studies.compare_groups(frame, labels, subjects=subjects, **settings)
    else:
        result = studies.regress_on(
            frame, table.numbers(column)[rows], subjects=subjects, **settings
        )
    return result.with_columns(columns)


def _summary(name: str, comparison: Any) -> dict[str, Any]:
    """Return a comparison for JSON."""
    rows = comparison.to_pandas().to_dict("records")
    return {
        "test": name, "question": comparison.question, "in_words": comparison.in_words(),
        "permutations": comparison.n_permutations, "exact": comparison.exact,
        "size": comparison.size_name, "rows": rows,
    }  # fmt: skip


def _write(folder: Path, found: Any, tests: dict[str, Any]) -> None:
    """Write tables of statistics and tests, and a figure of effects."""
    statistics = found.to_pandas()
    write_table(
        folder / "statistics.csv", {name: statistics[name].to_numpy() for name in statistics}
    )
    if not tests:
        return
    import pandas

    frames = []
    for name, comparison in tests.items():
        frame = comparison.to_pandas().rename(columns={comparison.statistic_name: "statistic"})
        frame.insert(0, "test", name)
        frames.append(frame)
    joined = pandas.concat(frames, ignore_index=True)
    write_table(folder / "tests.csv", {name: joined[name].to_numpy() for name in joined})
    _draw(folder / "effects.png", tests)


def _draw(path: Path, tests: dict[str, Any]) -> None:
    from matplotlib.figure import Figure

    from graphdict.viz import plot_effects

    rows = max(min(20, len(test.columns)) for test in tests.values())
    figure = Figure(figsize=(3.8 * len(tests), 1.1 + 0.24 * rows), layout="constrained", dpi=150)
    axes = np.atleast_1d(figure.subplots(1, len(tests)))
    for ax, (name, test) in zip(axes, tests.items()):
        measures = ", ".join(dict.fromkeys(measure for measure, _ in test.columns))
        plot_effects(test, ax).set_title(f"{name}: {measures}", fontsize=9)
    figure.savefig(path)
