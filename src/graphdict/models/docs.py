"""The parameters and attributes that all dictionaries share, written once."""

from __future__ import annotations

from inspect import cleandoc
from typing import TypeVar

T = TypeVar("T")

PARAMETERS = """
n_atoms : int, default=5
    Number K of graphs in the dictionary.
alpha_w : float, default=0.1
    Penalty on edge weights. A typical squared difference between two nodes is 2 after rescaling,
    so 0.1 is a gentle pull.
alpha_c : float, default=0.0
    Penalty on coefficients: few atoms active in a sample.
alpha_orth : float, default=0.0
    Penalty on edges that several atoms share.
alpha_diff : float, default=0.0
    Penalty on changes of the coefficients between consecutive samples (total variation). Samples
    are then taken as a time series, in ``transform`` as well.
window_size : int, default=1
    Number of consecutive samples that share their coefficients. The last window may be shorter.
"""

STREAM_PARAMETERS = """
forgetting : float, default=1.0
    For ``partial_fit``: how much a sample counts once another has come. 1 counts all alike; 0.999
    follows about the last 1,000 samples, for systems that drift.
"""

STREAM_ATTRIBUTES = """
n_samples_seen_ : int
    After ``partial_fit``: how many samples the stream has had.
stream_ : dict of arrays
    After ``partial_fit``: the averages that later batches are added to.
"""

SHARED_PARAMETERS = """
solver : {"auto", "bipds", "alternating", "mm"}, default="auto"
    Bilinear primal-dual splitting, "bipds", handles every prior; "alternating" applies it to one
    variable after the other, which never raises the objective and is slower; majorise-minimise is
    much faster but has updates for the sparsity and orthogonality priors only. "auto" takes it
    where it can.
max_iter : int, default=1000
    Largest number of iterations.
tol : float, default=1e-4
    Relative residual of the optimality conditions at which to stop; majorise-minimise also stops
    when an iteration lowers the objective by less than a hundredth of it, relatively.
tau_atoms, tau_coefficients, sigma : float, optional
    Fixed step sizes of "bipds", zero or from 1e-30 to 1e30; by default they follow the norms of the
    operator at the current point. ``sigma`` and ``tau_coefficients`` are the paper's; the objective
    being a mean over T samples, ``tau_atoms`` is T times the paper's. The dual starts at
    ``prox_{sigma h*}(sigma A(Delta, W))``.
last_iterate : bool, default=False
    Return the last iterate of the solver as Algorithm 1 prints it. Where it diverges, to an
    objective above 1e12 or a node that has no edge in any atom, the fit ends with an error. By
    default "bipds" returns the best iterate that it checked, and a last step finds the coefficients
    that are best for the atoms; so it does, with a warning, where the last iterate leaves some node
    of some sample without an edge, which the objective forbids.
n_init : int, default=1
    Number of starts; the lowest objective is kept.
init : {"k-means++", "uniform", "discrete"}, default="k-means++"
    How coefficients start: by the nearest of K spread-out samples, uniform on [0, 1], or one random
    atom for each sample.
atoms, coefficients : arrays (K, E) and (T, K), optional
    Where to start instead.
fix : {"atoms", "coefficients"}, optional
    Hold the given array: coding with a known dictionary, whose units are then those of the signals
    (nothing is rescaled, so atoms of an earlier fit go in as ``atoms_ / scale_ ** 2``), or graph
    learning with known coefficients.
atom_priors, coefficient_priors : lists of terms, optional
    Further terms of the objective; the page "Add your own prior" says what makes a term.
rescale : bool or "recording", default=True
    Divide all signals by one number, their root mean square after taking from each sample its mean
    over nodes. Volts and microvolts then give the same graphs, and penalties mean the same for
    both. ``atoms_`` and ``objective_`` refer to the signals divided by ``scale_``. "recording"
    divides each recording by its own root mean square first, new ones included.
random_state : int, RandomState or None, default=None
    Decides everything random.
callback : callable, optional
    Called with a :class:`graphdict.solvers.Progress` every iteration (every tenth of the
    primal-dual solver); returning True stops.
checkpoint : path, optional
    A file in which a fit keeps, every few seconds, what it needs to go on. After an interruption of
    any kind, the same call with the same data goes on from there and ends with the same result. It
    is removed when the fit is done.
verbose : int, default=0
    1 shows a progress bar with the time that is left, 2 leaves it on the screen.
"""

ATTRIBUTES = """
atoms_ : array (K, E)
    Edge weights of the atoms, in the order of ``np.triu_indices(N, 1)``.
coefficients_ : array (T, K)
    Coefficients of the training samples in [0, 1]: what ``transform`` gives for them.
objective_ : float
    The objective at ``atoms_`` and ``coefficients_``.
history_ : dict of arrays
    ``objective``, ``residual`` (and one for each variable) and ``seconds`` at each checked
    ``iteration``.
n_iter_ : int
    Iterations of the kept start. With ``fix="atoms"``, of coding; 1 where each sample is coded on
    its own, exactly.
backend_ : str
    What passed over the samples: the name of a compiled backend, or of the plain one.
scale_ : float
    What signals are divided by.
active_nodes_ : boolean array (N,)
    False for nodes that never vary, which get no edges.
pair_weights_, pair_means_ : arrays (E,)
    Where training signals had missing values (NaN): how much an observed pair of nodes counts, and
    its mean squared difference.
n_features_in_, feature_names_in_
    As in scikit-learn.
"""


def document(cls: type[T]) -> type[T]:
    """Class decorator: append the shared sections to the class's own docstring."""
    own_parameters = cleandoc(getattr(cls, "_own_parameters", ""))
    own_attributes = cleandoc(getattr(cls, "_own_attributes", ""))
    parameters = "\n".join(
        part for part in (PARAMETERS.strip(), own_parameters, SHARED_PARAMETERS.strip()) if part
    )
    attributes = "\n".join(part for part in (ATTRIBUTES.strip(), own_attributes) if part)
    cls.__doc__ = (
        f"{cleandoc(cls.__doc__ or '')}\n\nParameters\n----------\n{parameters}\n\n"
        f"Attributes\n----------\n{attributes}\n"
    )
    return cls
