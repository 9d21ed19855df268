// The chain of hidden patterns: their posterior, and the most probable path among them.
//
//     p(c_1) = pi_c      p(c_t | c_{t-1}) = rho [c_t = c_{t-1}] + (1 - rho) pi_{c_t}
//
// What stays and what is drawn anew are kept apart, so that a step takes O(C), not O(C^2).
// Likelihoods (T, C) come with each row divided by its largest.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "arrays.hpp"

namespace graphdict {

namespace chain {

struct Chain {
    Vector<const double> probabilities;
    double stay;
    bool opens;  // whether its first sample is the first of all

    // The first pattern of all is drawn: nothing was there to stay with.
    double stay_at(py::ssize_t t) const { return opens && t == 0 ? 0.0 : stay; }
};

// What comes from Python, in a tuple each.
struct GivenChain {
    Array<double> probabilities;
    double stay;
    bool opens;
    using Members = std::tuple<Array<double>, double, bool>;
};

// How probable patterns are (C,) by what is before a block, and make what is after it.
struct Messages {
    Array<double> before, after;
    using Members = std::tuple<Array<double>, Array<double>>;
};

// The posterior (T, C), the likelihood (T,) of each sample given those before it, and the expected
// number of times (C,) each pattern was drawn.
struct GivenPosterior {
    Array<double> posterior, scales, draws;
    using Members = std::tuple<Array<double>, Array<double>, Array<double>>;
};

inline Chain checked(const Matrix<const double>& likelihoods, const Array<double>& probabilities,
                     double stay, bool opens) {
    Chain found{vector(probabilities), stay, opens};
    expect(found.probabilities.size == likelihoods.columns,
           "probabilities must be one for each column of likelihoods");
    return found;
}

// Each step is scaled to sum to one. Underflow to zero would turn all that follows into NaN.
inline void expect_some(double scale) {
    expect(scale != 0, "a row of likelihoods is impossible under every pattern");
}

// The distribution `after` one more sample, whose scaled likelihood is returned.
inline double step(const Vector<const double>& probabilities, double stay,
                   const double* likelihoods, const double* before, double* after) {
    const py::ssize_t count = probabilities.size;
    double scale = 0.0;
#pragma omp simd reduction(+ : scale)
    for (py::ssize_t c = 0; c < count; ++c) {
        const double prior = stay * before[c] + (1 - stay) * probabilities[c];
        after[c] = prior * likelihoods[c];
        scale += after[c];
    }
    expect_some(scale);
    for (py::ssize_t c = 0; c < count; ++c) after[c] /= scale;
    return scale;
}

// The same against time: `backward` says how probable each pattern makes all that follows, up to a
// factor. `posterior` holds the distribution forward and is completed, `draws` are added to, and
// the expected number of stays is returned.
inline double step_back(const Vector<const double>& probabilities, double stay,
                        const double* likelihoods, double scale, const double* previous,
                        double* posterior, double* backward, double* draws) {
    const py::ssize_t count = probabilities.size;
    double drawn = 0.0, stays = 0.0;
#pragma omp simd reduction(+ : drawn, stays)
    for (py::ssize_t c = 0; c < count; ++c) {
        const double weighted = likelihoods[c] * backward[c] / scale;
        const double fresh = (1 - stay) * probabilities[c] * weighted;
        draws[c] += fresh;
        drawn += fresh;
        stays += stay * previous[c] * weighted;
        posterior[c] *= backward[c];
        backward[c] = stay * weighted;
    }
    for (py::ssize_t c = 0; c < count; ++c) backward[c] += drawn;
    return stays;
}

// The best paths to each pattern of one more sample: they stayed, or moved from the best of all.
inline void extend_paths(const double* log_likelihoods, const double* log_draw,
                         const double* log_same, py::ssize_t count, double* best,
                         std::int32_t* came_from) {
    const auto size = static_cast<std::int32_t>(count);
    const auto best_pattern =
        static_cast<std::int32_t>(std::max_element(best, best + count) - best);
    const double best_score = best[best_pattern];
#pragma omp simd
    for (std::int32_t c = 0; c < size; ++c) {
        const double moved = best_score + log_draw[c], stayed = best[c] + log_same[c];
        came_from[c] = stayed >= moved ? c : best_pattern;
        best[c] = (stayed >= moved ? stayed : moved) + log_likelihoods[c];
    }
}

}  // namespace chain

// `message` (C,), the distribution of the pattern before a block, becomes that of its last one.
inline void chain_forward(const Array<double>& likelihoods, const Array<double>& probabilities,
                          double stay, bool opens, const Array<double>& message) {
    auto rows = matrix(likelihoods);
    auto chain = chain::checked(rows, probabilities, stay, opens);
    auto current = vector_out(message);
    expect(current.size == rows.columns, "message must have the columns of likelihoods");
    WithoutGil without_gil;
    for (py::ssize_t t = 0; t < rows.rows; ++t)
        chain::step(chain.probabilities, chain.stay_at(t), rows[t], current.data, current.data);
}

// `message` (C,), how probable each last pattern of a block makes what follows, becomes the same
// for the pattern before the block, at most one.
inline void chain_backward(const Array<double>& likelihoods, const Array<double>& probabilities,
                           double stay, const Array<double>& message) {
    auto rows = matrix(likelihoods);
    auto chain = chain::checked(rows, probabilities, stay, false);
    auto current = vector_out(message);
    expect(current.size == rows.columns, "message must have the columns of likelihoods");
    WithoutGil without_gil;
    for (py::ssize_t t = rows.rows - 1; t >= 0; --t) {
        double drawn = 0.0, stayed = 0.0;
#pragma omp simd reduction(+ : drawn, stayed)
        for (py::ssize_t c = 0; c < rows.columns; ++c) {
            const double weighted = rows[t][c] * current[c];
            drawn += (1 - stay) * chain.probabilities[c] * weighted;
            current[c] = stay * weighted;
            stayed += current[c];
        }
        chain::expect_some(stayed + drawn);
        for (py::ssize_t c = 0; c < rows.columns; ++c)
            current[c] = (current[c] + drawn) / (stayed + drawn);
    }
}

// The posterior of a block between its two messages. Returned is the expected number of times that
// the chain stayed.
inline double chain_posterior(const Array<double>& likelihoods, const chain::GivenChain& given,
                              const chain::Messages& messages,
                              const chain::GivenPosterior& result) {
    auto rows = matrix(likelihoods);
    auto chain = chain::checked(rows, given.probabilities, given.stay, given.opens);
    auto first = vector(messages.before), last = vector(messages.after);
    auto found = matrix_out(result.posterior);
    auto scale = vector_out(result.scales), drawn = vector_out(result.draws);
    const py::ssize_t steps = rows.rows, count = rows.columns;
    expect(first.size == count && last.size == count && drawn.size == count,
           "before, after and draws must have the columns of likelihoods");
    expect(found.has_shape_of(rows), "posterior and likelihoods differ in shape");
    expect(scale.size == steps, "scales must be one for each row of likelihoods");
    WithoutGil without_gil;
    auto previous = [&](py::ssize_t t) { return t > 0 ? found[t - 1] : first.data; };
    for (py::ssize_t t = 0; t < steps; ++t)
        scale[t] =
            chain::step(chain.probabilities, chain.stay_at(t), rows[t], previous(t), found[t]);
    std::fill_n(drawn.data, count, 0.0);
    if (steps == 0) return 0.0;
    double total = 0.0, stays = 0.0;
    for (py::ssize_t c = 0; c < count; ++c) total += found[steps - 1][c] * last[c];
    std::vector<double> backward(last.data, last.data + count);
    for (double& value : backward) value /= total;
    for (py::ssize_t t = steps - 1; t >= 0; --t)
        stays += chain::step_back(chain.probabilities, chain.stay_at(t), rows[t], scale[t],
                                  previous(t), found[t], backward.data(), drawn.data);
    return stays;
}

// `best` (C,), log-probabilities of the best paths to each pattern before a block, become those to
// its last patterns, and `came_from` (T, C) says how they got there. At the first sample of all,
// `best` is that of beginning with each pattern, and they came from nowhere else.
inline void best_paths(const Array<double>& log_likelihoods, const Array<double>& log_draw,
                       const Array<double>& log_same, bool opens, const Array<double>& best,
                       const Array<std::int32_t>& came_from) {
    auto rows = matrix(log_likelihoods);
    auto draw = vector(log_draw), same = vector(log_same);
    auto score = vector_out(best);
    auto origin = matrix_out(came_from);
    const py::ssize_t count = rows.columns;
    expect(draw.size == count && same.size == count && score.size == count,
           "log_draw, log_same and best must have the columns of log_likelihoods");
    expect(origin.has_shape_of(rows), "came_from and log_likelihoods differ in shape");
    expect(count >= 1 && count <= INT32_MAX, "log_likelihoods must have columns");
    WithoutGil without_gil;
    py::ssize_t t = 0;
    if (opens && rows.rows > 0) {
        for (py::ssize_t c = 0; c < count; ++c) {
            score[c] += rows[0][c];
            origin[0][c] = static_cast<std::int32_t>(c);
        }
        t = 1;
    }
    for (; t < rows.rows; ++t)
        chain::extend_paths(rows[t], draw.data, same.data, count, score.data, origin[t]);
}

// The path (T,) that ends with a pattern; returned is the pattern before it.
inline py::ssize_t trace_path(const Array<std::int32_t>& came_from, py::ssize_t pattern,
                              const Array<std::int64_t>& path) {
    auto origin = matrix(came_from);
    auto found = vector_out(path);
    expect(found.size == origin.rows, "path must be as long as came_from");
    WithoutGil without_gil;
    for (py::ssize_t t = origin.rows - 1; t >= 0; --t) {
        expect(pattern >= 0 && pattern < origin.columns, "a pattern lies outside came_from");
        found[t] = pattern;
        pattern = origin[t][pattern];
    }
    return pattern;
}

inline void bind_markov_chain(py::module_& m) {
    m.def("chain_forward", &chain_forward, py::arg("likelihoods"), py::arg("probabilities"),
          py::arg("stay"), py::arg("opens"), py::arg("message"));
    m.def("chain_backward", &chain_backward, py::arg("likelihoods"), py::arg("probabilities"),
          py::arg("stay"), py::arg("message"));
    m.def("chain_posterior", &chain_posterior, py::arg("likelihoods"), py::arg("chain"),
          py::arg("messages"), py::arg("found"));
    m.def("best_paths", &best_paths, py::arg("log_likelihoods"), py::arg("log_draw"),
          py::arg("log_same"), py::arg("opens"), py::arg("best"), py::arg("came_from"));
    m.def("trace_path", &trace_path, py::arg("came_from"), py::arg("pattern"), py::arg("path"));
}

}  // namespace graphdict
