"""Commands run in this process, alike in every version of Click."""

from __future__ import annotations

import inspect
from types import SimpleNamespace
from typing import Any

import click
from click.testing import CliRunner

# Before 8.2 the two streams were either mixed or kept apart; since then there are both.
APART = "mix_stderr" in inspect.signature(CliRunner).parameters


def invoke(command: click.Command, *arguments: Any) -> Any:
    """Return exit code, standard output, standard error, and ``output``: what a terminal shows."""
    words = [str(argument) for argument in arguments]
    if not APART:
        return CliRunner().invoke(command, words)
    done = CliRunner(mix_stderr=False).invoke(command, words)
    return SimpleNamespace(
        exit_code=done.exit_code,
        exception=done.exception,
        stdout=done.stdout,
        stderr=done.stderr,
        output=done.stdout + done.stderr,
    )
