// Newton's method for log-degree graphs, one after the other;
// graphdict.core.graph_learning.graphs_from_costs has the mathematics.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "cholesky.hpp"

namespace graphdict {

constexpr double ARMIJO = 1e-4;
constexpr double TO_BOUNDARY = 0.95;
constexpr int HALVINGS = 40;
constexpr double LEAST_PIVOT = 1e-15;

// What comes from Python, in a tuple each: the problems of B graphs,
struct GivenProblems {
    Array<double> costs, centre;  // (B, E)
    Array<double> ridge;          // (B,)
    double alpha;
    Array<bool> active;  // (B, N)
    using Members = std::tuple<Array<double>, Array<double>, Array<double>, double, Array<bool>>;
};

// and how well they are to be solved.
struct NewtonLimits {
    double tol;
    py::ssize_t max_iter;
    using Members = std::tuple<double, py::ssize_t>;
};

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
          memory((nodes + 1) * SingleMatrix::padded(nodes + 1)),
          diagonal(nodes),
          degree(nodes),
          gradient(nodes),
          move(nodes),
          trial(nodes),
          reach(nodes),
          hessian{memory.data(), nodes + 1, SingleMatrix::padded(nodes + 1)} {}

    // From and into `y`; returns the number of steps.
    py::ssize_t solve(const GraphProblem& problem, const NewtonLimits& limits, double* y,
                      double* weights) {
        double value = problem.evaluate(y, weights, degree.data(), reach.data());
        for (py::ssize_t step = 0; step < limits.max_iter; ++step) {
            double wrong = 0;
            for (py::ssize_t n = 0; n < nodes; ++n) {
                gradient[n] = problem.active[n] ? degree[n] - problem.alpha / y[n] : 0.0;
                wrong = std::max(wrong, std::abs(gradient[n]) * y[n]);
            }
            if (wrong <= limits.tol * problem.alpha) return step;
            problem.fill_hessian(y, weights, hessian);
            find_move();
            value = search(problem, value, y, weights);
            std::copy(trial.begin(), trial.end(), y);
        }
        return limits.max_iter;
    }

   private:
    const py::ssize_t nodes;
    std::vector<double> memory, diagonal, degree, gradient, move, trial, reach;
    const Matrix<double> hessian;

    // move = -H^{-1} gradient; the gradient is one more row of H, see solve_forward
    void find_move() {
        for (py::ssize_t n = 0; n < nodes; ++n) {
            diagonal[n] = hessian[n][n];
            hessian[n][nodes] = -gradient[n];
        }
        const SingleMatrix factor{hessian.data, hessian.columns};
        // Where rounding leaves no pivot, a small one keeps the step finite; the search shortens
        // it.
        cholesky(factor, nodes + 1, nodes, [this](double pivot, py::ssize_t k) {
            return 1 / std::sqrt(std::max(pivot, LEAST_PIVOT * diagonal[k]));
        });
        for (py::ssize_t n = 0; n < nodes; ++n) move[n] = hessian[n][nodes];
        solve_backward(factor, nodes, move.data());
    }

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

// From and into `dual` (B, N), with weights (B, E); returns the largest number of steps.
inline py::ssize_t newton(const GivenProblems& problems, const NewtonLimits& limits,
                          const Array<double>& dual, const Array<double>& weights) {
    auto c = matrix(problems.costs), v = matrix(problems.centre);
    auto r = vector(problems.ridge);
    auto present = matrix(problems.active);
    auto y = matrix_out(dual), w = matrix_out(weights);
    const double alpha = problems.alpha;
    const py::ssize_t count = c.rows, nodes = y.columns;
    expect(c.columns == edges_of(nodes), "costs do not have the edges of the nodes");
    expect(v.has_shape_of(c) && w.has_shape_of(c), "costs, centre and weights differ in shape");
    expect(y.rows == count && present.has_shape_of(y), "active and dual must be (graphs, nodes)");
    expect(r.size == count, "ridge must have one number for each graph");
    for (py::ssize_t b = 0; b < count; ++b) expect(r[b] > 0, "ridge must be positive");
    expect(alpha > 0, "alpha must be positive");
    WithoutGil without_gil;
    NewtonSolver solver(nodes);
    py::ssize_t maximum = 0;
    for (py::ssize_t b = 0; b < count; ++b) {
        const GraphProblem problem{c[b], v[b], r[b], alpha, present[b], nodes};
        maximum = std::max(maximum, solver.solve(problem, limits, y[b], w[b]));
    }
    return maximum;
}

inline void bind_newton(py::module_& m) {
    m.def("newton", &newton, py::arg("problems"), py::arg("limits"), py::arg("dual"),
          py::arg("weights"));
}

}  // namespace graphdict
