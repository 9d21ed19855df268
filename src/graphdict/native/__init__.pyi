from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

compiled: Any

def doubles(array: Any) -> NDArray: ...

class Job:
    def __call__(self) -> None: ...

class ThreadPool:
    def __init__(self, helpers: int) -> None: ...
    def run(self, jobs: list[Job]) -> None: ...

def energies(signals: NDArray, atoms: NDArray, out: NDArray) -> None: ...
def weighted_distances(signals: NDArray, coefficients: NDArray, out: NDArray) -> None: ...
def degrees(weights: NDArray, out: NDArray) -> None: ...
def degrees_adjoint(values: NDArray, out: NDArray) -> None: ...
def largest_eigenvalue(gram: NDArray) -> float: ...
def largest_eigenvalue_of_products(rows: NDArray) -> float: ...
def projected_step(
    before: NDArray,
    gradient: NDArray,
    tau: float,
    box: tuple[float, float, float, float],
    after: NDArray,
) -> None: ...
def iterate(
    pool: ThreadPool,
    count: int,
    patience: float,
    parts: Sequence[Sequence[Sequence[NDArray]]],
    modes: NDArray,
    atoms: NDArray,
    images: NDArray,
    gradient: NDArray,
    gram: NDArray,
    atom_box: tuple[float, float, float, float],
    coefficient_box: tuple[float, float, float, float],
    pace: tuple[float, float, float, float, float, float, float],
    together: int,
) -> tuple[int, float, float]: ...
def solve_coefficients(
    costs: NDArray,
    images: NDArray,
    max_iter: int,
    tol: float,
    warm_up: int,
    rules: tuple[float, float, float, float, float],
    out: NDArray,
) -> Job: ...
def log_det_atom_slopes(
    coefficients: NDArray, weights: NDArray, atoms: NDArray, out: NDArray
) -> Job: ...
def log_det_update_coefficients(
    signals: NDArray,
    weights: NDArray,
    atoms: NDArray,
    coefficients: NDArray,
    shrinkage: float,
    rounds: int,
    stretch: bool,
    recoded: NDArray,
    distances: NDArray,
    numbers: NDArray,
) -> Job: ...
def log_barrier_atom_slopes(
    coefficients: NDArray, weights: NDArray, images: NDArray, out: NDArray
) -> Job: ...
def log_barrier_update_coefficients(
    samples: NDArray,
    weights: NDArray,
    atoms: NDArray,
    images: NDArray,
    coefficients: NDArray,
    shrinkage: float,
    rounds: int,
    stretch: bool,
    recoded: NDArray,
    distances: NDArray,
    numbers: NDArray,
    powers: bool,
) -> Job: ...
def primal_dual_pass(
    samples: NDArray,
    weights: NDArray,
    atoms: NDArray,
    images: NDArray,
    ahead: NDArray,
    sigma: float,
    before: NDArray,
    slope: NDArray,
    dual: NDArray,
    tau: float,
    box: tuple[float, float, float, float] | None,
    after: NDArray,
    raised: NDArray,
    gradient: NDArray,
    energies: NDArray,
    distances: NDArray,
    mixed: NDArray,
    gram: NDArray,
    numbers: NDArray,
    powers: bool,
) -> Job: ...
def total_variation_prox(signals: NDArray, penalty: float, out: NDArray) -> None: ...
def chain_forward(
    likelihoods: NDArray, probabilities: NDArray, stay: float, opens: bool, message: NDArray
) -> None: ...
def chain_backward(
    likelihoods: NDArray, probabilities: NDArray, stay: float, message: NDArray
) -> None: ...
def chain_posterior(
    likelihoods: NDArray,
    probabilities: NDArray,
    stay: float,
    opens: bool,
    before: NDArray,
    after: NDArray,
    posterior: NDArray,
    scales: NDArray,
    draws: NDArray,
) -> float: ...
def best_paths(
    log_likelihoods: NDArray,
    log_draw: NDArray,
    log_same: NDArray,
    opens: bool,
    best: NDArray,
    came_from: NDArray,
) -> None: ...
def trace_path(came_from: NDArray, pattern: int, path: NDArray) -> int: ...
def observed_log_likelihoods(signals: NDArray, covariances: NDArray, out: NDArray) -> None: ...
def conditional_moments(
    signals: NDArray, covariances: NDArray, posterior: NDArray, out: NDArray
) -> None: ...
def draw_missing(
    signals: NDArray, covariances: NDArray, patterns: NDArray, noise: NDArray, out: NDArray
) -> None: ...
def draw_weights(
    atoms: NDArray,
    inverses: NDArray,
    patterns: NDArray,
    usage: NDArray,
    distances: NDArray,
    values: NDArray,
    prior: NDArray,
    order: NDArray,
    chance: NDArray,
    means: NDArray,
    edges: NDArray,
    mass: NDArray,
) -> None: ...
def log_det_gradients(
    signals: NDArray,
    atoms: NDArray,
    weighted: NDArray,
    dual: NDArray,
    energies: NDArray,
    pulls: NDArray,
    distances: NDArray,
) -> None: ...
def add_laplacians(
    coefficients: NDArray, atoms: NDArray, dual: NDArray, sigma: float, lifted: NDArray
) -> None: ...
def newton(
    costs: NDArray,
    centre: NDArray,
    ridge: NDArray,
    alpha: float,
    active: NDArray,
    dual: NDArray,
    tol: float,
    max_iter: int,
    weights: NDArray,
) -> int: ...
def positive_root(x: NDArray, step: float, out: NDArray) -> None: ...
def log_det_prox_conjugate(
    dual: NDArray, sigma: float, limit: float, raised: NDArray, bounds: NDArray
) -> None: ...
def tree_prox(
    values: NDArray,
    alpha: float,
    shares: NDArray,
    first: NDArray,
    last: NDArray,
    parent: NDArray,
    out: NDArray,
) -> None: ...
