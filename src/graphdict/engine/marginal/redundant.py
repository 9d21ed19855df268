"""Atoms that a fit could do without: those that nothing uses, and those that are like others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphdict.exceptions import DeadAtomWarning, warn
from graphdict.metrics import cosines

ALIKE = 0.99  # cosine of the weights of two atoms from which on they are


def idle_atoms(atoms: NDArray, usage: NDArray) -> list[int]:
    """Return the atoms (K, E) without edges, or active in less than one sample.

    ``usage`` (K,) is the expected number of samples in which each is active.
    """
    return np.flatnonzero(~atoms.any(axis=1) | (usage < 1)).tolist()


def alike_atoms(atoms: NDArray) -> list[tuple[int, int]]:
    """Return pairs of atoms (K, E) whose weights have a cosine above 0.99."""
    first, second = np.nonzero(np.triu(cosines(atoms, atoms) > ALIKE, 1))
    return list(zip(first.tolist(), second.tolist(), strict=True))


def are_one_graph(atoms: NDArray) -> bool:
    """Return whether several atoms (K, E) are copies of one graph, which has edges."""
    return len(atoms) > 1 and bool(atoms.any() and (atoms == atoms[0]).all())


def warn_of_redundant_atoms(atoms: NDArray, usage: NDArray) -> None:
    """Warn of atoms (K, E) that nothing uses, and of those that are alike."""
    if are_one_graph(atoms):
        warn(
            f"all {len(atoms)} atoms are one graph, of which the first is active in all samples: "
            "it explains held-out windows as well as several do. Fewer atoms would do.",
            DeadAtomWarning,
        )
        return
    if idle := idle_atoms(atoms, usage):
        warn(
            f"{len(idle)} of {len(atoms)} atoms have no edges or are active in less than one "
            f"sample: {idle}. Fewer atoms would do.",
            DeadAtomWarning,
        )
    if pairs := alike_atoms(np.delete(atoms, idle, axis=0)):
        used = np.delete(np.arange(len(atoms)), idle)
        named = ", ".join(f"{used[a]} and {used[b]}" for a, b in pairs[:5])
        named += " ..." if len(pairs) > 5 else ""
        warn(
            f"atoms {named} are the same graph but for its strength (cosine above {ALIKE}): "
            "signals do not tell them apart, or differ in loudness only. Fewer atoms would do.",
            DeadAtomWarning,
        )
