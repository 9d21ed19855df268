"""The two things a solver knows of the outside: an executor and, through it, a backend.

Everything that is the size of the samples (coefficients, duals) is kept in *blocks*, one state for
each, and touched only by *steps*:

    step(backend, rows, *states, *message) -> (new state, sums)

A step is a plain function. ``backend`` stands for one *shard* (consecutive rows of the problem, on
this machine or another), ``rows`` is the slice of it that is the block. What a step needs to know
comes as a message the size of the dictionary, and what it finds leaves as a tuple of sums, which
are added up over all blocks in one order, so that results do not depend on who ran it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from graphdict.core.annotations import Floats

if TYPE_CHECKING:
    from graphdict.core.problem import Problem
    from graphdict.core.solvers.mm import Update
    from graphdict.core.solvers.primal_dual import BlockIterate, MovedCoefficients, PassMessage
    from graphdict.core.solvers.step_sizes import StepSizeRules
    from graphdict.core.term_group import Box

__all__ = [
    "Backend", "BlockStates", "CompiledRun", "CompiledRunResult", "Deferred", "Executor", "Step",
    "deferred", "identity", "returns_deferred",
]  # fmt: skip

Step = Callable[..., Any]


class BlockStates(list[Any]):
    """One state for every block, listed by shard; opaque to whoever is not the executor."""


class Deferred(NamedTuple):
    """Work that is prepared and not yet done: ``job()`` does it, ``read()`` returns what it found.

    A job that is compiled (:class:`graphdict.native.Job`) needs nothing of Python, so that the
    threads of a pool can share many of them without waiting for Python's lock.
    """

    job: Callable[[], Any]
    read: Callable[[], Any]

    def result(self) -> Any:
        """Do the work now and return what it found."""
        self.job()
        return self.read()


def deferred(method: Callable[..., Any]) -> Callable[..., Deferred]:
    """Decorate a method of a backend so that it returns a :class:`Deferred` of its result."""

    @wraps(method)
    def prepare(*arguments: Any) -> Deferred:
        found: list[Any] = []
        return Deferred(lambda: found.append(method(*arguments)), lambda: found[0])

    return prepare


def returns_deferred(step: Step) -> Step:
    """Mark a step, unchanged, as one that returns a :class:`Deferred` of ``(new state, sums)``."""
    step.returns_deferred = True  # type: ignore[attr-defined]
    return step


def identity(state: Any) -> Any:
    """Return the state itself."""
    return state


class CompiledRun(NamedTuple):
    """A request for iterations of BiPDS in one compiled loop, up to ``at_most``, from these atoms.

    Only for problems where both variables are free and no prior is smooth or split off.
    """

    at_most: int
    atoms: Floats  # (K, E)
    atom_images: Floats | None  # ``M(W)`` (K, ...), where the operator lifts a map ``M``
    gradient_atoms: Floats  # (K, E)
    gram: Floats  # Delta' diag(p) Delta (K, K)
    boxes: tuple[Box, Box]  # of atoms and of coefficients
    rules: Callable[[], StepSizeRules]  # of the step sizes; called only if a loop is there


class CompiledRunResult(NamedTuple):
    """Where a :class:`CompiledRun` ended: the new states of the blocks, and the new dictionary."""

    states: BlockStates
    atoms: Floats
    atom_images: Floats
    gradient_atoms: Floats
    gram: Floats
    done: int  # how many iterations, one at least
    tau_atoms: float  # last step of the atoms
    tau_coefficients: float


class Executor(Protocol):
    """Runs steps over all samples of a problem, wherever they are.

    There is one for the threads of this machine, with samples in memory or on disk
    (:class:`graphdict.engine.executor.ThreadExecutor`), and one for a Dask cluster
    (:class:`graphdict.engine.cluster.ClusterExecutor`). ``columns`` are lists of states: a step is
    given one state of each column for its block.
    """

    @property
    def problem(self) -> Any:
        """The problem whose samples these are."""

    @property
    def backend_name(self) -> str:
        """The name of the backend of its shards."""

    def map_blocks(self, step: Step, columns: Sequence[BlockStates], *message: Any) -> Any:
        """Run a step on every block; return the new states and the sum of the sums."""

    def map_shards(self, work: Step, columns: Sequence[BlockStates], *message: Any) -> Any:
        """Run ``work(shard, columns, *message)`` on every shard; return as :meth:`map_blocks`."""

    def scan(
        self,
        step: Step,
        columns: Sequence[BlockStates],
        carried: Any,
        *message: Any,
        reverse: bool = False,
    ) -> BlockStates:
        """Run a step on the blocks in order, each given what the one before it returned.

        The step is ``step(backend, rows, *states, carried, *message)``. Return what came into each
        block.
        """

    def iter_shards(
        self, work: Step, *message: Any, columns: Sequence[BlockStates] = ()
    ) -> Iterator[tuple[Floats, tuple[Any, ...]]]:
        """Run ``work`` on one shard after the other; yield its states as an array, and its sums."""

    def scatter(self, array: Floats | BlockStates | None) -> BlockStates:
        """Cut an array of all rows into states; states are returned as they are."""

    def gather(self, states: BlockStates, read: Callable[[Any], Floats] = identity) -> Floats:
        """Put together the arrays that ``read`` finds in the states."""

    def persist(self, *columns: BlockStates) -> tuple[BlockStates, ...]:
        """Keep states that the next iteration starts from where no lost worker can take them."""

    def iterate(self, states: BlockStates, run: CompiledRun) -> CompiledRunResult | None:
        """Take iterations of BiPDS in one compiled loop, or return None where there is none."""


class Backend(Protocol):
    """The operations that solvers and coding need of a likelihood, on the rows of one shard.

    :class:`graphdict.core.plain_backend.PlainBackend` does all of them in NumPy for any likelihood;
    compiled ones (:mod:`graphdict.engine.backends`) do the same faster for one of them each. Every
    method takes ``rows``, a slice of the shard. Methods that solvers call in every iteration return
    a :class:`Deferred`.
    """

    name: str
    problem: Problem

    def primal_dual_pass(
        self,
        rows: slice,
        before: BlockIterate,
        moved: MovedCoefficients | None,
        message: PassMessage,
    ) -> Deferred:
        """Take the dual step of BiPDS and find all gradients at the new point.

        ``before`` is the block's iterate, ``moved`` its coefficients after their step, or None
        where the backend is to take that itself (:attr:`moves_coefficients`), by
        :attr:`TermGroup.box <graphdict.core.term_group.TermGroup>`. The state is the new
        :class:`BlockIterate <graphdict.core.solvers.primal_dual.BlockIterate>`, and sums are
        :class:`PassSums <graphdict.core.solvers.primal_dual.PassSums>`.
        """

    @property
    def moves_coefficients(self) -> bool:
        """Whether :meth:`primal_dual_pass` can move the coefficients itself."""

    def atom_slopes(
        self, rows: slice, coefficients: Floats, atoms: Floats, atom_images: Floats | None
    ) -> Deferred:
        """Find the slopes of the barrier in the atoms, ``A**(p Delta, B)`` with ``B = -grad h``.

        Sums are these (K, E) and zero; or zero and ``(p Delta)' B`` (K, ...), of which the caller
        takes the adjoint of the operator's map.
        """

    def update_coefficients(self, rows: slice, coefficients: Floats, update: Update) -> Deferred:
        """Take multiplicative updates of the coefficients.

        The state is the new coefficients; sums are the value, the two squares of
        :func:`stationarity <graphdict.core.solvers.mm.stationarity>` at the old ones, and
        ``(p Delta)' Z`` in one of two forms as in :meth:`atom_slopes`.
        """

    def solve_coefficients(
        self, costs: Floats, atom_images: Floats, max_iter: int, tol: float
    ) -> Floats:
        """Return the optimal coefficients (T, K) of samples with known costs (T, K)."""

    @classmethod
    def iterate(
        cls, shards: Any, states: BlockStates, run: CompiledRun, *, pool: Any, sums_at_a_time: int
    ) -> CompiledRunResult | None:
        """Take iterations of BiPDS on all shards in one loop, or return None where there is none.

        The threads of ``pool`` share the blocks, whose sums are added ``sums_at_a_time``.
        """
