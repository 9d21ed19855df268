"""WindowLogModel: an independent graph for each window of consecutive samples."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from graphdict.baselines.base import COUNT, LogDegreeBaseline, StateGraphs
from graphdict.core import graphs
from graphdict.core.annotations import Booleans, Floats, Integers, RescaleName, Signals
from graphdict.core.graph_learning import learn_graphs, log_degree_objective
from graphdict.core.graph_learning.windows import active_nodes, without_rounding
from graphdict.core.recordings import Recordings
from graphdict.core.terms.signal_terms import window_distances
from graphdict.engine.penalties import weights_in
from graphdict.engine.signals import BLOCK_BYTES


class WindowBaseline(LogDegreeBaseline):
    """Base class of the methods with a graph for each window of samples."""

    states_: Integers
    window_size: int
    _takes_gaps = True
    _copies = 6  # of the graphs of all windows that a fit holds at a time

    def _memory_needed(self, samples: int, nodes: int, size: int) -> tuple[int, int]:
        windows, edges = -(-samples // self.window_size), graphs.n_edges(nodes)
        building = 3 * min(samples * edges * size, BLOCK_BYTES) if windows < samples else 0
        return building, 8 * edges * size + self._copies * windows * edges * 8

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **LogDegreeBaseline._parameter_constraints,
        "window_size": [COUNT],
    }

    def _windows(self, X: Signals) -> tuple[Floats, Booleans]:
        """Return edge costs (B, E) of the windows, and their nodes (B, N) that are not silent."""
        samples, signals = self._learn(X, self.rescale)
        longest = max(self.recordings_.lengths)
        if self.window_size > longest:
            raise ValueError(
                f"window_size={self.window_size} is larger than the {longest} samples of X; "
                f"use at most {longest}"
            )
        rows, counts = self._cut(self.recordings_)
        costs = without_rounding(window_distances(signals[rows], counts))
        active = active_nodes(samples[rows], counts)[:, self.active_nodes_]
        return costs + np.asarray(self._shrinkage, dtype=costs.dtype), active

    def _cut(self, recordings: Recordings) -> tuple[Any, Integers]:
        """Return the rows of all windows, one after the other, and their lengths; set states."""
        counts = recordings.window_counts(self.window_size)
        self.states_ = np.repeat(np.arange(len(counts)), counts)
        return slice(None), counts

    def instantaneous_graphs(self, X: Signals | None = None) -> StateGraphs:
        """Return the graph of each sample's window.

        Parameters
        ----------
        X : array (T, N), optional
            Signals of the same length as the training signals, since windows are known by time
            only; the training signals by default.

        Returns
        -------
        StateGraphs
        """
        recordings = self.recordings_
        if X is not None:
            recordings = self._prepare(X)[1]
            samples = recordings.total
            if samples != len(self.states_):
                raise ValueError(
                    f"X has {samples} samples but the windows cover {len(self.states_)}: only "
                    "windows of the training signals have graphs"
                )
        return StateGraphs(self.states_, self.atoms_, self.node_names, recordings)


@dataclass(repr=False, eq=False)
class WindowLogModel(WindowBaseline):
    """Independent log-degree graphs over consecutive windows.

    Solves the problem of :class:`LogModel` for each window of ``window_size`` samples,

        min over w >= 0   <w, z> + alpha_w sum(w) + beta/2 |w|^2 - sum_n log (D w)_n

    where ``z`` averages over the window. A node whose signal is exactly zero throughout a window
    has no edges there.

    Parameters
    ----------
    window_size : int, default=20
        Number of samples that share a graph; the last window may be shorter.
    stride : int, optional
        Samples from the start of a window to that of the next: windows that slide. The graph of a
        sample is that of the window whose centre is nearest. By default windows are disjoint.
    avg_degree : float, default=5
        Wanted number of edges at a node, which determines ``beta`` of each window.
    beta : float, optional
        Ridge of all windows, instead of an average degree.
    alpha_w : float, default=0.0
        Penalty on edge weights.
    rescale : bool or "recording", default=True
        Divide all signals by one number, so that results do not depend on units.

    Attributes
    ----------
    atoms_ : array (windows, E)
        Edge weights of each window.
    states_ : integer array (T,)
        Window of each training sample.
    objective_ : float
        Sum of the objectives of the windows.
    residual_ : float
        Largest relative violation of the optimality conditions.
    n_iter_ : int
        Newton steps.
    scale_, active_nodes_, n_features_in_, feature_names_in_
        As for the dictionaries.
    """

    atoms_: Floats = field(init=False)
    objective_: float = field(init=False)
    n_iter_: int = field(init=False)
    states_: Integers = field(init=False)
    residual_: float = field(init=False)
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **WindowBaseline._parameter_constraints,
        "stride": [COUNT, None],
    }

    window_size: int = 20
    _: KW_ONLY
    stride: int | None = None
    avg_degree: float = 5
    beta: float | None = None
    alpha_w: float = 0.0
    rescale: bool | RescaleName = True

    def _cut(self, recordings: Recordings) -> tuple[Any, Integers]:
        if self.stride is None:
            return super()._cut(recordings)
        rows, counts, states, known = [], [], [], 0
        pieces = zip(recordings.piece_starts, recordings.piece_lengths, strict=True)
        for first, samples in pieces:
            starts, own = _slide(int(samples), self.window_size, self.stride)
            size = min(self.window_size, int(samples))
            rows.append((first + starts[:, None] + np.arange(size)).ravel())
            counts.append(np.full(len(starts), size))
            states.append(known + own)
            known += len(starts)
        self.states_ = np.concatenate(states)
        return np.concatenate(rows), np.concatenate(counts)

    def _memory_needed(self, samples: int, nodes: int, size: int) -> tuple[int, int]:
        building, solving = super()._memory_needed(samples, nodes, size)
        if self.stride is None:
            return building, solving
        overlap = -(-self.window_size // self.stride)  # windows that a sample is in
        return building + overlap * samples * nodes * size, overlap * solving

    def fit(self, X: Signals, y: Any = None) -> Self:
        self._validate_params()
        costs, active = self._windows(X)
        ridge = self._ridge(costs, active)
        found = learn_graphs(costs, ridge, active=active)
        self.atoms_ = self._preparation.embed(weights_in(self, found.weights, costs.dtype))
        self.objective_ = float(log_degree_objective(found.weights, costs, ridge, active).sum())
        self.residual_ = float(found.residual.max())
        self.n_iter_ = max(found.n_iter, 1)
        return self


def _slide(samples: int, size: int, stride: int) -> tuple[Integers, Integers]:
    """Return where windows of ``size`` begin, and the window (T,) of each of so many samples."""
    size = min(size, samples)
    starts = np.arange(0, samples - size + 1, stride)
    if starts[-1] + size < samples:  # what is left over has a window, too
        starts = np.append(starts, samples - size)
    centres = starts + (size - 1) / 2
    between = (centres[1:] + centres[:-1]) / 2
    return starts, np.searchsorted(between, np.arange(samples), side="left")
