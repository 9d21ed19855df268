"""BIDS folders, written through MNE-BIDS: names, tables, bad channels, and what is refused."""

import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from edf import write_edf

from invoking import invoke

mne = pytest.importorskip("mne", reason="mne is not installed: the extra eeg brings it")
mne_bids = pytest.importorskip("mne_bids", reason="mne-bids is not installed: the extra bids is")

from graphdict import GraphDictMarginal  # noqa: E402
from graphdict.app.cli import main  # noqa: E402
from graphdict.app.commands.recording_tables import written_table  # noqa: E402
from graphdict.eeg import read_bids  # noqa: E402
from graphdict.exceptions import GraphDictWarning, MissingExtraError, MissingNodeWarning  # noqa: E402
from graphdict.studies import activation_statistics, compare_conditions, compare_groups  # noqa: E402

CHANNELS = ["Fz", "Cz", "Pz", "Oz", "C3", "C4"]
TASKS = ("closed", "open")


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Four subjects with two tasks each; Oz of the second is bad."""
    folder = tmp_path_factory.mktemp("bids")
    root = folder / "study"
    for number in range(4):
        for place, task in enumerate(TASKS):
            seed = 2 * number + place
            path = folder / f"{seed}.edf"
            write_edf(path, channels=CHANNELS, sfreq=100, seconds=4, seed=seed)
            raw = mne.io.read_raw_edf(path, verbose="error")
            raw.rename_channels(lambda name: name.strip("."))
            raw.info["line_freq"] = 50
            raw.info["bads"] = ["Oz"] if number == 1 else []
            name = mne_bids.BIDSPath(
                subject=f"{number + 1:02d}", session="a", task=task, datatype="eeg", root=root
            )
            mne_bids.write_raw_bids(raw, name, verbose="error")
    people = pd.read_csv(root / "participants.tsv", sep="\t")
    people["diagnosis"] = ["ill", "ill", "well", "well"]
    people.to_csv(root / "participants.tsv", sep="\t", index=False, na_rep="n/a")
    return root


@pytest.fixture
def root(written, tmp_path):
    return shutil.copytree(written, tmp_path / "study")


def model():
    return GraphDictMarginal(
        2, max_active=1, prior="markov", filter_power=1, tails="gaussian", n_init=1, max_iter=3,
        random_state=0,
    )  # fmt: skip


def test_recordings_have_names_labels_and_signals(root):
    study = read_bids(root)
    names = [f"sub-0{s}_ses-a_task-{task}" for s in range(1, 5) for task in TASKS]
    assert list(study.recordings) == list(study.table.index) == names
    assert study.table["subject"].tolist() == [f"0{s}" for s in range(1, 5) for _ in TASKS]
    assert study.table["task"].tolist() == list(TASKS) * 4
    assert study.table["diagnosis"].tolist() == ["ill"] * 4 + ["well"] * 4
    assert "age" not in study.table, "a column that says nothing"
    raw = mne.io.read_raw_edf(root / "sub-03/ses-a/eeg/sub-03_ses-a_task-open_eeg.edf")
    np.testing.assert_allclose(
        study.recordings["sub-03_ses-a_task-open"].get_data(CHANNELS), raw.get_data()[:6]
    )
    assert study.recordings["sub-02_ses-a_task-open"].info["bads"] == ["Oz"]


def test_a_study_is_fitted_and_compared_by_its_labels(root):
    study = read_bids(root)
    with pytest.warns(MissingNodeWarning, match=r"'sub-02_ses-a_task-closed' lacks 'Oz'"):
        fitted = model().fit(study.recordings)
    assert fitted.node_names == CHANNELS
    found = activation_statistics(fitted, 100)
    tasks = compare_conditions(found, study.table["task"], study.table["subject"])
    assert tasks.levels == list(TASKS)
    groups = compare_groups(found, study.table["diagnosis"], subjects=study.table["subject"])
    assert groups.n_units == [2, 2]


def test_bad_channels_are_interpolated_on_request(root):
    study = read_bids(root, bads="interpolate", subjects="02", tasks=["open"])
    assert list(study.recordings) == ["sub-02_ses-a_task-open"]
    (raw,) = study.recordings.values()
    assert raw.info["bads"] == []
    known = read_bids(root).recordings["sub-02_ses-a_task-open"].load_data()
    by_mne = known.set_montage("standard_1020").interpolate_bads()
    np.testing.assert_allclose(raw.get_data("Oz"), by_mne.get_data("Oz"), rtol=1e-6, atol=1e-12)
    np.testing.assert_array_equal(raw.get_data("Cz"), known.get_data("Cz"))


def test_channels_are_called_what_the_table_calls_them(root):
    table = root / "sub-01/ses-a/eeg/sub-01_ses-a_task-open_channels.tsv"
    table.write_text(table.read_text().replace("Fz\t", "FZ\t"))
    study = read_bids(root, subjects="01", tasks="open")
    (raw,) = study.recordings.values()
    assert raw.ch_names[:2] == ["FZ", "Cz"]


def test_what_cannot_be_read_is_named_and_the_others_go_on(root):
    (root / "sub-01/ses-a/eeg/sub-01_ses-a_task-open_eeg.edf").write_text("nothing")
    with pytest.warns(GraphDictWarning, match=r"left out 1 of 8 .*sub-01_ses-a_task-open"):
        study = read_bids(root)
    assert len(study.recordings) == len(study.table) == 7
    with pytest.raises(ValueError, match=r"no recording .* can be read: sub-01_ses-a_task-open"):
        read_bids(root, subjects="01", tasks="open")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"subjects": "09"}, r"subjects must be among 01, 02, 03, 04, got \['09'\]"),
        ({"tasks": ["rest", "open"]}, r"tasks must be among closed, open, got \['rest'\]"),
        ({"runs": "1"}, "runs must be among none, as there are"),
        ({"bads": "drop"}, "bads must be 'missing' or 'interpolate', got 'drop'"),
    ],
)
def test_choices_that_do_not_exist_are_named(root, options, message):
    with pytest.raises(ValueError, match=message):
        read_bids(root, **options)


def test_other_folders_are_refused(tmp_path, root):
    with pytest.raises(ValueError, match="is no folder"):
        read_bids(tmp_path / "nowhere")
    with pytest.raises(ValueError, match="not a BIDS folder: it has no dataset_description"):
        read_bids(tmp_path)
    for path in root.glob("sub-*"):
        shutil.rmtree(path)
    (root / "sub-01" / "anat").mkdir(parents=True)
    with pytest.raises(ValueError, match=r"no EEG recordings .*it has anat"):
        read_bids(root)


def test_without_the_extra_the_error_names_it(root, monkeypatch):
    monkeypatch.setitem(sys.modules, "mne_bids", None)
    with pytest.raises(MissingExtraError, match=r'mne-bids.*"graphdict\[bids\]"'):
        read_bids(root)


def test_the_command_line_reads_a_folder_and_compares_by_its_labels(root, tmp_path):
    (root / "sub-04/ses-a/eeg/sub-04_ses-a_task-open_eeg.edf").write_text("nothing")
    folder = tmp_path / "result"
    asked = "-k 2 --active 1 --no-evidence --max-iter 3 --bads interpolate"
    done = invoke(main, "fit", root, *asked.split(), "-o", folder)
    assert done.exit_code == 0, done.output
    assert "interpolated bad channel(s): 'Oz'" in done.output
    assert "left out" in done.output
    assert "sub-04_ses-a_task-open_eeg.edf" in done.output
    table = pd.read_csv(written_table((folder,)), dtype=str)
    assert table["recording"].iloc[-1] == "sub-04_ses-a_task-closed"
    assert table["diagnosis"].tolist() == ["ill"] * 4 + ["well"] * 3
    asked = "--group diagnosis --subject subject"
    done = invoke(main, "compare", folder, *asked.split(), "-o", tmp_path / "tests")
    assert done.exit_code == 0, done.output
    assert "ill (2), well (2)" in done.output


@pytest.mark.filterwarnings("ignore::graphdict.exceptions.GraphDictWarning")
def test_the_page_reads_a_folder(root, monkeypatch):
    monkeypatch.chdir(root.parent)
    root.rename("bids-folder")
    page = (Path(__file__).parents[2] / "docs" / "eeg.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (block,) = (block for block in blocks if "read_bids" in block)
    space = {}
    exec(block.replace("random_state=0", "random_state=0, n_init=1, max_iter=3"), space)
    assert space["found"].levels == list(TASKS)
