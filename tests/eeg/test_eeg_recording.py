"""Which samples and channels are taken, and where nothing may cross."""

import datetime

import mne
import numpy as np
import pytest

from graphdict.eeg import as_recording, gfp, gfp_peaks, preprocess
from graphdict.eeg.recording import each_recording
from graphdict.engine.mne_signals import mask_segments
from graphdict.exceptions import GraphDictWarning


def annotated(raw, *notes):
    raw = raw.copy()
    onsets, durations, names = zip(*notes)
    date = raw.info["meas_date"]
    shift = raw.first_time if date is not None else 0
    return raw.set_annotations(
        mne.Annotations(np.add(onsets, shift), durations, names, orig_time=date)
    )


def test_samples_are_centred_microvolts(raw):
    recording = as_recording(raw)
    expected = 1e6 * raw.get_data().T
    expected -= expected.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(recording.signals, expected, atol=1e-9)
    np.testing.assert_allclose(recording.signals.mean(axis=1), 0, atol=1e-9)
    assert recording.segments.tolist() == [[0, raw.n_times]]


@pytest.mark.parametrize("dated", [False, True])
@pytest.mark.parametrize("crop", [0.0, 3.3])
def test_bad_samples_are_those_mne_leaves_out(raw, dated, crop):
    raw = raw.copy()
    if dated:
        raw.set_meas_date(datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC))
    raw.crop(crop)
    raw = annotated(raw, (1.0, 0.5, "BAD_blink"), (2.0, 1.0, "left"), (4.01, 0.3, "bad move"))
    without = np.isnan(raw.get_data(reject_by_annotation="NaN")[0])
    assert 0 < without.sum() < raw.n_times
    recording = as_recording(raw)
    inside = np.zeros(raw.n_times, dtype=bool)
    for start, stop in recording.segments:
        inside[start:stop] = True
    np.testing.assert_array_equal(inside, ~without)
    assert len(recording.segments) == 3
    assert set(recording.event) == {0}
    assert len(as_recording(raw, reject_by_annotation=False).segments) == 1


def test_joined_recordings_are_cut_where_they_join(raw):
    parts = [raw.copy().crop(0, 5), raw.copy().crop(10, 14)]
    length = parts[0].n_times
    joined = mne.concatenate_raws([part.copy() for part in parts])
    recording = as_recording(joined)
    assert recording.segments.tolist() == [[0, length], [length, joined.n_times]]
    apart = [gfp_peaks(part).samples for part in parts]
    np.testing.assert_array_equal(
        gfp_peaks(joined).samples, np.concatenate((apart[0], apart[1] + length))
    )


def test_bad_channels_are_left_out_of_samples_and_field_power(raw):
    spoilt = raw.copy()
    spoilt._data[5] = 1.0
    spoilt.info["bads"] = [raw.ch_names[5]]
    recording = as_recording(spoilt)
    assert raw.ch_names[5] not in recording.names
    np.testing.assert_allclose(
        gfp(spoilt), np.delete(raw.get_data(), 5, axis=0).std(axis=0), rtol=1e-9
    )


def test_field_power_of_epochs(epochs):
    power = gfp(epochs)
    assert power.shape == (len(epochs), len(epochs.times))
    np.testing.assert_allclose(power, epochs.get_data(copy=False).std(axis=1))


def test_every_epoch_is_a_segment_and_bad_annotations_cut_it(raw, simulated):
    begin = simulated.events[1, 0] / raw.info["sfreq"]
    noted = annotated(raw, (begin + 0.5, 0.25, "BAD_x"))
    epochs = mne.Epochs(
        noted, simulated.events, tmin=0, tmax=2, baseline=None, preload=True,
        reject_by_annotation=False,
    )  # fmt: skip
    times = len(epochs.times)
    recording = as_recording(epochs)
    assert recording.n_events == len(epochs) == 8
    assert recording.event.tolist() == [0, 1, 1, 2, 3, 4, 5, 6, 7]
    assert recording.segments[:3].tolist() == [
        [0, times], [times, times + 80], [times + 120, 2 * times]
    ]  # fmt: skip


def test_peaks_are_those_of_each_epoch_alone(epochs):
    peaks = gfp_peaks(epochs)
    times = len(epochs.times)
    for number in range(len(epochs)):
        alone = gfp_peaks(epochs[number]).samples
        np.testing.assert_array_equal(peaks.samples[peaks.event == number], alone + number * times)
    power = gfp(epochs).ravel()
    inner = peaks.samples
    assert ((power[inner] > power[inner - 1]) & (power[inner] >= power[inner + 1])).all()


def test_peaks_agree_with_pycrostates(raw, epochs):
    preprocessing = pytest.importorskip("pycrostates.preprocessing", reason="no pycrostates")
    for inst in (raw, epochs):
        theirs = preprocessing.extract_gfp_peaks(inst).get_data().T * 1e6
        ours = gfp_peaks(inst).signals
        np.testing.assert_allclose(ours, theirs - theirs.mean(axis=1, keepdims=True), atol=1e-6)


def test_peaks_keep_their_distance(raw):
    close = np.diff(gfp_peaks(raw).samples).min()
    apart = np.diff(gfp_peaks(raw, min_distance=0.1).samples).min()
    assert close < 16 <= apart
    with pytest.raises(ValueError, match="min_distance"):
        gfp_peaks(raw, min_distance=-1)


def test_runs_of_a_mask():
    good = np.array([1, 1, 0, 1, 1, 1], dtype=bool)
    assert mask_segments(good).tolist() == [[0, 2], [3, 6]]
    assert mask_segments(good, [0, 1, 3, 5, 6]).tolist() == [[0, 1], [1, 2], [3, 5], [5, 6]]
    assert mask_segments(~np.ones(4, bool)).shape == (0, 2)


def test_preprocessing_references_centres_and_filters(simulated):
    before = simulated.data.get_data()
    out = preprocess(simulated.data)
    np.testing.assert_array_equal(simulated.data.get_data(), before)  # a copy
    np.testing.assert_allclose(out.get_data().mean(axis=0), 0, atol=1e-18)
    assert (out.info["highpass"], out.info["lowpass"]) == (0.5, 30.0)
    spectrum = np.abs(np.fft.rfft(out.get_data(), axis=1)).mean(axis=0)
    original = np.abs(np.fft.rfft(before - before.mean(axis=0), axis=1)).mean(axis=0)
    hertz = np.fft.rfftfreq(before.shape[1], 1 / 160)
    high, kept = hertz > 40, (hertz > 2) & (hertz < 25)
    assert spectrum[high].mean() < 0.02 * original[high].mean()
    assert spectrum[kept].mean() == pytest.approx(original[kept].mean(), rel=0.02)
    untouched = preprocess(simulated.data, l_freq=None, h_freq=None)
    np.testing.assert_allclose(untouched.get_data(), before - before.mean(axis=0))


def test_preprocessing_of_bad_channels(simulated):
    spoilt = simulated.data.copy()
    spoilt._data[3] = 1.0
    spoilt.info["bads"] = [spoilt.ch_names[3]]
    without = preprocess(spoilt)
    assert spoilt.ch_names[3] not in without.ch_names
    assert np.abs(without.get_data()).max() < 1e-3  # the bad one is not in the reference
    filled = preprocess(spoilt, bads="interpolate")
    assert filled.ch_names == spoilt.ch_names
    assert not filled.info["bads"]
    truth = preprocess(simulated.data).get_data()[3]
    assert np.corrcoef(filled.get_data()[3], truth)[0, 1] > 0.8
    with pytest.raises(ValueError, match="'exclude' or 'interpolate'"):
        preprocess(spoilt, bads="drop")


def test_filters_do_not_cross_joints(raw):
    quiet, loud = raw.copy().crop(0, 20), raw.copy().crop(0, 20)
    loud._data *= 1000
    joined = preprocess(mne.concatenate_raws([quiet.copy(), loud]))
    alone = preprocess(quiet)
    np.testing.assert_allclose(joined.get_data()[:, : alone.n_times], alone.get_data(), atol=1e-15)


def test_short_epochs_are_filtered_with_a_warning(epochs):
    with pytest.warns(GraphDictWarning, match="filter the Raw before"):
        out = preprocess(epochs)
    assert len(out) == len(epochs)
    preprocess(epochs, l_freq=None)  # a low-pass filter is short


def test_what_cannot_be_read_is_refused(raw, epochs):
    with pytest.raises(ValueError, match=r"h_freq=30.*below 20"):
        preprocess(raw.copy().resample(40))
    with pytest.raises(TypeError, match="Raw or Epochs"):
        preprocess(np.zeros((3, 4, 5)))
    with pytest.raises(TypeError, match="got str"):
        as_recording("recording.edf")
    with pytest.raises(ValueError, match="sfreq is needed"):
        as_recording(np.zeros((3, 4, 5)))
    with pytest.raises(ValueError, match=r"\(n_epochs, n_channels, n_times\)"):
        as_recording(np.zeros((4, 5)), sfreq=160)
    silent = raw.copy()
    silent.info["bads"] = silent.ch_names[1:]
    for read in (as_recording, preprocess):
        with pytest.raises(ValueError, match="at least two good EEG channels"):
            read(silent)
    holes = raw.copy()
    holes._data[7, 100] = np.nan
    with pytest.raises(ValueError, match=rf"sample 100 .*'{raw.ch_names[7]}'"):
        as_recording(holes)
    with pytest.raises(ValueError, match="lacks the channels"):
        as_recording(raw, picks=["Cz", "E12"])
    with pytest.raises(ValueError, match="picks"):
        as_recording(raw, picks="meg")
    with pytest.raises(ValueError, match=r"same channels.*interpolate"):
        list(each_recording([epochs, epochs.copy().drop_channels(["Cz"])]))
    with pytest.raises(ValueError, match="one sampling rate"):
        list(each_recording([epochs, epochs.copy().resample(80)]))
    with pytest.raises(ValueError, match="at least one"):
        list(each_recording([]))


def test_values_in_bad_samples_may_be_anything(raw):
    holes = annotated(raw, (1.0, 1.0, "BAD_gap"))
    holes._data[:, 170:200] = np.nan
    assert np.isfinite(gfp_peaks(holes).signals).all()
    assert np.isnan(gfp(holes)[170:200]).all()
