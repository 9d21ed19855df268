"""Signals in containers of other libraries are taken, or the error says how to get them out."""

from pathlib import Path

import numpy as np
import pytest

from graphdict import GraphDictLog

X = np.random.default_rng(0).standard_normal((60, 4))
NAMES = ["a", "b", "c", "d"]


def fit(signals):
    return GraphDictLog(2, max_iter=5, tol=1.0, random_state=0).fit(signals)


def test_recordings_of_mne_name_their_door():
    mne = pytest.importorskip("mne")
    raw = mne.io.RawArray(X.T, mne.create_info(4, 100.0, "eeg"), verbose="error")
    with pytest.raises(ValueError, match=r"RawArray: graphdict.eeg.as_recording\(X\).signals"):
        fit(raw)


@pytest.mark.parametrize("path", ["signals.csv", Path("signals.csv")])
def test_paths_name_their_door(path):
    with pytest.raises(ValueError, match=r"graphdict.files.read_signals\(X\).values"):
        fit(path)


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
