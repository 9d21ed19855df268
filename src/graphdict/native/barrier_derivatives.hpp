// Derivatives of a barrier in the coefficients of known atoms: minus its gradient, and its Hessian.
//
// Both kinds take rows of coefficients x, TILE registers apart, for some registers of samples, and
// compute rows of slopes (atoms) and, where wanted, of the Hessian (the lower half of a matrix of
// atoms).
#pragma once

#include "effective_resistances.hpp"
#include "log_barrier.hpp"

namespace graphdict {

// Logarithms of d = sum_k x_k g_k, for images g (K, N):
//
//     slope_k = sum_n g_kn / d_n   and   hessian_kj = sum_n g_kn g_jn / d_n^2,
//
// products of known rows with known factors, as in products.hpp.
class LogBarrierDerivatives {
   public:
    using V = Vec<double>;

    explicit LogBarrierDerivatives(Matrix<const double> images)
        : factors(images), pairs(packed_size(images.rows), images.columns) {
        for (py::ssize_t k = 0; k < images.rows; ++k)
            for (py::ssize_t j = 0; j <= k; ++j)
                for (py::ssize_t n = 0; n < images.columns; ++n)
                    pairs[packed_size(k) + j][n] = images[k][n] * images[j][n];
    }

    py::ssize_t atoms() const { return factors.rows; }

    // The memory of one thread.
    class Workspace {
       public:
        explicit Workspace(const LogBarrierDerivatives& of)
            : of(of), scratch(ROWS * TILE), z(scratch.take(ROWS)) {}

        void compute(const V* x, py::ssize_t registers, V* slopes, V* hessian) {
            clear(slopes, of.atoms(), registers);
            if (hessian) clear(hessian, packed_size(of.atoms()), registers);
            TileSpan<double> span(0, registers * TileSpan<double>::lanes);
            Work<double> work{};
            work.z = z, work.registers = registers, work.stride = of.factors.stride;
            for (py::ssize_t n = 0; n < of.factors.columns; n += ROWS) {
                inverse_images(Mixture<double>(x, of.factors, n), span, z);
                work.e = slopes, work.factors = of.factors[0] + n;
                multiply<double, Products::ENERGIES>(work, of.atoms(), true);
                if (!hessian) continue;
                for (py::ssize_t i = 0; i < registers * ROWS; ++i) z[i] *= z[i];
                work.e = hessian, work.factors = of.pairs[0] + n;
                multiply<double, Products::ENERGIES>(work, packed_size(of.atoms()), true);
            }
        }

       private:
        static void clear(V* rows, py::ssize_t count, py::ssize_t registers) {
            for (py::ssize_t i = 0; i < count; ++i, rows += TILE)
                std::fill(rows, rows + registers, V{});
        }

        const LogBarrierDerivatives& of;
        TileMemory<double> scratch;
        V* z;
    };

   private:
    PaddedMatrix<double> factors, pairs;  // images, and products of any two of them
};

// Log-determinants of L = sum_k x_k L_k, for Laplacians L_k (K, N, N). With P = L^+,
//
//     slope_k = tr(P L_k)   and   hessian_kj = tr(P L_k P L_j).
class LogDetDerivatives {
   public:
    using V = Vec<double>;

    explicit LogDetDerivatives(Cube<const double> laplacians)
        : given(laplacians.data, laplacians.data + laplacians.size()),
          count(laplacians.count),
          nodes(laplacians.rows) {
        expect(laplacians.rows == laplacians.columns, "Laplacians must be square");
    }

    py::ssize_t atoms() const { return count; }

    class Workspace {
       public:
        explicit Workspace(const LogDetDerivatives& of)
            : of(of),
              resistances(of.nodes),
              weights(edges_of(of.nodes)),
              inverse(of.nodes * of.nodes),
              products(of.count * of.nodes * of.nodes),
              transposes(products.size()) {}

        void compute(const V* x, py::ssize_t registers, V* slopes, V* hessian) {
            for (py::ssize_t v = 0; v < registers; ++v) {
                mix_atoms(x + v);
                resistances.invert(weights.data());
                resistances.copy_to(inverse.data());
                for (py::ssize_t k = 0; k < of.count; ++k) slopes[k * TILE + v] = slope(k);
                if (!hessian) continue;
                for (py::ssize_t k = 0; k < of.count; ++k) multiply(k);
                for (py::ssize_t k = 0; k < of.count; ++k)
                    for (py::ssize_t j = 0; j <= k; ++j)
                        hessian[(packed_size(k) + j) * TILE + v] = trace(k, j);
            }
        }

       private:
        void mix_atoms(const V* x) {
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
        V slope(py::ssize_t k) const {
            return dot(inverse.data(), of.laplacian(k), of.nodes * of.nodes);
        }

        // P L_k, several columns at a time.
        void multiply(py::ssize_t k) {
            const py::ssize_t nodes = of.nodes;
            const double* laplacian = of.laplacian(k);
            V *product = products.data() + k * nodes * nodes,
              *transpose = transposes.data() + k * nodes * nodes;
            for (py::ssize_t n = 0; n < nodes; ++n, product += nodes, ++transpose) {
                const V* row = inverse.data() + n * nodes;
                each_of<8>(nodes, [&](py::ssize_t i, auto some) {
                    constexpr int columns = decltype(some)::value;
                    V found[columns] = {};
                    for (py::ssize_t j = 0; j < nodes; ++j)
                        for (int c = 0; c < columns; ++c)
                            found[c] += row[j] * laplacian[j * nodes + i + c];
                    for (int c = 0; c < columns; ++c)
                        product[i + c] = transpose[(i + c) * nodes] = found[c];
                });
            }
        }

        // tr(P L_k P L_j)
        V trace(py::ssize_t k, py::ssize_t j) const {
            const py::ssize_t size = of.nodes * of.nodes;
            return dot(products.data() + k * size, transposes.data() + j * size, size);
        }

        const LogDetDerivatives& of;
        Resistances resistances;
        std::vector<V> weights, inverse;      // of the mixture; P
        std::vector<V> products, transposes;  // P L_k, and their transposes
    };

   private:
    const double* laplacian(py::ssize_t k) const { return given.data() + k * nodes * nodes; }

    std::vector<double> given;
    py::ssize_t count, nodes;
};

}  // namespace graphdict
