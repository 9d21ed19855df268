"""The explorer: one self-contained HTML file in which a dictionary can be looked at."""

from graphdict.viz.report.write import write_report

__all__ = ["write_report"]
