"""EEG studies in BIDS folders, read through MNE-BIDS: recordings by name, and what they are of."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from graphdict.eeg.extra import require_pandas
from graphdict.eeg.preprocessing import interpolate_bads
from graphdict.exceptions import GraphDictWarning, import_extra, warn
from graphdict.studies.given import NAMED, named

if TYPE_CHECKING:  # pragma: no cover
    import mne
    import pandas

MARK = "dataset_description.json"  # which every BIDS folder has
ENDINGS = (".edf", ".bdf", ".vhdr", ".set", ".fif")
ENTITIES = ("subject", "session", "task", "acquisition", "run")

Choice = str | Iterable[str] | None


@dataclass(frozen=True)
class BidsStudy:
    """The EEG recordings of a BIDS folder.

    Attributes
    ----------
    recordings : dict of str to mne.io.Raw
        By name, such as "sub-01_ses-a_task-rest_run-1": what ``fit`` takes. Channels that the
        folder calls bad are in ``info["bads"]``, unless they were interpolated.
    table : pandas.DataFrame
        A row for each recording, by name, with its subject, session, task, acquisition and run
        (those that the folder distinguishes), and what participants.tsv has of the subject.
    """

    recordings: dict[str, mne.io.BaseRaw] = field(repr=False)
    table: pandas.DataFrame


def read_bids(
    root: str | PathLike[str],
    *,
    subjects: Choice = None,
    sessions: Choice = None,
    tasks: Choice = None,
    runs: Choice = None,
    bads: Literal["missing", "interpolate"] = "missing",
) -> BidsStudy:
    """Read the EEG recordings of a BIDS folder, through MNE-BIDS (extra ``bids``).

    Recordings that cannot be read are named in a warning, and the others go on. Signals stay in
    their files until they are used.

    Parameters
    ----------
    root : path
        The folder, which has a dataset_description.json.
    subjects, sessions, tasks, runs : str or sequence of str, optional
        Labels of those to read, as in file names ("01" of "sub-01"); all by default.
    bads : {"missing", "interpolate"}, default="missing"
        What becomes of channels that channels.tsv calls bad: missing values in their recording,
        where others have them, or interpolated from their neighbours.

    Returns
    -------
    BidsStudy
    """
    if bads not in ("missing", "interpolate"):
        raise ValueError(f"bads must be 'missing' or 'interpolate', got {bads!r}")
    root = Path(root)
    chosen = {"subjects": subjects, "sessions": sessions, "tasks": tasks, "runs": runs}
    files = _matching(bids_files(root), chosen)
    recordings, failed = {}, []
    for name, file in files.items():
        try:
            raw = read_bids_file(file)
            recordings[name] = interpolate_bads(raw) if bads == "interpolate" else raw
        except (OSError, RuntimeError, ValueError, TypeError, KeyError) as error:
            failed.append(f"{name} ({(str(error).splitlines() or [type(error).__name__])[0]})")
    if not recordings:
        raise ValueError(f"no recording of {root} can be read: {named(failed)}")
    if failed:
        told = f"left out {len(failed)} of {len(files)} recordings: {named(failed)}"
        warn(told, GraphDictWarning)
    return BidsStudy(recordings, describe_bids({name: files[name] for name in recordings}))


def bids_root(path: Path) -> Path | None:
    """Return the BIDS folder that a path is in, or is itself; None where it is in none."""
    return next((folder for folder in (path, *path.parents) if (folder / MARK).is_file()), None)


def bids_files(root: Path) -> dict[str, Path]:
    """Return the files of EEG recordings of a BIDS folder, by name and sorted.

    Those of derivatives are not among them. Raises ValueError where there are none.
    """
    if not root.is_dir():
        raise ValueError(f"{root} is no folder")
    if not (root / MARK).is_file():
        raise ValueError(f"{root} is not a BIDS folder: it has no {MARK}")
    found = sorted(
        path
        for pattern in ("sub-*/eeg/sub-*_eeg.*", "sub-*/ses-*/eeg/sub-*_eeg.*")
        for path in root.glob(pattern)
        if is_bids_file(path)
    )
    if not found:
        kinds = sorted({path.name for path in root.glob("sub-*/**/*") if path.is_dir()})
        others = f"; it has {', '.join(kinds[:NAMED])}" if kinds else ""
        raise ValueError(
            f"{root} has no EEG recordings (sub-*/eeg/*_eeg with one of {', '.join(ENDINGS)})"
            f"{others}"
        )
    return {bids_name(path): path for path in found}


def bids_name(path: Path) -> str:
    """Return the name of a recording by its file: sub-01_task-rest of sub-01_task-rest_eeg.edf."""
    return path.stem.removesuffix("_eeg")


def is_bids_file(path: Path) -> bool:
    """Return whether a path is that of an EEG recording in a BIDS folder."""
    named = path.stem.startswith("sub-") and path.stem.endswith("_eeg")
    return named and path.suffix in ENDINGS and bids_root(path.resolve()) is not None


def read_bids_file(path: Path) -> Any:
    """Return one recording of a BIDS folder as an mne Raw, with what its tables say of channels.

    Channels are called what channels.tsv calls them.
    """
    mne_bids = import_extra("mne_bids", "a BIDS folder", "bids", "mne-bids")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bids_path = mne_bids.get_bids_path_from_fname(path, check=False, verbose="error")
        root = bids_root(path.resolve())
        bids_path = bids_path.update(root=root, check=False)
        try:
            return mne_bids.read_raw_bids(bids_path, verbose="error")
        except RuntimeError as error:
            if "hannel mismatch" not in str(error):
                raise
        try:  # the same names in another order
            return mne_bids.read_raw_bids(bids_path, on_ch_mismatch="reorder", verbose="error")
        except (RuntimeError, ValueError):  # other names, such as "Fc5." in the file and FC5
            return mne_bids.read_raw_bids(bids_path, on_ch_mismatch="rename", verbose="error")


def describe_bids(files: dict[str, Path]) -> pandas.DataFrame:
    """Return a table of recordings by name: what their names and participants.tsv say of each."""
    tables = require_pandas()
    rows = {name: _entities(name) for name in files}
    used = [entity for entity in ENTITIES if any(entity in row for row in rows.values())]
    table: pandas.DataFrame = tables.DataFrame.from_dict(rows, orient="index", columns=used)
    table.index.name = "recording"
    root = bids_root(next(iter(files.values())).resolve())
    people = None if root is None else root / "participants.tsv"
    if people is None or not people.is_file():
        return table
    known = tables.read_csv(people, sep="\t", na_values=["n/a"], dtype={"participant_id": str})
    if "participant_id" not in known:
        return table
    known = known.drop_duplicates("participant_id").set_index("participant_id")
    known.index = [str(name).removeprefix("sub-") for name in known.index]
    known = known[[c for c in known if c not in table]].dropna(axis="columns", how="all")
    return table.join(known, on="subject")


def _entities(name: str) -> dict[str, str]:
    """Return what a name such as "sub-01_task-rest" says: {"subject": "01", "task": "rest"}."""
    keys = {"sub": "subject", "ses": "session", "acq": "acquisition"}
    pairs = (part.partition("-") for part in name.split("_"))
    return {keys.get(key, key): value for key, _, value in pairs}


def _matching(files: dict[str, Path], chosen: dict[str, Choice]) -> dict[str, Path]:
    """Return the files of chosen subjects, sessions, tasks and runs; raise for one there is not."""
    for argument, wanted in chosen.items():
        if wanted is None:
            continue
        entity = argument.removesuffix("s")
        labels = [wanted] if isinstance(wanted, str) else [str(label) for label in wanted]
        there = {name: _entities(name).get(entity) for name in files}
        unknown = [label for label in labels if label not in there.values()]
        if unknown or not labels:
            known = sorted({label for label in there.values() if label is not None})
            raise ValueError(
                f"{argument} must be among {named(known) or 'none, as there are'}, got {unknown}"
            )
        files = {name: path for name, path in files.items() if there[name] in labels}
    return files
