// The logarithmic barrier of mixtures: its slopes, its value, and the updates of MM.
//
// The barrier of a sample sees d = sum_k c_k g_k, where g_k are the degrees (or the spectrum) of
// atom k: its images, (K, N). Six entries of d at a time are formed for all samples of a tile, as
// products.hpp wants its rows.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "products.hpp"

namespace graphdict {

// Images mixed by the coefficients of a tile, ROWS columns of them at a time.
template <class Real>
struct Mixture {
    const Vec<Real>* c;               // a row for each atom
    const Real* images;               // from the first of these columns on
    py::ssize_t stride, atoms, left;  // columns from there on, perhaps fewer than ROWS

    Mixture(const Vec<Real>* c, const PaddedMatrix<Real>& images, py::ssize_t column)
        : c(c),
          images(images[0] + column),
          stride(images.stride),
          atoms(images.rows),
          left(images.columns - column) {}

    // Adds sum_k c_k images_k for the samples of register `v`.
    GRAPHDICT_INLINE void add_to(Vec<Real> (&d)[ROWS], py::ssize_t v) const {
        for (py::ssize_t k = 0; k < atoms; ++k)
            for (int g = 0; g < ROWS; ++g)
                d[g] += c[k * TILE + v] * broadcast(images[k * stride + g]);
    }
};

// 1 / d in z. There is nothing beyond the last column of the images.
template <class Real>
GRAPHDICT_NOINLINE void inverse_images(const Mixture<Real> mixture, TileSpan<Real> span,
                                       Vec<Real>* z) {
    for (py::ssize_t v = 0; v < span.registers; ++v) {
        Vec<Real> d[ROWS] = {};
        mixture.add_to(d, v);
        for (int g = 0; g < ROWS; ++g) z[v * ROWS + g] = Real(1) / d[g];
    }
    for (py::ssize_t v = 0; v < span.registers; ++v)
        for (py::ssize_t g = mixture.left; g < ROWS; ++g) z[v * ROWS + g] = Vec<Real>{};
    // Lanes without a sample, in the last register, must not reach any sum.
    const py::ssize_t last = span.registers - 1;
    for (int l = span.filled(last); l < span.lanes; ++l)
        for (int g = 0; g < ROWS; ++g) z[last * ROWS + g][l] = 0;
}

// Logarithms of products of many numbers for the samples of a tile: the product is kept between one
// and two, powers of two are counted beside it, and one logarithm is taken in the end.
template <class Real>
class LogProducts {
   public:
    static constexpr int lanes = Register<Real>::lanes;

    LogProducts() {
        product.fill(1.0);
        powers.fill(0);
        rest.fill(0.0);
    }

    // Further factors, none of them negative, of the samples in register `v`.
    void multiply(py::ssize_t v, const Vec<Real> (&d)[ROWS], py::ssize_t columns) {
        double factor[lanes];
        for (int l = 0; l < lanes; ++l) factor[l] = product[v * lanes + l];
        for (int g = 0; g < ROWS && g < columns; ++g)
            for (int l = 0; l < lanes; ++l) factor[l] *= static_cast<double>(d[g][l]);
        bool fine = true;
        for (int l = 0; l < lanes; ++l) fine &= factor[l] > 1e-280 && factor[l] < 1e280;
        if (fine) {
            for (int l = 0; l < lanes; ++l) {
                std::uint64_t bits;
                std::memcpy(&bits, factor + l, sizeof bits);
                powers[v * lanes + l] += static_cast<std::int64_t>(bits >> 52) - 1023;
                bits = (bits & 0x000fffffffffffffu) | 0x3ff0000000000000u;
                std::memcpy(&product[v * lanes + l], &bits, sizeof bits);
            }
        } else {  // out of range, or zero, or not a number
            for (int l = 0; l < lanes; ++l)
                for (int g = 0; g < ROWS && g < columns; ++g)
                    rest[v * lanes + l] += std::log(static_cast<double>(d[g][l]));
        }
    }

    double of(py::ssize_t sample) const {
        return std::log(product[sample]) + powers[sample] * 0.6931471805599453 + rest[sample];
    }

   private:
    std::array<double, TILE * lanes> product, rest;
    std::array<std::int64_t, TILE * lanes> powers;
};

template <class Real>
GRAPHDICT_NOINLINE void multiply_logs(const Mixture<Real> mixture, py::ssize_t registers,
                                      LogProducts<Real>& logs) {
    for (py::ssize_t v = 0; v < registers; ++v) {
        Vec<Real> d[ROWS] = {};
        mixture.add_to(d, v);
        logs.multiply(v, d, mixture.left);
    }
}

// Shares of the samples of a tile times their coefficients.
template <class Real>
void weighted_coefficients(const double* shares, const Vec<Real>* c, py::ssize_t atoms,
                           TileSpan<Real> span, Vec<Real>* p) {
    for (py::ssize_t v = 0; v < span.registers; ++v) {
        Vec<Real> share{};
        for (int l = 0; l < span.filled(v); ++l)
            share[l] = static_cast<Real>(shares[span.start + v * span.lanes + l]);
        for (py::ssize_t k = 0; k < atoms; ++k) p[k * TILE + v] = share * c[k * TILE + v];
    }
}

}  // namespace graphdict
