"""
Brain states of imagined movement
=================================

A person imagines closing the left or the right fist, 45 times, under 64 electrodes. We learn three
graphs between electrodes from the moments of strongest field, follow them through every trial, and
count how often and how long each is there: from a recording to a table, in the steps of the
microstate literature.

The recordings are those of subject 1 of the EEG Motor Movement/Imagery data set (Schalk et al.
2004, on PhysioNet), which MNE downloads once, 7.5 MB. ``GRAPHDICT_EEGBCI`` names a folder that has
them. Without network and recordings, EEG is simulated on the same electrodes, and the first line
printed says so.
"""

# sphinx_gallery_thumbnail_number = 2
import os

import matplotlib.pyplot as plt
import mne
import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline

from graphdict import GraphDictMarginal
from graphdict.datasets import RecordingError, load_eegbci, make_eeg
from graphdict.eeg import (
    StateEmbedding,
    StateFeatures,
    gfp,
    gfp_peaks,
    plot_atoms_on_head,
    preprocess,
)
from graphdict.viz import plot_coefficients

mne.set_log_level("ERROR")
try:
    (subject,) = load_eegbci(1, data_dir=os.environ.get("GRAPHDICT_EEGBCI"), kind="raw")
    raw = subject.data
    print("Recordings of subject 1 of EEGBCI, runs 4, 8 and 12")
except RecordingError as error:
    subject = make_eeg(45, rest_seconds=4, random_state=0)
    raw = preprocess(subject.data)
    print(f"SIMULATED recordings, since the real ones cannot be had: {error}")
print(f"{len(raw.ch_names)} channels, {raw.times[-1]:.0f} s, {len(subject.labels)} trials")

# %%
# ``load_eegbci`` has preprocessed each run: average reference, which centres every sample over the
# electrodes, and a band-pass filter of 0.5 to 30 Hz. For recordings of your own,
# ``raw = preprocess(mne.io.read_raw(...))`` does the same.
#
# Peaks of global field power
# ---------------------------
# The standard deviation over electrodes says how strong the field is. At its peaks the map on the
# scalp stands out most from noise, so states are learned there.

peaks = gfp_peaks(raw)
rate = raw.info["sfreq"]
print(f"{len(peaks)} peaks, {len(peaks) / raw.times[-1]:.0f} a second")

begin = int(subject.events[0, 0])
shown = slice(begin, begin + int(rate))
inside = peaks.samples[(peaks.samples >= shown.start) & (peaks.samples < shown.stop)]
field = 1e6 * gfp(raw)
figure, ax = plt.subplots(figsize=(6.8, 1.8), layout="constrained")
ax.plot(raw.times[shown] - raw.times[begin], field[shown], color="#0072B2", linewidth=1)
ax.plot(raw.times[inside] - raw.times[begin], field[inside], "o", color="#D55E00", markersize=4)
ax.set(xlabel="seconds after the first cue", ylabel="field power (µV)")

# %%
# Three graphs
# ------------
# :class:`~graphdict.eeg.StateEmbedding` fits any model of states to the peaks and gives every other
# sample the coefficients of its nearest peak. Here it is ``GraphDictMarginal``, on 2,000 of the
# peaks to be quick; ``GraphDictLog``, ``KMeans``, ``GaussianMixture`` or ``GLMM`` go in its place.

model = GraphDictMarginal(3, max_active=2, n_init=2, random_state=0)
embedding = StateEmbedding(model, max_peaks=2000, random_state=0).fit(raw)
states = embedding.transform(raw)
print(states)
plot_atoms_on_head(embedding.model_.atoms_, raw.info, names=["Fpz", "C3", "Cz", "C4", "Oz"])

# %%
# Edges are mostly between neighbours, since the skull spreads every source over several electrodes.
#
# States through a trial
# ----------------------
# ``states`` has coefficients for every sample of the recording. Cut around the cues they become
# events; the nearest peak never comes from beyond a joint of recordings or a BAD annotation.

trials = states.epochs(subject.events, tmin=0.0, tmax=4.0, event_id={"left": 1, "right": 2})
first = trials.by_event()[0]
figure, ax = plt.subplots(figsize=(6.8, 1.6), layout="constrained")
plot_coefficients(first, ax, times=trials.frame.times)
ax.set_xlabel(f"seconds after the first cue ({subject.labels[0]})")

# %%
# Features
# --------
# A state counts as active where its coefficient is at least 0.5 (for clusterings, where it is the
# largest), so several may be active at once. Occurrences are runs in a second, coverage is a share
# of time, and mean duration is coverage over occurrences, in seconds.

table = trials.features(("occurrences", "coverage", "mean_duration", "mean_coefficient"))
kind = subject.labels[trials.frame.selection]
table["imagined"] = np.repeat(kind, states.n_states)
print(table.groupby(["state", "imagined"]).mean().round(3))

# %%
# How often one state follows another, against what chance would give with these shares of time:

print("observed\n", trials.transition_matrix().round(2))
print("expected\n", trials.expected_transition_matrix().round(2))

# %%
# Back to MNE
# -----------
# Coefficients as an MNE object have the events of the recording, so everything MNE does with epochs
# works on them. Annotations mark the states in the raw signals: ``raw.plot()`` would show them.

coefficients = trials.to_mne()
figure, axes = plt.subplots(1, 3, figsize=(6.8, 1.9), sharey=True, layout="constrained")
for condition, colour in (("left", "#0072B2"), ("right", "#D55E00")):
    mean = coefficients[condition].average(picks="misc").data
    for k, ax in enumerate(axes):
        smooth = np.convolve(mean[k], np.ones(40) / 40, mode="same")
        ax.plot(coefficients.times[20:-20], smooth[20:-20], color=colour, label=condition)
        ax.set_title(f"atom {k + 1}", fontsize=8)
axes[0].set(ylabel="mean coefficient", xlabel="seconds")
axes[0].legend(fontsize=7)
annotated = raw.copy().set_annotations(raw.annotations + states.annotations())
print(annotated.annotations)

# %%
# Left or right?
# --------------
# :class:`~graphdict.eeg.StateFeatures` does all of it inside a scikit-learn pipeline: states are
# learned anew from the training trials of each fold, and never see the others. With 45 trials of
# one person a score has a wide margin; we repeat the split and look at the spread.

epochs = mne.Epochs(raw, subject.events, {"left": 1, "right": 2}, 0, 4, baseline=None, preload=True)
pipeline = make_pipeline(
    StateFeatures(model, sfreq=rate, max_peaks=1000, random_state=0),
    RandomForestClassifier(200, random_state=0),
)
scores = cross_val_score(
    pipeline,
    epochs.get_data(copy=False),
    epochs.events[:, 2],
    cv=RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0),
    scoring="roc_auc",
)
print(f"AUROC {scores.mean():.2f}, from {scores.min():.2f} to {scores.max():.2f} over folds")

# %%
# What can be concluded
# ---------------------
# The steps from a recording to atoms on a head and to a table take a few lines and stay within MNE
# and scikit-learn. Whether three graphs tell left from right is another matter, which one subject
# cannot settle: 0.5 is chance, and a value near it is no surprise. ``graphdict experiment brain``
# compares models and sizes over subjects, with references from outside.
