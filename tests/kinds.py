"""The kinds of problem that tests of solvers go through."""

KINDS = ("log", "spectral", "exact")
