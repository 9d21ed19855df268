"""
Traffic sensors, and a map as a prior
=====================================

Sensors stand at the 28 junctions of a town. Which streets carry the traffic changes over the day,
and two days of data, one value every quarter of an hour, are little to learn three graphs of 378
possible edges from. But a map is at hand: only junctions joined by a street can be neighbours.
That becomes a prior of twelve lines. The data are simulated, so that we can count edges.
"""

# sphinx_gallery_thumbnail_number = 1
import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse.csgraph import minimum_spanning_tree

from graphdict import GraphDictExact, graphs, viz
from graphdict.datasets import sample_lgmrf
from graphdict.metrics import edge_scores, match_atoms
from graphdict.viz.drawing import COLOURS

rng = np.random.default_rng(0)
positions = np.array([(x, y) for y in range(4) for x in range(7)], dtype=float)
start, end = graphs.edge_index(len(positions))
street = np.abs(positions[start] - positions[end]).sum(axis=1) == 1
print(f"{street.sum()} of {len(street)} pairs of junctions are joined by a street")

# %%
# By night a few streets, in the morning the avenues, in the evening the cross streets; around noon
# both.

avenue = street & (positions[start, 1] == positions[end, 1])
tree = minimum_spanning_tree(graphs.adjacency(np.where(street, rng.random(len(street)), 0)))
used = [
    graphs.adjacency_to_weights((tree + tree.T).toarray()) > 0,
    avenue | (street & ~avenue & (positions[start, 0] == 3)),
    (street & ~avenue) | (avenue & (positions[start, 1] == 0)),
]
true_atoms = np.array(used) * rng.uniform(0.5, 3, (3, len(street)))

hours = np.tile(np.arange(96) / 4, 2)
morning, evening = (hours >= 6) & (hours < 15), (hours >= 11) & (hours < 20)
active = np.column_stack([~(morning | evening), morning, evening]).astype(float)
signals = sample_lgmrf(active @ true_atoms, random_state=1)
signals += 0.05 * rng.standard_normal(signals.shape)

# %%
# Without the map
# ---------------
# Four values of an hour share their graph (``window_size=4``).

settings = {"n_atoms": 3, "alpha_w": 0.02, "window_size": 4, "random_state": 0}
free = GraphDictExact(**settings).fit(signals)

# %%
# With the map
# ------------
# A prior is any object with a value and a way to descend it (`add your own prior
# <../add-a-prior.html>`_). This one is a constraint, whose proximal operator sets to zero what is
# not allowed. The fit starts from the atoms found above.


class OnlyTheseEdges:
    """Weights may be positive only where ``allowed`` (E,) is true."""

    elementwise = True

    def __init__(self, allowed):
        self.allowed = allowed

    def value(self, atoms):
        return 0.0 if not atoms[:, ~self.allowed].any() else np.inf

    def prox(self, atoms, step):
        return np.where(self.allowed, atoms, 0)


mapped = GraphDictExact(
    **settings,
    atom_priors=[OnlyTheseEdges(street)],
    atoms=np.where(street, free.atoms_, 0),
    max_iter=1000,
    tol=1e-3,
).fit(signals)

# %%
# Above the truth, then what was learned without and with the map.

figure, axes = plt.subplots(3, 3, figsize=(6.8, 4.6), layout="constrained")
titles = ("night", "morning", "evening")
for line, (label, atoms) in enumerate(
    {"true": true_atoms, "learned": free.atoms_, "with map": mapped.atoms_}.items()
):
    order = match_atoms(true_atoms, atoms).learned
    viz.plot_atoms(atoms[order], axes[line], positions=positions)
    for ax, name in zip(axes[line], titles):
        ax.set_title(f"{name}, {label}", fontsize=8)

# %%
# The hours at which each is active, by the model with the map. Around noon, when two networks are
# in use, it mixes in some of the night's as well, which is wrong.

order = match_atoms(true_atoms, mapped.atoms_).learned
figure, ax = plt.subplots(figsize=(3.4, 2), layout="constrained")
for k, name in enumerate(titles):
    by_hour = mapped.coefficients_[:, order[k]].reshape(2, 24, 4).mean(axis=(0, 2))
    ax.step(np.arange(24), by_hour, where="post", label=name, color=COLOURS[k])
ax.set(xlabel="hour", ylabel="coefficient", ylim=(0, 1.05), xticks=[0, 6, 11, 15, 20])
figure.legend(fontsize=7, frameon=False, loc="outside upper center", ncols=3)

# %%
# What can be concluded
# ---------------------

truth = active @ true_atoms
for label, model in {"without map": free, "with map": mapped}.items():
    found = model.instantaneous_graphs().weights
    cosine = (truth * found).sum(1) / np.linalg.norm(truth, axis=1) / np.linalg.norm(found, axis=1)
    recovered = ", ".join(f"{n} {v:.2f}" for n, v in edge_scores(truth, found).mean().items())
    print(f"{label}: {recovered}; cosine of weights {cosine.mean():.2f}")

# %%
# The map removes the false edges between junctions that no street joins, which is most of them:
# precision doubles and more. What remains are streets that exist but are not in use at that hour,
# with small weights. The strong edges were right without the map as well, as the cosine says. A
# map that is wrong would be obeyed all the same: a constraint leaves the data no say. Where it may
# be wrong, let a smooth prior pull instead.
