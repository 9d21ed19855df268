"""The marginal model over all samples: passes, expectation-maximisation, starts, averaging."""
