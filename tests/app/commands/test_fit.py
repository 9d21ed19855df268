"""From a file to a model, its coefficients and a page, in one command."""

import json
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from graphdict import graphs, load_model
from graphdict.datasets import sample_lgmrf
from graphdict.files import read_signals, write_table
from graphdict.metrics import match_atoms

QUICK = ("-k", "3", "--active", "1", "--max-iter", "40", "--set", "n_init=2", "--no-evidence")


def test_a_file_becomes_a_model_coefficients_and_a_page(run, table, truth):
    result = run("fit", table, "-k", 3, "--active", 1, "--window", "0.5s")
    assert result.exit_code == 0, result.stderr
    folder = table.parent / "signals-graphdict"
    files = sorted(path.name for path in folder.iterdir())
    assert files == ["atoms.csv", "coefficients.csv", "model.graphdict", "report.html"]
    model = load_model(folder / "model.graphdict")
    assert model.window_size == 10
    assert match_atoms(truth.atoms, model.atoms_).similarity.min() > 0.8
    found = read_signals(folder / "coefficients.csv", keep_codes=True)
    assert found.names == ["atom_1", "atom_2", "atom_3"]
    np.testing.assert_allclose(found.times, np.arange(800) / 20)
    np.testing.assert_allclose(found.values, model.coefficients_, atol=1e-5)
    assert (folder / "report.html").read_text().lstrip().startswith("<!")
    assert "objective" in result.stdout
    assert "n0" in result.stdout


def test_json_says_everything_and_nothing_else(run, table):
    result = run("fit", table, *QUICK, "--json", "-o", "out")
    content = json.loads(result.stdout)
    assert content["command"] == "fit"
    assert content["input"]["samples"] == 800
    assert content["input"]["step_seconds"] == pytest.approx(0.05)
    assert content["model"]["class"] == "GraphDictMarginal"
    assert content["model"]["settings"]["n_atoms"] == 3
    assert len(content["result"]["atoms"]) == 3
    assert all(os.path.exists(path) for path in content["files"])


def test_quiet_says_nothing(run, table):
    result = run("fit", table, "-k", 2, "--active", 1, "--quiet", "--no-evidence")
    assert result.exit_code == 0
    assert result.output == ""


@pytest.mark.parametrize("model", ["log", "spectral", "spectral-relaxed", "exact", "hier"])
def test_every_model(run, table, model):
    result = run(
        "fit",
        table,
        "-k",
        3,
        "--model",
        model,
        "--window",
        40,
        "--max-iter",
        30,
        "--json",
        "--no-evidence",
    )
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["result"]["objective"] is not None


def test_tables_as_parquet(run, table):
    assert run("fit", table, *QUICK, "--table", "parquet", "-o", "out").exit_code == 0
    assert read_signals(table.parent / "out" / "coefficients.parquet").values.shape == (800, 3)


def test_one_seed_decides_everything(run, table):
    pages = []
    for folder in ("one", "two"):
        run("fit", table, *QUICK, "--seed", 5, "-o", folder)
        pages.append(load_model(table.parent / folder / "model.graphdict").atoms_)
    np.testing.assert_array_equal(*pages)


def test_the_degree_of_the_atoms_can_be_chosen(run, table):
    for degree in (2.0, 3.5):
        result = run("fit", table, *QUICK, "--window", 10, "--degree", degree, "--json", "--force")
        atoms = json.loads(result.stdout)["result"]["atoms"]
        assert np.mean([atom["degree"] for atom in atoms]) == pytest.approx(degree, rel=0.25)


def test_an_unreachable_degree_is_told(run, table):
    result = run(
        "fit", table, "-k", 3, "--model", "log", "--degree", 6.9, "--window", 10, "--no-evidence"
    )
    assert result.exit_code == 0
    assert "no penalty gives atoms of the wanted density" in result.stderr


def test_the_number_of_atoms_can_be_left_to_the_data(run, tmp_path):
    rng = np.random.default_rng(5)
    first, second = graphs.edge_index(7)
    cycle = (second - first == 1) | (second - first == 6)
    atoms = cycle * [[1.0], [0.2]] + (rng.random((2, 21)) < 0.3) * rng.uniform(0.5, 2, (2, 21))
    path = np.repeat(np.arange(20) % 2, 40)
    signals = np.asarray(sample_lgmrf(atoms[path], random_state=1))
    columns = {f"n{i}": column for i, column in enumerate(signals.T)}
    write_table(tmp_path / "switching.csv", columns, digits=10)
    result = run("fit", "switching.csv", "--set", "n_init=2", "--json")
    content = json.loads(result.stdout)
    assert content["model"]["settings"]["n_atoms"] == 2
    assert content["model"]["settings"]["max_active"] == 1
    assert content["model"]["settings"]["prior"] == "markov"  # states last, which is found out
    assert "held-out" in result.stderr
    found = content["result"]["evidence"]
    assert found["more_than_one_graph"]
    assert found["gain"] > 2 * found["error"] > 0
    assert found["p_value"] == 1 / 40
    first = content["result"]["findings"][0]
    assert first.startswith(found["in_words"])
    assert "times as probable" in first
    assert content["result"]["stability"]["came_out_again"] == [True, True]
    rows = (tmp_path / "switching-graphdict" / "atoms.csv").read_text().splitlines()
    assert rows[0] == "atom,source,target,weight,confidence,low,high"
    assert len(rows) == 1 + sum(atom["edges"] for atom in content["result"]["atoms"])
    one = json.loads(run("fit", "switching.csv", "-k", 1, "--json", "--force").stdout)
    assert one["result"]["evidence"] is None  # nothing to compare with


def columns_of(truth, **changed):
    columns = {f"n{i}": column.copy() for i, column in enumerate(truth.train.signals.T)}
    return {changed.get(name, name): values for name, values in columns.items()}


def test_columns_of_different_units_are_standardised_and_told(run, tmp_path, truth):
    columns = columns_of(truth, n0="n0 (V)", n1="n1 (K)")
    columns["n1 (K)"] = 300 + 50 * columns["n1 (K)"]
    write_table(tmp_path / "mixed.csv", columns, digits=10)
    result = run("fit", "mixed.csv", *QUICK, "--window", 10)
    assert "standardised" in result.stderr
    assert "67 times more" in result.stderr
    model = load_model(tmp_path / "mixed-graphdict" / "model.graphdict")
    assert model.table_["mean"][1] == pytest.approx(columns["n1 (K)"].mean())
    # A column that is far from the others in level and spread still has its neighbours.
    assert (model.atoms_.sum(axis=0) > 0).any()
    untouched = run("fit", "mixed.csv", *QUICK, "--standardise", "no", "--window", 10, "-o", "raw")
    assert "taken as they are" in untouched.stderr


def test_series_too_short_for_their_settings_are_refused_before_work_begins(run, tmp_path, truth):
    values = truth.train.signals[:4]
    write_table(tmp_path / "few.csv", {f"n{i}": v for i, v in enumerate(values.T)})
    many = run("fit", "few.csv", "-k", 5)
    assert many.exit_code == 2
    assert "5 graphs are more than the 4 there may be: 4 samples" in many.stderr
    auto = run("fit", "few.csv")
    assert auto.exit_code == 3
    assert "too few to choose the number of graphs" in auto.stderr


def test_standardising_keeps_unlike_spreads_from_joining_columns(run, tmp_path):
    values = np.random.default_rng(5).standard_normal((400, 8))
    values[:, :2] /= 5  # independent columns, two of them with a fifth of the spread
    write_table(tmp_path / "noise.csv", {f"n{i}": v for i, v in enumerate(values.T)}, digits=10)
    edge = {}
    for how in ("auto", "no"):
        options = ("-k", 1, "--standardise", how, "--json", "-o", how)
        found = json.loads(run("fit", "noise.csv", *options).stdout)
        assert found["preprocessing"]["standardised"] == {"auto": "yes", "no": "no"}[how]
        atom = load_model(tmp_path / how / "model.graphdict").atoms_[0]
        edge[how] = atom[0] / np.median(atom)
    assert edge["no"] > 5
    assert edge["auto"] < 2


def test_missing_values_are_told_and_survive(run, tmp_path, truth):
    columns = columns_of(truth)
    columns["n3"][::17] = np.nan
    write_table(tmp_path / "gappy.csv", columns, digits=10)
    for how in ("auto", "interpolate", "drop"):
        result = run("fit", "gappy.csv", *QUICK, "--missing", how, "-o", how)
        assert result.exit_code == 0, result.stderr
        assert "48 missing" in result.stderr
    rows = len(load_model(tmp_path / "drop" / "model.graphdict").coefficients_)
    assert rows == 800 - 48
    assert "left out 48 row(s)" in result.stderr


def test_a_model_that_takes_no_missing_values_gets_them_filled_in(
    run, tmp_path, truth, monkeypatch
):
    monkeypatch.setattr("graphdict.app.commands.reading.accepts_missing", lambda model: False)
    columns = columns_of(truth)
    columns["n3"][::17] = np.nan
    write_table(tmp_path / "gappy.csv", columns, digits=10)
    assert "filled in 48" in run("fit", "gappy.csv", *QUICK).stderr
    refused = run("fit", "gappy.csv", *QUICK, "--missing", "keep", "-o", "other")
    assert refused.exit_code == 2
    assert "--missing interpolate or drop" in refused.stderr


def test_changes_instead_of_levels(run, tmp_path, truth):
    prices = np.exp(np.cumsum(truth.train.signals / 20, axis=0))
    write_table(tmp_path / "prices.csv", {f"p{i}": p for i, p in enumerate(prices.T)}, digits=12)
    result = run("fit", "prices.csv", *QUICK, "--changes", "relative", "--window", 10)
    assert result.exit_code == 0, result.stderr
    assert len(load_model(tmp_path / "prices-graphdict/model.graphdict").coefficients_) == 799
    again = run("transform", "prices-graphdict", "prices.csv")
    assert "799 rows" in again.stdout


WRONG_OPTIONS = [
    (["--window", "0"], "whole number"),
    (["--window", "5 apples"], "expected samples"),
    (["--window", "9999"], "more than the 800"),
    (["--window", "1ms"], "shorter than the 50 ms between samples"),
    (["-k", "auto", "--active", "auto", "--set", "prior=hierarchy"], "such as -k 7"),
    (["--degree", "3", "--density", "0.2"], "one of --degree"),
    (["--degree", "80"], "at most 7 neighbours"),
    (["--model", "log", "-k", "auto"], "-k auto needs"),
    (["-k", "0"], "from 1, or auto"),
    (["-k", "many"], "from 1, or auto"),
    (["--set", "colour=red"], "NAME=VALUE"),
    (["--model", "log"], "--active: --model log has no limit"),
    (["--model", "hier"], "use -k 1 or 3"),
    (["--model", "hier", "-k", "1601"], "use -k 1599"),
]


@pytest.mark.parametrize(("options", "words"), WRONG_OPTIONS)
def test_options_that_make_no_sense(run, table, options, words):
    result = run("fit", table, "-k", 2, "--active", 1, "--no-evidence", *options)
    assert result.exit_code == 2
    assert words in result.stderr
    assert not (table.parent / "signals-graphdict").exists()


def test_options_without_effect_are_named(run, table):
    result = run("fit", table, "-k", 2, "--model", "hier", "--window", 200, "--max-iter", 5)
    assert result.exit_code == 0, result.stderr
    assert "4 windows, which has 7 atoms; -k 2 has no effect" in result.stderr
    result = run("fit", table, "-k", 3, "--active", 1, "--set", "prior=hierarchy", "-o", "tree")
    assert "--active 1 has no effect" in result.stderr


def test_a_hierarchy_has_no_choice_of_active_atoms(run, table):
    result = run("fit", table, "-k", 3, "--set", "prior=hierarchy", "--json")
    assert result.exit_code == 0, result.stderr
    model = json.loads(result.stdout)["model"]
    assert model["settings"]["prior"] == "hierarchy"
    assert model["chosen"] == {}
    result = run("fit", table, *QUICK, "--set", "prior=free", "--json", "-o", "free")
    assert json.loads(result.stdout)["model"]["settings"]["prior"] == "free"


def test_seconds_need_times(run, table):
    result = run("fit", table, "-k", 2, "--ignore", "time (s)", "--window", "2s")
    assert result.exit_code == 2
    assert "--rate" in result.stderr
    assert (
        run("fit", table, *QUICK, "--ignore", "time (s)", "--window", "2s", "--rate", 5).exit_code
        == 0
    )


def test_results_are_never_replaced_unasked(run, table):
    assert run("fit", table, *QUICK).exit_code == 0
    model = table.parent / "signals-graphdict" / "model.graphdict"
    before = model.read_bytes()
    result = run("fit", table, "-k", 2, "--active", 1, "--no-evidence")
    assert result.exit_code == 4
    assert "exists already" in result.stderr
    assert result.stderr.count("\n") == 1
    assert model.read_bytes() == before
    assert run("fit", table, "-k", 2, "--active", 1, "--force", "--no-evidence").exit_code == 0
    assert model.read_bytes() != before


def test_bad_files_end_in_one_line_and_nothing_written(run, tmp_path):
    (tmp_path / "bad.csv").write_text("a,b,c\n1,2,3\n1,2\n1,2,3\n4,5,6\n")
    result = run("fit", "bad.csv", "-k", 2)
    assert result.exit_code == 3
    assert result.stdout == ""
    assert result.stderr.startswith("Error: bad.csv line 3 has 2 value(s)")
    assert result.stderr.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.csv"]


def test_names_cannot_steer_the_terminal(run, tmp_path, truth):
    columns = columns_of(truth, n0="\x1b[31mred", n1="\u202etfel", n2="a\rb")
    write_table(tmp_path / "odd\x07.csv", columns, digits=10)
    result = run("fit", "odd\x07.csv", *QUICK, "-o", "out")
    assert result.exit_code == 0, result.stderr
    for text in (result.stdout, result.stderr, run("info", "out").stdout):
        assert not set(text) & set("\x1b\u202e\x07\r")
    assert "\\x1b[31mred" in result.stdout + run("info", "odd\x07.csv").stdout


@pytest.fixture
def ctrl_c(monkeypatch):
    """Return a function that lets the user press Ctrl-C when a module has been asked so often."""

    def press(where, after):
        left = [after]

        def interrupt(*args, **kwargs):
            left[0] -= 1
            if left[0] < 0:
                raise KeyboardInterrupt

        monkeypatch.setattr(where, interrupt)

    return press


def test_ctrl_c_before_there_is_a_result_writes_nothing(run, table, ctrl_c):
    ctrl_c("graphdict.app.commands.learning.choose_counts", 0)
    result = run("fit", table, *QUICK)
    assert result.exit_code == 130
    assert result.stderr.splitlines()[-1].startswith("Error: stopped before there was a result")
    assert "Traceback" not in result.output
    assert [path.name for path in table.parent.iterdir()] == [table.name]


def test_ctrl_c_in_a_fit_keeps_what_is_learned_and_says_so(run, table, ctrl_c):
    ctrl_c("graphdict.engine.progress.tell", 8)
    result = run("fit", table, *QUICK, "-o", "out", "--json")
    assert result.exit_code == 130, result.stderr
    said = json.loads(result.stdout)
    assert said["stopped"]
    assert said["result"]["findings"][0].startswith("Stopped by Ctrl-C after ")
    assert (table.parent / "out" / "report.html").exists()
    assert load_model(table.parent / "out" / "model.graphdict").atoms_.any()


def test_ctrl_c_while_learning_again_keeps_the_fit(run, table, ctrl_c):
    ctrl_c("graphdict.selection.stability", 0)
    result = run("fit", table, *QUICK, "--evidence", "-o", "out")
    assert result.exit_code == 130, result.stderr
    assert "Stopped by Ctrl-C before it was learned again" in result.stdout
    assert (table.parent / "out" / "report.html").exists()


def test_a_full_disk_ends_in_one_line_and_leaves_nothing(table):
    script = textwrap.dedent(
        f"""
        import resource, signal
        from graphdict.app.cli import main
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
        main(["fit", {str(table)!r}, "-k", "2", "--active", "1", "-o", "out"])
        """
    )
    result = subprocess.run(
        [sys.executable, "-c", script],
        cwd=table.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 5
    assert result.stderr.splitlines()[-1].startswith("Error: cannot write")
    assert "Traceback" not in result.stderr
    assert [path.name for path in table.parent.iterdir()] == [table.name]


def test_an_output_that_cannot_be_written(run, table):
    (table.parent / "file").write_text("")
    assert run("fit", table, *QUICK, "-o", "file").exit_code == 2
    result = run("fit", table, *QUICK, "-o", "file/below")
    assert result.exit_code == 5
    assert "cannot write" in result.stderr


def test_what_was_done_to_the_columns_is_in_the_page_and_in_info(run, tmp_path):
    rng = np.random.default_rng(0)
    prices = 100 + rng.normal(size=(300, 4)).cumsum(axis=0)
    path = tmp_path / "prices.csv"
    np.savetxt(path, prices, delimiter=",", header="a,b,c,d", comments="")
    folder = tmp_path / "out"
    done = run("fit", path, "-k", "2", "--active", "1", "-o", folder, "--no-evidence")
    assert "columns drift slowly" in done.stderr
    assert "samples are treated as independent" in done.stderr
    assert "columns are standardised" in (folder / "report.html").read_text(encoding="utf-8")
    told = run("info", folder)
    assert "columns are standardised" in told.stdout + told.stderr
