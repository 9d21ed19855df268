// The two passes of MM over samples with the log-determinant of their graphs.
//
// Atoms are pushed by the resistances r_t of the samples' graphs, (p C)' R; coefficients are
// updated by their push R W' and their pull, which is what the signals cost.
#pragma once

#include "multiplicative.hpp"
#include "products.hpp"
#include "resistances.hpp"
#include "team.hpp"

namespace graphdict {

// The graphs of some samples, as many as there are lanes.
template <class Real>
class MixedGraphs {
   public:
    using V = Vec<double>;
    static constexpr int lanes = Register<double>::lanes;

    explicit MixedGraphs(Matrix<const Real> atoms)
        : coefficients(atoms.rows), atoms(atoms), edges(atoms.columns), resistances(nodes()) {}

    // Lanes beyond the last sample hold it again, with a share of zero.
    void enter(Matrix<const Real> from, const double* shares, py::ssize_t start) {
        filled = static_cast<int>(std::min<py::ssize_t>(lanes, from.rows - start));
        for (int l = 0; l < lanes; ++l) {
            const Real* row = from[start + std::min(l, filled - 1)];
            share[l] = l < filled ? shares[start + l] : 0;
            counts[l] = l < filled;
            for (py::ssize_t k = 0; k < atoms.rows; ++k) coefficients[k][l] = row[k];
        }
    }

    void leave(py::ssize_t start, Matrix<Real> to) const {
        for (int l = 0; l < filled; ++l)
            for (py::ssize_t k = 0; k < atoms.rows; ++k)
                to[start + l][k] = static_cast<Real>(coefficients[k][l]);
    }

    void resist() {
        mix();
        resistances.replace(edges.data());
    }

    V log_determinant() {
        mix();
        return resistances.log_determinant(edges.data());
    }

    // What an atom sees of the resistances.
    V push(py::ssize_t k) const { return dot(edges.data(), atoms[k], atoms.columns); }

    // Shares times coefficients times resistances, to sums (K, E) in each lane.
    void add_pushes(V* sums) const {
        for (py::ssize_t k = 0; k < atoms.rows; ++k) {
            const V weighted = share * coefficients[k];
            for (py::ssize_t e = 0; e < atoms.columns; ++e, ++sums) *sums += weighted * edges[e];
        }
    }

    std::vector<V> coefficients;
    V share, counts;  // 0 or 1

   private:
    void mix() {
        for (py::ssize_t e = 0; e < atoms.columns; ++e) {
            V weight{};
            for (py::ssize_t k = 0; k < atoms.rows; ++k)
                weight += coefficients[k] * static_cast<double>(atoms[k][e]);
            edges[e] = weight;
        }
    }

    py::ssize_t nodes() const {
        py::ssize_t count = 1;
        while (count * (count - 1) / 2 < atoms.columns) ++count;
        return count;
    }

    Matrix<const Real> atoms;
    std::vector<V> edges;  // their weights, or resistances
    Resistances resistances;
    int filled = 0;
};

// (p C)' R (K, E), for coefficients C (T, K) and shares p (T,).
template <class Real>
class ExactPush : public Job {
   public:
    ExactPush(Array<Real> coefficients, Array<double> weights, Array<Real> atoms, Array<Real> out)
        : from(matrix(coefficients)),
          shares(vector(weights)),
          atoms(matrix(atoms)),
          to(matrix_out(out)),
          held{coefficients, weights, atoms, out} {
        expect(from.columns == this->atoms.rows && shares.size == from.rows,
               "coefficients, weights and atoms differ");
        expect(to.rows == this->atoms.rows && to.columns == this->atoms.columns,
               "out must be as atoms");
    }

    void work(std::size_t) override {
        MixedGraphs<Real> mixed(atoms);
        std::vector<Vec<double>> sums(to.rows * to.columns);
        for (py::ssize_t start = 0; start < from.rows; start += mixed.lanes) {
            mixed.enter(from, shares.data, start);
            mixed.resist();
            mixed.add_pushes(sums.data());
        }
        for (std::size_t i = 0; i < sums.size(); ++i)
            to.data[i] = static_cast<Real>(sum<double>(sums[i]));
    }

   private:
    Matrix<const Real> from;
    Vector<const double> shares;
    Matrix<const Real> atoms;
    Matrix<Real> to;
    std::vector<py::array> held;
};

// Updates of the coefficients as in recoding.hpp, and (p C)' Z of the new ones.
template <class Real>
class ExactRecode : public Job {
   public:
    ExactRecode(Array<Real> signals, Array<double> weights, Array<Real> atoms,
                Array<Real> coefficients, double shrinkage, int rounds, bool stretch,
                Array<Real> recoded, Array<Real> distances, Array<double> numbers)
        : signals(matrix(signals)),
          shares(vector(weights)),
          atoms(matrix(atoms)),
          from(matrix(coefficients)),
          shrinkage(shrinkage),
          rounds(rounds),
          stretch(stretch),
          to(matrix_out(recoded)),
          sums(matrix_out(distances)),
          numbers(vector_out(numbers)),
          held{signals, weights, atoms, coefficients, recoded, distances, numbers} {
        const py::ssize_t T = from.rows, K = from.columns, N = this->signals.columns;
        expect(this->signals.rows == T && shares.size == T,
               "signals, weights and coefficients differ");
        expect(this->atoms.rows == K && this->atoms.columns == N * (N - 1) / 2,
               "atoms must be (atoms, edges)");
        expect(to.rows == T && to.columns == K, "recoded must be as coefficients");
        expect(sums.rows == K && sums.columns == this->atoms.columns,
               "distances must be (atoms, edges)");
        expect(this->numbers.size == 3, "numbers must be (3,)");
    }

    void work(std::size_t) override {
        const py::ssize_t T = from.rows, K = from.columns;
        std::vector<Real> costs(T * K);
        energies<Real>(signals, atoms, {costs.data(), T, K});
        MixedGraphs<Real> mixed(atoms);
        std::vector<V> pull(K);
        double value = 0;
        V gradient{}, scale{};
        for (py::ssize_t start = 0; start < T; start += lanes) {
            mixed.enter(from, shares.data, start);
            for (py::ssize_t k = 0; k < K; ++k)
                for (int l = 0; l < lanes; ++l)
                    pull[k][l] = costs[std::min(start + l, T - 1) * K + k] + shrinkage;
            for (int round = 0; round < rounds; ++round) {
                mixed.resist();
                for (py::ssize_t k = 0; k < K; ++k) {
                    V& now = mixed.coefficients[k];
                    const V push = most(mixed.push(k), V{});
                    if (round == 0) {
                        const V free = mixed.counts * projected<double>(now, push, pull[k]);
                        const V size = mixed.counts * now * pull[k];
                        gradient += free * free, scale += size * size;
                    }
                    now = updated<double>(now, push, pull[k], stretch);
                }
            }
            mixed.leave(start, to);
            V fit = -mixed.log_determinant();
            for (py::ssize_t k = 0; k < K; ++k)
                fit += mixed.coefficients[k] * (pull[k] - shrinkage);
            for (int l = 0; l < lanes; ++l)
                if (mixed.counts[l] > 0) value += mixed.share[l] * fit[l];
        }
        std::vector<Real> weighted(T * K);
        for (py::ssize_t t = 0; t < T; ++t)
            for (py::ssize_t k = 0; k < K; ++k)
                weighted[t * K + k] = static_cast<Real>(shares[t]) * to[t][k];
        weighted_distances<Real>(signals, {weighted.data(), T, K}, sums);
        numbers[0] = value, numbers[1] = sum<double>(gradient), numbers[2] = sum<double>(scale);
    }

   private:
    using V = Vec<double>;
    static constexpr int lanes = Register<double>::lanes;

    Matrix<const Real> signals;
    Vector<const double> shares;
    Matrix<const Real> atoms, from;
    double shrinkage;
    int rounds;
    bool stretch;
    Matrix<Real> to, sums;
    Vector<double> numbers;
    std::vector<py::array> held;
};

template <class Real>
void bind_exact_recoding_of(py::module_& m) {
    using A = Array<Real>;
    m.def(
        "log_det_atom_slopes",
        [](A coefficients, Array<double> weights, A atoms, A out) -> std::unique_ptr<Job> {
            return std::make_unique<ExactPush<Real>>(coefficients, weights, atoms, out);
        },
        py::arg("coefficients").noconvert(), py::arg("weights").noconvert(),
        py::arg("atoms").noconvert(), py::arg("out").noconvert());
    m.def(
        "log_det_update_coefficients",
        [](A signals, Array<double> weights, A atoms, A coefficients, double shrinkage, int rounds,
           bool stretch, A recoded, A distances, Array<double> numbers) -> std::unique_ptr<Job> {
            return std::make_unique<ExactRecode<Real>>(signals, weights, atoms, coefficients,
                                                       shrinkage, rounds, stretch, recoded,
                                                       distances, numbers);
        },
        py::arg("signals").noconvert(), py::arg("weights").noconvert(),
        py::arg("atoms").noconvert(), py::arg("coefficients").noconvert(), py::arg("shrinkage"),
        py::arg("rounds"), py::arg("stretch"), py::arg("recoded").noconvert(),
        py::arg("distances").noconvert(), py::arg("numbers").noconvert());
}

inline void bind_exact_recoding(py::module_& m) {
    bind_exact_recoding_of<double>(m);
    bind_exact_recoding_of<float>(m);
}

}  // namespace graphdict
