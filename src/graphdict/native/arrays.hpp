// Arrays of NumPy as plain memory: row after row, nothing converted and nothing copied.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cassert>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

#if defined(GRAPHDICT_ASSERT_BOUNDS)  // by `make sanitize`
#undef NDEBUG
#include <cassert>
#define GRAPHDICT_ASSERT(holds) assert(holds)
#else
#define GRAPHDICT_ASSERT(holds) static_cast<void>(0)
#endif

namespace graphdict {

namespace py = pybind11;

// What a function takes from Python: an array of exactly this type in the order of C. Any other is
// refused, not converted (see the caster at the end of this file). It keeps the memory alive.
template <class T>
struct Array {
    py::array object = py::reinterpret_steal<py::array>(py::handle());
};

template <class T>
struct Vector {
    T* data;
    py::ssize_t size;
    T& operator[](py::ssize_t i) const {
        GRAPHDICT_ASSERT(0 <= i && i < size);
        return data[i];
    }
};

// Row i of a matrix is a pointer to its first entry; that behind the last row is where it ends.
template <class T>
struct Matrix {
    T* data;
    py::ssize_t rows, columns;
    T* operator[](py::ssize_t i) const {
        GRAPHDICT_ASSERT(0 <= i && i <= rows);
        return data + i * columns;
    }
    py::ssize_t size() const { return rows * columns; }
    template <class Other>
    bool has_shape_of(const Other& other) const {
        return rows == other.rows && columns == other.columns;
    }
    operator Matrix<const T>() const { return {data, rows, columns}; }
};

// Some rows of one.
template <class T>
Matrix<T> rows_of(Matrix<T> matrix, py::ssize_t start, py::ssize_t stop) {
    return {matrix[start], stop - start, matrix.columns};
}

// A stack of matrices.
template <class T>
struct Cube {
    T* data;
    py::ssize_t count, rows, columns;
    Matrix<T> operator[](py::ssize_t i) const {
        GRAPHDICT_ASSERT(0 <= i && i < count);
        return {data + i * rows * columns, rows, columns};
    }
};

// Edges of the complete graph, in the order of numpy.triu_indices(nodes, 1).
constexpr py::ssize_t edges_of(py::ssize_t nodes) { return nodes * (nodes - 1) / 2; }

inline void expect(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
}

inline const py::array& with_dimensions(const py::array& array, int dimensions) {
    if (array.ndim() != dimensions)
        throw std::invalid_argument("expected an array of " + std::to_string(dimensions) +
                                    " dimensions, got " + std::to_string(array.ndim()));
    return array;
}

// To read from.
template <class T>
Vector<const T> vector(const Array<T>& array) {
    const py::array& given = with_dimensions(array.object, 1);
    return {static_cast<const T*>(given.data()), given.shape(0)};
}

template <class T>
Matrix<const T> matrix(const Array<T>& array) {
    const py::array& given = with_dimensions(array.object, 2);
    return {static_cast<const T*>(given.data()), given.shape(0), given.shape(1)};
}

template <class T>
Cube<const T> cube(const Array<T>& array) {
    const py::array& given = with_dimensions(array.object, 3);
    return {static_cast<const T*>(given.data()), given.shape(0), given.shape(1), given.shape(2)};
}

// To write into; an array that is read-only raises an error.
template <class T>
T* writable(const Array<T>& array) {
    return static_cast<T*>(py::array(array.object).mutable_data());
}

template <class T>
Vector<T> vector_out(const Array<T>& array) {
    return {writable(array), vector(array).size};
}

template <class T>
Matrix<T> matrix_out(const Array<T>& array) {
    const auto shape = matrix(array);
    return {writable(array), shape.rows, shape.columns};
}

template <class T>
Cube<T> cube_out(const Array<T>& array) {
    const auto shape = cube(array);
    return {writable(array), shape.count, shape.rows, shape.columns};
}

// While it lives, other threads of Python run.
using WithoutGil = py::gil_scoped_release;

}  // namespace graphdict

namespace pybind11::detail {

template <class T>
struct type_caster<graphdict::Array<T>> {
    PYBIND11_TYPE_CASTER(graphdict::Array<T>, const_name("numpy.ndarray[") +
                                                  npy_format_descriptor<T>::name +
                                                  const_name(", C order]"));

    bool load(handle source, bool) {
        if (!array_t<T, array::c_style>::check_(source)) return false;
        value.object = reinterpret_borrow<array>(source);
        if (!(value.object.flags() & npy_api::NPY_ARRAY_ALIGNED_))
            throw std::invalid_argument("an array is not aligned in memory: pass a copy of it");
        return true;
    }
};

}  // namespace pybind11::detail
