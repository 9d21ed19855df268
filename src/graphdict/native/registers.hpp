// Vector registers, and all that depends on the compiler: loops elsewhere are plain C++17.
//
// GCC and Clang have types for whole registers. Any other compiler gets arrays of lanes with the
// same operators, loops that it may or may not turn into single instructions; with
// GRAPHDICT_PLAIN_REGISTERS, as a test has it, they get these too.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#if defined(__SSE2__) || defined(_M_X64)
#include <immintrin.h>
#endif

#if defined(__GNUC__) || defined(__clang__)
#define GRAPHDICT_INLINE inline __attribute__((always_inline))
// Loops that need all registers are functions of their own, or others would take some of them.
#define GRAPHDICT_NOINLINE __attribute__((noinline))
#else
#define GRAPHDICT_INLINE inline
#define GRAPHDICT_NOINLINE
#define GRAPHDICT_PLAIN_REGISTERS
#endif

namespace graphdict {

#if defined(__AVX__)
constexpr int REGISTER_BYTES = 32;
#else
constexpr int REGISTER_BYTES = 16;
#endif

// LANES numbers that are computed with at once; select(mask, a, b) takes those of `a` where the
// mask holds, which comparing two of them gives, and those of `b` elsewhere.
#if !defined(GRAPHDICT_PLAIN_REGISTERS)

template <class Real, int LANES>
struct Lanes {
    typedef Real type __attribute__((vector_size(LANES * sizeof(Real))));
};

template <class Mask, class V>
GRAPHDICT_INLINE V select(Mask mask, V a, V b) {
    return mask ? a : b;
}

// The lanes I of a and b, those of b counted on from those of a.
template <int... I, class V>
GRAPHDICT_INLINE V shuffle(V a, V b) {
#if defined(__clang__)
    return __builtin_shufflevector(a, b, I...);
#else
    using Index = std::conditional_t<sizeof(V) / sizeof...(I) == 8, std::int64_t, std::int32_t>;
    return __builtin_shuffle(a, b, typename Lanes<Index, sizeof...(I)>::type{I...});
#endif
}

#else

template <class Real, int LANES>
struct PlainLanes {
    Real lane[LANES];

    Real& operator[](int l) { return lane[l]; }
    const Real& operator[](int l) const { return lane[l]; }
    PlainLanes operator-() const {
        PlainLanes found;
        for (int l = 0; l < LANES; ++l) found[l] = -lane[l];
        return found;
    }

    static PlainLanes all(Real value) {
        PlainLanes found;
        for (int l = 0; l < LANES; ++l) found[l] = value;
        return found;
    }

// Of two registers, or of one and a number.
#define GRAPHDICT_OPERATOR(Result, op)                                       \
    friend GRAPHDICT_INLINE Result operator op(PlainLanes a, PlainLanes b) { \
        Result found;                                                        \
        for (int l = 0; l < LANES; ++l) found[l] = a[l] op b[l];             \
        return found;                                                        \
    }                                                                        \
    friend Result operator op(PlainLanes a, Real b) { return a op all(b); }  \
    friend Result operator op(Real a, PlainLanes b) { return all(a) op b; }
#define GRAPHDICT_ARITHMETIC(op)                                                      \
    GRAPHDICT_OPERATOR(PlainLanes, op)                                                \
    PlainLanes& operator op## = (PlainLanes other) { return *this = *this op other; } \
    PlainLanes& operator op## = (Real other) { return *this = *this op all(other); }

    using Mask = PlainLanes<bool, LANES>;
    GRAPHDICT_ARITHMETIC(+)
    GRAPHDICT_ARITHMETIC(-)
    GRAPHDICT_ARITHMETIC(*)
    GRAPHDICT_ARITHMETIC(/)
    GRAPHDICT_OPERATOR(Mask, <)
    GRAPHDICT_OPERATOR(Mask, <=)
    GRAPHDICT_OPERATOR(Mask, >)
    GRAPHDICT_OPERATOR(Mask, >=)
#undef GRAPHDICT_ARITHMETIC
#undef GRAPHDICT_OPERATOR
};

// Nothing but what is asked of masks.
template <int LANES>
struct PlainLanes<bool, LANES> {
    bool lane[LANES];

    bool& operator[](int l) { return lane[l]; }
    bool operator[](int l) const { return lane[l]; }
    PlainLanes operator~() const {
        PlainLanes found;
        for (int l = 0; l < LANES; ++l) found[l] = !lane[l];
        return found;
    }
    friend PlainLanes operator&(PlainLanes a, PlainLanes b) {
        for (int l = 0; l < LANES; ++l) a[l] = a[l] && b[l];
        return a;
    }
};

template <class Real, int LANES>
struct Lanes {
    using type = PlainLanes<Real, LANES>;
};

template <class Real, int LANES>
GRAPHDICT_INLINE PlainLanes<Real, LANES> select(PlainLanes<bool, LANES> mask,
                                                PlainLanes<Real, LANES> a,
                                                PlainLanes<Real, LANES> b) {
    for (int l = 0; l < LANES; ++l) a[l] = mask[l] ? a[l] : b[l];
    return a;
}

template <class Real>
GRAPHDICT_INLINE Real select(bool mask, Real a, Real b) {
    return mask ? a : b;
}

template <int... I, class V>
GRAPHDICT_INLINE V shuffle(V a, V b) {
    constexpr int lanes = sizeof...(I);
    return V{{(I < lanes ? a[I % lanes] : b[I % lanes])...}};
}

#endif

template <class Real>
struct Register {
    static constexpr int lanes = REGISTER_BYTES / sizeof(Real);
    using type = typename Lanes<Real, lanes>::type;
};

template <class Real>
using Vec = typename Register<Real>::type;

template <class Real>
GRAPHDICT_INLINE Vec<Real> broadcast(Real value) {
    return value - Vec<Real>{};
}

// By the instruction for whole registers where it is known: compilers do not always see that a loop
// over lanes is one.
template <class Real>
GRAPHDICT_INLINE Vec<Real> square_root(Vec<Real> x) {
#if defined(__AVX__) && !defined(GRAPHDICT_PLAIN_REGISTERS)
    if constexpr (std::is_same_v<Real, double>) return Vec<Real>(_mm256_sqrt_pd(__m256d(x)));
    if constexpr (std::is_same_v<Real, float>) return Vec<Real>(_mm256_sqrt_ps(__m256(x)));
#elif defined(__SSE2__) && !defined(GRAPHDICT_PLAIN_REGISTERS)
    if constexpr (std::is_same_v<Real, double>) return Vec<Real>(_mm_sqrt_pd(__m128d(x)));
    if constexpr (std::is_same_v<Real, float>) return Vec<Real>(_mm_sqrt_ps(__m128(x)));
#else
    for (int l = 0; l < Register<Real>::lanes; ++l) x[l] = std::sqrt(x[l]);
    return x;
#endif
}

template <class V>
GRAPHDICT_INLINE V minimum(V a, V b) {
    return select(a < b, a, b);
}

template <class V>
GRAPHDICT_INLINE V maximum(V a, V b) {
    return select(a > b, a, b);
}

// Registers from and to any place in memory.
template <class Real>
GRAPHDICT_INLINE Vec<Real> load_unaligned(const Real* from) {
    Vec<Real> found;
    std::memcpy(&found, from, sizeof found);
    return found;
}

template <class Real>
GRAPHDICT_INLINE void store(Vec<Real> values, Real* to) {
    std::memcpy(to, &values, sizeof values);
}

// Swaps what lies off the diagonal of two rows that are `DISTANCE` apart.
template <int DISTANCE, class V, int... I>
GRAPHDICT_INLINE void exchange(V& a, V& b, std::integer_sequence<int, I...>) {
    constexpr int lanes = sizeof...(I);
    const V upper = shuffle<(I & DISTANCE ? lanes + I - DISTANCE : I)...>(a, b);
    b = shuffle<(I & DISTANCE ? lanes + I : I + DISTANCE)...>(a, b);
    a = upper;
}

// As many rows as there are lanes.
template <class Real, int DISTANCE = 1>
GRAPHDICT_INLINE void transpose(Vec<Real>* rows) {
    constexpr int lanes = Register<Real>::lanes;
    if constexpr (DISTANCE < lanes) {
        for (int r = 0; r < lanes; ++r)
            if (!(r & DISTANCE))
                exchange<DISTANCE>(rows[r], rows[r + DISTANCE],
                                   std::make_integer_sequence<int, lanes>());
        transpose<Real, 2 * DISTANCE>(rows);
    }
}

// The sums of `a` and of `b` over their lanes: sums of neighbours, interleaved, then folded.
template <class V, int... I>
GRAPHDICT_INLINE auto sums_of_two(V a, V b, std::integer_sequence<int, I...>) {
    constexpr int lanes = sizeof...(I);
    const V both = shuffle<(I % 2 ? lanes + I - 1 : I)...>(a, b) +
                   shuffle<(I % 2 ? lanes + I : I + 1)...>(a, b);
    auto first = both[0], second = both[1];
    for (int l = 2; l < lanes; l += 2) first += both[l], second += both[l + 1];
    return std::make_pair(first, second);
}

template <class Real>
GRAPHDICT_INLINE void add_sums(Vec<Real> a, Vec<Real> b, Real* to) {
    auto [first, second] =
        sums_of_two(a, b, std::make_integer_sequence<int, Register<Real>::lanes>());
    to[0] += first;
    to[1] += second;
}

template <class Real>
GRAPHDICT_INLINE Real sum(Vec<Real> a) {
    Real total = 0;
    for (int l = 0; l < Register<Real>::lanes; ++l) total += a[l];
    return total;
}

// Has the line of the cache that holds this memory brought near, to be written where WRITE says so.
template <bool WRITE = false>
GRAPHDICT_INLINE void prefetch_line(const void* at) {
#if defined(__GNUC__) || defined(__clang__)
    __builtin_prefetch(at, WRITE);
#elif defined(_M_X64)
    _mm_prefetch(static_cast<const char*>(at), _MM_HINT_T0);
#else
    static_cast<void>(at);
#endif
}

// Tells the processor that a thread looks at the same memory again and again.
inline void pause() {
#if defined(__SSE2__) || defined(_M_X64)
    _mm_pause();
#elif defined(__aarch64__) && defined(__GNUC__)
    __asm__ __volatile__("yield");
#endif
}

}  // namespace graphdict
