"""How sure edges are, whatever the size of weights and of their errors."""

import numpy as np
import pytest

from graphdict.core.marginal.confidence import EdgeEstimates, edge_confidence


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("unit", [1e-150, 1.0, 1e150])
@pytest.mark.parametrize("error", [1e-200, 1e-30, 1.0, 1e30])
def test_probabilities_are_numbers_whatever_the_errors(signed, unit, error):
    rng = np.random.default_rng(0)
    errors = np.full((2, 15), error * unit) if error * unit > 0 else np.full((2, 15), 5e-324)
    weights = rng.standard_normal((2, 15)) * error * unit
    weights[0, 0], errors[1, 1] = 10 * unit, 1e-3 * errors[1, 1]
    weights[1, 2], errors[1, 3] = 1e100 * errors[1, 2], 0.0
    found = edge_confidence(EdgeEstimates(weights, errors), signed=signed)
    assert np.isfinite(found).all()
    assert found.min() >= 0
    assert found.max() <= 1
    assert found[1, 2] > 0.99
    assert found[0, 0] > 0.99 or error >= 1
    assert found[1, 3] == 0  # nothing is known
