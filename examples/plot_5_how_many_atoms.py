"""
How many atoms?
===============

Learn with one atom, two, three, ...; score held-out samples; take the smallest
number whose score is as good as the best. This works with :class:`~graphdict.GraphDictMarginal`,
which scores a sample without fitting coefficients to it, and not with the soft dictionaries, which
do. Here the true number is four.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

from graphdict import GraphDictLog, GraphDictMarginal
from graphdict.datasets import make_superposition
from graphdict.exceptions import DeadAtomWarning

data = make_superposition(
    n_atoms=4, n_nodes=12, edge_probability=0.3, n_train=1500, n_test=1500, random_state=5
)
numbers = np.arange(1, 8)

# %%
# Held-out scores of both kinds of model, sample by sample.

marginal, used, soft = [], [], []
for k in numbers:
    model = GraphDictMarginal(k, max_active=1, n_init=4, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeadAtomWarning)
        model.fit(data.train.signals)
    marginal.append(model.score_samples(data.test.signals))
    used.append(np.count_nonzero(model.coefficients_.sum(axis=0) >= 1))
    model = GraphDictLog(k, max_iter=500, tol=1e-3, random_state=0).fit(data.train.signals)
    soft.append(model.score_samples(data.test.signals))

# %%
# The rule: the smallest number whose mean score is within one standard error of the best. Atoms
# that no sample uses are a second sign of too many (a ``DeadAtomWarning`` says so; it is kept
# quiet above).

means = np.array([scores.mean() for scores in marginal])
best = int(np.argmax(means))
error = marginal[best].std() / np.sqrt(len(marginal[best]))
for k, mean, count in zip(numbers, means, used):
    print(
        f"{k} atoms, {count} used: score {mean:.3f}, short of the best by {means[best] - mean:.3f}"
    )
print(f"standard error of the best: {error:.3f}")
print(f"take {numbers[np.argmax(means >= means[best] - error)]}")

# %%
# Both, as gains over one atom:

figure, axes = plt.subplots(1, 2, figsize=(6.8, 2.4), layout="constrained")
for ax, scores, name in zip(axes, (marginal, soft), ("GraphDictMarginal", "GraphDictLog")):
    gains = [np.mean(each - scores[0]) for each in scores]
    ax.plot(numbers, gains, "o-", color="#0072B2", markersize=4)
    ax.axvline(4, color="0.7", linestyle="--", zorder=0)
    ax.set(xlabel="number of atoms", xticks=numbers)
    ax.set_title(name, fontsize=9)
axes[0].set_ylabel("gain in held-out score")

# %%
# What can be concluded
# ---------------------
# On the left the score rises up to the true number and is flat after. On the right it goes on
# rising: the soft model infers the coefficients of a sample from that very sample before it scores
# it, and more atoms always fit better, held out or not. Its score compares settings at one number
# of atoms.
#
# Real data have no true number, and with more of them finer distinctions become worth an atom. The
# rule finds the number that these data support.
#
# :func:`graphdict.selection.choose_n_atoms` applies such a rule to blocks of consecutive samples;
# ``graphdict fit -k auto`` uses it.
