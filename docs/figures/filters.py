"""What filter and tails find: the picture of docs/filters.md.

    python docs/figures/filters.py

Left: the power that GraphDictMarginal learns from signals simulated with powers 1 to 3, and the
score of held-out signals beside that of power 1. Right: how loud samples were, and the gains that
a model with tails finds.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import matplotlib.ticker
import numpy as np

from graphdict import GraphDictMarginal
from graphdict.datasets import erdos_renyi, sample_lgmrf

PICTURE = Path(__file__).parents[1] / "images" / "filters.png"
POWERS = (1.0, 1.5, 2.0, 2.5, 3.0)
DRAWS = 3


def main() -> None:
    """Simulate, learn, draw; print the numbers of the page."""
    warnings.simplefilter("ignore")
    plt.rcParams.update({"font.size": 9})
    figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
    found, gain = np.empty((2, len(POWERS), DRAWS))
    for i, power in enumerate(POWERS):
        for draw in range(DRAWS):
            weights = erdos_renyi(1, 20, 0.25, weight_range=(0.5, 2.0), random_state=draw)[0]
            x = sample_lgmrf(weights, 1500, random_state=10 + draw, filter=power)
            learned = GraphDictMarginal(1, random_state=0).fit(x[:1000])
            plain = GraphDictMarginal(1, filter_power=1, tails="gaussian").fit(x[:1000])
            found[i, draw] = learned.filter_power_
            gain[i, draw] = learned.score(x[1000:]) - plain.score(x[1000:])
        print(f"power {power}: found {found[i].mean():.2f}, {gain[i].mean():.2f} nats gained")
    left.plot(POWERS, POWERS, color="0.8", zorder=0)
    left.plot(np.repeat(POWERS, DRAWS), found.ravel(), "o", color="#1f6f8b")
    left.set(xlabel="power of the simulation", ylabel="power found")
    weights = erdos_renyi(1, 20, 0.25, weight_range=(0.5, 2.0), random_state=0)[0]
    rng = np.random.default_rng(0)
    loudness = np.exp(0.5 * rng.standard_normal(1000))
    x = sample_lgmrf(weights, 1000, random_state=1) * loudness[:, None]
    model = GraphDictMarginal(1, random_state=0).fit(x)
    amplitude = model.gains_**-0.5
    agreement = np.corrcoef(np.log(loudness), np.log(amplitude))[0, 1]
    print(f"loudness: tails {model.tails_:.2f}, correlation of logarithms {agreement:.3f}")
    right.loglog(loudness, amplitude, ".", color="#c8553d", markersize=3)
    right.set(xlabel="loudness of a sample", ylabel="1 / sqrt(gain) found")
    ticks = [0.25, 0.5, 1, 2, 4]
    for axis in (right.xaxis, right.yaxis):
        axis.set_major_locator(mpl.ticker.FixedLocator(ticks))
        axis.set_major_formatter(mpl.ticker.FormatStrFormatter("%g"))
        axis.set_minor_locator(mpl.ticker.NullLocator())
    figure.savefig(PICTURE, dpi=200)


if __name__ == "__main__":
    main()
