// Weights of atoms drawn one after the other, each from its distribution given all others.
//
// A change of one weight by d changes the expected log-likelihood by
//
//     1/2 sum_{c contains the atom} n_c log(1 + d r_c)  -  1/2 d D,
//
// with the effective resistances r_c of the edge under each pattern's graph, and the inverse of
// each of these graphs by a matrix of rank one. See graphdict/marginal/averaging.py.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "arrays.hpp"

namespace graphdict {

namespace weight_draws {

using Edge = std::pair<py::ssize_t, py::ssize_t>;

// In the order of edge vectors: (0, 1), (0, 2), ..., (1, 2), ...
inline std::vector<Edge> all_edges(py::ssize_t nodes) {
    std::vector<Edge> found;
    for (py::ssize_t i = 0; i < nodes; ++i)
        for (py::ssize_t j = i + 1; j < nodes; ++j) found.emplace_back(i, j);
    return found;
}

// A pattern that contains the atom whose edge is drawn.
struct Concerned {
    Matrix<double> inverse;
    double usage, resistance;

    // What a change multiplies the determinant by. Rounding errors must not make it singular.
    double ratio(double change) const { return std::max(1 + change * resistance, 1e-12); }
};

// An element of a symmetric matrix, of which the part above the diagonal is kept up to date.
inline double element(const Matrix<double>& matrix, py::ssize_t x, py::ssize_t y) {
    return x <= y ? matrix[x][y] : matrix[y][x];
}

// What a change of the weight of an edge does to the inverse of a graph; `column` is scratch.
inline void change_inverse(const Concerned& pattern, const Edge& edge, double change,
                           double* column) {
    const Matrix<double>& inverse = pattern.inverse;
    const auto [i, j] = edge;
    const double factor = change / pattern.ratio(change);
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
inline double log_density(const std::vector<Concerned>& patterns, double change, double prior,
                          double distance) {
    double fit = -change * distance;
    if (change != 0)
        for (const Concerned& pattern : patterns)
            fit += pattern.usage * std::log(pattern.ratio(change));
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
inline std::size_t level_at(const std::vector<double>& density, double chance) {
    std::size_t level = 0;
    double passed = density[0];
    while (passed < chance && level + 1 < density.size()) passed += density[++level];
    return level;
}

// Everything that a draw reads and changes, all shapes checked.
struct Draws {
    Matrix<double> atoms;
    Cube<double> inverses;
    Matrix<const bool> patterns;
    Vector<const double> usage;
    Matrix<const double> distances;
    Vector<const double> values, prior;
    Matrix<double> means, edges;
    Vector<double> mass;
    const std::vector<Edge> ends = all_edges(inverses.rows);
    // Scratch.
    std::vector<double> density = std::vector<double>(values.size);
    std::vector<double> column = std::vector<double>(inverses.rows);
    std::vector<Concerned> concerned = {};

    void check() const {
        auto as_atoms = [&](const auto& other) {
            return other.rows == atoms.rows && other.columns == atoms.columns;
        };
        expect(as_atoms(distances) && as_atoms(means) && as_atoms(edges),
               "distances, means and edges must have the shape of atoms");
        expect(inverses.rows == inverses.columns, "inverses must be square matrices");
        expect(static_cast<py::ssize_t>(ends.size()) == atoms.columns,
               "inverses and atoms differ in their number of nodes");
        expect(patterns.rows == inverses.count && patterns.columns == atoms.rows,
               "patterns must have a row for each of inverses and a column for each of atoms");
        expect(usage.size == inverses.count, "usage must be one number for each pattern");
        expect(values.size >= 1 && prior.size == values.size && mass.size == values.size,
               "values, prior and mass must have the same size, at least 1");
    }

    void find_concerned(py::ssize_t atom, const Edge& edge) {
        const auto [i, j] = edge;
        concerned.clear();
        for (py::ssize_t c = 0; c < inverses.count; ++c) {
            if (!patterns[c][atom]) continue;
            const Matrix<double> m = inverses[c];
            concerned.push_back({m, usage[c], m[i][i] + m[j][j] - 2 * m[i][j]});
        }
    }

    void draw(py::ssize_t atom, py::ssize_t edge, double chance) {
        double& weight = atoms[atom][edge];
        find_concerned(atom, ends[edge]);
        for (py::ssize_t l = 0; l < values.size; ++l)
            density[l] =
                log_density(concerned, values[l] - weight, prior[l], distances[atom][edge]);
        normalise(density);
        double mean = 0.0;
        for (py::ssize_t l = 0; l < values.size; ++l) {
            mass[l] += density[l];
            mean += density[l] * values[l];
        }
        means[atom][edge] = mean;
        edges[atom][edge] = 1 - density[0];
        const double drawn = values[level_at(density, chance)], change = drawn - weight;
        if (change == 0) return;
        weight = drawn;
        for (const Concerned& pattern : concerned)
            change_inverse(pattern, ends[edge], change, column.data());
    }
};

}  // namespace weight_draws

// Draws those weights of `atoms` (K, E) that `order` lists among all of them, by numbers `chance`
// between zero and one, from levels `values` with log-probabilities `prior`; `inverses` (C, N, N)
// of the patterns' graphs follow above their diagonals. Of each weight drawn, `means` and `edges`
// (K, E) become the expectation and the probability that its level is not the lowest; `mass` grows
// by the expected number of weights at each level.
inline void draw_weights(Array<double>& atoms, Array<double>& inverses, const Array<bool>& patterns,
                         const Array<double>& usage, const Array<double>& distances,
                         const Array<double>& values, const Array<double>& prior,
                         const Array<py::ssize_t>& order, const Array<double>& chance,
                         Array<double>& means, Array<double>& edges, Array<double>& mass) {
    weight_draws::Draws draws{matrix_out(atoms), cube_out(inverses), matrix(patterns),
                              vector(usage),     matrix(distances),  vector(values),
                              vector(prior),     matrix_out(means),  matrix_out(edges),
                              vector_out(mass)};
    draws.check();
    auto turns = vector(order);
    auto chances = vector(chance);
    const py::ssize_t size = draws.atoms.columns, total = draws.atoms.rows * size;
    expect(turns.size == chances.size, "order and chance differ in size");
    Unlocked unlocked;
    for (py::ssize_t turn = 0; turn < turns.size; ++turn) {
        expect(turns[turn] >= 0 && turns[turn] < total, "order must list weights of atoms");
        draws.draw(turns[turn] / size, turns[turn] % size, chances[turn]);
    }
}

inline void bind_weight_draws(py::module_& m) {
    auto given = [](const char* name) { return py::arg(name).noconvert(); };
    m.def("draw_weights", &draw_weights, given("atoms"), given("inverses"), given("patterns"),
          given("usage"), given("distances"), given("values"), given("prior"), given("order"),
          given("chance"), given("means"), given("edges"), given("mass"));
}

}  // namespace graphdict
