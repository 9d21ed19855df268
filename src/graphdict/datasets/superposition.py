"""Simulate signals whose graphs are sums of a few random atoms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphdict.core.annotations import Floats, RandomState
from graphdict.datasets.lgmrf import Filter, check_filter, check_tails, sample_states
from graphdict.datasets.random_graphs import check_count, erdos_renyi, generator

ATOM_SAMPLES = 500  # training samples per atom, on average, in the paper


@dataclass(frozen=True)
class MixtureSignals:
    """Signals whose graphs are mixtures of atoms.

    Attributes
    ----------
    signals : array (T, N)
    coefficients : array (T, K)
        Zero or one.
    atoms : array (K, E)
    """

    signals: Floats
    coefficients: Floats
    atoms: Floats

    def __len__(self) -> int:
        return len(self.signals)

    @property
    def weights(self) -> Floats:
        """Edge weights (T, E) of the graph of each sample."""
        return self.coefficients @ self.atoms


@dataclass(frozen=True)
class Superposition:
    """Training and test signals of the same atoms.

    Attributes
    ----------
    train, test : MixtureSignals
    superposition : int
        Largest number of active atoms.
    """

    train: MixtureSignals
    test: MixtureSignals
    superposition: int

    @property
    def atoms(self) -> Floats:
        """Edge weights (K, E) of the dictionary."""
        return self.train.atoms


def make_superposition(
    n_atoms: int = 5,
    n_nodes: int = 30,
    edge_probability: float = 0.2,
    superposition: int = 1,
    n_train: int | None = None,
    n_test: int = 500,
    *,
    weight_range: tuple[float, float] = (0.1, 3.0),
    samples_per_graph: int = 1,
    coefficient_range: tuple[float, float] | None = None,
    filter: Filter = 1.0,
    tails: float | None = None,
    random_state: RandomState | np.random.Generator = None,
) -> Superposition:
    """Simulate signals whose graphs are sums of up to ``superposition`` atoms.

    The number of active atoms of a sample is uniform on 1, ..., s; they are drawn uniformly without
    replacement, and their coefficients are one. The sample is drawn from the Gaussian field of the
    sum. For one seed, the atoms depend on neither s nor the numbers of samples, and the test
    part does not depend on the size of the training part.

    Parameters
    ----------
    n_atoms, n_nodes, edge_probability
        The dictionary: K independent graphs ER(N, p).
    superposition : int, default=1
        Largest number s of active atoms.
    n_train : int, optional
        Training samples. By default each atom is active in 500 of them on average:
        ``1000 K // (1 + s)``, which is 2500, 1666, 1250, 1000, 833 for five atoms.
    n_test : int, default=500
        Test samples; zero is allowed.
    weight_range : pair of floats, default=(0.1, 3)
        Edge weights of the atoms are uniform on this interval.
    samples_per_graph : int, default=1
        Number of consecutive samples with the same coefficients; the last group may be shorter.
    coefficient_range : pair of floats, optional
        Coefficients of active atoms are uniform on this interval, within [0, 1]; by default one.
    filter, tails
        What signals are of their graph: see :func:`sample_lgmrf`.
    random_state : int, numpy.random.Generator, numpy.random.SeedSequence or None
        Random seed or generator.

    Returns
    -------
    Superposition
        ``train`` and ``test``, each with ``signals``, ``coefficients``, ``atoms``, ``weights``.

    Examples
    --------
    >>> from graphdict.datasets import make_superposition
    >>> data = make_superposition(n_atoms=3, superposition=2, random_state=0)
    >>> data.train.signals.shape, data.test.coefficients.shape, data.atoms.shape
    ((1000, 30), (500, 3), (3, 435))
    """
    check_count("n_atoms", n_atoms, 1)
    if check_count("superposition", superposition, 1) > n_atoms:
        raise ValueError(f"superposition must be at most n_atoms={n_atoms}, got {superposition}")
    if n_train is None:
        n_train = 2 * ATOM_SAMPLES * n_atoms // (1 + superposition)
    check_count("n_train", n_train, 1)
    check_count("n_test", n_test, 0)
    check_count("samples_per_graph", samples_per_graph, 1)
    precision, tails = check_filter(filter), check_tails(tails)
    low, high = (1.0, 1.0) if coefficient_range is None else coefficient_range
    if not 0 < low <= high <= 1:
        raise ValueError(
            f"coefficient_range must be two numbers in (0, 1], got {coefficient_range!r}"
        )
    atom_rng, *part_rngs = generator(random_state).spawn(3)
    atoms = erdos_renyi(
        n_atoms, n_nodes, edge_probability, weight_range=weight_range, random_state=atom_rng
    )
    parts = []
    for samples, rng in zip((n_train, n_test), part_rngs):
        groups = -(-samples // samples_per_graph)
        patterns = _activations(groups, n_atoms, superposition, rng)
        if coefficient_range is not None:
            patterns = patterns * rng.uniform(low, high, patterns.shape)
        coefficients = np.repeat(patterns, samples_per_graph, axis=0)[:samples]
        distinct, which = np.unique(coefficients, axis=0, return_inverse=True)
        signals = sample_states(distinct @ atoms, which.ravel(), rng, precision, tails)
        parts.append(MixtureSignals(signals, coefficients, atoms))
    return Superposition(parts[0], parts[1], superposition)


def _activations(rows: int, n_atoms: int, most: int, rng: np.random.Generator) -> Floats:
    """Return zero-one rows (T, K) with between one and ``most`` ones."""
    sizes = rng.integers(1, most + 1, size=(rows, 1))
    ranks = np.argsort(np.argsort(rng.random((rows, n_atoms)), axis=1), axis=1)
    return (ranks < sizes).astype(np.float64)
