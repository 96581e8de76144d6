/* Bytes as structured calendars, exclusions and intervals, the way they come from a client.
 *
 * The first byte says how long the spec lasts and how far it jitters. Each entry is a kind and then ranges of
 * a field, three bytes each. Values may be far out of range: then the entry is refused. What is accepted ends
 * its searches, and what they find is a time by its own calendar. Few inputs have no end at all, and only the
 * first byte PATIENT has the real limit of a search: the rest would wait for those that exclude nearly
 * everything. */
#include "fuzz.h"

#include "cal/compile.h"

#define BUDGET_BYTES ((size_t)1 << 20)
#define RANGES_MAX 16
#define ENTRIES_MAX 12
#define TIMES 8

#define BEGIN_US INT64_C(1767225600000000) /* 2026-01-01 */
#define SHORTEST_US (600 * INT64_C(1000000))
#define JITTER_US INT64_C(1600000)
#define ENDLESS 15
#define PATIENT 0xff
#define WORK_MAX 50000

struct input {
    const uint8_t *p, *end;
};

static uint8_t take_byte(struct input *in) {
    return in->p < in->end ? *in->p++ : 0;
}

static size_t read_ranges(struct input *in, int base, struct cal_range ranges[RANGES_MAX]) {
    size_t n = take_byte(in) % RANGES_MAX;
    for (size_t i = 0; i < n; i++) {
        int32_t first = (int8_t)take_byte(in), last = (int8_t)take_byte(in), step = (int8_t)take_byte(in);
        ranges[i] = (struct cal_range){first + base, last ? last + base : 0, step};
    }
    return n;
}

static int add_entry(struct input *in, struct cal_spec *s, struct err *e) {
    struct cal_range ranges[CAL_FIELD_COUNT][RANGES_MAX];
    struct cal_calendar c = {0};
    uint8_t kind = take_byte(in);
    if (kind % 3 == 2) {
        struct cal_interval i = {(int64_t)take_byte(in) * 700000, (int64_t)(int8_t)take_byte(in) * 100000};
        return cal_spec_add_interval(s, &i, e);
    }
    for (int f = 0; f < CAL_FIELD_COUNT; f++)
        c.fields[f] = (struct cal_ranges){ranges[f], read_ranges(in, f == CAL_YEAR ? 2026 : 0, ranges[f])};
    if (kind & 64)
        c.comment = STR("rondo: 0 0 L * *");
    return kind % 3 == 0 ? cal_spec_add_calendar(s, &c, e) : cal_spec_exclude_calendar(s, &c, e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct arena a cleanup(arena_done);
    struct cal *c cleanup(cal_freep) = NULL;
    struct input in = {data, data + size};
    struct cal_spec s;
    struct err e = {0};
    struct cal_time t = {0};
    int64_t after_us = BEGIN_US;
    size_t index;

    arena_init(&a, BUDGET_BYTES);
    cal_spec_init(&s, &a, STR("seed"));
    uint8_t first = take_byte(&in);
    s.jitter_us = (first >> 4) * JITTER_US;
    s.end_us = first % 16 == ENDLESS ? CAL_NO_END : BEGIN_US + (SHORTEST_US << first % 16);
    for (int i = 0; i < ENTRIES_MAX && in.p < in.end; i++) {
        int r = add_entry(&in, &s, &e);
        ensure(r == 0 || (r == e.code && e.text[0]));
    }
    ensure(cal_spec_finish(&s, &e) == 0);
    ensure(cal_new(&s, NULL, &c, &e) == 0);
    if (first != PATIENT)
        c->work_max = WORK_MAX;
    for (int i = 0; i < TIMES && cal_next(c, STR("seed"), after_us, &t) == CAL_FOUND; i++) {
        ensure(t.actual_us > after_us && t.nominal_s * 1000000 <= s.end_us);
        ensure(cal_judge(c, t.nominal_s, &index) == CAL_IS_TIME);
        after_us = t.actual_us;
    }
    return 0;
}
