// Samples with gaps (NaN): what was observed, and what is missing given that, under each pattern.
//
// Signals are known up to a constant, so everything is measured from one observed node ("origin")
// of each sample. With D the covariance of these differences under a pattern's graph, observed
// nodes o and missing nodes m,
//
//     x_o - x_origin ~ N(0, D_oo),     x_m | x_o ~ N(D_mo D_oo^-1 x_o, D_mm - D_mo D_oo^-1 D_om).
//
// All of this is one elimination: with the observed nodes first, Cholesky pivots of D up to the
// last of them leave the factor of D_oo, beside it what gives the means of missing nodes, and below
// these the covariance of missing nodes. It depends on which nodes are missing, not on values: one
// pattern is done after the other, and its matrices are kept as long as successive samples miss the
// same nodes.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "cholesky.hpp"

namespace graphdict {

namespace missing_values {

constexpr double LOG_2PI = 1.8378770664093453;
constexpr double NEGLIGIBLE = 1e-8;  // probability of a pattern that is left out

inline bool same_gaps(const double* row, const double* other, py::ssize_t nodes) {
    for (py::ssize_t i = 0; i < nodes; ++i)
        if (std::isnan(row[i]) != std::isnan(other[i])) return false;
    return true;
}

// A sample under the pattern of some covariance (N, N): what was observed, and what is missing
// given that.
class ConditionalGaussian {
   public:
    explicit ConditionalGaussian(const Matrix<const double>& covariance)
        : covariance(covariance),
          nodes(covariance.rows),
          stride(SingleMatrix::padded(nodes) + SingleMatrix::WIDTH),
          places(nodes + 1),
          rows(nodes * stride),
          to_origin(nodes),
          white(stride) {}

    ConditionalGaussian(const ConditionalGaussian&) = delete;  // it points into itself

    // Another sample. Returned is whether other nodes are missing than in the one before.
    bool take(const double* values) {
        const bool again = sample != nullptr && same_gaps(values, sample, nodes);
        sample = values;
        if (!again) split();
        return !again;
    }

    // What `log_likelihood` needs, and no more.
    void factorise() {
        size = observed;
        fill_rows();
        eliminate_observed();
        // The diagonal of the factor is kept as its inverse. One logarithm is taken of several.
        double product = 1.0;
        log_determinant = 0.0;
        for (py::ssize_t k = 0; k < observed; ++k) {
            product *= row(k)[k];
            if (product > 1e-100 && product < 1e100 && k + 1 < observed) continue;
            log_determinant -= 2 * std::log(product);
            product = 1.0;
        }
    }

    // Of what was observed, as a density on signals of these nodes that sum to zero.
    double log_likelihood() {
        whiten();
        double energy = 0.0;
#pragma omp simd reduction(+ : energy)
        for (py::ssize_t k = 0; k < observed; ++k) energy += white[k] * white[k];
        const auto count = static_cast<double>(observed);
        return (std::log(count + 1) - count * LOG_2PI - log_determinant - energy) / 2;
    }

    // What all that follows needs.
    void condition() {
        size = all;
        if (size == observed) return;
        fill_rows();
        eliminate_observed();
    }

    // The expected values (N,), from the origin.
    void expected(double* mean) {
        mean[origin] = 0.0;
        for (py::ssize_t i = 0; i < observed; ++i) mean[order[i]] = from_origin(i);
        if (size == observed) return;
        whiten();
        for (py::ssize_t a = observed; a < size; ++a) mean[order[a]] = -white[a];
    }

    // Adds the covariance of what is missing to a matrix (N, N).
    void add_spread(double share, const Matrix<double>& moment) const {
        for (py::ssize_t a = observed; a < size; ++a) {
            moment[order[a]][order[a]] += share * row(a)[a];
            for (py::ssize_t b = a + 1; b < size; ++b) {
                moment[order[a]][order[b]] += share * row(a)[b];
                moment[order[b]][order[a]] += share * row(a)[b];
            }
        }
    }

    // Turns the covariance of what is missing into its Cholesky factor, for `fill`.
    void factorise_missing() {
        // Where there is no pivot, the column is zero.
        cholesky(missing(), size - observed, size - observed,
                 [](double pivot, py::ssize_t) { return pivot > 0 ? 1 / std::sqrt(pivot) : 0.0; });
    }

    // Draws what is missing by normal `noise` (N,) into `filled` (N,), which holds the sample.
    void fill(const double* noise, double* filled) {
        if (size == observed) return;
        whiten();
        const double first = sample[origin], at_origin = std::isnan(first) ? 0.0 : first;
        for (py::ssize_t a = observed; a < size; ++a) {
            const double inverse = row(a)[a], normal = noise[order[a]];
            if (inverse > 0) white[a] -= normal / inverse;
            subtract_column(missing(), size - observed, a - observed, normal,
                            white.data() + observed);
        }
        for (py::ssize_t a = observed; a < size; ++a) filled[order[a]] = at_origin - white[a];
    }

   private:
    Matrix<const double> covariance;
    py::ssize_t nodes, stride;
    const double* sample = nullptr;
    // Nodes observed, the origin first, and then those missing; `order` begins behind the origin.
    // Where none is observed, the origin is the first of those missing, and both begin with it.
    std::vector<py::ssize_t> places;
    const py::ssize_t* order = nullptr;
    py::ssize_t origin = 0, observed = 0, all = 0;
    py::ssize_t size = 0;  // how many of `order` are dealt with
    std::vector<double> rows, to_origin, white;
    double log_determinant = 0.0;

    double* row(py::ssize_t i) { return rows.data() + i * stride; }
    const double* row(py::ssize_t i) const { return rows.data() + i * stride; }
    double from_origin(py::ssize_t i) const { return sample[order[i]] - sample[origin]; }

    SingleMatrix factor() { return {rows.data(), stride}; }
    SingleMatrix missing() { return {row(observed) + observed, stride}; }

    // Without branches: where gaps are cannot be foreseen.
    void split() {
        py::ssize_t place = 0;
        for (py::ssize_t i = 0; i < nodes; ++i) {
            places[place] = i;
            place += !std::isnan(sample[i]);
        }
        const py::ssize_t origins = place > 0;
        observed = place - origins;
        for (py::ssize_t i = 0; i < nodes; ++i) {
            places[place] = i;
            place += std::isnan(sample[i]);
        }
        origin = places[0];
        order = places.data() + origins;
        all = nodes - origins;
    }

    // D, above its diagonal.
    void fill_rows() {
        if (size == 0) return;
        const double variance = covariance[origin][origin];
        for (py::ssize_t i = 0; i < size; ++i)
            to_origin[i] = covariance[order[i]][origin] - variance / 2;
        for (py::ssize_t i = 0; i < size; ++i) {
            const double* given = covariance[order[i]];
            double* to = row(i);
            for (py::ssize_t j = i; j < size; ++j)
                to[j] = given[order[j]] - to_origin[i] - to_origin[j];
            std::fill(to + size, to + stride, 0.0);
        }
    }

    // Cholesky pivots up to the last observed node. Rounding errors must not make D_oo singular.
    void eliminate_observed() {
        cholesky(factor(), size, observed, [this](double pivot, py::ssize_t k) {
            const double floor = 1e-14 * std::max(covariance[order[k]][order[k]], 1e-300);
            return 1 / std::sqrt(std::max(pivot, floor));
        });
    }

    // factor^-1 (x_o, 0): of what is missing this leaves the expected values with the other sign.
    void whiten() {
        std::fill(white.begin(), white.end(), 0.0);
        for (py::ssize_t i = 0; i < observed; ++i) white[i] = from_origin(i);
        solve_forward(factor(), size, observed, white.data());
    }
};

inline void expect_nodes(const Matrix<const double>& signals,
                         const Cube<const double>& covariances) {
    expect(covariances.rows == signals.columns && covariances.columns == signals.columns,
           "covariances must be square matrices with a row for each column of signals");
}

// moment += share * mean mean'
inline void add_square(const double* mean, double share, const Matrix<double>& moment) {
    for (py::ssize_t i = 0; i < moment.rows; ++i) {
        const double scaled = share * mean[i];
        double* row = moment[i];
#pragma omp simd
        for (py::ssize_t j = 0; j < moment.columns; ++j) row[j] += scaled * mean[j];
    }
}

}  // namespace missing_values

// log p(x_o | c) (T, C): zero where fewer than two nodes were observed.
inline void observed_log_likelihoods(const Array<double>& signals, const Array<double>& covariances,
                                     const Array<double>& out) {
    auto rows = matrix(signals);
    auto graphs = cube(covariances);
    auto found = matrix_out(out);
    missing_values::expect_nodes(rows, graphs);
    expect(found.rows == rows.rows && found.columns == graphs.count,
           "out must have a row for each sample and a column for each pattern");
    WithoutGil without_gil;
    for (py::ssize_t c = 0; c < graphs.count; ++c) {
        missing_values::ConditionalGaussian pattern(graphs[c]);
        for (py::ssize_t t = 0; t < rows.rows; ++t) {
            if (pattern.take(rows[t])) pattern.factorise();
            found[t][c] = pattern.log_likelihood();
        }
    }
}

// sum_t posterior_tc E[x x' | x_o, c] (C, N, N), each sample measured from its origin.
inline void conditional_moments(const Array<double>& signals, const Array<double>& covariances,
                                const Array<double>& posterior, const Array<double>& out) {
    auto rows = matrix(signals);
    auto graphs = cube(covariances);
    auto shares = matrix(posterior);
    auto moments = cube_out(out);
    missing_values::expect_nodes(rows, graphs);
    expect(shares.rows == rows.rows && shares.columns == graphs.count,
           "posterior must have a row for each sample and a column for each pattern");
    expect(moments.has_shape_of(graphs), "out and covariances differ in shape");
    WithoutGil without_gil;
    std::vector<double> mean(rows.columns);
    std::fill_n(moments.data, moments.size(), 0.0);
    if (rows.columns == 0) return;
    for (py::ssize_t c = 0; c < graphs.count; ++c) {
        missing_values::ConditionalGaussian pattern(graphs[c]);
        for (py::ssize_t t = 0; t < rows.rows; ++t) {
            if (shares[t][c] < missing_values::NEGLIGIBLE) continue;
            if (pattern.take(rows[t])) pattern.condition();
            pattern.expected(mean.data());
            missing_values::add_square(mean.data(), shares[t][c], moments[c]);
            pattern.add_spread(shares[t][c], moments[c]);
        }
    }
}

// Signals whose gaps are drawn given the rest and the index (T,) of a pattern, by normal `noise`.
inline void draw_missing(const Array<double>& signals, const Array<double>& covariances,
                         const Array<py::ssize_t>& patterns, const Array<double>& noise,
                         const Array<double>& out) {
    auto rows = matrix(signals), normal = matrix(noise);
    auto graphs = cube(covariances);
    auto which = vector(patterns);
    auto filled = matrix_out(out);
    missing_values::expect_nodes(rows, graphs);
    expect(which.size == rows.rows, "patterns must be one for each sample");
    expect(normal.has_shape_of(rows) && filled.has_shape_of(rows),
           "noise and out must have the shape of signals");
    expect(std::all_of(which.data, which.data + which.size,
                       [&](py::ssize_t c) { return c >= 0 && c < graphs.count; }),
           "patterns must be indices of covariances");
    WithoutGil without_gil;
    std::copy_n(rows.data, rows.size(), filled.data);
    for (py::ssize_t c = 0; c < graphs.count; ++c) {
        missing_values::ConditionalGaussian pattern(graphs[c]);
        for (py::ssize_t t = 0; t < rows.rows; ++t) {
            if (which[t] != c) continue;
            if (pattern.take(rows[t])) {
                pattern.condition();
                pattern.factorise_missing();
            }
            pattern.fill(normal[t], filled[t]);
        }
    }
}

inline void bind_missing_values(py::module_& m) {
    m.def("observed_log_likelihoods", &observed_log_likelihoods, py::arg("signals"),
          py::arg("covariances"), py::arg("out"));
    m.def("conditional_moments", &conditional_moments, py::arg("signals"), py::arg("covariances"),
          py::arg("posterior"), py::arg("out"));
    m.def("draw_missing", &draw_missing, py::arg("signals"), py::arg("covariances"),
          py::arg("patterns"), py::arg("noise"), py::arg("out"));
}

}  // namespace graphdict
