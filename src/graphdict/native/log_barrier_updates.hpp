// The two passes of MM over samples with a logarithmic barrier.
//
// The barrier of a sample sees D = C images, with the degrees (or spectra) of the atoms as images.
// Its slope in the images is (p C)' (1 / D), for shares p of the samples, and in the coefficients
// (1 / D) images'.
#pragma once

#include "log_barrier.hpp"
#include "multiplicative_update.hpp"
#include "thread_pool.hpp"

namespace graphdict {

// (p C)' (1 / D) (K, N), for coefficients C (T, K) and shares p (T,).
template <class Real>
class LogBarrierAtomSlopes : public AtomSlopes<Real> {
   public:
    LogBarrierAtomSlopes(const Array<Real>& coefficients, const Array<double>& shares,
                         const Array<Real>& images, const Array<Real>& out)
        : AtomSlopes<Real>(coefficients, shares, images, out) {}

    void work(std::size_t) override {
        const py::ssize_t atoms = images.rows;
        PaddedMatrix<Real> factors(images), found(images.rows, images.columns);
        TileMemory<Real> memory((2 * atoms + ROWS) * TILE);
        Vec<Real>*c = memory.take(atoms), *p = memory.take(atoms), *z = memory.take(ROWS);
        for (py::ssize_t start = 0; start < from.rows;) {
            const TileSpan<Real> span(start, from.rows);
            load_tile(from, span, c);
            weighted_coefficients(shares.data, c, atoms, span, p);
            Work<Real> work{};
            work.z = z, work.c = p, work.stride = found.stride, work.registers = span.registers;
            for (py::ssize_t n = 0; n < images.columns; n += ROWS) {
                inverse_images(Mixture<Real>(c, factors, n), span, z);
                work.sums = found[0] + n;
                multiply<Real, Products::SUMS>(work, atoms, true);
            }
            start += span.size;
        }
        found.copy_to(to);
    }

   private:
    using AtomSlopes<Real>::from, AtomSlopes<Real>::shares, AtomSlopes<Real>::to;
    const Matrix<const Real> images = AtomSlopes<Real>::seen;
};

// Updates of the coefficients, and (p C)' Z of the new ones.
template <class Real>
class LogBarrierUpdates : public CoefficientUpdates<Real> {
   public:
    // The dictionary is atoms (K, E), none for powers, and their images (K, N).
    LogBarrierUpdates(const Array<Real>& samples, const Array<double>& shares,
                      const std::pair<Array<Real>, Array<Real>>& dictionary,
                      const Array<Real>& coefficients, const UpdateRule& rule,
                      const UpdateResult<Real>& found, bool powers)
        : CoefficientUpdates<Real>(samples, shares, dictionary.first, coefficients, rule, found,
                                   powers),
          images(matrix(dictionary.second)),
          powers(powers) {
        this->keep_alive(dictionary.second);
        expect(images.rows == this->from.columns && images.columns == this->samples.columns,
               "images must be (atoms, nodes)");
    }

    void work(std::size_t) override { Pass(*this).run(); }

   private:
    // One run over all samples, with memory of its own.
    struct Pass {
        const LogBarrierUpdates& of;
        const py::ssize_t count = of.from.columns, columns = of.images.columns;
        const Edges edges{of.powers ? 0 : columns};
        PaddedMatrix<Real> images{of.images}, atoms{of.atoms};
        PaddedMatrix<Real> found{of.distances.rows, of.distances.columns};
        TileMemory<Real> memory{static_cast<std::size_t>(images.stride + 4 * count + ROWS) * TILE};
        // Rows of the tile: samples, coefficients, and times shares; energies, slopes.
        Vec<Real>* x = memory.take(images.stride);
        Vec<Real>*c = memory.take(count), *p = memory.take(count);
        Vec<Real>*energies = memory.take(count), *slopes = memory.take(count);
        Vec<Real>* z = memory.take(ROWS);
        double value = 0, gradient = 0, scale = 0;

        explicit Pass(const LogBarrierUpdates& of) : of(of) {}

        void run() {
            std::fill(x, x + images.stride * TILE, Vec<Real>{});
            for (py::ssize_t start = 0; start < of.from.rows;) {
                const TileSpan<Real> span(start, of.from.rows);
                load_tile(of.samples, span, x);
                load_tile(of.from, span, c);
                std::fill(energies, energies + count * TILE, Vec<Real>{});
                Prefetcher prefetch(edges.groups());
                prefetch.add(of.samples, start + span.size, span.size);
                Work<Real> work{};
                work.z = z, work.c = p, work.e = energies, work.registers = span.registers;
                work.factors = of.powers ? images[0] : atoms[0], work.sums = found[0];
                work.stride = found.stride;
                multiply_samples<Products::ENERGIES>(work, prefetch);
                for (int round = 0; round < of.rule.rounds; ++round) update(span, round == 0);
                store_tile(c, span, of.to);
                add_values(span);
                weighted_coefficients(of.shares.data, c, count, span, p);
                multiply_samples<Products::SUMS>(work, prefetch);
                start += span.size;
            }
            found.copy_to(of.distances);
            of.numbers[0] = value, of.numbers[1] = gradient, of.numbers[2] = scale;
        }

        // A product of the powers themselves, or of the squared differences of signals.
        template <Products PRODUCTS>
        void multiply_samples(Work<Real> work, Prefetcher& prefetch) {
            if (!of.powers)
                return multiply_differences<Real, PRODUCTS>(x, edges, count, work, prefetch);
            for (py::ssize_t n = 0; n < columns;
                 n += ROWS, work.factors += ROWS, work.sums += ROWS) {
                copy_rows(x + n * TILE, work.registers, z);
                multiply<Real, PRODUCTS>(work, count, true);
            }
        }

        // One update of the coefficients of a tile; the first one adds up the projected gradient.
        void update(TileSpan<Real> span, bool first) {
            std::fill(slopes, slopes + count * TILE, Vec<Real>{});
            Work<Real> work{};
            work.z = z, work.e = slopes, work.registers = span.registers;
            work.stride = images.stride;
            for (py::ssize_t n = 0; n < columns; n += ROWS) {
                inverse_images(Mixture<Real>(c, images, n), span, z);
                work.factors = images[0] + n;
                multiply<Real, Products::ENERGIES>(work, count, true);
            }
            const Vec<Real> alpha = broadcast(static_cast<Real>(of.rule.coefficient_alpha));
            for (py::ssize_t k = 0; k < count; ++k) {
                Vec<Real> squares{}, scales{};
                for (py::ssize_t v = 0; v < span.registers; ++v) {
                    Vec<Real>& now = c[k * TILE + v];
                    const Vec<Real> cost = energies[k * TILE + v] + alpha,
                                    slope = slopes[k * TILE + v];
                    if (first) {
                        const Vec<Real> projected = projected_gradient<Real>(now, slope, cost);
                        squares += projected * projected;
                        scales += now * cost * now * cost;
                    }
                    now = updated_coefficient<Real>(now, slope, cost, of.rule);
                }
                gradient += sum<Real>(squares);
                scale += sum<Real>(scales);
            }
        }

        // The objective at the coefficients of a tile.
        void add_values(TileSpan<Real> span) {
            LogProducts<Real> logs;
            for (py::ssize_t n = 0; n < columns; n += ROWS)
                multiply_logs(Mixture<Real>(c, images, n), span.registers, logs);
            for (py::ssize_t s = 0; s < span.size; ++s) {
                double fit = -logs.of(s);
                for (py::ssize_t k = 0; k < count; ++k) {
                    const py::ssize_t v = k * TILE + s / span.lanes, l = s % span.lanes;
                    fit += static_cast<double>(c[v][l]) * energies[v][l];
                }
                value += of.shares[span.start + s] * fit;
            }
        }
    };

    Matrix<const Real> images;
    bool powers;
};

inline void bind_log_barrier_updates(py::module_& m) {
    in_both_precisions([&](auto real) {
        using Real = decltype(real);
        using A = Array<Real>;
        m.def(
            "log_barrier_atom_slopes",
            [](A coefficients, Array<double> shares, A images, A out) -> JobHandle {
                return std::make_unique<LogBarrierAtomSlopes<Real>>(coefficients, shares, images,
                                                                    out);
            },
            py::arg("coefficients"), py::arg("shares"), py::arg("images"), py::arg("out"));
        m.def(
            "log_barrier_update_coefficients",
            [](A samples, Array<double> shares, std::pair<A, A> dictionary, A coefficients,
               UpdateRule rule, UpdateResult<Real> found, bool powers) -> JobHandle {
                return std::make_unique<LogBarrierUpdates<Real>>(samples, shares, dictionary,
                                                                 coefficients, rule, found, powers);
            },
            py::arg("samples"), py::arg("shares"), py::arg("dictionary"), py::arg("coefficients"),
            py::arg("rule"), py::arg("found"), py::arg("powers"));
    });
}

}  // namespace graphdict
