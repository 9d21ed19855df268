"""GaussianMixtureGraphs: an unconstrained Gaussian mixture, with graphs from its precisions."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from numbers import Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.mixture import GaussianMixture
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from graphdict.baselines.base import COUNT
from graphdict.baselines.clusters import SoftMixture
from graphdict.core import graphs
from graphdict.core.annotations import Floats, RandomState, RescaleName, Signals
from graphdict.core.recordings import Recordings
from graphdict.engine.blas import single_threaded_blas
from graphdict.engine.penalties import weights_in


@dataclass(repr=False, eq=False)
class GaussianMixtureGraphs(SoftMixture):
    """Scikit-learn's Gaussian mixture, with a graph from the precision of each component.

    Maximises the likelihood of the mixture ``sum_k pi_k N(mu_k, Sigma_k)`` of signals with zero
    mean over nodes, which span N - 1 dimensions. The edge weights of a component are the negative
    off-diagonal entries of the pseudo-inverse of ``Sigma_k``, zero where these are negative; with
    ``matrix="correlation"``, of the correlations in place of the covariances. The precisions are
    not constrained to be Laplacians.

    Parameters
    ----------
    n_clusters : int, default=5
        Number K of components.
    max_iter, tol, n_init, reg_covar
        As for :class:`sklearn.mixture.GaussianMixture`; signals have unit variance where
        ``rescale`` is true.
    matrix : {"covariance", "correlation"}, default="covariance"
        Whose pseudo-inverse gives the graph of a component.
    rescale : bool or "recording", default=True
        Divide all signals by one number, so that results do not depend on units.
    random_state : int, RandomState or None, default=None
        Random seed or generator.

    Attributes
    ----------
    atoms_ : array (K, E)
        Edge weights of the components' graphs, in the order of ``np.triu_indices(N, 1)``.
    coefficients_ : array (T, K)
        Probability of each component in the training samples, as ``transform`` returns.
    labels_ : array (T,)
        The most likely component of each training sample.
    mixture_ : sklearn.mixture.GaussianMixture
        The fitted mixture, in N - 1 coordinates.
    objective_ : float
        Minus the lower bound of the mean log-likelihood.
    n_iter_ : int
        Iterations.
    scale_, active_nodes_, n_features_in_, feature_names_in_
        As for the dictionaries.
    """

    objective_: float = field(init=False)
    n_iter_: int = field(init=False)
    mixture_: Any = field(init=False)

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_clusters": [COUNT],
        "max_iter": [COUNT],
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_init": [COUNT],
        "reg_covar": [Interval(Real, 0, None, closed="left")],
        "matrix": [StrOptions({"covariance", "correlation"})],
        "rescale": ["boolean", StrOptions({"recording"})],
        "random_state": ["random_state"],
    }

    n_clusters: int = 5
    _: KW_ONLY
    max_iter: int = 100
    tol: float = 1e-3
    n_init: int = 1
    reg_covar: float = 1e-6
    matrix: Literal["covariance", "correlation"] = "covariance"
    rescale: bool | RescaleName = True
    random_state: RandomState = None

    @property
    def _penalty_units(self) -> dict[str, int]:
        return {"reg_covar": 1}

    @single_threaded_blas
    def fit(self, X: Signals, y: Any = None) -> Self:
        self._validate_params()
        _, signals = self._learn(X, self.rescale)
        if len(signals) < self.n_clusters:
            raise ValueError(
                f"n_clusters={self.n_clusters} is larger than the {len(signals)} samples of X"
            )
        coordinates = signals @ self._basis(signals.dtype)
        self.mixture_ = GaussianMixture(
            self.n_clusters, max_iter=self.max_iter, tol=self.tol, n_init=self.n_init,
            reg_covar=self.reg_covar, random_state=check_random_state(self.random_state),
        ).fit(coordinates)  # fmt: skip
        self.objective_ = -float(self.mixture_.lower_bound_)
        self.n_iter_ = int(self.mixture_.n_iter_)
        basis = self._basis(np.float64)
        if self.matrix == "covariance":
            precisions = basis @ self.mixture_.precisions_ @ basis.T
        else:
            covariances = basis @ self.mixture_.covariances_ @ basis.T
            sizes = np.sqrt(np.einsum("kii->ki", covariances))
            correlations = covariances / (sizes[:, :, None] * sizes[:, None, :])
            precisions = np.linalg.pinv(correlations, hermitian=True, rcond=1e-10)
        weights = np.maximum(graphs.laplacian_to_weights(precisions), 0)
        coefficients = self.mixture_.predict_proba(coordinates)
        weights = weights_in(self, weights, signals.dtype)
        self._describe(weights, coefficients.astype(signals.dtype))
        return self

    def _memberships(self, X: Signals) -> tuple[Floats, Recordings]:
        signals, recordings = self._prepare(X)
        probabilities = self.mixture_.predict_proba(signals @ self._basis(signals.dtype))
        return probabilities.astype(signals.dtype), recordings

    def _scores(self, X: Signals) -> tuple[Floats, Recordings]:
        signals, recordings = self._prepare(X)
        return self.mixture_.score_samples(signals @ self._basis(signals.dtype)), recordings

    def _basis(self, dtype: Any) -> Floats:
        """Return an orthonormal basis (N, N - 1) of signals with zero mean."""
        nodes = int(self.active_nodes_.sum())
        # Any basis does; this one keeps the digits of earlier fits, which EM makes much of.
        return np.linalg.qr(np.eye(nodes) - 1 / nodes)[0][:, : nodes - 1].astype(dtype)
