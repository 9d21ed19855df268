// Newton's method for log-degree graphs, one after the other; graphdict.core.graph_learning has the
// mathematics.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "arrays.hpp"

namespace graphdict {

constexpr double ARMIJO = 1e-4;
constexpr double TO_BOUNDARY = 0.95;
constexpr int HALVINGS = 40;
constexpr double LEAST_PIVOT = 1e-15;

// move = -H^{-1} gradient, where H is given by its upper half and overwritten: its rows become
// those of the factor U in H = U' U.
inline void solve_newton(Matrix<double> hessian, const double* gradient, double* __restrict move) {
    const py::ssize_t nodes = hessian.rows;
    for (py::ssize_t j = 0; j < nodes; ++j) {
        double* __restrict row = hessian[j];
        const double diagonal = row[j];
        for (py::ssize_t k = 0; k < j; ++k) {
            const double* above = hessian[k];
            const double factor = above[j];
            if (factor == 0) continue;
            for (py::ssize_t i = j; i < nodes; ++i) row[i] -= above[i] * factor;
        }
        // Where rounding leaves no pivot, a small one keeps the step finite; the search shortens
        // it.
        row[j] = std::sqrt(std::max(row[j], LEAST_PIVOT * diagonal));
        for (py::ssize_t i = j + 1; i < nodes; ++i) row[i] /= row[j];
    }
    for (py::ssize_t i = 0; i < nodes; ++i) move[i] = -gradient[i];
    for (py::ssize_t i = 0; i < nodes; ++i) {
        const double* row = hessian[i];
        const double found = move[i] /= row[i];
        for (py::ssize_t k = i + 1; k < nodes; ++k) move[k] -= row[k] * found;
    }
    for (py::ssize_t i = nodes - 1; i >= 0; --i) {
        const double* row = hessian[i];
        double total = move[i];
#pragma omp simd reduction(- : total)
        for (py::ssize_t k = i + 1; k < nodes; ++k) total -= row[k] * move[k];
        move[i] = total / row[i];
    }
}

// The problem of one graph, in its multipliers y.
struct GraphProblem {
    const double *costs, *centre;
    double ridge, alpha;
    const bool* active;
    py::ssize_t nodes;

    // The dual objective; fills the weights and degrees of y. `reach` is room for one row.
    double evaluate(const double* y, double* weights, double* __restrict degree,
                    double* __restrict reach) const {
        double barrier = 0, squares = 0;
        for (py::ssize_t n = 0; n < nodes; ++n) {
            degree[n] = 0;
            // No edge of a node that is not active has a positive weight.
            reach[n] = active[n] ? y[n] : -std::numeric_limits<double>::infinity();
            if (active[n]) barrier -= alpha * std::log(y[n]);
        }
        py::ssize_t edge = 0;
        for (py::ssize_t i = 0; i < nodes; ++i) {
            const py::ssize_t after = nodes - i - 1;
            const double *cost = costs + edge, *towards = centre + edge, own = reach[i];
            const double* __restrict other = reach + i + 1;
            double* __restrict weight = weights + edge, * __restrict far = degree + i + 1,
                               total = 0;
#pragma omp simd reduction(+ : total, squares)
            for (py::ssize_t j = 0; j < after; ++j) {
                double w = towards[j] + (own + other[j] - cost[j]) / ridge;
                w = w > 0 ? w : 0;
                weight[j] = w;
                far[j] += w;
                total += w;
                squares += w * w;
            }
            degree[i] += total;
            edge += after;
        }
        return 0.5 * ridge * squares + barrier;
    }

    // The upper half of D diag(w > 0) D' / ridge + diag(alpha / y^2).
    void fill_hessian(const double* y, const double* weights, Matrix<double> hessian) const {
        for (py::ssize_t i = 0; i < nodes; ++i) hessian[i][i] = alpha / (y[i] * y[i]);
        for (py::ssize_t i = 0; i < nodes; ++i) {
            double* row = hessian[i];
            for (py::ssize_t j = i + 1; j < nodes; ++j) {
                row[j] = *weights++ > 0 ? 1 / ridge : 0;
                row[i] += row[j];
                hessian[j][j] += row[j];
            }
        }
    }
};

// Solves one problem after the other in the same memory.
class NewtonSolver {
   public:
    explicit NewtonSolver(py::ssize_t nodes)
        : nodes(nodes),
          memory(nodes * nodes),
          degree(nodes),
          gradient(nodes),
          move(nodes),
          trial(nodes),
          reach(nodes),
          hessian{memory.data(), nodes, nodes} {}

    // From and into `y`; returns the number of steps.
    py::ssize_t solve(const GraphProblem& problem, double tol, py::ssize_t max_iter, double* y,
                      double* weights) {
        double value = problem.evaluate(y, weights, degree.data(), reach.data());
        for (py::ssize_t step = 0; step < max_iter; ++step) {
            double wrong = 0;
            for (py::ssize_t n = 0; n < nodes; ++n) {
                gradient[n] = problem.active[n] ? degree[n] - problem.alpha / y[n] : 0.0;
                wrong = std::max(wrong, std::abs(gradient[n]) * y[n]);
            }
            if (wrong <= tol * problem.alpha) return step;
            problem.fill_hessian(y, weights, hessian);
            solve_newton(hessian, gradient.data(), move.data());
            value = search(problem, value, y, weights);
            std::copy(trial.begin(), trial.end(), y);
        }
        return max_iter;
    }

   private:
    const py::ssize_t nodes;
    std::vector<double> memory, degree, gradient, move, trial, reach;
    const Matrix<double> hessian;

    // Along `move`, as far as y stays positive and the objective descends; returns its value.
    double search(const GraphProblem& problem, double start, const double* y, double* weights) {
        double length = 1, promise = 0, value = start;
        for (py::ssize_t n = 0; n < nodes; ++n) {
            promise += gradient[n] * move[n];
            if (move[n] < 0) length = std::min(length, -TO_BOUNDARY * y[n] / move[n]);
        }
        for (int halving = 0; halving < HALVINGS; ++halving, length *= 0.5) {
            for (py::ssize_t n = 0; n < nodes; ++n) trial[n] = y[n] + length * move[n];
            value = problem.evaluate(trial.data(), weights, degree.data(), reach.data());
            if (value <= start + ARMIJO * length * promise + 1e-12 * std::abs(start)) break;
        }
        return value;
    }
};

// Every row of `costs` (B, E), from and into `dual` (B, N), with weights in `weights`; returns the
// largest number of steps.
inline py::ssize_t newton(const Array<double>& costs, const Array<double>& centre,
                          const Array<double>& ridge, double alpha, const Array<bool>& active,
                          Array<double>& dual, double tol, py::ssize_t max_iter,
                          Array<double>& weights) {
    auto c = matrix(costs);
    auto v = matrix(centre);
    auto r = vector(ridge);
    auto present = matrix(active);
    auto y = matrix_out(dual);
    auto w = matrix_out(weights);
    const py::ssize_t count = c.rows, nodes = y.columns;
    expect(c.columns == nodes * (nodes - 1) / 2, "costs do not have the edges of the nodes");
    expect(v.rows == count && v.columns == c.columns && w.rows == count && w.columns == c.columns,
           "costs, centre and weights differ in shape");
    expect(y.rows == count && present.rows == count && present.columns == nodes,
           "active and dual must be (graphs, nodes)");
    expect(r.size == count, "ridge must have one number for each graph");
    Unlocked unlocked;
    NewtonSolver solver(nodes);
    py::ssize_t most = 0;
    for (py::ssize_t b = 0; b < count; ++b) {
        const GraphProblem problem{c[b], v[b], r[b], alpha, present[b], nodes};
        most = std::max(most, solver.solve(problem, tol, max_iter, y[b], w[b]));
    }
    return most;
}

inline void bind_newton(py::module_& m) {
    m.def("newton", &newton, py::arg("costs").noconvert(), py::arg("centre").noconvert(),
          py::arg("ridge").noconvert(), py::arg("alpha"), py::arg("active").noconvert(),
          py::arg("dual").noconvert(), py::arg("tol"), py::arg("max_iter"),
          py::arg("weights").noconvert());
}

}  // namespace graphdict
