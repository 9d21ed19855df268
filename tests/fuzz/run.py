"""Attack the package at random, for as long as you like: ``python tests/fuzz/run.py --help``.

Each case is made from the seed and its number alone, so that one that breaks can be looked at with
``--only``. Nothing is learned from earlier cases, and other seeds try other ones.
"""

import argparse
import collections
import os
import sys
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402 - reads the number of threads

SLOW = 60  # seconds of work from which on a small case is a break


def attacks():
    """The attacks by name; imported here, since threads are set before NumPy is loaded."""
    import containers
    import estimators
    import files
    import forgeries
    import kills
    import native_calls
    import tables

    return {
        "filters": estimators.attack_filters,
        "given": estimators.attack_given,
        "estimators": estimators.attack,
        "containers": containers.attack,
        "files": files.attack,
        "kills": kills.attack,
        "forgeries": forgeries.attack,
        "native": native_calls.attack,
        "tables": tables.attack,
    }


def one(name, seed, number):
    """Return how a case ended, and a report where it broke."""
    started = time.process_time()
    try:
        ended, report = attacks()[name](np.random.default_rng([seed, number])), None
    except Exception:
        ended, report = "BROKEN", traceback.format_exc()
    took = time.process_time() - started
    if took > SLOW and report is None:
        ended, report = "SLOW", f"took {took:.0f} s"
    return ended, report


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("attack", nargs="*", choices=[[], *attacks()], help="default: all in turn")
    parser.add_argument("--cases", type=int, default=1000, help="number of cases of each attack")
    parser.add_argument("--seconds", type=float, default=np.inf, help="stop each attack after that")
    parser.add_argument("--seed", type=int, default=None, help="default: by the clock")
    parser.add_argument("--only", type=int, default=None, help="the number of one case, to look at")
    parser.add_argument("--keep-going", action="store_true", help="do not stop after 20 breaks")
    given = parser.parse_args(arguments)
    seed = int(time.time()) if given.seed is None else given.seed
    broken = 0
    for name in given.attack or attacks():
        if given.only is not None:
            print(attacks()[name](np.random.default_rng([seed, given.only])))
            continue
        tally = collections.Counter()
        started = time.monotonic()
        try:
            for number in range(given.cases):
                ended, report = one(name, seed, number)
                tally[ended] += 1
                if report is not None:
                    broken += 1
                    print(f"--- {name} --seed {seed} --only {number}\n{report}", flush=True)
                late = time.monotonic() - started > given.seconds
                if late or (broken > 20 and not given.keep_going):
                    break
        except KeyboardInterrupt:
            pass  # what was seen so far is said
        counts = ", ".join(f"{count} {ended}" for ended, count in sorted(tally.items()))
        print(f"{name}: {sum(tally.values())} cases with seed {seed}: {counts}", flush=True)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
