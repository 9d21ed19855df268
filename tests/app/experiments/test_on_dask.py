"""Grids on a Dask cluster: the same tables, and clear words where there is none."""

import click
import pytest
from fake_experiment import FAKE, make_grid

from graphdict.app.experiments.command import run_experiment
from graphdict.app.experiments.store import Store

distributed = pytest.importorskip("distributed")


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_tables_are_those_of_one_machine_and_nothing_is_computed_twice(tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    assert run_experiment(FAKE, make_grid(), here) == 0
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50
    ) as cluster:
        address = cluster.scheduler_address
        assert run_experiment(FAKE, make_grid(), there, dask=address, seeds=[0]) == 0
        half = {path.name: path.stat().st_mtime_ns for path in (there / "cells").iterdir()}
        assert run_experiment(FAKE, make_grid(), there, dask=address) == 0
    for name, time in half.items():
        assert (there / "cells" / name).stat().st_mtime_ns == time
    for name in ("results.csv", "summary.csv"):
        assert (here / name).read_text() == (there / name).read_text()


def test_an_address_where_nobody_answers_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr("graphdict.engine.connection.CONNECT_SECONDS", 0.5)
    with pytest.raises(click.ClickException, match=r"no Dask scheduler answers at"):
        run_experiment(FAKE, make_grid(), tmp_path / "out", dask="tcp://127.0.0.1:9")
    Store.open(tmp_path / "out", make_grid()).close()  # not locked
