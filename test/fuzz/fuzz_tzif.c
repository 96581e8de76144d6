/* Bytes as a TZif file.
 *
 * A file that is accepted has spans without gaps between them, in which every second finds its own span, and
 * a calendar in that zone gives ascending times under each policy. */
#include "fuzz.h"

#include "cal/cal.h"
#include "cal/zone.h"

#define BUDGET_BYTES ((size_t)1 << 18)
#define SPANS_MAX 300
#define TIMES 20

static void check_spans(const struct zone *z) {
    int64_t at_s = INT64_C(-5000000000);
    for (int i = 0; i < SPANS_MAX; i++) {
        struct zone_span span = zone_span_at(z, at_s);
        ensure(span.begin_s <= at_s && at_s < span.end_s);
        ensure(zone_span_at(z, span.end_s - 1).offset_s == span.offset_s);
        int64_t local_s = at_s + span.offset_s, instant_s = zone_instant(z, local_s);
        ensure(instant_s <= at_s); /* the first instant of that local time */
        if (span.end_s > INT64_C(20000000000))
            return;
        at_s = span.end_s;
    }
}

static void check_calendar(struct arena *a, struct str data, const char *name) {
    struct cal *c cleanup(cal_freep) = NULL;
    struct cal_spec s;
    struct cal_time t = {0};
    int64_t after_us = 0;
    cal_spec_init(&s, a, STR(""));
    s.zone_name = str_of(name);
    s.zone_data = data;
    ensure(cal_spec_add_cron(&s, STR("30 1,2 * * *"), NULL) == 0);
    ensure(cal_spec_finish(&s, NULL) == 0);
    ensure(cal_new(&s, NULL, &c, NULL) == 0);
    for (int i = 0; i < TIMES && cal_next(c, STR(""), after_us, &t) == CAL_FOUND; i++) {
        ensure(t.actual_us > after_us);
        after_us = t.actual_us;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct arena a cleanup(arena_done);
    struct zone *z cleanup(zone_freep) = NULL;
    struct err e = {0};
    arena_init(&a, BUDGET_BYTES);
    int r = zone_new(str_bytes(data, size), &z, &e);
    ensure(r == 0 || (r == e.code && e.text[0]));
    if (r < 0)
        return 0;
    check_spans(z);
    check_calendar(&a, str_bytes(data, size), "");
    check_calendar(&a, str_bytes(data, size), "x;missing=shift;repeated=first");
    check_calendar(&a, str_bytes(data, size), "x;repeated=last");
    return 0;
}
