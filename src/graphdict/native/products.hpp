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

#include "tiles.hpp"

namespace graphdict {

constexpr int ROWS = 6;  // z at a time: a multiple of two and of three

constexpr py::ssize_t padded(py::ssize_t count) { return (count + ROWS - 1) / ROWS * ROWS; }

// A matrix (K, M) with columns of zeros up to a multiple of ROWS.
template <class Real>
struct PaddedMatrix {
    py::ssize_t rows, columns, stride;
    std::vector<Real> values;

    PaddedMatrix(py::ssize_t rows, py::ssize_t columns)
        : rows(rows), columns(columns), stride(padded(columns)), values(rows * stride) {}
    explicit PaddedMatrix(Matrix<const Real> matrix) : PaddedMatrix(matrix.rows, matrix.columns) {
        for (py::ssize_t k = 0; k < rows; ++k)
            std::copy(matrix[k], matrix[k] + columns, (*this)[k]);
    }
    Real* operator[](py::ssize_t k) {
        GRAPHDICT_ASSERT(0 <= k && k <= rows);
        return values.data() + k * stride;
    }
    const Real* operator[](py::ssize_t k) const {
        GRAPHDICT_ASSERT(0 <= k && k <= rows);
        return values.data() + k * stride;
    }
    void copy_to(Matrix<Real> matrix) const {
        for (py::ssize_t k = 0; k < rows; ++k)
            std::copy((*this)[k], (*this)[k] + columns, matrix[k]);
    }
};

// Which products are wanted.
enum class Products { ENERGIES, SUMS, BOTH };

// Where z comes from: it is read; or formed from signals, and kept or not.
enum class Form { READ, KEEP, USE };

// What the loop below works on. Rows of c and e are TILE apart, those of factors and sums `stride`.
template <class Real>
struct Work {
    const Vec<Real>* const* left;  // signals at both ends of each of ROWS edges
    const Vec<Real>* const* right;
    Vec<Real>* z;  // ROWS for each register of samples
    const Vec<Real>* c;
    Vec<Real>* e;
    const Real* factors;
    Real* sums;
    py::ssize_t stride;
    py::ssize_t registers;
};

// Six rows of a tile as z.
template <class V>
void copy_rows(const V* rows, py::ssize_t registers, V* z) {
    for (py::ssize_t v = 0; v < registers; ++v)
        for (int g = 0; g < ROWS; ++g) z[v * ROWS + g] = rows[g * TILE + v];
}

// `A` atoms beginning with `k`, `G` rows beginning with `g`.
template <class Real, int A, int G, Products PRODUCTS, Form FORM>
GRAPHDICT_NOINLINE void multiply_some(const Work<Real>& work, py::ssize_t k, int g) {
    constexpr bool energies = PRODUCTS != Products::SUMS, sums = PRODUCTS != Products::ENERGIES;
    const Vec<Real>*left[G], *right[G];
    if constexpr (FORM != Form::READ)
        for (int i = 0; i < G; ++i) left[i] = work.left[g + i], right[i] = work.right[g + i];
    Vec<Real>* z = work.z + g;
    const Vec<Real>* c = sums ? work.c + k * TILE : nullptr;
    Vec<Real>* e = energies ? work.e + k * TILE : nullptr;
    const py::ssize_t corner = k * work.stride + g;
    Vec<Real> factor[A][G], total[A][G];
    for (int a = 0; a < A; ++a)
        for (int i = 0; i < G; ++i) {
            if constexpr (energies)
                factor[a][i] = broadcast(work.factors[corner + a * work.stride + i]);
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
            Real* to = work.sums + corner + a * work.stride;
            for (int i = 0; i + 1 < G; i += 2) add_sums<Real>(total[a][i], total[a][i + 1], to + i);
            if constexpr (G % 2) to[G - 1] += sum<Real>(total[a][G - 1]);
        }
}

// `A` atoms, all rows.
template <class Real, int A, int G, Products PRODUCTS>
void multiply_atoms(const Work<Real>& work, py::ssize_t k, Form form) {
    for (int g = 0; g < ROWS; g += G) {
        if (form == Form::READ)
            multiply_some<Real, A, G, PRODUCTS, Form::READ>(work, k, g);
        else if (form == Form::KEEP)
            multiply_some<Real, A, G, PRODUCTS, Form::KEEP>(work, k, g);
        else
            multiply_some<Real, A, G, PRODUCTS, Form::USE>(work, k, g);
    }
}

// All atoms, two or three at a time. With one product fewer, there are registers for more rows.
template <class Real, Products PRODUCTS>
void multiply(const Work<Real>& work, py::ssize_t atoms, bool formed) {
    constexpr bool both = PRODUCTS == Products::BOTH;
    for (py::ssize_t k = 0; k < atoms;) {
        const py::ssize_t left = atoms - k, step = left == 1 ? 1 : left == 3 ? 3 : 2;
        const Form form = formed || k > 0 ? Form::READ : step < left ? Form::KEEP : Form::USE;
        if (step == 1)
            multiply_atoms<Real, 1, 6, PRODUCTS>(work, k, form);
        else if (step == 2)
            multiply_atoms<Real, 2, both ? 3 : 6, PRODUCTS>(work, k, form);
        else
            multiply_atoms<Real, 3, both ? 2 : 3, PRODUCTS>(work, k, form);
        k += step;
    }
}

// The two nodes of each edge, as numpy.triu_indices(nodes, 1); edges beyond the last one join node
// 0 with itself, where nothing differs.
struct Edges {
    std::vector<int> left, right;

    explicit Edges(py::ssize_t nodes) {
        const py::ssize_t count = padded(edges_of(nodes));
        left.reserve(count), right.reserve(count);
        for (int i = 0; i < nodes; ++i)
            for (int j = i + 1; j < nodes; ++j) left.push_back(i), right.push_back(j);
        left.resize(count), right.resize(count);
    }
    py::ssize_t groups() const { return static_cast<py::ssize_t>(left.size()) / ROWS; }
};

// Both products of the squared differences of signals x along all edges.
template <class Real, Products PRODUCTS>
void multiply_differences(const Vec<Real>* x, const Edges& edges, py::ssize_t atoms,
                          Work<Real> work, Prefetcher& prefetch) {
    const Vec<Real>*left[ROWS], *right[ROWS];
    work.left = left, work.right = right;
    for (std::size_t at = 0; at < edges.left.size(); at += ROWS) {
        for (int g = 0; g < ROWS; ++g) {
            left[g] = x + edges.left[at + g] * TILE;
            right[g] = x + edges.right[at + g] * TILE;
        }
        prefetch.fetch_some();
        multiply<Real, PRODUCTS>(work, atoms, false);
        if (PRODUCTS != Products::SUMS) work.factors += ROWS;
        if (PRODUCTS != Products::ENERGIES) work.sums += ROWS;
    }
}

// One of both products, tile by tile. Each has a row for every atom, of its energies or of its
// coefficients, to `begin` with, and `atoms` are the factors, or the sums found.
template <class Real, Products PRODUCTS, class Begin, class End>
void multiply_tiles(Matrix<const Real> signals, PaddedMatrix<Real>& atoms, Begin begin, End end) {
    const Edges edges(signals.columns);
    TileMemory<Real> scratch((signals.columns + atoms.rows + ROWS) * TILE);
    Vec<Real>*x = scratch.take(signals.columns), *rows = scratch.take(atoms.rows);
    const Work<Real> work{nullptr,  nullptr,  scratch.take(ROWS), rows, rows,
                          atoms[0], atoms[0], atoms.stride,       0};
    for (py::ssize_t start = 0; start < signals.rows;) {
        const TileSpan<Real> span(start, signals.rows);
        Prefetcher prefetch(edges.groups());
        prefetch.add(signals, start + span.size, span.size);
        load_tile(signals, span, x);
        begin(span, rows);
        Work<Real> here = work;
        here.registers = span.registers;
        multiply_differences<Real, PRODUCTS>(x, edges, atoms.rows, here, prefetch);
        end(span, rows);
        start += span.size;
    }
}

// Z W' (T, K), with the squared differences Z of signals (T, N) along the edges of atoms W (K, E).
template <class Real>
void energies(Matrix<const Real> signals, Matrix<const Real> atoms, Matrix<Real> out) {
    PaddedMatrix<Real> factors(atoms);
    multiply_tiles<Real, Products::ENERGIES>(
        signals, factors,
        [&](TileSpan<Real>, Vec<Real>* rows) {
            std::fill(rows, rows + atoms.rows * TILE, Vec<Real>{});
        },
        [&](TileSpan<Real> span, Vec<Real>* rows) { store_tile(rows, span, out); });
}

// C' Z (K, E), for coefficients C (T, K).
template <class Real>
void weighted_distances(Matrix<const Real> signals, Matrix<const Real> coefficients,
                        Matrix<Real> out) {
    PaddedMatrix<Real> found(out.rows, out.columns);
    multiply_tiles<Real, Products::SUMS>(
        signals, found,
        [&](TileSpan<Real> span, Vec<Real>* rows) { load_tile(coefficients, span, rows); },
        [](TileSpan<Real>, Vec<Real>*) {});
    found.copy_to(out);
}

inline void bind_products(py::module_& m) {
    in_both_precisions([&](auto real) {
        using Real = decltype(real);
        m.def(
            "energies",
            [](Array<Real> signals, Array<Real> atoms, Array<Real> out) {
                auto x = matrix(signals), w = matrix(atoms);
                auto found = matrix_out(out);
                expect(w.columns == edges_of(x.columns),
                       "atoms do not have the edges of the signals");
                expect(found.rows == x.rows && found.columns == w.rows,
                       "out must be (samples, atoms)");
                WithoutGil without_gil;
                energies<Real>(x, w, found);
            },
            py::arg("signals"), py::arg("atoms"), py::arg("out"));
        m.def(
            "weighted_distances",
            [](Array<Real> signals, Array<Real> coefficients, Array<Real> out) {
                auto x = matrix(signals), c = matrix(coefficients);
                auto found = matrix_out(out);
                expect(c.rows == x.rows, "signals and coefficients differ in samples");
                expect(found.rows == c.columns && found.columns == edges_of(x.columns),
                       "out must be (atoms, edges)");
                WithoutGil without_gil;
                weighted_distances<Real>(x, c, found);
            },
            py::arg("signals"), py::arg("coefficients"), py::arg("out"));
    });
}

}  // namespace graphdict
