// Tiles of samples that fill vector registers.
//
// A tile holds up to `TILE` registers of samples, one sample in each lane, with a row for each node
// or atom. Every inner loop runs along its samples. Lanes beyond the last sample hold zeros.
#pragma once

#include <algorithm>
#include <new>
#include <type_traits>
#include <utility>

#include "arrays.hpp"
#include "registers.hpp"

namespace graphdict {

// Registers of samples in a tile. Rows that lie a power of two apart would share lines of the
// cache.
constexpr py::ssize_t TILE = 56;

constexpr py::ssize_t LINE = 64;  // bytes of the cache

// Rows of registers to work in, not set.
template <class Real>
class TileMemory {
   public:
    explicit TileMemory(std::size_t registers)
        : memory(static_cast<Vec<Real>*>(
              ::operator new(registers* REGISTER_BYTES, std::align_val_t(LINE)))),
          size(registers) {}
    ~TileMemory() { ::operator delete(memory, std::align_val_t(LINE)); }
    TileMemory(const TileMemory&) = delete;
    TileMemory& operator=(const TileMemory&) = delete;

    // The next `rows` rows of a tile.
    Vec<Real>* take(std::size_t rows) {
        Vec<Real>* found = memory + used;
        used += rows * TILE;
        GRAPHDICT_ASSERT(used <= size);
        return found;
    }

   private:
    Vec<Real>* memory;
    std::size_t size, used = 0;
};

// Which samples a tile holds.
template <class Real>
struct TileSpan {
    static constexpr py::ssize_t lanes = Register<Real>::lanes;
    py::ssize_t start, size, registers;

    TileSpan(py::ssize_t start, py::ssize_t end)
        : start(start),
          size(std::min<py::ssize_t>(end - start, TILE * lanes)),
          registers(count(size)) {}

    // How many registers so many samples fill, and how many samples go into each of the fewest
    // tiles that hold them.
    static py::ssize_t count(py::ssize_t samples) { return (samples + lanes - 1) / lanes; }
    static py::ssize_t even(py::ssize_t samples) {
        const py::ssize_t registers = count(samples), tiles = (registers + TILE - 1) / TILE;
        return tiles ? (registers + tiles - 1) / tiles * lanes : 0;
    }

    // How many samples register `v` holds.
    int filled(py::ssize_t v) const { return static_cast<int>(std::min(lanes, size - v * lanes)); }
};

template <class Real, int... I>
GRAPHDICT_INLINE Vec<Real> gather_all(const Real* column, py::ssize_t stride,
                                      std::integer_sequence<int, I...>) {
    return Vec<Real>{column[I * stride]...};
}

// One column of a matrix whose rows are samples, as a register; `column` is that of the first one.
template <class Real>
GRAPHDICT_INLINE Vec<Real> gather(const Real* column, py::ssize_t stride, int filled) {
    constexpr int lanes = Register<Real>::lanes;
    if (filled == lanes)
        return gather_all(column, stride, std::make_integer_sequence<int, lanes>());
    Vec<Real> found{};
    for (int l = 0; l < filled; ++l) found[l] = column[l * stride];
    return found;
}

template <class Real>
GRAPHDICT_INLINE void scatter(Vec<Real> values, Real* column, py::ssize_t stride, int filled) {
    if (filled == Register<Real>::lanes)
        for (int l = 0; l < Register<Real>::lanes; ++l) column[l * stride] = values[l];
    else
        for (int l = 0; l < filled; ++l) column[l * stride] = values[l];
}

constexpr py::ssize_t SOON = 3;  // registers of samples from now

// Has the memory of the samples of a register brought near.
template <class T>
GRAPHDICT_INLINE void prefetch(T* first, py::ssize_t count) {
    const char* at = reinterpret_cast<const char*>(first);
    const char* end = reinterpret_cast<const char*>(first + count);
    for (; at < end; at += LINE) prefetch_line<!std::is_const_v<T>>(at);
}

// Calls visit(n) for blocks of as many columns as there are lanes; the last one may overlap.
template <class Real, class Visit>
GRAPHDICT_INLINE void for_blocks(py::ssize_t columns, Visit visit) {
    constexpr int lanes = Register<Real>::lanes;
    for (py::ssize_t n = 0; n + lanes <= columns; n += lanes) visit(n);
    if (columns % lanes) visit(columns - lanes);
}

// All columns of the samples in a span, a row of the tile for each.
template <class Real>
void load_tile(Matrix<const Real> samples, TileSpan<Real> span, Vec<Real>* rows) {
    constexpr int lanes = Register<Real>::lanes;
    const py::ssize_t step = lanes * samples.columns;
    for (py::ssize_t v = 0; v < span.registers; ++v) {
        const Real* first = samples[span.start + v * lanes];
        if (v + SOON < span.registers) prefetch(first + SOON * step, step);
        if (span.filled(v) < lanes || samples.columns < lanes) {
            for (py::ssize_t n = 0; n < samples.columns; ++n)
                rows[n * TILE + v] = gather(first + n, samples.columns, span.filled(v));
            continue;
        }
        for_blocks<Real>(samples.columns, [&](py::ssize_t n) {
            Vec<Real> block[lanes];
            for (int l = 0; l < lanes; ++l)
                block[l] = load_unaligned(first + l * samples.columns + n);
            transpose<Real>(block);
            for (int l = 0; l < lanes; ++l) rows[(n + l) * TILE + v] = block[l];
        });
    }
}

template <class Real>
void store_tile(const Vec<Real>* rows, TileSpan<Real> span, Matrix<Real> samples) {
    constexpr int lanes = Register<Real>::lanes;
    const py::ssize_t step = lanes * samples.columns;
    for (py::ssize_t v = 0; v < span.registers; ++v) {
        Real* first = samples[span.start + v * lanes];
        if (v + SOON < span.registers) prefetch(first + SOON * step, step);
        if (span.filled(v) < lanes || samples.columns < lanes) {
            for (py::ssize_t n = 0; n < samples.columns; ++n)
                scatter(rows[n * TILE + v], first + n, samples.columns, span.filled(v));
            continue;
        }
        for_blocks<Real>(samples.columns, [&](py::ssize_t n) {
            Vec<Real> block[lanes];
            for (int l = 0; l < lanes; ++l) block[l] = rows[(n + l) * TILE + v];
            transpose<Real>(block);
            for (int l = 0; l < lanes; ++l) store<Real>(block[l], first + l * samples.columns + n);
        });
    }
}

// Memory that will be needed, brought near a few lines at a time while there is work on other
// memory.
class Prefetcher {
   public:
    // All of it in about `portions` calls of fetch_some().
    explicit Prefetcher(py::ssize_t portions) : portions(std::max<py::ssize_t>(portions, 1)) {}

    template <class T>
    void add(Matrix<T> matrix, py::ssize_t start, py::ssize_t size) {
        const py::ssize_t rows = std::min(size, matrix.rows - start);
        if (rows <= 0) return;
        GRAPHDICT_ASSERT(count < MOST);
        regions[count].at = reinterpret_cast<const char*>(matrix[start]);
        regions[count].end = reinterpret_cast<const char*>(matrix[start + rows]);
        const py::ssize_t bytes = regions[count].end - regions[count].at;
        regions[count++].portion = (bytes / portions / LINE + 1) * LINE;
    }

    GRAPHDICT_INLINE void fetch_some() {
        for (int i = 0; i < count; ++i) {
            Region& region = regions[i];
            const char* stop = std::min(region.at + region.portion, region.end);
            for (; region.at < stop; region.at += LINE) prefetch_line(region.at);
        }
    }

   private:
    struct Region {
        const char *at, *end;
        py::ssize_t portion;
    };
    static constexpr int MOST = 3;
    Region regions[MOST];
    int count = 0;
    py::ssize_t portions;
};

}  // namespace graphdict
