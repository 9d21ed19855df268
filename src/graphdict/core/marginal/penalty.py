"""The penalty on atoms: L1 on every weight, and a concave part that fades for large weights.

    alpha sum w  +  strength sum log(1 + w / width)

Under the log-determinant a plain L1 penalty steadies the estimate but makes graphs denser. The
concave part does the opposite: its slope ``strength / (w + width)`` is steep at zero and nothing
for a strong edge, so that weak edges go and strong ones keep their weight.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphdict.core import graphs
from graphdict.core.marginal.patterns import uniform_probabilities

NO_VARIANCE = 1e-10  # relative to the largest
LEAST_ALPHA = 1e-4  # of the signals' variance: keeps the weight between two silent nodes finite
RELATIVE_WIDTH = 0.03  # of the mean weight 1 / N that a complete graph would have
PSEUDO_SAMPLES, LARGEST_ALPHA = 0.25, 0.1  # for each atom and dimension; most noise, relative
DECADES = np.log(300)  # log(1 + w / width) of a typical edge


@dataclass(frozen=True)
class ConcavePenalty:
    """``alpha sum(W) + strength sum(log(1 + W / width))``; L1 alone where ``strength`` is 0."""

    alpha: float
    strength: float = 0.0
    width: float = 1.0

    def value(self, atoms: NDArray) -> float:
        """Return the penalty of atoms (K, E)."""
        total = self.alpha * float(atoms.sum(dtype=np.float64))
        if self.strength > 0:
            total += self.strength * float(np.log1p(atoms / self.width).sum(dtype=np.float64))
        return total

    def slope(self, atoms: NDArray) -> NDArray | float:
        """Return the gradient (K, E) at atoms; the tangent lies above the penalty."""
        if self.strength > 0:
            return self.alpha + self.strength / (atoms + self.width)
        return self.alpha


def bic_strength(samples: int, per_atom: float, candidates: int = 1) -> float:
    """Return the strength at which an edge costs what the Bayesian information criterion asks.

    That is ``log(n) / 2`` of log-likelihood for an atom that ``n = per_atom`` of the T samples use,
    here in units of ``2 / T``; the extended criterion adds ``log(candidates)`` for a choice among
    so many edges.
    """
    cost = np.log(max(per_atom, 2.0)) + 2 * np.log(candidates)
    return float(cost / (samples * DECADES))


def usual_alpha(variances: NDArray, atoms: int, samples: int) -> float:
    """Return the L1 penalty that suits signals of any unit and any smoothness.

    It is as if every atom had a quarter of a sample more for each dimension, of white noise as
    strong as the harmonic mean of the ``variances`` (d,) of the signals in the directions in which
    they have any: little where signals are smooth, and nothing where there are many samples.
    """
    some = variances[variances > NO_VARIANCE * variances.max(initial=0)]
    if not some.size:
        return 0.0
    share = min(PSEUDO_SAMPLES * atoms * len(variances) / samples, LARGEST_ALPHA)
    return float(share / np.mean(1 / some))


def shrinkage(alpha_w: float, share: float, variance: float) -> ConcavePenalty:
    """Return the L1 penalty on atoms that a ``share`` of the samples is expected to use.

    ``variance`` is that of the signals.
    """
    return ConcavePenalty((alpha_w + LEAST_ALPHA * variance) * share)


def shrinkage_for(patterns: NDArray, alpha_w: float, variance: float) -> ConcavePenalty:
    """Return the L1 penalty on atoms used as often as in uniformly distributed patterns (C, K)."""
    share = float(uniform_probabilities(patterns) @ patterns.mean(axis=1))
    return shrinkage(alpha_w, share, variance)


def with_sparsity(
    penalty: ConcavePenalty,
    sparsity: float,
    *,
    samples: int,
    per_atom: float,
    edges: int,
    separate: bool,
    variance: float,
) -> ConcavePenalty:
    """Return an L1 penalty with a concave part of ``sparsity`` times the strength of BIC.

    Parameters
    ----------
    penalty : ConcavePenalty
    sparsity : float
    samples : int
        Number of samples.
    per_atom : float
        Mean number of samples in which an atom is active.
    edges : int
        Number E of possible edges.
    separate : bool
        Whether a sample tells its atoms apart, where the extended criterion pays. Where atoms
        overlap it takes true edges along with false ones.
    variance : float
        Mean square of the signals.
    """
    strength = sparsity * bic_strength(samples, per_atom, edges if separate else 1)
    width = RELATIVE_WIDTH / (graphs.n_nodes(edges) * variance)
    return ConcavePenalty(penalty.alpha, strength, width)
