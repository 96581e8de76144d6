/* A text as a time, a length of time, a number or base64, in each of the ways that one can be written.
 *
 * What is read can be written, and what was written is read as the same again. */
#include "fuzz.h"

#include <math.h>

#include "cal/duration.h"
#include "core/schedule/instant.h"
#include "json/base64.h"
#include "json/moment.h"
#include "json/number.h"

#define TEXT_BYTES_MAX 256
#define BUDGET_BYTES ((size_t)64 << 10)

static void check_moment(struct str text) {
    char again[MOMENT_TEXT_MAX];
    int64_t seconds, seconds_again, ns;
    int32_t nanos, nanos_again;
    if (instant_parse(text, &ns) == 0)
        ensure(text.n >= 10);
    if (moment_read(text, &seconds, &nanos) < 0)
        return;
    ensure(nanos >= 0 && nanos < NSEC_PER_SEC);
    ensure(moment_format(seconds, nanos, again) == 0);
    ensure(moment_read(str_of(again), &seconds_again, &nanos_again) == 0);
    ensure(seconds == seconds_again && nanos == nanos_again);
    ensure(instant_parse(str_of(again), &ns) == 0);
    if (seconds > INT64_MIN / NSEC_PER_SEC && seconds < INT64_MAX / NSEC_PER_SEC)
        ensure(ns == seconds * NSEC_PER_SEC + nanos);
}

static void check_span(struct str text) {
    char again[MOMENT_TEXT_MAX];
    struct duration d;
    int64_t seconds, seconds_again, us, ns;
    int32_t nanos, nanos_again;
    ensure(duration_parse_units(text, &us) == 0 || text.n <= TEXT_BYTES_MAX);
    ensure(span_parse(text, &ns) == 0 || text.n <= TEXT_BYTES_MAX);
    if (duration_parse_iso(text, &d) == 0)
        ensure(text.n >= 3);
    if (span_read(text, &seconds, &nanos) < 0)
        return;
    ensure(nanos > -NSEC_PER_SEC && nanos < NSEC_PER_SEC);
    ensure(span_format(seconds, nanos, again) == 0);
    ensure(span_read(str_of(again), &seconds_again, &nanos_again) == 0);
    ensure(seconds == seconds_again && nanos == nanos_again);
}

static void check_number(struct str text) {
    char again[NUMBER_TEXT_MAX];
    bool is_negative;
    uint64_t magnitude;
    double v, v_again;
    bool is_whole = number_whole(text, &is_negative, &magnitude) == 0;
    bool is_real = number_real(text, &v) == 0;
    ensure(!is_whole || is_real);
    if (!is_real)
        return;
    ensure(isfinite(v));
    number_format_double(v, again);
    ensure(number_real(str_of(again), &v_again) == 0 && memcmp(&v, &v_again, sizeof(v)) == 0);
    if (isfinite((float)v))
        number_format_float((float)v, again);
    if (is_whole && magnitude < UINT64_C(1) << 53)
        ensure((is_negative ? -v : v) == (double)magnitude);
}

static void check_base64(struct str text) {
    struct arena a cleanup(arena_done);
    struct buf again cleanup(buf_done);
    struct str bytes, bytes_again;
    arena_init(&a, BUDGET_BYTES);
    buf_init(&again, BUDGET_BYTES);
    if (base64_read(&a, text, &bytes) < 0)
        return;
    base64_add(&again, bytes);
    ensure(base64_read(&a, buf_str(&again), &bytes_again) == 0 && str_eq(bytes, bytes_again));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > TEXT_BYTES_MAX)
        return 0;
    struct str text = str_bytes(data, size);
    check_moment(text);
    check_span(text);
    check_number(text);
    check_base64(text);
    return 0;
}
