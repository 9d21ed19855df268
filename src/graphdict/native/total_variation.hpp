// The proximal operator of total variation in time, exactly and in linear time.
//
//     argmin_u  |u - v|^2 / 2 + penalty * sum_t |u_{t+1} - u_t|
//
// by dynamic programming (Johnson 2013): the derivative of the cost of everything up to sample t,
// as a function of u_t, is piecewise linear and increasing. Clipping it to [-penalty, penalty] and
// adding u - v_t moves to the next sample; only its knots are kept. A backward pass then clips each
// value into the interval that its successor allows.
#pragma once

#include <algorithm>
#include <vector>

#include "arrays.hpp"

namespace graphdict {

// Passing a knot at `position` adds slope * u + shift to the derivative.
struct Knot {
    double position, slope, shift;
};

inline void total_variation_of_one(const double* v, py::ssize_t n, double penalty, double* out) {
    std::vector<Knot> knots(2 * n);
    std::vector<double> lower(n - 1), upper(n - 1);
    py::ssize_t first = n - 1, last = n;
    // After sample 0 the derivative is u - v[0]: it meets -penalty and +penalty at once.
    lower[0] = v[0] - penalty;
    upper[0] = v[0] + penalty;
    knots[first] = {lower[0], 1.0, -v[0] + penalty};
    knots[last] = {upper[0], -1.0, v[0] + penalty};
    for (py::ssize_t t = 1; t < n - 1; ++t) {
        // From the left, to where the derivative passes -penalty.
        double a = 1.0, b = -penalty - v[t];
        py::ssize_t low = first;
        for (; low <= last && a * knots[low].position + b <= -penalty; ++low) {
            a += knots[low].slope;
            b += knots[low].shift;
        }
        lower[t] = (-penalty - b) / a;
        // From the right, to where it passes +penalty.
        double c = 1.0, d = penalty - v[t];
        py::ssize_t high = last;
        for (; high >= low && c * knots[high].position + d >= penalty; --high) {
            c -= knots[high].slope;
            d -= knots[high].shift;
        }
        upper[t] = (penalty - d) / c;
        first = low - 1;
        last = high + 1;
        knots[first] = {lower[t], a, b + penalty};
        knots[last] = {upper[t], -c, -d + penalty};
    }
    // The last sample pays nothing further: its derivative is zero at the optimum.
    double a = 1.0, b = -penalty - v[n - 1];
    for (py::ssize_t low = first; low <= last && a * knots[low].position + b <= 0.0; ++low) {
        a += knots[low].slope;
        b += knots[low].shift;
    }
    out[n - 1] = -b / a;
    for (py::ssize_t t = n - 2; t >= 0; --t)
        out[t] = std::min(std::max(out[t + 1], lower[t]), upper[t]);
}

// Each row of `signals` by itself.
inline void total_variation_prox(const Array<double>& signals, double penalty,
                                 const Array<double>& out) {
    auto from = matrix(signals);
    auto to = matrix_out(out);
    expect(to.has_shape_of(from), "signals and out differ in shape");
    expect(from.columns >= 2, "signals must have at least two samples");
    expect(penalty >= 0, "penalty must not be negative");
    WithoutGil without_gil;
    for (py::ssize_t k = 0; k < from.rows; ++k)
        total_variation_of_one(from[k], from.columns, penalty, to[k]);
}

inline void bind_total_variation(py::module_& m) {
    m.def("total_variation_prox", &total_variation_prox, py::arg("signals"), py::arg("penalty"),
          py::arg("out"));
}

}  // namespace graphdict
