"""``graphdict experiment`` as it is typed."""

import pytest
from fake_experiment import FAKE, report

from graphdict.app.experiments import EXPERIMENTS, Experiment, time_varying
from graphdict.app.experiments.command import _command, experiment
from graphdict.app.experiments.grids import Grid
from graphdict.app.experiments.published import TABLE_I
from graphdict.app.experiments.tables import choose, summarise
from invoking import invoke as invoke_command


def invoke(*arguments):
    return invoke_command(experiment, *arguments)


def test_help_names_both_experiments():
    said = invoke("--help").output
    for name in EXPERIMENTS:
        assert name in said
    assert "--restart" in invoke("superposition", "--help").output


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_unknown_names_list_the_known_ones(name, tmp_path):
    grid = EXPERIMENTS[name].grid("quick")
    result = invoke(
        name, "--output", tmp_path / "out", "--models", f"{next(iter(grid.models))},GraphDict"
    )
    assert result.exit_code == 2
    assert "unknown model 'GraphDict'" in result.output
    for model in grid.models:
        assert model in result.output
    result = invoke(name, "--output", tmp_path / "out", "--data", "s9")
    assert result.exit_code == 2
    assert "unknown data set 's9'" in result.output
    for data in grid.data:
        assert data in result.output
    result = invoke(name, "--output", tmp_path / "out", "--seeds", "17")
    assert result.exit_code == 2
    assert "unknown seed 17; known: 0" in result.output
    assert invoke(name, "--seeds", "one").exit_code == 2
    assert not (tmp_path / "out").exists()


def test_mismatch_is_a_clear_error(tmp_path):
    fake = _command("fake", FAKE)
    assert invoke_command(fake, "--output", tmp_path, "--jobs", 1).exit_code == 0
    result = invoke("superposition", "--output", tmp_path)
    assert result.exit_code == 2
    assert "holds fake (quick), not this superposition (quick)" in " ".join(result.output.split())
    assert "--restart" in result.output
    assert "--output" in result.output


def test_failure_ends_with_a_code(tmp_path):
    def grid(scale):
        base = FAKE.grid(scale)
        return Grid(
            "fake", scale, base.data, {"Careful": [{"how": "fail"}]}, (0,), base.draw, base.build
        )

    failing = _command("fake", Experiment("", grid, report))
    result = invoke_command(failing, "--output", tmp_path, "--jobs", 1)
    assert result.exit_code == 1
    assert "2 of 2 cells failed" in result.output


def test_real_cells_make_tables_and_figures(tmp_path):
    result = invoke(
        "time-varying", "--output", tmp_path, "--jobs", 1, "--models", "GraphDictLog",
        "--data", "emeg-512x1",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert (tmp_path / "mcc.png").stat().st_size > 10_000
    table = (tmp_path / "table.md").read_text()
    assert "GraphDictLog" in table
    assert "(46.2)" in table
    assert "emeg-512x1,GraphDictLog,mcc" in (tmp_path / "table.csv").read_text()


def test_superposition_report(tmp_path):
    grid = EXPERIMENTS["superposition"].grid("quick")
    curve = [0.5] * len(grid.thresholds)
    scores = {"mcc": curve, "precision": curve, "recall": curve}
    rows = [
        {"cell": cell.describe(), "status": "done", "train": scores, "test": scores}
        for cell in grid.cells()
    ]
    choices = choose(rows, grid.thresholds)
    names = {p.name for p in EXPERIMENTS["superposition"].report(grid, choices, tmp_path)}
    assert names == {
        "coefficients.png", "coefficients.pdf", "scores.png", "scores.pdf", "table.md",
    }  # fmt: skip
    assert "**50.0**" in (tmp_path / "table.md").read_text()
    assert len(summarise(choices)) == len(grid.data) * len(grid.models)


def test_paper_table_covers_the_declared_data():
    for row in TABLE_I.values():
        assert list(row) == list(time_varying.DATA)
    assert TABLE_I["GraphDictLog"]["sbg-512x1"]["recall"] == (52.1, 2.7)
    assert TABLE_I["TGFA"]["emeg-512x1"]["recall"] == (86.5, None)
