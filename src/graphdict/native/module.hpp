// Everything that is compiled, as one Python module. It is built under several names for several
// kinds of processors; graphdict.native chooses among them.
#pragma once

#include "chain.hpp"
#include "eigenvalue.hpp"
#include "exact_recoding.hpp"
#include "gaps.hpp"
#include "graph_maps.hpp"
#include "interior_point.hpp"
#include "iterations.hpp"
#include "laplacian_sweeps.hpp"
#include "matrix_roots.hpp"
#include "newton.hpp"
#include "positive_root.hpp"
#include "products.hpp"
#include "recoding.hpp"
#include "splitting.hpp"
#include "team.hpp"
#include "total_variation.hpp"
#include "weight_draws.hpp"
#include "window_tree.hpp"

namespace graphdict {

// Whether this processor can run the module for wide registers.
inline bool has_wide_registers() {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi2");
#else
    return false;
#endif
}

inline void bind(py::module_& m) {
    m.def("has_wide_registers", &has_wide_registers);
    bind_chain(m);
    bind_eigenvalue(m);
    bind_exact_recoding(m);
    bind_gaps(m);
    bind_graph_maps(m);
    bind_interior_point(m);
    bind_iterations(m);
    bind_laplacian_sweeps(m);
    bind_matrix_roots(m);
    bind_newton(m);
    bind_positive_root(m);
    bind_products(m);
    bind_recoding(m);
    bind_splitting(m);
    bind_team(m);
    bind_total_variation(m);
    bind_weight_draws(m);
    bind_window_tree(m);
}

}  // namespace graphdict
