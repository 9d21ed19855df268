"""Output of all commands: text or JSON, one-line errors, exit codes."""

from __future__ import annotations

import functools
import json
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from graphdict.app.commands.flags import with_flags

if TYPE_CHECKING:  # pragma: no cover
    from graphdict.engine.progress import ProgressBar
    from graphdict.engine.tasks import Task

FAILED, USAGE, INPUT, EXISTS, OUTPUT, EXTRA, CLUSTER, STOPPED = 1, 2, 3, 4, 5, 6, 7, 130
NOTHING_DONE = "stopped before there was a result; nothing was written"
EXIT_CODES = """\b
Exit codes:
  0    done
  1    an unexpected failure
  2    invalid options
  3    input that cannot be read or used
  4    output that exists already (--force replaces it)
  5    output that cannot be written: a full disk, no permission
  6    a package is missing for this file format
  7    a Dask cluster that cannot be used, or was lost
  130  stopped by Ctrl-C; what was learned by then is written
"""


class Stopped(Exception):  # noqa: N818 - what the user did, not a failure
    """Raised where the user pressed Ctrl-C."""


class OutputExists(click.ClickException):
    """Raised where a result would replace an existing file."""

    exit_code = EXISTS


def safe(text: Any) -> str:
    """Return text with unprintable characters escaped, so that none controls the terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text))


class Console:
    """Messages on stderr, results on stdout as text or JSON."""

    def __init__(self, quiet: bool = False, as_json: bool = False):
        self.quiet = quiet
        self.as_json = as_json
        self.warnings: list[str] = []
        self.interrupted = False
        self._bar: ProgressBar | None = None

    @contextmanager
    def progress(self, title: str, total: float) -> Iterator[Task]:
        """Show one progress bar for all that is done inside ``with``, unless quiet."""
        from graphdict.engine.progress import ProgressBar
        from graphdict.engine.tasks import work

        log = not sys.stderr.isatty()
        bar = self._bar = None if self.quiet else ProgressBar(title, log=log)
        try:
            with work(title, total, bar) as task:
                yield task
        finally:
            self._bar = None
            if bar is not None:
                bar.close()

    def _echo(self, text: str, err: bool = True) -> None:
        with nullcontext() if self._bar is None else self._bar.aside():
            click.echo(safe(text), err=err)

    def say(self, text: str) -> None:
        """Print a message, unless quiet."""
        if not self.quiet:
            self._echo(text)

    def note(self, text: str) -> None:
        """Print a message as an item of a list, unless quiet."""
        self.say(f"  - {text}")

    def warn(self, text: str) -> None:
        """Print a warning, even when quiet, and keep it for the JSON result."""
        self.warnings.append(text)
        self._echo(f"Warning: {text}")

    def result(self, text: str) -> None:
        """Print a line of the result, unless quiet or with JSON."""
        if not (self.as_json or self.quiet):
            self._echo(text, err=False)

    def finish(self, content: dict[str, Any]) -> None:
        """Print the whole result as JSON where that is asked for."""
        if self.as_json:
            from graphdict import __version__

            full = {"graphdict": __version__, **content, "warnings": self.warnings}
            click.echo(json.dumps(_plain(full), indent=1, allow_nan=False))

    @contextmanager
    def warnings_as_lines(self, keep: bool = False) -> Iterator[None]:
        """Print warnings of the library as lines; raise Stopped where a fit was interrupted.

        With ``keep`` nothing is raised, and ``interrupted`` is true afterwards.
        """
        from graphdict import exceptions

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
        seen = set()
        for warning in caught:
            if issubclass(warning.category, exceptions.InterruptedFitWarning):
                self.interrupted = True
                if not keep:
                    raise Stopped
                continue
            ours = (exceptions.GraphDictWarning, exceptions.ConvergenceWarning)
            # Commands report these themselves, with the column names of the file.
            reported = (exceptions.SilentNodeWarning, exceptions.DeadAtomWarning)
            text = " ".join(str(warning.message).split())
            if issubclass(warning.category, ours) and not issubclass(warning.category, reported):
                if text not in seen:
                    self.warn(text)
                seen.add(text)


def command_errors(function: Callable) -> Callable:
    """Decorate a command so that any error becomes one line on stderr and an exit code."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except (KeyboardInterrupt, Stopped) as stop:
            message, code = str(stop) or NOTHING_DONE, STOPPED
        except (click.ClickException, click.exceptions.Exit, BrokenPipeError):
            raise
        except Exception as error:
            if os.environ.get("GRAPHDICT_DEBUG"):
                raise
            message, code = _explain(error)
        click.echo(safe(f"Error: {message}"), err=True)
        click.get_current_context().exit(code)

    return run


def _explain(error: Exception) -> tuple[str, int]:
    """Return the message and the exit code of an error."""
    from graphdict.app.files import InputError, MissingExtraError
    from graphdict.exceptions import ClusterError, ModelFileError

    text = with_flags(" ".join(str(error).split()))
    if isinstance(error, MissingExtraError):
        return text, EXTRA
    if isinstance(error, (InputError, ModelFileError)):
        return text, INPUT
    if isinstance(error, ClusterError):
        return text, CLUSTER
    if isinstance(error, OSError):
        where = f" {error.filename}" if error.filename else ""
        return f"cannot write{where}: {error.strerror or text}", OUTPUT
    if isinstance(error, MemoryError):
        return text or "there is not enough memory for this", INPUT
    if isinstance(error, ValueError):
        return text, INPUT
    return (
        f"{type(error).__name__}: {text} (unexpected; GRAPHDICT_DEBUG=1 shows where it happened)",
        FAILED,
    )


def _plain(value: Any) -> Any:
    """Return a value in types that JSON has; numbers that are not finite become None."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    return value if isinstance(value, (str, int, bool, type(None))) else str(value)
