// The steps and checks of BiPDS for one tile of samples, whose rows stay in cache.
#pragma once

#include "primal_dual_arrays.hpp"

namespace graphdict {

// (y - sqrt(y^2 + 4 sigma)) / 2, the prox of the conjugate of -log, without cancellation.
template <class Real>
GRAPHDICT_INLINE Vec<Real> log_prox_conjugate(Vec<Real> y, Real sigma) {
    const Vec<Real> size = select(y < 0, -y, y),
                    length = size + square_root<Real>(y * y + broadcast(4 * sigma));
    return select(y < 0, Real(-0.5) * length, broadcast(-2 * sigma) / length);
}

// Returns an entry after a step of size tau against its gradient, within its box.
template <class Real, class Entry>
GRAPHDICT_INLINE Entry projected_step(Entry before, Entry gradient, Real tau, const Box& box) {
    const Real low = static_cast<Real>(box.low), high = static_cast<Real>(box.high);
    const Entry to = before - tau * gradient - static_cast<Real>(tau * box.alpha);
    return select(to < low, low - Entry{}, select(to > high, high - Entry{}, to));
}

// The rows of one tile.
template <class Real>
struct TileRows {
    Vec<Real>*x, *y, *y_before;  // samples, dual, the dual before; a row for each node, padded
    Vec<Real>*c, *p;             // coefficients, and times the shares of the samples
    Vec<Real>* c_extrapolated;   // 2 c - before; at first those before
    Vec<Real>*gradient, *energies;
    Vec<Real>* z;  // six rows, see products.hpp
};

// Six rows of the new dual, in y; also in z, with the powers x added if there are any.
template <class Real, bool POWERS>
GRAPHDICT_NOINLINE void dual_step_of_rows(const Mixture<Real> extrapolated, Real sigma,
                                          py::ssize_t registers, const Vec<Real>* x, Vec<Real>* y,
                                          Vec<Real>* z) {
    for (py::ssize_t v = 0; v < registers; ++v) {
        Vec<Real> image[ROWS] = {};
        extrapolated.add_to(image, v);
        for (int g = 0; g < ROWS; ++g) {
            const Vec<Real> new_dual =
                log_prox_conjugate<Real>(y[g * TILE + v] + broadcast(sigma) * image[g], sigma);
            y[g * TILE + v] = new_dual;
            z[v * ROWS + g] = POWERS ? new_dual + x[g * TILE + v] : new_dual;
        }
    }
}

// A tile's part of (p C)' C, below the diagonal.
template <class Real>
void add_gram(const Vec<Real>* c, const Vec<Real>* p, py::ssize_t atoms, py::ssize_t registers,
              Matrix<Real> gram) {
    for (py::ssize_t k = 0; k < atoms; ++k)
        for (py::ssize_t j = 0; j <= k; ++j) {
            Vec<Real> total{};
            for (py::ssize_t v = 0; v < registers; ++v) total += p[k * TILE + v] * c[j * TILE + v];
            gram[k][j] += sum<Real>(total);
        }
}

// How far the image A(C, W) of a tile is from a subgradient of h* at the new dual, which it is to
// be: (Y - Y+) / sigma + A(extrapolated) - A(C), exactly zero where nothing moves. And the
// barrier's value.
template <class Real>
GRAPHDICT_NOINLINE void check_mixed_images(const TileRows<Real>& rows,
                                           const PaddedMatrix<Real>& images,
                                           const PaddedMatrix<Real>& extrapolated_images,
                                           Real sigma, TileSpan<Real> span, LogProducts<Real>& logs,
                                           CheckSums& check) {
    for (py::ssize_t n = 0; n < images.columns; n += ROWS) {
        const Mixture<Real> here(rows.c, images, n),
            there(rows.c_extrapolated, extrapolated_images, n);
        const py::ssize_t count = std::min<py::ssize_t>(ROWS, images.columns - n);
        Vec<Real> gaps{}, sizes{};
        const Real rate = 1 / sigma;
        for (py::ssize_t v = 0; v < span.registers; ++v) {
            Vec<Real> image[ROWS] = {}, extrapolated[ROWS] = {};
            here.add_to(image, v);
            there.add_to(extrapolated, v);
            logs.multiply(v, image, count);
            for (int g = 0; g < count; ++g) {
                const py::ssize_t at = (n + g) * TILE + v;
                Vec<Real> gap =
                    (rows.y_before[at] - rows.y[at]) * rate + (extrapolated[g] - image[g]);
                for (int l = span.filled(v); l < span.lanes; ++l) gap[l] = 0;
                gaps += gap * gap;
                sizes += image[g] * image[g];
            }
        }
        check.dual_gap += sum<Real>(gaps);
        check.mixed_images += sum<Real>(sizes);
    }
}

// What a check adds up for each coefficient; the gradient is there already.
template <class Real>
void check_coefficients(const PassArrays<Real>& pass, TileSpan<Real> span,
                        const LogProducts<Real>& logs, CheckSums& check) {
    for (py::ssize_t s = 0; s < span.size; ++s) {
        const py::ssize_t t = span.start + s;
        double value = -logs.of(s), energy = 0, gap = 0;
        for (py::ssize_t k = 0; k < pass.images.rows; ++k) {
            const double c = pass.after.coefficients[t][k], e = pass.energies[t][k];
            const double slack = static_cast<double>(pass.after.gradient[t][k]) -
                                 pass.before.gradient[t][k] -
                                 (c - pass.before.coefficients[t][k]) / pass.tau;
            value += c * e;
            energy += e * e;
            gap += slack * slack;
            check.size += c * c;
        }
        check.value += pass.shares[t] * value;
        check.energy += pass.shares[t] * energy;
        check.coefficient_gap += pass.shares[t] * gap;
    }
}

// The step of a tile's coefficients, from where they were against the rows of their gradient.
template <class Real>
void step_coefficients(const PassArrays<Real>& pass, TileSpan<Real> span,
                       const TileRows<Real>& rows) {
    for (py::ssize_t k = 0; k < pass.images.rows; ++k)
        for (py::ssize_t v = 0; v < span.registers; ++v) {
            const py::ssize_t at = k * TILE + v;
            rows.c[at] =
                projected_step(rows.c_extrapolated[at], rows.gradient[at], pass.tau, *pass.box);
        }
    // A lane without a sample stays where no sum sees it.
    const py::ssize_t last = span.registers - 1;
    for (int l = span.filled(last); l < span.lanes; ++l)
        for (py::ssize_t k = 0; k < pass.images.rows; ++k) rows.c[k * TILE + last][l] = 0;
    store_tile(rows.c, span, pass.after.coefficients);
}

}  // namespace graphdict
