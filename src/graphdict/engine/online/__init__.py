"""Learning from a stream, beneath ``partial_fit``: running averages of what a batch says."""
