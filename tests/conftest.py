"""Small random problems, and the objective written out in loops to check against."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import settings

from graphdict import graphs
from graphdict.core.problem import Problem
from graphdict.core.terms.coefficients import window_counts
from graphdict.operators import Bilinear, Degrees, Laplacians, Spectra
from graphdict.terms import (
    L1,
    LogBarrier,
    LogDet,
    NonNegative,
    Orthogonality,
    UnitBox,
    smoothness,
)

settings.register_profile("graphdict", deadline=None, derandomize=True, max_examples=40)
settings.load_profile("graphdict")


@pytest.fixture(autouse=True)
def no_client_is_left_behind():
    """A client that stays Dask's default would hold up whatever test comes next."""
    yield
    if "distributed" in sys.modules:
        from distributed.client import _get_global_client

        assert _get_global_client() is None
        assert sys.modules["dask"].config.get("scheduler", None) is None


def likelihood(kind, nodes, rng):
    if kind == "log":
        return Bilinear(Degrees(nodes)), LogBarrier()
    if kind == "exact":
        return Bilinear(Laplacians(nodes)), LogDet()
    ones = np.ones((nodes, 1))
    basis = np.linalg.qr(np.hstack([ones, rng.standard_normal((nodes, nodes - 1))]))[0]
    return Bilinear(Spectra(basis[:, 1:])), LogBarrier()


@pytest.fixture(scope="session")
def make_problem():
    """A factory of random problems with a point inside their domain."""

    def make(
        kind="log", samples=12, nodes=5, atoms=3, seed=0, window=1, dtype=np.float64, unit=1.0,
        alpha_w=0.1, alpha_c=0.05, alpha_orth=0.0, atom_terms=(), coefficient_terms=(), edit=None,
    ):  # fmt: skip
        rng = np.random.default_rng(seed)
        signals = (unit * rng.standard_normal((samples, nodes))).astype(dtype)
        signals -= signals.mean(axis=1, keepdims=True)
        if edit is not None:
            edit(signals)
        counts = window_counts(samples, window)
        operator, barrier = likelihood(kind, nodes, rng)
        if kind == "spectral":
            operator = Bilinear(Spectra(operator.linear.modes.astype(dtype)))
        on_atoms = [NonNegative(), L1(alpha_w), *atom_terms]
        if alpha_orth:
            on_atoms.append(Orthogonality(alpha_orth))
        on_coefficients = [UnitBox(), L1(alpha_c), *coefficient_terms]
        problem = Problem(
            smoothness(signals, counts), operator, barrier, on_atoms, on_coefficients, counts
        )
        edges = graphs.n_edges(nodes)
        return SimpleNamespace(
            problem=problem,
            signals=signals,
            counts=counts,
            atoms=rng.uniform(0.05, 1, (atoms, edges)).astype(dtype),
            coefficients=rng.uniform(0.1, 0.9, (len(counts), atoms)).astype(dtype),
        )

    return make


@pytest.fixture(scope="session")
def loop_objective():
    """The objective, one sample, one node and one edge at a time."""

    def evaluate(
        signals, coefficients, atoms, kind="log", *,
        alpha_w=0.0, alpha_c=0.0, alpha_orth=0.0, alpha_diff=0.0, modes=None, modal=False,
    ):  # fmt: skip
        samples, nodes = signals.shape
        pairs = [(i, j) for i in range(nodes) for j in range(i + 1, nodes)]
        total = 0.0
        for t in range(samples):
            matrix = np.zeros((nodes, nodes))
            for e, (i, j) in enumerate(pairs):
                weight = sum(coefficients[t, k] * atoms[k, e] for k in range(len(atoms)))
                if not modal:
                    total += weight * (signals[t, i] - signals[t, j]) ** 2 / samples
                matrix[i, i] += weight
                matrix[j, j] += weight
                matrix[i, j] -= weight
                matrix[j, i] -= weight
            if kind == "log":
                positive = np.diag(matrix)
            elif kind == "exact":
                positive = np.linalg.eigvalsh(matrix)[1:]
            else:
                positive = [mode @ matrix @ mode for mode in modes.T]
            if modal:  # all graphs have these modes as eigenvectors
                powers = [float(mode @ signals[t]) ** 2 for mode in modes.T]
                total += sum(v * p for v, p in zip(positive, powers, strict=True)) / samples
            total -= sum(np.log(value) for value in positive) / samples
        total += alpha_w * float(np.sum(atoms))
        for k in range(len(atoms)):
            for other in range(k):
                total += alpha_orth * float(atoms[k] @ atoms[other])
        total += alpha_c * float(np.sum(coefficients)) / samples
        for t in range(samples - 1):
            total += alpha_diff * np.abs(coefficients[t + 1] - coefficients[t]).sum() / samples
        return total

    return evaluate


@pytest.fixture(scope="session")
def known_dictionary():
    """Signals of three sparse graphs on ten nodes, each the only one active for 50 samples."""
    rng = np.random.default_rng(5)
    nodes, atoms, length, repeats = 10, 3, 50, 8
    edges = graphs.n_edges(nodes)
    weights = np.zeros((atoms, edges))
    for k in range(atoms):
        order = rng.permutation(nodes)
        ring = np.zeros((nodes, nodes))
        ring[order, np.roll(order, 1)] = ring[np.roll(order, 1), order] = rng.uniform(1, 3, nodes)
        ring = np.maximum(ring, ring.T)
        weights[k] = graphs.adjacency_to_weights(ring)
    labels = np.tile(np.repeat(np.arange(atoms), length), repeats)
    roots = np.linalg.pinv(graphs.laplacian(weights), hermitian=True)
    factors = [np.linalg.cholesky(root + 1e-12 * np.eye(nodes)) for root in roots]
    signals = np.stack([factors[k] @ rng.standard_normal(nodes) for k in labels])
    return SimpleNamespace(signals=signals, atoms=weights, labels=labels, window=length)
