"""Where signals are: larger than --memory, and on a Dask cluster, with the same results."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from graphdict import load_model
from graphdict.app.files import chunked_readers

NAMES = [f"n{i}" for i in range(8)]


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr("graphdict.engine.signals.BLOCK_BYTES", 4000)
    monkeypatch.setattr(chunked_readers, "BATCH", 100)


@pytest.fixture
def wide(tmp_path, truth):
    """Signals with times as Parquet, in several groups of rows."""
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "signals.parquet"
    table = {"time (s)": np.arange(800) / 20, **dict(zip(NAMES, truth.train.signals.T))}
    parquet.write_table(pa.table(table), path, row_group_size=130)
    return path


FIT = ("--model", "log", "-k", 2, "--max-iter", 4, "--set", "n_init=1", "--no-evidence", "-q")


def fitted(run, file, folder, *options):
    starts = ("--set", "n_init=1")
    given = FIT if "hier" not in options else [part for part in FIT if part not in starts]
    found = run("fit", file, *given, "-o", folder, *options)
    assert found.exit_code == 0, found.output
    return load_model(folder / "model.graphdict")


def assert_same(one, other):
    assert one.node_names == other.node_names
    np.testing.assert_allclose(one.atoms_, other.atoms_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(one.coefficients_, other.coefficients_, atol=1e-9)
    for name in ("mean", "scale", "times"):
        np.testing.assert_allclose(one.table_[name], other.table_[name], atol=1e-12)


@pytest.mark.parametrize(
    "options",
    [
        ("--standardise", "yes", "--window", "100ms"),
        ("--changes", "difference", "--ignore", "n3", "--degree", "2"),
        ("--model", "marginal", "--active", "1"),
        ("--model", "hier", "-k", "7", "--set", "max_iter=20"),
    ],
)
def test_a_file_larger_than_memory_gives_the_same_model(run, wide, tmp_path, small_blocks, options):
    here = fitted(run, wide, tmp_path / "here", *options)
    there = fitted(run, wide, tmp_path / "there", *options, "--memory", "10kB")
    assert_same(there, here)
    tables = [(tmp_path / name / "coefficients.csv").read_text() for name in ("here", "there")]
    (head, *rows), (other_head, *others) = (table.splitlines() for table in tables)
    assert head == other_head
    np.testing.assert_allclose(
        np.loadtxt(rows, delimiter=","), np.loadtxt(others, delimiter=","), 1e-5
    )


def test_missing_values_in_a_large_file(run, wide, tmp_path, small_blocks, truth):
    from pyarrow import parquet

    signals = truth.train.signals.copy()
    signals[np.random.default_rng(0).random(signals.shape) < 0.05] = np.nan
    table = parquet.read_table(wide)
    for place, name in enumerate(NAMES):
        table = table.set_column(place + 1, name, [signals[:, place]])
    parquet.write_table(table, wide, row_group_size=200)
    for how in ("keep", "drop"):
        here = fitted(run, wide, tmp_path / how, "--missing", how)
        there = fitted(run, wide, tmp_path / f"{how} 2", "--missing", how, "--memory", "10kB")
        assert_same(there, here)
    found = run("fit", wide, *FIT, "--missing", "interpolate", "--memory", "10kB", "-o", "no")
    assert found.exit_code == 3
    assert "--missing keep or drop" in found.output


def test_coefficients_of_a_large_file_in_every_format(run, wide, tmp_path, small_blocks):
    from pyarrow import parquet

    model = fitted(run, wide, tmp_path / "fit")
    for end in ("csv", "parquet", "npy"):
        found = run("transform", tmp_path / "fit", wide, "-o", f"c.{end}", "--memory", "10kB")
        assert found.exit_code == 0, found.output
    written = np.load("c.npy")
    np.testing.assert_allclose(written, model.coefficients_, atol=1e-4)
    table = parquet.read_table("c.parquet")
    assert table.column_names == ["time (s)", "atom_1", "atom_2"]
    np.testing.assert_array_equal(table["atom_2"].to_numpy(), written[:, 1])
    rows = np.loadtxt("c.csv", delimiter=",", skiprows=1)
    np.testing.assert_allclose(rows[:, 1:], written, rtol=1e-5)
    assert sorted(path.name for path in tmp_path.glob("c.*")) == ["c.csv", "c.npy", "c.parquet"]
    assert run("transform", tmp_path / "fit", wide, "-o", "c.txt").exit_code == 2


def test_info_and_report_read_large_files_too(run, wide, tmp_path, small_blocks):
    here, there = (
        json.loads(run("info", wide, "--json", "-q", *more).stdout)
        for more in ((), ("--memory", "1kB"))
    )
    assert [c["name"] for c in there["columns"]] == NAMES
    for one, other in zip(there["columns"], here["columns"]):
        assert one == pytest.approx(other, abs=1e-12)
    fitted(run, wide, tmp_path / "fit")
    found = run("report", tmp_path / "fit", wide, "-o", "page.html", "--memory", "10kB")
    assert found.exit_code == 0, found.output


def test_what_cannot_be_is_said_before_work(run, wide, tmp_path):
    for text in ("much", "500", "0MB", "-1GB"):
        found = run("fit", wide, "--memory", text)
        assert found.exit_code == 2
        assert "500MB or 2GB" in found.output
    (tmp_path / "signals-graphdict").mkdir()
    (tmp_path / "signals-graphdict" / "report.html").touch()
    found = run("fit", wide, "--window", "soon")
    assert found.exit_code == 2
    assert "0.5s" in found.output


def test_a_checkpoint_that_is_gone_on_from_is_told(run, wide, tmp_path, monkeypatch):
    monkeypatch.setattr("graphdict.engine.checkpoint.SECONDS", 0)
    kept = tmp_path / "fit.checkpoint"
    options = (*FIT[:-1], "--checkpoint", kept, "-o", tmp_path / "out")
    assert "Going on" not in run("fit", wide, *options).output

    calls = []

    def stop(remark=""):
        calls.append(remark)
        if len(calls) == 2:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("graphdict.engine.progress.tell", stop)
        stopped = run("fit", wide, *options, "--force")
        assert stopped.exit_code == 130
        assert f"goes on from the checkpoint {kept}" in stopped.stderr
    assert kept.exists()
    assert f"Resuming from the checkpoint {kept}" in run("fit", wide, *options, "--force").output


def test_names_like_formulas_are_harmless_in_the_table_of_atoms(run, tmp_path, truth):
    head = "=1+1,+x,-y,@z"
    np.savetxt("s.csv", truth.train.signals[:200, :4], delimiter=",", header=head, comments="")
    fitted(run, "s.csv", tmp_path / "out", "--header")
    cells = [line.split(",")[1:3] for line in (tmp_path / "out" / "atoms.csv").read_text().split()]
    assert {name[0] for pair in cells[1:] for name in pair} == {"'"}


@pytest.mark.parametrize("delay", [0.1, 0.5])
def test_ctrl_c_while_it_starts_leaves_no_traceback(tmp_path, delay):
    program = (
        "import signal, threading, os, graphdict.app.cli;"
        "signal.signal(signal.SIGINT, signal.default_int_handler);"
        f"threading.Timer({delay}, os.kill, (os.getpid(), signal.SIGINT)).start();"
        "graphdict.app.cli.main(['fit', 'nowhere.csv', '--model', 'log', '-k', '2'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path
    )
    assert "Traceback" not in done.stderr
    assert done.returncode in (3, 130, -signal.SIGINT)


def test_the_command_line_starts_light():
    code = (
        "import sys, graphdict.app.cli; "
        "print([m for m in ('numpy', 'sklearn') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# On a cluster -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50, memory_limit=0
    ) as cluster:
        yield cluster


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_fit_and_transform_on_a_cluster(run, wide, tmp_path, cluster, table):
    address = cluster.scheduler_address
    here = fitted(run, wide, tmp_path / "here")
    for name, file, options in [("read there", wide, ("--memory", "10kB")), ("sent", table, ())]:
        there = fitted(run, file, tmp_path / name, "--dask", address, *options)
        assert_same(there, here)
    marginal = ("--model", "marginal", "--active", "1", "--set", "n_init=1")
    assert_same(
        fitted(run, wide, tmp_path / "marginal there", *marginal, "--dask", address),
        fitted(run, wide, tmp_path / "marginal", *marginal),
    )
    found = run(
        "transform", tmp_path / "here", wide, "--dask", address, "--memory", "10kB", "-o", "c.npy"
    )
    assert found.exit_code == 0, found.output
    assert "2 worker(s)" in found.output
    np.testing.assert_allclose(np.load("c.npy"), here.coefficients_, atol=1e-9)


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_clusters_that_cannot_be_used_are_told(run, wide, tmp_path, cluster, monkeypatch):
    import dask.array as da

    from graphdict.engine import connection as module

    found = run("fit", wide, *FIT, "--dask", "nonsense://x")
    assert found.exit_code == 7
    assert "no Dask scheduler answers at 'nonsense://x'" in found.output
    monkeypatch.setattr(module, "CONNECT_SECONDS", 0.2)
    found = run("fit", wide, *FIT, "--dask", "tcp://127.0.0.1:9")
    assert found.exit_code == 7
    assert "no Dask scheduler answers at 'tcp://127.0.0.1:9'" in found.output
    monkeypatch.setattr(module, "CONNECT_SECONDS", 10)
    address = cluster.scheduler_address
    with monkeypatch.context() as patch:
        patch.setattr("graphdict.__version__", "999.0")
        found = run("fit", wide, *FIT, "--dask", address)
        assert found.exit_code == 7
        assert "install graphdict 999.0" in found.output
    with monkeypatch.context() as patch:
        patch.setattr(module, "_cannot_read", _not_there)
        found = run("fit", wide, *FIT, "--dask", address, "--memory", "10kB")
        assert found.exit_code == 7
        assert f"cannot read {wide} (No such file" in found.output
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "distributed", None)
        found = run("fit", wide, *FIT, "--dask", address)
        assert found.exit_code == 6  # as where any other package is missing
        assert "graphdict[dask]" in found.output
    assert not (tmp_path / "signals-graphdict").exists()
    assert da.ones(3).sum().compute() == 3  # no trace of clients that never came to be


def _not_there(path):
    return os.strerror(2)
