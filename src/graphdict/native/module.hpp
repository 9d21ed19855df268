// Everything that is compiled, as one Python module. It is built under several names for several
// kinds of processors; graphdict.native chooses among them.
#pragma once

#include "gibbs_sampling.hpp"
#include "graph_maps.hpp"
#include "interior_point.hpp"
#include "largest_eigenvalue.hpp"
#include "log_barrier_updates.hpp"
#include "log_det_gradients.hpp"
#include "log_det_prox.hpp"
#include "log_det_updates.hpp"
#include "markov_chain.hpp"
#include "missing_values.hpp"
#include "newton.hpp"
#include "positive_root.hpp"
#include "primal_dual_iterations.hpp"
#include "primal_dual_pass.hpp"
#include "processor.hpp"
#include "products.hpp"
#include "thread_pool.hpp"
#include "total_variation.hpp"
#include "tree_prox.hpp"

namespace graphdict {

inline void bind(py::module_& m) {
    find_ndarray();
    py::set_leak_warnings(false);  // pools of threads last as long as the process
    m.def("has_wide_registers", &has_wide_registers);
    bind_gibbs_sampling(m);
    bind_graph_maps(m);
    bind_interior_point(m);
    bind_largest_eigenvalue(m);
    bind_log_barrier_updates(m);
    bind_log_det_gradients(m);
    bind_log_det_prox(m);
    bind_log_det_updates(m);
    bind_markov_chain(m);
    bind_missing_values(m);
    bind_newton(m);
    bind_positive_root(m);
    bind_primal_dual_iterations(m);
    bind_primal_dual_pass(m);
    bind_products(m);
    bind_thread_pool(m);
    bind_total_variation(m);
    bind_tree_prox(m);
}

}  // namespace graphdict
