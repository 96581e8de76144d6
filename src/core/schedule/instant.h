/* Times and durations as text, in nanoseconds. */
#pragma once

#include "base/base.h"
#include "base/str.h"

#define NSEC_PER_SEC INT64_C(1000000000)

/* RFC 3339, with any fraction and zone: nanoseconds since 1970. Years that do not fit become the nearest
 * time that does. ERR_INVALID when it is something else. */
int instant_parse(struct str s, int64_t *ret_ns) must_check;
/* "1h30m", "-2.5s", "250ms", or "hh:mm:ss". ERR_INVALID when it is neither or does not fit. */
int span_parse(struct str s, int64_t *ret_ns) must_check;
