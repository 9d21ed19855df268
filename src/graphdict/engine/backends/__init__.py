"""One class for each likelihood with the operations that solvers need, plain or compiled."""
