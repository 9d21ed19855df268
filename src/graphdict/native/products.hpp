// Products of the samples of a tile with the atoms, and with the coefficients.
//
// Of six rows z_g (squared differences along six edges, say), all that is ever needed is
//
//     e_k += sum_g factors_kg z_g     for every sample
//     sums_kg += sum over samples of c_k z_g
//
// Factors and sums of two atoms and three rows, or three atoms and two rows, fit into the registers
// beside what is read. So each z is formed once and read from the first-level cache for the others.
#pragma once

#include <vector>

#include "simd.hpp"

namespace graphdict {

constexpr int ROWS = 6;  // z at a time: a multiple of two and of three

constexpr py::ssize_t padded(py::ssize_t count) { return (count + ROWS - 1) / ROWS * ROWS; }

// A matrix (K, M) with columns of zeros up to a multiple of ROWS.
template <class Real>
struct Padded {
    py::ssize_t rows, columns, pitch;
    std::vector<Real> values;

    Padded(py::ssize_t rows, py::ssize_t columns)
        : rows(rows), columns(columns), pitch(padded(columns)), values(rows * pitch) {}
    explicit Padded(Matrix<const Real> matrix) : Padded(matrix.rows, matrix.columns) {
        for (py::ssize_t k = 0; k < rows; ++k)
            std::copy(matrix[k], matrix[k] + columns, values.data() + k * pitch);
    }
    Real* operator[](py::ssize_t k) { return values.data() + k * pitch; }
    const Real* operator[](py::ssize_t k) const { return values.data() + k * pitch; }
    void copy_to(Matrix<Real> matrix) const {
        for (py::ssize_t k = 0; k < rows; ++k)
            std::copy(values.data() + k * pitch, values.data() + k * pitch + columns, matrix[k]);
    }
};

// Which products are wanted.
enum class Want { ENERGIES, SUMS, BOTH };

// Where z comes from: it is read; or formed from signals, and kept or not.
enum class Form { READ, KEEP, USE };

// What the loop below works on. Rows of c and e are TILE apart, those of factors and sums `pitch`.
template <class Real>
struct Work {
    const Vec<Real>* const* left;  // signals at both ends of each of ROWS edges
    const Vec<Real>* const* right;
    Vec<Real>* z;  // ROWS for each register of samples
    const Vec<Real>* c;
    Vec<Real>* e;
    const Real* factors;
    Real* sums;
    py::ssize_t pitch;
    py::ssize_t registers;
};

// `A` atoms beginning with `k`, `G` rows beginning with `g`.
template <class Real, int A, int G, Want WANT, Form FORM>
GRAPHDICT_APART void multiply_some(const Work<Real>& work, py::ssize_t k, int g) {
    constexpr bool energies = WANT != Want::SUMS, sums = WANT != Want::ENERGIES;
    const Vec<Real>*left[G], *right[G];
    if constexpr (FORM != Form::READ)
        for (int i = 0; i < G; ++i) left[i] = work.left[g + i], right[i] = work.right[g + i];
    Vec<Real>* z = work.z + g;
    const Vec<Real>* c = sums ? work.c + k * TILE : nullptr;
    Vec<Real>* e = energies ? work.e + k * TILE : nullptr;
    const py::ssize_t corner = k * work.pitch + g;
    Vec<Real> factor[A][G], total[A][G];
    for (int a = 0; a < A; ++a)
        for (int i = 0; i < G; ++i) {
            if constexpr (energies) factor[a][i] = all(work.factors[corner + a * work.pitch + i]);
            if constexpr (sums) total[a][i] = Vec<Real>{};
        }
    const py::ssize_t registers = work.registers;
    for (py::ssize_t v = 0; v < registers; ++v, z += ROWS) {
        Vec<Real> now[G];
        for (int i = 0; i < G; ++i) {
            if constexpr (FORM == Form::READ) {
                now[i] = z[i];
            } else {
                Vec<Real> difference = left[i][v] - right[i][v];
                now[i] = difference * difference;
                if constexpr (FORM == Form::KEEP) z[i] = now[i];
            }
        }
        for (int a = 0; a < A; ++a) {
            if constexpr (sums) {
                Vec<Real> share = c[a * TILE + v];
                for (int i = 0; i < G; ++i) total[a][i] += share * now[i];
            }
            if constexpr (energies) {
                Vec<Real> energy = e[a * TILE + v];
                for (int i = 0; i < G; ++i) energy += factor[a][i] * now[i];
                e[a * TILE + v] = energy;
            }
        }
    }
    if constexpr (sums)
        for (int a = 0; a < A; ++a) {
            Real* to = work.sums + corner + a * work.pitch;
            for (int i = 0; i + 1 < G; i += 2) add_sums<Real>(total[a][i], total[a][i + 1], to + i);
            if constexpr (G % 2) to[G - 1] += sum<Real>(total[a][G - 1]);
        }
}

// `A` atoms, all rows.
template <class Real, int A, int G, Want WANT>
void multiply_atoms(const Work<Real>& work, py::ssize_t k, Form form) {
    for (int g = 0; g < ROWS; g += G) {
        if (form == Form::READ)
            multiply_some<Real, A, G, WANT, Form::READ>(work, k, g);
        else if (form == Form::KEEP)
            multiply_some<Real, A, G, WANT, Form::KEEP>(work, k, g);
        else
            multiply_some<Real, A, G, WANT, Form::USE>(work, k, g);
    }
}

// All atoms, two or three at a time. With one product fewer, there are registers for more rows.
template <class Real, Want WANT>
void multiply(const Work<Real>& work, py::ssize_t atoms, bool formed) {
    constexpr bool both = WANT == Want::BOTH;
    for (py::ssize_t k = 0; k < atoms;) {
        const py::ssize_t left = atoms - k, step = left == 1 ? 1 : left == 3 ? 3 : 2;
        const Form form = formed || k > 0 ? Form::READ : step < left ? Form::KEEP : Form::USE;
        if (step == 1)
            multiply_atoms<Real, 1, 6, WANT>(work, k, form);
        else if (step == 2)
            multiply_atoms<Real, 2, both ? 3 : 6, WANT>(work, k, form);
        else
            multiply_atoms<Real, 3, both ? 2 : 3, WANT>(work, k, form);
        k += step;
    }
}

// The two nodes of each edge, as numpy.triu_indices(nodes, 1); edges beyond the last one join node
// 0 with itself, where nothing differs.
struct Edges {
    std::vector<int> left, right;

    explicit Edges(py::ssize_t nodes) {
        const py::ssize_t count = padded(nodes * (nodes - 1) / 2);
        left.reserve(count), right.reserve(count);
        for (int i = 0; i < nodes; ++i)
            for (int j = i + 1; j < nodes; ++j) left.push_back(i), right.push_back(j);
        left.resize(count), right.resize(count);
    }
    py::ssize_t groups() const { return static_cast<py::ssize_t>(left.size()) / ROWS; }
};

// Both products of the squared differences of signals x along all edges.
template <class Real, Want WANT>
void multiply_differences(const Vec<Real>* x, const Edges& edges, py::ssize_t atoms,
                          Work<Real> work, Prefetch& prefetch) {
    const Vec<Real>*left[ROWS], *right[ROWS];
    work.left = left, work.right = right;
    for (std::size_t at = 0; at < edges.left.size(); at += ROWS) {
        for (int g = 0; g < ROWS; ++g) {
            left[g] = x + edges.left[at + g] * TILE;
            right[g] = x + edges.right[at + g] * TILE;
        }
        prefetch.some();
        multiply<Real, WANT>(work, atoms, false);
        if (WANT != Want::SUMS) work.factors += ROWS;
        if (WANT != Want::ENERGIES) work.sums += ROWS;
    }
}

// One of both products, tile by tile. Each has a row for every atom, of its energies or of its
// coefficients, to `begin` with, and `atoms` are the factors, or the sums found.
template <class Real, Want WANT, class Begin, class End>
void multiply_tiles(Matrix<const Real> signals, Padded<Real>& atoms, Begin begin, End end) {
    const Edges edges(signals.columns);
    Scratch<Real> scratch((signals.columns + atoms.rows + ROWS) * TILE);
    Vec<Real>*x = scratch.take(signals.columns), *rows = scratch.take(atoms.rows);
    const Work<Real> work{nullptr,  nullptr,  scratch.take(ROWS), rows, rows,
                          atoms[0], atoms[0], atoms.pitch,        0};
    for (py::ssize_t start = 0; start < signals.rows;) {
        const Span<Real> span(start, signals.rows);
        Prefetch prefetch(edges.groups());
        prefetch.add(signals, start + span.size, span.size);
        enter(signals, span, x);
        begin(span, rows);
        Work<Real> here = work;
        here.registers = span.registers;
        multiply_differences<Real, WANT>(x, edges, atoms.rows, here, prefetch);
        end(span, rows);
        start += span.size;
    }
}

// Z W' (T, K), with the squared differences Z of signals (T, N) along the edges of atoms W (K, E).
template <class Real>
void energies(Matrix<const Real> signals, Matrix<const Real> atoms, Matrix<Real> out) {
    Padded<Real> factors(atoms);
    multiply_tiles<Real, Want::ENERGIES>(
        signals, factors,
        [&](Span<Real>, Vec<Real>* rows) {
            std::fill(rows, rows + atoms.rows * TILE, Vec<Real>{});
        },
        [&](Span<Real> span, Vec<Real>* rows) { leave(rows, span, out); });
}

// C' Z (K, E), for coefficients C (T, K).
template <class Real>
void weighted_distances(Matrix<const Real> signals, Matrix<const Real> coefficients,
                        Matrix<Real> out) {
    Padded<Real> found(out.rows, out.columns);
    multiply_tiles<Real, Want::SUMS>(
        signals, found, [&](Span<Real> span, Vec<Real>* rows) { enter(coefficients, span, rows); },
        [](Span<Real>, Vec<Real>*) {});
    found.copy_to(out);
}

template <class Real>
void bind_products_of(py::module_& m) {
    m.def(
        "energies",
        [](Array<Real> signals, Array<Real> atoms, Array<Real> out) {
            auto x = matrix(signals), w = matrix(atoms);
            auto found = matrix_out(out);
            expect(w.columns == x.columns * (x.columns - 1) / 2,
                   "atoms do not have the edges of the signals");
            expect(found.rows == x.rows && found.columns == w.rows, "out must be (samples, atoms)");
            Unlocked unlocked;
            energies<Real>(x, w, found);
        },
        py::arg("signals").noconvert(), py::arg("atoms").noconvert(), py::arg("out").noconvert());
    m.def(
        "weighted_distances",
        [](Array<Real> signals, Array<Real> coefficients, Array<Real> out) {
            auto x = matrix(signals), c = matrix(coefficients);
            auto found = matrix_out(out);
            expect(c.rows == x.rows, "signals and coefficients differ in samples");
            expect(found.rows == c.columns && found.columns == x.columns * (x.columns - 1) / 2,
                   "out must be (atoms, edges)");
            Unlocked unlocked;
            weighted_distances<Real>(x, c, found);
        },
        py::arg("signals").noconvert(), py::arg("coefficients").noconvert(),
        py::arg("out").noconvert());
}

inline void bind_products(py::module_& m) {
    bind_products_of<double>(m);
    bind_products_of<float>(m);
}

}  // namespace graphdict
