"""Random numbers that do not depend on how samples are cut."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphdict.core.marginal import random_rows
from graphdict.core.marginal.random_rows import RowRandom, random_memberships, standard_normals


@given(
    count=st.integers(1, 60),
    size=st.integers(1, 70),
    start=st.integers(0, 59),
    length=st.integers(1, 60),
    draw=st.sampled_from([random_memberships, standard_normals]),
)
def test_rows_are_the_same_whoever_draws_them(count, size, start, length, draw):
    start = start % count
    stop = min(start + length, count)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(random_rows, "CHUNK", size)
        drawn = RowRandom.take(np.random.RandomState(3), count, draw, 2)
        whole = drawn.rows(slice(0, count), draw, 2)
    some = drawn.rows(slice(start, stop), draw, 2)
    assert whole.shape == (count, 2)
    np.testing.assert_array_equal(some, whole[start:stop])


def test_the_first_rows_are_those_that_the_generator_would_draw():
    rng, other = np.random.RandomState(5), np.random.RandomState(5)
    drawn = RowRandom.take(rng, 40, random_memberships, 3)
    wanted = random_memberships(other, 40, 3)
    np.testing.assert_array_equal(drawn.rows(slice(0, 40), random_memberships, 3), wanted)
    assert rng.uniform() == other.uniform()  # and the generator goes on behind them
