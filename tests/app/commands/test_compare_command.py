"""graphdict compare: from tables of coefficients to tests."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from graphdict import GraphDictMarginal
from graphdict.app.cli import main
from graphdict.studies import activation_statistics
from invoking import invoke

SUBJECTS = 6


@pytest.fixture
def study(tmp_path, monkeypatch):
    """Coefficients of six subjects, open and closed: atom 2 is more frequent where closed."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    tables, rows = [], []
    for subject in range(SUBJECTS):
        for eyes, share in (("open", 0.3), ("closed", 0.6)):
            name = f"s{subject}-{eyes}"
            labels = (rng.random(200) < share + 0.05 * rng.standard_normal()).astype(int)
            table = pd.DataFrame(np.eye(2)[labels], columns=["atom_1", "atom_2"])
            table.insert(0, "time", np.arange(200) / 50)
            table.insert(0, "recording", name)
            tables.append(table)
            rows.append((f"{name}.edf", f"s{subject}", eyes, 20 + subject, "ab"[subject % 2]))
    pd.concat(tables).to_csv("coefficients.csv", index=False)
    columns = ["recording", "subject", "eyes", "age", "group"]
    runs = pd.DataFrame(rows, columns=columns)
    runs.to_csv("runs.csv", index=False)
    return runs


def test_conditions_are_compared(study):
    done = invoke(main, "compare", "coefficients.csv", "--table", "runs.csv", "--condition", "eyes",
                  "--subject", "subject", "-o", "out")  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "Conditions closed, open of 6 subjects (all 64 arrangements" in done.stdout
    assert "Occupancy of atom 2" in done.stdout
    tests = pd.read_csv("out/tests.csv")
    assert tests.p_corrected.max() == pytest.approx(2 / 64)
    assert (tests.effect[tests.atom == 2] < 0).all()  # open minus closed
    statistics = pd.read_csv("out/statistics.csv")
    assert set(statistics.columns) == {"recording", "atom", "to", "measure", "value"}
    lifetimes = statistics[statistics.measure == "lifetime"].value
    assert lifetimes.between(1 / 50, 1).all()  # in seconds, by the column of times
    with open("out/effects.png", "rb") as picture:
        assert picture.read(4) == b"\x89PNG"
    again = invoke(main, "compare", "coefficients.csv", "-o", "out")
    assert again.exit_code == 4


def test_several_tests_as_json(study):
    done = invoke(main, "compare", "coefficients.csv", "--table", "runs.csv", "--group", "group",
                  "--covariate", "age", "--subject", "subject", "--measure", "lifetime",
                  "--measure", "switching_rate", "--json")  # fmt: skip
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert [test["test"] for test in found["tests"]] == ["group group", "covariate age"]
    assert found["samples_per_second"] == 50
    assert len(found["tests"][0]["rows"]) == 3
    assert "subjects" in found["tests"][0]["question"]


def test_a_table_for_each_recording(study):
    table = pd.read_csv("coefficients.csv")
    names = []
    for name, part in table.groupby("recording"):
        part.drop(columns="recording").to_csv(f"{name}-coefficients.csv", index=False)
        names.append(f"{name}-coefficients.csv")
    done = invoke(main, "compare", *names, "--table", "runs.csv", "--condition", "eyes",
                  "--subject", "subject")  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "12 recordings, 2 atoms" in done.output


def test_the_model_of_a_fit_to_several_recordings(study):
    rng = np.random.default_rng(0)
    signals = {Path(name).stem: rng.standard_normal((60, 5)) for name in study.recording}
    model = GraphDictMarginal(2, max_active=1, n_init=1, max_iter=5, random_state=0).fit(signals)
    model.save("model.graphdict")
    done = invoke(main, "compare", "model.graphdict", "--table", "runs.csv", "--condition", "eyes",
                  "--subject", "subject", "--rate", "60")  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "12 recordings, 2 atoms" in done.output
    found = activation_statistics(model, 60.0).to_pandas()
    written = pd.read_csv("comparison/statistics.csv")
    np.testing.assert_allclose(written.value, found.value, rtol=1e-5)
    model.fit(signals["s0-open"]).save("one.graphdict")
    done = invoke(main, "compare", "one.graphdict", "-o", "other")
    assert done.exit_code == 3
    assert "is the fit of one recording" in done.output


def test_recordings_without_a_label_are_left_out_and_told(study):
    study["age"] = study["age"].astype(float)
    study.loc[[0, 1], "age"] = np.nan
    study.loc[12] = ["stranger", "s9", "open", 40, "a"]
    study.to_csv("runs.csv", index=False)
    done = invoke(main, "compare", "coefficients.csv", "--table", "runs.csv", "--covariate", "age")
    assert done.exit_code == 0, done.output
    assert "left out 2 recording(s) without age: s0-open, s0-closed" in done.output
    assert "left out 1 row(s) of runs.csv that are no recording: stranger" in done.output


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--group", "group"], 2, "give both"),
        (["--table", "runs.csv"], 2, "--table needs --group"),
        (["--table", "runs.csv", "--condition", "eyes"], 2, "needs --subject"),
        (["--table", "runs.csv", "--group", "sex"], 3, "has no column 'sex'; it has recording"),
        (["--table", "none.csv", "--group", "sex"], 3, "none.csv does not exist"),
        (["--table", "runs.csv", "--covariate", "eyes"], 3, "must be numbers for --covariate"),
        (["--table", "few.csv", "--group", "group"], 3, "lacks 1 of 12 recordings: s5-closed"),
        (["--table", "one.csv", "--group", "group"], 3, "group b has a single member (s0-open)"),
        (["--table", "runs.csv", "--group", "eyes", "--subject", "subject"], 3, "subject s0 has"),
        (["--measure", "length"], 3, "measures must be some of"),
    ],
)
def test_what_is_wrong_is_named(study, options, code, said):
    study[:-1].to_csv("few.csv", index=False)
    study.assign(group=["b"] + 11 * ["a"]).to_csv("one.csv", index=False)
    done = invoke(main, "compare", "coefficients.csv", *options)
    assert done.exit_code == code, done.output
    assert said in done.output


def test_what_is_no_table_of_coefficients_is_named(study):
    done = invoke(main, "compare", "runs.csv")
    assert done.exit_code == 3
    assert "has no columns atom_1" in done.output
    done = invoke(main, "compare", "coefficients.csv", "coefficients.csv")
    assert "recording s0-open occurs twice" in done.output
