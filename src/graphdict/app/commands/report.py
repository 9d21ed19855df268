"""``graphdict report``: write the HTML report of a model, also for new signals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from graphdict.app.commands.console import EXIT_CODES, Console, command_errors
from graphdict.app.commands.options import (
    Command,
    file_argument,
    memory_option,
    output_options,
    reading_options,
    verbosity_options,
)
from graphdict.app.commands.outputs import check_free
from graphdict.app.commands.preprocessing import read_metadata
from graphdict.app.commands.transform import encode, open_model


@click.command(
    cls=Command,
    epilog=EXIT_CODES,
    help="""Write the HTML report of a model, also for new signals.

    MODEL is the model.graphdict of a fit, or its folder. With DATA, the timeline shows the
    coefficients of that file instead of those of the training signals.

    \b
    Examples:
      graphdict report sensors-graphdict -o page.html
      graphdict report sensors-graphdict today.csv -o today.html --title "Today"
    """,
)
@file_argument("model_file", metavar="MODEL")
@file_argument("data", metavar="[DATA]", required=False)
@click.option("--title", help="Title of the report.")
@output_options("report.html")
@memory_option
@verbosity_options
@reading_options
@command_errors
def report(model_file: Path, data: Path | None, title: str | None, output: Path | None,
           force: bool, quiet: bool, as_json: bool, **options: Any) -> None:  # fmt: skip
    from graphdict.viz.report import write_report

    console = Console(quiet, as_json)
    target = output or Path("report.html")
    if target.is_dir():
        target = target / "report.html"
    check_free([target], force)
    model = open_model(model_file)
    before = read_metadata(model)
    shown: dict[str, Any] = {
        "times": before.times,
        "time_unit": before.about.get("time_unit", "samples"),
        "source": before.about.get("source"),
    }
    if data is not None:
        signals, coefficients = encode(model, data, options, console, silence=True)
        shown = {
            "coefficients": coefficients, "times": signals.times, "time_unit": signals.time_unit,
            "source": data.name,
        }  # fmt: skip
    shown |= {
        "title": title, "remarks": before.about.get("notes", []),
        "findings": before.about.get("findings", []),
        "min_confidence": before.about.get("min_confidence", 0.5),
    }  # fmt: skip
    write_report(model, target, positions=before.positions, **shown)
    console.result(f"Wrote {target}")
    console.finish({"command": "report", "files": [str(target)]})
