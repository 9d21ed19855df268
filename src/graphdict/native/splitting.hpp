// The pass of BiPDS over samples with a logarithmic barrier: all of an iteration's work on them.
//
// It moves the coefficients to C where nobody has, finds both big products of the signals there,
// takes the dual step
//
//     Y+ = prox_{sigma h*}(Y + sigma A(2 C - before, atoms ahead))
//
// and finds the gradients: e + A*(Y+, W) of every sample, and (p C)' Z and (p C)' Y+ summed over
// samples. The spectral model has no edges: its samples are powers in modes, which act where the
// dual does. Where the point is checked, objective and residuals are found on the way.
#pragma once

#include "barrier.hpp"
#include "team.hpp"

namespace graphdict {

// (y - sqrt(y^2 + 4 sigma)) / 2, the prox of the conjugate of -log, without cancellation.
template <class Real>
GRAPHDICT_INLINE Vec<Real> prox_conjugate(Vec<Real> y, Real sigma) {
    const Vec<Real> size = y < 0 ? -y : y, length = size + root<Real>(y * y + all(4 * sigma));
    return y < 0 ? Real(-0.5) * length : all(-2 * sigma) / length;
}

// What holds single entries: low <= x <= high, and alpha x, by its prox, or slope x, by its
// gradient.
struct Box {
    double low, high, alpha, slope;
};

inline std::optional<Box> box_of(const std::optional<std::array<double, 4>>& box) {
    if (!box) return std::nullopt;
    const auto [low, high, alpha, slope] = *box;
    return Box{low, high, alpha, slope};
}

// An entry after a step of size tau against its gradient.
template <class Real, class Entry>
GRAPHDICT_INLINE Entry moved(Entry before, Entry gradient, Real tau, const Box& box) {
    const Real low = static_cast<Real>(box.low), high = static_cast<Real>(box.high);
    const Entry to = before - tau * gradient - static_cast<Real>(tau * box.alpha);
    return to < low ? low - Entry{} : to > high ? high - Entry{} : to;
}

// The arrays of a pass, as they come from Python. Where no point is checked, the new coefficients,
// gradient and dual may take the place of the old ones.
template <class Real>
struct Pass {
    Matrix<const Real> samples;  // signals, or powers in modes
    Vector<const Real> weights;  // shares p of the samples
    Matrix<const Real> atoms;    // (K, E); none for powers
    Matrix<const Real> images;   // degrees or spectra of the atoms (K, N)
    Matrix<const Real> ahead;    // those of the extrapolated atoms
    Real sigma;
    Matrix<const Real> before, slope, dual;  // coefficients, the gradient in them, dual
    Real tau;
    std::optional<Box> box;                   // if coefficients are still to be moved
    Matrix<Real> after;                       // the new coefficients
    Matrix<Real> raised, gradient, energies;  // found; without a box, the gradient is added to
    Matrix<Real> distances, mixed, gram;      // found: sums over samples
    Vector<double> numbers;  // found where the point is checked, else empty: see Check
};

// What is added up where a point is checked; squares but for the first.
struct Check {
    double value = 0;  // of the objective, but for priors
    double dual_gap = 0, image = 0, energy = 0, coefficient_gap = 0, size = 0;
    static constexpr py::ssize_t count = 6;
};

// The rows of one tile.
template <class Real>
struct Rows {
    Vec<Real>*x, *y, *old;              // samples, the dual, and what it was; (N) padded
    Vec<Real>*c, *p, *ahead, *e, *own;  // coefficients, weighted, extrapolated; gradient, energies
    Vec<Real>* z;
};

// Six rows of the new dual, in y; also in z, with the powers x added if there are any.
template <class Real, bool POWERS>
GRAPHDICT_APART void ascend_some(const Vec<Real>* ahead, const Real* images, py::ssize_t pitch,
                                 py::ssize_t atoms, Real sigma, py::ssize_t registers,
                                 const Vec<Real>* x, Vec<Real>* y, Vec<Real>* z) {
    for (py::ssize_t v = 0; v < registers; ++v) {
        Vec<Real> now[ROWS] = {};
        mix(ahead + v, images, pitch, atoms, now);
        for (int g = 0; g < ROWS; ++g) {
            Vec<Real> raised = prox_conjugate<Real>(y[g * TILE + v] + all(sigma) * now[g], sigma);
            y[g * TILE + v] = raised;
            z[v * ROWS + g] = POWERS ? raised + x[g * TILE + v] : raised;
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
// be: (Y - Y+) / sigma + A(ahead) - A(C), exactly zero where nothing moves. And the barrier's
// value.
template <class Real>
GRAPHDICT_APART void check_images(const Rows<Real>& rows, const Padded<Real>& images,
                                  const Padded<Real>& images_ahead, Real sigma, Span<Real> span,
                                  LogProducts<Real>& logs, Check& check) {
    for (py::ssize_t n = 0; n < images.columns; n += ROWS) {
        const py::ssize_t count = std::min<py::ssize_t>(ROWS, images.columns - n);
        Vec<Real> gaps{}, sizes{};
        const Real rate = 1 / sigma;
        for (py::ssize_t v = 0; v < span.registers; ++v) {
            Vec<Real> image[ROWS] = {}, ahead[ROWS] = {};
            mix(rows.c + v, images[0] + n, images.pitch, images.rows, image);
            mix(rows.ahead + v, images_ahead[0] + n, images.pitch, images.rows, ahead);
            logs.multiply(v, image, count);
            for (int g = 0; g < count; ++g) {
                const py::ssize_t at = (n + g) * TILE + v;
                Vec<Real> gap = (rows.old[at] - rows.y[at]) * rate + (ahead[g] - image[g]);
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
void check_coefficients(const Pass<Real>& pass, Span<Real> span, const LogProducts<Real>& logs,
                        Check& check) {
    for (py::ssize_t s = 0; s < span.size; ++s) {
        const py::ssize_t t = span.start + s;
        double value = -logs.of(s), energy = 0, gap = 0;
        for (py::ssize_t k = 0; k < pass.images.rows; ++k) {
            const double c = pass.after[t][k], e = pass.energies[t][k];
            const double slack = static_cast<double>(pass.gradient[t][k]) - pass.slope[t][k] -
                                 (c - pass.before[t][k]) / pass.tau;
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

// The step of a tile's coefficients, from the rows `ahead` along the rows `e`.
template <class Real>
void move_tile(const Pass<Real>& pass, Span<Real> span, const Rows<Real>& rows) {
    for (py::ssize_t k = 0; k < pass.images.rows; ++k)
        for (py::ssize_t v = 0; v < span.registers; ++v) {
            const py::ssize_t at = k * TILE + v;
            rows.c[at] = moved(rows.ahead[at], rows.e[at], pass.tau, *pass.box);
        }
    // A lane without a sample stays where no sum sees it.
    const py::ssize_t last = span.registers - 1;
    for (int l = span.filled(last); l < span.lanes; ++l)
        for (py::ssize_t k = 0; k < pass.images.rows; ++k) rows.c[k * TILE + last][l] = 0;
    leave(rows.c, span, pass.after);
}

template <class Real, bool POWERS>
void advance(const Pass<Real>& pass) {
    const py::ssize_t atoms = pass.images.rows, columns = pass.images.columns;
    const bool checked = pass.numbers.size > 0;
    const Edges edges(POWERS ? 0 : columns);
    Padded<Real> factors(pass.atoms), distances(pass.distances.rows, pass.distances.columns);
    Padded<Real> images(pass.images), images_ahead(pass.ahead), mixed(atoms, columns);
    const py::ssize_t kept = checked ? images.pitch : 0;
    Scratch<Real> scratch((2 * images.pitch + kept + 5 * atoms + ROWS) * TILE);
    Rows<Real> rows{scratch.take(images.pitch), scratch.take(images.pitch), scratch.take(kept),
                    scratch.take(atoms),        scratch.take(atoms),        scratch.take(atoms),
                    scratch.take(atoms),        scratch.take(atoms),        scratch.take(ROWS)};
    std::fill(rows.x, rows.old, Vec<Real>{});  // beyond the last node they stay so, or finite
    Check check;
    const py::ssize_t most = Span<Real>::even(pass.samples.rows);
    for (py::ssize_t start = 0; start < pass.samples.rows;) {
        const Span<Real> span(start, std::min(start + most, pass.samples.rows));
        enter(pass.before, span, rows.ahead);
        if (pass.box) {
            enter(pass.slope, span, rows.e);
            move_tile(pass, span, rows);
        } else {
            enter<Real>({pass.after.data, pass.after.rows, atoms}, span, rows.c);
        }
        for (py::ssize_t v = 0; v < span.registers; ++v) {
            auto share = gathered(pass.weights.data + start + v * span.lanes, 1, span.filled(v));
            for (py::ssize_t at = v; at < atoms * TILE; at += TILE) {
                rows.p[at] = share * rows.c[at];
                rows.ahead[at] = rows.c[at] + (rows.c[at] - rows.ahead[at]);
                rows.e[at] = rows.own[at] = Vec<Real>{};
            }
        }
        add_gram(rows.c, rows.p, atoms, span.registers, pass.gram);
        enter(pass.samples, span, rows.x);
        enter(pass.dual, span, rows.y);
        Work<Real> work{nullptr, nullptr, rows.z, rows.p,        rows.e,
                        nullptr, nullptr, 0,      span.registers};
        if constexpr (POWERS) {
            for (py::ssize_t n = 0; checked && n < columns; n += ROWS) {
                for (py::ssize_t v = 0; v < span.registers; ++v)
                    for (int g = 0; g < ROWS; ++g)
                        rows.z[v * ROWS + g] = rows.x[(n + g) * TILE + v];
                Work<Real> known = work;
                known.e = rows.own, known.factors = images[0] + n, known.pitch = images.pitch;
                multiply<Real, Want::ENERGIES>(known, atoms, true);
            }
            if (checked) leave(rows.own, span, pass.energies);
        } else {
            Prefetch prefetch(edges.groups());
            prefetch.add(pass.raised, start, span.size);
            prefetch.add(pass.samples, start + span.size, span.size);
            prefetch.add(pass.dual, start + span.size, span.size);
            work.factors = factors[0], work.sums = distances[0], work.pitch = factors.pitch;
            multiply_differences<Real, Want::BOTH>(rows.x, edges, atoms, work, prefetch);
            if (checked) leave(rows.e, span, pass.energies);
        }
        if (checked) std::copy(rows.y, rows.y + images.pitch * TILE, rows.old);
        work.pitch = images.pitch;
        for (py::ssize_t n = 0; n < columns; n += ROWS) {
            ascend_some<Real, POWERS>(rows.ahead, images_ahead[0] + n, images.pitch, atoms,
                                      pass.sigma, span.registers, rows.x + n * TILE,
                                      rows.y + n * TILE, rows.z);
            work.factors = images[0] + n, work.sums = mixed[0] + n;
            multiply<Real, Want::BOTH>(work, atoms, true);
        }
        leave(rows.y, span, pass.raised);
        for (py::ssize_t v = 0; v < span.registers; ++v) {
            Real* first = pass.gradient[start + v * span.lanes];
            for (py::ssize_t k = 0; k < atoms; ++k) {
                auto extra = pass.box ? all(static_cast<Real>(pass.box->slope))
                                      : gathered<Real>(first + k, atoms, span.filled(v));
                scatter(rows.e[k * TILE + v] + extra, first + k, atoms, span.filled(v));
            }
        }
        if (checked) {
            LogProducts<Real> logs;
            check_images(rows, images, images_ahead, pass.sigma, span, logs, check);
            check_coefficients(pass, span, logs, check);
        }
        start += span.size;
    }
    distances.copy_to(pass.distances);
    mixed.copy_to(pass.mixed);
    for (py::ssize_t k = 0; k < atoms; ++k)
        for (py::ssize_t j = 0; j < k; ++j) pass.gram[j][k] = pass.gram[k][j];
    if (checked) {
        const double found[] = {check.value,  check.dual_gap,        check.image,
                                check.energy, check.coefficient_gap, check.size};
        std::copy(found, found + Check::count, pass.numbers.data);
    }
}

template <class Real>
void check_shapes(const Pass<Real>& pass, bool powers) {
    auto shaped = [](auto found, py::ssize_t rows, py::ssize_t columns, const char* what) {
        expect(found.rows == rows && found.columns == columns, what);
    };
    const py::ssize_t T = pass.samples.rows, N = pass.samples.columns, K = pass.images.rows;
    const py::ssize_t E = powers ? 0 : N * (N - 1) / 2;
    const bool checked = pass.numbers.size > 0;
    expect(pass.weights.size == T, "weights must be (samples,)");
    expect(!checked || pass.numbers.size == Check::count, "numbers must be (6,) or empty");
    shaped(pass.atoms, K, E, "atoms must be (atoms, edges)");
    shaped(pass.images, K, N, "images must be (atoms, nodes)");
    shaped(pass.ahead, K, N, "ahead must be (atoms, nodes)");
    shaped(pass.before, T, K, "before must be (samples, atoms)");
    shaped(pass.slope, T, K, "slope must be (samples, atoms)");
    shaped(pass.after, T, K, "after must be (samples, atoms)");
    shaped(pass.dual, T, N, "dual must be (samples, nodes)");
    shaped(pass.raised, T, N, "raised must be (samples, nodes)");
    shaped(pass.gradient, T, K, "gradient must be (samples, atoms)");
    shaped(pass.energies, checked ? T : 0, K,
           "energies must be (samples, atoms) if checked, else (0, atoms)");
    shaped(pass.distances, K, E, "distances must be (atoms, edges)");
    shaped(pass.mixed, K, N, "mixed must be (atoms, nodes)");
    shaped(pass.gram, K, K, "gram must be (atoms, atoms)");
}

// The pass over a block of samples, in pieces of about two tiles, and at least four if these are
// not tiny. Each has sums of its own, which are then added in order: who did which does not show.
template <class Real>
class Splitting : public Job {
   public:
    Splitting(const Pass<Real>& pass, bool powers)
        : pass(pass),
          powers(powers),
          registers(Span<Real>::count(pass.samples.rows)),
          count(
              std::max({py::ssize_t(1), registers / (2 * TILE), std::min(FEW, registers / TINY)})),
          sums((count - 1) * size()),
          numbers((count - 1) * pass.numbers.size) {
        check_shapes(pass, powers);
    }

    std::size_t pieces() const override { return static_cast<std::size_t>(count); }

    void work(std::size_t piece) override {
        const Pass<Real> own = piece_of(static_cast<py::ssize_t>(piece));
        std::fill(own.gram.data, own.gram.data + own.gram.rows * own.gram.columns, Real(0));
        if (powers)
            advance<Real, true>(own);
        else
            advance<Real, false>(own);
    }

    void finish() override {
        for (py::ssize_t i = 1; i < count; ++i) {
            const Pass<Real> own = piece_of(i);
            add(pass.distances, own.distances);
            add(pass.mixed, own.mixed);
            add(pass.gram, own.gram);
            for (py::ssize_t n = 0; n < pass.numbers.size; ++n) pass.numbers[n] += own.numbers[n];
        }
    }

   protected:
    Pass<Real> pass;

    static void add(Matrix<Real> to, Matrix<Real> from) {
        for (py::ssize_t i = 0; i < to.rows * to.columns; ++i) to.data[i] += from.data[i];
    }

   private:
    static constexpr py::ssize_t FEW = 4, TINY = 16;  // pieces, and registers in one

    py::ssize_t size() const {
        return pass.gram.rows * (pass.distances.columns + pass.mixed.columns + pass.gram.columns);
    }

    Pass<Real> piece_of(py::ssize_t i) {
        const py::ssize_t lanes = Span<Real>::lanes;
        const py::ssize_t start = registers * i / count * lanes;
        const py::ssize_t stop = std::min(registers * (i + 1) / count * lanes, pass.samples.rows);
        Pass<Real> own = pass;
        own.samples = rows_of(pass.samples, start, stop);
        own.weights = {pass.weights.data + start, stop - start};
        for (auto array : {&Pass<Real>::before, &Pass<Real>::slope, &Pass<Real>::dual})
            own.*array = rows_of(pass.*array, start, stop);
        for (auto array : {&Pass<Real>::after, &Pass<Real>::raised, &Pass<Real>::gradient})
            own.*array = rows_of(pass.*array, start, stop);
        if (pass.energies.rows) own.energies = rows_of(pass.energies, start, stop);
        if (i == 0) return own;
        Real* at = sums.data() + (i - 1) * size();
        for (auto array : {&Pass<Real>::distances, &Pass<Real>::mixed, &Pass<Real>::gram}) {
            (own.*array).data = at;
            at += (own.*array).rows * (own.*array).columns;
        }
        own.numbers.data = numbers.data() + (i - 1) * pass.numbers.size;
        return own;
    }

    bool powers;
    py::ssize_t registers, count;
    std::vector<Real> sums;  // of all pieces but the first
    std::vector<double> numbers;
};

// With arrays of Python.
template <class Real>
class Split : public Splitting<Real> {
   public:
    Split(const Pass<Real>& pass, bool powers, std::vector<py::array> held)
        : Splitting<Real>(pass, powers), held(std::move(held)) {}

   private:
    std::vector<py::array> held;  // so that their memory stays
};

template <class Real>
void bind_splitting_of(py::module_& m) {
    using A = Array<Real>;
    m.def(
        "primal_dual_pass",
        [](A samples, A weights, A atoms, A images, A ahead, double sigma, A before, A slope,
           A dual, double tau, std::optional<std::array<double, 4>> box, A after, A raised,
           A gradient, A energies, A distances, A mixed, A gram, Array<double> numbers,
           bool powers) -> std::unique_ptr<Job> {
            const Pass<Real> pass{
                matrix(samples),        vector(weights),      matrix(atoms),
                matrix(images),         matrix(ahead),        static_cast<Real>(sigma),
                matrix(before),         matrix(slope),        matrix(dual),
                static_cast<Real>(tau), box_of(box),          matrix_out(after),
                matrix_out(raised),     matrix_out(gradient), matrix_out(energies),
                matrix_out(distances),  matrix_out(mixed),    matrix_out(gram),
                vector_out(numbers)};
            std::vector<py::array> held{samples,   weights, atoms, images, ahead,    before,
                                        slope,     dual,    after, raised, gradient, energies,
                                        distances, mixed,   gram,  numbers};
            return std::make_unique<Split<Real>>(pass, powers, std::move(held));
        },
        py::arg("samples").noconvert(), py::arg("weights").noconvert(),
        py::arg("atoms").noconvert(), py::arg("images").noconvert(), py::arg("ahead").noconvert(),
        py::arg("sigma"), py::arg("before").noconvert(), py::arg("slope").noconvert(),
        py::arg("dual").noconvert(), py::arg("tau"), py::arg("box"), py::arg("after").noconvert(),
        py::arg("raised").noconvert(), py::arg("gradient").noconvert(),
        py::arg("energies").noconvert(), py::arg("distances").noconvert(),
        py::arg("mixed").noconvert(), py::arg("gram").noconvert(), py::arg("numbers").noconvert(),
        py::arg("powers"));
}

inline void bind_splitting(py::module_& m) {
    bind_splitting_of<double>(m);
    bind_splitting_of<float>(m);
}

}  // namespace graphdict
