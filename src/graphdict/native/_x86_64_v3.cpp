// Names of its own, since the portable build is loaded beside it.
#define graphdict graphdict_x86_64_v3
#include "module.hpp"

PYBIND11_MODULE(_x86_64_v3, m, pybind11::mod_gil_not_used()) { graphdict::bind(m); }
