/* Describes intervals, zones, bounds and whole specs in words. Fails only as struct buf does. */
#include "cal/words.h"

#include "base/clock.h"
#include "cal/civil.h"
#include "cal/words_int.h"

void words_length(int64_t us, struct buf *out) {
    static const struct {
        int64_t us;
        const char *name;
    } units[] = {{CIVIL_DAY_S * USEC_PER_SEC, "day"},
                 {CIVIL_HOUR_S * USEC_PER_SEC, "hour"},
                 {CIVIL_MINUTE_S * USEC_PER_SEC, "minute"},
                 {USEC_PER_SEC, "second"}};
    size_t begin = out->len;
    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        int64_t n = us / units[i].us;
        us %= units[i].us;
        if (n)
            buf_printf(out, "%s%lld %s%s", out->len > begin ? " " : "", (long long)n, units[i].name,
                       n > 1 ? "s" : "");
    }
    if (us)
        buf_printf(out, "%s%lld ms", out->len > begin ? " " : "", (long long)us / 1000);
    if (out->len == begin)
        buf_add_cstr(out, "0 seconds");
}

void words_interval(const struct cal_interval *i, struct buf *out) {
    buf_add_cstr(out, "every ");
    words_length(i->interval_us, out);
    if (i->phase_us) {
        buf_add_cstr(out, ", shifted by ");
        words_length(i->phase_us, out);
    }
    /* An interval that divides a day has the same times on every day, in UTC. Others need their origin. */
    if (CIVIL_DAY_S * USEC_PER_SEC % i->interval_us)
        buf_add_cstr(out, ", counted from 1970-01-01T00:00:00Z");
}

void words_zone(const struct cal_spec *s, struct buf *out) {
    static const char *const missing[] = {"a time that the clocks skip is left out",
                                          "a time that the clocks skip is moved behind the gap"};
    static const char *const repeated[] = {"one that they show twice counts twice",
                                           "of one that they show twice the first counts",
                                           "of one that they show twice the second counts"};
    struct zone_label label;
    struct err e;
    bool is_ok = zone_label_parse(s->zone_name, &label, &e) == 0;
    if (s->zone_data.n)
        buf_add_cstr(out, "in a time zone of its own");
    else if (!is_ok || !label.name.n || str_is(label.name, "UTC"))
        buf_add_cstr(out, "in UTC");
    else
        buf_printf(out, "in %.*s; %s, %s", (int)label.name.n, label.name.p, missing[label.missing],
                   repeated[label.repeated]);
}

static void words_add_bound(struct buf *out, const char *word, int64_t us) {
    char text[CIVIL_TEXT_MAX];
    civil_format(civil_div(us, USEC_PER_SEC), "Z", text);
    buf_printf(out, "; %s %s", word, text);
}

void words_spec(const struct cal_spec *s, struct buf *out) {
    bool has_times = s->calendar_count + s->interval_count > 0;
    for (size_t i = 0; i < s->calendar_count; i++) {
        buf_add_cstr(out, i ? "; " : "");
        words_calendar(&s->calendars[i], s->arena, out);
    }
    for (size_t i = 0; i < s->interval_count; i++) {
        buf_add_cstr(out, i + s->calendar_count ? "; " : "");
        words_interval(&s->intervals[i], out);
    }
    if (!has_times)
        buf_add_cstr(out, "never");
    for (size_t i = 0; i < s->exclude_count; i++) {
        buf_add_cstr(out, "; not ");
        words_exclusion(&s->excludes[i], s->arena, out);
    }
    if (s->calendar_count) {
        buf_add_cstr(out, "; ");
        words_zone(s, out);
    }
    if (s->start_us != CAL_NO_START)
        words_add_bound(out, "from", s->start_us);
    if (s->end_us != CAL_NO_END)
        words_add_bound(out, "until", s->end_us);
    if (s->jitter_us > 0) {
        buf_add_cstr(out, "; each up to ");
        words_length(s->jitter_us, out);
        buf_add_cstr(out, " later");
    }
}
