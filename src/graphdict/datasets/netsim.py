"""NetSim: simulated brain signals whose networks are known."""

from __future__ import annotations

import numpy as np
from scipy.io import loadmat

from graphdict.core.annotations import Booleans, Floats, StrPath
from graphdict.datasets.measured import MeasuredSignals, find_file

WHAT = "NetSim (Smith et al. 2011, FMRIB Oxford)"


def load_netsim(folder: StrPath | None = None, *, simulation: int = 1) -> list[MeasuredSignals]:
    """Load one of the NetSim simulations of functional MRI: 50 subjects with known networks.

    S. M. Smith et al., "Network modelling methods for FMRI", NeuroImage 54 (2011); made by the
    FMRIB Centre, Oxford, and free to use for research with that citation.

    Parameters
    ----------
    folder : path, optional
        Where ``sim1.mat`` (or ``sim5.npy`` with ``sim5_struct.csv``) or a folder ``netsim`` with
        them is; by default the folder that ``GRAPHDICT_DATA`` names.
    simulation : int, default=1
        Number of the simulation: 1, 2 and 3 have 5, 10 and 15 nodes and 200 samples a subject;
        others vary the length and the quality of signals.

    Returns
    -------
    list of MeasuredSignals
        One for each subject. ``edges`` are the pairs that the directed network joins.
    """
    name = f"sim{int(simulation)}"
    choices = [f"{place}{name}{end}" for place in ("netsim/", "") for end in (".mat", ".npy")]
    path = find_file(choices, folder, WHAT)
    if path.suffix == ".mat":
        file = loadmat(path, squeeze_me=True)
        networks = np.asarray(file["net"])
        signals = np.asarray(file["ts"], dtype=np.float64).reshape(
            len(networks), -1, networks.shape[-1]
        )
    else:
        signals = np.load(path, allow_pickle=False)[..., 0].swapaxes(1, 2).astype(np.float64)
        structure = np.loadtxt(path.with_name(f"{name}_struct.csv"), delimiter=",")
        networks = np.broadcast_to(
            _square(structure.ravel(), signals.shape[2]), (len(signals), *[signals.shape[2]] * 2)
        )
    nodes = [f"node {i + 1}" for i in range(signals.shape[2])]
    return [MeasuredSignals(x, nodes, edges=_joined(net)) for x, net in zip(signals, networks)]


def _square(values: Floats, nodes: int) -> Floats:
    """Return a matrix (N, N) from its off-diagonal entries, row by row."""
    matrix = np.zeros((nodes, nodes))
    matrix[~np.eye(nodes, dtype=bool)] = values[: nodes * (nodes - 1)]
    return matrix


def _joined(network: Floats) -> Booleans:
    """Return which pairs (E,) a directed network joins in either direction."""
    rows, columns = np.triu_indices(len(network), 1)
    result: Booleans = (network[rows, columns] != 0) | (network[columns, rows] != 0)
    return result
