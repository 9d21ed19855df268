// The largest eigenvalue of a small symmetric matrix, without negative ones: norms of operators.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "arrays.hpp"

namespace graphdict {

// Diagonal of a tridiagonal matrix, and squares of what lies beside it.
struct Tridiagonal {
    std::vector<double> diagonal, squares;

    // With the eigenvalues of a symmetric matrix, by Householder's reflections; `a` is used up.
    Tridiagonal(std::vector<double>& a, py::ssize_t n) : diagonal(n), squares(n) {
        std::vector<double> product(n);
        for (py::ssize_t k = 0; k < n; ++k) {
            diagonal[k] = a[k * n + k];
            double* v = &a[k * n];  // what lies right of the diagonal, to be reflected on one axis
            double rest = 0;
            for (py::ssize_t j = k + 1; j < n; ++j) rest += v[j] * v[j];
            if (k + 1 == n || rest == 0) continue;
            squares[k] = rest;
            v[k + 1] += std::copysign(std::sqrt(rest), v[k + 1]);
            double size = 0, along = 0;
            for (py::ssize_t j = k + 1; j < n; ++j) size += v[j] * v[j];
            for (py::ssize_t i = k + 1; i < n; ++i) {
                double total = 0;
                for (py::ssize_t j = k + 1; j < n; ++j) total += a[i * n + j] * v[j];
                product[i] = 2 / size * total;
                along += product[i] * v[i];
            }
            for (py::ssize_t i = k + 1; i < n; ++i) product[i] -= along / size * v[i];
            for (py::ssize_t i = k + 1; i < n; ++i)
                for (py::ssize_t j = k + 1; j < n; ++j)
                    a[i * n + j] -= v[i] * product[j] + product[i] * v[j];
        }
    }

    // Whether all eigenvalues are below x: then every pivot of T - x is negative.
    bool is_below(double x) const {
        double pivot = -1, beside = 0;
        for (std::size_t k = 0; k < diagonal.size(); ++k) {
            pivot = diagonal[k] - x - beside / pivot;
            if (!(pivot < 0)) return false;
            beside = squares[k];
        }
        return true;
    }
};

// From above, to thirteen digits. The matrix (n, n) is used up.
inline double largest_eigenvalue(std::vector<double>& matrix, py::ssize_t n) {
    double low = 0, high = 0;  // the largest entry of the diagonal, and their sum
    for (py::ssize_t k = 0; k < n; ++k) {
        low = std::max(low, matrix[k * n + k]);
        high += matrix[k * n + k];
    }
    if (high <= 0) return 0;
    if (!std::isfinite(high)) return high;
    // In units of the trace, so that squares of entries are neither too large nor too small.
    const double unit = high;
    for (double& entry : matrix) entry /= unit;
    low /= unit, high = 1;
    const Tridiagonal tridiagonal(matrix, n);
    while (high - low > 1e-13 * high) {
        const double middle = 0.5 * (low + high);
        (tridiagonal.is_below(middle) ? high : low) = middle;
    }
    return high * unit;
}

// That of a matrix (K, K), and of the products of the rows of another one.
template <class Real>
double largest_eigenvalue(Matrix<const Real> gram) {
    std::vector<double> a(gram.data, gram.data + gram.size());
    return largest_eigenvalue(a, gram.rows);
}

template <class Real>
double largest_eigenvalue_of_products(Matrix<const Real> rows) {
    std::vector<double> a(rows.rows * rows.rows);
    for (py::ssize_t i = 0; i < rows.rows; ++i)
        for (py::ssize_t j = 0; j <= i; ++j) {
            double total = 0;
            const Real *left = rows[i], *right = rows[j];
#pragma omp simd reduction(+ : total)
            for (py::ssize_t n = 0; n < rows.columns; ++n)
                total += static_cast<double>(left[n]) * right[n];
            a[i * rows.rows + j] = a[j * rows.rows + i] = total;
        }
    return largest_eigenvalue(a, rows.rows);
}

inline void bind_largest_eigenvalue(py::module_& m) {
    in_both_precisions([&](auto real) {
        using Real = decltype(real);
        m.def(
            "largest_eigenvalue",
            [](Array<Real> gram) {
                auto found = matrix(gram);
                expect(found.rows == found.columns, "gram must be square");
                return largest_eigenvalue<Real>(found);
            },
            py::arg("gram"));
        m.def(
            "largest_eigenvalue_of_products",
            [](Array<Real> rows) { return largest_eigenvalue_of_products<Real>(matrix(rows)); },
            py::arg("rows"));
    });
}

}  // namespace graphdict
