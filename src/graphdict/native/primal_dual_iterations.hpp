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
    double floor_atoms, floor_coefficients;
    double sigma, safety;
    double tau_atoms, tau_coefficients;  // as given, else zero

    double step(double given, double operator_norm, double floor) const {
        const double bounded = std::max({operator_norm, floor, 1e-30});
        return given != 0 ? given : safety / (2 * sigma * (bounded * bounded));
    }
};

// As they come from Python: coefficients, gradient, dual; and samples, weights, the iterate before,
// and where the next ones go.
template <class Real>
using SampleTuple = std::tuple<Array<Real>, Array<Real>, Array<Real>>;
template <class Real>
using BlockTuple = std::tuple<Array<Real>, Array<Real>, SampleTuple<Real>, SampleTuple<Real>>;
template <class Real>
using Shards = std::vector<std::vector<BlockTuple<Real>>>;
// Atoms, images, the gradient in the atoms, gram.
template <class Real>
using DictionaryTuple = std::tuple<Array<Real>, Array<Real>, Array<Real>, Array<Real>>;

// The passes over one block: the first from where the samples are, the others in place.
template <class Real>
class Block : public PrimalDualPass<Real> {
   public:
    using PrimalDualPass<Real>::pass;

    // The sums of `given` are in this memory.
    Block(const PassArrays<Real>& given, bool powers, std::vector<Real> memory)
        : PrimalDualPass<Real>(given, powers), memory(std::move(memory)) {}

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
    PrimalDualIterations(const DictionaryTuple<Real>& dictionary, const Array<Real>& modes,
                         const std::pair<BoxTuple, BoxTuple>& boxes, const StepSizeRules& rules,
                         std::size_t sums_at_a_time, const Shards<Real>& shards)
        : atoms(matrix_out(std::get<0>(dictionary))),
          images(matrix_out(std::get<1>(dictionary))),
          gradient(matrix_out(std::get<2>(dictionary))),
          gram(matrix_out(std::get<3>(dictionary))),
          map{matrix(modes)},
          atom_box(box_of(boxes.first)),
          coefficient_box(box_of(boxes.second)),
          rules(rules),
          sums_at_a_time(sums_at_a_time),
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
        for (auto& shard : shards) {
            expect(!shard.empty(), "a shard has no blocks");
            blocks.emplace_back();
            for (auto& arrays : shard) {
                blocks.back().push_back(block_of(arrays));
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
        tau_atoms =
            rules.step(rules.tau_atoms, rules.norm * std::sqrt(of_coefficients), rules.floor_atoms);
        tau_coefficients =
            rules.step(rules.tau_coefficients, std::sqrt(of_atoms), rules.floor_coefficients);
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
    std::unique_ptr<Block<Real>> block_of(const BlockTuple<Real>& arrays) const {
        const auto& [samples, weights, before, after] = arrays;
        const auto& [old_coefficients, old_gradient, old_dual] = before;
        const auto& [new_coefficients, new_gradient, new_dual] = after;
        PassArrays<Real> pass{};
        pass.samples = matrix(samples);
        pass.weights = vector(weights);
        pass.before = {matrix(old_coefficients), matrix(old_gradient), matrix(old_dual)};
        pass.after = {matrix_out(new_coefficients), matrix_out(new_gradient), matrix_out(new_dual)};
        const py::ssize_t K = atoms.rows;
        pass.energies = {nullptr, 0, K};
        pass.sums = {{nullptr, K, map.of_modes() ? 0 : atoms.columns},
                     {nullptr, K, images.columns},
                     {nullptr, K, K}};
        std::vector<Real> memory(pass.sums.size());
        pass.sums = pass.sums.in(memory.data());
        set_atoms(pass);
        return std::make_unique<Block<Real>>(pass, map.of_modes(), std::move(memory));
    }

    // The atoms' last step and the next one, as passes need them.
    void set_atoms(PassArrays<Real>& pass) const {
        pass.atoms = {atoms.data, atoms.rows, map.of_modes() ? 0 : atoms.columns};
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
    std::vector<std::vector<std::unique_ptr<Block<Real>>>> blocks;
    std::vector<Job*> jobs;
};

// Returns the number of iterations and the last step sizes of atoms and coefficients.
template <class Real>
std::tuple<int, double, double> iterate(ThreadPool& pool, int count, double seconds,
                                        const Shards<Real>& shards, const Array<Real>& modes,
                                        const DictionaryTuple<Real>& dictionary,
                                        const std::pair<BoxTuple, BoxTuple>& boxes,
                                        const std::array<double, 7>& rules,
                                        std::size_t sums_at_a_time) {
    const auto [norm, floor_atoms, floor_coefficients, sigma, safety, tau_atoms, tau_coefficients] =
        rules;
    PrimalDualIterations<Real> run(
        dictionary, modes, boxes,
        {norm, floor_atoms, floor_coefficients, sigma, safety, tau_atoms, tau_coefficients},
        sums_at_a_time, shards);
    WithoutGil without_gil;
    const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    int done = 0;
    while (done < count && run.is_finite()) {
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
            [](A before, A gradient, double tau, BoxTuple box, A after) {
                auto to = matrix_out(after);
                for (auto from : {matrix(before), matrix(gradient)})
                    expect(from.has_shape_of(to), "shapes differ");
                projected_steps<Real>(matrix(before), matrix(gradient), static_cast<Real>(tau),
                                      box_of(box), to);
            },
            py::arg("before"), py::arg("gradient"), py::arg("tau"), py::arg("box"),
            py::arg("after"));
        m.def("iterate", &iterate<Real>, py::arg("pool"), py::arg("count"), py::arg("seconds"),
              py::arg("shards"), py::arg("modes"), py::arg("dictionary"), py::arg("boxes"),
              py::arg("rules"), py::arg("sums_at_a_time"));
    });
}

}  // namespace graphdict
