/* A text as the parts of an iCalendar recurrence, after a fixed first date.
 *
 * What is accepted gives ascending times, none before its first date, and the same whichever time the search
 * begins at. */
#include "fuzz.h"

#include "cal/cal.h"
#include "cal/words.h"

#define BUDGET_BYTES ((size_t)1 << 20)
#define TIMES 6
#define START_S INT64_C(1767603600) /* 2026-01-05T09:00 */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct arena a cleanup(arena_done);
    struct buf text cleanup(buf_done);
    struct cal *c cleanup(cal_freep) = NULL;
    struct cal_spec s;
    struct err e = {0};
    struct cal_time t = {0}, again = {0};
    int64_t after_us = 0;

    arena_init(&a, BUDGET_BYTES);
    buf_init(&text, CAL_TEXT_BYTES_MAX * 2);
    buf_add_cstr(&text, "DTSTART:20260105T090000 RRULE:");
    buf_add(&text, data, size > CAL_TEXT_BYTES_MAX ? 0 : size);
    cal_spec_init(&s, &a, STR(""));
    int r = cal_spec_add_cron(&s, buf_str(&text), &e);
    ensure(r == 0 || (r == e.code && e.text[0]));
    if (r < 0 || cal_spec_finish(&s, &e) < 0 || cal_new(&s, NULL, &c, &e) < 0)
        return 0;
    buf_clear(&text);
    words_spec(&s, &text);
    ensure(!buf_ok(&text) || text.len > 0);
    for (int i = 0; i < TIMES && cal_next(c, STR(""), after_us, &t) == CAL_FOUND; i++) {
        size_t index;
        ensure(t.actual_us > after_us);
        ensure(cal_judge(c, t.nominal_s, &index) == CAL_IS_TIME);
        ensure(cal_next(c, STR(""), t.actual_us - 1000000, &again) == CAL_FOUND &&
               again.nominal_s == t.nominal_s);
        after_us = t.actual_us;
    }
    return 0;
}
