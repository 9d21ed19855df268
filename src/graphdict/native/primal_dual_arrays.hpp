// What a pass of BiPDS over samples with a logarithmic barrier reads and writes.
#pragma once

#include "log_barrier.hpp"

namespace graphdict {

// An interval that holds every entry x of a variable, and the penalties that are linear in it:
// alpha x, which enters by its prox, and slope x, by its gradient.
struct Box {
    double low, high, alpha, slope;
    using Members = std::tuple<double, double, double, double>;
};

// An iterate as far as it is the size of the samples; Real is const where it is only read.
template <class Real>
struct SampleArrays {
    Matrix<Real> coefficients;  // (T, K)
    Matrix<Real> gradient;      // in the coefficients
    Matrix<Real> dual;          // (T, N)

    operator SampleArrays<const Real>() const { return {coefficients, gradient, dual}; }
    SampleArrays rows(py::ssize_t start, py::ssize_t stop) const {
        return {rows_of(coefficients, start, stop), rows_of(gradient, start, stop),
                rows_of(dual, start, stop)};
    }
};

// Sums over samples.
template <class Real>
struct SampleSums {
    Matrix<Real> distances;   // (p C)' Z (K, E); no edges where samples are powers
    Matrix<Real> mixed_dual;  // (p C)' Y+ (K, N), powers included
    Matrix<Real> gram;        // (p C)' C (K, K)

    py::ssize_t size() const { return distances.size() + mixed_dual.size() + gram.size(); }

    // Sums of these shapes in other memory.
    SampleSums in(Real* memory) const {
        SampleSums found = *this;
        for (auto* sum : {&found.distances, &found.mixed_dual, &found.gram}) {
            sum->data = memory;
            memory += sum->size();
        }
        return found;
    }

    void add(const SampleSums& other) const {
        for (auto sum : {&SampleSums::distances, &SampleSums::mixed_dual, &SampleSums::gram}) {
            Real* to = (this->*sum).data;
            const Real* from = (other.*sum).data;
            for (py::ssize_t i = 0; i < (this->*sum).size(); ++i) to[i] += from[i];
        }
    }
};

// What a pass reads and writes. Where no point is checked, the iterate may be replaced in place.
template <class Real>
struct PassArrays {
    Matrix<const Real> samples;  // signals (T, N), or powers in modes
    Vector<const Real> shares;   // p of the samples
    bool powers;
    Matrix<const Real> atoms;         // (K, E); none for powers
    Matrix<const Real> images;        // degrees or spectra of the atoms (K, N)
    Matrix<const Real> extrapolated;  // those of the extrapolated atoms
    Real sigma;                       // step of the dual
    SampleArrays<const Real> before;
    Real tau;                  // step of the coefficients
    std::optional<Box> box;    // if the pass takes that step; if not, the coefficients are there,
    SampleArrays<Real> after;  // and what else is in their gradient, which is added to
    Matrix<Real> energies;     // of the atoms (T, K), found if the point is checked
    SampleSums<Real> sums;     // found
    Vector<double> numbers;    // found if the point is checked, else empty: see CheckSums
};

// The same as it comes from Python, in a tuple each.
template <class Real>
struct GivenSamples {
    Array<Real> samples, shares;
    bool powers;
    using Members = std::tuple<Array<Real>, Array<Real>, bool>;
};

template <class Real>
struct AtomMove {
    Array<Real> atoms, images, extrapolated;
    double sigma;
    using Members = std::tuple<Array<Real>, Array<Real>, Array<Real>, double>;
};

template <class Real>
struct GivenIterate {
    Array<Real> coefficients, gradient, dual;
    using Members = std::tuple<Array<Real>, Array<Real>, Array<Real>>;

    SampleArrays<const Real> to_read() const {
        return {matrix(coefficients), matrix(gradient), matrix(dual)};
    }
    SampleArrays<Real> to_write() const {
        return {matrix_out(coefficients), matrix_out(gradient), matrix_out(dual)};
    }
};

struct CoefficientStep {
    double tau;
    std::optional<Box> box;
    using Members = std::tuple<double, std::optional<Box>>;
};

template <class Real>
struct PassResult {
    Array<Real> coefficients, dual, gradient, energies, distances, mixed_dual, gram;
    Array<double> numbers;
    using Members = std::tuple<Array<Real>, Array<Real>, Array<Real>, Array<Real>, Array<Real>,
                               Array<Real>, Array<Real>, Array<double>>;
};

template <class Real>
struct GivenPass {
    GivenSamples<Real> samples;
    AtomMove<Real> atoms;
    GivenIterate<Real> before;
    CoefficientStep step;
    PassResult<Real> found;

    PassArrays<Real> arrays() const {
        const GivenIterate<Real> after{found.coefficients, found.gradient, found.dual};
        return {matrix(samples.samples),
                vector(samples.shares),
                samples.powers,
                matrix(atoms.atoms),
                matrix(atoms.images),
                matrix(atoms.extrapolated),
                static_cast<Real>(atoms.sigma),
                before.to_read(),
                static_cast<Real>(step.tau),
                step.box,
                after.to_write(),
                matrix_out(found.energies),
                {matrix_out(found.distances), matrix_out(found.mixed_dual), matrix_out(found.gram)},
                vector_out(found.numbers)};
    }
};

// What is added up where a point is checked; squares but for the first.
struct CheckSums {
    double value = 0;            // of the objective, but for priors
    double dual_gap = 0;         // of the image from a subgradient of h* at the new dual
    double mixed_images = 0;     // A(C, W)
    double energy = 0;           // of the atoms
    double coefficient_gap = 0;  // of the gradient from what the last step assumed it to be
    double size = 0;             // of the coefficients

    void copy_to(Vector<double> numbers) const {
        const double found[] = {value, dual_gap, mixed_images, energy, coefficient_gap, size};
        std::copy(found, found + count, numbers.data);
    }
    static constexpr py::ssize_t count = 6;
};

template <class Real>
void check_shapes(const PassArrays<Real>& pass) {
    auto shaped = [](auto found, py::ssize_t rows, py::ssize_t columns, const char* what) {
        expect(found.rows == rows && found.columns == columns, what);
    };
    const py::ssize_t T = pass.samples.rows, N = pass.samples.columns, K = pass.images.rows;
    const py::ssize_t E = pass.powers ? 0 : edges_of(N);
    const bool checked = pass.numbers.size > 0;
    expect(pass.shares.size == T, "shares must be (samples,)");
    expect(!checked || pass.numbers.size == CheckSums::count, "numbers must be (6,) or empty");
    shaped(pass.atoms, K, E, "atoms must be (atoms, edges)");
    shaped(pass.images, K, N, "images must be (atoms, nodes)");
    shaped(pass.extrapolated, K, N, "extrapolated must be (atoms, nodes)");
    shaped(pass.before.coefficients, T, K, "coefficients before must be (samples, atoms)");
    shaped(pass.before.gradient, T, K, "the gradient before must be (samples, atoms)");
    shaped(pass.before.dual, T, N, "the dual before must be (samples, nodes)");
    shaped(pass.after.coefficients, T, K, "coefficients must be (samples, atoms)");
    shaped(pass.after.gradient, T, K, "gradient must be (samples, atoms)");
    shaped(pass.after.dual, T, N, "dual must be (samples, nodes)");
    shaped(pass.energies, checked ? T : 0, K,
           "energies must be (samples, atoms) if checked, else (0, atoms)");
    shaped(pass.sums.distances, K, E, "distances must be (atoms, edges)");
    shaped(pass.sums.mixed_dual, K, N, "mixed_dual must be (atoms, nodes)");
    shaped(pass.sums.gram, K, K, "gram must be (atoms, atoms)");
}

}  // namespace graphdict
