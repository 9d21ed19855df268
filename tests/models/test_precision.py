"""Single precision gives what double precision gives, to what docs/speed.md states."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from graphdict import GraphDictExact, GraphDictLog, GraphDictSpectral
from graphdict.core import graphs


def _signals(samples, nodes, atoms, seed):
    """Gaussian signals of sparse graphs, one active at a time."""
    rng = np.random.default_rng(seed)
    shape = (atoms, graphs.n_edges(nodes))
    weights = (rng.random(shape) < 0.3) * rng.uniform(0.1, 3, shape) + 0.01
    roots = np.linalg.cholesky(np.linalg.pinv(graphs.laplacian(weights)) + 1e-9 * np.eye(nodes))
    return np.stack([roots[t % atoms] @ rng.standard_normal(nodes) for t in range(samples)])


@pytest.mark.parametrize("shape", [(400, 12, 3), (300, 20, 4), (900, 8, 2)], ids=str)
@pytest.mark.parametrize("solver", ["auto", "bipds"])
@pytest.mark.parametrize("model", [GraphDictLog, GraphDictSpectral, GraphDictExact])
def test_single_and_double_precision_agree(model, solver, shape):
    double = _signals(*shape, seed=shape[0])
    single = double.astype(np.float32)
    settings = {"solver": solver, "max_iter": 30, "tol": 0, "random_state": 0}
    one, other = (model(shape[2], **settings).fit(x) for x in (double, single))
    # Newton steps are shortened by comparing objectives, which single precision rounds.
    share = 1e-3 if model is GraphDictSpectral else 1e-4
    assert_allclose(other.atoms_, one.atoms_, atol=share * one.atoms_.max())
    assert other.objective_ == pytest.approx(one.objective_, rel=1e-3)
    # Under the same atoms.
    assert one.score(single) == pytest.approx(one.score(double), rel=1e-5)
    assert_allclose(one.transform(single), one.transform(double), atol=1e-2)
