"""Likelihoods: what the density of a signal sees of its graph, each as one class.

Twice the negative log-density of a signal ``x`` (of zero mean over nodes, N - 1 dimensions) under
the graph ``L`` is

    x' L x  +  h(M(L))  +  rest(x)  +  (N - 1) log 2 pi

where ``M`` is a linear map of the graph (its degrees, the Laplacian itself, its spectrum in a known
basis), ``h`` a barrier that keeps the graph from vanishing, and ``rest`` whatever does not depend
on the graph. A likelihood names the map and the barrier; solvers, coding and scores follow. See the
page "Add a likelihood" for one of your own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.core import graphs
from graphdict.core.operators import Degrees, Laplacians, LinearMap, Spectra
from graphdict.core.terms.likelihoods import LogBarrier, LogDet, Smoothness, smoothness
from graphdict.core.terms.missing import Gaps
from graphdict.core.terms.modal import ModalSmoothness, modal_smoothness

__all__ = ["Likelihood", "LogDegrees", "LogDeterminant", "LogSpectra", "check_likelihood"]


class Likelihood:
    """Base of the likelihoods: name a map and a barrier, and it can be fitted.

    Attributes
    ----------
    barrier : object
        ``h``, of what :meth:`linear_map` returns, one sample in each row. It needs
        ``values(rows)`` (T,) and ``prox(rows, step)`` or ``prox_conjugate(dual, step)``; with
        ``slope(rows)``, minus its gradient, fits are by majorise-minimise, and with
        ``curvature(rows, images)`` (T, K, K) coefficients are found by Newton steps.
    """

    barrier: Any

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

    def rest(self, signals: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what the density adds whatever the graph is, (T, N) -> (T,); by default nothing.

        It changes no fit, only scores.
        """
        return np.zeros(len(signals))

    def signal_term(
        self,
        signals: NDArray[np.float64],
        counts: NDArray[np.intp],
        keep: bool | None = None,
        gaps: Gaps | None = None,
    ) -> Any:
        """Return the term ``x' L x`` of signals in windows, as :func:`smoothness`."""
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
    """``-sum_m log lambda_m``: the exact density of graphs that share eigenvectors."""

    barrier: LogBarrier
    spectra: Spectra

    def __init__(self, modes: NDArray[np.float64]):
        self.barrier = LogBarrier()
        self.spectra = Spectra(modes)

    def linear_map(self, nodes: int) -> LinearMap:
        return self.spectra

    def signal_term(
        self,
        signals: NDArray[np.float64],
        counts: NDArray[np.intp],
        keep: bool | None = None,
        gaps: Gaps | None = None,
    ) -> Any:
        return modal_smoothness(signals, counts, keep, gaps, spectra=self.spectra)

    def signal_kind(self, single: bool, gaps: bool) -> type | None:
        return ModalSmoothness


def check_likelihood(likelihood: Likelihood, nodes: int) -> None:
    """Refuse by name a likelihood whose parts do not fit each other, before a fit begins.

    The map, the barrier and whatever derivatives it has are tried on three small mixtures of
    complete graphs: shapes must be right, and ``slope`` must be minus the gradient of ``values``.
    """
    name = type(likelihood).__name__
    if not hasattr(likelihood, "barrier"):
        raise TypeError(f"the likelihood {name} lacks a barrier: set self.barrier in __init__")
    linear, barrier = likelihood.linear_map(nodes), likelihood.barrier
    for part in ("apply", "adjoint", "norm"):
        if not hasattr(linear, part):
            raise TypeError(f"the linear map of {name} lacks {part}")
    if callable(linear.norm):
        raise TypeError(f"norm of the linear map of {name} must be a property, not a method")
    atoms = 1 + np.random.default_rng(0).random((2, graphs.n_edges(nodes)))
    images = linear.apply(atoms)
    mixtures = np.array([[0.5, 0.5], [1.0, 0.2], [0.3, 0.9]])
    rows = np.tensordot(mixtures, images, 1)
    values = np.asarray(barrier.values(rows))
    _expect(name, "values(rows)", values.shape, (3,))
    step = 1e-5
    if hasattr(barrier, "slope"):
        slope = np.asarray(barrier.slope(rows))
        _expect(name, "slope(rows)", slope.shape, rows.shape)
        ahead = np.asarray(barrier.values(rows + step * images[:1]))
        found = -np.tensordot(slope.reshape(3, -1), images[0].reshape(-1), 1)
        wanted = (ahead - values) / step
        if np.isfinite(wanted).all() and not np.allclose(found, wanted, rtol=1e-2, atol=1e-4):
            raise TypeError(
                f"slope(rows) of the barrier of {name} must be minus the gradient of values(rows): "
                f"along an atom it says {found[0]:.4g}, and values change by {wanted[0]:.4g}"
            )
    if hasattr(barrier, "curvature"):
        shape = np.shape(barrier.curvature(rows, images))
        _expect(name, "curvature(rows, images)", shape, (3, 2, 2))


def _expect(name: str, method: str, shape: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    if shape != wanted:
        raise TypeError(
            f"{method} of the barrier of {name} returns shape {shape} for three samples and two "
            f"atoms, which should be {wanted}"
        )
