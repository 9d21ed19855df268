// Names of its own, since the portable build is loaded beside it.
#define graphdict graphdict_x86_64_v3
#include "module.hpp"

NB_MODULE(_x86_64_v3, m) { graphdict::bind(m); }
