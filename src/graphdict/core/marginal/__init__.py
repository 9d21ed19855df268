"""The marginal model on a block: patterns, their likelihood, posteriors, chains and penalties."""
