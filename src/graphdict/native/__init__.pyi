from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from graphdict.native.log_barrier import (
    AtomMove,
    BlockArrays,
    CoefficientUpdates,
    DictionaryArrays,
    InteriorPointRules,
    PassResult,
    SampleArrays,
    StepSizeRules,
)
from graphdict.native.proxes import Box

compiled: Any

def contiguous(array: Any, dtype: Any = None) -> NDArray: ...
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
    before: NDArray, gradient: NDArray, tau: float, box: Box, after: NDArray
) -> None: ...
def iterate(
    pool: ThreadPool,
    count: int,
    seconds: float,
    shards: Sequence[Sequence[BlockArrays]],
    modes: NDArray,
    dictionary: DictionaryArrays,
    boxes: tuple[Box, Box],
    rules: StepSizeRules,
    sums_at_a_time: int,
) -> tuple[int, float, float]: ...
def solve_coefficients(
    costs: NDArray,
    images: NDArray,
    max_iter: int,
    tol: float,
    warm_up: int,
    rules: InteriorPointRules,
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
    rule: tuple[float, int, bool],
    found: CoefficientUpdates,
) -> Job: ...
def log_barrier_atom_slopes(
    coefficients: NDArray, weights: NDArray, images: NDArray, out: NDArray
) -> Job: ...
def log_barrier_update_coefficients(
    samples: NDArray,
    weights: NDArray,
    dictionary: tuple[NDArray, NDArray],
    coefficients: NDArray,
    rule: tuple[float, int, bool],
    found: CoefficientUpdates,
    powers: bool,
) -> Job: ...
def primal_dual_pass(
    samples: NDArray,
    weights: NDArray,
    atoms: AtomMove,
    before: SampleArrays,
    tau: float,
    box: Box | None,
    found: PassResult,
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
    fit: tuple[NDArray, NDArray, NDArray],
    levels: tuple[NDArray, NDArray],
    order: tuple[NDArray, NDArray],
    found: tuple[NDArray, NDArray, NDArray],
) -> None: ...
def log_det_gradients(
    signals: NDArray,
    atoms: NDArray,
    weighted: NDArray,
    dual: NDArray,
    energies: NDArray,
    inner_products: NDArray,
    distances: NDArray,
) -> None: ...
def add_laplacians(
    coefficients: NDArray, atoms: NDArray, dual: NDArray, sigma: float, out: NDArray
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
    dual: NDArray, sigma: float, limit: float, out: NDArray, bounds: NDArray
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
