/* The delay that spreads actions: a hash of nominal time and schedule, the same on every server. */
#pragma once

#include "base/base.h"
#include "base/str.h"

/* FarmHash Fingerprint32 of prefix followed by rest; at least 13 bytes in all. */
uint32_t jitter_hash(struct str prefix, struct str rest);
/* A delay in [0, max_us), in whole milliseconds. */
int64_t jitter_us(int64_t nominal_s, struct str seed, int64_t max_us);
