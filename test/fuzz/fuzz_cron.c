/* A text as a cron string of every dialect.
 *
 * The first byte chooses how it is read. What is accepted compiles, or says why not; its times ascend, each
 * is a time by its own calendar, and the canonical form handed back gives the same times. */
#include "fuzz.h"

#include "cal/cal.h"
#include "cal/classic.h"
#include "cal/warning.h"
#include "cal/words.h"

#define BUDGET_BYTES ((size_t)1 << 20)
#define TIMES 8
#define YEAR_2026_US INT64_C(1767225600000000)

static int read_spec(struct cal_spec *s, int form, struct str text, struct err *e) {
    switch (form) {
    case 0:
        return cal_spec_add_dbos(s, text, e);
    case 1:
        return cal_spec_exclude_cron(s, text, e);
    default:
        return cal_spec_add_cron(s, text, e);
    }
}

static void check_times(const struct cal *a, const struct cal *b, struct str seed) {
    int64_t after_us = YEAR_2026_US;
    size_t index;
    for (int i = 0; i < TIMES; i++) {
        struct cal_time x = {0}, y = {0};
        enum cal_answer answer = cal_next(a, seed, after_us, &x);
        ensure(cal_next(b, seed, after_us, &y) == answer);
        if (answer != CAL_FOUND)
            return;
        ensure(x.nominal_s == y.nominal_s && x.actual_us == y.actual_us);
        ensure(x.actual_us > after_us && x.actual_us / 1000000 >= x.nominal_s);
        ensure(cal_judge(a, x.nominal_s, &index) == CAL_IS_TIME);
        after_us = x.actual_us;
    }
}

/* The canonical calendars as the only thing that is known of the spec. */
static void check_handed_back(const struct cal_spec *s, const struct cal *c, struct arena *a) {
    struct cal *again cleanup(cal_freep) = NULL;
    struct cal_spec copy;
    cal_spec_init(&copy, a, s->seed);
    for (size_t i = 0; i < s->calendar_count; i++)
        ensure(cal_spec_add_calendar(&copy, &s->calendars[i], NULL) == 0);
    for (size_t i = 0; i < s->exclude_count; i++)
        ensure(cal_spec_exclude_calendar(&copy, &s->excludes[i], NULL) == 0);
    for (size_t i = 0; i < s->interval_count; i++)
        ensure(cal_spec_add_interval(&copy, &s->intervals[i], NULL) == 0);
    copy.zone_name = s->zone_name;
    copy.jitter_us = s->jitter_us;
    ensure(cal_spec_finish(&copy, NULL) == 0);
    ensure(cal_new(&copy, NULL, &again, NULL) == 0);
    check_times(c, again, s->seed);
}

/* What can be compiled can be said, and be warned of. */
static void check_words(const struct cal_spec *s, struct arena *a) {
    struct buf out cleanup(buf_done);
    struct warning found[WARNING_KINDS];
    struct err e = {0};
    size_t n;
    buf_init(&out, BUDGET_BYTES);
    words_spec(s, &out);
    ensure(!buf_ok(&out) || out.len > 0);
    int r = warnings_of(s, NULL, YEAR_2026_US, a, found, &n, &e);
    ensure(r == 0 || r == ERR_NO_MEMORY);
}

static void check_schedule(struct arena *a, int form, struct str text) {
    struct cal *c cleanup(cal_freep) = NULL;
    struct cal_spec s;
    struct err e = {0};
    cal_spec_init(&s, a, STR("namespace-schedule"));
    s.jitter_us = form == 2 ? 5000000 : 0;
    int r = read_spec(&s, form, text, &e);
    ensure(r == 0 || (r == e.code && e.text[0]));
    if (r == 0 && form == 1) /* something to be excluded from */
        ensure(cal_spec_add_cron(&s, STR("*/7 */3 * * * * *"), NULL) == 0 || s.string_zone.n > 0);
    if (r < 0 || cal_spec_finish(&s, &e) < 0 || cal_new(&s, NULL, &c, &e) < 0)
        return;
    check_handed_back(&s, c, a);
    check_words(&s, a);
}

static void check_classic(struct str text) {
    struct classic *c cleanup(classic_freep) = NULL;
    struct err e = {0};
    int64_t at_s = YEAR_2026_US / 1000000, next_s;
    int r = classic_new(text, NULL, &c, &e);
    ensure(r == 0 || (r == e.code && e.text[0]));
    for (int i = 0; i < TIMES && r == 0 && classic_next(c, at_s, &next_s); i++, at_s = next_s)
        ensure(next_s > at_s);
    if (r == 0)
        ensure(classic_backoff_us(c, YEAR_2026_US, YEAR_2026_US) >= -1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct arena a cleanup(arena_done);
    arena_init(&a, BUDGET_BYTES);
    if (size == 0 || size > CAL_TEXT_BYTES_MAX)
        return 0;
    struct str text = str_bytes(data + 1, size - 1);
    check_schedule(&a, data[0] % 4, text);
    check_classic(text);
    return 0;
}
