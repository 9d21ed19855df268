"""Arrangements of labels that would be as probable as the observed one, were there no effect.

Each function returns arrays whose first row is the observed arrangement, and whether they are all
that exist: where at most ``count`` exist they are enumerated, otherwise ``count`` are drawn.
"""

from __future__ import annotations

from itertools import permutations, product
from math import factorial, prod

import numpy as np

from graphdict.core.annotations import Floats, Integers


def group_labels(codes: Integers, count: int, rng: np.random.RandomState) -> tuple[Integers, bool]:
    """Return assignments (P, U) of units to groups of the same sizes as in ``codes`` (U,)."""
    sizes = np.bincount(codes)
    if factorial(len(codes)) // prod(factorial(int(size)) for size in sizes) <= count:
        rows = np.array(list(_distinct(sizes.tolist())), dtype=np.intp)
        same = (rows == codes).all(axis=1)
        return np.concatenate((codes[None], rows[~same])), True
    drawn = np.array([rng.permutation(codes) for _ in range(count)], dtype=np.intp)
    return np.concatenate((codes[None], drawn)), False


def _distinct(left: list[int]) -> list[list[int]]:
    """Return all sequences with so many of each code, without repetitions."""
    if not any(left):
        return [[]]
    found = []
    for code, number in enumerate(left):
        if number:
            left[code] -= 1
            found += [[code, *rest] for rest in _distinct(left)]
            left[code] += 1
    return found


def signs(units: int, count: int, rng: np.random.RandomState) -> tuple[Floats, bool]:
    """Return signs (P, U) of the differences of ``units`` subjects."""
    if 2**units <= count:
        return np.array(list(product((1.0, -1.0), repeat=units))), True
    drawn = rng.choice((1.0, -1.0), size=(count, units))
    return np.concatenate((np.ones((1, units)), drawn)), False


def condition_orders(
    units: int, conditions: int, count: int, rng: np.random.RandomState
) -> tuple[Integers, bool]:
    """Return orders (P, U, C) of the conditions within each of ``units`` subjects."""
    first = np.arange(conditions)
    if factorial(conditions) ** units <= count:
        orders = list(permutations(range(conditions)))
        return np.array(list(product(orders, repeat=units)), dtype=np.intp), True
    drawn = rng.random_sample((count, units, conditions)).argsort(axis=-1)
    observed = np.broadcast_to(first, (1, units, conditions))
    return np.concatenate((observed, drawn)), False


def block_orders(blocks: Integers, count: int, rng: np.random.RandomState) -> tuple[Integers, bool]:
    """Return orders (P, U) of units that stay within their block of ``blocks`` (U,)."""
    members = [np.flatnonzero(blocks == block) for block in np.unique(blocks)]
    if prod(factorial(len(own)) for own in members) <= count:
        found = []
        for orders in product(*(permutations(own) for own in members)):
            row = np.empty(len(blocks), dtype=np.intp)
            for own, order in zip(members, orders):
                row[own] = order
            found.append(row)
        return np.array(found), True
    rows = np.tile(np.arange(len(blocks)), (count + 1, 1))
    for row in rows[1:]:
        for own in members:
            row[own] = rng.permutation(own)
    return rows, False
