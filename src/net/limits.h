/* The limits of net, by name: LIMIT_STREAMS_MAX and so on. limits.def says why. */
#pragma once

enum {
#define LIMIT(name, value, reason) LIMIT_##name = (value),
#include "net/limits.def"
#undef LIMIT
};
