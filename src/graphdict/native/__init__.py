"""The compiled part of graphdict, in C++: loops that NumPy cannot express well.

Installing graphdict builds it, so that no fit ever waits for a compiler. Each header here holds one
kind of loop, its functions for Python at its end; ``__init__.pyi`` lists all of these. There are
two builds of the same code, one for any processor and one for x86 processors with wide registers
(AVX2 and FMA); the faster one that can run is taken. Arguments are arrays in the order of C and of
one precision, and where results go is given: anything else is refused, nothing is converted.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["compiled", "contiguous", "doubles"]


def _load() -> Any:
    try:
        portable = import_module("graphdict.native._portable")
    except ImportError as error:
        raise ImportError(
            "the compiled part of graphdict is missing: install graphdict with pip "
            "(from its sources: pip install --editable ., which needs GCC or Clang)"
        ) from error
    if portable.has_wide_registers():
        try:
            return import_module("graphdict.native._x86_64_v3")
        except ModuleNotFoundError:  # not built
            pass
    return portable


compiled = _load()


def contiguous(array: Any, dtype: Any = None) -> NDArray[Any]:
    """Return an array as compiled loops take it: in C order and aligned; copied only if it is not.

    What comes over a network or out of a file may lie anywhere in memory.
    """
    found = np.asarray(array, dtype=dtype, order="C")
    return found if found.flags.aligned else found.copy()


def doubles(array: Any) -> NDArray[Any]:
    """Return an array in double precision, as :func:`contiguous` does."""
    return contiguous(array, np.float64)


def __getattr__(name: str) -> Any:
    return getattr(compiled, name)
