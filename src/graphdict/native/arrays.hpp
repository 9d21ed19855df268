// Arrays of NumPy as plain memory: row after row, nothing converted and nothing copied.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace graphdict {

namespace py = pybind11;

// What a function takes from Python. An array of another type or in another order is refused, not
// converted: bind with py::arg(...).noconvert() throughout.
template <class T>
using Array = py::array_t<T, py::array::c_style>;

template <class T>
struct Vector {
    T* data;
    py::ssize_t size;
    T& operator[](py::ssize_t i) const { return data[i]; }
};

template <class T>
struct Matrix {
    T* data;
    py::ssize_t rows, columns;
    T* operator[](py::ssize_t i) const { return data + i * columns; }
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
    Matrix<T> operator[](py::ssize_t i) const { return {data + i * rows * columns, rows, columns}; }
};

inline void expect(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
}

template <class T>
void expect_dimensions(const Array<T>& array, int dimensions) {
    if (array.ndim() != dimensions)
        throw std::invalid_argument("expected an array of " + std::to_string(dimensions) +
                                    " dimensions, got " + std::to_string(array.ndim()));
}

// To read from.
template <class T>
Vector<const T> vector(const Array<T>& array) {
    expect_dimensions(array, 1);
    return {array.data(), array.shape(0)};
}

template <class T>
Matrix<const T> matrix(const Array<T>& array) {
    expect_dimensions(array, 2);
    return {array.data(), array.shape(0), array.shape(1)};
}

template <class T>
Cube<const T> cube(const Array<T>& array) {
    expect_dimensions(array, 3);
    return {array.data(), array.shape(0), array.shape(1), array.shape(2)};
}

// To write into; an array that is read-only raises an error.
template <class T>
Vector<T> vector_out(Array<T>& array) {
    expect_dimensions(array, 1);
    return {array.mutable_data(), array.shape(0)};
}

template <class T>
Matrix<T> matrix_out(Array<T>& array) {
    expect_dimensions(array, 2);
    return {array.mutable_data(), array.shape(0), array.shape(1)};
}

template <class T>
Cube<T> cube_out(Array<T>& array) {
    expect_dimensions(array, 3);
    return {array.mutable_data(), array.shape(0), array.shape(1), array.shape(2)};
}

// While it lives, other threads of Python run.
using Unlocked = py::gil_scoped_release;

}  // namespace graphdict
