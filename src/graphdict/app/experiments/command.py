"""``graphdict experiment``: run or resume an experiment."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

import click

from graphdict.app.commands.flags import with_flags
from graphdict.app.commands.options import with_options
from graphdict.app.experiments import EXPERIMENTS, Experiment
from graphdict.app.experiments.grids import Cell, Grid
from graphdict.app.experiments.runner import WorkerDiedError, run_grid
from graphdict.app.experiments.store import FolderError, Store
from graphdict.app.experiments.tables import choose, restarts, write_starts
from graphdict.exceptions import ClusterError

STOPPED = 130  # what a shell reports after Ctrl-C


@click.group()
def experiment() -> None:
    """Repeat an experiment, with all methods tuned in the same way.

    Finished cells are saved at once: after Ctrl-C or a crash, the same command resumes.
    """


def _names(ctx: Any, parameter: Any, value: str | None) -> list[str] | None:
    """Return names separated by commas as a list."""
    return None if value is None else [name.strip() for name in value.split(",") if name.strip()]


def _numbers(ctx: Any, parameter: Any, value: str | None) -> list[int] | None:
    """Return whole numbers separated by commas as a list."""
    try:
        return None if value is None else [int(name) for name in value.split(",") if name.strip()]
    except ValueError:
        raise click.BadParameter(f"expected whole numbers like 0,1,2, got {value!r}") from None


SCALES = {
    "quick": "One seed and few settings: under a minute on two cores. The default.",
    "full": "Five seeds and all settings: under an hour on two cores.",
    "paper": "Every term of the paper, and its variants of methods beside ours: hours.",
}
EXTRA_OPTIONS = {
    "data_dir": click.option(
        "--data-dir", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
        help="Folder of the recordings, downloaded where missing  [default: MNE's own]",
    ),
    "data_folder": click.option(
        "--data-dir", "data_folder", type=click.Path(file_okay=False, path_type=Path),
        metavar="DIR", help="Folder of the sets  [default: what GRAPHDICT_DATA names]",
    ),
    "environments": click.option(
        "--environments", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
        help="Folder in which other packages get environments of their own, made on first use; "
        "without it only scikit-learn's methods are compared.",
    ),
    "subjects": click.option(
        "--subjects", callback=_numbers, metavar="1,2,3", help="Only these subjects, of 1 to 109.",
    ),
}  # fmt: skip
OPTIONS = [
    click.option(
        "--output", type=click.Path(path_type=Path), metavar="DIR",
        help="Folder of the results  [default: graphdict-results/NAME-SCALE]",
    ),
    click.option(
        "--jobs", type=click.IntRange(min=1), default=os.cpu_count() or 1, show_default="all cores",
        help="Cells that run at the same time.",
    ),
    click.option("--dask", metavar="ADDRESS", help="Run cells on this Dask cluster instead."),
    click.option("--models", callback=_names, metavar="A,B", help="Only these models."),
    click.option("--data", callback=_names, metavar="A,B", help="Only these data sets."),
    click.option("--seeds", callback=_numbers, metavar="0,1", help="Only these seeds."),
    click.option(
        "--starts", type=click.IntRange(min=1), default=1,
        help="Random starts of each chosen fit; more than one give deviations over starts, too.",
    ),
    click.option(
        "--resume/--restart", default=True,
        help="Resume the run in the folder, or discard its results first.",
    ),
]  # fmt: skip


def run_experiment(
    declared: Experiment,
    grid: Grid,
    output: Path,
    *,
    jobs: int = 1,
    dask: str | None = None,
    models: list[str] | None = None,
    data: list[str] | None = None,
    seeds: list[int] | None = None,
    resume: bool = True,
    starts: int = 1,
) -> int:
    """Run the missing cells, write tables and figures, and return the exit code.

    With several ``starts``, the fits that were chosen are repeated from other random ones.
    """
    if starts > 1 and grid.measure is not None:
        raise click.UsageError(f"--starts is not for {grid.experiment}, which has no such fits")
    grid, wanted, store = _open(declared, grid, output, (models, data, seeds), resume)
    try:
        run_grid(grid, wanted, store, jobs=jobs, dask=dask)
        found = store.read(grid.cells())
        rows = [found[cell.key] for cell in grid.cells() if cell.key in found]
        again: list[Any] = []
        if starts > 1:
            chosen = choose(rows, grid.thresholds)
            repeated = restarts(grid, chosen, starts)
            again = run_grid(grid, repeated, store, jobs=jobs, dask=dask)
    except KeyboardInterrupt:
        saved = len(store.read(wanted))
        click.echo(
            f"Stopped. {saved} of {len(wanted)} cells are saved in {output}; "
            "the same command resumes there.",
            err=True,
        )
        return STOPPED
    except (ClusterError, WorkerDiedError) as error:
        raise click.ClickException(str(error)) from None
    except OSError as error:  # a full disk, or a folder that was removed meanwhile
        raise click.ClickException(f"cannot write results to {output}: {error}") from None
    finally:
        store.close()
    outcomes, written = declared.tables(grid, rows, store.path)
    if outcomes:
        written += declared.report(grid, outcomes, store.path)
    if starts > 1:
        written.append(write_starts(grid, chosen, again, store.path))
    for path in written:
        click.echo(path)
    return _tell_failures(rows, store)


def _open(
    declared: Experiment, grid: Grid, output: Path, selected: tuple[Any, Any, Any], resume: bool
) -> tuple[Grid, list[Cell], Store]:
    """Return the grid of what can be run, its selected cells, and the folder of their results."""
    try:
        wanted = grid.cells(*selected)  # raises for unknown names before data are read
        if declared.prepare is not None:
            grid = declared.prepare(grid, partial(click.echo, err=True))
            wanted = grid.cells(*selected)
        return grid, wanted, Store.open(output, grid, restart=not resume)
    except FolderError as error:
        text = with_flags(str(error)).replace("another folder", "another folder (--output)")
        raise click.UsageError(text) from None
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    except ImportError as error:  # of an extra; the message says which
        raise click.ClickException(str(error)) from None


def _tell_failures(rows: list[dict[str, Any]], store: Store) -> int:
    """Say which cells failed, the first few by name; return the exit code."""
    failed = [row for row in rows if row["status"] == "failed"]
    for row in failed[:5]:
        cell = row["cell"]
        click.echo(
            f"failed: {cell['model']} on {cell['data']}, seed {cell['seed']}: {row['error']}",
            err=True,
        )
    if failed:
        click.echo(
            f"{len(failed)} of {len(rows)} cells failed; their tracebacks are in {store.cells}. "
            "The same command tries them again.",
            err=True,
        )
    return 1 if failed else 0


def _command(name: str, declared: Experiment) -> click.Command:
    """Return the command of an experiment."""

    def run(scale: str, output: Path | None, **options: Any) -> None:
        folder = output or Path("graphdict-results") / f"{name}-{scale}"
        further = {option: options.pop(option) for option in declared.options}
        try:
            grid = declared.grid(scale, **further)
        except ValueError as error:
            raise click.UsageError(str(error)) from None
        click.get_current_context().exit(run_experiment(declared, grid, folder, **options))

    def flag(name: str, **default: Any) -> Any:
        text = {**SCALES, **declared.scales}[name]
        return click.option(
            f"--{name}", "scale", flag_value=name, help=text, show_default=False, **default
        )

    scales = [flag("quick", default="quick"), flag("full")]
    scales += [flag("paper")] * declared.as_published
    extra = [EXTRA_OPTIONS[option] for option in declared.options]
    return click.command(name, help=declared.title)(with_options(*scales, *extra, *OPTIONS)(run))


for _name, _declared in EXPERIMENTS.items():
    experiment.add_command(_command(_name, _declared))
