"""Refuse options of `graphdict fit` that exclude each other, before any work is done."""

from __future__ import annotations

from typing import Any

import click

from graphdict.app.commands.models import window_of
from graphdict.app.files import InputError

LEAST_WINDOWS = 5  # from which the number of atoms is chosen


def check_options(options: dict[str, Any]) -> None:
    """Raise UsageError for options that exclude each other."""
    given = [n for n in ("degree", "density", "penalty") if options[n] is not None]
    if len(given) > 1:
        raise click.UsageError(f"give one of --degree, --density and --penalty, not {len(given)}")
    window_of(options["window"], 1e-12)  # raises for text that is no window
    if options["signed"]:
        _check_signed(options)
    if options["atoms"] == "auto" and options["model"] != "marginal":
        raise click.UsageError(
            f"-k auto needs --model marginal: {options['model']} fits coefficients to the samples "
            "it scores; give the number of atoms with -k"
        )


def _check_signed(options: dict[str, Any]) -> None:
    """Set what --signed stands for; raise UsageError for options that it excludes."""
    if options["model"] != "marginal":
        raise click.UsageError(f"--signed needs --model marginal, not {options['model']}")
    if options["active"] not in ("auto", 1):
        raise click.UsageError(
            f"--signed learns graphs of which one is active at a time: --active {options['active']}"
            " cannot be used with it"
        )
    options["active"] = 1
    options["settings"] = (*options["settings"], "signed=true")


def check_length(rows: int, window: int, options: dict[str, Any]) -> None:
    """Raise an error, before anything is learned, for a series too short for its settings."""
    if window > rows:
        raise click.BadParameter(
            f"{window} samples are more than the {rows} there are", param_hint="--window"
        )
    windows = -(-rows // window)
    what = f"{rows:,} samples" + f" in windows of {window}" * (window > 1)
    if options["atoms"] == "auto" and windows < LEAST_WINDOWS:
        raise InputError(
            f"{what} are too few to choose the number of graphs, which needs {LEAST_WINDOWS} "
            "samples or windows: give it with -k"
        )
    if options["atoms"] != "auto" and options["model"] != "hier" and options["atoms"] > windows:
        raise click.BadParameter(
            f"{options['atoms']} graphs are more than the {windows:,} there may be: {what}",
            param_hint="-k",
        )
