// What a barrier says of mixtures of known atoms: how it pushes each coefficient, and how it
// curves.
//
// Both kinds take rows of coefficients x, TILE registers apart, for some registers of samples, and
// find rows of pushes (atoms) and, where wanted, of curvatures (the lower half of a matrix of
// atoms).
#pragma once

#include "barrier.hpp"
#include "resistances.hpp"

namespace graphdict {

// A symmetric matrix is kept as its lower half, row after row.
constexpr py::ssize_t halved(py::ssize_t side) { return side * (side + 1) / 2; }

// Logarithms of d = sum_k x_k g_k, for images g (K, N):
//
//     push_k = sum_n g_kn / d_n   and   curvature_kj = sum_n g_kn g_jn / d_n^2,
//
// products of known rows with known factors, as in products.hpp.
class LogSlopes {
   public:
    using V = Vec<double>;

    explicit LogSlopes(Matrix<const double> images)
        : factors(images), pairs(halved(images.rows), images.columns) {
        for (py::ssize_t k = 0; k < images.rows; ++k)
            for (py::ssize_t j = 0; j <= k; ++j)
                for (py::ssize_t n = 0; n < images.columns; ++n)
                    pairs[halved(k) + j][n] = images[k][n] * images[j][n];
    }

    py::ssize_t atoms() const { return factors.rows; }

    // Where one thread works.
    class Desk {
       public:
        explicit Desk(const LogSlopes& of) : of(of), scratch(ROWS * TILE), z(scratch.take(ROWS)) {}

        void find(const V* x, py::ssize_t registers, V* pushes, V* curvatures) {
            clear(pushes, of.atoms(), registers);
            if (curvatures) clear(curvatures, halved(of.atoms()), registers);
            Span<double> span(0, registers * Span<double>::lanes);
            Work<double> work{};
            work.z = z, work.registers = registers, work.pitch = of.factors.pitch;
            for (py::ssize_t n = 0; n < of.factors.columns; n += ROWS) {
                form_slopes(x, of.factors[0] + n, of.factors.pitch, of.atoms(),
                            of.factors.columns - n, span, z);
                work.e = pushes, work.factors = of.factors[0] + n;
                multiply<double, Want::ENERGIES>(work, of.atoms(), true);
                if (!curvatures) continue;
                for (py::ssize_t i = 0; i < registers * ROWS; ++i) z[i] *= z[i];
                work.e = curvatures, work.factors = of.pairs[0] + n;
                multiply<double, Want::ENERGIES>(work, halved(of.atoms()), true);
            }
        }

       private:
        static void clear(V* rows, py::ssize_t count, py::ssize_t registers) {
            for (py::ssize_t i = 0; i < count; ++i, rows += TILE)
                std::fill(rows, rows + registers, V{});
        }

        const LogSlopes& of;
        Scratch<double> scratch;
        V* z;
    };

   private:
    Padded<double> factors, pairs;  // images, and products of any two of them
};

// Log-determinants of L = sum_k x_k L_k, for Laplacians L_k (K, N, N). With P = L^+,
//
//     push_k = tr(P L_k)   and   curvature_kj = tr(P L_k P L_j).
class DetSlopes {
   public:
    using V = Vec<double>;

    explicit DetSlopes(Cube<const double> laplacians)
        : given(laplacians.data,
                laplacians.data + laplacians.count * laplacians.rows * laplacians.columns),
          count(laplacians.count),
          nodes(laplacians.rows) {
        expect(laplacians.rows == laplacians.columns, "Laplacians must be square");
    }

    py::ssize_t atoms() const { return count; }

    class Desk {
       public:
        explicit Desk(const DetSlopes& of)
            : of(of),
              resistances(of.nodes),
              weights(of.nodes * (of.nodes - 1) / 2),
              inverse(of.nodes * of.nodes),
              products(of.count * of.nodes * of.nodes),
              turns(products.size()) {}

        void find(const V* x, py::ssize_t registers, V* pushes, V* curvatures) {
            for (py::ssize_t v = 0; v < registers; ++v) {
                mix(x + v);
                resistances.invert(weights.data());
                resistances.copy_to(inverse.data());
                for (py::ssize_t k = 0; k < of.count; ++k) pushes[k * TILE + v] = push(k);
                if (!curvatures) continue;
                for (py::ssize_t k = 0; k < of.count; ++k) multiply(k);
                for (py::ssize_t k = 0; k < of.count; ++k)
                    for (py::ssize_t j = 0; j <= k; ++j)
                        curvatures[(halved(k) + j) * TILE + v] = trace(k, j);
            }
        }

       private:
        void mix(const V* x) {
            V* weight = weights.data();
            for (py::ssize_t i = 0; i < of.nodes; ++i)
                for (py::ssize_t j = i + 1; j < of.nodes; ++j, ++weight) {
                    V total{};
                    for (py::ssize_t k = 0; k < of.count; ++k)
                        total -= x[k * TILE] * of.laplacian(k)[i * of.nodes + j];
                    *weight = total;
                }
        }

        // tr(P L_k)
        V push(py::ssize_t k) const {
            return dot(inverse.data(), of.laplacian(k), of.nodes * of.nodes);
        }

        // P L_k, several columns at a time.
        void multiply(py::ssize_t k) {
            const py::ssize_t nodes = of.nodes;
            const double* laplacian = of.laplacian(k);
            V *product = products.data() + k * nodes * nodes,
              *turned = turns.data() + k * nodes * nodes;
            for (py::ssize_t n = 0; n < nodes; ++n, product += nodes, ++turned) {
                const V* row = inverse.data() + n * nodes;
                each_of<8>(nodes, [&](py::ssize_t i, auto some) {
                    constexpr int columns = decltype(some)::value;
                    V found[columns] = {};
                    for (py::ssize_t j = 0; j < nodes; ++j)
                        for (int c = 0; c < columns; ++c)
                            found[c] += row[j] * laplacian[j * nodes + i + c];
                    for (int c = 0; c < columns; ++c)
                        product[i + c] = turned[(i + c) * nodes] = found[c];
                });
            }
        }

        // tr(P L_k P L_j)
        V trace(py::ssize_t k, py::ssize_t j) const {
            const py::ssize_t size = of.nodes * of.nodes;
            return dot(products.data() + k * size, turns.data() + j * size, size);
        }

        const DetSlopes& of;
        Resistances resistances;
        std::vector<V> weights, inverse;  // of the mixture; P
        std::vector<V> products, turns;   // P L_k, and their transposes
    };

   private:
    const double* laplacian(py::ssize_t k) const { return given.data() + k * nodes * nodes; }

    std::vector<double> given;
    py::ssize_t count, nodes;
};

}  // namespace graphdict
