"""What atoms pay for their edges: a pull on every weight, and a toll that fades for large ones.

    alpha sum w  +  sum_k toll log(1 + w / width)

Under the log-determinant a plain L1 penalty steadies the estimate but makes graphs denser. The
concave part does the opposite: its slope ``toll / (w + width)`` is steep at zero and nothing for a
strong edge, so that weak edges go and strong ones keep their weight.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphdict.core import graphs

__all__ = ["FadingPenalty", "information_toll", "pull_on_weights", "with_toll"]

LEAST_ALPHA = 1e-4  # keeps the weight between two silent nodes finite
RELATIVE_WIDTH = 0.03  # of the mean weight 1 / N that a complete graph would have
DECADES = np.log(300)  # log(1 + w / width) of a typical edge


@dataclass(frozen=True)
class FadingPenalty:
    """``alpha sum(W) + toll sum(log(1 + W / width))``; no toll where ``toll`` is 0."""

    alpha: float
    toll: float = 0.0
    width: float = 1.0

    def value(self, atoms: NDArray) -> float:
        total = self.alpha * float(atoms.sum(dtype=np.float64))
        if self.toll > 0:
            total += self.toll * float(np.log1p(atoms / self.width).sum(dtype=np.float64))
        return total

    def slope(self, atoms: NDArray) -> NDArray | float:
        """Slope at ``atoms``; the tangent lies above the penalty, which is concave."""
        if self.toll > 0:
            return self.alpha + self.toll / (atoms + self.width)
        return self.alpha


def information_toll(samples: int, per_atom: float, candidates: int = 1) -> float:
    """The toll at which an edge costs what the Bayesian information criterion asks.

    That is ``log(n) / 2`` of log-likelihood for an atom that ``n`` of the T samples use, here in
    units of ``2 / T``; the extended criterion adds ``log(candidates)`` for a choice among so many.
    """
    cost = np.log(max(per_atom, 2.0)) + 2 * np.log(candidates)
    return float(cost / (samples * DECADES))


def pull_on_weights(alpha_w: float, share: float) -> FadingPenalty:
    """The pull alone, on atoms that a share of the samples is expected to use."""
    return FadingPenalty((alpha_w + LEAST_ALPHA) * share)


def with_toll(
    pull: FadingPenalty,
    sparsity: float,
    samples: int,
    per_atom: float,
    edges: int,
    apart: bool,
    variance: float,
) -> FadingPenalty:
    """The pull and a toll, for atoms that so many of the samples, of such a variance, use.

    Where samples tell atoms ``apart`` the stricter criterion pays; where atoms overlap it takes
    true edges along with false ones.
    """
    toll = sparsity * information_toll(samples, per_atom, edges if apart else 1)
    return FadingPenalty(pull.alpha, toll, RELATIVE_WIDTH / (graphs.n_nodes(edges) * variance))
