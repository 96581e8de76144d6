/* The limits of net, by name: LIMIT_STREAMS_MAX and so on. limits.def says why. */
#pragma once

#include "base/limit.h"

enum {
#define LIMIT(name, value, reason) LIMIT_##name = LIMIT_NUMBER(net, name, value),
#include "net/limits.def"
#undef LIMIT
};
