"""Barriers: functions ``h`` of what a likelihood sees of a graph, which keep it from vanishing.

For one sample the negative log-likelihood is (twice, up to a constant) ``x' L x + h(M(L))``, where
``M`` is a linear map of :mod:`graphdict.core.operators`. The first part is a term of the signals
(:mod:`graphdict.core.terms.signal_terms`).
"""

from __future__ import annotations

import numpy as np

from graphdict.core import graphs
from graphdict.core.annotations import Floats
from graphdict.native import proxes
from graphdict.native.proxes import positive_root

LARGE_MATRIX = 256  # above, eigenvectors are found as fast as roots


class LogBarrier:
    """``-sum_n log y_n`` for each sample: positive degrees, or positive spectra.

    ``rows`` (T, M) are degrees or spectra, one sample after the other.
    """

    kind = "log-barrier"

    def values(self, rows: Floats) -> Floats:
        """Return the barrier of each sample (T,); ``inf`` where an entry is not positive."""
        rows = np.asarray(rows, dtype=np.result_type(rows, np.float32))
        low, high = (rows.min(), rows.max()) if rows.size else (0.0, 0.0)
        if low > 0 and high < np.inf:
            # One logarithm of as many entries as can be multiplied without leaving the range.
            digits = np.finfo(rows.dtype).maxexp * np.log10(2) - 1
            together = int(digits / max(-np.log10(low), np.log10(high), 1e-3))
            starts = np.arange(0, rows.shape[1], max(together, 1))
            logs = np.log(np.multiply.reduceat(rows, starts, axis=1))
        else:
            with np.errstate(divide="ignore", invalid="ignore"):
                logs = np.where(rows > 0, np.log(rows), -np.inf)
        result: Floats = -np.einsum("tn->t", logs, dtype=np.float64)
        return result

    def value(self, rows: Floats) -> float:
        """Return the sum of :meth:`values` over all samples."""
        return float(self.values(rows).sum())

    def slope(self, rows: Floats) -> Floats:
        """Return minus the gradient (T, M): ``1 / y``."""
        return 1 / rows

    def curvature(self, rows: Floats, images: Floats) -> Floats:
        """Return the Hessians (T, K, K) of the barrier of ``delta_t images`` in ``delta_t``.

        ``images`` (K, M) are degrees or spectra of the atoms.
        """
        count = len(images)
        pairs = (images[:, None, :] * images[None, :, :]).reshape(count * count, -1)
        return (np.square(1 / rows) @ pairs.T).reshape(-1, count, count)

    def prox(self, rows: Floats, step: float) -> Floats:
        """Return ``(y + (y^2 + 4 step)^{1/2}) / 2`` (T, M) of every entry."""
        return positive_root(rows, step)

    def prox_conjugate(self, dual: Floats, step: float) -> Floats:
        """Return ``(y - (y^2 + 4 step)^{1/2}) / 2`` (T, M) of every entry."""
        return -positive_root(-dual, step)


class LogDet:
    """``-log det_+ L_t`` for each sample: the exact Laplacian-constrained Gaussian likelihood.

    The pseudo-determinant is taken on the complement of the constant signals, so a graph that
    falls apart is outside the domain, as it has to be for the function to be continuous.
    ``laplacians`` (T, N, N) are those of one sample after the other.
    """

    kind = "log-determinant"

    def values(self, laplacians: Floats) -> Floats:
        """Return the barrier of each sample (T,); ``inf`` where a graph is not connected.

        What is not a Laplacian must be in double precision: else its diagonal is taken to be that
        of one.
        """
        basis = graphs.zero_sum_basis(laplacians.shape[-1])
        matrices = laplacians.astype(np.float64)
        if laplacians.dtype != np.float64:
            # Rows of a Laplacian sum to zero. In single precision, what one strong edge leaves of
            # that would hide the weak ones.
            np.einsum("tnn->tn", matrices)[...] -= matrices.sum(axis=-1)
        return -log_determinants(basis.T @ matrices @ basis)

    def value(self, laplacians: Floats) -> float:
        """Return the sum of :meth:`values` over all samples."""
        return float(self.values(laplacians).sum())

    def slope(self, laplacians: Floats) -> Floats:
        """Return minus the gradient (T, N, N): pseudo-inverses ``L^+`` of connected graphs."""
        nodes = laplacians.shape[-1]
        # A Laplacian plus s/N in every entry has the eigenvalue s along the constants.
        extra = np.trace(laplacians, axis1=-2, axis2=-1)[:, None, None] / nodes
        result: Floats = np.linalg.inv(laplacians + extra / nodes) - 1 / (extra * nodes)
        return result

    def curvature(self, laplacians: Floats, images: Floats) -> Floats:
        """Return the Hessians (T, K, K) in the coefficients: ``tr(L^+ L_k L^+ L_l)``.

        ``images`` (K, N, N) are the Laplacians of the atoms.
        """
        products = self.slope(laplacians)[:, None] @ images[None]
        shape = (*products.shape[:2], -1)
        turned = np.swapaxes(products, -1, -2).reshape(shape)
        return products.reshape(shape) @ np.swapaxes(turned, -1, -2)

    def prox(self, laplacians: Floats, step: float) -> Floats:
        """Return matrices (T, N, N) whose eigenvalues were moved as by :class:`LogBarrier`.

        What lies along the constants stays.
        """
        basis = graphs.zero_sum_basis(laplacians.shape[-1]).astype(laplacians.dtype)
        inner = basis.T @ laplacians @ basis
        values, vectors = np.linalg.eigh(inner)
        changed = positive_root(values, step) - values
        lifted = basis @ vectors
        result: Floats = laplacians + (lifted * changed[:, None, :]) @ np.swapaxes(lifted, -1, -2)
        return result

    def prox_conjugate(self, dual: Floats, step: float) -> Floats:
        """Return ``(Y - (Y^2 + 4 step I)^{1/2}) / 2`` off the constants, and zero along them.

        The root is taken without eigenvectors, unless matrices are large.
        """
        if dual.shape[-1] > LARGE_MATRIX:
            return self._prox_conjugate_by_eigenvectors(dual, step)
        raised, hard = proxes.log_det_prox_conjugate(dual, step)
        if hard.any():
            raised[hard] = self._prox_conjugate_by_eigenvectors(dual[hard], step)
        return raised

    def _prox_conjugate_by_eigenvectors(self, dual: Floats, step: float) -> Floats:
        return dual - step * self.prox(dual / step, 1 / step)


def log_determinants(matrices: Floats, raised: bool = False) -> Floats:
    """Return log-determinants (T,) of semidefinite matrices; ``-inf`` where one is singular.

    With ``raised``, matrices are known to be definite: where rounding says otherwise, eigenvalues
    are raised to what it leaves of the largest.
    """
    try:
        pivots = np.diagonal(np.linalg.cholesky(matrices), axis1=-2, axis2=-1)
        if raised:
            logs: Floats = 2 * np.log(pivots).sum(axis=-1)
            return logs
        values = np.square(pivots)
    except np.linalg.LinAlgError as error:  # some matrix is singular: find out which
        if raised:
            values = np.linalg.eigvalsh(matrices)
            least = np.finfo(np.float64).eps * values[:, -1:]
            logs = np.log(np.maximum(values, least)).sum(axis=-1)
            return logs
        if not np.isfinite(matrices).all():
            raise ValueError(
                "the log-determinant of a graph whose weights are not finite (NaN or infinite) was "
                "asked for: look at the signals, and at the likelihood and priors of the model"
            ) from error
        values = np.linalg.eigvalsh(matrices)
    rounding = matrices.shape[-1] * np.finfo(np.float64).eps
    regular = values.min(axis=-1) > rounding * values.max(axis=-1)
    logs = np.log(np.where(regular[:, None], values, 1.0)).sum(axis=-1)
    return np.where(regular, logs, -np.inf)
