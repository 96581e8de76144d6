/* The numbers of limits.def as constants. */
#pragma once

#include "base/limit.h"

enum {
#define LIMIT(name, value, why) ENGINE_##name = LIMIT_NUMBER(engine, name, value),
#include "engine/runtime/limits.def"
#undef LIMIT
};
