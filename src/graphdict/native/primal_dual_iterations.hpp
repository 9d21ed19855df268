// Several iterations of BiPDS in one call, none of which is checked.
//
// Between two passes over the samples (primal_dual_pass.hpp) there is little to do, all of it with
// arrays the size of the dictionary: sums over blocks, step sizes, the step of the atoms, and what
// the barrier sees of them. graphdict.core.solvers.bipds does the same, by the same functions, for
// all models and priors; here it is done where the samples of all blocks are at hand and entries of
// both variables are held by a box each.
#pragma once

#include <chrono>

#include "graph_maps.hpp"
#include "largest_eigenvalue.hpp"
#include "primal_dual_pass.hpp"

namespace graphdict {

// Entries after a step of size tau against their gradient, within their box.
template <class Real>
GRAPHDICT_NOINLINE void projected_steps(Matrix<const Real> before, Matrix<const Real> gradient,
                                        Real tau, const Box& box, Matrix<Real> after) {
    for (py::ssize_t i = 0; i < after.size(); ++i)
        after.data[i] = projected_step(before.data[i], gradient.data[i], tau, box);
}

// What step sizes follow from: see graphdict.core.solvers.step_sizes.
struct StepSizeRules {
    double norm;  // of the map of single graphs
    double min_norm_atoms, min_norm_coefficients;
    double sigma, safety;
    double tau_atoms, tau_coefficients;  // as given, else zero
    using Members = std::tuple<double, double, double, double, double, double, double>;

    double step(double given, double operator_norm, double min_norm) const {
        const double bounded = std::max({operator_norm, min_norm, 1e-30});
        return given != 0 ? given : safety / (2 * sigma * (bounded * bounded));
    }
};

// What comes from Python, in a tuple each.
struct Limits {
    int count;
    double seconds;
    using Members = std::tuple<int, double>;
};

// Some samples, their iterate, and where the next ones go.
template <class Real>
struct GivenBlock {
    Array<Real> samples, shares;
    GivenIterate<Real> before, after;
    using Members = std::tuple<Array<Real>, Array<Real>, GivenIterate<Real>, GivenIterate<Real>>;
};

// The blocks of each shard, and how many sums of shards are added up at a time.
template <class Real>
struct GivenShards {
    std::vector<std::vector<GivenBlock<Real>>> shards;
    std::size_t sums_at_a_time;
    using Members = std::tuple<std::vector<std::vector<GivenBlock<Real>>>, std::size_t>;
};

template <class Real>
struct GivenDictionary {
    Array<Real> atoms, images, gradient, gram;
    using Members = std::tuple<Array<Real>, Array<Real>, Array<Real>, Array<Real>>;
};

// What stays as it is: modes, none where the barrier is of degrees, and how variables move.
template <class Real>
struct GivenProblem {
    Array<Real> modes;
    std::pair<Box, Box> boxes;  // of atoms and coefficients
    StepSizeRules rules;
    using Members = std::tuple<Array<Real>, std::pair<Box, Box>, StepSizeRules>;
};

// The passes over one block: the first from where the samples are, the others in place.
template <class Real>
class BlockPass : public PrimalDualPass<Real> {
   public:
    using PrimalDualPass<Real>::pass;

    // The sums of `given` are in this memory.
    BlockPass(const PassArrays<Real>& given, std::vector<Real> memory)
        : PrimalDualPass<Real>(given), memory(std::move(memory)) {}

    void finish() override {
        PrimalDualPass<Real>::finish();
        pass.before = pass.after;
    }

   private:
    std::vector<Real> memory;
};

template <class Real>
class PrimalDualIterations {
   public:
    PrimalDualIterations(const GivenShards<Real>& samples, const GivenDictionary<Real>& dictionary,
                         const GivenProblem<Real>& problem)
        : atoms(matrix_out(dictionary.atoms)),
          images(matrix_out(dictionary.images)),
          gradient(matrix_out(dictionary.gradient)),
          gram(matrix_out(dictionary.gram)),
          map{matrix(problem.modes)},
          atom_box(problem.boxes.first),
          coefficient_box(problem.boxes.second),
          rules(problem.rules),
          sums_at_a_time(samples.sums_at_a_time),
          extrapolated(images.size()),
          dual_gradient(atoms.size()) {
        const bool powers = map.of_modes();
        const py::ssize_t nodes = powers ? map.modes.columns : images.columns;
        expect(sums_at_a_time > 1, "sums_at_a_time must be at least two");
        expect(atoms.columns == edges_of(nodes), "atoms do not have the edges of the graphs");
        expect(!powers || map.modes.rows == images.columns, "modes must be (modes, nodes)");
        expect(gradient.has_shape_of(atoms), "gradient must be (atoms, edges)");
        expect(gram.rows == atoms.rows && gram.columns == atoms.rows,
               "gram must be (atoms, atoms)");
        for (auto& shard : samples.shards) {
            expect(!shard.empty(), "a shard has no blocks");
            blocks.emplace_back();
            for (auto& block : shard) {
                blocks.back().push_back(pass_over(block));
                jobs.push_back(blocks.back().back().get());
            }
        }
        expect(!blocks.empty(), "there are no samples");
    }

    // Whether the next iteration has step sizes.
    bool is_finite() const {
        Real total = 0;
        for (py::ssize_t i = 0; i < gram.size(); ++i) total += gram.data[i];
        return std::isfinite(total);
    }

    void iterate(ThreadPool& pool) {
        const double of_coefficients = largest_eigenvalue<Real>(gram);
        const double of_atoms = largest_eigenvalue_of_products<Real>(images);
        tau_atoms = rules.step(rules.tau_atoms, rules.norm * std::sqrt(of_coefficients),
                               rules.min_norm_atoms);
        tau_coefficients =
            rules.step(rules.tau_coefficients, std::sqrt(of_atoms), rules.min_norm_coefficients);
        projected_steps<Real>(atoms, gradient, static_cast<Real>(tau_atoms), atom_box, atoms);
        std::copy_n(images.data, images.size(), extrapolated.data());
        map.apply(atoms, images);
        for (py::ssize_t i = 0; i < images.size(); ++i)
            extrapolated[i] = 2 * images.data[i] - extrapolated[i];
        for (auto& shard : blocks)
            for (auto& block : shard) set_atoms(block->pass);
        pool.run(jobs);
        const SampleSums<Real>& sums = add_up();
        std::copy_n(sums.gram.data, gram.size(), gram.data);
        map.adjoint(sums.mixed_dual, {dual_gradient.data(), atoms.rows, atoms.columns});
        const Real slope = static_cast<Real>(atom_box.slope);
        for (py::ssize_t i = 0; i < gradient.size(); ++i) {
            const Real fit = map.of_modes() ? Real(0) : sums.distances.data[i];
            gradient.data[i] = fit + slope + dual_gradient[i];
        }
    }

    double tau_atoms = 1, tau_coefficients = 1;  // of the last iteration

   private:
    std::unique_ptr<BlockPass<Real>> pass_over(const GivenBlock<Real>& block) const {
        PassArrays<Real> pass{};
        pass.samples = matrix(block.samples);
        pass.shares = vector(block.shares);
        pass.powers = map.of_modes();
        pass.before = block.before.to_read();
        pass.after = block.after.to_write();
        const py::ssize_t K = atoms.rows;
        pass.energies = {nullptr, 0, K};
        pass.sums = {{nullptr, K, pass.powers ? 0 : atoms.columns},
                     {nullptr, K, images.columns},
                     {nullptr, K, K}};
        std::vector<Real> memory(pass.sums.size());
        pass.sums = pass.sums.in(memory.data());
        set_atoms(pass);
        return std::make_unique<BlockPass<Real>>(pass, std::move(memory));
    }

    // The atoms' last step and the next one, as passes need them.
    void set_atoms(PassArrays<Real>& pass) const {
        pass.atoms = {atoms.data, atoms.rows, pass.powers ? 0 : atoms.columns};
        pass.images = images;
        pass.extrapolated = {extrapolated.data(), images.rows, images.columns};
        pass.sigma = static_cast<Real>(rules.sigma);
        pass.tau = static_cast<Real>(tau_coefficients);
        pass.box = coefficient_box;
    }

    // In the order of graphdict.engine.executor: blocks of a shard, then shards, some at a time.
    const SampleSums<Real>& add_up() const {
        std::vector<const SampleSums<Real>*> left;
        for (auto& shard : blocks) {
            left.push_back(&shard[0]->pass.sums);
            for (std::size_t i = 1; i < shard.size(); ++i) left.back()->add(shard[i]->pass.sums);
        }
        while (left.size() > 1) {
            std::vector<const SampleSums<Real>*> fewer;
            for (std::size_t i = 0; i < left.size(); ++i)
                if (i % sums_at_a_time == 0)
                    fewer.push_back(left[i]);
                else
                    fewer.back()->add(*left[i]);
            left = std::move(fewer);
        }
        return *left[0];
    }

    Matrix<Real> atoms, images, gradient, gram;  // kept up to date
    GraphMap<Real> map;
    Box atom_box, coefficient_box;
    StepSizeRules rules;
    std::size_t sums_at_a_time;
    std::vector<Real> extrapolated, dual_gradient;  // images; the dual's part of the gradient
    std::vector<std::vector<std::unique_ptr<BlockPass<Real>>>> blocks;
    std::vector<Job*> jobs;
};

// Returns the number of iterations and the last step sizes of atoms and coefficients.
template <class Real>
std::tuple<int, double, double> iterate(ThreadPool& pool, const Limits& limits,
                                        const GivenShards<Real>& samples,
                                        const GivenDictionary<Real>& dictionary,
                                        const GivenProblem<Real>& problem) {
    PrimalDualIterations<Real> run(samples, dictionary, problem);
    WithoutGil without_gil;
    const auto until =
        std::chrono::steady_clock::now() + std::chrono::duration<double>(limits.seconds);
    int done = 0;
    while (done < limits.count && run.is_finite()) {
        run.iterate(pool);
        ++done;
        if (std::chrono::steady_clock::now() > until) break;
    }
    return {done, run.tau_atoms, run.tau_coefficients};
}

inline void bind_primal_dual_iterations(py::module_& m) {
    in_both_precisions([&](auto real) {
        using Real = decltype(real);
        using A = Array<Real>;
        m.def(
            "projected_step",
            [](A before, A gradient, double tau, Box box, A after) {
                auto to = matrix_out(after);
                for (auto from : {matrix(before), matrix(gradient)})
                    expect(from.has_shape_of(to), "shapes differ");
                projected_steps<Real>(matrix(before), matrix(gradient), static_cast<Real>(tau), box,
                                      to);
            },
            py::arg("before"), py::arg("gradient"), py::arg("tau"), py::arg("box"),
            py::arg("after"));
        m.def("iterate", &iterate<Real>, py::arg("pool"), py::arg("limits"), py::arg("samples"),
              py::arg("dictionary"), py::arg("problem"));
    });
}

}  // namespace graphdict
