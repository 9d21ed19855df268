"""Name command-line options in messages of the library, which name its arguments."""

from __future__ import annotations

import re

READING_OPTIONS = (
    "time", "no_time", "node", "value", "layout", "columns", "ignore", "rate", "sort", "transpose",
    "header", "delimiter", "decimal", "encoding", "na", "keep_codes", "number_duplicates", "array",
    "bads",
)  # fmt: skip
ARGUMENT = re.compile(
    rf"(?<![\w'\"])({'|'.join((*READING_OPTIONS, 'group', 'restart', 'signed'))})="
    r"(?:True|\.\.\.|\[?('[^']*'|\"[^\"]*\")\]?)"
)


def with_flags(message: str) -> str:
    """Return a message with flags in place of arguments: ``sort=True`` becomes ``--sort``."""

    def flag(found: re.Match[str]) -> str:
        name = "--" + found[1].replace("columns", "column").replace("_", "-")
        return f"{name} {found[2]}" if found[2] else name

    return ARGUMENT.sub(flag, message.replace("scikit-learn's working_memory", "--memory"))
