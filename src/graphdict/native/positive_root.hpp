// The proximal operator of -log, in one pass over memory.
#pragma once

#include <cmath>
#include <limits>

#include "arrays.hpp"

namespace graphdict {

// (x + sqrt(x^2 + 4 step)) / 2, without cancellation for very negative x, and where x^2 overflows.
template <class Real>
void positive_root(const Array<Real>& x, Real step, const Array<Real>& out) {
    auto from = vector(x);
    auto to = vector_out(out);
    expect(from.size == to.size, "x and out differ in size");
    WithoutGil without_gil;
    const Real two = 2 * step, four = 4 * step, largest = std::numeric_limits<Real>::max();
#pragma omp simd
    for (py::ssize_t i = 0; i < from.size; ++i) {
        const Real value = from.data[i], size = std::abs(value), square = value * value + four;
        const Real reach = size + (square <= largest ? std::sqrt(square) : size);
        to.data[i] = value >= 0 ? Real(0.5) * reach : two / reach;
    }
}

inline void bind_positive_root(py::module_& m) {
    in_both_precisions([&](auto real) {
        using Real = decltype(real);
        m.def("positive_root", &positive_root<Real>, py::arg("x"), py::arg("step"), py::arg("out"));
    });
}

}  // namespace graphdict
