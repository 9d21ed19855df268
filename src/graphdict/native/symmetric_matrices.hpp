// Products and inverses of small symmetric matrices, of which half is computed and mirrored.
//
// Matrices are square and lie row after row; their side is a multiple of `SIDE`, and they lie where
// registers may: fill them up with zeros, or with ones along the diagonal.
#pragma once

#include <algorithm>

#include "tiles.hpp"

namespace graphdict {

constexpr int STRIP = 4;  // rows at a time

template <class Real>
constexpr int SIDE = std::max(STRIP, Register<Real>::lanes);

// Sets, or adds to, a strip of `out`: a' b for the first STRIP columns of a and V registers of b,
// both of `depth` rows. These totals fill the registers.
template <class Real, int V, bool ADD>
GRAPHDICT_NOINLINE void multiply_block(const Real* a, const Real* b, py::ssize_t depth,
                                       py::ssize_t side, Real* out) {
    constexpr int lanes = Register<Real>::lanes;
    Vec<Real> total[STRIP][V];
    for (int r = 0; r < STRIP; ++r)
        for (int v = 0; v < V; ++v)
            total[r][v] = ADD ? load_unaligned(out + r * side + v * lanes) : Vec<Real>{};
    for (py::ssize_t k = 0; k < depth; ++k, a += side, b += side) {
        Vec<Real> right[V];
        for (int v = 0; v < V; ++v) right[v] = load_unaligned(b + v * lanes);
        for (int r = 0; r < STRIP; ++r) {
            const Vec<Real> left = broadcast(a[r]);
            for (int v = 0; v < V; ++v) total[r][v] += left * right[v];
        }
    }
    for (int r = 0; r < STRIP; ++r)
        for (int v = 0; v < V; ++v) store<Real>(total[r][v], out + r * side + v * lanes);
}

// The same for all columns of b from `j` on; `out` is where column 0 would go.
template <class Real, bool ADD>
void multiply_strip(const Real* a, const Real* b, py::ssize_t depth, py::ssize_t side,
                    py::ssize_t j, Real* out) {
    constexpr int lanes = Register<Real>::lanes;
    for (; j + 5 * lanes <= side || j + 3 * lanes == side; j += 3 * lanes)
        multiply_block<Real, 3, ADD>(a, b + j, depth, side, out + j);
    for (; j + 2 * lanes <= side; j += 2 * lanes)
        multiply_block<Real, 2, ADD>(a, b + j, depth, side, out + j);
    if (j < side) multiply_block<Real, 1, ADD>(a, b + j, depth, side, out + j);
}

// Sets, or adds to, the upper half of `out`: a' b, both of `depth` rows.
template <class Real, bool ADD>
void multiply_upper(const Real* a, const Real* b, py::ssize_t depth, py::ssize_t side, Real* out) {
    for (py::ssize_t i = 0; i < side; i += STRIP)
        multiply_strip<Real, ADD>(a + i, b, depth, side, i - i % SIDE<Real>, out + i * side);
}

// The lower half from the upper one.
template <class Real>
GRAPHDICT_NOINLINE void mirror(Real* matrix, py::ssize_t side) {
    constexpr int lanes = Register<Real>::lanes;
    for (py::ssize_t i = 0; i < side; i += lanes)
        for (py::ssize_t j = i; j < side; j += lanes) {
            Vec<Real> block[lanes];
            for (int r = 0; r < lanes; ++r) block[r] = load_unaligned(matrix + (i + r) * side + j);
            if (i == j) {
                for (int r = 0; r < lanes; ++r)
                    for (int c = 0; c < r; ++c) matrix[(i + r) * side + i + c] = block[c][r];
                continue;
            }
            transpose<Real>(block);
            for (int r = 0; r < lanes; ++r) store<Real>(block[r], matrix + (j + r) * side + i);
        }
}

// The product of matrices that commute, and is symmetric therefore.
template <class Real>
void multiply_symmetric(const Real* a, const Real* b, py::ssize_t side, Real* out) {
    multiply_upper<Real, false>(a, b, side, side, out);
    mirror(out, side);
}

// Minus the inverse of the STRIP x STRIP block `from`, which is definite, in `to`. Rows of both are
// `side` apart.
template <class Real>
GRAPHDICT_INLINE void invert_block(const Real* from, py::ssize_t side, Real* to) {
    using Row = typename Lanes<Real, STRIP>::type;
    Row rows[STRIP];
    for (int i = 0; i < STRIP; ++i) std::memcpy(&rows[i], from + i * side, sizeof(Row));
    for (int k = 0; k < STRIP; ++k) {
        const Real pivot = -1 / rows[k][k];
        const Row scaled = rows[k] * pivot;
        for (int i = 0; i < STRIP; ++i) {
            const Real factor = rows[i][k];
            rows[i] += factor * scaled;
            rows[i][k] = -factor * pivot;
        }
        rows[k] = -scaled;
        rows[k][k] = pivot;
    }
    for (int i = 0; i < STRIP; ++i) std::memcpy(to + i * side, &rows[i], sizeof(Row));
}

// Moves the rows of STRIP pivots, read from the upper half, to `rows`. Zeros are left.
template <class Real>
void take_pivots(Real* matrix, py::ssize_t side, py::ssize_t k, Real* rows) {
    for (py::ssize_t i = 0; i < k; ++i)
        for (int p = 0; p < STRIP; ++p) {
            rows[p * side + i] = matrix[i * side + k + p];
            matrix[i * side + k + p] = 0;
        }
    for (int p = 0; p < STRIP; ++p) {
        Real* from = matrix + (k + p) * side;
        std::copy(from + k, from + side, rows + p * side + k);
        std::fill(from + k, from + side, Real(0));
    }
}

// The inverse of a positive definite matrix by elimination (the sweep operator): where D is the
// block of the pivots, R their rows,
//
//     A -> A - R' D^{-1} R,   with R -> D^{-1} R and D -> -D^{-1}
//
// keeps a matrix symmetric, and leaves minus the inverse when all were pivots. `room` is for
// 3 STRIP rows.
template <class Real>
void invert_symmetric(const Real* matrix, py::ssize_t side, Real* out, Real* room) {
    Real *rows = room, *scaled = rows + STRIP * side, *block = scaled + STRIP * side;
#pragma omp simd
    for (py::ssize_t e = 0; e < side * side; ++e) out[e] = -matrix[e];
    for (py::ssize_t k = 0; k < side; k += STRIP) {
        invert_block(out + k * (side + 1), side, block);
        take_pivots(out, side, k, rows);
        multiply_strip<Real, false>(block, rows, STRIP, side, 0, scaled);
        // With these, the sum below is right among the pivots too.
        for (int p = 0; p < STRIP; ++p)
            for (int q = 0; q < STRIP; ++q) {
                rows[p * side + k + q] = p == q ? -1 : 0;
                scaled[p * side + k + q] = -block[p * side + q];
            }
        multiply_upper<Real, true>(rows, scaled, STRIP, side, out);
    }
    mirror(out, side);
}

}  // namespace graphdict
