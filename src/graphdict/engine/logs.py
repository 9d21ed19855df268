"""The logger "graphdict", which is silent unless logging is configured.

    import logging
    logging.basicConfig(level=logging.INFO)            # what is fitted, how each start ended
    logging.getLogger("graphdict").setLevel("DEBUG")   # and every check on the way
    logging.captureWarnings(True)                      # warnings go to the log as well

Warnings stay warnings, with classes of their own in :mod:`graphdict.exceptions`.
"""

from __future__ import annotations

import logging

logger = logging.getLogger("graphdict")
logger.addHandler(logging.NullHandler())


def printable(text: object) -> str:
    """Return ``text`` with control characters escaped, for terminals and logs."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in str(text))
