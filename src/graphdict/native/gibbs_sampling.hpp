// Gibbs sampling of the weights of atoms: one after the other, each drawn given all others.
//
// A change of one weight by d changes the expected log-likelihood by
//
//     1/2 sum_{c contains the atom} n_c log(1 + a_c d r_c)  -  1/2 d D,
//
// with the activation a_c of the atom and the effective resistances r_c of the edge under each
// pattern's graph, and the inverse of each of these graphs by a matrix of rank one. See
// graphdict.engine.marginal.averaging.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "arrays.hpp"

namespace graphdict {

namespace gibbs_sampling {

using Edge = std::pair<py::ssize_t, py::ssize_t>;

// In the order of edge vectors: (0, 1), (0, 2), ..., (1, 2), ...
inline std::vector<Edge> all_edges(py::ssize_t nodes) {
    std::vector<Edge> found;
    for (py::ssize_t i = 0; i < nodes; ++i)
        for (py::ssize_t j = i + 1; j < nodes; ++j) found.emplace_back(i, j);
    return found;
}

// A pattern that contains the atom whose edge is drawn.
struct AffectedPattern {
    Matrix<double> inverse;
    double usage, activation, resistance;

    // What a change multiplies the determinant by.
    double ratio(double change) const { return 1 + activation * change * resistance; }
};

// An element of a symmetric matrix, of which the part above the diagonal is kept up to date.
inline double element(const Matrix<double>& matrix, py::ssize_t x, py::ssize_t y) {
    return x <= y ? matrix[x][y] : matrix[y][x];
}

// What a change of the weight of an edge does to the inverse of a graph; `column` is scratch.
inline void update_inverse(const AffectedPattern& pattern, const Edge& edge, double change,
                           double* column) {
    const Matrix<double>& inverse = pattern.inverse;
    const auto [i, j] = edge;
    const double factor = pattern.activation * change / pattern.ratio(change);
    for (py::ssize_t x = 0; x < inverse.rows; ++x)
        column[x] = element(inverse, i, x) - element(inverse, j, x);
    // Rows begin at whole registers: the few further elements cost less than a start at each x.
    for (py::ssize_t x = 0; x < inverse.rows; ++x) {
        const double scaled = factor * column[x];
        double* row = inverse[x];
#pragma omp simd
        for (py::ssize_t y = x - x % 4; y < inverse.columns; ++y) row[y] -= scaled * column[y];
    }
}

// The logarithm, up to a constant, of how probable a change of a weight is.
// A graph that is all but singular, also one that no sample uses, is not possible: its inverse
// could not be followed.
inline double log_density(const std::vector<AffectedPattern>& patterns, double change, double prior,
                          double distance) {
    constexpr double singular = 1e-10;
    double fit = -change * distance;
    if (change != 0)
        for (const AffectedPattern& pattern : patterns) {
            const double ratio = pattern.ratio(change);
            if (!(ratio > singular)) return -std::numeric_limits<double>::infinity();
            fit += pattern.usage * std::log(ratio);
        }
    return prior + fit / 2;
}

// Probabilities in place of their logarithms.
inline void normalise(std::vector<double>& density) {
    const double largest = *std::max_element(density.begin(), density.end());
    double total = 0.0;
    for (double& value : density) {
        value = std::exp(value - largest);
        total += value;
    }
    for (double& value : density) value /= total;
}

// Where the sum of probabilities passes a number between zero and one.
inline std::size_t level_at(const std::vector<double>& density, double uniform) {
    std::size_t level = 0;
    double passed = density[0];
    while (passed < uniform && level + 1 < density.size()) passed += density[++level];
    return level;
}

// Everything that a draw reads and changes, all shapes checked.
struct GibbsSampler {
    Matrix<double> atoms;
    Cube<double> inverses;
    Matrix<const double> patterns;
    Vector<const double> usage;
    Matrix<const double> distances;
    Vector<const double> values, prior;
    Matrix<double> means, edges;
    Vector<double> mass;
    const std::vector<Edge> edge_nodes = all_edges(inverses.rows);
    // Scratch.
    std::vector<double> density = std::vector<double>(values.size);
    std::vector<double> column = std::vector<double>(inverses.rows);
    std::vector<AffectedPattern> affected = {};

    void check() const {
        expect(
            distances.has_shape_of(atoms) && means.has_shape_of(atoms) && edges.has_shape_of(atoms),
            "distances, means and edges must have the shape of atoms");
        expect(inverses.rows == inverses.columns, "inverses must be square matrices");
        expect(static_cast<py::ssize_t>(edge_nodes.size()) == atoms.columns,
               "inverses and atoms differ in their number of nodes");
        expect(patterns.rows == inverses.count && patterns.columns == atoms.rows,
               "patterns must have a row for each of inverses and a column for each of atoms");
        expect(usage.size == inverses.count, "usage must be one number for each pattern");
        expect(values.size >= 1 && prior.size == values.size && mass.size == values.size,
               "values, prior and mass must have the same size, at least 1");
    }

    void find_affected(py::ssize_t atom, const Edge& edge) {
        const auto [i, j] = edge;
        affected.clear();
        for (py::ssize_t c = 0; c < inverses.count; ++c) {
            const double activation = patterns[c][atom];
            if (activation == 0) continue;
            const Matrix<double> m = inverses[c];
            affected.push_back({m, usage[c], activation, m[i][i] + m[j][j] - 2 * m[i][j]});
        }
    }

    void draw(py::ssize_t atom, py::ssize_t edge, double uniform) {
        double& weight = atoms[atom][edge];
        find_affected(atom, edge_nodes[edge]);
        for (py::ssize_t l = 0; l < values.size; ++l)
            density[l] = log_density(affected, values[l] - weight, prior[l], distances[atom][edge]);
        if (!std::isfinite(*std::max_element(density.begin(), density.end()))) {
            means[atom][edge] = weight;  // no level is possible: it stays as it is
            edges[atom][edge] = weight > values[0] ? 1.0 : 0.0;
            return;
        }
        normalise(density);
        double mean = 0.0;
        for (py::ssize_t l = 0; l < values.size; ++l) {
            mass[l] += density[l];
            mean += density[l] * values[l];
        }
        means[atom][edge] = mean;
        edges[atom][edge] = 1 - density[0];
        const double drawn = values[level_at(density, uniform)], change = drawn - weight;
        if (change == 0) return;
        weight = drawn;
        for (const AffectedPattern& pattern : affected)
            update_inverse(pattern, edge_nodes[edge], change, column.data());
    }
};

}  // namespace gibbs_sampling

// Draws those weights of `atoms` (K, E) that the places list among all of them, each by a uniform
// number in [0, 1]; `inverses` (C, N, N) of the patterns' graphs follow above their diagonals.
//
//     fit     activations (C, K), the expected number of samples (C,) of each, distances (K, E)
//     levels  the values that weights may have, and their log-probabilities
//     order   places (D,), uniforms (D,)
//     found   (K, E) the expectation of each weight drawn, and the probability that it is not at
//             the lowest level; to the last, the expected number of weights at each level is added
inline void draw_weights(const Array<double>& atoms, const Array<double>& inverses,
                         const std::tuple<Array<double>, Array<double>, Array<double>>& fit,
                         const std::pair<Array<double>, Array<double>>& levels,
                         const std::pair<Array<py::ssize_t>, Array<double>>& order,
                         const std::tuple<Array<double>, Array<double>, Array<double>>& found) {
    const auto& [patterns, usage, distances] = fit;
    const auto& [means, edges, mass] = found;
    gibbs_sampling::GibbsSampler sampler{
        matrix_out(atoms), cube_out(inverses),   matrix(patterns),      vector(usage),
        matrix(distances), vector(levels.first), vector(levels.second), matrix_out(means),
        matrix_out(edges), vector_out(mass)};
    sampler.check();
    auto places = vector(order.first);
    auto uniforms = vector(order.second);
    const py::ssize_t size = sampler.atoms.columns, total = sampler.atoms.rows * size;
    expect(places.size == uniforms.size, "order: places and uniforms differ in size");
    WithoutGil without_gil;
    for (py::ssize_t i = 0; i < places.size; ++i) {
        expect(places[i] >= 0 && places[i] < total, "order must list weights of atoms");
        sampler.draw(places[i] / size, places[i] % size, uniforms[i]);
    }
}

inline void bind_gibbs_sampling(py::module_& m) {
    m.def("draw_weights", &draw_weights, py::arg("atoms"), py::arg("inverses"), py::arg("fit"),
          py::arg("levels"), py::arg("order"), py::arg("found"));
}

}  // namespace graphdict
