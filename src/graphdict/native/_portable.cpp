#include "module.hpp"

NB_MODULE(_portable, m) { graphdict::bind(m); }
