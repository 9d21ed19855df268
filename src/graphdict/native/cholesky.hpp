// The one Cholesky factorisation, A = G G', and what is solved with it.
//
// It factorises one matrix, or as many small ones as a register has lanes: an element is a number,
// or a register with an entry of each matrix. What differs is what a register holds, several
// entries of one column of G or one entry, and how G lies in memory; a layout says so. G takes the
// place of the lower half of A, and its diagonal is kept as its inverse.
#pragma once

#include "tiles.hpp"

namespace graphdict {

// Half of a symmetric matrix, row after row.
constexpr py::ssize_t packed_size(py::ssize_t side) { return side * (side + 1) / 2; }

// One matrix: column k of G is row k of `data`. Rows are a multiple of WIDTH long, filled up with
// zeros. Where a register reaches above the diagonal, zeros are left there.
struct SingleMatrix {
    using Element = double;
    static constexpr py::ssize_t WIDTH = Register<double>::lanes;
    double* data;
    py::ssize_t stride;

    double* row(py::ssize_t i) const { return data + i; }  // of G: its entries lie `step` apart
    py::ssize_t step() const { return stride; }
    double* column(py::ssize_t k) const { return data + k * stride; }

    static constexpr py::ssize_t padded(py::ssize_t side) {
        return (side + WIDTH - 1) / WIDTH * WIDTH;
    }
};

// A matrix in each lane: packed rows of the lower half.
struct MatrixInEachLane {
    using Element = Vec<double>;
    static constexpr py::ssize_t WIDTH = 1;
    Vec<double>* data;

    Vec<double>* row(py::ssize_t i) const { return data + packed_size(i); }
    py::ssize_t step() const { return 1; }
};

GRAPHDICT_INLINE Vec<double> load_entries(const double* from) { return load_unaligned(from); }
GRAPHDICT_INLINE Vec<double> load_entries(const Vec<double>* from) { return *from; }
GRAPHDICT_INLINE void store_entries(Vec<double> values, double* to) { store<double>(values, to); }
GRAPHDICT_INLINE void store_entries(Vec<double> values, Vec<double>* to) { *to = values; }

// Visits rows or columns from `i` up to `count`, at most so many at a time.
template <int AT_ONCE, class Visit>
GRAPHDICT_INLINE void each_of(py::ssize_t count, Visit visit, py::ssize_t i = 0,
                              py::ssize_t width = 1) {
    for (; i + AT_ONCE * width <= count; i += AT_ONCE * width)
        visit(i, std::integral_constant<int, AT_ONCE>());
    if constexpr (AT_ONCE > 1) each_of<AT_ONCE / 2>(count, visit, i, width);
}

// Visits columns from `i` up to `count`: four at a time and then what is left. With a small matrix
// in each lane, one at a time: there the panels would cost more than they save (measured).
template <class Layout, class Visit>
GRAPHDICT_INLINE void each_panel(py::ssize_t i, py::ssize_t count, Visit visit) {
    if (Layout::WIDTH > 1 || count >= 12)
        for (; i + 4 <= count; i += 4) visit(i, std::integral_constant<int, 4>());
    if (Layout::WIDTH > 1 && i + 3 == count) return visit(i, std::integral_constant<int, 3>());
    each_of<(Layout::WIDTH > 1 ? 2 : 1)>(count, visit, i);
}

// Some columns of G from `first` on: those before them are subtracted, in `registers` rows of
// registers at a time; if `corner` is given, the factor of the columns' own rows, they are solved
// for as well. Totals fill the registers.
template <int COLUMNS, int REGISTERS, class Layout, class Element>
GRAPHDICT_INLINE void factor_rows(const Layout& g, py::ssize_t i, py::ssize_t first,
                                  py::ssize_t before, Element (*corner)[COLUMNS]) {
    const py::ssize_t step = g.step();
    Element *rows[REGISTERS], *others[COLUMNS];
    for (int s = 0; s < REGISTERS; ++s) rows[s] = g.row(i + s * Layout::WIDTH);
    for (int c = 0; c < COLUMNS; ++c) others[c] = g.row(first + c);
    Vec<double> total[REGISTERS][COLUMNS];
    for (int s = 0; s < REGISTERS; ++s)
        for (int c = 0; c < COLUMNS; ++c) total[s][c] = load_entries(rows[s] + (first + c) * step);
    for (py::ssize_t k = 0; k < before * step; k += step) {
        Vec<double> left[REGISTERS];
        for (int s = 0; s < REGISTERS; ++s) left[s] = load_entries(rows[s] + k);
        for (int c = 0; c < COLUMNS; ++c) {
            const Element right = others[c][k];
            for (int s = 0; s < REGISTERS; ++s) total[s][c] -= left[s] * right;
        }
    }
    for (int c = 0; c < COLUMNS; ++c)
        for (int s = 0; s < REGISTERS; ++s) {
            if (corner) {
                for (int k = 0; k < c; ++k) total[s][c] -= total[s][k] * corner[c][k];
                total[s][c] *= corner[c][c];
            }
            store_entries(total[s][c], rows[s] + (first + c) * step);
        }
}

// The rows of COLUMNS columns themselves, in `corner`; so many columns before them are still to be
// subtracted.
template <int COLUMNS, class Layout, class Element, class InverseRoot>
GRAPHDICT_INLINE void factor_corner(const Layout& g, py::ssize_t first, py::ssize_t before,
                                    InverseRoot& inverse_root,
                                    Element (&corner)[COLUMNS][COLUMNS]) {
    const py::ssize_t step = g.step();
    const Element* rows[COLUMNS];
    for (int r = 0; r < COLUMNS; ++r) rows[r] = g.row(first + r);
    for (int r = 0; r < COLUMNS; ++r)
        for (int c = 0; c <= r; ++c) corner[r][c] = rows[r][(first + c) * step];
    for (py::ssize_t k = 0; k < before * step; k += step)
        for (int r = 0; r < COLUMNS; ++r)
            for (int c = 0; c <= r; ++c) corner[r][c] -= rows[r][k] * rows[c][k];
    for (int r = 0; r < COLUMNS; ++r)
        for (int c = 0; c <= r; ++c) {
            for (int k = 0; k < c; ++k) corner[r][c] -= corner[r][k] * corner[c][k];
            corner[r][c] = c < r ? corner[r][c] * corner[c][c]
                                 : Element(inverse_root(corner[r][r], first + r));
        }
}

// The first `pivots` columns of G. Where these are not all, the rest of A becomes its Schur
// complement, A_22 - G_21 G_21'. inverse_root(pivot, k) returns 1 / sqrt(pivot), and decides what
// is done where rounding leaves none.
template <class Layout, class InverseRoot>
GRAPHDICT_INLINE void cholesky(const Layout& g, py::ssize_t side, py::ssize_t pivots,
                               InverseRoot inverse_root) {
    using Element = typename Layout::Element;
    constexpr py::ssize_t WIDTH = Layout::WIDTH;
    const py::ssize_t padded = (side + WIDTH - 1) / WIDTH * WIDTH;
    each_panel<Layout>(0, pivots, [&](py::ssize_t first, auto some) {
        constexpr int COLUMNS = decltype(some)::value;
        Element corner[COLUMNS][COLUMNS];
        py::ssize_t below = first + COLUMNS;
        if constexpr (WIDTH == 1) {
            factor_corner<COLUMNS>(g, first, first, inverse_root, corner);
        } else {  // by whole registers, in which there may be rows below the corner too
            const py::ssize_t start = first / WIDTH * WIDTH;
            below = (below + WIDTH - 1) / WIDTH * WIDTH;
            for (py::ssize_t i = start; i < below; i += WIDTH)
                factor_rows<COLUMNS, 1, Layout, Element>(g, i, first, first, nullptr);
            factor_corner<COLUMNS>(g, first, 0, inverse_root, corner);
            for (py::ssize_t i = start; i < below; i += WIDTH)
                if (i + WIDTH > first + COLUMNS) factor_rows<COLUMNS, 1>(g, i, first, 0, corner);
        }
        each_of<2>(
            padded,
            [&](py::ssize_t i, auto registers) {
                factor_rows<COLUMNS, decltype(registers)::value>(g, i, first, first, corner);
            },
            below, WIDTH);
        for (int r = 0; r < COLUMNS; ++r) {
            Element* row = g.row(first + r);
            for (int c = 0; c <= r; ++c) row[(first + c) * g.step()] = corner[r][c];
            for (py::ssize_t i = (first + r) / WIDTH * WIDTH; i < first + r; ++i)
                g.row(i)[(first + r) * g.step()] = Element{};
        }
    });
    each_panel<Layout>(pivots, side, [&](py::ssize_t first, auto some) {
        constexpr int COLUMNS = decltype(some)::value;
        each_of<2>(
            padded,
            [&](py::ssize_t i, auto registers) {
                factor_rows<COLUMNS, decltype(registers)::value, Layout, Element>(g, i, first,
                                                                                  pivots, nullptr);
            },
            first / WIDTH * WIDTH, WIDTH);
    });
}

// values -= factor times column k of G, below the diagonal. Where a register reaches above, there
// are zeros; `values` are padded as the columns are.
GRAPHDICT_INLINE void subtract_column(const SingleMatrix& g, py::ssize_t side, py::ssize_t k,
                                      double factor, double* values) {
    const double *column = g.column(k), own = values[k];
    for (py::ssize_t i = (k + 1) / g.WIDTH * g.WIDTH; i < side; i += g.WIDTH)
        store<double>(load_unaligned(values + i) - factor * load_unaligned(column + i), values + i);
    values[k] = own;
}

// x becomes G^-1 x, as far as there are pivots: behind them, A_21 A_11^-1 x is subtracted. Where
// there is one x for a matrix, it is less work to make x one more row of A, without a pivot: the
// factorisation leaves G^-1 x there.
inline void solve_forward(const SingleMatrix& g, py::ssize_t side, py::ssize_t pivots, double* x) {
    for (py::ssize_t k = 0; k < pivots; ++k) {
        x[k] *= g.column(k)[k];
        subtract_column(g, side, k, x[k], x);
    }
}

// x becomes G'^-1 x.
inline void solve_backward(const SingleMatrix& g, py::ssize_t side, double* x) {
    for (py::ssize_t k = side; k-- > 0;) {
        const double* column = g.column(k);
        double total = x[k];
#pragma omp simd reduction(- : total)
        for (py::ssize_t i = k + 1; i < side; ++i) total -= column[i] * x[i];
        x[k] = total * column[k];
    }
}

inline void solve_backward(const MatrixInEachLane& g, py::ssize_t side, Vec<double>* x) {
    for (py::ssize_t k = side; k-- > 0;) {
        const Vec<double>* row = g.row(k);
        x[k] *= row[k];
        for (py::ssize_t i = 0; i < k; ++i) x[i] -= row[i] * x[k];
    }
}

}  // namespace graphdict
