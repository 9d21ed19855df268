// What goes into the dual step of the exact model, and out: the maps of graphdict.core.operators
// with the Laplacians of graphs.
//
// Edges are those of numpy.triu_indices(N, 1): row after row, so that the edges of a node with
// later ones lie side by side, as its row in a matrix does.
#pragma once

#include <algorithm>
#include <vector>

#include "tiles.hpp"

namespace graphdict {

// Y + L_w for the weights of one graph, where Y is symmetric; `degrees` is room for one row.
template <class Real>
void add_laplacian(Matrix<const Real> dual, const Real* weights, Real* __restrict degrees,
                   Matrix<Real> out) {
    const py::ssize_t nodes = dual.rows;
    std::fill(degrees, degrees + nodes, Real(0));
    for (py::ssize_t i = 0; i < nodes; ++i) {
        const py::ssize_t after = nodes - i - 1;
        const Real* from = dual[i] + i + 1;
        Real* __restrict to = out[i] + i + 1, * __restrict others = degrees + i + 1, degree = 0;
#pragma omp simd reduction(+ : degree)
        for (py::ssize_t j = 0; j < after; ++j) {
            to[j] = from[j] - weights[j];
            others[j] += weights[j];
            degree += weights[j];
        }
        out[i][i] = dual[i][i] + degrees[i] + degree;
        for (py::ssize_t j = 0; j < i; ++j) out[i][j] = out[j][i];
        weights += after;
    }
}

// Sets Y + sigma L(Delta W) of symmetric duals (T, N, N) in `out`.
template <class Real>
void add_laplacians(const Array<Real>& coefficients, const Array<Real>& atoms,
                    const Array<Real>& dual, Real sigma, const Array<Real>& out) {
    auto c = matrix(coefficients);
    auto w = matrix(atoms);
    auto y = cube(dual);
    auto found = cube_out(out);
    const py::ssize_t edges = w.columns;
    expect(y.rows == y.columns && edges == edges_of(y.rows),
           "atoms do not have the edges of the duals");
    expect(c.rows == y.count && c.columns == w.rows, "coefficients must be (samples, atoms)");
    expect(found.has_shape_of(y), "dual and out differ in shape");
    WithoutGil without_gil;
    std::vector<Real> weights(edges), degrees(y.rows);
    for (py::ssize_t t = 0; t < y.count; ++t) {
        std::fill(weights.begin(), weights.end(), Real(0));
        for (py::ssize_t k = 0; k < w.rows; ++k) {
            const Real share = sigma * c[t][k];
            const Real* atom = w[k];
            Real* __restrict to = weights.data();
            for (py::ssize_t e = 0; e < edges; ++e) to[e] += share * atom[e];
        }
        add_laplacian<Real>(y[t], weights.data(), degrees.data(), found[t]);
    }
}

// Squared differences z of a signal along the edges, and Y_ii + Y_jj - 2 Y_ij of its dual.
template <class Real>
void differences_along_edges(const Real* signal, Matrix<const Real> dual, Real* diagonal,
                             Real* __restrict z, Real* __restrict y) {
    const py::ssize_t nodes = dual.rows;
    for (py::ssize_t i = 0; i < nodes; ++i) diagonal[i] = dual[i][i];
    for (py::ssize_t i = 0; i < nodes; ++i) {
        const py::ssize_t after = nodes - i - 1;
        const Real *others = signal + i + 1, *corner = diagonal + i + 1, *row = dual[i] + i + 1;
        const Real own = signal[i], here = diagonal[i];
        for (py::ssize_t j = 0; j < after; ++j) {
            const Real difference = own - others[j];
            z[j] = difference * difference;
            y[j] = here + corner[j] - 2 * row[j];
        }
        z += after, y += after;
    }
}

// Some samples as an atom sees them: rows of their z and y, `stride` apart, and its coefficients;
// its products with both are found.
template <class Real, int S>
struct SeenSamples {
    const Real *z, *y;
    py::ssize_t stride;
    Real shares[S], energies[S], inner_products[S];
};

// Adds z + y, weighted by the shares, to `sums` as well.
template <class Real, int S>
GRAPHDICT_NOINLINE void products_of_atom(const Real* atom, SeenSamples<Real, S>& seen, Real* sums) {
    const Real *z = seen.z, *y = seen.y;
    const py::ssize_t stride = seen.stride;
    Vec<Real> share[S], energy[S]{}, inner_product[S]{};
    for (int s = 0; s < S; ++s) share[s] = broadcast(seen.shares[s]);
    for (py::ssize_t e = 0; e < stride; e += Register<Real>::lanes) {
        const Vec<Real> weight = load_unaligned(atom + e);
        Vec<Real> sum_of_edges = load_unaligned(sums + e);
        for (int s = 0; s < S; ++s) {
            const Vec<Real> z_s = load_unaligned(z + s * stride + e),
                            y_s = load_unaligned(y + s * stride + e);
            energy[s] += weight * z_s;
            inner_product[s] += weight * y_s;
            sum_of_edges += share[s] * (z_s + y_s);
        }
        store<Real>(sum_of_edges, sums + e);
    }
    for (int s = 0; s < S; ++s) {
        seen.energies[s] = sum<Real>(energy[s]);
        seen.inner_products[s] = sum<Real>(inner_product[s]);
    }
}

// Rows of edges, filled up with zeros to whole registers, which see nothing.
template <class Real>
struct EdgeRows {
    static constexpr int lanes = Register<Real>::lanes;
    py::ssize_t stride;
    std::vector<Real> values;

    EdgeRows(py::ssize_t rows, py::ssize_t edges)
        : stride((edges + lanes - 1) / lanes * lanes), values(rows * stride) {}
    Real* operator[](py::ssize_t i) { return values.data() + i * stride; }
};

// What is read and written for each sample (T, K), and the rows of all atoms and of two samples.
template <class Real>
struct LogDetGradients {
    Matrix<const Real> weighted;
    Matrix<Real> energies, inner_products;
    EdgeRows<Real> atoms, sums, z, y;

    // Products of every atom with S samples, beginning with sample `t`.
    template <int S>
    void multiply(py::ssize_t t) {
        SeenSamples<Real, S> seen{z[0], y[0], z.stride, {}, {}, {}};
        for (py::ssize_t k = 0; k < weighted.columns; ++k) {
            for (int s = 0; s < S; ++s) seen.shares[s] = weighted[t + s][k];
            products_of_atom<Real, S>(atoms[k], seen, sums[k]);
            for (int s = 0; s < S; ++s) {
                energies[t + s][k] = seen.energies[s];
                inner_products[t + s][k] = seen.inner_products[s];
            }
        }
    }
};

// Sets Z W' in `energies` and <Y_t, L_k> in `inner_products` (T, K) of symmetric duals, and adds
// C' (Z + L*(Y)) to `distances` (K, E) with weights C of the samples.
template <class Real>
void gradients(const Array<Real>& signals, const Array<Real>& atoms, const Array<Real>& weighted,
               const Array<Real>& dual, const Array<Real>& energies,
               const Array<Real>& inner_products, const Array<Real>& distances) {
    auto x = matrix(signals);
    auto w = matrix(atoms);
    auto c = matrix(weighted);
    auto y = cube(dual);
    auto energy = matrix_out(energies);
    auto inner_product = matrix_out(inner_products);
    auto sums = matrix_out(distances);
    const py::ssize_t samples = x.rows, nodes = x.columns, count = w.rows, edges = w.columns;
    expect(edges == edges_of(nodes), "atoms do not have the edges of the signals");
    expect(y.count == samples && y.rows == nodes && y.columns == nodes,
           "dual must be (samples, nodes, nodes)");
    for (Matrix<const Real> part :
         {c, Matrix<const Real>(energy), Matrix<const Real>(inner_product)})
        expect(part.rows == samples && part.columns == count,
               "weighted, energies and inner_products must be (samples, atoms)");
    expect(sums.rows == count && sums.columns == edges, "distances must be (atoms, edges)");
    WithoutGil without_gil;
    LogDetGradients<Real> found{
        c, energy, inner_product, {count, edges}, {count, edges}, {2, edges}, {2, edges}};
    std::vector<Real> diagonal(nodes);
    for (py::ssize_t k = 0; k < count; ++k) std::copy(w[k], w[k] + edges, found.atoms[k]);
    for (py::ssize_t t = 0; t < samples; t += 2) {
        const int at_once = static_cast<int>(std::min<py::ssize_t>(2, samples - t));
        for (int s = 0; s < at_once; ++s)
            differences_along_edges<Real>(x[t + s], y[t + s], diagonal.data(), found.z[s],
                                          found.y[s]);
        if (at_once == 2)
            found.template multiply<2>(t);
        else
            found.template multiply<1>(t);
    }
    for (py::ssize_t k = 0; k < count; ++k)
        for (py::ssize_t e = 0; e < edges; ++e) sums[k][e] += found.sums[k][e];
}

inline void bind_log_det_gradients(py::module_& m) {
    in_both_precisions([&](auto real) {
        using Real = decltype(real);
        m.def("add_laplacians", &add_laplacians<Real>, py::arg("coefficients"), py::arg("atoms"),
              py::arg("dual"), py::arg("sigma"), py::arg("out"));
        m.def("log_det_gradients", &gradients<Real>, py::arg("signals"), py::arg("atoms"),
              py::arg("weighted"), py::arg("dual"), py::arg("energies"), py::arg("inner_products"),
              py::arg("distances"));
    });
}

}  // namespace graphdict
