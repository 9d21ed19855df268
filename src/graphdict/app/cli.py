"""The command line: its commands, each imported when it is called."""

from __future__ import annotations

import importlib
from typing import Any

import click

from graphdict import __version__

STOPPED = 130
COMMANDS = {
    "fit": "graphdict.app.commands.fit",
    "transform": "graphdict.app.commands.transform",
    "report": "graphdict.app.commands.report",
    "compare": "graphdict.app.commands.compare",
    "info": "graphdict.app.commands.info",
    "simulate": "graphdict.app.commands.simulate",
    "demo": "graphdict.app.commands.demo",
    "experiment": "graphdict.app.experiments.command",
    "completion": "graphdict.app.commands.completion",
}


class _Commands(click.Group):
    """Group of commands, listed in the order of COMMANDS."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        return getattr(importlib.import_module(COMMANDS[name]), name)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; Ctrl-C while it is imported ends it as Ctrl-C later does."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("Error: stopped; no results were written", err=True)
            ctx.exit(STOPPED)


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
    help="""Learn dictionaries of graphs from multivariate signals.

    \b
    From a file to an answer:
      graphdict info signals.csv            what is in the file
      graphdict fit signals.csv -k 4        learn 4 graphs; writes signals-graphdict/report.html
      graphdict transform signals-graphdict new.csv

    \b
    No file at hand?
      graphdict demo
    """,
)
@click.version_option(__version__)
def main() -> None:
    pass


if __name__ == "__main__":
    main()
