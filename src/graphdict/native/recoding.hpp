// The two passes of MM over samples with a logarithmic barrier.
//
// The barrier of a sample sees D = C images, with the degrees (or spectra) of the atoms as images.
// Atoms are pushed by (p C)' (1 / D); coefficients are updated by their push (1 / D) images' and
// their pull, which is what the signals cost.
#pragma once

#include "barrier.hpp"
#include "multiplicative.hpp"
#include "team.hpp"

namespace graphdict {

// (p C)' (1 / D) (K, N), for coefficients C (T, K) and shares p (T,).
template <class Real>
class Push : public Job {
   public:
    Push(Array<Real> coefficients, Array<double> weights, Array<Real> images, Array<Real> out)
        : from(matrix(coefficients)),
          shares(vector(weights)),
          images(matrix(images)),
          to(matrix_out(out)),
          held{coefficients, weights, images, out} {
        const auto& g = this->images;
        expect(from.columns == g.rows && shares.size == from.rows,
               "coefficients, weights and images differ");
        expect(to.rows == g.rows && to.columns == g.columns, "out must be as images");
    }

    void work(std::size_t) override {
        const py::ssize_t atoms = images.rows;
        Padded<Real> factors(images), found(images.rows, images.columns);
        Scratch<Real> scratch((2 * atoms + ROWS) * TILE);
        Vec<Real>*c = scratch.take(atoms), *p = scratch.take(atoms), *z = scratch.take(ROWS);
        for (py::ssize_t start = 0; start < from.rows;) {
            const Span<Real> span(start, from.rows);
            enter(from, span, c);
            weigh(shares.data, c, atoms, span, p);
            Work<Real> work{nullptr,     nullptr,       z, p, nullptr, nullptr, nullptr,
                            found.pitch, span.registers};
            for (py::ssize_t n = 0; n < images.columns; n += ROWS) {
                form_slopes(c, factors[0] + n, factors.pitch, atoms, images.columns - n, span, z);
                work.sums = found[0] + n;
                multiply<Real, Want::SUMS>(work, atoms, true);
            }
            start += span.size;
        }
        found.copy_to(to);
    }

   private:
    Matrix<const Real> from;
    Vector<const double> shares;
    Matrix<const Real> images;
    Matrix<Real> to;
    std::vector<py::array> held;
};

// `rounds` updates c <- min(1, c (push / pull)^q) of the coefficients, with pull = e + shrinkage
// for their energies e, and q = 1, or 1.5 to stretch. Then (p C)' Z of the new ones.
template <class Real>
class Recode : public Job {
   public:
    Recode(Array<Real> samples, Array<double> weights, Array<Real> atoms, Array<Real> images,
           Array<Real> coefficients, double shrinkage, int rounds, bool stretch,
           Array<Real> recoded, Array<Real> distances, Array<double> numbers, bool powers)
        : samples(matrix(samples)),
          shares(vector(weights)),
          atoms(matrix(atoms)),
          images(matrix(images)),
          from(matrix(coefficients)),
          shrink(all(static_cast<Real>(shrinkage))),
          rounds(rounds),
          stretch(stretch),
          to(matrix_out(recoded)),
          sums(matrix_out(distances)),
          numbers(vector_out(numbers)),
          powers(powers),
          held{samples, weights, atoms, images, coefficients, recoded, distances, numbers} {
        const py::ssize_t T = from.rows, K = from.columns, N = this->samples.columns;
        const py::ssize_t E = N * (N - 1) / 2;
        expect(this->samples.rows == T && shares.size == T,
               "samples, weights and coefficients differ");
        expect(this->images.rows == K && this->images.columns == N,
               "images must be (atoms, nodes)");
        expect(this->atoms.rows == K && this->atoms.columns == (powers ? 0 : E),
               "atoms must be (atoms, edges)");
        expect(to.rows == T && to.columns == K, "recoded must be as coefficients");
        expect(sums.rows == K && sums.columns == (powers ? N : E),
               "distances must be (atoms, edges or modes)");
        expect(this->numbers.size == 3, "numbers must be (3,)");
    }

    void work(std::size_t) override {
        const py::ssize_t count = from.columns, columns = images.columns;
        const Edges edges(powers ? 0 : columns);
        Padded<Real> factors(images), weights(atoms), found(sums.rows, sums.columns);
        Scratch<Real> scratch((factors.pitch + 4 * count + ROWS) * TILE);
        x = scratch.take(factors.pitch);
        c = scratch.take(count), p = scratch.take(count), e = scratch.take(count);
        slopes = scratch.take(count), z = scratch.take(ROWS);
        std::fill(x, c, Vec<Real>{});
        value = gradient = scale = 0;
        for (py::ssize_t start = 0; start < from.rows;) {
            const Span<Real> span(start, from.rows);
            enter(samples, span, x);
            enter(from, span, c);
            std::fill(e, e + count * TILE, Vec<Real>{});
            Prefetch prefetch(edges.groups());
            prefetch.add(samples, start + span.size, span.size);
            Work<Real> work{nullptr,       nullptr,       z, p, e, factors[0], found[0],
                            factors.pitch, span.registers};
            if (powers) {
                multiply_rows<Want::ENERGIES>(work, columns);
            } else {
                work.factors = weights[0], work.pitch = weights.pitch;
                multiply_differences<Real, Want::ENERGIES>(x, edges, count, work, prefetch);
            }
            for (int round = 0; round < rounds; ++round) update(factors, span, round == 0);
            leave(c, span, to);
            add_values(factors, span);
            weigh(shares.data, c, count, span, p);
            if (powers)
                multiply_rows<Want::SUMS>(work, columns);
            else
                multiply_differences<Real, Want::SUMS>(x, edges, count, work, prefetch);
            start += span.size;
        }
        found.copy_to(sums);
        numbers[0] = value, numbers[1] = gradient, numbers[2] = scale;
    }

   private:
    // A product of the samples themselves.
    template <Want WANT>
    void multiply_rows(Work<Real> work, py::ssize_t columns) {
        for (py::ssize_t n = 0; n < columns; n += ROWS, work.factors += ROWS, work.sums += ROWS) {
            for (py::ssize_t v = 0; v < work.registers; ++v)
                for (int g = 0; g < ROWS; ++g) z[v * ROWS + g] = x[(n + g) * TILE + v];
            multiply<Real, WANT>(work, from.columns, true);
        }
    }

    // One update of the coefficients of a tile; the first one adds up the projected gradient.
    void update(Padded<Real>& factors, Span<Real> span, bool first) {
        const py::ssize_t count = from.columns, columns = images.columns;
        std::fill(slopes, slopes + count * TILE, Vec<Real>{});
        Work<Real> work{nullptr,       nullptr,       z, nullptr, slopes, nullptr, nullptr,
                        factors.pitch, span.registers};
        for (py::ssize_t n = 0; n < columns; n += ROWS) {
            form_slopes(c, factors[0] + n, factors.pitch, count, columns - n, span, z);
            work.factors = factors[0] + n;
            multiply<Real, Want::ENERGIES>(work, count, true);
        }
        for (py::ssize_t k = 0; k < count; ++k) {
            Vec<Real> squares{}, scales{};
            for (py::ssize_t v = 0; v < span.registers; ++v) {
                Vec<Real>& now = c[k * TILE + v];
                const Vec<Real> pull = e[k * TILE + v] + shrink, push = slopes[k * TILE + v];
                if (first) {
                    const Vec<Real> free = projected<Real>(now, push, pull);
                    squares += free * free;
                    scales += now * pull * now * pull;
                }
                now = updated<Real>(now, push, pull, stretch);
            }
            gradient += sum<Real>(squares);
            scale += sum<Real>(scales);
        }
    }

    // The objective at the coefficients of a tile.
    void add_values(Padded<Real>& factors, Span<Real> span) {
        const py::ssize_t count = from.columns, columns = images.columns;
        LogProducts<Real> logs;
        for (py::ssize_t n = 0; n < columns; n += ROWS)
            multiply_logs(c, factors[0] + n, factors.pitch, count, columns - n, span.registers,
                          logs);
        for (py::ssize_t s = 0; s < span.size; ++s) {
            double found = -logs.of(s);
            for (py::ssize_t k = 0; k < count; ++k) {
                const py::ssize_t v = k * TILE + s / span.lanes, l = s % span.lanes;
                found += static_cast<double>(c[v][l]) * e[v][l];
            }
            value += shares[span.start + s] * found;
        }
    }

    Matrix<const Real> samples;
    Vector<const double> shares;
    Matrix<const Real> atoms, images, from;
    Vec<Real> shrink;
    int rounds;
    bool stretch;
    Matrix<Real> to, sums;
    Vector<double> numbers;
    bool powers;
    std::vector<py::array> held;
    // Rows of the tile, and what is added up.
    Vec<Real>*x = nullptr, *c = nullptr, *p = nullptr, *e = nullptr, *slopes = nullptr,
    *z = nullptr;
    double value = 0, gradient = 0, scale = 0;
};

template <class Real>
void bind_recoding_of(py::module_& m) {
    using A = Array<Real>;
    m.def(
        "log_barrier_atom_slopes",
        [](A coefficients, Array<double> weights, A images, A out) -> std::unique_ptr<Job> {
            return std::make_unique<Push<Real>>(coefficients, weights, images, out);
        },
        py::arg("coefficients").noconvert(), py::arg("weights").noconvert(),
        py::arg("images").noconvert(), py::arg("out").noconvert());
    m.def(
        "log_barrier_update_coefficients",
        [](A samples, Array<double> weights, A atoms, A images, A coefficients, double shrinkage,
           int rounds, bool stretch, A recoded, A distances, Array<double> numbers,
           bool powers) -> std::unique_ptr<Job> {
            return std::make_unique<Recode<Real>>(samples, weights, atoms, images, coefficients,
                                                  shrinkage, rounds, stretch, recoded, distances,
                                                  numbers, powers);
        },
        py::arg("samples").noconvert(), py::arg("weights").noconvert(),
        py::arg("atoms").noconvert(), py::arg("images").noconvert(),
        py::arg("coefficients").noconvert(), py::arg("shrinkage"), py::arg("rounds"),
        py::arg("stretch"), py::arg("recoded").noconvert(), py::arg("distances").noconvert(),
        py::arg("numbers").noconvert(), py::arg("powers"));
}

inline void bind_recoding(py::module_& m) {
    bind_recoding_of<double>(m);
    bind_recoding_of<float>(m);
}

}  // namespace graphdict
