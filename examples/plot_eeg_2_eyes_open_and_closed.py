"""
Eyes open and closed, fifteen subjects
======================================

One dictionary is learned from thirty recordings (a minute with eyes open and one with eyes closed
of each subject) without knowing which is which. Then a test that respects subjects asks whether
the two use its graphs differently.

The recordings are runs 1 and 2 of PhysioNet's EEG Motor Movement/Imagery Database (Schalk et al.
2004). ``GRAPHDICT_DATA`` names a folder that has them (``S001R01.edf`` and so on, or a folder
``eyes`` of these); without one, this page says so and does nothing else. Fifteen subjects take less
than a minute.
"""

import os

import matplotlib.pyplot as plt
import mne

from graphdict import GraphDictMarginal
from graphdict.datasets import RecordingError, load_eyes
from graphdict.eeg import plot_atoms_on_head
from graphdict.studies import activation_statistics, compare_conditions
from graphdict.viz import plot_effects

# %%
# The recordings
# --------------
# Between 7 and 14 Hz, where eyes make the difference, at 80 samples a second, from the 19
# electrodes of the 10-20 system. After its minute a run may end in silence, which would be a graph
# of its own: it is cut off. Every recording has a name.

electrodes = [
    "Fp1", "Fp2", "F7", "F3", "Fz", "F4", "F8", "T7", "C3", "Cz", "C4", "T8", "P7", "P3", "Pz",
    "P4", "P8", "O1", "O2",
]  # fmt: skip
folder = os.environ.get("GRAPHDICT_DATA")
study = {}
for number in range(1, 16) if folder else ():
    try:
        found = load_eyes(number, folder, band=(7, 14), sfreq=80, download=False)
    except RecordingError as error:
        print(f"Left out: {error}")
        continue
    columns = [found.names.index(name) for name in electrodes]
    for state in ("open", "closed"):
        minute = found.signals[found.states == state][: 60 * 80]
        study[f"S{number:03d} {state}"] = minute[:, columns]
if study:
    print(f"{len(study)} recordings of {len(electrodes)} electrodes")
else:
    print("No recordings, and so nothing to see below: GRAPHDICT_DATA names no folder of them.")

# %%
# One dictionary
# --------------
# Four graphs, of which one is active in each second. Every recording is divided by its own size
# (``rescale="recording"``), so that it is not loudness that tells eyes apart, and no second has
# samples of two recordings. The first rows show how much each graph is used.

model = GraphDictMarginal(4, max_active=1, window_size=80, rescale="recording", random_state=0)
if study:
    model.fit(study)
    used = model.recordings_.split(model.coefficients_)
    for name, coefficients in list(zip(model.recordings_.names, used))[:6]:
        print(name, coefficients.mean(axis=0).round(2))
    info = mne.create_info(electrodes, 80, "eeg").set_montage("easycap-M1")
    plot_atoms_on_head(model.atoms_, info, strongest=40)
    plt.show()

# %%
# Do they differ?
# ---------------
# The share of the time that a recording spends in each graph, compared within subjects: if eyes
# made no difference, the two recordings of a subject could be exchanged. The largest statistic over
# graphs corrects for their number.

if study:
    statistics = activation_statistics(model, sfreq=80)
    subjects, states = zip(*(name.split() for name in model.recordings_.names))
    comparison = compare_conditions(statistics, conditions=states, subjects=subjects)
    plot_effects(comparison)
    plt.show()

# %%
# In words. The p-values are not those of a study that was planned: electrodes and number of graphs
# were chosen after looking. By ``python benchmarks/studies.py settings --folder FOLDER``, these
# electrodes have p-values of 0.001 to 0.003 for the clearest of three or four graphs, at 40 or 80
# samples a second; all 64 have 0.03 with three graphs, and 0.57 and 0.63 with four, since graphs
# there tell subjects apart rather than eyes. A study of your own settles such choices beforehand,
# or on other subjects.

print(comparison.in_words() if study else "Nothing was compared, as there are no recordings.")
