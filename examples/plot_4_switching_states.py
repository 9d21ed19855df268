"""
States that switch and return
=============================

Brain recordings are often described by a few states, of which one holds for a while and then gives
way to another. Here four states, each a graph on 16 nodes, are simulated with noise; we learn them
from the first half, follow them through the second, and ask how much the memory of a Markov chain
helps.
"""

# sphinx_gallery_thumbnail_number = 1
import matplotlib.pyplot as plt
import numpy as np

from graphdict import GraphDictMarginal
from graphdict.datasets import make_sbg
from graphdict.metrics import edge_scores, match_atoms

data = make_sbg(
    n_graphs=500,
    signals_per_graph=5,
    n_states=4,
    n_nodes=16,
    edge_probability=0.3,
    p_stay=0.9,
    random_state=1,
)
noise = np.random.default_rng(0).standard_normal(data.signals.shape)
signals = data.signals + 0.1 * data.signals.std() * noise
half = len(signals) // 2
past, future = signals[:half], signals[half:]

# %%
# One atom is active at a time (``max_active=1``). The default prior takes each sample on its own;
# ``prior="markov"`` learns how likely a state is to stay.

models = {
    prior: GraphDictMarginal(4, max_active=1, prior=prior, random_state=0).fit(past)
    for prior in ("independent", "markov")
}


def true_names(model):
    """The true state that each learned atom stands for."""
    pairs = match_atoms(data.atoms, model.atoms_)
    return pairs.true[np.argsort(pairs.learned)]


paths = {
    prior: true_names(model)[model.patterns_.argmax(axis=1)[model.predict(future)]]
    for prior, model in models.items()
}

# %%
# The states of the second half, true and found. ``predict`` gives the most probable state of each
# sample, or the most probable path where there is a chain.

figure, axes = plt.subplots(3, 1, figsize=(6.8, 2.8), sharex=True, layout="constrained")
rows = {"true": data.states[half:], "each sample on its own": paths["independent"]}
for ax, (label, states) in zip(axes, {**rows, "Markov chain": paths["markov"]}.items()):
    ax.step(np.arange(len(states)), states + 1, where="post", linewidth=0.8, color="#0072B2")
    ax.set(ylabel="state", yticks=[1, 2, 3, 4], ylim=(0.6, 4.4))
    ax.set_title(label, fontsize=8, loc="left")
axes[-1].set_xlabel("sample")

# %%
# How right, and how long states last. The mean duration of a state is what a study would report.


def mean_duration(states):
    """Samples from one change to the next, on average."""
    return len(states) / (1 + np.count_nonzero(np.diff(states)))


print(f"true: mean duration {mean_duration(data.states[half:]):.0f} samples")
for prior, states in paths.items():
    right = np.mean(states == data.states[half:])
    found = models[prior].instantaneous_graphs(future)
    mcc = edge_scores(data.weights[half:], found).mean()["mcc"]
    print(
        f"{prior}: {right:.1%} of samples right, mean duration {mean_duration(states):.0f}, "
        f"MCC of graphs {mcc:.2f}"
    )
stay = models["markov"].stay_probability_
print(f"learned chance that the next sample keeps its state: {stay:.3f}")

# %%
# What can be concluded
# ---------------------
# A single sample on 16 nodes leaves doubt about its state; its neighbours in time resolve it.
# Without a chain most samples are still right, but every wrong one breaks a state in pieces, and
# durations come out far too short. Such statistics should come from a model that knows of time.
#
# The simulation is kinder than a recording: states switch at once, there are exactly as many as
# the model was told, and the signals are Gaussian. How many states there are is the matter of the
# next example.
