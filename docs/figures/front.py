"""A dictionary at a glance: the picture of the first page and of the README.

    python docs/figures/front.py

Three graphs on 14 nodes, as GraphDictMarginal learns them from 1,000 simulated signals; the graphs
of three of these signals; and the coefficients in time.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

from graphdict import GraphDictMarginal, viz
from graphdict.datasets import make_superposition

SAMPLES = [50, 110, 200]
SHOWN = 400


def main() -> None:
    """Learn and draw."""
    data = make_superposition(
        n_atoms=3, n_nodes=14, superposition=2, samples_per_graph=20, random_state=2
    )
    model = GraphDictMarginal(n_atoms=3, max_active=2, window_size=20, random_state=2)
    model.fit(data.train.signals)

    figure = plt.figure(figsize=(7.2, 3.3), layout="constrained")
    above, below = figure.subfigures(2, 1, height_ratios=[2, 1.05])
    left, right = above.subfigures(1, 2)
    viz.plot_atoms(model, left.subplots(1, 3))
    viz.plot_instantaneous(model, SAMPLES, right.subplots(1, 3))
    left.suptitle("a dictionary of graphs", fontsize=9)
    right.suptitle("mixed into the graph of every sample", fontsize=9)
    ax = viz.plot_coefficients(model.coefficients_[:SHOWN], below.subplots())
    ax.set_title("by coefficients in time", fontsize=9, pad=10)
    for sample in SAMPLES:
        ax.annotate(
            "", (sample, 0.5), (sample, -0.1), annotation_clip=False,
            arrowprops={"arrowstyle": "-|>", "color": "#333333"},
        )  # fmt: skip
    target = Path(__file__).parents[1] / "images" / "front.png"
    figure.savefig(target, dpi=200)
    print("wrote", target.name)


if __name__ == "__main__":
    main()
