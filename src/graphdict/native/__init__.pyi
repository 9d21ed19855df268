from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from graphdict.core.solvers.interior_point import InteriorPointRules
from graphdict.core.solvers.step_sizes import StepSizeRules
from graphdict.core.term_group import Box
from graphdict.native.coefficients import UpdateResult, UpdateRule
from graphdict.native.log_barrier import (
    AtomMove,
    BlockArrays,
    DictionaryArrays,
    PassResult,
    SampleArrays,
)

compiled: Any

def contiguous(array: Any, dtype: Any = None) -> NDArray[Any]: ...
def doubles(array: Any) -> NDArray[Any]: ...

class Job:
    def __call__(self) -> None: ...

class ThreadPool:
    def __init__(self, helpers: int) -> None: ...
    def run(self, jobs: list[Job]) -> None: ...

def energies(signals: NDArray[Any], atoms: NDArray[Any], out: NDArray[Any]) -> None: ...
def weighted_distances(
    signals: NDArray[Any], coefficients: NDArray[Any], out: NDArray[Any]
) -> None: ...
def degrees(weights: NDArray[Any], out: NDArray[Any]) -> None: ...
def degrees_adjoint(values: NDArray[Any], out: NDArray[Any]) -> None: ...
def largest_eigenvalue(gram: NDArray[Any]) -> float: ...
def largest_eigenvalue_of_products(rows: NDArray[Any]) -> float: ...
def projected_step(
    before: NDArray[Any], gradient: NDArray[Any], tau: float, box: Box, after: NDArray[Any]
) -> None: ...
def iterate(
    pool: ThreadPool,
    limits: tuple[int, float],
    samples: tuple[Sequence[Sequence[BlockArrays]], int],
    dictionary: DictionaryArrays,
    problem: tuple[NDArray[Any], tuple[Box, Box], StepSizeRules],
) -> tuple[int, float, float]: ...
def solve_coefficients(
    costs: NDArray[Any],
    images: NDArray[Any],
    limits: tuple[int, float, int],
    rules: InteriorPointRules,
    out: NDArray[Any],
) -> Job: ...
def log_det_atom_slopes(
    coefficients: NDArray[Any], shares: NDArray[Any], atoms: NDArray[Any], out: NDArray[Any]
) -> Job: ...
def log_det_update_coefficients(
    signals: NDArray[Any],
    shares: NDArray[Any],
    atoms: NDArray[Any],
    coefficients: NDArray[Any],
    rule: UpdateRule,
    found: UpdateResult,
) -> Job: ...
def log_barrier_atom_slopes(
    coefficients: NDArray[Any], shares: NDArray[Any], images: NDArray[Any], out: NDArray[Any]
) -> Job: ...
def log_barrier_update_coefficients(
    samples: NDArray[Any],
    shares: NDArray[Any],
    dictionary: tuple[NDArray[Any], NDArray[Any]],
    coefficients: NDArray[Any],
    rule: UpdateRule,
    found: UpdateResult,
    powers: bool,
) -> Job: ...
def primal_dual_pass(
    samples: tuple[NDArray[Any], NDArray[Any], bool],
    atoms: AtomMove,
    before: SampleArrays,
    step: tuple[float, Box | None],
    found: PassResult,
) -> Job: ...
def total_variation_prox(signals: NDArray[Any], penalty: float, out: NDArray[Any]) -> None: ...
def chain_forward(
    likelihoods: NDArray[Any],
    probabilities: NDArray[Any],
    stay: float,
    opens: bool,
    message: NDArray[Any],
) -> None: ...
def chain_backward(
    likelihoods: NDArray[Any], probabilities: NDArray[Any], stay: float, message: NDArray[Any]
) -> None: ...
def chain_posterior(
    likelihoods: NDArray[Any],
    chain: tuple[NDArray[Any], float, bool],
    messages: tuple[NDArray[Any], NDArray[Any]],
    found: tuple[NDArray[Any], NDArray[Any], NDArray[Any]],
) -> float: ...
def best_paths(
    log_likelihoods: NDArray[Any],
    log_draw: NDArray[Any],
    log_same: NDArray[Any],
    opens: bool,
    best: NDArray[Any],
    came_from: NDArray[Any],
) -> None: ...
def trace_path(came_from: NDArray[Any], pattern: int, path: NDArray[Any]) -> int: ...
def observed_log_likelihoods(
    signals: NDArray[Any], covariances: NDArray[Any], out: NDArray[Any]
) -> None: ...
def conditional_moments(
    signals: NDArray[Any], covariances: NDArray[Any], posterior: NDArray[Any], out: NDArray[Any]
) -> None: ...
def draw_missing(
    signals: NDArray[Any],
    covariances: NDArray[Any],
    patterns: NDArray[Any],
    noise: NDArray[Any],
    out: NDArray[Any],
) -> None: ...
def draw_weights(
    atoms: NDArray[Any],
    inverses: NDArray[Any],
    fit: tuple[NDArray[Any], NDArray[Any], NDArray[Any]],
    levels: tuple[NDArray[Any], NDArray[Any]],
    order: tuple[NDArray[Any], NDArray[Any]],
    found: tuple[NDArray[Any], NDArray[Any], NDArray[Any]],
) -> None: ...
def log_det_gradients(
    signals: NDArray[Any],
    atoms: NDArray[Any],
    weighted: NDArray[Any],
    dual: NDArray[Any],
    energies: NDArray[Any],
    inner_products: NDArray[Any],
    distances: NDArray[Any],
) -> None: ...
def add_laplacians(
    coefficients: NDArray[Any],
    atoms: NDArray[Any],
    dual: NDArray[Any],
    sigma: float,
    out: NDArray[Any],
) -> None: ...
def newton(
    problems: tuple[NDArray[Any], NDArray[Any], NDArray[Any], float, NDArray[Any]],
    limits: tuple[float, int],
    dual: NDArray[Any],
    weights: NDArray[Any],
) -> int: ...
def positive_root(x: NDArray[Any], step: float, out: NDArray[Any]) -> None: ...
def log_det_prox_conjugate(
    dual: NDArray[Any], sigma: float, limit: float, out: NDArray[Any], bounds: NDArray[Any]
) -> None: ...
def tree_prox(
    values: NDArray[Any],
    alpha: float,
    shares: NDArray[Any],
    first: NDArray[Any],
    last: NDArray[Any],
    parent: NDArray[Any],
    out: NDArray[Any],
) -> None: ...
