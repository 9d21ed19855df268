"""A few seconds of each attack with a seed that stays; ``make fuzz`` goes on with others."""

import pytest
import run

CASES = {
    "estimators": 25,
    "filters": 4,
    "given": 40,
    "containers": 40,
    "files": 80,
    "forgeries": 40,
    "native": 300,
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CASES)
def test_nothing_breaks(name):
    for number in range(CASES[name]):
        _, report = run.one(name, 0, number)
        assert report is None, f"{name} --seed 0 --only {number}\n{report}"
