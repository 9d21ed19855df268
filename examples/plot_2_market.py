"""
Twenty companies over thirty years
==================================

Daily prices of 20 large companies of the United States from 1990 to 2022, as the package
``skfolio`` ships them. Which companies move together, once what all of them share is taken out? Is
it one graph, or several, each in its time?
"""

# sphinx_gallery_thumbnail_number = 3
import warnings

import matplotlib.pyplot as plt
import numpy as np
from skfolio.datasets import load_sp500_dataset

from graphdict import GraphDictMarginal, viz
from graphdict.exceptions import DeadAtomWarning
from graphdict.graphs import edge_index

prices = load_sp500_dataset()
returns = np.log(prices).diff().iloc[1:]
print(f"{len(returns)} days, {returns.index[0]:%Y-%m-%d} to {returns.index[-1]:%Y-%m-%d}")

# %%
# Preparing the signals
# ---------------------
# Two things would fill the graphs with what is no news. Some companies swing more than others:
# each return is divided by that company's usual swing in the months before. And some days are wild
# for all: each day is divided by its own size, after taking out its mean over companies (which no
# Laplacian sees anyway). What is left is *who moved with whom*.

usual = returns.ewm(halflife=60).std().shift(1)
signals = (returns / usual).replace([np.inf, -np.inf], np.nan).dropna().iloc[60:]
signals = signals.sub(signals.mean(axis=1), axis=0)
signals = signals.div(np.sqrt((signals**2).mean(axis=1)), axis=0)

# %%
# How many graphs?
# ----------------
# Learned on every other month (21 days, which share a graph), judged by the score of the months
# between. The Markov prior lets graphs last. Bars are standard errors of the gain over one graph.
# Where there are more graphs than the data ask for, some stay unused, and a warning says so; here
# that is part of the answer.

month = np.arange(len(signals)) // 21
learned_from, held_out = signals[month % 2 == 0], signals[month % 2 == 1]
settings = {"max_active": 1, "prior": "markov", "window_size": 21, "random_state": 0}
numbers = np.arange(1, 7)
scores = []
for k in numbers:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeadAtomWarning)
        model = GraphDictMarginal(k, **settings).fit(learned_from)
    scores.append(model.score_samples(held_out))
    used = np.count_nonzero(model.coefficients_.sum(axis=0) >= 1)
    print(f"{k} graphs, {used} used: held-out score {scores[-1].mean():.3f}")

figure, ax = plt.subplots(figsize=(3.4, 2.2), layout="constrained")
quarter = np.arange(len(held_out)) // 63
for k, each in zip(numbers, scores):
    gain = np.bincount(quarter, each - scores[0]) / np.bincount(quarter)
    error = gain.std() / np.sqrt(len(gain))
    ax.errorbar(k, gain.mean(), error, fmt="o", color="#0072B2", capsize=3)
ax.axhline(0, color="0.7", linewidth=0.8)
ax.set(xlabel="number of graphs", ylabel="gain in held-out score", xticks=numbers)

# %%
# A second graph helps, a third a little more, and further ones do not.
#
# Three graphs
# ------------
# Companies stand in the order of their industries. Edges that matter little are left out of the
# drawing.

industries = {
    "technology": ["AAPL", "AMD", "MSFT"],
    "retail": ["BBY", "HD", "WMT"],
    "goods": ["KO", "PEP", "PG"],
    "health": ["JNJ", "LLY", "MRK", "PFE", "UNH"],
    "energy": ["CVX", "RRC", "XOM"],
    "finance and GE": ["BAC", "JPM", "GE"],
}
names = [name for members in industries.values() for name in members]
model = GraphDictMarginal(3, **settings).fit(signals[names])
order = np.argsort(np.arange(len(signals)) @ model.coefficients_ / model.coefficients_.sum(axis=0))
atoms, coefficients = model.atoms_[order], model.coefficients_[:, order]  # the earliest first
shares = 100 * atoms / atoms.sum(axis=1, keepdims=True)  # percent of all weight

figure, axes = plt.subplots(1, 3, figsize=(7.4, 2.9), layout="constrained")
viz.plot_atoms(shares, axes, names=names, threshold=0.7, strongest=8)

# %%
# And when each holds:

viz.plot_coefficients(coefficients, times=signals.index.to_numpy())

# %%
# The strongest edges, in percent of all weight of the graph:

rows, cols = edge_index(len(names))
for edge in np.argsort(-shares.max(axis=0))[:10]:
    pair = f"{names[rows[edge]]}-{names[cols[edge]]}"
    print(f"{pair:10s}", "".join(f"{share:6.1f}" for share in shares[:, edge]))

industry = np.repeat(np.arange(len(industries)), [len(each) for each in industries.values()])
inside = industry[rows] == industry[cols]
print("\nwithin an industry:", ", ".join(f"{share:.0f} %" for share in shares[:, inside].sum(1)))
print(f"of all pairs, {inside.mean():.0%} are within an industry")

# %%
# What can be concluded
# ---------------------
# The model was told nothing of industries, and joins oil with oil, bank with bank, drug maker with
# drug maker: around half of the weight lies on an eighth of the pairs, and the share grew. The
# graphs hold one after the other: these are *eras* rather than states that come and go, and the
# two banks, for one, move together far more in the last than in the first.
#
# What cannot: that anything happened in the very months where one graph gives way to the next,
# since a gradual change would be cut in pieces just so. The gain of the third graph over the
# second is small. The companies were chosen because they survived. An edge joins companies that
# move alike, for whatever reason; it does not say that one moves the other. And nothing here
# forecasts a price.
