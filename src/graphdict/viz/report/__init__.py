"""The HTML report: one self-contained file to explore a fitted dictionary."""

from graphdict.viz.report.write import write_report

__all__ = ["write_report"]


def __dir__() -> list[str]:
    return sorted(__all__)
