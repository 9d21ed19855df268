"""Progress and the time that is left: parts within parts, by a clock that tests turn."""

import sys

import numpy as np
import pytest

from graphdict import GraphDictLog, GraphDictMarginal
from graphdict.engine import progress, tasks
from graphdict.engine.tasks import Task, advance, current_task, subtask, work
from graphdict.selection import choose_n_atoms, evidence, stability


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(tasks.time, "perf_counter", clock)
    return clock


def begin(clock, total):
    return Task("all", total, clock=clock)


def test_work_at_an_even_pace_is_told_exactly(clock):
    task = begin(clock, 10)
    assert task.left() is None
    for done in range(1, 11):
        clock.now += 2
        task.advance()
        assert task.left() == pytest.approx(2 * (10 - done), abs=0.5)


@pytest.mark.parametrize("costs", [(1, 1, 1), (1, 4, 2), (5, 1, 3)])
def test_later_parts_take_what_their_cost_says(clock, costs):
    with work("all", sum(costs), None) as task:
        task.clock = clock
        task._begun = clock.now
        for place, cost in enumerate(costs):
            with subtask("some", 10, cost) as inner:
                for step in range(10):
                    clock.now += 0.3 * cost
                    inner.advance()
                    rest = 0.3 * cost * (9 - step) + 3 * sum(costs[place + 1 :])
                    assert task.left() == pytest.approx(rest, rel=0.1, abs=0.3)
        assert task.share == 1


def test_before_a_part_has_begun_to_count_its_cost_tells(clock):
    with work("all", 6, None) as task:
        task.clock, task._begun = clock, clock.now
        with subtask("first", cost=2):
            clock.now += 4
        with subtask("second", cost=3):
            assert task.left() == pytest.approx(8)
            clock.now += 5
            assert task.left() == pytest.approx(1 + 2, rel=0.1)


def test_reading_a_file_says_nothing_of_how_long_learning_takes(clock):
    with work("all", 2, None) as task:
        task.clock, task._begun = clock, clock.now
        with subtask("reading", cost=0):
            clock.now += 100
        with subtask("learning", 4):
            clock.now += 3
            advance()
            assert task.left() == pytest.approx(3 * 3 + 12, rel=0.1)


def test_more_work_than_planned_is_never_done_early(clock):
    task = begin(clock, 3)
    for step in range(30):
        clock.now += 1
        task.advance()
        if step >= 3:
            assert task.share < 1
            assert task.left() > 0


def test_a_plan_that_grows_gives_more_time(clock):
    task = begin(clock, 4)
    clock.now += 2
    task.advance(2)
    before = task.left()
    task.plan(10)
    assert task.left() == pytest.approx(8)
    assert before == pytest.approx(2)


def test_nobody_listens_by_default():
    assert current_task() is None
    advance()
    with subtask("alone") as task:
        assert current_task() is None
    assert task.done == 0


def signals(samples=200, nodes=5):
    return np.random.default_rng(0).standard_normal((samples, nodes))


def watched(run):
    """Return the shares that a listener is told while ``run()`` works, and the titles."""
    shares, titles = [], set()

    def listen(task):
        shares.append(task.share)
        titles.add((task.inner or task).title)
        assert task.left() is None or task.left() >= 0

    with work("all", 1, listen):
        run()
    return np.array(shares), titles


@pytest.mark.parametrize(
    "run",
    [
        lambda X: GraphDictMarginal(2, n_init=2, random_state=0).fit(X),
        lambda X: GraphDictMarginal(2, average=4, n_init=2, random_state=0).fit(X),
        lambda X: GraphDictLog(2, n_init=2, random_state=0, max_iter=30).fit(X),
        lambda X: evidence(GraphDictMarginal(2, n_init=1, random_state=0), X, n_surrogates=3),
        lambda X: stability(GraphDictMarginal(2, n_init=1, random_state=0).fit(X), X),
        lambda X: choose_n_atoms(GraphDictMarginal(n_init=1, random_state=0), X, (1, 2)),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_everything_that_takes_time_tells_how_far_it_is(run):
    shares, _ = watched(lambda: run(signals()))
    assert len(shares) > 10
    assert (shares >= 0).all()
    assert (shares <= 1).all()
    assert len(np.unique(shares.round(2))) > 5


@pytest.mark.filterwarnings("ignore")
def test_verbose_shows_one_bar_with_the_time_left(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(progress, "TICK", 0.001)
    model = GraphDictMarginal(2, n_init=2, random_state=0, verbose=1).fit(signals(1000))
    shown = capsys.readouterr().err
    assert " left" in shown
    assert "GraphDictMarginal" in shown
    assert "objective" in shown
    evidence(model, signals(), n_surrogates=2)
    assert "held-out blocks" in capsys.readouterr().err
    GraphDictMarginal(2, n_init=2, random_state=0).fit(signals())
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.2, "a moment left"), (7.4, "7 s left"), (42, "about 40 s left"),
        (200, "about 3 min left"), (9000, "about 2.5 h left"),
    ],
)  # fmt: skip
def test_time_is_told_no_more_exactly_than_it_is_known(seconds, words):
    assert progress.time_left(seconds) == words
