// The proximal operator of the total weight of a tree; graphdict.core.graph_learning.tree has the
// mathematics.
#pragma once

#include <algorithm>
#include <vector>

#include "arrays.hpp"

namespace graphdict {

// A binary tree over windows: node n covers first[n] <= l < last[n], and parents precede children.
struct WindowTree {
    Vector<const py::ssize_t> first, last, parent;
    std::vector<py::ssize_t> left, right;  // children, or -1

    WindowTree(Vector<const py::ssize_t> first, Vector<const py::ssize_t> last,
               Vector<const py::ssize_t> parent, py::ssize_t windows)
        : first(first), last(last), parent(parent), left(first.size, -1), right(first.size, -1) {
        expect(first.size > 0 && last.size == first.size && parent.size == first.size,
               "first, last and parent must have one number for each node");
        expect(first[0] == 0 && last[0] == windows, "the root must cover all windows");
        for (py::ssize_t n = 1; n < parent.size; ++n) {
            const py::ssize_t above = parent[n];
            expect(0 <= above && above < n, "parents must come before their children");
            expect(right[above] < 0, "a node must have two children or none");
            (left[above] < 0 ? left : right)[above] = n;
        }
        for (py::ssize_t n = 0; n < parent.size; ++n) {
            const py::ssize_t a = left[n], b = right[n];
            const bool leaf = a < 0 && last[n] == first[n] + 1;
            expect(leaf || (b >= 0 && first[a] == first[n] && last[a] == first[b] &&
                            last[b] == last[n] && first[a] < last[a] && first[b] < last[b]),
                   "children must cover the windows of their parent, and leaves one window");
        }
    }

    py::ssize_t nodes() const { return first.size; }
    bool is_leaf(py::ssize_t n) const { return left[n] < 0; }
};

// A piecewise linear function changes its slope by `slope` at `position`.
struct Breakpoint {
    double position, slope;
};

// Works on one edge after the other in the same memory.
class TreeProx {
   public:
    TreeProx(const WindowTree& tree, py::ssize_t windows, double alpha, const double* shares)
        : tree(tree),
          alpha(alpha),
          shares(shares),
          breakpoints(windows),
          merged(windows),
          end(tree.nodes()),
          threshold(tree.nodes()),
          lower_bound(tree.nodes()) {}

    void apply(const double* values, double* out) {
        for (py::ssize_t n = tree.nodes() - 1; n >= 0; --n) {
            if (tree.is_leaf(n))
                start(n, values);
            else
                join(n);
        }
        for (py::ssize_t n = 0; n < tree.nodes(); ++n) {
            lower_bound[n] = std::max(threshold[n], n == 0 ? 0.0 : lower_bound[tree.parent[n]]);
            if (tree.is_leaf(n)) out[tree.first[n]] = lower_bound[n];
        }
    }

   private:
    const WindowTree& tree;
    double alpha;
    const double* shares;
    // The bends of a node begin where its windows do: it never has more of them than windows.
    std::vector<Breakpoint> breakpoints, merged;
    std::vector<py::ssize_t> end;
    std::vector<double> threshold, lower_bound;

    // A leaf: h' = p (b - v), which is -alpha at its bend.
    void start(py::ssize_t n, const double* values) {
        const py::ssize_t window = tree.first[n];
        threshold[n] = values[window] - alpha / shares[window];
        breakpoints[window] = {threshold[n], shares[window]};
        end[n] = window + 1;
    }

    // The functions of two children added, and what lies below -alpha replaced by it.
    void join(py::ssize_t n) {
        const py::ssize_t a = tree.left[n], b = tree.right[n];
        auto begin = breakpoints.begin();
        auto stop = std::merge(begin + tree.first[a], begin + end[a], begin + tree.first[b],
                               begin + end[b], merged.begin(),
                               [](Breakpoint x, Breakpoint y) { return x.position < y.position; });
        // The sum starts at -2 alpha; walk to where it reaches -alpha.
        double height = -2 * alpha, slope_here = 0, at = merged[0].position;
        auto next = merged.begin();
        for (; next != stop; ++next) {
            const double next_height = height + slope_here * (next->position - at);
            if (next_height > -alpha) break;
            height = next_height, at = next->position;
            slope_here += next->slope;
        }
        threshold[n] = at + (-alpha - height) / slope_here;
        breakpoints[tree.first[n]] = {threshold[n], slope_here};
        end[n] = std::copy(next, stop, begin + tree.first[n] + 1) - begin;
    }
};

// argmin_{x >= 0} alpha g(x) + sum_l p_l (x_l - v_l)^2 / 2 for each row v of `values`.
inline void tree_prox(const Array<double>& values, double alpha, const Array<double>& shares,
                      const Array<py::ssize_t>& first, const Array<py::ssize_t>& last,
                      const Array<py::ssize_t>& parent, const Array<double>& out) {
    auto from = matrix(values);
    auto to = matrix_out(out);
    auto p = vector(shares);
    expect(to.has_shape_of(from), "values and out differ in shape");
    expect(p.size == from.columns, "shares must have one number for each window");
    expect(alpha >= 0, "alpha must not be negative");
    for (py::ssize_t l = 0; l < p.size; ++l) expect(p[l] > 0, "shares must be positive");
    const WindowTree tree(vector(first), vector(last), vector(parent), from.columns);
    WithoutGil without_gil;
    TreeProx prox(tree, from.columns, alpha, p.data);
    for (py::ssize_t row = 0; row < from.rows; ++row) prox.apply(from[row], to[row]);
}

inline void bind_tree_prox(py::module_& m) {
    m.def("tree_prox", &tree_prox, py::arg("values"), py::arg("alpha"), py::arg("shares"),
          py::arg("first"), py::arg("last"), py::arg("parent"), py::arg("out"));
}

}  // namespace graphdict
