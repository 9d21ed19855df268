"""How far from optimal log-degree graphs are."""

import numpy as np

from graphdict.core import graphs


def optimality(weights, costs, ridge=0.0):
    """Return the largest violation (B,) of the optimality conditions, relative to the costs.

    With the gradient ``g = c + ridge w - D'(1/d)`` these are ``g >= 0``, and ``g = 0`` where
    ``w > 0``. Nodes without an edge are ignored.
    """
    weights, costs = np.atleast_2d(weights), np.atleast_2d(costs)
    rows, cols = graphs.edge_index(graphs.n_nodes(weights.shape[1]))
    degree = graphs.degrees(weights)
    present = degree > 0
    slope = np.where(present, 1 / np.where(present, degree, 1), 0)
    gradient = costs + np.reshape(ridge, (-1, 1)) * weights - slope[:, rows] - slope[:, cols]
    wrong = np.where(weights > 0, np.abs(gradient), np.maximum(-gradient, 0))
    wrong *= present[:, rows] & present[:, cols]
    return wrong.max(axis=1) / costs.mean(axis=1)
