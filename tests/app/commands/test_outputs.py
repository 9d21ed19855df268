"""Results appear whole, and two writers of one folder do not mix theirs."""

import os

import pytest

from graphdict.app.commands.console import OutputExists
from graphdict.app.commands.outputs import results_in


def write(folder, text, force=False, meanwhile=None):
    with results_in(folder, force) as made:
        for name in ("a.txt", "b.txt"):
            (made / name).write_text(text)
        if meanwhile is not None:
            meanwhile()


def read(folder):
    return {path.name: path.read_text() for path in folder.iterdir()}


@pytest.mark.parametrize("there", [False, True])
def test_the_second_of_two_simultaneous_writers_is_refused(tmp_path, there):
    folder = tmp_path / "new" / "results"
    if there:
        folder.mkdir(parents=True)
        (folder / "notes.txt").write_text("mine")
    with pytest.raises(OutputExists, match=r"a\.txt exists already.*--force"):
        write(folder, "second", meanwhile=lambda: write(folder, "first"))
    kept = {"notes.txt": "mine"} if there else {}
    assert read(folder) == {"a.txt": "first", "b.txt": "first", **kept}
    assert os.listdir(tmp_path) == ["new"]
    write(folder, "third", force=True)
    assert read(folder) == {"a.txt": "third", "b.txt": "third", **kept}


def test_results_have_the_permissions_of_other_folders(tmp_path):
    (tmp_path / "usual").mkdir()
    write(tmp_path / "made", "text")
    assert (tmp_path / "made").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_failures_leave_nothing(tmp_path):
    def fail():
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write(tmp_path / "made", "text", meanwhile=fail)
    assert os.listdir(tmp_path) == []
