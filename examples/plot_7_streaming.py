"""
Following a system live
=======================

Samples that never end are learned from as they come: ``partial_fit`` takes the next batch, and the
model is ready at any time to say which state holds now. Here three states on 10 nodes switch and
return, and meanwhile the system drifts: the graph of each state turns, bit by bit, into another. A
model that forgets follows; one that counts all samples alike falls behind.
"""

# sphinx_gallery_thumbnail_number = 1
import matplotlib.pyplot as plt
import numpy as np

from graphdict import GraphDictMarginal
from graphdict.datasets import make_sbg, sample_lgmrf
from graphdict.metrics import match_atoms

SAMPLES, BATCH = 6000, 100
kind = {"n_states": 3, "n_nodes": 10, "edge_probability": 0.5, "p_stay": 0.9}
begin, end = (make_sbg(SAMPLES, 1, **kind, random_state=seed) for seed in (2, 3))
states = begin.states
progress = np.clip(np.arange(SAMPLES) / 4000 - 0.25, 0, 1)  # change is from 1,000 to 5,000
share = progress[:, None]
graphs = (1 - share) * begin.atoms[states] + share * end.atoms[states]
rng = np.random.default_rng(0)
signals = sample_lgmrf(graphs, random_state=rng)
signals += 0.1 * signals.std() * rng.standard_normal(signals.shape)

# %%
# The stream. Each batch is first classified by what the model knows already, as a monitor would do
# it, and then learned from. The first batches are fitted together; ``forgetting=0.998`` remembers
# about the last 500 samples.

models = {
    "forgets": GraphDictMarginal(
        3, max_active=1, prior="markov", forgetting=0.998, n_init=4, random_state=0
    ),
    "counts all alike": GraphDictMarginal(
        3, max_active=1, prior="markov", n_init=4, random_state=0
    ),
}
first = 600
right: dict[str, list[float]] = {name: [] for name in models}
found: dict[str, list[np.ndarray]] = {name: [] for name in models}
for name, model in models.items():
    model.partial_fit(signals[:first])
    for start in range(first, len(signals), BATCH):
        batch = signals[start : start + BATCH]
        atoms = model.patterns_.argmax(axis=1)[model.predict(batch)]
        # Which learned atom is which true state, only to compare with the truth.
        now = (1 - share[start]) * begin.atoms + share[start] * end.atoms
        pairs = match_atoms(now, model.atoms_)
        path = pairs.true[np.argsort(pairs.learned)][atoms]
        found[name].append(path)
        right[name].append(float(np.mean(path == states[start : start + BATCH])))
        model.partial_fit(batch)

# %%
# The share of samples whose state was found before the batch was learned from, and the states
# of the last 500 samples.

times = np.arange(first, len(signals), BATCH)
figure, (above, below) = plt.subplots(2, 1, figsize=(6.8, 3.6), layout="constrained")
for (name, shares), color in zip(right.items(), ("#0072B2", "#D55E00")):
    smooth = [np.mean(shares[max(0, i - 4) : i + 1]) for i in range(len(shares))]
    above.plot(times, smooth, label=name, color=color, linewidth=1.2)
above.axvspan(1000, 5000, color="0.93", linewidth=0)
above.annotate("graphs drift", (3000, 0.35), fontsize=8, ha="center")
above.set(xlabel="sample", ylabel="states found", ylim=(0.3, 1.02))
above.legend(fontsize=8, loc="lower left")
last = slice(len(signals) - 500, len(signals))
shown = np.concatenate(found["forgets"])[-500:]
below.step(np.arange(500) + last.start, states[last] + 1, where="post", color="0.6", label="true")
below.step(
    np.arange(500) + last.start, shown + 1.08, where="post", color="#0072B2", linewidth=0.9,
    label="found live",
)  # fmt: skip
below.set(xlabel="sample", ylabel="state", yticks=[1, 2, 3], ylim=(0.7, 4.0))
below.legend(fontsize=8, ncols=2, loc="upper right")

# %%
for name, shares in right.items():
    before = np.mean([s for s, t in zip(shares, times) if t < 1000])
    after = np.mean([s for s, t in zip(shares, times) if t >= 5000])
    seen = models[name].n_samples_seen_
    print(f"{name}: {before:.0%} right before the drift, {after:.0%} after it, {seen} samples seen")

# %%
# What can be concluded
# ---------------------
# The graphs at the end have little in common with those at the beginning, and nobody said when they
# changed. How much to remember is a trade: the memory must be long enough for every state to return
# within it, and a short one makes atoms noisy even while nothing changes.
#
# The simulation shows one course of events. Where two states become alike on the way, or a system
# changes all at once, a stream can lose a state for good: it does not begin again by itself, and a
# ``fit`` to recent samples is the better answer. A stream can be saved and gone on with in another
# process, since ``save`` keeps its averages.
