// The two passes of MM over samples with the log-determinant of their graphs.
//
// Its slope in the edges of a sample's graph is their effective resistance r_t: (p C)' R in the
// atoms W, for shares p of the samples, and R W' in the coefficients.
#pragma once

#include "effective_resistances.hpp"
#include "multiplicative_update.hpp"
#include "products.hpp"
#include "thread_pool.hpp"

namespace graphdict {

// The nodes that so many edges join.
inline py::ssize_t nodes_of(py::ssize_t edges) {
    py::ssize_t count = 1;
    while (edges_of(count) < edges) ++count;
    return count;
}

// The graphs of some samples, as many as there are lanes.
template <class Real>
class MixedGraphs {
   public:
    using V = Vec<double>;
    static constexpr int lanes = Register<double>::lanes;

    explicit MixedGraphs(Matrix<const Real> atoms)
        : coefficients(atoms.rows),
          atoms(atoms),
          edges(atoms.columns),
          resistances(nodes_of(atoms.columns)) {}

    // Lanes beyond the last sample hold it again, with a share of zero.
    void load(Matrix<const Real> from, const double* shares, py::ssize_t start) {
        filled = static_cast<int>(std::min<py::ssize_t>(lanes, from.rows - start));
        for (int l = 0; l < lanes; ++l) {
            const Real* row = from[start + std::min(l, filled - 1)];
            share[l] = l < filled ? shares[start + l] : 0;
            counts[l] = l < filled;
            for (py::ssize_t k = 0; k < atoms.rows; ++k) coefficients[k][l] = row[k];
        }
    }

    void store(py::ssize_t start, Matrix<Real> to) const {
        for (int l = 0; l < filled; ++l)
            for (py::ssize_t k = 0; k < atoms.rows; ++k)
                to[start + l][k] = static_cast<Real>(coefficients[k][l]);
    }

    void find_resistances() {
        mix_atoms();
        resistances.replace(edges.data());
    }

    V log_determinant() {
        mix_atoms();
        return resistances.log_determinant(edges.data());
    }

    // The slope in coefficient k: the sum of the atom's edges times their resistances.
    V slope(py::ssize_t k) const { return dot(edges.data(), atoms[k], atoms.columns); }

    // Shares times coefficients times resistances, to sums (K, E) in each lane.
    void add_atom_slopes(V* sums) const {
        for (py::ssize_t k = 0; k < atoms.rows; ++k) {
            const V weighted = share * coefficients[k];
            for (py::ssize_t e = 0; e < atoms.columns; ++e, ++sums) *sums += weighted * edges[e];
        }
    }

    std::vector<V> coefficients;
    V share, counts;  // 0 or 1

   private:
    void mix_atoms() {
        for (py::ssize_t e = 0; e < atoms.columns; ++e) {
            V weight{};
            for (py::ssize_t k = 0; k < atoms.rows; ++k)
                weight += coefficients[k] * static_cast<double>(atoms[k][e]);
            edges[e] = weight;
        }
    }

    Matrix<const Real> atoms;
    std::vector<V> edges;  // their weights, replaced by their resistances
    Resistances resistances;
    int filled = 0;
};

// (p C)' R (K, E), for coefficients C (T, K) and shares p (T,).
template <class Real>
class LogDetAtomSlopes : public Job {
   public:
    LogDetAtomSlopes(Array<Real> coefficients, Array<double> weights, Array<Real> atoms,
                     Array<Real> out)
        : from(matrix(coefficients)),
          shares(vector(weights)),
          atoms(matrix(atoms)),
          to(matrix_out(out)) {
        keep_alive(coefficients, weights, atoms, out);
        expect(from.columns == this->atoms.rows && shares.size == from.rows,
               "coefficients, weights and atoms differ");
        expect(edges_of(nodes_of(to.columns)) == to.columns,
               "atoms do not have the edges of a graph");
        expect(to.has_shape_of(this->atoms), "out must be as atoms");
    }

    void work(std::size_t) override {
        MixedGraphs<Real> mixed(atoms);
        std::vector<Vec<double>> sums(to.size());
        for (py::ssize_t start = 0; start < from.rows; start += mixed.lanes) {
            mixed.load(from, shares.data, start);
            mixed.find_resistances();
            mixed.add_atom_slopes(sums.data());
        }
        for (std::size_t i = 0; i < sums.size(); ++i)
            to.data[i] = static_cast<Real>(sum<double>(sums[i]));
    }

   private:
    Matrix<const Real> from;
    Vector<const double> shares;
    Matrix<const Real> atoms;
    Matrix<Real> to;
};

// Updates of the coefficients as in log_barrier_updates.hpp, and (p C)' Z of the new ones.
template <class Real>
class LogDetUpdates : public Job {
   public:
    LogDetUpdates(const Array<Real>& signals, const Array<double>& weights,
                  const Array<Real>& atoms, const Array<Real>& coefficients, const UpdateRule& rule,
                  const UpdateTuple<Real>& found)
        : signals(matrix(signals)),
          shares(vector(weights)),
          atoms(matrix(atoms)),
          from(matrix(coefficients)),
          rule(rule),
          to(found) {
        std::apply([this](auto&... arrays) { this->keep_alive(arrays...); }, found);
        keep_alive(signals, weights, atoms, coefficients);
        expect(this->signals.rows == from.rows && shares.size == from.rows,
               "signals, weights and coefficients differ");
        expect(this->atoms.rows == from.columns &&
                   this->atoms.columns == edges_of(this->signals.columns),
               "atoms must be (atoms, edges)");
        expect(to.coefficients.has_shape_of(from), "updated coefficients must be as coefficients");
        expect(to.distances.has_shape_of(this->atoms), "distances must be (atoms, edges)");
    }

    void work(std::size_t) override {
        const py::ssize_t T = from.rows, K = from.columns;
        std::vector<Real> costs(T * K);
        energies<Real>(signals, atoms, {costs.data(), T, K});
        MixedGraphs<Real> mixed(atoms);
        std::vector<V> cost(K);
        double value = 0;
        V gradient{}, scale{};
        for (py::ssize_t start = 0; start < T; start += lanes) {
            mixed.load(from, shares.data, start);
            for (py::ssize_t k = 0; k < K; ++k)
                for (int l = 0; l < lanes; ++l)
                    cost[k][l] = costs[std::min(start + l, T - 1) * K + k] + rule.shrinkage;
            for (int round = 0; round < rule.rounds; ++round) {
                mixed.find_resistances();
                for (py::ssize_t k = 0; k < K; ++k) {
                    V& now = mixed.coefficients[k];
                    const V slope = maximum(mixed.slope(k), V{});
                    if (round == 0) {
                        const V projected =
                            mixed.counts * projected_gradient<double>(now, slope, cost[k]);
                        const V size = mixed.counts * now * cost[k];
                        gradient += projected * projected, scale += size * size;
                    }
                    now = updated_coefficient<double>(now, slope, cost[k], rule.over_relaxed);
                }
            }
            mixed.store(start, to.coefficients);
            V fit = -mixed.log_determinant();
            for (py::ssize_t k = 0; k < K; ++k)
                fit += mixed.coefficients[k] * (cost[k] - rule.shrinkage);
            for (int l = 0; l < lanes; ++l)
                if (mixed.counts[l] > 0) value += mixed.share[l] * fit[l];
        }
        std::vector<Real> weighted(T * K);
        for (py::ssize_t t = 0; t < T; ++t)
            for (py::ssize_t k = 0; k < K; ++k)
                weighted[t * K + k] = static_cast<Real>(shares[t]) * to.coefficients[t][k];
        weighted_distances<Real>(signals, {weighted.data(), T, K}, to.distances);
        to.numbers[0] = value;
        to.numbers[1] = sum<double>(gradient), to.numbers[2] = sum<double>(scale);
    }

   private:
    using V = Vec<double>;
    static constexpr int lanes = Register<double>::lanes;

    Matrix<const Real> signals;
    Vector<const double> shares;
    Matrix<const Real> atoms, from;
    UpdateRule rule;
    UpdateArrays<Real> to;
};

inline void bind_log_det_updates(py::module_& m) {
    in_both_precisions([&](auto real) {
        using Real = decltype(real);
        using A = Array<Real>;
        m.def(
            "log_det_atom_slopes",
            [](A coefficients, Array<double> weights, A atoms, A out) -> JobHandle {
                return std::make_unique<LogDetAtomSlopes<Real>>(coefficients, weights, atoms, out);
            },
            py::arg("coefficients"), py::arg("weights"), py::arg("atoms"), py::arg("out"));
        m.def(
            "log_det_update_coefficients",
            [](A signals, Array<double> weights, A atoms, A coefficients, UpdateRuleTuple rule,
               UpdateTuple<Real> found) -> JobHandle {
                return std::make_unique<LogDetUpdates<Real>>(signals, weights, atoms, coefficients,
                                                             update_rule(rule), found);
            },
            py::arg("signals"), py::arg("weights"), py::arg("atoms"), py::arg("coefficients"),
            py::arg("rule"), py::arg("found"));
    });
}

}  // namespace graphdict
