"""The command line. Each command is a thin layer over the library, imported when it is called."""

from __future__ import annotations

import importlib
import json
from dataclasses import asdict
from pathlib import Path

import click

from graphdict import __version__

__all__ = ["main"]

ELSEWHERE = {"experiment": "graphdict.experiments.command"}


class _Commands(click.Group):
    """Commands of this file, and those of other modules, which are imported when needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*super().list_commands(ctx), *ELSEWHERE])

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name in ELSEWHERE:
            return getattr(importlib.import_module(ELSEWHERE[name]), name)
        return super().get_command(ctx, name)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def main() -> None:
    """Learn dictionaries of graphs from multivariate signals."""


@main.command()
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("graphdict-demo"),
    show_default=True,
    help="Folder for the results.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=2,
    show_default=True,
    help="Decides the simulated dictionary, its signals and the fit.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
def demo(output: Path, seed: int, as_json: bool) -> None:  # fmt: skip
    """Learn a simulated dictionary and compare it with the truth.

    Three sparse graphs on 14 nodes are mixed, two at most at a time, into the graphs of 2,000
    signals. Two models learn the graphs and the mixture from the signals alone.
    """
    from graphdict.demo import run_demo

    if not as_json:
        click.echo("Simulating 2,000 signals on 14 nodes: sums of up to 2 of 3 graphs ...")
    try:
        result = run_demo(output, seed, verbose=0 if as_json else 1)
    except OSError as error:
        raise click.ClickException(f"cannot write to {output}: {error.strerror}") from error
    if as_json:
        click.echo(json.dumps(asdict(result), indent=1))
        return
    click.echo("Against the truth, every edge counted that has any weight:")
    for found in result.recoveries:
        scores = ", ".join(f"{name} {value:.2f}" for name, value in found.test.items())
        cosines = ", ".join(f"{value:.2f}" for value in found.atom_similarity)
        click.echo(f"  {found.model} ({found.seconds:.1f} s)")
        click.echo(f"    atoms: cosine {cosines}")
        click.echo(f"    graphs of 400 new signals: {scores}")
        click.echo(f"    their coefficients: root mean square error {found.coefficient_error:.2f}")
    for file in result.files:
        click.echo(f"Wrote {file}")


if __name__ == "__main__":
    main()
