"""
Figures for papers and notebooks
================================

Every function of :mod:`graphdict.viz` draws on the axes it is given and returns them; without axes
it makes a figure one column (3.4 inches) wide. Atoms keep their colour in all figures. Colours are
those of Okabe and Ito, which readers of every colour vision tell apart; coefficients are grey.
"""

import matplotlib.pyplot as plt

from graphdict import GraphDictLog, viz
from graphdict.datasets import make_superposition
from graphdict.metrics import match_atoms

data = make_superposition(
    n_atoms=3, n_nodes=14, superposition=2, samples_per_graph=20, random_state=2
)
model = GraphDictLog(3, alpha_w=0.02, window_size=20, n_init=5, random_state=0)
model.fit(data.train.signals)

# %%
# Atoms, on one scale of widths:

viz.plot_atoms(model)

# %%
# Coefficients, with times where there are some:

viz.plot_coefficients(model)

# %%
# The graphs of chosen samples. An edge has the colour of the atom that gives most of its weight,
# and the bars are the coefficients.

viz.plot_instantaneous(model, [0, 60, 100])

# %%
# Convergence: the objective, and the residual of the optimality conditions (dashed).

viz.plot_convergence(model)

# %%
# Recovered against true, in full:

shown = slice(0, 400)
viz.plot_recovery(
    data.atoms, model.atoms_, data.train.coefficients[shown], model.coefficients_[shown]
)

# %%
# and compact, for graphs of any size: the truth above the diagonal, the learned graph below.

order = match_atoms(data.atoms, model.atoms_).learned
figure, axes = plt.subplots(1, 3, figsize=(3.4, 1.35), layout="constrained")
for k, ax in enumerate(axes):
    viz.plot_comparison(data.atoms[k], model.atoms_[order[k]], ax, title=f"Atom {k + 1}")

# %%
# Axes of your own, names, positions:

figure, (left, right) = plt.subplots(
    1, 2, figsize=(6.8, 2.6), layout="constrained", width_ratios=[1, 2]
)
viz.plot_graph(model.atoms_[0], left, names=[f"node {i}" for i in range(14)], threshold=0.1)
viz.plot_coefficients(model, right, title="When it is active")

# %%
# A lesson in the figures above: the atoms of ``GraphDictLog`` are sparser than the truth (strong
# edges are found, weak ones are missing), and coefficients that should be 1 come out lower. `Which
# model when <../models.html>`_ says why.
