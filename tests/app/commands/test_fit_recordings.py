"""``graphdict fit`` of several files: what is written, counted, left out and refused."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from graphdict import load_model
from graphdict.app.cli import main

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
    return CliRunner().invoke(main, ["fit", *map(str, arguments)])


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
    done = CliRunner().invoke(main, ["transform", "out", "data", "-o", "new.csv"])
    assert done.exit_code == 0, done.output
    assert "left out: data/broken.csv" in done.output
    table, trained = pd.read_csv(folder / "new.csv"), pd.read_csv(folder / "out/coefficients.csv")
    pd.testing.assert_frame_equal(table, trained, atol=1e-4)
