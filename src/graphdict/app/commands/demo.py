"""``graphdict demo``: fit simulated data and compare with the truth."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from graphdict.app.commands.console import EXIT_CODES, Console, command_errors
from graphdict.app.commands.options import with_options


@click.command(epilog=EXIT_CODES)
@with_options(
    click.option("-o", "--output", type=click.Path(file_okay=False, path_type=Path),
                 default=Path("graphdict-demo"), help="Folder for the results."),
    click.option("--seed", type=click.IntRange(min=0), default=2, help="Random seed."),
    click.option("--json", "as_json", is_flag=True, help="Print the result as JSON."),
)  # fmt: skip
@command_errors
def demo(output: Path, seed: int, as_json: bool) -> None:  # fmt: skip
    """Learn a simulated dictionary and compare it with the truth.

    The graphs of 2,000 signals are mixtures of at most two of three sparse graphs on 14 nodes. Two
    models learn graphs and mixtures from the signals alone. Writes a figure, the better model, and
    report.html to explore it; replaces the results of an earlier demo.
    """
    from graphdict.app.demo import run_demo

    console = Console(as_json=as_json)
    if not as_json:
        console.say("Simulating 2,000 signals on 14 nodes: sums of up to 2 of 3 graphs ...")
    result = run_demo(output, seed, verbose=0 if as_json else 1)
    console.result("Against the truth, every edge counted that has any weight:")
    for found in result.recoveries:
        scores = ", ".join(f"{name} {value:.2f}" for name, value in found.test.items())
        cosines = ", ".join(f"{value:.2f}" for value in found.atom_similarity)
        console.result(f"  {found.model} ({found.seconds:.1f} s)")
        console.result(f"    atoms: cosine {cosines}")
        console.result(f"    graphs of 400 new signals: {scores}")
        console.result(
            f"    their coefficients: root mean square error {found.coefficient_error:.2f}"
        )
    for file in result.files:
        console.result(f"Wrote {file}")
    console.finish(asdict(result))
