// Effective resistances of graphs and log-determinants of their Laplacians, a graph in each lane.
//
// A connected graph's Laplacian L plus s / N in every entry has the eigenvalue s along the
// constants and is positive definite. The resistance between two nodes is P_ii + P_jj - 2 P_ij for
// its inverse P, in which what was added cancels. With G G' = L + s / N and H = G^-1, P = H' H;
// each takes the place of the one before. All is done in double precision.
#pragma once

#include <limits>

#include "simd.hpp"

namespace graphdict {

// Visits rows or columns up to `count`, at most so many at a time.
template <int AT_ONCE, class Visit>
void each_of(py::ssize_t count, Visit visit, py::ssize_t i = 0) {
    for (; i + AT_ONCE <= count; i += AT_ONCE) visit(i, std::integral_constant<int, AT_ONCE>());
    if constexpr (AT_ONCE > 1) each_of<AT_ONCE / 2>(count, visit, i);
}

// Sums of products with numbers, or with other registers; several sums, since each waits for its
// last addition.
template <class Other>
Vec<double> dot(const Vec<double>* left, const Other* right, py::ssize_t size) {
    const auto factor = [right](py::ssize_t i) {
        if constexpr (std::is_arithmetic_v<Other>)
            return static_cast<double>(right[i]);
        else
            return right[i];
    };
    Vec<double> total[4] = {};
    py::ssize_t i = 0;
    for (; i + 4 <= size; i += 4)
        for (int s = 0; s < 4; ++s) total[s] += left[i + s] * factor(i + s);
    for (; i < size; ++i) total[0] += left[i] * factor(i);
    return (total[0] + total[1]) + (total[2] + total[3]);
}

class Resistances {
   public:
    using V = Vec<double>;

    explicit Resistances(py::ssize_t nodes) : nodes(nodes), lower(nodes * (nodes + 1) / 2) {}

    // The logarithm of the product of all eigenvalues but that of the constants, for weights of
    // edges, as numpy.triu_indices(nodes, 1): -inf if the graph is not connected, as far as
    // rounding lets one see.
    V log_determinant(const V* edges) {
        const V extra = enter(edges);
        factorise();
        const V logs = log_of_squares() - logarithm(extra);
        return smallest > rounding() * largest ? logs
                                               : all(-std::numeric_limits<double>::infinity());
    }

    // P is found for weights of edges. It is of no use where the graph falls apart.
    void invert(const V* edges) {
        enter(edges);
        factorise();
        invert_factor();
        multiply_inverses();
    }

    // Resistances take the place of the weights.
    void replace(V* edges) {
        invert(edges);
        leave(edges);
    }

    // The whole of P, (N, N).
    void copy_to(V* matrix) {
        for (py::ssize_t i = 0; i < nodes; ++i)
            for (py::ssize_t j = 0; j <= i; ++j)
                matrix[i * nodes + j] = matrix[j * nodes + i] = row(i)[j];
    }

   private:
    // Rows and columns at a time: as many sums as keep the processor busy, or as there are
    // registers for.
    static constexpr int ROWS_AT_ONCE = 4, COLUMNS_AT_ONCE = 8;

    V* row(py::ssize_t i) { return lower.data() + i * (i + 1) / 2; }
    double rounding() const {
        return static_cast<double>(nodes) * std::numeric_limits<double>::epsilon();
    }

    // L + s / N, where s is the mean degree.
    V enter(const V* edges) {
        for (py::ssize_t i = 0; i < nodes; ++i) row(i)[i] = V{};
        V total{};
        for (py::ssize_t i = 0; i < nodes; ++i) {
            V degrees[2] = {row(i)[i], V{}};
            for (py::ssize_t j = i + 1; j < nodes; ++j, ++edges) {
                row(j)[i] = -*edges;
                row(j)[j] += *edges;
                degrees[j % 2] += *edges;
            }
            row(i)[i] = degrees[0] + degrees[1];
            total += row(i)[i];
        }
        const V extra = total / static_cast<double>(nodes),
                each = extra / static_cast<double>(nodes);
        for (V& entry : lower) entry += each;
        return extra;
    }

    // G, whose diagonal is kept as its inverse; several rows at a time.
    void factorise() {
        smallest = all(std::numeric_limits<double>::infinity());
        largest = V{};
        each_of<ROWS_AT_ONCE>(nodes, [&](py::ssize_t first, auto some) {
            constexpr int count = decltype(some)::value;
            V* rows[count];
            for (int r = 0; r < count; ++r) rows[r] = row(first + r);
            for (py::ssize_t j = 0; j < first; ++j) {
                const V* other = row(j);
                V left[count];
                for (int r = 0; r < count; ++r) left[r] = rows[r][j];
                for (py::ssize_t k = 0; k < j; ++k)
                    for (int r = 0; r < count; ++r) left[r] -= rows[r][k] * other[k];
                for (int r = 0; r < count; ++r) rows[r][j] = left[r] * other[j];
            }
            V corner[count][count];
            for (int r = 0; r < count; ++r)
                for (int c = 0; c <= r; ++c) corner[r][c] = rows[r][first + c];
            for (py::ssize_t k = 0; k < first; ++k)
                for (int r = 0; r < count; ++r)
                    for (int c = 0; c <= r; ++c) corner[r][c] -= rows[r][k] * rows[c][k];
            for (int r = 0; r < count; ++r)
                for (int c = 0; c <= r; ++c) {
                    for (int k = 0; k < c; ++k) corner[r][c] -= corner[r][k] * corner[c][k];
                    if (c < r)
                        corner[r][c] *= corner[c][c];
                    else
                        corner[r][r] = inverse_root(corner[r][r]);
                    rows[r][first + c] = corner[r][c];
                }
        });
    }

    // Of a pivot; rounding must leave one.
    V inverse_root(V pivot) {
        smallest = least(smallest, pivot);
        largest = most(largest, pivot);
        const V floor = std::numeric_limits<double>::min() + rounding() * rounding() * largest;
        return 1 / root<double>(most(pivot, floor));
    }

    // The log-determinant of G G'; the diagonal of G is kept as its inverse.
    V log_of_squares() {
        V logs{}, product = all(1.0);
        for (py::ssize_t i = 0; i < nodes; ++i) {
            product *= row(i)[i];
            if (i % 4 == 3 || i == nodes - 1) {  // one logarithm for four
                logs -= 2 * logarithm(product);
                product = all(1.0);
            }
        }
        return logs;
    }

    static V logarithm(V x) {
        for (int l = 0; l < Register<double>::lanes; ++l) x[l] = std::log(x[l]);
        return x;
    }

    // H = G^-1 from the top: H_ij = -sum_k G_ik H_kj / G_ii, for j <= k < i.
    void invert_factor() {
        for (py::ssize_t i = 0; i < nodes; ++i) {
            V* own = row(i);
            const V scale = -own[i];
            each_of<COLUMNS_AT_ONCE>(i, [&](py::ssize_t j, auto some) {
                constexpr int count = decltype(some)::value;
                V found[count] = {};
                // The first rows of H end within these columns.
                for (int r = 0; r < count; ++r)
                    for (int c = 0; c <= r; ++c) found[c] += own[j + r] * row(j + r)[j + c];
                for (py::ssize_t k = j + count; k < i; ++k) {
                    const V* other = row(k) + j;
                    for (int c = 0; c < count; ++c) found[c] += own[k] * other[c];
                }
                for (int c = 0; c < count; ++c) own[j + c] = scale * found[c];
            });
        }
    }

    // P = H' H from the top: P_ij = sum_k H_ki H_kj, for k >= i >= j.
    void multiply_inverses() {
        for (py::ssize_t i = 0; i < nodes; ++i) {
            V* own = row(i);
            each_of<COLUMNS_AT_ONCE>(i + 1, [&](py::ssize_t j, auto some) {
                constexpr int count = decltype(some)::value;
                V found[count] = {};
                for (py::ssize_t k = i; k < nodes; ++k) {
                    const V *other = row(k) + j, here = row(k)[i];
                    for (int c = 0; c < count; ++c) found[c] += here * other[c];
                }
                for (int c = 0; c < count; ++c) own[j + c] = found[c];
            });
        }
    }

    void leave(V* resistance) {
        for (py::ssize_t i = 0; i < nodes; ++i)
            for (py::ssize_t j = i + 1; j < nodes; ++j, ++resistance)
                *resistance = row(i)[i] + row(j)[j] - 2 * row(j)[i];
    }

    py::ssize_t nodes;
    std::vector<V> lower;  // half of a symmetric matrix, row after row
    V smallest, largest;   // pivots
};

}  // namespace graphdict
