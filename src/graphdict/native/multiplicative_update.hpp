// Multiplicative updates of coefficients, as majorise-minimise takes them for any barrier.
//
// The gradient in a coefficient is cost - slope: the energy of its atom and the penalty alpha, and
// the slope of the barrier. Both are positive, and their quotient is the update.
#pragma once

#include "thread_pool.hpp"
#include "tiles.hpp"

namespace graphdict {

// What comes from Python, in a tuple each: how updates are taken,
struct UpdateRule {
    double coefficient_alpha;  // strength of the L1 penalty
    int rounds;
    bool over_relaxed;  // whether by the power 1.5 of the quotient
    double largest_ratio;
    using Members = std::tuple<double, int, bool, double>;
};

// and where the results go.
template <class Real>
struct UpdateResult {
    Array<Real> coefficients;  // (T, K)
    Array<Real> distances;     // (p C)' Z of these
    // The objective but for that penalty; squares of the projected gradient at the start, of its
    // scale.
    Array<double> numbers;
    using Members = std::tuple<Array<Real>, Array<Real>, Array<double>>;
};

// A pass that sums slopes in the atoms, or in what the barrier sees of them, over the samples.
template <class Real>
class AtomSlopes : public Job {
   protected:
    AtomSlopes(const Array<Real>& coefficients, const Array<double>& shares,
               const Array<Real>& seen, const Array<Real>& out)
        : from(matrix(coefficients)),
          shares(vector(shares)),
          seen(matrix(seen)),
          to(matrix_out(out)) {
        this->keep_alive(coefficients, shares, seen, out);
        expect(from.columns == this->seen.rows && this->shares.size == from.rows,
               "coefficients, shares and atoms differ");
        expect(to.has_shape_of(this->seen), "out must be as atoms");
    }

    Matrix<const Real> from;
    Vector<const double> shares;
    Matrix<const Real> seen;
    Matrix<Real> to;
};

// A pass that updates coefficients. Samples are signals, or powers in modes, whose atoms have no
// edges.
template <class Real>
class CoefficientUpdates : public Job {
   protected:
    CoefficientUpdates(const Array<Real>& samples, const Array<double>& shares,
                       const Array<Real>& atoms, const Array<Real>& coefficients,
                       const UpdateRule& rule, const UpdateResult<Real>& found, bool powers)
        : samples(matrix(samples)),
          shares(vector(shares)),
          atoms(matrix(atoms)),
          from(matrix(coefficients)),
          rule(rule),
          to(matrix_out(found.coefficients)),
          distances(matrix_out(found.distances)),
          numbers(vector_out(found.numbers)) {
        this->keep_alive(samples, shares, atoms, coefficients, found);
        const py::ssize_t T = from.rows, K = from.columns, N = this->samples.columns;
        const py::ssize_t E = edges_of(N);
        expect(this->samples.rows == T && this->shares.size == T,
               "samples, shares and coefficients differ");
        expect(this->atoms.rows == K && this->atoms.columns == (powers ? 0 : E),
               "atoms must be (atoms, edges)");
        expect(to.has_shape_of(from), "updated coefficients must be as coefficients");
        expect(distances.rows == K && distances.columns == (powers ? N : E),
               "distances must be (atoms, edges or modes)");
        expect(numbers.size == 3, "numbers must be (3,)");
    }

    Matrix<const Real> samples;
    Vector<const double> shares;
    Matrix<const Real> atoms, from;
    UpdateRule rule;
    Matrix<Real> to, distances;
    Vector<double> numbers;
};

// min(1, c (slope / cost)^q), with q = 1, or 1.5 if over-relaxed.
template <class Real>
GRAPHDICT_INLINE Vec<Real> updated_coefficient(Vec<Real> c, Vec<Real> slope, Vec<Real> cost,
                                               const UpdateRule& rule) {
    // Where the slope is the larger by far, the quotient could overflow.
    const Vec<Real> limit = broadcast(static_cast<Real>(rule.largest_ratio)),
                    ratio = select(slope < limit * cost, slope / cost, limit);
    return minimum(c * (rule.over_relaxed ? ratio * square_root<Real>(ratio) : ratio),
                   broadcast(Real(1)));
}

// The gradient in c times c, where it does not lead beyond the upper bound.
template <class Real>
GRAPHDICT_INLINE Vec<Real> projected_gradient(Vec<Real> c, Vec<Real> slope, Vec<Real> cost) {
    const Vec<Real> gradient = cost - slope;
    return c * select(c < broadcast(Real(1)), gradient, maximum(gradient, Vec<Real>{}));
}

}  // namespace graphdict
