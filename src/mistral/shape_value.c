/* Values from text. Parameters of a query are all text; JSON has times, durations and words as strings.
 *
 * A function returns false after adding a complaint. */
#include <stdio.h>

#include "cal/duration.h"
#include "json/moment.h"
#include "json/number.h"
#include "mistral/shape_int.h"

#define USEC_PER_DAY (24 * 3600 * USEC_PER_SEC)

/* A time without an offset, as Python writes it, is in UTC. */
bool shape_read_time(struct complaints *c, const struct place *at, struct str text, struct field_value *v) {
    char in_utc[MOMENT_TEXT_MAX];
    if (!text.n || memchr(text.p, 0, text.n)) {
        complaints_add(c, at, "datetime_parsing", "Input should be a valid datetime");
        return false;
    }
    if (moment_read(text, &v->whole, &v->nanos) == 0)
        return true;
    (void)snprintf(in_utc, sizeof(in_utc), "%.*sZ", (int)MIN(text.n, sizeof(in_utc)), text.p);
    if (text.n < sizeof(in_utc) - 1 && moment_read(str_of(in_utc), &v->whole, &v->nanos) == 0)
        return true;
    complaints_add(c, at, "datetime_parsing", "Input should be a valid datetime");
    return false;
}

bool shape_read_span(struct complaints *c, const struct place *at, const struct field *f, struct str text,
                     struct field_value *v) {
    struct duration d;
    int64_t days;
    if (duration_parse_iso(text, &d) < 0 || d.months || __builtin_mul_overflow(d.days, USEC_PER_DAY, &days) ||
        __builtin_add_overflow(days, d.us, &v->whole)) {
        complaints_add(
            c, at, "time_delta_parsing",
            "Input should be a valid timedelta: a duration of days, hours, minutes and seconds as in ISO "
            "8601, like PT30M");
        return false;
    }
    if (v->whole >= f->min)
        return true;
    complaints_add(c, at, "greater_than_equal",
                   f->min ? "Input should be more than 0" : "Input should not be negative");
    return false;
}

static bool shape_check_whole(struct complaints *c, const struct place *at, const struct field *f,
                              int64_t n) {
    if (n < f->min)
        complaints_add(c, at, "greater_than_equal", "Input should be greater than or equal to %lld",
                       (long long)f->min);
    if (n > f->max)
        complaints_add(c, at, "less_than_equal", "Input should be less than or equal to %lld",
                       (long long)f->max);
    return n >= f->min && n <= f->max;
}

bool shape_read_whole(struct complaints *c, const struct place *at, const struct field *f, struct str text,
                      const char *type, struct field_value *v) {
    bool is_negative;
    uint64_t magnitude;
    if (number_whole(text, &is_negative, &magnitude) < 0 || magnitude > INT64_MAX) {
        complaints_add(c, at, type, "Input should be a valid integer");
        return false;
    }
    v->whole = is_negative ? -(int64_t)magnitude : (int64_t)magnitude;
    return shape_check_whole(c, at, f, v->whole);
}

bool shape_read_word(struct complaints *c, const struct place *at, const struct field *f, struct str text,
                     struct field_value *v) {
    const char *const *words = f->of;
    char all[ERR_TEXT_MAX / 2] = "";
    for (size_t i = 0; words[i]; i++) {
        if (str_is(text, words[i])) {
            v->text = str_of(words[i]);
            v->whole = (int64_t)i;
            return true;
        }
        size_t used = strlen(all);
        (void)snprintf(all + used, sizeof(all) - used, "%s'%s'", used ? (words[i + 1] ? ", " : " or ") : "",
                       words[i]);
    }
    complaints_add(c, at, "enum", "Input should be %s", all);
    return false;
}

bool shape_read_text(struct complaints *c, const struct place *at, struct str text, struct field_value *v) {
    v->text = text;
    if (!text.n || !memchr(text.p, 0, text.n))
        return true;
    complaints_add(c, at, "value_error", "Value error, a text cannot hold a NUL");
    return false;
}

void *shape_grow_list(struct complaints *c, void *list, size_t count, size_t size) {
    if (count & (count - 1))
        return list; /* not a power of two */
    void *bigger = arena_zalloc_array(c->arena, size, count ? count * 2 : 1);
    if (bigger && count)
        memcpy(bigger, list, count * size);
    return bigger;
}

bool shape_add_text(struct complaints *c, const struct place *at, const struct field *f, struct str text,
                    struct field_value *v) {
    struct field_value word = {0};
    if (!shape_read_text(c, at, text, &word) ||
        (f->kind == FIELD_WORDS && !shape_read_word(c, at, f, text, &word)))
        return false;
    struct str *bigger = shape_grow_list(c, v->texts, v->count, sizeof(*bigger));
    if (!bigger) {
        complaints_add_no_memory(c, at);
        return false;
    }
    v->texts = bigger;
    v->texts[v->count++] = text;
    return true;
}
