#include "module.hpp"

PYBIND11_MODULE(_portable, m) { graphdict::bind(m); }
