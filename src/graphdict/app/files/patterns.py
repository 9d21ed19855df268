"""Choose columns by name or by pattern (``temp_*``)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from graphdict.app.files.errors import InputError
from graphdict.app.files.table import quote_names


def matching_names(
    names: Sequence[str], patterns: Iterable[str], argument: str, what: str = "column"
) -> set[str]:
    """Return the names that are given, or match a pattern of ``*``, ``?`` and ``[...]``.

    Raises InputError, which names the ``argument``, for a pattern that matches none.
    """
    chosen: set[str] = set()
    for pattern in patterns:
        found = {n for n in names if n == pattern} or {n for n in names if fnmatchcase(n, pattern)}
        if not found:
            known = quote_names(sorted(set(names)), 12)
            raise InputError(
                f"has no {what} {pattern!r}, which {argument}=... names; its {what}s are {known}"
            )
        chosen |= found
    return chosen
