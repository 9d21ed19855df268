"""How loud the noise was before it diffused: the one parameter of a heat kernel.

Under the kernel the second moments of a pattern's samples are ``S = exp(-L) / s`` on signals that
sum to zero, so that the entry of ``log S`` for two nodes is ``w_ij + log(s) / N``. Likelihood
cannot tell the two terms apart, sparse graphs can: most pairs are no edge.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphdict.core import graphs
from graphdict.core.graphs import zero_sum_basis
from graphdict.core.marginal.filtered_loss import Targets
from graphdict.core.marginal.filters import HeatKernel

SMALLEST = 1e-9  # of the largest: second moments below it are rounding


def first_heat_kernel(targets: Targets) -> HeatKernel:
    """Return the kernel of the most noise that no direction contradicts, to begin with.

    Diffusion only takes away: no variance is larger than that of the noise. Of samples from several
    graphs together not more can be said.
    """
    moments = targets.moments.sum(axis=0) / targets.usage.sum()
    largest = float(np.linalg.eigvalsh(moments)[-1])
    return HeatKernel(1 / largest if largest > 0 else 1.0)


def heat_kernel(targets: Targets) -> HeatKernel:
    """Return the kernel by which the median pair of nodes has no edge, over patterns with samples.

    Parameters
    ----------
    targets : Targets
        Second moments (C, d, d) and usage (C,).
    """
    used = targets.usage > 1e-9 * targets.usage.max()
    values, vectors = np.linalg.eigh(targets.moments[used] / targets.usage[used, None, None])
    logs = np.log(np.maximum(values, SMALLEST * values[:, -1:]))
    basis = zero_sum_basis(values.shape[1] + 1)
    turned = basis @ vectors
    matrices = (turned * logs[:, None, :]) @ np.swapaxes(turned, -1, -2)
    medians = np.median(graphs.adjacency_to_weights(matrices), axis=1)
    median = float(np.average(medians, weights=targets.usage[used]))
    return HeatKernel(float(np.exp(np.clip(median * len(basis), -600, 600))))


def shift_weights(atoms: NDArray, before: HeatKernel, after: HeatKernel) -> NDArray:
    """Return weights (K, E) that mean the same under another precision, as far as they can."""
    shift = np.log(before.precision / after.precision) / graphs.n_nodes(atoms.shape[1])
    return np.where(atoms > 0, np.maximum(atoms + shift, 1e-6 * atoms), 0.0)
