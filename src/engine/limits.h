/* The numbers of limits.def as constants. */
#pragma once

enum {
#define LIMIT(name, value, why) ENGINE_##name = (value),
#include "engine/limits.def"
#undef LIMIT
};
