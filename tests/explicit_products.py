"""The two products of signals with graphs, by the matrix of squared differences itself."""

from graphdict.core.graphs import squared_differences


def energies(signals, atoms):
    """Return ``Z W'`` (T, K): ``x_t' L_k x_t`` of every sample (T, N) and atom (K, E)."""
    return squared_differences(signals) @ atoms.T


def weighted_distances(signals, coefficients):
    """Return ``C' Z`` (K, E): squared differences of signals (T, N), summed with weights (T, K)."""
    return coefficients.T @ squared_differences(signals)
