"""Make every table and figure of README, docs and results anew, from the code as it is.

    make results                                        # or: python results/regenerate.py
    python results/regenerate.py --list                 # the steps, and which are done
    python results/regenerate.py --only superposition   # some of them
    python results/regenerate.py --check                # whether one code made all that is here
    python results/regenerate.py --only real,pages --quick --real-dir DIR --data-dir DIR

It takes hours and may be stopped at any time: what is done stays in ``build/results``, under a
digest of the code, and the same command goes on. Other code begins anew, so that figures of two
versions never stand side by side. Nothing in ``results`` changes before its step is complete.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from graphdict.app.experiments.code import code_digest

ROOT = Path(__file__).parents[1]
CELLS_FAILED = 1  # exit code of an experiment some of whose cells failed
EXPERIMENTS = (
    "superposition", "superposition-paper", "time-varying", "time-varying-paper", "brain",
    "brain-paper", "real",
)  # fmt: skip


class Step(NamedTuple):
    """One command; an experiment's is run in a folder of its own, whose files are then taken."""

    name: str
    command: list[str]
    experiment: bool = False


def steps(
    data_dir: str | None, real_dir: str | None, environments: str, jobs: int, scale: str = "full"
) -> list[Step]:
    """Return all steps, in order; speed comes last, on a machine that is otherwise idle."""
    command = [sys.executable, "-m", "graphdict.app.cli", "experiment"]
    recordings = [] if data_dir is None else ["--data-dir", data_dir]
    options = {
        "brain": recordings,
        "brain-paper": recordings,
        "real": ["--environments", environments],
        "answers": ["--environments", environments],
    }
    if real_dir is not None:
        options["real"] += ["--data-dir", real_dir]
    scripts = {
        "noise": "results/noise/check.py",
        **{f"figure-{name}": f"docs/figures/{name}.py" for name in FIGURES},
        "accuracy": "benchmarks/accuracy.py",
        "comparison": "benchmarks/compare.py",
        "answers": "benchmarks/answers.py",
        "scaling": "benchmarks/scaling.py",
    }
    return [
        *(
            Step(
                name,
                [*command, name.removesuffix("-paper"),
                 "--paper" if name.endswith("-paper") else f"--{scale}", "--jobs", str(jobs),
                 *options.get(name, ["--starts", "5"])],
                experiment=True,
            )
            for name in EXPERIMENTS
        ),
        *(
            Step(name, [sys.executable, script, *options.get(name, [])])
            for name, script in scripts.items()
        ),
        Step("pages", [sys.executable, "results/pages.py"]),
    ]  # fmt: skip


FIGURES = ("front", "overfitting", "missing", "filters", "explorer")


def run(step: Step, work: Path, environment: dict[str, str]) -> bool:
    """Run a step with environment variables, unless it is done; return whether it is."""
    done = work / f"{step.name}.done"
    if done.exists() and step.name != "pages":
        print(f"{step.name}: done before", flush=True)
        return True
    folder = work / step.name
    command = [*step.command, "--output", str(folder)] if step.experiment else step.command
    print(f"{step.name}: {' '.join(command)}", flush=True)
    code = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode  # noqa: S603
    # Tables are written when all cells were run; where other packages fail, they say of the rest.
    if code and not (step.experiment and code == CELLS_FAILED and (folder / "table.md").exists()):
        print(f"{step.name}: failed; the same command tries it again", file=sys.stderr)
        return False
    if step.experiment:
        take(folder, ROOT / "results" / step.name)
        # A run of some of its sets is older than the whole.
        shutil.rmtree(ROOT / "results" / f"{step.name}-states", ignore_errors=True)
    done.touch()
    return True


def take(folder: Path, to: Path) -> None:
    """Copy the tables and figures of an experiment, but not its cells, which are many."""
    to.mkdir(exist_ok=True)
    for path in folder.iterdir():
        if path.suffix in (".csv", ".md", ".png", ".json") and path.name != "timings.csv":
            shutil.copyfile(path, to / path.name)


def check() -> int:
    """Return 1 and say so unless one code, this one, made all experiments in ``results``."""
    wrong = 0
    for name in EXPERIMENTS:
        manifest = ROOT / "results" / name / "manifest.json"
        written = json.loads(manifest.read_text()).get("code") if manifest.exists() else "none yet"
        if written != code_digest():
            print(f"results/{name}: made by code {written}, this is {code_digest()}")
            wrong = 1
    pages = [sys.executable, "results/pages.py", "--check"]
    return wrong or subprocess.run(pages, cwd=ROOT, check=False).returncode  # noqa: S603


def main() -> int:
    """Run what is asked for; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", metavar="A,B", help="these steps")
    parser.add_argument("--without", metavar="A,B", default="", help="all but these steps")
    parser.add_argument("--data-dir", metavar="DIR", help="folder of the EEG recordings")
    parser.add_argument("--real-dir", metavar="DIR", help="folder of the measured sets")
    parser.add_argument(
        "--environments", metavar="DIR", default=str(ROOT / ".bench" / "environments"),
        help="folder of the environments of other packages",
    )  # fmt: skip
    parser.add_argument(
        "--quick", action="store_true", help="experiments at their quick scale, not the full one"
    )
    parser.add_argument("--jobs", type=int, default=1, help="cells that run at the same time")
    parser.add_argument("--list", action="store_true", help="name the steps, and run none")
    parser.add_argument("--check", action="store_true", help="run nothing; fail on mixed code")
    given = parser.parse_args()
    if given.check:
        return check()
    work = ROOT / "build" / "results" / code_digest()
    scale = "quick" if given.quick else "full"
    work = work / scale
    declared = steps(given.data_dir, given.real_dir, given.environments, given.jobs, scale)
    # Where `experiment real`, whose --data-dir has the other sets, finds imagined movement.
    environment = dict(os.environ)
    if given.data_dir is not None:
        environment["MNE_DATASETS_EEGBCI_PATH"] = given.data_dir
    names = [step.name for step in declared]
    wanted = given.only.split(",") if given.only else names
    left_out = [name for name in given.without.split(",") if name]
    for name in (*wanted, *left_out):
        if name not in names:
            parser.error(f"unknown step {name!r}; known: {', '.join(names)}")
    if given.list:
        for name in names:
            print(f"{name}: {'done' if (work / f'{name}.done').exists() else 'missing'}")
        return 0
    work.mkdir(parents=True, exist_ok=True)
    chosen = [step for step in declared if step.name in wanted and step.name not in left_out]
    failed = [step.name for step in chosen if not run(step, work, environment)]
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
