// Our small dense kernels and Eigen's, timed in turns; eigen.py builds it and prints the figures.
#include <nanobind/stl/string.h>

#include <Eigen/Dense>
#include <ctime>

#include "cholesky.hpp"
#include "largest_eigenvalue.hpp"
#include "symmetric_matrices.hpp"

using namespace graphdict;
using Dense = Eigen::MatrixXd;

// The least CPU time of one call in microseconds, of each function, over many turns.
template <class Ours, class Theirs>
std::pair<double, double> times(Ours ours, Theirs theirs, int calls) {
    auto timed = [calls](auto& function) {
        timespec from, to;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
        for (int i = 0; i < calls; ++i) function();
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
        return (1e6 * (to.tv_sec - from.tv_sec) + 1e-3 * (to.tv_nsec - from.tv_nsec)) / calls;
    };
    std::pair<double, double> best{1e30, 1e30};
    for (int turn = 0; turn < 200; ++turn) {
        best.first = std::min(best.first, timed(ours));
        best.second = std::min(best.second, timed(theirs));
    }
    return best;
}

// Of two ways in which Eigen does it.
std::pair<double, double> faster(std::pair<double, double> one, std::pair<double, double> other) {
    return {std::min(one.first, other.first), std::min(one.second, other.second)};
}

double inverse_root(double pivot, py::ssize_t) { return 1 / std::sqrt(pivot); }

std::pair<double, double> compare(const std::string& what, py::ssize_t n) {
    constexpr int lanes = Register<double>::lanes;
    srand(0);
    Dense a = Dense::Random(n, 2 * n);
    a = (a * a.transpose() / n + Dense::Identity(n, n)).eval();
    Dense factor(n, n), out(n, n);
    const int calls = static_cast<int>(std::max<py::ssize_t>(1, 2000000 / (n * n * n + 5000)));
    if (what == "Cholesky") {
        const py::ssize_t stride = SingleMatrix::padded(n);
        TileMemory<double> memory(n * stride / lanes + 1);
        double* data = reinterpret_cast<double*>(memory.take(0));
        return times(
            [&] {
                for (py::ssize_t k = 0; k < n; ++k)
                    std::copy(&a(0, k), &a(0, k) + n, data + k * stride);
                cholesky(SingleMatrix{data, stride}, n, n, inverse_root);
            },
            [&] {
                factor = a;
                Eigen::LLT<Eigen::Ref<Dense>> found(factor);
            },
            calls);
    }
    if (what == "Cholesky, many") {
        TileMemory<double> memory(packed_size(n) + 1);
        Vec<double>* data = reinterpret_cast<Vec<double>*>(memory.take(0));
        auto [ours, theirs] = times(
            [&] {
                for (py::ssize_t i = 0; i < n; ++i)
                    for (py::ssize_t j = 0; j <= i; ++j)
                        data[packed_size(i) + j] = broadcast(a(i, j));
                cholesky(MatrixInEachLane{data}, n, n, [](Vec<double> pivot, py::ssize_t) {
                    return 1 / square_root<double>(pivot);
                });
            },
            [&] {
                factor = a;
                Eigen::LLT<Eigen::Ref<Dense>> found(factor);
            },
            calls);
        return {ours / lanes, theirs};
    }
    if (what == "largest eigenvalue") {
        std::vector<double> copy(n * n);
        Eigen::SelfAdjointEigenSolver<Dense> solver(n);
        double sum = 0;
        return times(
            [&] {
                copy.assign(a.data(), a.data() + n * n);
                sum += largest_eigenvalue(copy, n);
            },
            [&] {
                solver.compute(a, Eigen::EigenvaluesOnly);
                sum += solver.eigenvalues()[n - 1];
            },
            calls);
    }
    TileMemory<double> memory((2 * n * n + 3 * STRIP * n) / lanes + 1);
    double* data = reinterpret_cast<double*>(memory.take(0));
    double *to = data + n * n, *room = to + n * n;
    std::copy(a.data(), a.data() + n * n, data);
    if (what == "symmetric product")
        return faster(times([&] { multiply_symmetric(data, data, n, to); },
                            [&] { out.noalias() = a * a; }, calls),
                      times([&] { multiply_symmetric(data, data, n, to); },
                            [&] {
                                out.triangularView<Eigen::Lower>() = a * a;
                                out.triangularView<Eigen::StrictlyUpper>() = out.transpose();
                            },
                            calls));
    return faster(times([&] { invert_symmetric(data, n, to, room); },
                        [&] {
                            out.setIdentity();
                            factor = a;
                            Eigen::LLT<Eigen::Ref<Dense>>(factor).solveInPlace(out);
                        },
                        calls),
                  times([&] { invert_symmetric(data, n, to, room); }, [&] { out = a.inverse(); },
                        calls));
}

NB_MODULE(eigen_times, m) { m.def("compare", &compare); }
