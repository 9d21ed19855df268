// Coefficients of samples under known atoms by an interior-point method; graphdict.core.solvers.coding
// has the mathematics.
//
// All samples of a tile take a step together, once the barrier has said for each what it pushes the
// coefficients by, and how it curves (slopes.hpp). Registers whose samples are all done leave the
// tile, and others take their place.
#pragma once

#include "slopes.hpp"
#include "team.hpp"

namespace graphdict {

struct CodingRules {
    int max_iter;
    double tol;  // of the duality gap
    int warm_up;
    double tie_break, centring, reach, at_bound, damping;
};

// Solutions of positive definite systems, one in each lane, scaled to a unit diagonal for accuracy.
// The matrix becomes its factor, and `right` the solution; `unit` is room for a vector.
inline void solve_scaled(Vec<double>* matrix, Vec<double>* right, Vec<double>* unit,
                         py::ssize_t side, double damping) {
    for (py::ssize_t k = 0; k < side; ++k) {
        unit[k] = 1 / root<double>(matrix[halved(k) + k]);
        right[k] *= unit[k];
    }
    for (py::ssize_t k = 0; k < side; ++k) {
        Vec<double>* row = matrix + halved(k);
        for (py::ssize_t j = 0; j <= k; ++j) {
            const Vec<double>* other = matrix + halved(j);
            Vec<double> entry = j == k ? all(1 + damping) : row[j] * unit[k] * unit[j];
            for (py::ssize_t i = 0; i < j; ++i) entry -= row[i] * other[i];
            // The diagonal of the factor is kept as its inverse. Rounding must leave a pivot.
            row[j] = j < k ? entry * other[j] : 1 / root<double>(most(entry, all(damping)));
        }
        for (py::ssize_t i = 0; i < k; ++i) right[k] -= row[i] * right[i];
        right[k] *= row[k];
    }
    for (py::ssize_t k = side; k-- > 0;) {
        const Vec<double>* row = matrix + halved(k);
        right[k] *= row[k];
        for (py::ssize_t i = 0; i < k; ++i) right[i] -= row[i] * right[k];
        right[k] *= unit[k];
    }
}

template <class Barrier>
class Coding : public Job {
   public:
    Coding(Array<double> costs, Barrier barrier, CodingRules rules, Array<double> out)
        : given(matrix(costs)),
          to(matrix_out(out)),
          barrier(std::move(barrier)),
          rules(rules),
          atoms(given.columns),
          held{costs, out} {
        expect(this->barrier.atoms() == atoms, "costs must be (samples, atoms)");
        expect(to.rows == given.rows && to.columns == atoms, "out must be as costs");
        // Fewer samples at a time where there are many pairs, so that these stay in cache.
        width = std::clamp<py::ssize_t>(CACHED / (halved(atoms) + ROWS_OF_ATOM * atoms), 2, TILE);
    }

    std::size_t pieces() const override {
        const py::ssize_t samples = width * lanes;
        return static_cast<std::size_t>((given.rows + samples - 1) / samples);
    }

    void work(std::size_t piece) override {
        const py::ssize_t start = static_cast<py::ssize_t>(piece) * width * lanes;
        Tile tile(*this, start, std::min(start + width * lanes, given.rows));
        tile.begin();
        for (int i = 0; i < rules.max_iter && tile.registers > 0; ++i) {
            tile.desk.find(tile.x, tile.registers, tile.pushes, tile.curvatures);
            for (py::ssize_t v = tile.registers; v-- > 0;)
                if (!tile.advance(v)) tile.part_with(v);
        }
        while (tile.registers > 0) tile.part_with(tile.registers - 1);
    }

   private:
    using V = Vec<double>;
    static constexpr int lanes = Register<double>::lanes;
    static constexpr py::ssize_t CACHED = (1 << 19) / REGISTER_BYTES;
    static constexpr py::ssize_t ROWS_OF_ATOM = 6;

    // Samples on their way: the distances x and y of coefficients from both bounds, which are kept
    // apart since one of them may be tiny, and their multipliers a and b.
    struct Tile {
        const Coding& of;
        py::ssize_t start, end, atoms, registers;
        Scratch<double> scratch;
        V *costs, *x, *y, *a, *b, *pushes, *curvatures;
        typename Barrier::Desk desk;
        std::vector<V> system, step, unit;
        std::vector<py::ssize_t> places;  // of registers among the samples

        Tile(const Coding& of, py::ssize_t start, py::ssize_t end)
            : of(of),
              start(start),
              end(end),
              atoms(of.atoms),
              registers((end - start + lanes - 1) / lanes),
              scratch((ROWS_OF_ATOM * atoms + halved(atoms)) * TILE),
              costs(scratch.take(atoms)),
              x(scratch.take(atoms)),
              y(scratch.take(atoms)),
              a(scratch.take(atoms)),
              b(scratch.take(atoms)),
              pushes(scratch.take(atoms)),
              curvatures(scratch.take(halved(atoms))),
              desk(of.barrier),
              system(halved(atoms)),
              step(atoms),
              unit(atoms),
              places(registers) {
            for (py::ssize_t v = 0; v < registers; ++v) places[v] = v;
        }

        // The costs, and a start of the right magnitude.
        void begin() {
            for (py::ssize_t v = 0; v < registers; ++v)
                for (py::ssize_t k = 0; k < atoms; ++k)
                    for (int l = 0; l < lanes; ++l) {
                        // Lanes beyond the last sample hold it again.
                        const py::ssize_t t = std::min(start + v * lanes + l, end - 1);
                        costs[k * TILE + v][l] = of.given[t][k];
                        x[k * TILE + v][l] = 0.5;
                    }
            desk.find(x, registers, pushes, nullptr);
            each([&](py::ssize_t i) {
                // A cost of zero would let a coefficient rest anywhere.
                const V least_cost = of.rules.tie_break * pushes[i];
                costs[i] = costs[i] < least_cost ? least_cost : costs[i];
            });
            for (int i = 0; i < of.rules.warm_up; ++i) {
                if (i > 0) desk.find(x, registers, pushes, nullptr);
                each([&](py::ssize_t i) {
                    x[i] = least(most(x[i] * pushes[i] / costs[i], 1e-3 * x[i]), all(0.9));
                });
            }
            for (py::ssize_t v = 0; v < registers; ++v) {
                V spread{};
                for (py::ssize_t i = v; i < atoms * TILE; i += TILE) spread += costs[i] * x[i];
                spread *= 0.1 / static_cast<double>(atoms);
                for (py::ssize_t i = v; i < atoms * TILE; i += TILE) {
                    y[i] = 1 - x[i];
                    a[i] = spread / x[i], b[i] = spread / y[i];
                }
            }
        }

        // A step of the samples in a register that are not done; false if all are.
        bool advance(py::ssize_t v) {
            const double tie_break = of.rules.tie_break, tol = of.rules.tol;
            V gap{}, residual{};
            for (py::ssize_t k = 0; k < atoms; ++k) {
                const py::ssize_t i = k * TILE + v;
                const V gradient = costs[i] + tie_break * costs[i] * x[i] - pushes[i];
                const V lack = gradient - a[i] + b[i];
                gap += a[i] * x[i] + b[i] * y[i];
                const V size = (lack < 0 ? -lack : lack) / (costs[i] + pushes[i]);
                residual = size <= residual ? residual : size;  // once it is no number, for good
                step[k] = -gradient;
            }
            gap /= 2 * static_cast<double>(atoms);
            const auto unsolved = ~((gap <= tol) & (residual <= 1e3 * tol));
            bool any = false;
            for (int l = 0; l < lanes; ++l) any |= unsolved[l] != 0;
            if (!any) return false;

            const V target = of.rules.centring * gap;
            for (py::ssize_t k = 0; k < atoms; ++k) {
                const py::ssize_t i = k * TILE + v;
                for (py::ssize_t j = 0; j <= k; ++j)
                    system[halved(k) + j] = curvatures[(halved(k) + j) * TILE + v];
                system[halved(k) + k] += a[i] / x[i] + b[i] / y[i] + tie_break * costs[i];
                step[k] += target / x[i] - target / y[i];
            }
            solve_scaled(system.data(), step.data(), unit.data(), atoms, of.rules.damping);

            // How far they may go with everything positive: at most one.
            V length = all(1.0), dual_length = all(1.0);
            const auto room = [&](V from, V along) {
                return along < 0 ? -of.rules.reach * from / along : all(1.0);
            };
            for (py::ssize_t k = 0; k < atoms; ++k) {
                const py::ssize_t i = k * TILE + v;
                length = least(length, least(room(x[i], step[k]), room(y[i], -step[k])));
                const auto [on_a, on_b] = dual_steps(i, target, step[k]);
                dual_length = least(dual_length, least(room(a[i], on_a), room(b[i], on_b)));
            }
            length = unsolved ? length : V{};
            dual_length = unsolved ? dual_length : V{};
            for (py::ssize_t k = 0; k < atoms; ++k) {
                const py::ssize_t i = k * TILE + v;
                const auto [on_a, on_b] = dual_steps(i, target, step[k]);
                x[i] += length * step[k], y[i] -= length * step[k];
                a[i] += dual_length * on_a, b[i] += dual_length * on_b;
            }
            return true;
        }

        // Of the multipliers at a coefficient.
        GRAPHDICT_INLINE std::pair<V, V> dual_steps(py::ssize_t i, V target, V along) const {
            return {target / x[i] - a[i] - a[i] / x[i] * along,
                    target / y[i] - b[i] + b[i] / y[i] * along};
        }

        // The samples in a register are done: the last one takes its place.
        void part_with(py::ssize_t v) {
            const py::ssize_t first = start + places[v] * lanes;
            for (py::ssize_t k = 0; k < atoms; ++k) {
                // At a bound, not merely near it: the multiplier is of the size of the costs.
                const py::ssize_t i = k * TILE + v;
                V found = y[i] < of.rules.at_bound * b[i] / costs[i] ? all(1.0) : x[i];
                found = x[i] < of.rules.at_bound * a[i] / costs[i] ? V{} : found;
                scatter(found, of.to[first] + k, atoms,
                        static_cast<int>(std::min<py::ssize_t>(lanes, end - first)));
            }
            const py::ssize_t last = --registers;
            places[v] = places[last];
            for (V* rows : {costs, x, y, a, b})
                for (py::ssize_t i = 0; i < atoms * TILE; i += TILE) rows[i + v] = rows[i + last];
        }

        template <class Visit>
        void each(Visit visit) {
            for (py::ssize_t k = 0; k < atoms; ++k)
                for (py::ssize_t v = 0; v < registers; ++v) visit(k * TILE + v);
        }
    };

    Matrix<const double> given;
    Matrix<double> to;
    Barrier barrier;
    CodingRules rules;
    py::ssize_t atoms, width;
    std::vector<py::array> held;  // so that their memory stays
};

template <class Barrier>
std::unique_ptr<Job> code(Array<double> costs, Barrier barrier, int max_iter, double tol,
                          int warm_up, std::array<double, 5> rules, Array<double> out) {
    const auto [tie_break, centring, reach, at_bound, damping] = rules;
    return std::make_unique<Coding<Barrier>>(
        costs, std::move(barrier),
        CodingRules{max_iter, tol, warm_up, tie_break, centring, reach, at_bound, damping}, out);
}

inline void bind_interior_point(py::module_& m) {
    m.def(
        "solve_coefficients",
        [](Array<double> costs, Array<double> images, int max_iter, double tol, int warm_up,
           std::array<double, 5> rules, Array<double> out) {
            // Degrees or spectra (K, N), else Laplacians (K, N, N).
            if (images.ndim() == 2)
                return code(costs, LogSlopes(matrix(images)), max_iter, tol, warm_up, rules, out);
            return code(costs, DetSlopes(cube(images)), max_iter, tol, warm_up, rules, out);
        },
        py::arg("costs").noconvert(), py::arg("images").noconvert(), py::arg("max_iter"),
        py::arg("tol"), py::arg("warm_up"), py::arg("rules"), py::arg("out").noconvert());
}

}  // namespace graphdict
