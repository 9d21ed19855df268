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

// What a pattern of some covariance (N, N) says of a sample.
class Sample {
   public:
    explicit Sample(const Matrix<const double>& covariance)
        : covariance_(covariance),
          nodes_(covariance.rows),
          stride_(SingleMatrix::padded(nodes_) + SingleMatrix::WIDTH),
          places_(nodes_ + 1),
          rows_(nodes_ * stride_),
          to_origin_(nodes_),
          white_(stride_) {}

    Sample(const Sample&) = delete;  // it points into itself

    // Another sample. Returned is whether other nodes are missing than in the one before.
    bool take(const double* row) {
        const bool again = row_ != nullptr && same_gaps(row, row_, nodes_);
        row_ = row;
        if (!again) split();
        return !again;
    }

    // What `log_likelihood` needs, and no more.
    void factorise() {
        size_ = observed_;
        fill_rows();
        eliminate_observed();
        // The diagonal of the factor is kept as its inverse. One logarithm is taken of several.
        double product = 1.0;
        log_determinant_ = 0.0;
        for (py::ssize_t k = 0; k < observed_; ++k) {
            product *= row(k)[k];
            if (product > 1e-100 && product < 1e100 && k + 1 < observed_) continue;
            log_determinant_ -= 2 * std::log(product);
            product = 1.0;
        }
    }

    // Of what was observed, as a density on signals of these nodes that sum to zero.
    double log_likelihood() {
        whiten();
        double energy = 0.0;
#pragma omp simd reduction(+ : energy)
        for (py::ssize_t k = 0; k < observed_; ++k) energy += white_[k] * white_[k];
        const auto count = static_cast<double>(observed_);
        return (std::log(count + 1) - count * LOG_2PI - log_determinant_ - energy) / 2;
    }

    // What all that follows needs.
    void condition() {
        size_ = all_;
        if (size_ == observed_) return;
        fill_rows();
        eliminate_observed();
    }

    // The expected values (N,), from the origin.
    void expected(double* mean) {
        mean[origin_] = 0.0;
        for (py::ssize_t i = 0; i < observed_; ++i) mean[order_[i]] = from_origin(i);
        if (size_ == observed_) return;
        whiten();
        for (py::ssize_t a = observed_; a < size_; ++a) mean[order_[a]] = -white_[a];
    }

    // Adds the covariance of what is missing to a matrix (N, N).
    void add_spread(double share, const Matrix<double>& moment) const {
        for (py::ssize_t a = observed_; a < size_; ++a) {
            moment[order_[a]][order_[a]] += share * row(a)[a];
            for (py::ssize_t b = a + 1; b < size_; ++b) {
                moment[order_[a]][order_[b]] += share * row(a)[b];
                moment[order_[b]][order_[a]] += share * row(a)[b];
            }
        }
    }

    // Turns the covariance of what is missing into its Cholesky factor, for `fill`.
    void factorise_missing() {
        // Where there is no pivot, the column is zero.
        cholesky(missing(), size_ - observed_, size_ - observed_,
                 [](double pivot, py::ssize_t) { return pivot > 0 ? 1 / std::sqrt(pivot) : 0.0; });
    }

    // Draws what is missing by normal `noise` (N,) into `filled` (N,), which holds the sample.
    void fill(const double* noise, double* filled) {
        if (size_ == observed_) return;
        whiten();
        const double first = row_[origin_], at_origin = std::isnan(first) ? 0.0 : first;
        for (py::ssize_t a = observed_; a < size_; ++a) {
            const double inverse = row(a)[a], normal = noise[order_[a]];
            if (inverse > 0) white_[a] -= normal / inverse;
            subtract_column(missing(), size_ - observed_, a - observed_, normal,
                            white_.data() + observed_);
        }
        for (py::ssize_t a = observed_; a < size_; ++a) filled[order_[a]] = at_origin - white_[a];
    }

   private:
    Matrix<const double> covariance_;
    py::ssize_t nodes_, stride_;
    const double* row_ = nullptr;
    // Nodes observed, the origin first, and then those missing; `order_` begins behind the origin.
    // Where none is observed, the origin is the first of those missing, and both begin with it.
    std::vector<py::ssize_t> places_;
    const py::ssize_t* order_ = nullptr;
    py::ssize_t origin_ = 0, observed_ = 0, all_ = 0;
    py::ssize_t size_ = 0;  // how many of `order_` are dealt with
    std::vector<double> rows_, to_origin_, white_;
    double log_determinant_ = 0.0;

    double* row(py::ssize_t i) { return rows_.data() + i * stride_; }
    const double* row(py::ssize_t i) const { return rows_.data() + i * stride_; }
    double from_origin(py::ssize_t i) const { return row_[order_[i]] - row_[origin_]; }

    SingleMatrix all() { return {rows_.data(), stride_}; }
    SingleMatrix missing() { return {row(observed_) + observed_, stride_}; }

    // Without branches: where gaps are cannot be foreseen.
    void split() {
        py::ssize_t place = 0;
        for (py::ssize_t i = 0; i < nodes_; ++i) {
            places_[place] = i;
            place += !std::isnan(row_[i]);
        }
        const py::ssize_t origins = place > 0;
        observed_ = place - origins;
        for (py::ssize_t i = 0; i < nodes_; ++i) {
            places_[place] = i;
            place += std::isnan(row_[i]);
        }
        origin_ = places_[0];
        order_ = places_.data() + origins;
        all_ = nodes_ - origins;
    }

    // D, above its diagonal.
    void fill_rows() {
        if (size_ == 0) return;
        const double variance = covariance_[origin_][origin_];
        for (py::ssize_t i = 0; i < size_; ++i)
            to_origin_[i] = covariance_[order_[i]][origin_] - variance / 2;
        for (py::ssize_t i = 0; i < size_; ++i) {
            const double* given = covariance_[order_[i]];
            double* to = row(i);
            for (py::ssize_t j = i; j < size_; ++j)
                to[j] = given[order_[j]] - to_origin_[i] - to_origin_[j];
            std::fill(to + size_, to + stride_, 0.0);
        }
    }

    // Cholesky pivots up to the last observed node. Rounding errors must not make D_oo singular.
    void eliminate_observed() {
        cholesky(all(), size_, observed_, [this](double pivot, py::ssize_t k) {
            const double floor = 1e-14 * std::max(covariance_[order_[k]][order_[k]], 1e-300);
            return 1 / std::sqrt(std::max(pivot, floor));
        });
    }

    // factor^-1 (x_o, 0): of what is missing this leaves the expected values with the other sign.
    void whiten() {
        std::fill(white_.begin(), white_.end(), 0.0);
        for (py::ssize_t i = 0; i < observed_; ++i) white_[i] = from_origin(i);
        solve_forward(all(), size_, observed_, white_.data());
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
        missing_values::Sample sample(graphs[c]);
        for (py::ssize_t t = 0; t < rows.rows; ++t) {
            if (sample.take(rows[t])) sample.factorise();
            found[t][c] = sample.log_likelihood();
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
        missing_values::Sample sample(graphs[c]);
        for (py::ssize_t t = 0; t < rows.rows; ++t) {
            if (shares[t][c] < missing_values::NEGLIGIBLE) continue;
            if (sample.take(rows[t])) sample.condition();
            sample.expected(mean.data());
            missing_values::add_square(mean.data(), shares[t][c], moments[c]);
            sample.add_spread(shares[t][c], moments[c]);
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
        missing_values::Sample sample(graphs[c]);
        for (py::ssize_t t = 0; t < rows.rows; ++t) {
            if (which[t] != c) continue;
            if (sample.take(rows[t])) {
                sample.condition();
                sample.factorise_missing();
            }
            sample.fill(normal[t], filled[t]);
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
