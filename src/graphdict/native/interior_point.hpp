// Coefficients of samples under known atoms by an interior-point method;
// graphdict.core.solvers.interior_point has the mathematics.
//
// All samples of a tile take a step together, once the derivatives of the barrier are known for
// each (barrier_derivatives.hpp). Registers whose samples are all done leave the tile, and others
// take their place.
#pragma once

#include "barrier_derivatives.hpp"
#include "thread_pool.hpp"

namespace graphdict {

// What comes from Python, in a tuple each.
struct InteriorPointLimits {
    int max_iter;
    double tol;  // of the duality gap
    int warm_up;
    using Members = std::tuple<int, double, int>;
};

struct InteriorPointRules {
    double tie_break, centring, reach, at_bound, damping;
    using Members = std::tuple<double, double, double, double, double>;
};

// Solves positive definite systems, one in each lane, scaled to a unit diagonal for accuracy. The
// matrix has its right side as one more row, see solve_forward; there the solution is left.
// `unit` is room for a vector.
inline void solve_scaled(Vec<double>* matrix, Vec<double>* unit, py::ssize_t side, double damping) {
    const MatrixInEachLane factor{matrix};
    Vec<double>* right = factor.row(side);
    for (py::ssize_t k = 0; k < side; ++k) {
        Vec<double>* row = factor.row(k);
        const Vec<double> own = unit[k] = 1 / square_root<double>(row[k]);
        right[k] *= own;
        row[k] = broadcast(1 + damping);
    }
    for (py::ssize_t k = 1; k < side; ++k) {
        Vec<double>* row = factor.row(k);
        const Vec<double> own = unit[k];
        for (py::ssize_t j = 0; j < k; ++j) row[j] = row[j] * own * unit[j];
    }
    right[side] = Vec<double>{};
    cholesky(factor, side + 1, side, [damping](Vec<double> pivot, py::ssize_t) {
        return 1 / square_root<double>(maximum(pivot, broadcast(damping)));
    });
    solve_backward(factor, side, right);
    for (py::ssize_t k = 0; k < side; ++k) right[k] *= unit[k];
}

template <class Barrier>
class InteriorPointSolver : public Job {
   public:
    InteriorPointSolver(const Array<double>& costs, Barrier barrier,
                        const InteriorPointLimits& limits, const InteriorPointRules& rules,
                        const Array<double>& out)
        : given(matrix(costs)),
          to(matrix_out(out)),
          barrier(std::move(barrier)),
          limits(limits),
          rules(rules),
          atoms(given.columns) {
        keep_alive(costs, out);
        expect(atoms > 0, "costs must be of at least one atom");
        expect(this->barrier.atoms() == atoms, "costs must be (samples, atoms)");
        expect(to.has_shape_of(given), "out must be as costs");
        // Fewer samples at a time where there are many pairs, so that these stay in cache.
        width =
            std::clamp<py::ssize_t>(CACHED / (packed_size(atoms) + ROWS_OF_ATOM * atoms), 2, TILE);
    }

    std::size_t pieces() const override {
        const py::ssize_t samples = width * lanes;
        return static_cast<std::size_t>((given.rows + samples - 1) / samples);
    }

    void work(std::size_t piece) override {
        const py::ssize_t start = static_cast<py::ssize_t>(piece) * width * lanes;
        Tile tile(*this, start, std::min(start + width * lanes, given.rows));
        tile.begin();
        for (int i = 0; i < limits.max_iter && tile.registers > 0; ++i) {
            tile.workspace.compute(tile.x, tile.registers, tile.slopes, tile.hessian);
            for (py::ssize_t v = tile.registers; v-- > 0;)
                if (!tile.step_register(v)) tile.store_and_remove(v);
        }
        while (tile.registers > 0) tile.store_and_remove(tile.registers - 1);
    }

   private:
    using V = Vec<double>;
    static constexpr int lanes = Register<double>::lanes;
    static constexpr py::ssize_t CACHED = (1 << 19) / REGISTER_BYTES;
    static constexpr py::ssize_t ROWS_OF_ATOM = 6;

    // Samples on their way: the distances x and y of coefficients from both bounds, which are kept
    // apart since one of them may be tiny, and their multipliers a and b.
    struct Tile {
        const InteriorPointSolver& of;
        py::ssize_t start, end, atoms, registers;
        TileMemory<double> scratch;
        V *costs, *x, *y, *a, *b, *slopes, *hessian;
        typename Barrier::Workspace workspace;
        std::vector<V> system, unit;      // the step's equations
        std::vector<py::ssize_t> places;  // of registers among the samples

        Tile(const InteriorPointSolver& of, py::ssize_t start, py::ssize_t end)
            : of(of),
              start(start),
              end(end),
              atoms(of.atoms),
              registers((end - start + lanes - 1) / lanes),
              scratch((ROWS_OF_ATOM * atoms + packed_size(atoms)) * TILE),
              costs(scratch.take(atoms)),
              x(scratch.take(atoms)),
              y(scratch.take(atoms)),
              a(scratch.take(atoms)),
              b(scratch.take(atoms)),
              slopes(scratch.take(atoms)),
              hessian(scratch.take(packed_size(atoms))),
              workspace(of.barrier),
              system(packed_size(atoms + 1)),
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
            workspace.compute(x, registers, slopes, nullptr);
            each([&](py::ssize_t i) {
                // A cost of zero would let a coefficient rest anywhere.
                const V least_cost = of.rules.tie_break * slopes[i];
                costs[i] = select(costs[i] < least_cost, least_cost, costs[i]);
            });
            for (int i = 0; i < of.limits.warm_up; ++i) {
                if (i > 0) workspace.compute(x, registers, slopes, nullptr);
                each([&](py::ssize_t i) {
                    x[i] =
                        minimum(maximum(x[i] * slopes[i] / costs[i], 1e-3 * x[i]), broadcast(0.9));
                });
            }
            for (py::ssize_t v = 0; v < registers; ++v) {
                V start_gap{};
                for (py::ssize_t i = v; i < atoms * TILE; i += TILE) start_gap += costs[i] * x[i];
                start_gap *= 0.1 / static_cast<double>(atoms);
                for (py::ssize_t i = v; i < atoms * TILE; i += TILE) {
                    y[i] = 1 - x[i];
                    a[i] = start_gap / x[i], b[i] = start_gap / y[i];
                }
            }
        }

        // A step of the samples in a register that are not done; false if all are.
        bool step_register(py::ssize_t v) {
            const double tie_break = of.rules.tie_break, tol = of.limits.tol;
            V gap{}, residual{}, *step = system.data() + packed_size(atoms);
            for (py::ssize_t k = 0; k < atoms; ++k) {
                const py::ssize_t i = k * TILE + v;
                const V gradient = costs[i] + tie_break * costs[i] * x[i] - slopes[i];
                const V dual_residual = gradient - a[i] + b[i];
                gap += a[i] * x[i] + b[i] * y[i];
                const V size = select(dual_residual < 0, -dual_residual, dual_residual) /
                               (costs[i] + slopes[i]);
                residual = select(size <= residual, residual, size);  // no number stays none
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
                    system[packed_size(k) + j] = hessian[(packed_size(k) + j) * TILE + v];
                system[packed_size(k) + k] += a[i] / x[i] + b[i] / y[i] + tie_break * costs[i];
                step[k] += target / x[i] - target / y[i];
            }
            solve_scaled(system.data(), unit.data(), atoms, of.rules.damping);

            // How far they may go with everything positive: at most one.
            V length = broadcast(1.0), dual_length = broadcast(1.0);
            const auto room = [&](V from, V along) {
                return select(along < 0, -of.rules.reach * from / along, broadcast(1.0));
            };
            for (py::ssize_t k = 0; k < atoms; ++k) {
                const py::ssize_t i = k * TILE + v;
                length = minimum(length, minimum(room(x[i], step[k]), room(y[i], -step[k])));
                const auto [on_a, on_b] = dual_steps(i, target, step[k]);
                dual_length = minimum(dual_length, minimum(room(a[i], on_a), room(b[i], on_b)));
            }
            length = select(unsolved, length, V{});
            dual_length = select(unsolved, dual_length, V{});
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
        void store_and_remove(py::ssize_t v) {
            const py::ssize_t first = start + places[v] * lanes;
            for (py::ssize_t k = 0; k < atoms; ++k) {
                // At a bound, not merely near it: the multiplier is of the size of the costs.
                const py::ssize_t i = k * TILE + v;
                V found = select(y[i] < of.rules.at_bound * b[i] / costs[i], broadcast(1.0), x[i]);
                found = select(x[i] < of.rules.at_bound * a[i] / costs[i], V{}, found);
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
    InteriorPointLimits limits;
    InteriorPointRules rules;
    py::ssize_t atoms, width;
};

inline void bind_interior_point(py::module_& m) {
    m.def(
        "solve_coefficients",
        [](const Array<double>& costs, const Array<double>& images,
           const InteriorPointLimits& limits, const InteriorPointRules& rules,
           const Array<double>& out) -> JobHandle {
            const auto solver = [&](auto barrier) {
                using Solver = InteriorPointSolver<decltype(barrier)>;
                return std::make_unique<Solver>(costs, std::move(barrier), limits, rules, out);
            };
            // Degrees or spectra (K, N), else Laplacians (K, N, N).
            if (images.head().dimensions == 2) return solver(LogBarrierDerivatives(matrix(images)));
            return solver(LogDetDerivatives(cube(images)));
        },
        py::arg("costs"), py::arg("images"), py::arg("limits"), py::arg("rules"), py::arg("out"));
}

}  // namespace graphdict
