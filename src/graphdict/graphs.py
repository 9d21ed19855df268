"""Graphs as vectors of edge weights, and the matrices they stand for."""

from graphdict.core.graphs import (
    adjacency,
    adjacency_to_weights,
    degrees,
    edge_index,
    fourier_basis,
    fourier_transform,
    inverse_fourier_transform,
    laplacian,
    laplacian_adjoint,
    laplacian_to_weights,
    n_edges,
    n_nodes,
    squared_differences,
)

__all__ = [
    "adjacency",
    "adjacency_to_weights",
    "degrees",
    "edge_index",
    "fourier_basis",
    "fourier_transform",
    "inverse_fourier_transform",
    "laplacian",
    "laplacian_adjoint",
    "laplacian_to_weights",
    "n_edges",
    "n_nodes",
    "squared_differences",
]


def __dir__() -> list[str]:
    return sorted(__all__)
