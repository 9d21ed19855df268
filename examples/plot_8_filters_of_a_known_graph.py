"""
Filters of a known graph
========================

Sometimes the graph is known (sensors on a map, roads, electrodes) and what varies is how signals
spread over it. Then all instantaneous Laplacians are functions of one Laplacian: they share its
eigenvectors, and only spectra differ. This is ``GraphDictSpectral`` with given ``modes``, and, with
spectra that are polynomials of the graph frequencies, the dictionary of graph kernels of Thanou,
Shuman and Frossard (2013), in which signals have sparse codes.
"""

# sphinx_gallery_thumbnail_number = 1
import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial.distance import pdist
from sklearn.linear_model import orthogonal_mp

from graphdict import GraphDictSpectral, graphs
from graphdict.metrics import match_atoms

rng = np.random.default_rng(0)
places = rng.uniform(size=(20, 2))
distances = pdist(places)
nearest = distances < 0.35
known = graphs.laplacian(np.where(nearest, np.exp(-((distances / 0.3) ** 2)), 0) + 1e-2)
frequencies, modes = np.linalg.eigh(known)

# %%
# Three polynomials of the known Laplacian that are Laplacians of graphs again: itself, one that
# also joins neighbours of neighbours, and the complete graph, which treats all frequencies alike.
# Each signal comes from one of them, for fifty samples at a time: ``x ~ N(0, pinv(L_k))``.

rows, cols = np.triu_indices(20, 1)
degrees = np.diag(known)
most = (degrees[rows] + degrees[cols])[known[rows, cols] < -0.02].max()  # of two neighbours
polynomials = [
    lambda f: 3 * f,
    lambda f: 4 * (most * f - f**2) / most,
    lambda f: np.where(f > 1e-9, 6.0, 0.0),
]
spectra = np.array([polynomial(frequencies) for polynomial in polynomials])
true = graphs.laplacian_to_weights((modes * spectra[:, None, :]) @ modes.T)
print("smallest weight of the three graphs:", true.min().round(6))

active = np.repeat(rng.integers(3, size=300), 50)
scale = np.zeros_like(spectra)
scale[:, 1:] = spectra[:, 1:] ** -0.5
signals = (rng.standard_normal((15000, 20)) * scale[active]) @ modes.T

# %%
# Learn three spectra. The weights of all graphs are nonnegative and their Laplacians commute, to
# rounding: it is a constraint, not a penalty.

model = GraphDictSpectral(
    3, modes=modes, window_size=50, alpha_w=0, rescale=False, n_init=2, random_state=0
).fit(signals)
laplacians = graphs.laplacian(model.atoms_)
largest = max(np.abs(a @ b - b @ a).max() for a in laplacians for b in laplacians)
pairs = match_atoms(true, model.atoms_)
order = pairs.learned[np.argsort(pairs.true)]
print(f"largest entry of a commutator: {largest:.1e}")
found = np.einsum("im,kij,jm->km", modes, laplacians, modes)[order]

figure, ax = plt.subplots(figsize=(6.2, 3.2), layout="constrained")
for k, colour in enumerate(["#0072B2", "#D55E00", "#009E73"]):
    ax.plot(frequencies[1:], spectra[k, 1:], color=colour, linewidth=1, label=f"graph {k + 1}")
    ax.plot(frequencies[1:], found[k, 1:], "o", color=colour, markersize=4)
ax.set(xlabel="frequency of the known graph", ylabel="eigenvalue", title="lines: true; dots: found")
ax.legend()

# %%
# Polynomials of degree two through the spectra that were found: the kernels as Thanou et al. write
# them.

for k in range(3):
    powers = np.vander(frequencies[1:], 3)
    fitted = powers @ np.linalg.lstsq(powers, found[k, 1:], rcond=None)[0]
    off = np.linalg.norm(fitted - found[k, 1:]) / np.linalg.norm(found[k, 1:])
    print(f"graph {k + 1}: a polynomial of degree two is {off:.1%} off")

# %%
# Sparse synthesis
# ----------------
# The square roots of the pseudo-inverses, ``k(L_k) = U diag(lambda_k ** -0.5) U'``, are the
# dictionary of the 2013 paper: column n of kernel k is what an impulse at node n becomes. A signal
# that is the sum of five impulses, each through one of the kernels, is found again by orthogonal
# matching pursuit in the kernels that were *learned*.

kernels = np.zeros_like(found)
kernels[:, 1:] = found[:, 1:] ** -0.5
columns = np.hstack([(modes * kernel) @ modes.T for kernel in kernels])
columns /= np.linalg.norm(columns, axis=0)
true_columns = np.hstack([(modes * kernel) @ modes.T for kernel in scale])
true_columns /= np.linalg.norm(true_columns, axis=0)

errors = {"learned kernels": [], "impulses alone": []}
impulses = np.eye(20) - 1 / 20
for _ in range(200):
    chosen = rng.choice(60, size=5, replace=False)
    signal = true_columns[:, chosen] @ rng.choice([-1.0, 1.0], 5)
    for name, dictionary in (("learned kernels", columns), ("impulses alone", impulses)):
        code = orthogonal_mp(dictionary, signal, n_nonzero_coefs=5)
        rest = np.linalg.norm(signal - dictionary @ code) / np.linalg.norm(signal)
        errors[name].append(rest)
for name, values in errors.items():
    print(f"{name}: five terms leave {np.mean(values):.1%} of a signal")

# %%
# What can be concluded
# ---------------------
# Where eigenvectors are known, nineteen numbers describe a graph, and a few hundred windows of
# fifty samples determine them, up to what soft coefficients can shift from one graph to another:
# the second comes out too weak at high frequencies. Where eigenvectors are not known,
# ``modes="graph"`` learns them first from all signals, and ``GraphDictSpectralRelaxed`` does with
# graphs that share them only nearly.
