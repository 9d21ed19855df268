"""The program ``graphdict``, also as ``python -m graphdict.app``."""

from __future__ import annotations

import sys

from graphdict.exceptions import MissingExtraError, import_extra


def main() -> None:
    """Run the command line, or say what it needs."""
    try:
        import_extra("click", "the command line", "cli")
    except MissingExtraError as error:
        sys.exit(f"Error: {error}")
    from graphdict.app.cli import main as run

    run(prog_name="graphdict")


if __name__ == "__main__":
    main()
