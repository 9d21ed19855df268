// The update of MM for a coefficient, which its push and its pull make larger or smaller.
#pragma once

#include "simd.hpp"

namespace graphdict {

// min(1, c (push / pull)^q), with q = 1, or 1.5 to stretch.
template <class Real>
GRAPHDICT_INLINE Vec<Real> updated(Vec<Real> c, Vec<Real> push, Vec<Real> pull, bool stretch) {
    // Where the push is the stronger by far, the quotient could overflow.
    const Vec<Real> most = all(Real(1e6)), ratio = push < most * pull ? push / pull : most;
    return least(c * (stretch ? ratio * root<Real>(ratio) : ratio), all(Real(1)));
}

// The gradient pull - push in c times c: at the upper bound, what pushes beyond it is none.
template <class Real>
GRAPHDICT_INLINE Vec<Real> projected(Vec<Real> c, Vec<Real> push, Vec<Real> pull) {
    const Vec<Real> slope = pull - push;
    return c * (c < all(Real(1)) ? slope : most(slope, Vec<Real>{}));
}

}  // namespace graphdict
