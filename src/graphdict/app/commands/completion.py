"""``graphdict completion``: print a shell completion script."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

INSTALL = {
    "bash": 'eval "$(graphdict completion bash)"   # in ~/.bashrc',
    "zsh": 'eval "$(graphdict completion zsh)"    # in ~/.zshrc',
    "fish": "graphdict completion fish > ~/.config/fish/completions/graphdict.fish",
}


@click.command(
    help="""Print the completion script of a shell.

    \b
    Install it:
      """
    + "\n      ".join(INSTALL.values())
)
@click.argument("shell", type=click.Choice(list(INSTALL)))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    kind = get_completion_class(shell)
    assert kind is not None
    group = ctx.find_root().command
    click.echo(kind(group, {}, "graphdict", "_GRAPHDICT_COMPLETE").source())
