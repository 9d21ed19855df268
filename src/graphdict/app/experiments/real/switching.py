"""Densities that all methods are brought to, so that one piece of code measures them all.

A method is turned into a mixture, or a Markov chain, of Gaussians or Student t in the N - 1
dimensions that remain of signals without their mean over nodes. One Gaussian is the smallest case.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import helmert
from scipy.special import gammaln, logsumexp

from graphdict.core.annotations import Floats, Integers


def contrasts(nodes: int) -> Floats:
    """Return an orthonormal basis (N, N - 1) of signals whose mean over nodes is zero."""
    return np.asarray(helmert(nodes)).T


@dataclass(frozen=True)
class SwitchingDensity:
    """K Gaussians or Student t in d dimensions, one of which is active at each time.

    Attributes
    ----------
    means : array (K, d)
    precisions : array (K, d, d)
        Inverses of the covariances, or of the scatter matrices of Student t.
    start : array (K,)
        Probabilities of the states, the first of a block's.
    transitions : array (K, K) or None
        From row to column; None draws every sample's state anew from ``start``.
    tails : float
        Degrees of freedom; inf is Gaussian.
    """

    means: Floats
    precisions: Floats
    start: Floats
    transitions: Floats | None = None
    tails: float = np.inf

    @classmethod
    def from_covariances(cls, means: Any, covariances: Any, **others: Any) -> SwitchingDensity:
        """Return the density with the inverses of ``covariances`` (K, d, d) as precisions.

        Raises LinAlgError where one is not positive definite, since that is no density.
        """
        np.linalg.cholesky(covariances)
        return cls(np.atleast_2d(means), np.linalg.inv(np.asarray(covariances)), **others)

    @cached_property
    def _log_determinants(self) -> Floats:
        return np.asarray(np.linalg.slogdet(self.precisions)[1])

    @property
    def covariance(self) -> Floats:
        """The covariance (d, d) of a sample within its state, on average over states.

        For Student t that of the scatter matrices, which is the same but for a factor.
        """
        return np.asarray(np.tensordot(self.start, np.linalg.inv(self.precisions), 1))

    def log_likelihood(self, samples: Floats) -> float:
        """Return the log-likelihood of a block (T, d): its sum over samples."""
        energies = np.empty((len(samples), len(self.means)))
        for k, (mean, precision) in enumerate(zip(self.means, self.precisions)):
            centred = samples - mean
            energies[:, k] = np.einsum("td,td->t", centred @ precision, centred)
        logs = self._log_densities(energies, self._log_determinants, samples.shape[1])
        return self._forward(logs)[1]

    def predict(self, signals: Floats, hidden: Integers) -> Floats:
        """Return the expected values (T, m) of hidden entries of a block (T, N), given the rest.

        ``hidden`` (T, m) are the nodes that are hidden in each sample. The mean over nodes, which
        the density knows nothing about, is taken to be anything alike.
        """
        nodes = signals.shape[1]
        basis = contrasts(nodes)
        rows = np.arange(len(signals))[:, None]
        energies = np.empty((len(signals), len(self.means)))
        determinants = np.empty_like(energies)
        found = np.empty((len(self.means), *hidden.shape))
        for k, (mean, inner) in enumerate(zip(self.means, self.precisions)):
            precision = basis @ inner @ basis.T
            filled = signals - basis @ mean
            filled[rows, hidden] = 0
            corner = precision[hidden[:, :, None], hidden[:, None, :]]
            pull = (filled @ precision)[rows, hidden]
            filled[rows, hidden] = -np.linalg.solve(corner, pull[..., None])[..., 0]
            energies[:, k] = np.einsum("tn,tn->t", filled @ precision, filled)
            determinants[:, k] = self._log_determinants[k] - np.linalg.slogdet(corner)[1]
            found[k] = (filled + basis @ mean)[rows, hidden]
        logs = self._log_densities(energies, determinants, nodes - 1 - hidden.shape[1])
        shares = self._posteriors(logs)
        return np.asarray(np.einsum("tk,ktm->tm", shares, found))

    def _log_densities(self, energies: Floats, log_determinants: Any, dimension: int) -> Floats:
        if np.isinf(self.tails):
            value = -0.5 * (energies + dimension * np.log(2 * np.pi) - log_determinants)
        else:
            nu = self.tails
            constant = gammaln((nu + dimension) / 2) - gammaln(nu / 2)
            constant = constant - dimension / 2 * np.log(nu * np.pi) + log_determinants / 2
            value = constant - (nu + dimension) / 2 * np.log1p(energies / nu)
        return np.asarray(value)

    def _forward(self, logs: Floats) -> tuple[Floats, float]:
        """Return log-probabilities (T, K) of states given samples up to each, and the evidence."""
        with np.errstate(divide="ignore"):
            start = np.log(self.start)
        if self.transitions is None:
            joint = logs + start
            evidence = logsumexp(joint, axis=1)
            return joint - evidence[:, None], float(evidence.sum())
        state = start
        known = np.empty_like(logs)
        total = 0.0
        for t, log in enumerate(logs):
            joint = state + log
            evidence = logsumexp(joint)
            total += float(evidence)
            known[t] = joint - evidence
            with np.errstate(divide="ignore"):
                state = np.log(np.exp(known[t]) @ self.transitions)
        return known, total

    def _posteriors(self, logs: Floats) -> Floats:
        """Return the probabilities (T, K) of states given all samples."""
        known = np.exp(self._forward(logs)[0])
        if self.transitions is None:
            return known
        smoothed = known.copy()
        for t in range(len(known) - 2, -1, -1):
            ahead = known[t] @ self.transitions
            ratio = np.divide(smoothed[t + 1], ahead, out=np.zeros_like(ahead), where=ahead > 0)
            smoothed[t] = known[t] * (self.transitions @ ratio)
            smoothed[t] /= smoothed[t].sum()
        return smoothed
