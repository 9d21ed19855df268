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
class LogDetAtomSlopes : public AtomSlopes<Real> {
   public:
    LogDetAtomSlopes(const Array<Real>& coefficients, const Array<double>& shares,
                     const Array<Real>& atoms, const Array<Real>& out)
        : AtomSlopes<Real>(coefficients, shares, atoms, out) {
        expect(edges_of(nodes_of(to.columns)) == to.columns,
               "atoms do not have the edges of a graph");
    }

    void work(std::size_t) override {
        MixedGraphs<Real> mixed(this->seen);
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
    using AtomSlopes<Real>::from, AtomSlopes<Real>::shares, AtomSlopes<Real>::to;
};

// Updates of the coefficients as in log_barrier_updates.hpp, and (p C)' Z of the new ones.
template <class Real>
class LogDetUpdates : public CoefficientUpdates<Real> {
   public:
    LogDetUpdates(const Array<Real>& signals, const Array<double>& shares, const Array<Real>& atoms,
                  const Array<Real>& coefficients, const UpdateRule& rule,
                  const UpdateResult<Real>& found)
        : CoefficientUpdates<Real>(signals, shares, atoms, coefficients, rule, found, false) {}

    void work(std::size_t) override {
        const py::ssize_t T = from.rows, K = from.columns;
        std::vector<Real> costs(T * K);
        energies<Real>(samples, atoms, {costs.data(), T, K});
        MixedGraphs<Real> mixed(atoms);
        std::vector<V> cost(K);
        double value = 0;
        V gradient{}, scale{};
        for (py::ssize_t start = 0; start < T; start += lanes) {
            mixed.load(from, shares.data, start);
            for (py::ssize_t k = 0; k < K; ++k)
                for (int l = 0; l < lanes; ++l)
                    cost[k][l] = costs[std::min(start + l, T - 1) * K + k] + rule.coefficient_alpha;
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
                    now = updated_coefficient<double>(now, slope, cost[k], rule);
                }
            }
            mixed.store(start, to);
            V fit = -mixed.log_determinant();
            for (py::ssize_t k = 0; k < K; ++k)
                fit += mixed.coefficients[k] * (cost[k] - rule.coefficient_alpha);
            for (int l = 0; l < lanes; ++l)
                if (mixed.counts[l] > 0) value += mixed.share[l] * fit[l];
        }
        std::vector<Real> weighted(T * K);
        for (py::ssize_t t = 0; t < T; ++t)
            for (py::ssize_t k = 0; k < K; ++k)
                weighted[t * K + k] = static_cast<Real>(shares[t]) * to[t][k];
        weighted_distances<Real>(samples, {weighted.data(), T, K}, this->distances);
        this->numbers[0] = value;
        this->numbers[1] = sum<double>(gradient), this->numbers[2] = sum<double>(scale);
    }

   private:
    using V = Vec<double>;
    static constexpr int lanes = Register<double>::lanes;
    using Base = CoefficientUpdates<Real>;
    using Base::samples, Base::shares, Base::atoms, Base::from, Base::rule, Base::to;
};

inline void bind_log_det_updates(py::module_& m) {
    in_both_precisions([&](auto real) {
        using Real = decltype(real);
        using A = Array<Real>;
        m.def(
            "log_det_atom_slopes",
            [](A coefficients, Array<double> shares, A atoms, A out) -> JobHandle {
                return std::make_unique<LogDetAtomSlopes<Real>>(coefficients, shares, atoms, out);
            },
            py::arg("coefficients"), py::arg("shares"), py::arg("atoms"), py::arg("out"));
        m.def(
            "log_det_update_coefficients",
            [](A signals, Array<double> shares, A atoms, A coefficients, UpdateRule rule,
               UpdateResult<Real> found) -> JobHandle {
                return std::make_unique<LogDetUpdates<Real>>(signals, shares, atoms, coefficients,
                                                             rule, found);
            },
            py::arg("signals"), py::arg("shares"), py::arg("atoms"), py::arg("coefficients"),
            py::arg("rule"), py::arg("found"));
    });
}

}  // namespace graphdict
