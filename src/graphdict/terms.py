"""Terms of the objective: likelihoods and priors."""

from graphdict.core.terms import *  # noqa: F403
from graphdict.core.terms import __all__ as __all__
