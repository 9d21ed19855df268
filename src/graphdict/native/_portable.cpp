#include "module.hpp"

PYBIND11_MODULE(_portable, m, pybind11::mod_gil_not_used()) { graphdict::bind(m); }
