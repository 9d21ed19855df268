"""Arrays, Parquet and recordings give the same signals as text."""

import sys

import numpy as np
import pytest

from graphdict.files import InputError, MissingExtraError, is_model_file, read_signals, write_table

VALUES = np.random.default_rng(3).standard_normal((40, 3))


def test_npy(tmp_path):
    np.save(tmp_path / "x.npy", VALUES.astype(np.float32))
    signals = read_signals(tmp_path / "x.npy")
    np.testing.assert_array_equal(signals.values, VALUES.astype(np.float32))
    assert signals.names == ["x0", "x1", "x2"]


def test_npz_with_times_names_and_positions(tmp_path):
    places = np.arange(6.0).reshape(3, 2)
    np.savez(
        tmp_path / "x.npz", X=VALUES, times=np.arange(40) / 8, names=["a", "b", "c"], pos=places
    )
    signals = read_signals(tmp_path / "x.npz")
    np.testing.assert_array_equal(signals.values, VALUES)
    np.testing.assert_array_equal(signals.positions, places)
    assert signals.names == ["a", "b", "c"]
    assert signals.step == pytest.approx(1 / 8)


def test_npz_of_several_arrays_asks_which(tmp_path):
    np.savez(tmp_path / "x.npz", one=VALUES, two=2 * VALUES)
    with pytest.raises(InputError, match=r"name one with array=\.\.\."):
        read_signals(tmp_path / "x.npz")
    np.testing.assert_array_equal(read_signals(tmp_path / "x.npz", array="two").values, 2 * VALUES)
    with pytest.raises(InputError, match="no array 'three'"):
        read_signals(tmp_path / "x.npz", array="three")


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.zeros(5), "two dimensions"),
        (np.zeros((2, 3, 4)), "reshape"),
        (np.array([[1j, 2]]), "complex"),
        (np.array([["a", "b"]]), "real numbers"),
        (np.zeros((0, 4)), "empty"),
    ],
)
def test_arrays_that_are_no_signals(tmp_path, array, words):
    np.save(tmp_path / "x.npy", array)
    with pytest.raises(InputError, match=words):
        read_signals(tmp_path / "x.npy")


def test_objects_are_not_loaded(tmp_path):
    np.save(tmp_path / "x.npy", np.array([[{}, 1]], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match="Python objects, which are not loaded"):
        read_signals(tmp_path / "x.npy")


def test_an_archive_of_nothing(tmp_path):
    np.savez(tmp_path / "x.npz")
    with pytest.raises(InputError, match="holds nothing"):
        read_signals(tmp_path / "x.npz")


def test_a_cut_off_array(tmp_path):
    np.save(tmp_path / "x.npy", VALUES)
    whole = (tmp_path / "x.npy").read_bytes()
    (tmp_path / "x.npy").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"x\.npy is damaged: .* needs 960 bytes"):
        read_signals(tmp_path / "x.npy")


def test_parquet_with_times_text_and_gaps(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(VALUES, columns=["a", "b", "c"])
    frame.insert(0, "when", pandas.date_range("2024-01-01", periods=40, freq="h"))
    frame["label"] = "x"
    frame.loc[3, "b"] = None
    frame.to_parquet(tmp_path / "x.parquet")
    signals = read_signals(tmp_path / "x.parquet")
    assert signals.names == ["a", "b", "c"]
    assert signals.step == 3600
    assert signals.missing == 1
    np.testing.assert_array_equal(signals.values[4:], VALUES[4:])


def test_a_damaged_parquet_file(tmp_path):
    (tmp_path / "x.parquet").write_bytes(b"PAR1 this is not the rest of it")
    with pytest.raises(InputError, match="Parquet"):
        read_signals(tmp_path / "x.parquet")
    (tmp_path / "y.parquet").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="not the PARQUET file"):
        read_signals(tmp_path / "y.parquet")


@pytest.mark.parametrize(
    ("name", "package", "extra"), [("x.edf", "mne", "eeg"), ("x.parquet", "pyarrow", "tables")]
)
def test_a_missing_package_is_named(tmp_path, monkeypatch, name, package, extra):
    (tmp_path / name).write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"graphdict\[{extra}\]"):
        read_signals(tmp_path / name)


@pytest.fixture
def recording():
    mne = pytest.importorskip("mne")
    names = ["Fz", "Cz", "Pz", "Oz", "STI"]
    info = mne.create_info(names, 100.0, ["eeg"] * 4 + ["stim"])
    data = np.random.default_rng(4).standard_normal((5, 300)) * 1e-5
    return mne.io.RawArray(data, info, verbose="error")


def test_samples_that_are_marked_bad_are_left_out(tmp_path, recording):
    mne = pytest.importorskip("mne")
    whole = recording.get_data("eeg").T
    recording.set_annotations(mne.Annotations([0.1], [0.05], ["BAD_blink"]))
    recording.save(tmp_path / "x_raw.fif", verbose="error")
    signals = read_signals(tmp_path / "x_raw.fif")
    rate = recording.info["sfreq"]
    first, last = round(0.1 * rate), round(0.15 * rate)
    np.testing.assert_allclose(signals.values, np.delete(whole, np.s_[first:last], 0), rtol=1e-5)
    np.testing.assert_allclose(np.diff(signals.times)[first - 1], (last - first + 1) / rate)
    assert f"left out {last - first} samples that are marked bad" in signals.notes


def test_fif_has_channels_times_and_places(tmp_path, recording):
    recording.set_montage("standard_1020", verbose="error")
    recording.info["bads"] = ["Oz"]
    recording.save(tmp_path / "x_raw.fif", verbose="error")
    signals = read_signals(tmp_path / "x_raw.fif")
    assert signals.names == ["Fz", "Cz", "Pz"]
    assert signals.step == pytest.approx(0.01)
    # Seen from above, the nose is up: Fz in front of Cz in front of Pz, all in the middle.
    assert signals.positions[0, 1] > signals.positions[1, 1] > signals.positions[2, 1]
    assert np.abs(signals.positions[:, 0]).max() < 0.1
    np.testing.assert_allclose(signals.values, recording.get_data()[:3].T, rtol=1e-6)
    assert any("bad channel" in note for note in signals.notes)


def test_a_recording_that_is_none(tmp_path):
    pytest.importorskip("mne")
    (tmp_path / "x.edf").write_bytes(b"this is no recording")
    with pytest.raises(InputError, match="cannot be read as a recording"):
        read_signals(tmp_path / "x.edf")


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet"])
def test_tables_that_are_written_are_read_again(tmp_path, ending):
    path = tmp_path / f"x.{ending}"
    times = np.datetime64("2024-01-01T00:00:00.250") + np.arange(40) * np.timedelta64(1, "s")
    write_table(path, {"time": times, "a,\t": VALUES[:, 0], 'b"': VALUES[:, 1]}, digits=17)
    signals = read_signals(path)
    assert signals.names == (["a,", 'b"'] if ending != "parquet" else ["a,\t", 'b"'])
    np.testing.assert_array_equal(signals.values, VALUES[:, :2])
    np.testing.assert_array_equal(signals.times, times)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    assert not is_model_file(path)


@pytest.mark.parametrize("kind", ["npy", "parquet"])
def test_infinite_values_are_missing_in_every_format(tmp_path, kind):
    values = np.random.default_rng(0).standard_normal((30, 3))
    values[4, 1] = np.inf
    path = tmp_path / f"signals.{kind}"
    if kind == "npy":
        np.save(path, values)
    else:
        pytest.importorskip("pandas").DataFrame(values, columns=["a", "b", "c"]).to_parquet(path)
    found = read_signals(path)
    assert np.isnan(found.values[4, 1])
    assert np.isnan(found.values).sum() == 1
    assert "1 infinite value(s), read as missing" in found.notes
