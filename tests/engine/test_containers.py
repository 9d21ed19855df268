"""Signals in containers of other libraries are taken, or the error says how to get them out."""

from pathlib import Path

import numpy as np
import pytest

from graphdict import GraphDictLog
from graphdict.exceptions import MissingNodeWarning
from graphdict.results import Recordings

X = np.random.default_rng(0).standard_normal((60, 4))
NAMES = ["a", "b", "c", "d"]


def fit(signals):
    return GraphDictLog(2, max_iter=5, tol=1.0, random_state=0).fit(signals)


def test_recordings_of_mne():
    """Good channels in microvolts at good samples; epochs are recordings, or one with breaks."""
    mne = pytest.importorskip("mne")
    raw = mne.io.RawArray(1e-6 * X.T, mne.create_info(NAMES, 100.0, "eeg"), verbose="error")
    model = fit(raw)
    assert model.node_names == NAMES
    np.testing.assert_allclose(model.atoms_, fit(X).atoms_, rtol=1e-6)
    assert isinstance(model.transform(raw), np.ndarray)
    bad = raw.copy().set_annotations(mne.Annotations([0.2], [0.1], ["BAD_blink"]))
    found = fit([bad, raw])
    assert found.recordings_ == Recordings(("0", "1"), (50, 60), breaks=(20,))
    np.testing.assert_allclose(
        found.atoms_, fit(np.concatenate((X[:20], X[30:], X))).atoms_, rtol=1e-6
    )
    events = np.column_stack((np.arange(0, 60, 20), np.zeros(3, int), np.ones(3, int)))
    options = {"tmin": 0, "tmax": 0.19, "baseline": None, "preload": True, "verbose": "error"}
    epochs = mne.Epochs(raw, events, **options)
    assert fit(epochs).recordings_ == Recordings(("0", "1", "2"), (20, 20, 20))
    assert [len(each) for each in model.transform(epochs)] == [20, 20, 20]
    assert fit([epochs]).recordings_ == Recordings(("0",), (60,), breaks=(20, 40))
    bad.info["bads"] = ["b"]
    with pytest.warns(MissingNodeWarning, match="'0' lacks 'b'"):
        assert fit([bad, raw]).node_names == ["a", "c", "d", "b"]


@pytest.mark.parametrize("path", ["signals.csv", Path("signals.csv")])
def test_paths_name_their_door(path):
    with pytest.raises(ValueError, match=r"graphdict.files.read_signals\(X\).values"):
        fit(path)


def test_bytes_are_not_repeated_in_the_error():
    for given in (X.tobytes(), bytearray(b"X" * 5000)):
        with pytest.raises(ValueError, match=r"^X is bytes: np.frombuffer\(X\)") as caught:
            GraphDictLog(2).fit(given)
        assert len(str(caught.value)) < 100


def test_data_arrays_of_xarray():
    xarray = pytest.importorskip("xarray")
    array = xarray.DataArray(X, dims=("time", "node"), coords={"node": NAMES})
    assert fit(array).node_names == NAMES
    assert fit(xarray.DataArray(X)).node_names == ["x0", "x1", "x2", "x3"]
    with pytest.raises(ValueError, match=r"X.transpose\('time', 'node'\)"):
        fit(array.T)
    with pytest.raises(ValueError, match="not two"):
        fit(xarray.DataArray(X[None]))
    with pytest.raises(ValueError, match="to_dataarray"):
        fit(xarray.Dataset({"v": array}))


def test_frames_of_polars():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(dict(zip(NAMES, X.T)))
    assert fit(frame).node_names == NAMES
    with pytest.raises(ValueError, match=r"X.collect\(\)"):
        fit(frame.lazy())
    with pytest.raises(ValueError, match="column 'who' of X holds 'me'"):
        fit(frame.with_columns(polars.lit("me").alias("who")))
