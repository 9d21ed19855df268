"""``graphdict fit`` of several files: what is written, counted, left out and refused."""

import json

import numpy as np
import pandas as pd
import pytest

from graphdict import load_model
from graphdict.app.cli import main
from invoking import invoke

PLAIN = ["-k", "2", "--active", "1", "--no-evidence", "--set", "n_init=1", "--set", "max_iter=10"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A study of three tables, in the folder ``data``."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    (tmp_path / "data").mkdir()
    for name, rows in (("ann", 60), ("bob", 45), ("cid", 50)):
        table = pd.DataFrame(rng.standard_normal((rows, 4)), columns=list("abcd"))
        table.to_csv(tmp_path / "data" / f"{name}.csv", index=False)
    return tmp_path


def run(*arguments):
    return invoke(main, "fit", *arguments)


@pytest.mark.parametrize(
    "given", [["data"], ["data/*.csv"], ["data/ann.csv", "data/bob.csv", "data/cid.csv"]]
)
def test_files_folders_and_patterns_are_recordings(folder, given):
    found = run(*given, *PLAIN, "-o", "out", "--json")
    assert found.exit_code == 0, found.output
    said = json.loads(found.stdout)
    assert said["input"]["recordings"] == {"ann": 60, "bob": 45, "cid": 50}
    table = pd.read_csv(folder / "out/coefficients.csv")
    assert list(table.columns) == ["recording", "sample", "atom_1", "atom_2"]
    assert table["recording"].value_counts().to_dict() == {"ann": 60, "bob": 45, "cid": 50}
    assert table.groupby("recording")["sample"].max().to_dict() == {"ann": 60, "bob": 45, "cid": 50}
    model = load_model(folder / "out/model.graphdict")
    assert model.recordings_.names == ("ann", "bob", "cid")


def test_files_that_cannot_be_read_are_named_and_the_others_go_on(folder):
    (folder / "data/broken.csv").write_text("a,b\nx,y\n")
    found = run("data", *PLAIN, "-o", "out")
    assert found.exit_code == 0, found.output
    assert "left out: data/broken.csv" in found.output
    assert "3 recordings, 155 samples in all" in found.output


def test_nodes_that_a_file_lacks_are_named(folder):
    table = pd.read_csv(folder / "data/bob.csv")
    table[["d", "a", "b"]].to_csv(folder / "data/bob.csv", index=False)
    found = run("data", *PLAIN, "-o", "out")
    assert found.exit_code == 0, found.output
    assert "recording 'bob' lacks 'c'" in found.output


def test_new_files_may_lack_nodes_as_those_of_the_fit_may(folder):
    assert run("data", *PLAIN, "-o", "out").exit_code == 0
    pd.read_csv(folder / "data/bob.csv").drop(columns="c").to_csv("less.csv", index=False)
    found = invoke(main, "transform", "out", "data/ann.csv", "less.csv", "-o", "new.csv")
    assert found.exit_code == 0, found.output
    assert "less.csv lacks 1 column(s) of the model: 'c'; they are missing" in found.output
    assert list(pd.read_csv("new.csv")["recording"].unique()) == ["ann", "less"]


def test_recordings_of_several_rates_have_durations_in_samples(folder):
    for step, name in ((0.01, "ann"), (0.004, "bob")):
        table = pd.read_csv(folder / f"data/{name}.csv")
        table.insert(0, "time", step * np.arange(len(table)))
        table.to_csv(folder / f"data/{name}.csv", index=False)
    found = run("data/ann.csv", "data/bob.csv", *PLAIN, "-o", "out")
    assert found.exit_code == 0, found.output
    assert "seconds between samples (0.004 in 'bob', 0.01 in 'ann')" in found.output
    found = invoke(main, "compare", "out")
    assert "times are in samples, since there is no common sampling rate" in found.output


def test_what_cannot_be_one_study_is_refused(folder):
    pd.read_csv(folder / "data/bob.csv").set_axis(list("wxyz"), axis=1).to_csv(
        folder / "data/bob.csv", index=False
    )
    found = run("data", *PLAIN, "-o", "out")
    assert found.exit_code != 0
    assert "recording 'bob' has no node in common" in found.output
    (folder / "empty").mkdir()
    assert "folder without files" in run("empty").output
    assert "matches no file" in run("none*.csv").output
    (folder / "bad.csv").write_text("a,b\nx,y\n")
    assert "1 of 2 files could be read" in run("data/ann.csv", "bad.csv", *PLAIN).output


def test_new_recordings_are_coded_together(folder):
    assert run("data", *PLAIN, "-o", "out").exit_code == 0
    (folder / "data/broken.csv").write_text("a,b\nx,y\n")
    done = invoke(main, "transform", "out", "data", "-o", "new.csv")
    assert done.exit_code == 0, done.output
    assert "left out: data/broken.csv" in done.output
    table, trained = pd.read_csv(folder / "new.csv"), pd.read_csv(folder / "out/coefficients.csv")
    pd.testing.assert_frame_equal(table, trained, atol=1e-4)


@pytest.fixture
def study(tmp_path, monkeypatch):
    """One table of three recordings whose rows alternate, with times that begin anew in each."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    parts = []
    for number, (name, rows) in enumerate((("cid", 60), ("ann", 45), ("bob", 50))):
        table = pd.DataFrame(rng.standard_normal((rows, 4)).cumsum(axis=0), columns=list("abcd"))
        table.insert(0, "seconds", 0.5 * np.arange(rows))
        table.insert(0, "subject", name)
        parts.append(table.assign(age=30 + number, flag=(np.arange(rows) == 3) * (number > 0)))
    whole = pd.concat(parts).sort_values("seconds", kind="stable", ignore_index=True)
    whole.to_csv(tmp_path / "study.csv", index=False)
    return whole


GROUP = ["study.csv", "--group", "subject"]


@pytest.mark.parametrize("changes", ["none", "difference"])
def test_a_column_of_recordings_is_as_many_files(study, tmp_path, changes):
    (tmp_path / "data").mkdir()
    for name, part in study.groupby("subject"):
        part[["seconds", *"abcd"]].to_csv(tmp_path / "data" / f"{name}.csv", index=False)
    same = [*PLAIN, "--changes", changes, "--time", "seconds"]
    found = run(*GROUP, *same, "-o", "one", "--json")
    assert found.exit_code == 0, found.output
    lost = changes != "none"
    lengths = {"cid": 60 - lost, "ann": 45 - lost, "bob": 50 - lost}
    said = json.loads(found.stdout)["input"]["recordings"]
    assert said == lengths
    assert list(said) == ["cid", "ann", "bob"]  # in order of first appearance
    files = [f"data/{name}.csv" for name in ("cid", "ann", "bob")]
    assert run(*files, *same, "-o", "many").exit_code == 0
    one, many = (load_model(tmp_path / name / "model.graphdict") for name in ("one", "many"))
    assert list(one.node_names) == list("abcd")  # neither ages nor flags are signals
    np.testing.assert_array_equal(one.coefficients_, many.coefficients_)
    new = [*GROUP, "--time", "seconds", "-o", "new.csv"]
    done = invoke(main, "transform", "one", *new)
    assert done.exit_code == 0, done.output
    trained = pd.read_csv("one/coefficients.csv")
    pd.testing.assert_frame_equal(pd.read_csv("new.csv"), trained, atol=1e-4)


def test_long_tables_have_recordings_too(study):
    long = study.drop(columns=["age", "flag"]).melt(["subject", "seconds"], var_name="node")
    long.to_csv("long.csv", index=False)
    found = run("long.csv", "--group", "subject", *PLAIN, "-o", "long")
    assert found.exit_code == 0, found.output
    assert run(*GROUP, *PLAIN, "-o", "wide").exit_code == 0
    long, wide = (load_model(f"{name}/model.graphdict") for name in ("long", "wide"))
    assert long.recordings_ == wide.recordings_
    np.testing.assert_allclose(long.coefficients_, wide.coefficients_)


def test_numbers_name_recordings(study):
    codes = study["subject"].map({"cid": 1000001, "ann": 1000002, "bob": 7})
    study.assign(subject=codes).to_csv("study.csv", index=False)
    found = run(*GROUP, *PLAIN, "-o", "out", "--json")
    assert found.exit_code == 0, found.output
    assert list(json.loads(found.stdout)["input"]["recordings"]) == ["1000001", "1000002", "7"]


def test_nodes_that_a_recording_lacks_are_missing_there(study):
    study.loc[study["subject"] == "ann", "c"] = np.nan
    study.to_csv("study.csv", index=False)
    for missing in ("auto", "interpolate"):
        found = run(*GROUP, *PLAIN, "--missing", missing, "-o", missing)
        assert found.exit_code == 0, found.output
        assert "recording 'ann' lacks 'c'" in found.output


def test_groups_that_are_no_recordings_are_refused(study):
    found = run("study.csv", "--group", "patient", *PLAIN)
    assert found.exit_code != 0
    assert "no column 'patient', which --group names; its columns are 'subject', " in found.output
    study.assign(subject=study["subject"].where(study.index > 0, "dan")).to_csv("short.csv")
    assert "of a single row by column 'subject': 'dan'" in run("short.csv", *GROUP[1:]).output
    study.assign(subject="ann").to_csv("same.csv", index=False)
    assert "one value in column 'subject', 'ann'" in run("same.csv", *GROUP[1:]).output
    study.assign(subject=study["subject"].where(study.index != 4)).to_csv("gap.csv", index=False)
    assert "'subject' which recording line 6 is" in run("gap.csv", *GROUP[1:]).output
    assert "--group subject is for one table" in run("same.csv", *GROUP).output
    back = study.assign(seconds=-study["seconds"])
    back.to_csv("back.csv", index=False)
    assert (
        "(recording 'cid') time column 'seconds' runs backwards"
        in run("back.csv", *GROUP[1:]).output
    )


def test_few_recordings_are_compared_with_one_graph_by_blocks_of_time(study):
    settings = ["-k", "2", "--active", "1", "--set", "n_init=1", "--set", "max_iter=10"]
    found = run(*GROUP, *settings, "--changes", "difference", "-o", "out", "--json")
    assert found.exit_code == 0, found.output
    said = json.loads(found.stdout)["result"]["evidence"]
    assert not said["more_than_one_graph"]  # they are white noise
    assert said["blocks"] > 5
