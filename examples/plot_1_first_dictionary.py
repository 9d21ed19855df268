"""
A first dictionary, and its truth
=================================

Three sparse graphs on 14 nodes are mixed, two at most at a time, into the graphs of 1,000 signals.
From the signals alone, :class:`~graphdict.GraphDictMarginal` learns the three graphs and which of
them are active in each sample. Since the signals are simulated, we can see how right it is.
"""

import numpy as np

from graphdict import GraphDictMarginal, viz
from graphdict.datasets import make_superposition
from graphdict.metrics import edge_scores

data = make_superposition(
    n_atoms=3, n_nodes=14, superposition=2, samples_per_graph=20, random_state=2
)
print("to learn from:", data.train.signals.shape, "to test on:", data.test.signals.shape)

# %%
# Twenty samples in a row share their graph, and we tell the model so (``window_size``). What it is
# not told: the graphs, and when which of them is active.

model = GraphDictMarginal(n_atoms=3, max_active=2, window_size=20, random_state=2)
coefficients = model.fit_transform(data.train.signals)
print("coefficients:", coefficients.shape, "atoms:", model.atoms_.shape)

# %%
# The atoms come in no particular order; :func:`~graphdict.viz.plot_recovery` puts each beside the
# true one that it resembles most. MCC is the correlation of true and learned edges: 1 is perfect,
# 0 is chance.

shown = slice(0, 500)
viz.plot_recovery(
    data.atoms, model.atoms_, data.train.coefficients[shown], model.coefficients_[shown]
)

# %%
# New signals get coefficients under the learned atoms, and with them a graph each. The graphs are
# kept as the mixture they are, and computed for the samples that you look at.

graphs = model.instantaneous_graphs(data.test.signals)
print(graphs)
for name, value in edge_scores(data.test.weights, graphs).mean().items():
    print(f"{name} of the graphs of new signals: {value:.2f}")

# %%
# Three of these graphs. An edge has the colour of the atom that it mostly comes from; the bars are
# the coefficients.

viz.plot_instantaneous(graphs, [0, 100, 140])

# %%
# What can be concluded
# ---------------------
# Here: nearly every true edge is found, and activations are found without an error, since 20
# samples of one graph on 14 nodes say a lot about which atoms are on. False edges remain, and all
# of them are weak:

learned = graphs.weights
false = (learned > 0) & ~(data.test.weights > 0)
print(f"mean weight of true edges {learned[data.test.weights > 0].mean():.2f}")
print(f"mean weight of false edges {learned[false].mean():.2f}")
wrong = np.mean(np.round(graphs.coefficients).sum(1) != data.test.coefficients.sum(1))
print(f"samples with a wrong number of active atoms: {wrong:.0%}")

# %%
# With one sample for each graph instead of twenty, the task is far harder; the page on `the
# paper's experiments <../experiments.html>`_ has the numbers.
