// What a barrier sees of graphs: their degrees, or their energies in modes; and the adjoints.
#pragma once

#include <vector>

#include "products.hpp"

namespace graphdict {

// Of weights (K, E): (K, N).
template <class Real>
void degrees(Matrix<const Real> weights, Matrix<Real> out) {
    const py::ssize_t nodes = out.columns;
    std::fill(out.data, out.data + out.rows * nodes, Real(0));
    for (py::ssize_t k = 0; k < weights.rows; ++k) {
        const Real* w = weights[k];
        for (py::ssize_t i = 0; i < nodes; ++i) {
            const py::ssize_t count = nodes - i - 1;
            Real total = 0, *others = out[k] + i + 1;
#pragma omp simd reduction(+ : total)
            for (py::ssize_t j = 0; j < count; ++j) total += w[j];
            for (py::ssize_t j = 0; j < count; ++j) others[j] += w[j];
            out[k][i] += total;
            w += count;
        }
    }
}

// Of values at nodes (K, N), their sums along edges (K, E).
template <class Real>
void degrees_adjoint(Matrix<const Real> values, Matrix<Real> out) {
    const py::ssize_t nodes = values.columns;
    for (py::ssize_t k = 0; k < values.rows; ++k) {
        Real* sums = out[k];
        for (py::ssize_t i = 0; i < nodes; ++i) {
            const Real here = values[k][i], *others = values[k] + i + 1;
            for (py::ssize_t j = 0; j < nodes - i - 1; ++j) sums[j] = here + others[j];
            sums += nodes - i - 1;
        }
    }
}

template <class Real>
void transpose_into(const Real* from, Matrix<Real> to) {
    for (py::ssize_t i = 0; i < to.rows; ++i)
        for (py::ssize_t j = 0; j < to.columns; ++j) to[i][j] = from[j * to.rows + i];
}

// One of both maps. The energy of a mode is the sum of its squared differences along the edges,
// times their weights: modes are to this map what signals are to a fit.
template <class Real>
struct GraphMap {
    Matrix<const Real> modes;  // (M, N), without rows for degrees

    bool of_modes() const { return modes.rows > 0; }

    void apply(Matrix<const Real> weights, Matrix<Real> out) const {
        if (!of_modes()) return degrees(weights, out);
        std::vector<Real> found(modes.rows * weights.rows);
        energies<Real>(modes, weights, {found.data(), modes.rows, weights.rows});
        transpose_into(found.data(), out);
    }

    void adjoint(Matrix<const Real> values, Matrix<Real> out) const {
        if (!of_modes()) return degrees_adjoint(values, out);
        std::vector<Real> transposed(modes.rows * values.rows);
        transpose_into<Real>(values.data, {transposed.data(), modes.rows, values.rows});
        weighted_distances<Real>(modes, {transposed.data(), modes.rows, values.rows}, out);
    }
};

inline void bind_graph_maps(py::module_& m) {
    in_both_precisions([&](auto real) {
        using Real = decltype(real);
        m.def(
            "degrees",
            [](Array<Real> weights, Array<Real> out) {
                auto w = matrix(weights);
                auto found = matrix_out(out);
                expect(found.rows == w.rows && w.columns == edges_of(found.columns),
                       "out must be (graphs, nodes)");
                degrees<Real>(w, found);
            },
            py::arg("weights"), py::arg("out"));
        m.def(
            "degrees_adjoint",
            [](Array<Real> values, Array<Real> out) {
                auto y = matrix(values);
                auto found = matrix_out(out);
                expect(found.rows == y.rows && found.columns == edges_of(y.columns),
                       "out must be (graphs, edges)");
                degrees_adjoint<Real>(y, found);
            },
            py::arg("values"), py::arg("out"));
    });
}

}  // namespace graphdict
