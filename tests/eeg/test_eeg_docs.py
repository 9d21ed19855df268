"""The page on EEG is run as it stands there, and the tutorial where recordings are at hand."""

import re
from pathlib import Path

import matplotlib
import mne
import pytest

matplotlib.use("Agg")

ROOT = Path(__file__).parents[2]


@pytest.mark.filterwarnings("ignore:The least populated class:UserWarning")
def test_the_page_on_eeg(simulated, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    simulated.data.save("recording_raw.fif")
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "eeg.md").read_text(), re.DOTALL)
    space = {}
    for block in blocks:
        if "load_eegbci" not in block and "read_bids" not in block:  # these need recordings
            exec(block.replace("GraphDictLog(3, ", "GraphDictLog(3, max_iter=15, "), space)
    matplotlib.pyplot.close("all")
    assert len(blocks) == 6
    assert space["model"].node_names == simulated.data.ch_names
    assert Path("report.html").stat().st_size > 10_000
    assert space["trials"].n_states == 3
    assert isinstance(space["epochs"], mne.BaseEpochs)
    assert "state 1" in space["raw"].annotations.description
