// Effective resistances of graphs and log-determinants of their Laplacians, a graph in each lane.
//
// A connected graph's Laplacian L plus s / N in every entry has the eigenvalue s along the
// constants and is positive definite. The resistance between two nodes is P_ii + P_jj - 2 P_ij for
// its inverse P, in which what was added cancels. With G G' = L + s / N and H = G^-1, P = H' H;
// each takes the place of the one before. All is done in double precision.
#pragma once

#include <limits>

#include "cholesky.hpp"

namespace graphdict {

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

    explicit Resistances(py::ssize_t nodes) : nodes(nodes), lower(packed_size(nodes)) {}

    // The logarithm of the product of all eigenvalues but that of the constants, for weights of
    // edges, as numpy.triu_indices(nodes, 1): -inf if the graph is not connected, as far as
    // rounding lets one see.
    V log_determinant(const V* edges) {
        const V extra = set_laplacian(edges);
        factorise();
        const V logs = log_of_squares() - logarithm(extra);
        return select(smallest > rounding() * largest, logs,
                      broadcast(-std::numeric_limits<double>::infinity()));
    }

    // P is found for weights of edges. It is of no use where the graph falls apart.
    void invert(const V* edges) {
        set_laplacian(edges);
        factorise();
        invert_factor();
        multiply_inverses();
    }

    // Resistances take the place of the weights.
    void replace(V* edges) {
        invert(edges);
        copy_resistances_to(edges);
    }

    // The whole of P, (N, N).
    void copy_to(V* matrix) {
        for (py::ssize_t i = 0; i < nodes; ++i)
            for (py::ssize_t j = 0; j <= i; ++j)
                matrix[i * nodes + j] = matrix[j * nodes + i] = row(i)[j];
    }

   private:
    // As many sums at a time as keep the processor busy, or as there are registers for.
    static constexpr int COLUMNS_AT_ONCE = 8;

    V* row(py::ssize_t i) { return lower.data() + packed_size(i); }
    double rounding() const {
        return static_cast<double>(nodes) * std::numeric_limits<double>::epsilon();
    }

    // L + s / N, where s is the mean degree.
    V set_laplacian(const V* edges) {
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

    // G, whose diagonal is kept as its inverse. Rounding must leave a pivot.
    void factorise() {
        smallest = broadcast(std::numeric_limits<double>::infinity());
        largest = V{};
        cholesky(MatrixInEachLane{lower.data()}, nodes, nodes, [this](V pivot, py::ssize_t) {
            smallest = minimum(smallest, pivot);
            largest = maximum(largest, pivot);
            const V floor = std::numeric_limits<double>::min() + rounding() * rounding() * largest;
            return 1 / square_root<double>(maximum(pivot, floor));
        });
    }

    // The log-determinant of G G'; the diagonal of G is kept as its inverse.
    V log_of_squares() {
        V logs{}, product = broadcast(1.0);
        for (py::ssize_t i = 0; i < nodes; ++i) {
            product *= row(i)[i];
            if (i % 4 == 3 || i == nodes - 1) {  // one logarithm for four
                logs -= 2 * logarithm(product);
                product = broadcast(1.0);
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

    void copy_resistances_to(V* resistance) {
        for (py::ssize_t i = 0; i < nodes; ++i)
            for (py::ssize_t j = i + 1; j < nodes; ++j, ++resistance)
                *resistance = row(i)[i] + row(j)[j] - 2 * row(j)[i];
    }

    py::ssize_t nodes;
    std::vector<V> lower;  // half of a symmetric matrix, row after row
    V smallest, largest;   // pivots
};

}  // namespace graphdict
