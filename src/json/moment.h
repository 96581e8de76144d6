/* Timestamps and durations as in proto3 JSON: "2026-03-01T09:00:00.250Z", "-1.500s". The fraction has 0, 3, 6
 * or 9 digits when written. */
#pragma once

#include "base/base.h"
#include "base/str.h"

#define MOMENT_TEXT_MAX 64

/* Years 1 to 9999, nanos 0 to 999999999; otherwise ERR_INVALID. Reading accepts any offset and 1 to 9 digits
 * of fraction. */
int moment_format(int64_t seconds, int32_t nanos, char text[MOMENT_TEXT_MAX]) must_check;
int moment_read(struct str text, int64_t *ret_seconds, int32_t *ret_nanos) must_check;
/* Durations up to 10,000 years, positive or negative; nanos have the sign of seconds. Otherwise ERR_INVALID.
 */
int span_format(int64_t seconds, int32_t nanos, char text[MOMENT_TEXT_MAX]) must_check;
int span_read(struct str text, int64_t *ret_seconds, int32_t *ret_nanos) must_check;
