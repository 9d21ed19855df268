// Multiplicative updates of coefficients, as majorise-minimise takes them for any barrier.
//
// The gradient in a coefficient is cost - slope: what its atom costs by the signals and by
// shrinkage, and the slope of the barrier. Both are positive, and their quotient is the update.
#pragma once

#include "thread_pool.hpp"
#include "tiles.hpp"

namespace graphdict {

// How often, and whether by the power 1.5 of the quotient.
struct UpdateRule {
    double shrinkage;
    int rounds;
    bool over_relaxed;
};
using UpdateRuleTuple = std::tuple<double, int, bool>;  // as it comes from Python

inline UpdateRule update_rule(const UpdateRuleTuple& rule) {
    return {std::get<0>(rule), std::get<1>(rule), std::get<2>(rule)};
}

// Where the results go: coefficients (T, K), (p C)' Z of them, and three numbers: the objective
// but for shrinkage, and the squares of the projected gradient at the start and of its scale.
template <class Real>
using UpdateTuple = std::tuple<Array<Real>, Array<Real>, Array<double>>;

template <class Real>
struct UpdateArrays {
    Matrix<Real> coefficients, distances;
    Vector<double> numbers;

    explicit UpdateArrays(const UpdateTuple<Real>& found)
        : coefficients(matrix_out(std::get<0>(found))),
          distances(matrix_out(std::get<1>(found))),
          numbers(vector_out(std::get<2>(found))) {
        expect(numbers.size == 3, "numbers must be (3,)");
    }
};

// min(1, c (slope / cost)^q), with q = 1, or 1.5 if over-relaxed.
template <class Real>
GRAPHDICT_INLINE Vec<Real> updated_coefficient(Vec<Real> c, Vec<Real> slope, Vec<Real> cost,
                                               bool over_relaxed) {
    // Where the slope is the larger by far, the quotient could overflow.
    const Vec<Real> limit = broadcast(Real(1e6)),
                    ratio = select(slope < limit * cost, slope / cost, limit);
    return minimum(c * (over_relaxed ? ratio * square_root<Real>(ratio) : ratio),
                   broadcast(Real(1)));
}

// The gradient in c times c, where it does not lead beyond the upper bound.
template <class Real>
GRAPHDICT_INLINE Vec<Real> projected_gradient(Vec<Real> c, Vec<Real> slope, Vec<Real> cost) {
    const Vec<Real> gradient = cost - slope;
    return c * select(c < broadcast(Real(1)), gradient, maximum(gradient, Vec<Real>{}));
}

}  // namespace graphdict
