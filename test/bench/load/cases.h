/* The cases, from cases.def. */
#pragma once

#include "bench.h"

#define CASE(name, text) void case_##name(struct bench *b);
#include "cases.def"
#undef CASE
