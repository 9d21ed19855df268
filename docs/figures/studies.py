"""Draw the figures of the page on studies, by the code of that page.

python docs/figures/studies.py
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

from graphdict.viz import plot_effects, plot_recordings, plot_reproducibility

DOCS = Path(__file__).parents[1]
GROUPS = 0.4  # of the logarithm of a weight, by which two groups of recordings differ


def main() -> None:
    """Run the page and save what it draws."""
    page: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", (DOCS / "studies.md").read_text(), re.DOTALL):
        exec(block, page)  # noqa: S102
    plt.close("all")
    images = DOCS / "images"
    plot_effects(page["found"])
    plt.savefig(images / "studies-effects.png", dpi=150)
    figure, axes = plt.subplots(1, 2, figsize=(7, 3), layout="constrained")
    plot_reproducibility(page["again"], axes[0])
    own, names = apart(page)
    plot_recordings(own, axes[1], groups=names, names=False)
    figure.savefig(images / "studies-halves-map.png", dpi=150)


def apart(page: dict[str, Any]) -> tuple[Any, list[str]]:
    """Return atoms of the page's recordings with half of them drawn from other weights."""
    import numpy as np

    from graphdict.datasets import sample_lgmrf
    from graphdict.studies import recording_atoms

    rng = np.random.default_rng(1)
    other = page["graphs"] * np.exp(GROUPS * rng.standard_normal(page["graphs"].shape))
    signals, names = [], []
    for number in range(24):
        atoms = (page["graphs"], other)[number % 2]
        states = np.repeat(rng.integers(0, 3, 40), 10)
        signals.append(sample_lgmrf(atoms[states], 1, rng))
        names.append(("first weights", "second weights")[number % 2])
    page["model"].fit(signals)
    own = recording_atoms(page["model"], signals)
    print(own.in_words())
    return own, names


if __name__ == "__main__":
    main()
