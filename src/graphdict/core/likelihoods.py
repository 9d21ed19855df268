"""Likelihoods: what the density of a signal sees of its graph, each as one class.

Twice the negative log-density of a signal ``x`` (of zero mean over nodes, N - 1 dimensions) under
the graph ``L`` is

    x' L x  +  h(M(L))  +  rest(x)  +  (N - 1) log 2 pi

where ``M`` is a linear map of the graph (its degrees, the Laplacian itself, its spectrum in a known
basis), ``h`` a barrier that keeps the graph from vanishing, and ``rest`` whatever does not depend
on the graph. A likelihood names the map and the barrier; solvers, coding and scores follow. See the
page "Add your own likelihood" for one of your own.
"""

from __future__ import annotations

import numpy as np

from graphdict.core.annotations import Booleans, Floats, Integers
from graphdict.core.operators import Degrees, Laplacians, LinearMap, Spectra
from graphdict.core.terms.barriers import LogBarrier, LogDet
from graphdict.core.terms.base import Barrier, SignalTerm
from graphdict.core.terms.missing import Gaps
from graphdict.core.terms.modal import ModalSmoothness, modal_smoothness
from graphdict.core.terms.signal_terms import Smoothness, smoothness


class Likelihood:
    """Base of the likelihoods: name a map and a barrier, and it can be fitted.

    Attributes
    ----------
    barrier : object
        ``h``, of what :meth:`linear_map` returns, one sample in each row. It needs
        ``values(rows)`` (T,) and ``prox(rows, step)`` or ``prox_conjugate(dual, step)``; with
        ``slope(rows)``, minus its gradient, fits are by majorise-minimise, and with
        ``curvature(rows, images)`` (T, K, K) besides, coefficients are found by Newton steps.
    """

    __module__ = "graphdict.terms"  # where users find it, which messages name
    barrier: Barrier

    def linear_map(self, nodes: int) -> LinearMap:
        """Return what ``h`` sees of a graph.

        Parameters
        ----------
        nodes : int
            Number of nodes that vary.

        Returns
        -------
        LinearMap
            With ``apply``, ``adjoint`` and ``norm``: :class:`graphdict.operators.Degrees`,
            :class:`graphdict.operators.Laplacians` or one of your own.
        """
        raise NotImplementedError(f"{type(self).__name__} lacks linear_map(nodes)")

    def on_nodes(self, active: Booleans) -> Likelihood:
        """Return the likelihood of the nodes that vary; by default itself.

        One that has numbers for each node overrides it.

        Parameters
        ----------
        active : boolean array (N,)
            False for silent nodes, which are taken out before a fit.

        Returns
        -------
        Likelihood
        """
        return self

    def rest(self, signals: Floats) -> Floats:
        """Return what the density adds whatever the graph is; by default nothing.

        It changes no fit, only scores.

        Parameters
        ----------
        signals : array (T, N)
            A missing value is NaN; samples of which nothing was observed are not shown, and
            count as average ones.

        Returns
        -------
        array (T,)
        """
        return np.zeros(len(signals))

    def signal_term(
        self, signals: Floats, counts: Integers, keep: bool | None = None, gaps: Gaps | None = None
    ) -> SignalTerm:
        """Return the term ``x' L x`` of signals in windows.

        Parameters
        ----------
        signals : array (T, N)
            Prepared: centred over nodes, divided by ``scale_``.
        counts : integer array (B,)
            Number of samples in each window: ones for samples alone.
        keep : bool, optional
            Whether to keep squared differences; by default where they are small.
        gaps : Gaps, optional
            How observed pairs stand for all, where values are missing.

        Returns
        -------
        term
            With ``energies``, ``weighted_distances`` and ``features``, as
            :class:`graphdict.terms.Smoothness`; :class:`graphdict.terms.CachedSmoothness` makes
            one of any distances (B, E).
        """
        return smoothness(signals, counts, keep, gaps)

    def signal_kind(self, single: bool, gaps: bool) -> type | None:
        """Return the class of :meth:`signal_term`, without reading signals to find out.

        Parameters
        ----------
        single : bool
            Whether rows are single samples, not windows.
        gaps : bool
            Whether values are missing.

        Returns
        -------
        type or None
            None where no compiled backend needs to know.
        """
        plain = type(self).signal_term is Likelihood.signal_term
        return Smoothness if plain and single and not gaps else None


class LogDegrees(Likelihood):
    """``-sum_n log d_n`` of the degrees: the paper's cheap barrier, which is no density."""

    barrier: LogBarrier

    def __init__(self) -> None:
        self.barrier = LogBarrier()

    def linear_map(self, nodes: int) -> LinearMap:
        return Degrees(nodes)


class LogDeterminant(Likelihood):
    """``-log det_+ L``: the exact density of a Laplacian-constrained Gaussian Markov field."""

    barrier: LogDet

    def __init__(self) -> None:
        self.barrier = LogDet()

    def linear_map(self, nodes: int) -> LinearMap:
        return Laplacians(nodes)


class LogSpectra(Likelihood):
    """``-sum_m log lambda_m``: the exact density of graphs that share eigenvectors.

    Parameters
    ----------
    modes : array (N, M)
        The shared eigenvectors, in columns.
    """

    barrier: LogBarrier
    spectra: Spectra

    def __init__(self, modes: Floats):
        self.barrier = LogBarrier()
        self.spectra = Spectra(modes)

    def linear_map(self, nodes: int) -> LinearMap:
        return self.spectra

    def signal_term(
        self, signals: Floats, counts: Integers, keep: bool | None = None, gaps: Gaps | None = None
    ) -> SignalTerm:
        return modal_smoothness(signals, counts, keep, gaps, spectra=self.spectra)

    def signal_kind(self, single: bool, gaps: bool) -> type | None:
        return ModalSmoothness
