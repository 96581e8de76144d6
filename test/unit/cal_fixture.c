/* See cal_fixture.h. */
#include "cal_fixture.h"

#include <stdio.h>

#include "base/clock.h"
#include "cal/civil.h"
#include "cal/duration.h"
#include "cal/word.h"

#define ARENA_BUDGET ((size_t)1 << 20)
#define TEXT_MAX ((size_t)1 << 16)

/* No zones when there was no memory for them. */
static const struct zone *find_zone(void *ctx, struct str name) {
    struct cal_world *w = ctx;
    return w->zoneinfo ? zoneinfo_find(w->zoneinfo, name) : NULL;
}

void cal_world_init(struct cal_world *w) {
    *w = (struct cal_world){0};
    arena_init(&w->arena, ARENA_BUDGET);
    w->zoneinfo = zoneinfo_new(NULL);
    w->zones = (struct cal_zones){find_zone, w, NULL};
}

void cal_world_done(struct cal_world *w) {
    w->cal = cal_free(w->cal);
    w->zoneinfo = zoneinfo_free(w->zoneinfo);
    arena_done(&w->arena);
}

int64_t cal_time_of(const char *text) {
    struct civil_stamp stamp = {0};
    size_t at;
    CHECK(civil_parse(str_of(text), &stamp, &at) == 0);
    return stamp.local_s - stamp.offset_s;
}

static int64_t time_us(struct str text) {
    struct civil_stamp stamp = {0};
    size_t at;
    int64_t fraction_us = 0;
    bool has_fraction;
    struct str rest = text;
    struct str whole = word_cut(&rest, '.', &has_fraction);
    if (has_fraction) {
        char digits[7] = "000000";
        memcpy(digits, rest.p, MIN(rest.n, 6));
        CHECK(word_int(str_of(digits), &fraction_us) == 0);
    }
    CHECK(civil_parse(whole, &stamp, &at) == 0);
    return (stamp.local_s - stamp.offset_s) * USEC_PER_SEC + fraction_us;
}

static void read_strings(struct str text, struct cal_strings *ret) {
    static const char *const names[] = {"sec", "min", "hour", "dom", "month", "dow", "year"};
    *ret = (struct cal_strings){0};
    for (struct str word; (word = word_next(&text)).n > 0;) {
        bool found;
        struct str value = word, name = word_cut(&value, '=', &found);
        for (size_t i = 0; i < ARRAY_LEN(names); i++)
            if (str_is(name, names[i]))
                ret->fields[i] = value;
        if (str_is(name, "comment"))
            ret->comment = value;
    }
}

static int add_part(struct cal_world *w, struct str name, struct str value) {
    struct cal_spec *s = &w->spec;
    struct cal_strings strings;
    if (str_is(name, "cron"))
        return cal_spec_add_cron(s, value, &w->err);
    if (str_is(name, "dbos"))
        return cal_spec_add_dbos(s, value, &w->err);
    if (str_is(name, "notcron"))
        return cal_spec_exclude_cron(s, value, &w->err);
    if (str_is(name, "cal") || str_is(name, "not")) {
        read_strings(value, &strings);
        return str_is(name, "cal") ? cal_spec_add_strings(s, &strings, &w->err)
                                   : cal_spec_exclude_strings(s, &strings, &w->err);
    }
    if (str_is(name, "zone"))
        s->zone_name = value;
    else if (str_is(name, "start"))
        s->start_us = time_us(value);
    else if (str_is(name, "end"))
        s->end_us = time_us(value);
    else if (str_is(name, "jitter"))
        CHECK(duration_parse_units(value, &s->jitter_us) == 0);
    else if (!str_is(name, "seed"))
        CHECK(!"a part that the fixture knows");
    return 0;
}

/* The part up to the next " | ". */
static struct str cut_part(struct str *rest) {
    for (size_t i = 0; i + 3 <= rest->n; i++) {
        if (memcmp(rest->p + i, " | ", 3) == 0) {
            struct str part = {rest->p, i};
            *rest = word_from(*rest, i + 3);
            return word_trim(part);
        }
    }
    struct str part = *rest;
    *rest = word_from(*rest, rest->n);
    return word_trim(part);
}

static struct str find_seed(struct str spec) {
    while (spec.n > 0) {
        struct str value = cut_part(&spec), name = word_next(&value);
        if (str_is(name, "seed"))
            return word_trim(value);
    }
    return STR("");
}

int cal_world_make(struct cal_world *w, const char *spec) {
    struct str rest = str_of(spec);
    w->cal = cal_free(w->cal);
    w->err = (struct err){0};
    w->seed = find_seed(rest);
    cal_spec_init(&w->spec, &w->arena, w->seed);
    while (rest.n > 0) {
        struct str value = cut_part(&rest), name = word_next(&value);
        int e = add_part(w, name, word_trim(value));
        if (e < 0)
            return e;
    }
    int e = cal_spec_finish(&w->spec, &w->err);
    return e < 0 ? e : cal_new(&w->spec, &w->zones, &w->cal, &w->err);
}

static void add_time(struct buf *out, int64_t at_us, int64_t *last_day) {
    int64_t s = civil_div(at_us, USEC_PER_SEC), day = civil_div(s, CIVIL_DAY_S);
    int ms = (int)civil_mod(at_us, USEC_PER_SEC) / 1000, tod = (int)(s - day * CIVIL_DAY_S);
    struct civil_date d = civil_date_of(day);
    if (out->len > 0)
        buf_add_cstr(out, " ");
    if (day != *last_day)
        buf_printf(out, "%04d-%02d-%02d ", (int)d.year, d.month, d.day);
    *last_day = day;
    buf_printf(out, "%02d:%02d", tod / 3600, tod / 60 % 60);
    if (tod % 60 || ms)
        buf_printf(out, ":%02d", tod % 60);
    if (ms)
        buf_printf(out, ".%03d", ms);
}

void cal_world_times(const struct cal_world *w, int64_t after_us, size_t count, struct buf *out) {
    int64_t last_day = INT64_MIN;
    struct cal_time t;
    for (size_t i = 0; i < count; i++) {
        enum cal_answer answer = cal_next(w->cal, w->seed, after_us, &t);
        if (answer != CAL_FOUND) {
            buf_add_cstr(out, out->len > 0 ? " " : "");
            buf_add_cstr(out, answer == CAL_NONE ? "none" : "limit");
            return;
        }
        add_time(out, t.actual_us, &last_day);
        after_us = t.actual_us;
    }
}

static size_t count_times(struct str expected) {
    size_t count = 0;
    for (struct str word; (word = word_next(&expected)).n > 0;)
        count += word_count_char(word, ':') > 0 || str_is(word, "none") || str_is(word, "limit");
    return count;
}

static void check_error(const char *file, int line, const struct cal_world *w, int e, const char *part) {
    bool is_expected = e == ERR_INVALID && w->err.code == e && strstr(w->err.text, part);
    if (is_expected)
        test_check(true, file, line, part);
    else
        test_check_str(str_of(e < 0 ? w->err.text : "no error"), str_of(part), file, line, "error");
}

void cal_check(const char *file, int line, const char *spec, const char *after, const char *expected) {
    struct cal_world w;
    struct buf got cleanup(buf_done);
    buf_init(&got, TEXT_MAX);
    cal_world_init(&w);
    int e = cal_world_make(&w, spec);
    if (expected[0] == '!') {
        check_error(file, line, &w, e, expected + 1);
    } else if (e < 0) {
        test_check_str(str_of(w.err.text), str_of(expected), file, line, spec);
    } else {
        cal_world_times(&w, time_us(str_of(after)), count_times(str_of(expected)), &got);
        test_check_str(buf_str(&got), str_of(expected), file, line, spec);
    }
    cal_world_done(&w);
}
