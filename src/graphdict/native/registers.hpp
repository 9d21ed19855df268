// Registers from and to any place in memory.
#pragma once

#include <cstring>

#include "simd.hpp"

namespace graphdict {

template <class Real>
GRAPHDICT_INLINE Vec<Real> loaded(const Real* from) {
    Vec<Real> found;
    std::memcpy(&found, from, sizeof found);
    return found;
}

template <class Real>
GRAPHDICT_INLINE void store(Vec<Real> values, Real* to) {
    std::memcpy(to, &values, sizeof values);
}

}  // namespace graphdict
