// Arrays of NumPy as plain memory: row after row, nothing converted and nothing copied.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cassert>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#if defined(GRAPHDICT_ASSERT_BOUNDS)  // by `make sanitize`
#undef NDEBUG
#include <cassert>
#define GRAPHDICT_ASSERT(holds) assert(holds)
#else
#define GRAPHDICT_ASSERT(holds) static_cast<void>(0)
#endif

namespace graphdict {

namespace py {
using namespace nanobind;
using ssize_t = Py_ssize_t;
}  // namespace py

// How NumPy's arrays and their types of elements begin, as its C interface promises since 1.7. They
// are read where they lie: building needs no NumPy, and Python's stable ABI is enough. nb::ndarray
// takes arrays that are not aligned, and 0.2 microseconds for each, which is ten times as long.
struct ElementType {
    PyObject_HEAD PyTypeObject* scalar;
    char kind, letter, byte_order, former_flags;
    int number;
};
struct ArrayHead {
    PyObject_HEAD char* data;
    int dimensions;
    Py_ssize_t* shape;
    Py_ssize_t* strides;
    PyObject* base;
    ElementType* type;
    int flags;
};
enum ArrayFlags { C_ORDER = 0x1, ALIGNED = 0x100, WRITEABLE = 0x400 };

// The class of arrays, found when the module is loaded.
inline PyTypeObject* ndarray = nullptr;

inline void find_ndarray() {
    py::object found = py::module_::import_("numpy").attr("ndarray");
    ndarray = reinterpret_cast<PyTypeObject*>(found.release().ptr());
}

// NumPy's numbers of a type; C has several integers of one size.
template <class T>
constexpr bool is_number_of(int number) {
    if constexpr (std::is_same_v<T, bool>) return number == 0;
    if constexpr (std::is_same_v<T, float>) return number == 11;
    if constexpr (std::is_same_v<T, double>) return number == 12;
    static_assert(std::is_same_v<T, bool> || std::is_signed_v<T>);
    return (number == 5 && sizeof(T) == sizeof(int)) ||
           (number == 7 && sizeof(T) == sizeof(long)) ||
           (number == 9 && sizeof(T) == sizeof(long long));
}

// What a function takes from Python: an array of exactly this type in the order of C. Any other is
// refused, not converted (see the caster at the end of this file). It keeps the memory alive.
template <class T>
struct Array {
    py::object object;

    const ArrayHead& head() const { return *reinterpret_cast<ArrayHead*>(object.ptr()); }
    py::ssize_t shape(int axis) const { return head().shape[axis]; }

    // Where its elements lie, if it has so many dimensions.
    T* data(int dimensions) const {
        if (head().dimensions != dimensions)
            throw std::invalid_argument("expected an array of " + std::to_string(dimensions) +
                                        " dimensions, got " + std::to_string(head().dimensions));
        if (!(head().flags & ALIGNED))
            throw std::invalid_argument("an array is not aligned in memory: pass a copy of it");
        return reinterpret_cast<T*>(head().data);
    }
    // The same, to write into.
    T* writable_data(int dimensions) const {
        if (!(head().flags & WRITEABLE)) throw std::invalid_argument("array is not writeable");
        return data(dimensions);
    }
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
    py::ssize_t size() const { return count * rows * columns; }
    template <class Other>
    bool has_shape_of(const Other& other) const {
        return count == other.count && rows == other.rows && columns == other.columns;
    }
};

// Edges of the complete graph, in the order of numpy.triu_indices(nodes, 1).
constexpr py::ssize_t edges_of(py::ssize_t nodes) { return nodes * (nodes - 1) / 2; }

inline void expect(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
}

// To read from.
template <class T>
Vector<const T> vector(const Array<T>& array) {
    return {array.data(1), array.shape(0)};
}

template <class T>
Matrix<const T> matrix(const Array<T>& array) {
    return {array.data(2), array.shape(0), array.shape(1)};
}

template <class T>
Cube<const T> cube(const Array<T>& array) {
    return {array.data(3), array.shape(0), array.shape(1), array.shape(2)};
}

// To write into; an array that is read-only raises an error.
template <class T>
Vector<T> vector_out(const Array<T>& array) {
    return {array.writable_data(1), array.shape(0)};
}

template <class T>
Matrix<T> matrix_out(const Array<T>& array) {
    return {array.writable_data(2), array.shape(0), array.shape(1)};
}

template <class T>
Cube<T> cube_out(const Array<T>& array) {
    return {array.writable_data(3), array.shape(0), array.shape(1), array.shape(2)};
}

// Calls bind(Real()) for every type of number that a loop is compiled for.
template <class Bind>
void in_both_precisions(Bind bind) {
    bind(double());
    bind(float());
}

// While it lives, other threads of Python run.
using WithoutGil = py::gil_scoped_release;

}  // namespace graphdict

namespace nanobind::detail {

// What signatures call such an array; tests/fuzz makes arguments from it.
template <class T>
constexpr auto array_name() {
    if constexpr (std::is_same_v<T, bool>)
        return const_name("numpy.ndarray[numpy.bool]");
    else if constexpr (std::is_floating_point_v<T>)
        return const_name("numpy.ndarray[numpy.float") + const_name<8 * sizeof(T)>() +
               const_name("]");
    else
        return const_name("numpy.ndarray[numpy.int") + const_name<8 * sizeof(T)>() +
               const_name("]");
}

template <class T>
struct type_caster<graphdict::Array<T>> {
    NB_TYPE_CASTER(graphdict::Array<T>, array_name<T>())

    bool from_python(handle source, std::uint32_t, cleanup_list*) noexcept {
        if (!PyObject_TypeCheck(source.ptr(), graphdict::ndarray)) return false;
        value.object = borrow(source);
        const graphdict::ArrayHead& head = value.head();
        return (head.flags & graphdict::C_ORDER) && head.type->byte_order != SWAPPED &&
               graphdict::is_number_of<T>(head.type->number);
    }

    static constexpr char SWAPPED = PY_LITTLE_ENDIAN ? '>' : '<';
};

// What comes from Python as a tuple, mostly a named one: a struct that lists the types of its
// members, in order, as `Members`.
template <class T>
struct type_caster<T, enable_if_t<std::tuple_size<typename T::Members>::value != 0>> {
    using Members = typename T::Members;
    NB_TYPE_CASTER(T, make_caster<Members>::Name)

    bool from_python(handle source, std::uint32_t flags, cleanup_list* cleanup) noexcept {
        make_caster<Members> tuple;
        if (!tuple.from_python(source, flags, cleanup)) return false;
        value = std::apply([](auto&&... members) { return T{std::move(members)...}; },
                           static_cast<Members>(tuple));
        return true;
    }
};

}  // namespace nanobind::detail
