// Several iterations of BiPDS in one call, none of which is checked.
//
// Between two passes over the samples (splitting.hpp) there is little to do, all of it with arrays
// the size of the dictionary: sums over blocks, step sizes, the step of the atoms, and what the
// barrier sees of them. graphdict.core.solvers.bipds does the same, by the same functions, for all
// models and priors; here it is done where the samples of all blocks are at hand and entries of
// both variables are held by a box each.
#pragma once

#include <chrono>
#include <tuple>

#include "eigenvalue.hpp"
#include "graph_maps.hpp"
#include "splitting.hpp"

namespace graphdict {

// Entries after a step of size tau against their gradient.
template <class Real>
GRAPHDICT_APART void descend(Matrix<const Real> before, Matrix<const Real> gradient, Real tau,
                             const Box& box, Matrix<Real> after) {
    for (py::ssize_t i = 0; i < after.rows * after.columns; ++i)
        after.data[i] = moved(before.data[i], gradient.data[i], tau, box);
}

// Step sizes: see graphdict.core.solvers.steps.
struct Pace {
    double norm;  // of the map of single graphs
    double floor_atoms, floor_coefficients;
    double sigma, eagerness;
    double tau_atoms, tau;  // as given, else zero

    double step(double given, double norm, double floor) const {
        const double bounded = std::max({norm, floor, 1e-30});
        return given != 0 ? given : eagerness / (2 * sigma * (bounded * bounded));
    }
};

// Memory with an array's shape.
template <class Real>
struct Owned : Matrix<Real> {
    std::vector<Real> memory;

    Owned(py::ssize_t rows, py::ssize_t columns)
        : Matrix<Real>{nullptr, rows, columns}, memory(rows * columns) {
        this->data = memory.data();
    }
    Owned(const Owned&) = delete;
    Owned& operator=(const Owned&) = delete;
};

template <class Real>
Matrix<const Real> reading(Matrix<Real> matrix) {
    return {matrix.data, matrix.rows, matrix.columns};
}

// Samples, their shares; coefficients, the gradient in them and dual: before, and where they go.
template <class Real>
using BlockArrays = std::array<Array<Real>, 8>;

// The passes over one block: the first from where the samples are, the others in place.
template <class Real>
class Block : public Splitting<Real> {
   public:
    using Splitting<Real>::pass, Splitting<Real>::add;

    // The sums of `pass` are in this memory.
    Block(const Pass<Real>& pass, bool powers, std::vector<Real> sums)
        : Splitting<Real>(pass, powers), sums(std::move(sums)) {}

    void finish() override {
        Splitting<Real>::finish();
        pass.before = reading(pass.after);
        pass.slope = reading(pass.gradient);
        pass.dual = reading(pass.raised);
    }

    void add(const Block& other) {
        add(pass.distances, other.pass.distances);
        add(pass.mixed, other.pass.mixed);
        add(pass.gram, other.pass.gram);
    }

   private:
    std::vector<Real> sums;
};

template <class Real>
class Iterations {
   public:
    // Arrays of the dictionary are those at the start, and are kept up to date.
    Matrix<Real> atoms, images, gradient, gram;
    GraphMap<Real> map;
    Box atom_box, coefficient_box;
    Pace pace;
    std::size_t together;  // sums that are added at a time
    double tau_atoms = 1, tau = 1;

    Iterations(Array<Real>& atoms, Array<Real>& images, Array<Real>& gradient, Array<Real>& gram,
               const Array<Real>& modes, Box atom_box, Box coefficient_box, Pace pace,
               std::size_t together, std::vector<std::vector<BlockArrays<Real>>>& parts)
        : atoms(matrix_out(atoms)),
          images(matrix_out(images)),
          gradient(matrix_out(gradient)),
          gram(matrix_out(gram)),
          map{matrix(modes)},
          atom_box(atom_box),
          coefficient_box(coefficient_box),
          pace(pace),
          together(together),
          old(this->images.rows, this->images.columns),
          ahead(this->images.rows, this->images.columns),
          pull(this->atoms.rows, this->atoms.columns) {
        expect(together > 1, "together must be at least two");
        const bool powers = map.of_modes();
        const py::ssize_t K = this->atoms.rows, E = this->atoms.columns;
        for (auto& part : parts) {
            expect(!part.empty(), "a part has no blocks");
            blocks.emplace_back();
            for (auto& arrays : part) {
                blocks.back().push_back(block_of(arrays));
                jobs.push_back(blocks.back().back().get());
            }
        }
        expect(!blocks.empty(), "there are no samples");
        const py::ssize_t nodes = powers ? map.modes.columns : this->images.columns;
        expect(E == nodes * (nodes - 1) / 2, "atoms do not have the edges of the graphs");
        expect(!powers || map.modes.rows == this->images.columns, "modes must be (modes, nodes)");
        expect(this->gradient.rows == K && this->gradient.columns == E,
               "gradient must be (atoms, edges)");
        expect(this->gram.rows == K && this->gram.columns == K, "gram must be (atoms, atoms)");
    }

    // Whether the next iteration has step sizes.
    bool is_finite() const {
        Real total = 0;
        for (py::ssize_t i = 0; i < gram.rows * gram.columns; ++i) total += gram.data[i];
        return std::isfinite(total);
    }

    void iterate(Team& team) {
        const double of_coefficients = largest_eigenvalue(reading(gram));
        const double of_atoms = largest_eigenvalue_of_products(reading(images));
        tau_atoms =
            pace.step(pace.tau_atoms, pace.norm * std::sqrt(of_coefficients), pace.floor_atoms);
        tau = pace.step(pace.tau, std::sqrt(of_atoms), pace.floor_coefficients);
        descend(reading(atoms), reading(gradient), static_cast<Real>(tau_atoms), atom_box, atoms);
        std::copy(images.data, images.data + old.memory.size(), old.data);
        map.apply(reading(atoms), images);
        for (std::size_t i = 0; i < old.memory.size(); ++i)
            ahead.data[i] = 2 * images.data[i] - old.data[i];
        for (auto& part : blocks)
            for (auto& block : part) lead(block->pass);
        team.run(jobs);
        const Pass<Real>& sums = add_up();
        std::copy(sums.gram.data, sums.gram.data + gram.rows * gram.columns, gram.data);
        map.adjoint(reading(sums.mixed), pull);
        const Real slope = static_cast<Real>(atom_box.slope);
        for (std::size_t i = 0; i < pull.memory.size(); ++i) {
            const Real fit = map.of_modes() ? Real(0) : sums.distances.data[i];
            gradient.data[i] = fit + slope + pull.data[i];
        }
    }

   private:
    std::unique_ptr<Block<Real>> block_of(BlockArrays<Real>& of) const {
        Pass<Real> pass{};
        pass.samples = matrix(of[0]);
        pass.weights = vector(of[1]);
        pass.before = matrix(of[2]), pass.slope = matrix(of[3]), pass.dual = matrix(of[4]);
        pass.after = matrix_out(of[5]), pass.gradient = matrix_out(of[6]);
        pass.raised = matrix_out(of[7]);
        const py::ssize_t K = atoms.rows, E = map.of_modes() ? 0 : atoms.columns;
        pass.energies = {nullptr, 0, K};
        std::vector<Real> sums(K * (E + images.columns + K));
        pass.distances = {sums.data(), K, E};
        pass.mixed = {sums.data() + K * E, K, images.columns};
        pass.gram = {sums.data() + K * (E + images.columns), K, K};
        lead(pass);
        return std::make_unique<Block<Real>>(pass, map.of_modes(), std::move(sums));
    }

    // What passes are told of the atoms.
    void lead(Pass<Real>& pass) const {
        pass.atoms =
            map.of_modes() ? Matrix<const Real>{atoms.data, atoms.rows, 0} : reading(atoms);
        pass.images = reading(images);
        pass.ahead = {ahead.data, ahead.rows, ahead.columns};
        pass.sigma = static_cast<Real>(pace.sigma);
        pass.tau = static_cast<Real>(tau);
        pass.box = coefficient_box;
    }

    // In the order of graphdict.engine.executor: blocks of a part, then parts, some at a time.
    const Pass<Real>& add_up() {
        std::vector<Block<Real>*> left;
        for (auto& part : blocks) {
            left.push_back(part[0].get());
            for (std::size_t i = 1; i < part.size(); ++i) part[0]->add(*part[i]);
        }
        while (left.size() > 1) {
            std::vector<Block<Real>*> fewer;
            for (std::size_t i = 0; i < left.size(); ++i)
                if (i % together == 0)
                    fewer.push_back(left[i]);
                else
                    fewer.back()->add(*left[i]);
            left = std::move(fewer);
        }
        return left[0]->pass;
    }

    Owned<Real> old, ahead, pull;
    std::vector<std::vector<std::unique_ptr<Block<Real>>>> blocks;
    std::vector<Job*> jobs;
};

template <class Real>
void bind_iterations_of(py::module_& m) {
    using A = Array<Real>;
    m.def(
        "projected_step",
        [](A before, A gradient, double tau, std::array<double, 4> box, A after) {
            auto to = matrix_out(after);
            for (auto from : {matrix(before), matrix(gradient)})
                expect(from.rows == to.rows && from.columns == to.columns, "shapes differ");
            descend<Real>(matrix(before), matrix(gradient), static_cast<Real>(tau), *box_of(box),
                          to);
        },
        py::arg("before").noconvert(), py::arg("gradient").noconvert(), py::arg("tau"),
        py::arg("box"), py::arg("after").noconvert());
    m.def(
        "iterate",
        [](Team& team, int count, double patience,
           std::vector<std::vector<BlockArrays<Real>>> parts, A modes, A atoms, A images,
           A gradient, A gram, std::array<double, 4> atom_box,
           std::array<double, 4> coefficient_box, std::array<double, 7> pace,
           std::size_t together) {
            const auto [norm, floor_atoms, floor_coefficients, sigma, eagerness, tau_atoms, tau] =
                pace;
            Iterations<Real> run(
                atoms, images, gradient, gram, modes, *box_of(atom_box), *box_of(coefficient_box),
                {norm, floor_atoms, floor_coefficients, sigma, eagerness, tau_atoms, tau}, together,
                parts);
            Unlocked unlocked;
            const auto until =
                std::chrono::steady_clock::now() + std::chrono::duration<double>(patience);
            int done = 0;
            while (done < count && run.is_finite()) {
                run.iterate(team);
                ++done;
                if (std::chrono::steady_clock::now() > until) break;
            }
            return std::tuple(done, run.tau_atoms, run.tau);
        },
        py::arg("team"), py::arg("count"), py::arg("patience"), py::arg("parts").noconvert(),
        py::arg("modes").noconvert(), py::arg("atoms").noconvert(), py::arg("images").noconvert(),
        py::arg("gradient").noconvert(), py::arg("gram").noconvert(), py::arg("atom_box"),
        py::arg("coefficient_box"), py::arg("pace"), py::arg("together"));
}

inline void bind_iterations(py::module_& m) {
    bind_iterations_of<double>(m);
    bind_iterations_of<float>(m);
}

}  // namespace graphdict
