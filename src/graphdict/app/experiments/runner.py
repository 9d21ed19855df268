"""Run the missing cells of a grid in parallel, saving each as it finishes."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from typing import Any

from tqdm.auto import tqdm

from graphdict.app.experiments.cells import run_cell
from graphdict.app.experiments.grids import Cell, Grid
from graphdict.app.experiments.store import Store
from graphdict.engine.connection import connect

WATCH_SECONDS = 0.2


class WorkerDiedError(RuntimeError):
    """Raised where a worker process died, for instance for lack of memory."""


def run_grid(
    grid: Grid,
    cells: Sequence[Cell],
    store: Store,
    *,
    jobs: int = 1,
    dask: str | None = None,
    progress: bool = True,
) -> list[dict[str, Any]]:
    """Run the cells that the store lacks, and return the rows of all ``cells`` in their order.

    With ``dask``, the address of a scheduler, cells run on its workers and are saved here. Cells
    that failed in an earlier run are tried again. Each row is saved as soon as it is computed, so
    that a killed run loses only the cells that were running.
    """
    rows = {k: r for k, r in store.read(cells).items() if r["status"] == "done"}
    missing = [cell for cell in cells if cell.key not in rows]
    failed = 0
    bar = tqdm(
        total=len(cells), initial=len(rows), desc=grid.experiment, unit="cell",
        disable=not progress, mininterval=0.5,
    )  # fmt: skip
    if dask is not None and missing:
        computed = _run_on_dask(dask, grid, missing, store)
    else:
        computed = _run_local(grid, missing, store, min(jobs, len(missing)))
    with bar, closing(computed) as finished:
        for row in finished:
            failed += row["status"] == "failed"
            bar.set_postfix_str(f"{failed} failed" if failed else "", refresh=False)
            bar.update()
    rows.update(store.read(missing))
    return [rows[cell.key] for cell in cells]


def _run_local(
    grid: Grid, cells: Sequence[Cell], store: Store, jobs: int
) -> Generator[dict[str, Any], None, None]:
    """Yield rows as they finish, from ``jobs`` processes."""
    if jobs <= 1:
        for cell in cells:
            yield _run_and_save(grid, cell, store)
        return
    context = multiprocessing.get_context("spawn")  # forking a process that has threads is unsafe
    stop = context.Event()
    pool = ProcessPoolExecutor(
        jobs, mp_context=context, initializer=_start_worker, initargs=(grid, store, stop)
    )
    try:
        waiting = iter(cells)
        running: set[Future] = set()
        while True:
            for cell in waiting:
                running.add(pool.submit(_work, cell))
                if len(running) >= 2 * jobs:
                    break
            if not running:
                break
            finished, running = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                yield future.result()
    except BrokenProcessPool:
        raise WorkerDiedError(
            "a worker process died, perhaps for lack of memory; all finished cells are saved: "
            "run the experiment again with fewer jobs"
        ) from None
    except BaseException:  # Ctrl-C above all: workers end at once instead of finishing their cell
        stop.set()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _run_on_dask(
    address: str, grid: Grid, cells: Sequence[Cell], store: Store
) -> Generator[dict[str, Any], None, None]:
    """Yield rows as they finish on a Dask cluster, which repeats the cells of a lost worker."""
    with connect(address) as client:
        from distributed import as_completed

        shared = client.submit(lambda: grid, pure=False)  # goes to each worker once
        found = {client.submit(run_cell, shared, cell, pure=False): cell for cell in cells}
        for future in as_completed(found):
            row = future.result()
            store.save(found[future], row)
            yield row


def _run_and_save(grid: Grid, cell: Cell, store: Store) -> dict[str, Any]:
    row = run_cell(grid, cell)
    store.save(cell, row)
    return row


# In a worker ----------------------------------------------------------------------------------

_worker: tuple[Grid, Store] | None = None


def _start_worker(grid: Grid, store: Store, stop: Any) -> None:
    global _worker
    _worker = grid, store
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what Ctrl-C means
    threading.Thread(target=_watch, args=(os.getppid(), stop), daemon=True).start()


def _watch(parent: int, stop: Any) -> None:
    """End with the parent process: an orphan would repeat the work of a resumed run."""
    while not stop.wait(WATCH_SECONDS):
        if os.getppid() != parent:
            break
    os._exit(1)


def _work(cell: Cell) -> dict[str, Any]:
    assert _worker is not None
    grid, store = _worker
    row = _run_and_save(grid, cell, store)
    return {"status": row["status"]}
