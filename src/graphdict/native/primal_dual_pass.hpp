// The pass of BiPDS over samples with a logarithmic barrier: all of an iteration's work on them.
//
// It moves the coefficients to C where nobody has, finds both big products of the signals there,
// takes the dual step
//
//     Y+ = prox_{sigma h*}(Y + sigma A(2 C - before, extrapolated atoms))
//
// and finds the gradients: e + A*(Y+, W) of every sample, and (p C)' Z and (p C)' Y+ summed over
// samples. The spectral model has no edges: its samples are powers in modes, which act where the
// dual does. Where the point is checked, objective and residuals are found on the way.
#pragma once

#include "primal_dual_tile.hpp"
#include "thread_pool.hpp"

namespace graphdict {

// The pass over the samples of `pass`, one tile after the other.
template <class Real, bool POWERS>
void run_pass(const PassArrays<Real>& pass) {
    const py::ssize_t atoms = pass.images.rows, columns = pass.images.columns;
    const bool checked = pass.numbers.size > 0;
    const Edges edges(POWERS ? 0 : columns);
    PaddedMatrix<Real> factors(pass.atoms),
        distances(pass.sums.distances.rows, pass.sums.distances.columns);
    PaddedMatrix<Real> images(pass.images), extrapolated_images(pass.extrapolated),
        mixed_dual(atoms, columns);
    const py::ssize_t kept = checked ? images.stride : 0;
    TileMemory<Real> memory((2 * images.stride + kept + 5 * atoms + ROWS) * TILE);
    TileRows<Real> rows{memory.take(images.stride), memory.take(images.stride), memory.take(kept),
                        memory.take(atoms),         memory.take(atoms),         memory.take(atoms),
                        memory.take(atoms),         memory.take(atoms),         memory.take(ROWS)};
    std::fill(rows.x, rows.y_before, Vec<Real>{});  // beyond the last node they stay so, or finite
    CheckSums check;
    const py::ssize_t samples_of_tile = TileSpan<Real>::even(pass.samples.rows);
    for (py::ssize_t start = 0; start < pass.samples.rows;) {
        const TileSpan<Real> span(start, std::min(start + samples_of_tile, pass.samples.rows));
        load_tile(pass.before.coefficients, span, rows.c_extrapolated);
        if (pass.box) {
            load_tile(pass.before.gradient, span, rows.gradient);
            step_coefficients(pass, span, rows);
        } else {
            load_tile<Real>(pass.after.coefficients, span, rows.c);
        }
        // Shares, extrapolation, and sums at zero.
        for (py::ssize_t v = 0; v < span.registers; ++v) {
            auto share = gather(pass.shares.data + start + v * span.lanes, 1, span.filled(v));
            for (py::ssize_t at = v; at < atoms * TILE; at += TILE) {
                rows.p[at] = share * rows.c[at];
                rows.c_extrapolated[at] = rows.c[at] + (rows.c[at] - rows.c_extrapolated[at]);
                rows.gradient[at] = rows.energies[at] = Vec<Real>{};
            }
        }
        add_gram(rows.c, rows.p, atoms, span.registers, pass.sums.gram);
        load_tile(pass.samples, span, rows.x);
        load_tile(pass.before.dual, span, rows.y);
        Work<Real> work{};
        work.z = rows.z, work.c = rows.p, work.e = rows.gradient, work.registers = span.registers;
        if constexpr (POWERS) {
            for (py::ssize_t n = 0; checked && n < columns; n += ROWS) {
                copy_rows(rows.x + n * TILE, span.registers, rows.z);
                Work<Real> known = work;
                known.e = rows.energies, known.factors = images[0] + n,
                known.stride = images.stride;
                multiply<Real, Products::ENERGIES>(known, atoms, true);
            }
            if (checked) store_tile(rows.energies, span, pass.energies);
        } else {
            Prefetcher prefetch(edges.groups());
            prefetch.add(pass.after.dual, start, span.size);
            prefetch.add(pass.samples, start + span.size, span.size);
            prefetch.add(pass.before.dual, start + span.size, span.size);
            work.factors = factors[0], work.sums = distances[0], work.stride = factors.stride;
            multiply_differences<Real, Products::BOTH>(rows.x, edges, atoms, work, prefetch);
            if (checked) store_tile(rows.gradient, span, pass.energies);
        }
        if (checked) std::copy(rows.y, rows.y + images.stride * TILE, rows.y_before);
        work.stride = images.stride;
        for (py::ssize_t n = 0; n < columns; n += ROWS) {
            dual_step_of_rows<Real, POWERS>(
                Mixture<Real>(rows.c_extrapolated, extrapolated_images, n), pass.sigma,
                span.registers, rows.x + n * TILE, rows.y + n * TILE, rows.z);
            work.factors = images[0] + n, work.sums = mixed_dual[0] + n;
            multiply<Real, Products::BOTH>(work, atoms, true);
        }
        store_tile(rows.y, span, pass.after.dual);
        for (py::ssize_t v = 0; v < span.registers; ++v) {
            Real* first = pass.after.gradient[start + v * span.lanes];
            for (py::ssize_t k = 0; k < atoms; ++k) {
                auto extra = pass.box ? broadcast(static_cast<Real>(pass.box->slope))
                                      : gather<Real>(first + k, atoms, span.filled(v));
                scatter(rows.gradient[k * TILE + v] + extra, first + k, atoms, span.filled(v));
            }
        }
        if (checked) {
            LogProducts<Real> logs;
            check_mixed_images(rows, images, extrapolated_images, pass.sigma, span, logs, check);
            check_coefficients(pass, span, logs, check);
        }
        start += span.size;
    }
    distances.copy_to(pass.sums.distances);
    mixed_dual.copy_to(pass.sums.mixed_dual);
    for (py::ssize_t k = 0; k < atoms; ++k)
        for (py::ssize_t j = 0; j < k; ++j) pass.sums.gram[j][k] = pass.sums.gram[k][j];
    if (checked) check.copy_to(pass.numbers);
}

// The pass over a block of samples, in pieces of about two tiles, and at least four if these are
// not tiny. Each has sums of its own, which are then added in order: who did which does not show.
template <class Real>
class PrimalDualPass : public Job {
   public:
    explicit PrimalDualPass(const PassArrays<Real>& given)
        : pass(given),
          registers(TileSpan<Real>::count(pass.samples.rows)),
          count(
              std::max({py::ssize_t(1), registers / (2 * TILE), std::min(FEW, registers / TINY)})),
          sums((count - 1) * pass.sums.size()),
          numbers((count - 1) * pass.numbers.size) {
        check_shapes(pass);
    }

    explicit PrimalDualPass(const GivenPass<Real>& given) : PrimalDualPass(given.arrays()) {
        keep_alive(given);
    }

    std::size_t pieces() const override { return static_cast<std::size_t>(count); }

    void work(std::size_t piece) override {
        const PassArrays<Real> part = piece_of(static_cast<py::ssize_t>(piece));
        std::fill_n(part.sums.gram.data, part.sums.gram.size(), Real(0));
        if (pass.powers)
            run_pass<Real, true>(part);
        else
            run_pass<Real, false>(part);
    }

    void finish() override {
        for (py::ssize_t i = 1; i < count; ++i) {
            const PassArrays<Real> part = piece_of(i);
            pass.sums.add(part.sums);
            for (py::ssize_t n = 0; n < pass.numbers.size; ++n) pass.numbers[n] += part.numbers[n];
        }
    }

   protected:
    PassArrays<Real> pass;

   private:
    static constexpr py::ssize_t FEW = 4, TINY = 16;  // pieces, and registers in one

    PassArrays<Real> piece_of(py::ssize_t i) {
        const py::ssize_t lanes = TileSpan<Real>::lanes;
        const py::ssize_t start = registers * i / count * lanes;
        const py::ssize_t stop = std::min(registers * (i + 1) / count * lanes, pass.samples.rows);
        PassArrays<Real> part = pass;
        part.samples = rows_of(pass.samples, start, stop);
        part.shares = {pass.shares.data + start, stop - start};
        part.before = pass.before.rows(start, stop);
        part.after = pass.after.rows(start, stop);
        if (pass.energies.rows) part.energies = rows_of(pass.energies, start, stop);
        if (i == 0) return part;
        part.sums = pass.sums.in(sums.data() + (i - 1) * pass.sums.size());
        part.numbers.data = numbers.data() + (i - 1) * pass.numbers.size;
        return part;
    }

    py::ssize_t registers, count;
    std::vector<Real> sums;  // of all pieces but the first
    std::vector<double> numbers;
};

inline void bind_primal_dual_pass(py::module_& m) {
    in_both_precisions([&](auto real) {
        using Real = decltype(real);
        m.def(
            "primal_dual_pass",
            [](GivenSamples<Real> samples, AtomMove<Real> atoms, GivenIterate<Real> before,
               CoefficientStep step, PassResult<Real> found) -> JobHandle {
                return std::make_unique<PrimalDualPass<Real>>(
                    GivenPass<Real>{samples, atoms, before, step, found});
            },
            py::arg("samples"), py::arg("atoms"), py::arg("before"), py::arg("step"),
            py::arg("found"));
    });
}

}  // namespace graphdict
