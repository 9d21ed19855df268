"""Runs that are killed, interrupted, repeated or broken in part."""

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest
from fake_experiment import FAKE, make_grid

from graphdict.app.experiments import code
from graphdict.app.experiments import store as store_module
from graphdict.app.experiments.code import code_digest
from graphdict.app.experiments.command import run_experiment
from graphdict.app.experiments.runner import run_grid
from graphdict.app.experiments.store import FolderError, Store

PROGRAM = Path(__file__).with_name("fake_experiment.py")
TABLES = ("results.csv", "summary.csv", "cells.csv")


def saved(folder):
    return {path.name for path in (folder / "cells").glob("*.json")}


def start(folder, log, jobs=2, seconds=0.0):
    environment = {**os.environ, "FAKE_LOG": str(log), "FAKE_SECONDS": str(seconds)}
    return subprocess.Popen(
        [sys.executable, str(PROGRAM), str(folder), str(jobs)],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def wait_for_cells(folder, count, process):
    for _ in range(1200):
        if len(saved(folder)) >= count:
            return
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    raise AssertionError("no cells appeared")


def test_killed_and_started_again_equals_a_run_that_was_not(tmp_path, monkeypatch):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    assert run_experiment(FAKE, make_grid(), whole) == 0

    process = start(broken, tmp_path / "first.log", seconds=0.5)
    wait_for_cells(broken, 4, process)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    time.sleep(1)  # orphaned workers see that their parent is gone
    kept = saved(broken)
    assert 4 <= len(kept) < 24
    assert not (broken / "results.csv").exists()

    monkeypatch.setenv("FAKE_LOG", str(tmp_path / "second.log"))
    assert run_experiment(FAKE, make_grid(), broken) == 0
    assert len((tmp_path / "second.log").read_text().splitlines()) == 24 - len(kept)
    for name in TABLES:
        assert (broken / name).read_bytes() == (whole / name).read_bytes()

    monkeypatch.setenv("FAKE_LOG", str(tmp_path / "third.log"))
    assert run_experiment(FAKE, make_grid(), broken) == 0
    assert not (tmp_path / "third.log").exists()


def test_interrupt_keeps_what_is_done(tmp_path):
    process = start(tmp_path / "out", tmp_path / "log", seconds=0.5)
    wait_for_cells(tmp_path / "out", 2, process)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "the same command resumes there" in errors
    assert "Traceback" not in errors
    assert len(saved(tmp_path / "out")) >= 2
    assert not list((tmp_path / "out" / "cells").glob("*.tmp"))


def test_interrupted_cell_is_not_saved(tmp_path):
    grid = make_grid(models={"Careful": [{"noise": 0.1}, {"noise": 0.1, "how": "interrupt"}]})
    store = Store.open(tmp_path / "out", grid)
    with pytest.raises(KeyboardInterrupt):
        run_grid(grid, grid.cells(), store, progress=False)
    assert len(saved(tmp_path / "out")) == 1


def test_failed_cell_is_recorded_and_the_rest_goes_on(tmp_path, capsys):
    grid = make_grid(models={"Careful": [{"noise": 0.1, "how": "fail"}, {"noise": 0.2}]})
    assert run_experiment(FAKE, grid, tmp_path / "out") == 1
    said = capsys.readouterr().err
    assert "4 of 8 cells failed" in said
    assert "RuntimeError: this setting never works" in said
    rows = [json.loads(p.read_text()) for p in (tmp_path / "out" / "cells").glob("*.json")]
    failed = [row for row in rows if row["status"] == "failed"]
    assert len(rows) == 8
    assert len(failed) == 4
    assert 'raise RuntimeError("this setting never works")' in failed[0]["traceback"]
    table = (tmp_path / "out" / "results.csv").read_text()
    assert table.count("0.2") >= 4
    assert "fail" not in table
    assert (tmp_path / "out" / "cells.csv").read_text().count("this setting never works") == 4


def test_all_cells_failed(tmp_path):
    grid = make_grid(models={"Careful": [{"how": "fail"}]})
    assert run_experiment(FAKE, grid, tmp_path / "out") == 1
    assert (tmp_path / "out" / "results.csv").read_text() == ""


def test_failed_cells_are_tried_again(tmp_path):
    grid = make_grid(models={"Careful": [{"how": "fail"}]})
    store = Store.open(tmp_path / "out", grid)
    run_grid(grid, grid.cells(), store, progress=False)
    repaired = make_grid(
        models=grid.models, build=lambda model, setting, seed: make_grid().build(model, {}, seed)
    )
    rows = run_grid(repaired, repaired.cells(), store, progress=False)
    assert {row["status"] for row in rows} == {"done"}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"seeds": (0, 1, 2)}, "another configuration"),
        ({"thresholds": (0.0, 0.5)}, "another configuration"),
        ({"models": {"Careful": [{"noise": 0.3}]}}, "another configuration"),
        ({"data": {"small": {"size": 21}}}, "another configuration"),
        ({"scale": "full"}, r"holds fake \(quick\)"),
        ({"experiment": "other"}, r"holds fake \(quick\)"),
    ],
)
def test_folder_of_another_configuration_is_refused(tmp_path, change, told):
    Store.open(tmp_path, make_grid()).close()
    with pytest.raises(FolderError, match=told) as raised:
        Store.open(tmp_path, make_grid(**change))
    assert "restart=True" in str(raised.value)
    assert "choose another folder" in str(raised.value)


def test_folder_of_another_version_is_refused_until_restarted(tmp_path):
    grid = make_grid()
    assert run_experiment(FAKE, grid, tmp_path) == 0
    manifest = tmp_path / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"graphdict": "', '"graphdict": "9.'))
    with pytest.raises(FolderError, match=r"written by graphdict 9\."):
        Store.open(tmp_path, grid)
    Store.open(tmp_path, grid, restart=True).close()
    assert saved(tmp_path) == set()
    Store.open(tmp_path, grid).close()


def test_results_of_other_code_are_not_mixed(tmp_path, monkeypatch):
    grid = make_grid()
    assert run_experiment(FAKE, grid, tmp_path) == 0
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["code"] == code_digest()
    monkeypatch.setattr(store_module, "code_digest", lambda: "another")
    with pytest.raises(FolderError, match=rf"other code .*{code_digest()}.* would be mixed"):
        Store.open(tmp_path, grid)
    manifest["code"] = "another"  # one that lies about cells
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    store = Store.open(tmp_path, grid)
    assert store.read(grid.cells()) == {}
    store.close()


def test_the_digest_is_that_of_what_decides_results(tmp_path, monkeypatch):
    package = tmp_path / "graphdict"
    for name in ("core/mm.py", "native/loops.hpp", "viz/figures.py"):
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text("first")
    monkeypatch.setattr(code.graphdict, "__file__", str(package / "__init__.py"))
    digest = code.code_digest.__wrapped__
    first = digest()
    (package / "viz/figures.py").write_text("second")
    assert digest() == first
    for name in ("core/mm.py", "native/loops.hpp"):
        (package / name).write_text("second")
        assert digest() != first
        first = digest()


def test_words_that_decide_nothing_are_not_in_the_digest():
    before = 'x = "#1"\n\ndef f(a):\n    """One\n    two."""\n    # Why.\n    return a  # so\n'
    after = '"""A file."""\nx = "#1"\ndef f(a):\n    return a  # so\n'
    assert code.essential(before, python=True) == code.essential(after, python=True)
    for other in ("return b", "return a, 1", 'x = "#2"'):
        changed = before.replace("return a", other).replace('x = "#1"', other)
        assert code.essential(changed, python=True) != code.essential(before, python=True)
    # A string that is no docstring, and one that stands on the line of its function, stay.
    kept = 'text = """One\ntwo."""\ndef g(): """Nothing."""\n'
    assert code.essential(kept, python=True) == kept.rstrip("\n")
    loops = "// Why.\nint x = 1;  // so\n\n"
    assert code.essential(loops, python=False) == "int x = 1;  // so"


def test_chosen_fits_are_repeated_from_other_starts(tmp_path):
    grid = make_grid()
    assert run_experiment(FAKE, grid, tmp_path / "one") == 0
    assert run_experiment(FAKE, grid, tmp_path / "three", starts=3) == 0
    assert not (tmp_path / "one" / "starts.csv").exists()
    for name in TABLES:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "three" / name).read_bytes()
    assert len(saved(tmp_path / "three")) == 24 + 8 * 2
    lines = list(csv.DictReader((tmp_path / "three" / "starts.csv").read_text().splitlines()))
    assert {line["starts"] for line in lines} == {"3"}
    assert all(float(line["mcc_std_starts"]) > 0 for line in lines)


def test_unreadable_manifest_and_foreign_folder_are_refused(tmp_path):
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(FolderError, match="cannot be read"):
        Store.open(tmp_path, make_grid())
    other = tmp_path / "photos"
    other.mkdir()
    (other / "cat.png").write_bytes(b"")
    for restart in (False, True):
        with pytest.raises(FolderError, match="not a results folder"):
            Store.open(other, make_grid(), restart=restart)
    assert (other / "cat.png").exists()


def test_two_runs_do_not_share_a_folder(tmp_path):
    first = Store.open(tmp_path, make_grid())
    with pytest.raises(FolderError, match="another run"):
        Store.open(tmp_path, make_grid())
    first.close()
    Store.open(tmp_path, make_grid()).close()


def test_folder_that_disappears_is_a_clear_error(tmp_path):
    def build(model, setting, seed):
        shutil.rmtree(tmp_path / "out")
        return make_grid().build(model, setting, seed)

    with pytest.raises(click.ClickException, match="cannot write results to"):
        run_experiment(FAKE, make_grid(build=build), tmp_path / "out")


def test_damaged_cell_is_computed_again(tmp_path):
    grid = make_grid()
    assert run_experiment(FAKE, grid, tmp_path) == 0
    before = (tmp_path / "results.csv").read_bytes()
    damaged = tmp_path / "cells" / sorted(saved(tmp_path))[0]
    damaged.write_text(damaged.read_text()[:20])
    assert run_experiment(FAKE, grid, tmp_path) == 0
    assert json.loads(damaged.read_text())["status"] == "done"
    assert (tmp_path / "results.csv").read_bytes() == before
