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

#include "log_barrier.hpp"
#include "thread_pool.hpp"

namespace graphdict {

// (y - sqrt(y^2 + 4 sigma)) / 2, the prox of the conjugate of -log, without cancellation.
template <class Real>
GRAPHDICT_INLINE Vec<Real> log_prox_conjugate(Vec<Real> y, Real sigma) {
    const Vec<Real> size = select(y < 0, -y, y),
                    length = size + square_root<Real>(y * y + broadcast(4 * sigma));
    return select(y < 0, Real(-0.5) * length, broadcast(-2 * sigma) / length);
}

// An interval that holds every entry x of a variable, and the penalties that are linear in it:
// alpha x, which enters by its prox, and slope x, by its gradient.
struct Box {
    double low, high, alpha, slope;
};
using BoxTuple = std::array<double, 4>;  // as it comes from Python

inline Box box_of(const BoxTuple& box) { return {box[0], box[1], box[2], box[3]}; }

// Returns an entry after a step of size tau against its gradient, within its box.
template <class Real, class Entry>
GRAPHDICT_INLINE Entry projected_step(Entry before, Entry gradient, Real tau, const Box& box) {
    const Real low = static_cast<Real>(box.low), high = static_cast<Real>(box.high);
    const Entry to = before - tau * gradient - static_cast<Real>(tau * box.alpha);
    return select(to < low, low - Entry{}, select(to > high, high - Entry{}, to));
}

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
    Matrix<const Real> samples;       // signals (T, N), or powers in modes
    Vector<const Real> weights;       // shares p of the samples
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

// What is added up where a point is checked; squares but for the first.
struct CheckSums {
    double value = 0;            // of the objective, but for priors
    double dual_gap = 0;         // of the image from a subgradient of h* at the new dual
    double image = 0;            // A(C, W)
    double energy = 0;           // of the atoms
    double coefficient_gap = 0;  // of the gradient from what the last step assumed it to be
    double size = 0;             // of the coefficients

    void copy_to(Vector<double> numbers) const {
        const double found[] = {value, dual_gap, image, energy, coefficient_gap, size};
        std::copy(found, found + count, numbers.data);
    }
    static constexpr py::ssize_t count = 6;
};

// The rows of one tile.
template <class Real>
struct TileRows {
    Vec<Real>*x, *y, *y_before;  // samples, dual, the dual before; a row for each node, padded
    Vec<Real>*c, *p;             // coefficients, and times the shares of the samples
    Vec<Real>* c_extrapolated;   // 2 c - before; at first those before
    Vec<Real>*gradient, *energies;
    Vec<Real>* z;  // six rows, see products.hpp
};

// Six rows of the new dual, in y; also in z, with the powers x added if there are any.
template <class Real, bool POWERS>
GRAPHDICT_NOINLINE void dual_step_of_rows(const Vec<Real>* c_extrapolated, const Real* images,
                                          py::ssize_t stride, py::ssize_t atoms, Real sigma,
                                          py::ssize_t registers, const Vec<Real>* x, Vec<Real>* y,
                                          Vec<Real>* z) {
    for (py::ssize_t v = 0; v < registers; ++v) {
        Vec<Real> image[ROWS] = {};
        mix_images(c_extrapolated + v, images, stride, atoms, image);
        for (int g = 0; g < ROWS; ++g) {
            const Vec<Real> new_dual =
                log_prox_conjugate<Real>(y[g * TILE + v] + broadcast(sigma) * image[g], sigma);
            y[g * TILE + v] = new_dual;
            z[v * ROWS + g] = POWERS ? new_dual + x[g * TILE + v] : new_dual;
        }
    }
}

// A tile's part of (p C)' C, below the diagonal.
template <class Real>
void add_gram(const Vec<Real>* c, const Vec<Real>* p, py::ssize_t atoms, py::ssize_t registers,
              Matrix<Real> gram) {
    for (py::ssize_t k = 0; k < atoms; ++k)
        for (py::ssize_t j = 0; j <= k; ++j) {
            Vec<Real> total{};
            for (py::ssize_t v = 0; v < registers; ++v) total += p[k * TILE + v] * c[j * TILE + v];
            gram[k][j] += sum<Real>(total);
        }
}

// How far the image A(C, W) of a tile is from a subgradient of h* at the new dual, which it is to
// be: (Y - Y+) / sigma + A(extrapolated) - A(C), exactly zero where nothing moves. And the
// barrier's value.
template <class Real>
GRAPHDICT_NOINLINE void check_images(const TileRows<Real>& rows, const PaddedMatrix<Real>& images,
                                     const PaddedMatrix<Real>& extrapolated_images, Real sigma,
                                     TileSpan<Real> span, LogProducts<Real>& logs,
                                     CheckSums& check) {
    for (py::ssize_t n = 0; n < images.columns; n += ROWS) {
        const py::ssize_t count = std::min<py::ssize_t>(ROWS, images.columns - n);
        Vec<Real> gaps{}, sizes{};
        const Real rate = 1 / sigma;
        for (py::ssize_t v = 0; v < span.registers; ++v) {
            Vec<Real> image[ROWS] = {}, extrapolated[ROWS] = {};
            mix_images(rows.c + v, images[0] + n, images.stride, images.rows, image);
            mix_images(rows.c_extrapolated + v, extrapolated_images[0] + n, images.stride,
                       images.rows, extrapolated);
            logs.multiply(v, image, count);
            for (int g = 0; g < count; ++g) {
                const py::ssize_t at = (n + g) * TILE + v;
                Vec<Real> gap =
                    (rows.y_before[at] - rows.y[at]) * rate + (extrapolated[g] - image[g]);
                for (int l = span.filled(v); l < span.lanes; ++l) gap[l] = 0;
                gaps += gap * gap;
                sizes += image[g] * image[g];
            }
        }
        check.dual_gap += sum<Real>(gaps);
        check.image += sum<Real>(sizes);
    }
}

// What a check adds up for each coefficient; the gradient is there already.
template <class Real>
void check_coefficients(const PassArrays<Real>& pass, TileSpan<Real> span,
                        const LogProducts<Real>& logs, CheckSums& check) {
    for (py::ssize_t s = 0; s < span.size; ++s) {
        const py::ssize_t t = span.start + s;
        double value = -logs.of(s), energy = 0, gap = 0;
        for (py::ssize_t k = 0; k < pass.images.rows; ++k) {
            const double c = pass.after.coefficients[t][k], e = pass.energies[t][k];
            const double slack = static_cast<double>(pass.after.gradient[t][k]) -
                                 pass.before.gradient[t][k] -
                                 (c - pass.before.coefficients[t][k]) / pass.tau;
            value += c * e;
            energy += e * e;
            gap += slack * slack;
            check.size += c * c;
        }
        check.value += pass.weights[t] * value;
        check.energy += pass.weights[t] * energy;
        check.coefficient_gap += pass.weights[t] * gap;
    }
}

// The step of a tile's coefficients, from where they were against the rows of their gradient.
template <class Real>
void step_coefficients(const PassArrays<Real>& pass, TileSpan<Real> span,
                       const TileRows<Real>& rows) {
    for (py::ssize_t k = 0; k < pass.images.rows; ++k)
        for (py::ssize_t v = 0; v < span.registers; ++v) {
            const py::ssize_t at = k * TILE + v;
            rows.c[at] =
                projected_step(rows.c_extrapolated[at], rows.gradient[at], pass.tau, *pass.box);
        }
    // A lane without a sample stays where no sum sees it.
    const py::ssize_t last = span.registers - 1;
    for (int l = span.filled(last); l < span.lanes; ++l)
        for (py::ssize_t k = 0; k < pass.images.rows; ++k) rows.c[k * TILE + last][l] = 0;
    store_tile(rows.c, span, pass.after.coefficients);
}

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
            auto share = gather(pass.weights.data + start + v * span.lanes, 1, span.filled(v));
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
            dual_step_of_rows<Real, POWERS>(rows.c_extrapolated, extrapolated_images[0] + n,
                                            images.stride, atoms, pass.sigma, span.registers,
                                            rows.x + n * TILE, rows.y + n * TILE, rows.z);
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
            check_images(rows, images, extrapolated_images, pass.sigma, span, logs, check);
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

template <class Real>
void check_shapes(const PassArrays<Real>& pass, bool powers) {
    auto shaped = [](auto found, py::ssize_t rows, py::ssize_t columns, const char* what) {
        expect(found.rows == rows && found.columns == columns, what);
    };
    const py::ssize_t T = pass.samples.rows, N = pass.samples.columns, K = pass.images.rows;
    const py::ssize_t E = powers ? 0 : edges_of(N);
    const bool checked = pass.numbers.size > 0;
    expect(pass.weights.size == T, "weights must be (samples,)");
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

// The pass over a block of samples, in pieces of about two tiles, and at least four if these are
// not tiny. Each has sums of its own, which are then added in order: who did which does not show.
template <class Real>
class PrimalDualPass : public Job {
   public:
    PrimalDualPass(const PassArrays<Real>& given, bool powers)
        : pass(given),
          powers(powers),
          registers(TileSpan<Real>::count(pass.samples.rows)),
          count(
              std::max({py::ssize_t(1), registers / (2 * TILE), std::min(FEW, registers / TINY)})),
          sums((count - 1) * pass.sums.size()),
          numbers((count - 1) * pass.numbers.size) {
        check_shapes(pass, powers);
    }

    template <class... A>
    PrimalDualPass(const PassArrays<Real>& given, bool powers, const A&... arrays)
        : PrimalDualPass(given, powers) {
        keep_alive(arrays...);
    }

    std::size_t pieces() const override { return static_cast<std::size_t>(count); }

    void work(std::size_t piece) override {
        const PassArrays<Real> part = piece_of(static_cast<py::ssize_t>(piece));
        std::fill_n(part.sums.gram.data, part.sums.gram.size(), Real(0));
        if (powers)
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
        part.weights = {pass.weights.data + start, stop - start};
        part.before = pass.before.rows(start, stop);
        part.after = pass.after.rows(start, stop);
        if (pass.energies.rows) part.energies = rows_of(pass.energies, start, stop);
        if (i == 0) return part;
        part.sums = pass.sums.in(sums.data() + (i - 1) * pass.sums.size());
        part.numbers.data = numbers.data() + (i - 1) * pass.numbers.size;
        return part;
    }

    bool powers;
    py::ssize_t registers, count;
    std::vector<Real> sums;  // of all pieces but the first
    std::vector<double> numbers;
};

template <class Real>
void bind_primal_dual_pass_of(py::module_& m) {
    using A = Array<Real>;
    m.def(
        "primal_dual_pass",
        [](A samples, A weights, std::tuple<A, A, A, double> atoms, std::tuple<A, A, A> before,
           double tau, std::optional<BoxTuple> box,
           std::tuple<A, A, A, A, A, A, A, Array<double>> found, bool powers) -> JobHandle {
            const auto& [w, images, extrapolated, sigma] = atoms;
            const auto& [old_coefficients, old_gradient, old_dual] = before;
            const auto& [coefficients, dual, gradient, energies, distances, mixed_dual, gram,
                         numbers] = found;
            const PassArrays<Real> pass{
                matrix(samples),
                vector(weights),
                matrix(w),
                matrix(images),
                matrix(extrapolated),
                static_cast<Real>(sigma),
                {matrix(old_coefficients), matrix(old_gradient), matrix(old_dual)},
                static_cast<Real>(tau),
                box ? std::optional(box_of(*box)) : std::nullopt,
                {matrix_out(coefficients), matrix_out(gradient), matrix_out(dual)},
                matrix_out(energies),
                {matrix_out(distances), matrix_out(mixed_dual), matrix_out(gram)},
                vector_out(numbers)};
            return std::make_unique<PrimalDualPass<Real>>(
                pass, powers, samples, weights, w, images, extrapolated, old_coefficients,
                old_gradient, old_dual, coefficients, dual, gradient, energies, distances,
                mixed_dual, gram, numbers);
        },
        py::arg("samples"), py::arg("weights"), py::arg("atoms"), py::arg("before"), py::arg("tau"),
        py::arg("box"), py::arg("found"), py::arg("powers"));
}

inline void bind_primal_dual_pass(py::module_& m) {
    bind_primal_dual_pass_of<double>(m);
    bind_primal_dual_pass_of<float>(m);
}

}  // namespace graphdict
