// The dual step of -log det_+ for many small matrices; graphdict.native.proxes has the mathematics.
#pragma once

#include <cmath>
#include <limits>

#include "symmetric_matrices.hpp"

namespace graphdict {

// A polynomial 1 + c_1 e + c_2 e^2 + ... for (1 + e)^{-1/2} where |e| <= near: equal to it at the
// zeros of Chebyshev's polynomial there, so that the largest relative error is small.
struct Series {
    int degree;
    double near, c[7];
};

// A shorter and a longer one for each precision: that of double is exact to 2.6e-13, of float to
// 1.7e-8.
template <class Real>
constexpr Series SHORT{
    4,
    0.007,
    {1, -0.49999999981534316, 0.37499999983073103, -0.31251507387089288, 0.2734513177280835}};
template <class Real>
constexpr Series LONG{6,
                      0.036,
                      {1, -0.50000000004997271, 0.37500000004685067, -0.31249969157070741,
                       0.2734372108403455, -0.24656951631500381, 0.22603197695680574}};
template <>
constexpr Series SHORT<float>{2, 0.006, {1, -0.50000843767940647, 0.37500738297695601}};
template <>
constexpr Series LONG<float>{
    4,
    0.06,
    {1, -0.49999899949046726, 0.37499908278632032, -0.31361082550307282, 0.27445582774746048}};

// Takes the step of one matrix after the other in the same memory.
template <class Real>
class LogDetProx {
   public:
    explicit LogDetProx(py::ssize_t nodes)
        : nodes(nodes),
          side((nodes + SIDE<Real> - 1) / SIDE<Real> * SIDE<Real>),
          entries(side * side),
          scratch((6 * entries + 3 * STRIP * side) / Register<Real>::lanes) {
        Real* next = reinterpret_cast<Real*>(scratch.take(0));
        for (Real** part : {&a, &x, &m, &inverse, &factor, &spare, &room}) {
            *part = next;
            next += entries;
        }
        std::fill(a, a + entries, Real(0));
    }

    // The step of `dual` with `sigma` in `out`, unless a bound for the squared norm is above
    // `limit`; returns that bound.
    Real step(const Real* dual, Real sigma, Real limit, Real* out) {
        const Real root_sigma = std::sqrt(sigma);
        centre(dual, Real(0.5) / root_sigma);
        Real bound = set_square();
        if (!(bound <= limit)) {
            std::fill(out, out + nodes * nodes, std::numeric_limits<Real>::quiet_NaN());
            return bound;
        }
        const Real found = bound;
        if (far_from_one(bound, LONG<Real>.near)) {
            bound = newton(bound, true);
            while (far_from_one(bound, LONG<Real>.near)) bound = newton(bound, false);
        } else {
            set_m(x, x, centring(bound), 0, -1);
            x_scale = 1;
        }
        sum_series(far_from_one(bound, SHORT<Real>.near) ? LONG<Real> : SHORT<Real>);
        multiply_symmetric(x, m, side, spare);
        // Along the constants A is zero and its root one, which is to be left out.
        const Real scale = x_scale * std::sqrt(centring(bound)), one = Real(1) / nodes;
        for (py::ssize_t i = 0; i < nodes; ++i) {
            const Real *left = a + i * side, *right = spare + i * side;
            for (py::ssize_t j = 0; j < nodes; ++j)
                out[i * nodes + j] = root_sigma * (left[j] - scale * right[j] + one);
        }
        return found;
    }

   private:
    const py::ssize_t nodes, side, entries;
    TileMemory<Real> scratch;
    Real *a, *x, *m, *inverse, *factor, *spare, *room;
    Real x_scale;  // X of the mathematics is x_scale times x

    static bool far_from_one(Real bound, double near) { return bound - 1 > near * (bound + 1); }

    // What centres eigenvalues in [1, bound] at one.
    static Real centring(Real bound) { return 2 / (1 + bound); }

    void add_to_diagonal(Real* matrix, Real value) const {
        for (py::ssize_t i = 0; i < side; ++i) matrix[i * (side + 1)] += value;
    }

    // A = scale (I - J) Y (I - J) with the matrix J of means, beside which `a` stays zero.
    void centre(const Real* dual, Real scale) {
        Real* __restrict means = room, share = Real(1) / nodes, mean = 0;
        std::fill(means, means + nodes, Real(0));
        for (py::ssize_t i = 0; i < nodes; ++i)
            for (py::ssize_t j = 0; j < nodes; ++j) means[j] += share * dual[i * nodes + j];
        for (py::ssize_t i = 0; i < nodes; ++i) mean += share * means[i];
        for (py::ssize_t i = 0; i < nodes; ++i) {
            const Real own = means[i];
            Real* __restrict row = a + i * side;
            for (py::ssize_t j = 0; j < nodes; ++j)
                row[j] = scale * (dual[i * nodes + j] + mean - (own + means[j]));
        }
    }

    // X = A^2 + I; returns the largest sum of a column's magnitudes, or NaN.
    Real set_square() {
        multiply_symmetric(a, a, side, x);
        add_to_diagonal(x, 1);
        Real* __restrict totals = room;
        std::fill(totals, totals + side, Real(0));
        for (py::ssize_t i = 0; i < side; ++i)
            for (py::ssize_t j = 0; j < side; ++j) totals[j] += std::abs(x[i * side + j]);
        Real bound = 1;
        for (py::ssize_t j = 0; j < side; ++j) {
            if (totals[j] != totals[j]) return totals[j];
            bound = std::max(bound, totals[j]);
        }
        return bound;
    }

    // M = keep P + add Q + shift I
    void set_m(const Real* p, const Real* q, Real keep, Real add, Real shift) {
#pragma omp simd
        for (py::ssize_t e = 0; e < entries; ++e) m[e] = keep * p[e] + add * q[e];
        add_to_diagonal(m, shift);
    }

    // One step for eigenvalues of M in [1, bound]; returns their next bound. If that is close to
    // one, M becomes E. At first, M is X.
    Real newton(Real bound, bool first) {
        const Real half = Real(0.5), quarter = Real(0.25);
        const Real square = 1 / std::sqrt(bound), mu = std::sqrt(square);
        const Real next = half + quarter * (1 / square + square);
        const bool last = !far_from_one(next, LONG<Real>.near);
        const Real scale = last ? centring(next) : 1, keep = scale * quarter * square,
                   add = scale * quarter / square, shift = scale * half - last;
        invert_symmetric(first ? x : m, side, inverse, room);
        set_m(first ? x : m, inverse, keep, add, shift);
        if (first) {  // X (mu I + X^{-1} / mu) / 2 takes no product
            add_to_diagonal(x, 1 / square);
            x_scale = half * mu;
            return next;
        }
        const Real share = half / mu;
#pragma omp simd
        for (py::ssize_t e = 0; e < entries; ++e) factor[e] = share * inverse[e];
        add_to_diagonal(factor, half * mu);
        multiply_symmetric(x, factor, side, spare);
        std::swap(x, spare);
        return next;
    }

    // M = (I + E)^{-1/2} for E = M, with half as many products as powers.
    void sum_series(const Series& series) {
        const double* c = series.c;
        const Real c1 = c[1], c2 = c[2], c3 = c[3], c4 = c[4], c5 = c[5], c6 = c[6];
        Real *square = inverse, *cube = spare;
        multiply_symmetric(m, m, side, square);
        if (series.degree == 2) {
#pragma omp simd
            for (py::ssize_t e = 0; e < entries; ++e) m[e] = c1 * m[e] + c2 * square[e];
        } else if (series.degree == 4) {
#pragma omp simd
            for (py::ssize_t e = 0; e < entries; ++e) factor[e] = c3 * m[e] + c4 * square[e];
            add_to_diagonal(factor, c2);
            multiply_symmetric(square, factor, side, spare);
#pragma omp simd
            for (py::ssize_t e = 0; e < entries; ++e) m[e] = c1 * m[e] + spare[e];
        } else {
            multiply_symmetric(m, square, side, cube);
#pragma omp simd
            for (py::ssize_t e = 0; e < entries; ++e) {
                factor[e] = c4 * m[e] + c5 * square[e] + c6 * cube[e];
                m[e] = c1 * m[e] + c2 * square[e];
            }
            add_to_diagonal(factor, c3);
            multiply_symmetric(cube, factor, side, square);
#pragma omp simd
            for (py::ssize_t e = 0; e < entries; ++e) m[e] += square[e];
        }
        add_to_diagonal(m, 1);
    }
};

// Sets `out` (T, N, N) and `bounds` (T); matrices with bounds above `limit` become NaN.
template <class Real>
void log_det_prox_conjugate(const Array<Real>& dual, Real sigma, Real limit, const Array<Real>& out,
                            const Array<Real>& bounds) {
    auto from = cube(dual);
    auto to = cube_out(out);
    auto found = vector_out(bounds);
    expect(from.rows == from.columns, "dual must hold square matrices");
    expect(to.has_shape_of(from), "dual and out differ in shape");
    expect(found.size == from.count, "bounds must have one number for each matrix");
    WithoutGil without_gil;
    LogDetProx<Real> finder(from.rows);
    for (py::ssize_t t = 0; t < from.count; ++t)
        found[t] = finder.step(from[t].data, sigma, limit, to[t].data);
}

inline void bind_log_det_prox(py::module_& m) {
    in_both_precisions([&](auto real) {
        using Real = decltype(real);
        m.def("log_det_prox_conjugate", &log_det_prox_conjugate<Real>, py::arg("dual"),
              py::arg("sigma"), py::arg("limit"), py::arg("out"), py::arg("bounds"));
    });
}

}  // namespace graphdict
