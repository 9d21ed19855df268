"""Model files and checkpoints that were changed: loaded as something usable, or refused clearly."""

import functools
import hashlib
import io
import tempfile
import warnings
import zipfile
from pathlib import Path

import numpy as np

from graphdict import GraphDictHier, GraphDictLog, GraphDictMarginal, load_model
from graphdict.engine import checkpoint
from graphdict.exceptions import CheckpointError, ModelFileError

X = np.random.default_rng(0).standard_normal((24, 4))
FITS = (
    GraphDictLog(2, max_iter=6, random_state=0),
    GraphDictMarginal(2, n_init=1, max_iter=4, random_state=0),
    GraphDictHier(1, max_iter=9),
)


class _StopError(Exception):
    """Ends a fit, as a kill would."""


@functools.cache
def models():
    """The bytes of a saved model of each kind."""
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(name) / "model"
        found = []
        for model in FITS:
            model.fit(X).save(path)
            found.append(path.read_bytes())
    return found


@functools.cache
def checkpoints():
    """Models and the bytes of the checkpoint of a fit of each that was ended half way."""
    found = []
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for model in FITS:
            path = Path(name) / type(model).__name__

            def stop(progress, path=path):
                if progress.iteration > 2 and path.exists():
                    raise _StopError

            pace = checkpoint.SECONDS, checkpoint.SHARE
            checkpoint.SECONDS, checkpoint.SHARE = 0, 1e9
            try:
                model.set_params(checkpoint=path, callback=stop, tol=0.0).fit(X)
            except _StopError:
                pass
            finally:
                checkpoint.SECONDS, checkpoint.SHARE = pace
                model.set_params(checkpoint=None, callback=None)
            found.append((model, path.read_bytes()))
    return found


def change(rng, content):
    """The archive with one member changed, its digests right in half of the cases."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    name = str(rng.choice([name for name in parts if name != "SHA256SUMS"]))
    part = bytearray(parts[name])
    for _ in range(rng.choice([1, 2, 8])):
        kind = rng.integers(4)
        at = int(rng.integers(len(part))) if part else 0
        if kind == 0 and part:
            part[at] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            part[at:at] = rng.bytes(int(rng.integers(1, 20)))
        elif kind == 2:
            del part[at : at + int(rng.integers(1, 40))]
        else:
            part[at : at + 8] = np.array(rng.choice([np.nan, np.inf, -1.0, 1e300])).tobytes()
    parts[name] = bytes(part)
    if rng.random() < 0.5:
        sums = {key: hashlib.sha256(value).hexdigest() for key, value in parts.items()}
        lines = [f"{value}  {key}\n" for key, value in sums.items() if key != "SHA256SUMS"]
        parts["SHA256SUMS"] = "".join(lines).encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for key, value in parts.items():
            archive.writestr(key, value)
    return buffer.getvalue()


def attack(rng):
    """One file: a model, or a checkpoint that a fit is to go on from."""
    with (
        tempfile.TemporaryDirectory() as name,
        warnings.catch_warnings(),
        np.errstate(all="ignore"),
    ):
        warnings.simplefilter("ignore")
        path = Path(name) / "forged"
        if rng.random() < 0.5:
            path.write_bytes(change(rng, models()[rng.integers(len(FITS))]))
            try:
                model = load_model(path)
            except ModelFileError:
                return "model refused"
            assert np.isfinite(model.instantaneous_graphs().weights).all()
            return "model loaded"
        model, content = checkpoints()[rng.integers(len(FITS))]
        path.write_bytes(change(rng, content))
        try:
            model.set_params(checkpoint=path).fit(X)
        except CheckpointError:
            return "checkpoint refused"
        finally:
            model.set_params(checkpoint=None)
        return "checkpoint taken"
