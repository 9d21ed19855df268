"""The command line as a user meets it."""

import json

import pytest

from graphdict import __version__, load_model
from graphdict.app.cli import main
from graphdict.app.commands.flags import with_flags
from invoking import invoke


@pytest.fixture
def run():
    return lambda *arguments: invoke(main, *arguments)


def test_help_and_version(run):
    for arguments in (["--help"], ["-h"], ["demo", "--help"]):
        assert run(*arguments).exit_code == 0
    assert __version__ in run("--version").output
    for command in ("fit", "transform", "report", "info", "simulate", "demo", "experiment"):
        assert command in run("--help").output


def test_unknown_command_is_one_clear_line(run):
    result = run("dance")
    assert result.exit_code == 2
    assert "No such command 'dance'" in result.output


def test_demo_learns_draws_and_saves(run, tmp_path):
    result = run("demo", "--output", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "Against the truth" in result.output
    picture = tmp_path / "out" / "recovery.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size > 20_000
    assert load_model(tmp_path / "out" / "model.graphdict").atoms_.shape == (3, 91)
    page = tmp_path / "out" / "report.html"
    assert 100_000 < page.stat().st_size < 8_000_000


def test_demo_in_json_recovers_the_dictionary(run, tmp_path):
    result = run("demo", "--json", "--output", tmp_path)
    log, marginal = json.loads(result.stdout)["recoveries"]
    assert min(log["atom_similarity"]) > 0.7
    assert log["test"]["mcc"] > 0.6
    assert min(marginal["atom_similarity"]) > 0.95
    assert marginal["test"]["mcc"] > log["test"]["mcc"] + 0.05
    assert marginal["coefficient_error"] < 0.05
    assert run("demo", "--json", "--output", tmp_path, "--seed", -1).exit_code == 2


def test_demo_into_a_file_fails_in_one_line(run, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    result = run("demo", "--json", "--output", blocked / "below")
    assert result.exit_code == 5
    assert "cannot write" in result.output
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("library", "command_line"),
    [
        ("sort the rows with sort=True", "sort the rows with --sort"),
        ("leave it out (ignore=['a b'])", "leave it out (--ignore 'a b')"),
        ("use time='t', or keep_codes=True", "use --time 't', or --keep-codes"),
        ("name one with array=... (one, two)", "name one with --array (one, two)"),
        ("raise scikit-learn's working_memory", "raise --memory"),
        ("column 'sort=True' and longtime=... stay", "column 'sort=True' and longtime=... stay"),
    ],
)
def test_messages_of_the_library_name_flags_on_the_command_line(library, command_line):
    assert with_flags(library) == command_line
