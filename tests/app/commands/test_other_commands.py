"""What comes after a fit, and before it: transform, report, info, simulate, completion."""

import csv
import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from graphdict import load_model
from graphdict.files import read_signals, write_table


@pytest.fixture
def fitted(run, table):
    arguments = ("-k", 3, "--active", 1, "--window", 10, "--set", "n_init=2", "-q", "--no-evidence")
    assert run("fit", table, *arguments, "-o", "out").exit_code == 0
    return table.parent / "out"


def test_transform_of_the_training_file_gives_its_coefficients(run, table, fitted):
    result = run("transform", fitted, table)
    assert result.exit_code == 0, result.stderr
    found = read_signals(table.parent / "signals-coefficients.csv", keep_codes=True)
    model = load_model(fitted / "model.graphdict")
    np.testing.assert_allclose(found.values, model.coefficients_, atol=1e-4)
    assert run("transform", fitted, table).exit_code == 4


def test_transform_matches_columns_by_name(run, table, fitted, truth):
    columns = {f"n{i}": c for i, c in reversed(list(enumerate(truth.train.signals.T)))}
    write_table(table.parent / "shuffled.csv", {**columns, "extra": np.arange(800) % 7}, digits=10)
    assert run("transform", fitted, "shuffled.csv", "-o", "a.parquet").exit_code == 0
    found = read_signals(table.parent / "a.parquet", ignore=("sample",), keep_codes=True).values
    model = load_model(fitted / "model.graphdict")
    np.testing.assert_allclose(found, model.coefficients_, atol=1e-4)
    del columns["n5"]
    write_table(table.parent / "less.csv", columns, digits=10)
    result = run("transform", fitted, "less.csv")
    assert result.exit_code == 3
    assert "lacks 1 column(s) of the model: 'n5'" in result.stderr


def test_a_single_sample_and_a_dead_sensor_have_coefficients(run, table, fitted, truth):
    model = load_model(fitted / "model.graphdict")
    x = truth.test.signals[:3].copy()
    x[:, 2] = np.nan
    for rows in (1, 2, 3):
        text = ",".join(f"n{i}" for i in range(8)) + ",\n"  # and a column of nothing
        for row in x[:rows]:
            text += ",".join("" if np.isnan(v) else repr(float(v)) for v in row) + ",\n"
        (table.parent / "few.csv").write_text(text)
        result = run("transform", fitted, "few.csv", "-o", "few.npy", "--force")
        assert result.exit_code == 0, result.stderr
        assert "--transpose" not in result.stderr
        found = np.load(table.parent / "few.npy")
        scaled = (x[:rows] - model.table_["mean"]) / model.table_["scale"]
        frame = pd.DataFrame(scaled, columns=model.node_names)
        np.testing.assert_allclose(found, model.transform(frame), atol=1e-6)
        assert run("report", fitted, "few.csv", "-o", "few.html", "--force").exit_code == 0


def test_transform_refuses_what_is_no_model(run, table):
    result = run("transform", table, table)
    assert result.exit_code == 3
    assert result.stderr.count("\n") == 1
    assert run("transform", "nothing", table).exit_code == 3


def test_report_again_and_of_other_signals(run, table, fitted):
    assert run("report", fitted).exit_code == 0
    assert (table.parent / "report.html").stat().st_size > 10_000
    assert run("report", fitted).exit_code == 4
    result = run("report", fitted, table, "-o", "new.html", "--title", "<script>alert(1)</script>")
    assert result.exit_code == 0, result.stderr
    assert "<script>alert(1)</script>" not in (table.parent / "new.html").read_text()


def test_averaged_atoms_have_the_edges_that_are_probable(run, table):
    arguments = ("-k", 2, "--active", 1, "--window", 10, "--set", "n_init=2", "--no-evidence")
    assert run("fit", table, *arguments, "--set", "average=10", "-o", "out").exit_code == 0
    model = load_model(table.parent / "out" / "model.graphdict")
    held = model.edge_probabilities_ >= 0.5
    assert not held.all()
    with (table.parent / "out" / "atoms.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [int(row["atom"]) for row in rows] == [k + 1 for k in np.nonzero(held)[0]]
    told = [float(row["probability"]) for row in rows]
    np.testing.assert_allclose(told, model.edge_probabilities_[held], rtol=1e-5)
    about = json.loads(run("info", "out", "--json").stdout)
    assert [atom["edges"] for atom in about["atoms"]] == held.sum(axis=1).tolist()


def test_a_report_of_other_signals_knows_where_nodes_are_silent(run, tmp_path, truth):
    signals = truth.train.signals - truth.train.signals.mean(axis=1, keepdims=True)
    names = [f"n{i}" for i in range(8)]
    write_table(tmp_path / "old.csv", dict(zip(names, signals.T)), digits=17)
    signals[5, 3] = np.delete(signals[5], 3).mean()
    write_table(tmp_path / "new.csv", dict(zip(names, signals.T)), digits=17)
    arguments = ("-k", 3, "--active", 1, "--set", "prior=hierarchy", "--standardise", "no")
    assert run("fit", "old.csv", *arguments, "-o", "out").exit_code == 0
    for file, silent in (("old.csv", False), ("new.csv", True)):
        assert run("report", "out", file, "-o", "page.html", "--force").exit_code == 0
        assert ("exactly silent" in (tmp_path / "page.html").read_text()) is silent


def test_info_of_a_table_and_of_a_model(run, table, fitted):
    about = json.loads(run("info", table, "--json").stdout)
    assert about["kind"] == "signals"
    assert (about["samples"], about["nodes"], about["time"]) == (800, 8, "time (s)")
    assert about["columns"][0]["name"] == "n0"
    model = json.loads(run("info", fitted / "model.graphdict", "--json").stdout)
    assert model["kind"] == "model"
    assert model["class"] == "GraphDictMarginal"
    assert model["about"]["source"] == "signals.csv"
    text = run("info", fitted).stdout
    assert "GraphDictMarginal of 3 atoms on 8 nodes" in text
    assert "nodes" in run("info", table).stdout


@pytest.mark.parametrize("process", ["superposition", "switching", "evolving"])
def test_simulated_files_hold_signals_and_truth(run, tmp_path, process):
    arguments = ("simulate", process, "-k", 3, "--nodes", 6, "--samples", 90)
    arguments += ("--duration", 3, "-o", "x.csv")
    assert run(*arguments, "--missing", 0.1).exit_code == 0
    signals = read_signals(tmp_path / "x.csv")
    assert signals.values.shape == (90, 6)
    assert 20 < signals.missing < 90
    truth = read_signals(tmp_path / "x-coefficients.csv", time="time (s)")
    assert truth.values.shape[0] == 90
    assert (tmp_path / "x-atoms.csv").read_text().startswith("atom,source,target,weight\n1,n1,")
    assert run(*arguments).exit_code == 4
    first = (tmp_path / "x.csv").read_bytes()
    assert run(*arguments, "--missing", 0.1, "--force").exit_code == 0
    assert (tmp_path / "x.csv").read_bytes() == first


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(run, shell):
    result = run("completion", shell)
    assert result.exit_code == 0
    assert "_GRAPHDICT_COMPLETE" in result.stdout


def test_completion_completes():
    script = "from graphdict.app.cli import main; main(prog_name='graphdict')"
    typed = {"COMP_WORDS": "graphdict fit --deg", "COMP_CWORD": "2"}
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True,
        env={**os.environ, **typed, "_GRAPHDICT_COMPLETE": "bash_complete"},
    )  # fmt: skip
    assert "--degree" in result.stdout


@pytest.mark.parametrize("command", ["fit", "transform", "report", "info", "simulate"])
def test_help_has_examples_and_exit_codes(run, command):
    text = run(command, "--help").stdout
    assert "Examples:" in text
    assert f"graphdict {command}" in text
    assert "Exit codes:" in text
