/* The numbers of limits.def as constants. */
#pragma once

enum {
#define LIMIT(name, value, why) LIMIT_##name = (value),
#include "core/limits.def"
#undef LIMIT
};
