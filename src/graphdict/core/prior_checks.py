"""Checks of terms before a solver starts: one that cannot work is refused by name."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from graphdict.core import graphs
from graphdict.core.annotations import Floats, Integers
from graphdict.core.terms import L1, Orthogonality, base
from graphdict.core.terms.coefficients import window_means

if TYPE_CHECKING:
    from graphdict.core.problem import Problem
    from graphdict.core.term_group import TermGroup

STEP = 1e-9  # of a prox that shows what a constraint forbids, and hardly what a penalty costs
ABSENT = 1e-6  # weights below this, where others are 1, count as none
ROWS = 64  # on which a sum over entries is tried
ASIDE = 1e-2  # how far from a point its neighbours are
TERM_METHODS = "value", "prox", "prox_conjugate", "gradient", "lipschitz"
BARRIER_METHODS = "values", "prox", "prox_conjugate", "slope", "curvature"
INEXACT = 1e-3  # relative error of a prox or a gradient that passes


def check_term(term: Any) -> None:
    """Raise TypeError for a term that lacks a method without which it cannot be minimised."""
    if isinstance(term, type):
        raise TypeError(f"{term.__name__} is a class; pass a term made of it: {term.__name__}(...)")
    if not hasattr(term, "value"):
        raise TypeError(f"the term {base.name_of(term)} lacks value(x)")
    _check_methods(f"term {base.name_of(term)}", term, TERM_METHODS)
    for marker in base.MARKERS:
        said = getattr(term, marker, False)
        if not isinstance(said, (bool, np.bool_)):
            raise TypeError(
                f"{marker} of the term {base.name_of(term)} must be True or False, not {said!r:.80}"
            )
    if base.smooth(term) or base.proximable(term):
        return
    if hasattr(term, "gradient"):
        missing = "lipschitz(x), which goes with its gradient"
    elif hasattr(term, "lipschitz"):
        missing = "gradient(x), which goes with its lipschitz bound"
    else:
        missing = "prox(x, step), prox_conjugate(y, step), or gradient(x) with lipschitz(x)"
    raise TypeError(f"the term {base.name_of(term)} lacks {missing}: it cannot be minimised")


def check_barrier(barrier: base.Barrier) -> None:
    """Raise TypeError for a barrier that lacks a method which every solver needs."""
    if not (base.proximable(barrier) and hasattr(barrier, "values")):
        raise TypeError(
            f"the barrier {base.name_of(barrier)} needs values(rows) and one of "
            "prox(rows, step) and prox_conjugate(dual, step)"
        )
    _check_methods(f"barrier {base.name_of(barrier)}", barrier, BARRIER_METHODS)


def _check_methods(name: str, owner: Any, methods: Sequence[str]) -> None:
    """Raise TypeError where an attribute stands in the place of a method."""
    for method in methods:
        found = getattr(owner, method, _check_methods)
        if not callable(found):
            raise TypeError(
                f"{method} of the {name} is {found!r:.80}, not a method; leave out what it does "
                "not have"
            )


def check_descent(term: Any, shape: tuple[int, ...]) -> None:
    """Raise TypeError where the prox or the gradient of a term is not that of its value.

    Both are tried at a random array of this ``shape``. What fails there is left to other checks.
    """
    rng = np.random.default_rng(0)
    count = min(ROWS, shape[0]) if base.sums_over_entries(term) else shape[0]
    x, rows = 0.1 + rng.random((count, *shape[1:])), slice(0, count)
    moves = ASIDE * rng.choice([-1.0, 1.0], (4, *x.shape))
    try:
        if base.proximable(term):
            _check_prox(term, x, rows, moves)
        if base.smooth(term):
            _check_gradient(term, x, rows, moves)
    except (AttributeError, IndexError, ValueError):
        return


def _check_prox(term: Any, x: NDArray[Any], rows: slice, moves: NDArray[Any]) -> None:
    for step in (0.1, 1.0):
        point = np.asarray(base.prox(term, x.copy(), step, rows))
        if point.shape != x.shape or base.value(term, x, rows) == base.value(term, point, rows):
            return  # constraints may have the value 0 everywhere

        def cost(u: NDArray[Any], step: float = step) -> float:
            return step * base.value(term, u, rows) + float(np.square(u - x).sum()) / 2

        ways = (x - point, -point, *moves, *(moves * (point != 0)))
        least = cost(point)
        best = min(cost(point + share * way) for way in ways for share in (0.1, 1.0))
        if np.isfinite(least) and best < least - INEXACT * (abs(least) + abs(best)):
            raise TypeError(
                f"the prior {base.name_of(term)} has a prox (or prox_conjugate) that is not that "
                f"of its value: u = prox(x, {step}) should have the least step * value(u) + "
                f"|u - x|^2 / 2, which is {least:.4g} there and {best:.4g} beside it"
            )


def _check_gradient(term: Any, x: NDArray[Any], rows: slice, moves: NDArray[Any]) -> None:
    bound = base.lipschitz(term, x, rows)
    number = isinstance(bound, Real) or (isinstance(bound, np.ndarray) and bound.shape == ())
    if not (number and 0 <= bound < np.inf):
        raise TypeError(
            f"the prior {base.name_of(term)} has a lipschitz bound of {bound!s:.80}; it must be a "
            "number from 0 on: how fast the gradient changes, at most"
        )
    gradient = np.asarray(base.gradient(term, x.copy(), rows))
    length = float(np.linalg.norm(gradient))
    for way in (gradient * (ASIDE / (length or 1.0)), *moves):
        found = float(np.vdot(gradient, way))
        wanted = (base.value(term, x + way, rows) - base.value(term, x - way, rows)) / 2
        size = max(length * float(np.linalg.norm(way)), abs(wanted))
        if np.isfinite(wanted) and abs(found - wanted) > 0.1 * size:
            raise TypeError(
                f"the prior {base.name_of(term)} has a gradient that is not that of its value: a "
                f"step changes the value by {wanted:.4g}, and by the gradient by {found:.4g}"
            )


def check_coefficient_priors(group: TermGroup, n_atoms: int, n_samples: int) -> None:
    """Raise TypeError for priors on coefficients (T, K) that are not what they say they are."""
    for term in group.terms:
        if base.entrywise(term) and base.proximable(term) and group.counts is not None:
            raise TypeError(
                f"the prior {base.name_of(term)} has a function of its own for every entry "
                "(entrywise = True) and a prox, which does not go with window_size > 1, where "
                "samples share their coefficients; give it gradient(x, rows) and "
                "lipschitz(x, rows), or use window_size=1"
            )
        if group.counts is not None and not _keeps_windows(term, group.counts, n_atoms):
            raise TypeError(
                f"the prior {base.name_of(term)} has a prox that takes samples of a window apart, "
                "which does not go with window_size > 1, where they share their coefficients; give "
                "it gradient(x) and lipschitz(x) in place of the prox, or use window_size=1"
            )
        if not base.sums_over_entries(term) or hasattr(term, "interval"):
            continue
        for rows in (slice(0, 1), slice(0, min(2, n_samples)), slice(n_samples - 1, n_samples)):
            wrong = _fault(term, np.full((rows.stop - rows.start, n_atoms), 0.5), rows)
            if wrong:
                raise TypeError(_explain(term, rows, (n_samples, n_atoms), wrong))


def _keeps_windows(term: Any, counts: Integers, n_atoms: int) -> bool:
    """Return whether the prox of a term leaves equal what is equal within windows of samples.

    Only then is it the prox in the coefficients that the samples of a window share.
    """
    promised = base.sums_over_entries(term) or getattr(term, "precedes_elementwise", False)
    if promised or hasattr(term, "interval") or not base.proximable(term):
        return True
    shared = np.random.default_rng(0).random((len(counts), n_atoms))
    x = np.repeat(shared, counts, axis=0)
    for step in (1e-3, 1e-1, 1.0):
        found = base.prox(term, x, step)
        apart = np.abs(found - np.repeat(window_means(found, counts), counts, axis=0)).max()
        if apart > 1e-3 * np.abs(found - x).max():
            return False
    return True


def _fault(term: Any, x: Floats, rows: slice) -> str:
    """Return what a term that is a sum over entries does wrong with some rows; "" if nothing."""
    try:
        found = base.prox(term, x, 1.0, rows) if base.proximable(term) else x
        if base.smooth(term) and not base.proximable(term):
            found = base.gradient(term, x, rows)
        if np.shape(found) != x.shape:
            return f"returns shape {np.shape(found)}"
        if not np.isfinite(found).all():
            return "returns values that are not finite"
        singles = [slice(row, row + 1) for row in range(rows.start, rows.stop)]
        values = [base.value(term, x[i : i + 1], row) for i, row in enumerate(singles)]
        if not np.isclose(base.value(term, x, rows), sum(values), rtol=1e-9):
            return "has a value that is not the sum of those of single samples"
    except (IndexError, TypeError, ValueError) as error:
        return f"fails: {error.__cause__ or error}"
    return ""


def _explain(term: Any, rows: slice, shape: tuple[int, int], wrong: str) -> str:
    """Return the message about a :func:`_fault` of a prior on coefficients, of ``shape`` (T, K)."""
    name, claim = base.name_of(term), "entrywise" if base.entrywise(term) else "elementwise"
    number = rows.stop - rows.start
    message = (
        f"the prior {name} says {claim} = True, but of samples {rows.start} to {rows.stop - 1} of "
        f"{shape[0]}, coefficients of shape {(number, shape[1])}, it {wrong}. "
    )
    if claim == "entrywise":
        return message + (
            f"Arrays of its own must hold a row for each of the {shape[0]} samples and a column "
            f"for each of the {shape[1]} atoms; methods use those of the given rows"
        )
    return message + (
        "Samples come in blocks: the same function of every entry works on any of them "
        "(elementwise = True); a function of its own for every entry gets rows as well "
        "(entrywise = True, value(x, rows), prox(x, step, rows))"
    )


def check_atom_priors(problem: Problem, n_atoms: int, n_edges: int) -> None:
    """Raise ValueError where constraints on atoms leave no graph of finite likelihood.

    That is so where a node has no edge in any atom, or, for a likelihood that needs connected
    graphs, where no edge joins two parts of the nodes. Raise TypeError where a term takes its rows,
    which are atoms, for edges.
    """
    for term in problem.atom_priors.terms:
        if n_atoms == 1 and base.entrywise(term) and _takes_rows_for_edges(term, n_edges):
            raise TypeError(
                f"the prior {base.name_of(term)} has arrays with a number for each edge (E,) and "
                "indexes them by rows, which are atoms: of the one atom, all edges get the number "
                "of the first. Use such an array as it is, or give it a row for each atom (K, E)"
            )
    try:
        nodes = graphs.n_nodes(n_edges)
    except ValueError:  # atoms of another kind than graphs
        return
    ones = np.ones((n_atoms, n_edges))
    if not _finite(problem, ones) or _finite(
        problem, _constrained(problem.atom_priors.terms, ones)
    ):
        return
    priors = [term for term in problem.atom_priors.terms if not hasattr(term, "interval")]
    for terms in (*([term] for term in priors), priors):
        parts = _parts(_constrained(terms, ones), nodes)
        cut_off = [part for part in parts if _stays_cut_off(terms, part, ones)]
        if len(parts) < 2 or not cut_off or _finite(problem, _constrained(terms, ones)):
            continue
        named = " and ".join(_name_with_setting(term) for term in terms)
        named = f"the prior{'s' * (len(terms) > 1)} {named} leave{'s' * (len(terms) == 1)}"
        numbers = getattr(terms[0], "_node_numbers", np.arange(nodes))  # silent ones set aside
        alone = [part[0] for part in cut_off if len(part) == 1]
        if alone:
            raise ValueError(
                f"{named} node(s) {_list(numbers[alone])} (counted from 0) without an edge in any "
                "atom, where the likelihood needs one; allow an edge at each node, or fit without "
                "these nodes"
            )
        raise ValueError(
            f"{named} no edge between nodes {_list(numbers[min(cut_off, key=len)])} (counted "
            "from 0) and all others, where the likelihood needs connected "
            "graphs; allow an edge between them, or fit them apart"
        )


def _takes_rows_for_edges(term: Any, n_edges: int) -> bool:
    """Return whether a term has an array (E,) of edges that it wrongly indexes with atom rows.

    It then works for a second atom alone, since the array has a second entry, and fails for two
    atoms at once. An array (1, E) with a row for each atom has none for a second one.
    """

    def fails(rows: slice) -> bool:
        try:
            return bool(_fault(term, np.full((rows.stop - rows.start, n_edges), 0.5), rows))
        except Exception:  # whatever a term says to an atom that it does not have
            return True

    return not fails(slice(1, 2)) and fails(slice(0, 2))


def _constrained(terms: Any, atoms: Floats) -> Floats:
    """Return atoms without the weights that constraints among the terms forbid."""
    rows = slice(0, len(atoms))
    found = atoms
    for term in terms:
        if base.proximable(term):
            found = np.minimum(found, base.prox(term, atoms, STEP, rows))
    return np.where(found > ABSENT, found, 0)


def _finite(problem: Problem, atoms: Floats) -> bool:
    """Return whether the barrier is finite where all atoms are active."""
    with np.errstate(all="ignore"):
        mixed_images = problem.operator.forward(np.ones((1, len(atoms))), atoms)
        return bool(np.isfinite(problem.barrier.values(mixed_images)).all())


def _parts(atoms: Floats, nodes: int) -> list[Integers]:
    """Return the nodes of each connected component of all atoms together."""
    count, labels = connected_components(graphs.adjacency(atoms.max(axis=0)), directed=False)
    return [np.flatnonzero(labels == part) for part in range(count)]


def _stays_cut_off(terms: Any, part: Integers, ones: Floats) -> bool:
    """Return whether terms forbid every edge that leaves a part, even where these are the largest.

    A prior that keeps only the largest weights allows them anywhere, and forbids none of them.
    """
    rows, cols = graphs.edge_index(graphs.n_nodes(ones.shape[1]))
    leaving = np.isin(rows, part) != np.isin(cols, part)
    return not _constrained(terms, np.where(leaving, 2 * ones, ones))[:, leaving].any()


def _name_with_setting(term: Any) -> str:
    """Return the name of a term, with that of the setting which makes it."""
    setting = {L1: "alpha_w", Orthogonality: "alpha_orth"}.get(type(term))
    return base.name_of(term) if setting is None else f"{base.name_of(term)} ({setting})"


def _list(nodes: Integers) -> str:
    return ", ".join(map(str, nodes[:10])) + " ..." * (len(nodes) > 10)
