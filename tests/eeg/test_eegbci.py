"""The loader: files as they should be, files as they should not, and the real ones."""

import subprocess
import sys

import mne
import numpy as np
import pytest
from edf import write_edf, write_subject
from sklearn.cluster import KMeans

from graphdict.datasets import RecordingError, load_eegbci, make_eeg
from graphdict.datasets.eegbci import EEGBCI_CHANNELS
from graphdict.eeg import StateEmbedding, gfp_peaks, state_features
from graphdict.exceptions import GraphDictWarning

KINDS = ["left", "right", "right", "left"] * 3


def load(folder, subjects=1, **options):
    return load_eegbci(
        subjects, data_dir=folder, **{"download": False, "tmax": 2.0, "band": None, **options}
    )


def test_epochs_have_names_positions_and_labels(tmp_path):
    write_subject(tmp_path, 1)
    (subject,) = load(tmp_path)
    assert subject.subject == 1
    assert isinstance(subject.data, mne.BaseEpochs)
    assert subject.labels.tolist() == KINDS
    np.testing.assert_array_equal(subject.data.events, subject.events)
    assert subject.data.ch_names == list(EEGBCI_CHANNELS)
    assert subject.data.get_montage() is not None
    assert subject.data.get_data(copy=False).shape == (12, 64, 321)
    assert subject.data.get_data(copy=False).std() == pytest.approx(20e-6, rel=0.05)
    assert len(subject.data["left"]) == 6


def test_a_raw_joins_the_runs(tmp_path):
    write_subject(tmp_path, 1)
    (subject,) = load(tmp_path / "MNE-eegbci-data", kind="raw")  # the folder itself will do
    assert isinstance(subject.data, mne.io.BaseRaw)
    assert subject.data.n_times == 3 * 24 * 160
    assert subject.labels.tolist() == KINDS
    assert subject.events[:, 0].tolist() == [
        160 * (24 * run + 6 * trial + 1) for run in range(3) for trial in range(4)
    ]
    assert sum("EDGE" in d for d in subject.data.annotations.description) == 2


def test_the_band_is_filtered_before_cutting(tmp_path):
    write_subject(tmp_path, 1)
    (subject,) = load(tmp_path, band=(2.0, 30.0))  # no warning about short epochs
    data = subject.data.get_data(copy=False)
    np.testing.assert_allclose(data.mean(axis=1), 0, atol=1e-15)
    assert subject.data.info["lowpass"] == 30.0


def test_trials_that_leave_a_run_are_dropped(tmp_path):
    write_subject(tmp_path, 1)
    (subject,) = load(tmp_path, tmax=5.5)  # the last of each run would reach into the next
    assert subject.labels.tolist() == ["left", "right", "right"] * 3


def test_a_missing_file_is_named(tmp_path):
    write_subject(tmp_path, 1)[1].unlink()
    with pytest.raises(RecordingError, match=r"subject 1: .*S001R08.edf is missing"):
        load(tmp_path)


@pytest.mark.parametrize("keep", [100, 256 + 30, 5000, 200_000])
def test_a_truncated_file_is_named(tmp_path, keep):
    path = write_subject(tmp_path, 1)[2]
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(RecordingError, match=r"S001R12.edf is (truncated|not an EDF)"):
        load(tmp_path)


def test_what_is_no_edf_is_named(tmp_path):
    path = write_subject(tmp_path, 1)[0]
    path.write_bytes(b"<html>not found</html>" * 100)
    with pytest.raises(RecordingError, match=r"S001R04.edf is not an EDF"):
        load(tmp_path)


def test_another_montage_is_named(tmp_path):
    write_subject(tmp_path, 1, channels=[*EEGBCI_CHANNELS[:-1], "E12"])
    with pytest.raises(RecordingError, match=r"another montage.*lacks \['Iz'\]"):
        load(tmp_path)


def test_another_rate_is_resampled_and_said(tmp_path):
    write_subject(tmp_path, 1, sfreq=128)
    with pytest.warns(GraphDictWarning, match="has 128 samples a second and was resampled to 160"):
        (subject,) = load(tmp_path)
    assert subject.data.info["sfreq"] == 160
    assert subject.labels.tolist() == KINDS
    assert subject.data.get_data(copy=False).shape == (12, 64, 321)
    assert load(tmp_path, sfreq=128)[0].data.info["sfreq"] == 128


def test_a_subject_without_a_class_is_named(tmp_path):
    write_subject(tmp_path, 1, kinds=["T1", "T1"])
    with pytest.raises(RecordingError, match="subject 1 has no trials of right"):
        load(tmp_path)
    write_subject(tmp_path, 2, kinds=["T1", "T1", "T1", "T2"])
    with pytest.raises(RecordingError, match="no trial of right has all of"):
        load(tmp_path, 2, tmax=5.5)


def test_other_subjects_go_on(tmp_path):
    for number in (1, 2, 3):
        write_subject(tmp_path, number)
    truncated = tmp_path / "MNE-eegbci-data/files/eegmmidb/1.0.0/S002/S002R04.edf"
    truncated.write_bytes(truncated.read_bytes()[:-100])
    with pytest.warns(GraphDictWarning, match="subject 2: .*truncated.*it is left out"):
        loaded = load(tmp_path, [1, 2, 3], errors="warn")
    assert [subject.subject for subject in loaded] == [1, 3]
    with (
        pytest.warns(GraphDictWarning, match="subject 9"),
        pytest.raises(RecordingError, match=r"none of the subjects \[9\]"),
    ):
        load(tmp_path, 9, errors="warn")


def test_no_network_is_said(tmp_path, monkeypatch):
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")  # where nothing listens
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(RecordingError, match=r"could not be downloaded.*network, or give data_dir"):
        load(tmp_path, download=True)


def test_wrong_requests_are_refused(tmp_path):
    for options, message in (
        ({"subjects": 0}, "from 1 to 109"),
        ({"subjects": []}, "from 1 to 109"),
        ({"runs": (4, 6)}, r"runs must be among .*got \[6\]"),
        ({"kind": "evoked"}, "'epochs' or 'raw'"),
        ({"errors": "ignore"}, "'raise' or 'warn'"),
        ({"tmin": 3.0}, "tmin must be less"),
    ):
        with pytest.raises(ValueError, match=message):
            load(tmp_path, **options)


def test_mne_is_needed_only_when_used():
    program = (
        "import graphdict, graphdict.datasets, graphdict.eeg as eeg, sys\n"
        "assert 'mne' not in sys.modules\n"
        "sys.modules['mne'] = None\n"
        "print(eeg.state_features([0, 0, 1], 10.0).shape)\n"
        "for call in (graphdict.datasets.load_eegbci, graphdict.datasets.make_eeg,\n"
        "             lambda: eeg.preprocess(None)):\n"
        "    try: call()\n"
        "    except ImportError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    lines = done.stdout.splitlines()
    assert lines[0] == "(1, 2, 3)", done.stderr
    assert sum('pip install "graphdict[eeg]"' in line for line in lines) == 3


def test_simulated_recordings_are_what_they_say():
    simulated = make_eeg(10, n_states=3, effect=4.0, random_state=3)
    again = make_eeg(10, n_states=3, effect=4.0, random_state=3)
    np.testing.assert_array_equal(simulated.data.get_data(), again.data.get_data())
    assert sorted(simulated.labels) == ["left"] * 5 + ["right"] * 5
    np.testing.assert_allclose(simulated.maps.std(axis=1), 1)
    trials = np.stack([simulated.states[e : e + 640] for e in simulated.events[:, 0]])
    coverage = state_features(trials, 160.0, n_states=3, features=("coverage",))[..., 0]
    left = simulated.labels == "left"
    assert coverage[left, 0].mean() > coverage[~left, 0].mean() + 0.2
    assert coverage[left, 1].mean() < coverage[~left, 1].mean() - 0.2
    with pytest.raises(ValueError, match="10-05"):
        make_eeg(2, channels=["Cz", "E12"])
    with pytest.raises(ValueError, match="n_states"):
        make_eeg(2, n_states=1)


# The real recordings -------------------------------------------------------------------------


def test_a_real_subject(subject):
    assert len(subject.data) == 45
    assert sorted(np.unique(subject.labels, return_counts=True)[1].tolist()) == [22, 23]
    assert subject.data.get_data(copy=False).shape == (45, 64, 641)
    assert 20 < len(gfp_peaks(subject.data)) / (45 * 4) < 35  # peaks a second


def test_a_real_segmentation_agrees_with_pycrostates(subject):
    segmentation = pytest.importorskip("pycrostates.segmentation", reason="no pycrostates")
    embedding = StateEmbedding(KMeans(4, n_init=1, random_state=0)).fit(subject.data)
    states = embedding.transform(subject.data)
    labels = states.by_event(states.labels)
    for number in (0, 20, 44):
        theirs = segmentation.EpochsSegmentation(
            labels[[number]], subject.data[number], embedding.model_.cluster_centers_,
            [str(k) for k in range(4)],
        ).compute_parameters()  # fmt: skip
        expected = [
            [theirs[f"{k}_{name}"] for name in ("occurrences", "timecov", "meandurs")]
            for k in range(4)
        ]
        np.testing.assert_allclose(states.feature_array()[number], expected)


def test_written_files_are_read_as_mne_reads_them(tmp_path):
    raw = mne.io.read_raw_edf(write_edf(tmp_path / "x.edf", notes=[(2, 1, "T1")]))
    assert len(raw.ch_names) == 64
    assert raw.annotations.description.tolist() == ["T1"]
