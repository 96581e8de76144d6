/* Tells the kinds of strings apart and parses the fields of cron strings.
 *
 * Each kind has a distinct beginning: a name after @, "R" with a slash, a property of iCalendar. Any other
 * string is 5 to 7 fields. The first # starts the comment, unless it is directly between a day and a number,
 * as in 5#2. Fails with ERR_INVALID and the column of the mistake, and with ERR_NO_MEMORY. */
#include "cal/text.h"

#include "cal/word.h"

#define FIELDS_MIN 5
#define FIELDS_MAX 7

static const struct {
    const char *name, *fields;
} shorthands[] = {
    {"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}, {"@monthly", "0 0 1 * *"}, {"@weekly", "0 0 * * 0"},
    {"@daily", "0 0 * * *"},  {"@midnight", "0 0 * * *"}, {"@hourly", "0 * * * *"},
};

struct str text_shorthand(struct str word) {
    for (size_t i = 0; i < ARRAY_LEN(shorthands); i++)
        if (str_is(word, shorthands[i].name))
            return str_of(shorthands[i].fields);
    return (struct str){0};
}

struct str text_behind_shorthand(struct str text) {
    struct str rest = text, name = word_next(&rest);
    return text_shorthand(name).n > 0 ? word_trim(rest) : (struct str){0};
}

static bool text_is_letter(char c) {
    return word_lower(c) >= 'a' && word_lower(c) <= 'z';
}

/* Whether the letters begin with a day of the week: the only words that can be a field at that place. */
static bool text_is_weekday(struct str letters) {
    static const char *const days[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat"};
    for (size_t i = 0; i < ARRAY_LEN(days); i++)
        if (letters.n >= 3 && word_same((struct str){letters.p, 3}, days[i]))
            return true;
    return false;
}

bool text_is_command(struct str word) {
    for (size_t at = 0; at < word.n;) {
        struct str letters = {word.p + at, 0};
        while (at + letters.n < word.n && text_is_letter(letters.p[letters.n]))
            letters.n++;
        if (letters.n > 1 && !text_is_weekday(letters))
            return true;
        at += letters.n + 1;
    }
    return false;
}

int text_cut_zone(struct mistakes *c, struct str *text, struct str *ret_zone) {
    static const struct str prefixes[] = {STR("CRON_TZ="), STR("TZ=")};
    *ret_zone = (struct str){0};
    for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
        if (!str_starts(*text, prefixes[i]))
            continue;
        struct str rest = *text;
        struct str word = word_next(&rest);
        if (word_trim(rest).n == 0)
            return mistakes_add(c, word, "the string has a time zone but is missing fields");
        *ret_zone = word_from(word, prefixes[i].n);
        *text = word_trim(rest);
        return 0;
    }
    return 0;
}

/* Whether the # at this offset counts a weekday: 5#2, fri#1. */
static bool text_is_nth_mark(struct str text, size_t at) {
    if (at == 0 || at + 1 >= text.n || word_is_space(text.p[at - 1]) || text.p[at + 1] < '1' ||
        text.p[at + 1] > '5')
        return false;
    char before = word_lower(text.p[at - 1]);
    char after = at + 2 < text.n ? text.p[at + 2] : ' ';
    return ((before >= 'a' && before <= 'z') || word_is_digit(before)) &&
           (word_is_space(after) || after == ',');
}

static struct str text_cut_comment(struct str *text) {
    for (size_t i = 0; i < text->n; i++) {
        if (text->p[i] == '#' && !text_is_nth_mark(*text, i)) {
            struct str comment = word_trim(word_from(*text, i + 1));
            *text = word_trim((struct str){text->p, i});
            return comment;
        }
    }
    return (struct str){0};
}

/* The order of the fields in a string of 7. */
static const enum cal_field cron_order[] = {CAL_SECOND, CAL_MINUTE,      CAL_HOUR, CAL_DAY_OF_MONTH,
                                            CAL_MONTH,  CAL_DAY_OF_WEEK, CAL_YEAR};

static int text_parse_fields(const struct text_reader *r, enum text_dialect dialect, struct str body,
                             struct text *t) {
    struct str words[FIELDS_MAX + 1], rest = body;
    bool is_dbos = dialect == TEXT_DBOS;
    size_t n = 0;
    while (n < ARRAY_LEN(words) && (words[n] = word_next(&rest)).n > 0)
        n++;
    if (n > FIELDS_MIN && !text_is_command(words[0]) && text_is_command(words[FIELDS_MIN]))
        return mistakes_add(r->mistakes, words[FIELDS_MIN], TEXT_CRONTAB_LINE);
    if (is_dbos && n != 5 && n != 6)
        return mistakes_add(r->mistakes, body, "a DBOS crontab does not have 5 or 6 fields");
    if (n < FIELDS_MIN || n > FIELDS_MAX)
        return mistakes_add(r->mistakes, body, "the cron string does not have 5-7 fields");
    struct field_reader reader = {r->arena, r->mistakes, r->seed, &t->marks};
    size_t skipped = is_dbos ? 6 - n : n < FIELDS_MAX; /* 1: the string has no seconds */
    int result = 0;
    t->kind = TEXT_CALENDAR;
    for (size_t i = 0; i < CAL_FIELD_COUNT; i++) {
        enum cal_field field = cron_order[i];
        struct str word = i < skipped || i - skipped >= n ? str_of(i == 0 ? "0" : "*") : words[i - skipped];
        int e = is_dbos && field != CAL_YEAR
                    ? field_parse_dbos(&reader, field, word, &t->calendar.fields[field])
                    : field_parse(&reader, field, word, &t->calendar.fields[field]);
        if (e == ERR_NO_MEMORY)
            return e;
        result = result ? result : e;
    }
    return result;
}

static bool text_is_recurrence(struct str body) {
    return str_starts(body, STR("RRULE:")) || str_starts(body, STR("DTSTART")) ||
           str_starts(body, STR("RDATE")) || str_starts(body, STR("EXDATE")) ||
           str_starts(body, STR("FREQ="));
}

static bool text_is_repeat(struct str body) {
    return body.n > 1 && body.p[0] == 'R' && (body.p[1] == '/' || word_is_digit(body.p[1]));
}

static int text_parse_at(const struct text_reader *r, struct str rest, struct text *t) {
    struct str word = word_next(&rest);
    size_t at = 0;
    t->kind = TEXT_AT;
    if (civil_parse(word, &t->at, &at) < 0)
        return mistakes_add(r->mistakes, word_from(word, at), "@at needs a time like 2026-03-01T09:00");
    if (word_trim(rest).n > 0)
        return mistakes_add(r->mistakes, word_trim(rest), "@at has more than one time");
    return 0;
}

/* A string that begins with @. */
static int text_parse_named(const struct text_reader *r, struct str body, struct text *t) {
    struct str rest = body, name = word_next(&rest);
    struct str fields = text_shorthand(body), command = text_behind_shorthand(body);
    if (fields.n > 0)
        return text_parse_fields(r, TEXT_CRON, fields, t);
    if (text_is_command(command))
        return mistakes_add(r->mistakes, command, TEXT_CRONTAB_LINE);
    if (str_is(name, "@every"))
        return text_parse_every(r, rest, t);
    if (str_is(name, "@at"))
        return text_parse_at(r, rest, t);
    if (str_is(name, "@dbos"))
        return text_parse_fields(r, TEXT_DBOS, word_trim(rest), t);
    return mistakes_add(r->mistakes, body,
                        "a name that is none of @yearly, @annually, @monthly, @weekly, @daily, "
                        "@midnight, @hourly, @every, @at, @dbos");
}

static int text_parse_body(const struct text_reader *r, enum text_dialect dialect, struct text *t) {
    struct str body = t->body;
    if (dialect == TEXT_DBOS)
        return text_parse_fields(r, TEXT_DBOS, body, t);
    if (body.n > 0 && body.p[0] == '@')
        return text_parse_named(r, body, t);
    if (text_is_repeat(body))
        return text_parse_repeat(r, body, t);
    if (!text_is_recurrence(body))
        return text_parse_fields(r, TEXT_CRON, body, t);
    t->kind = TEXT_RECUR;
    int e = recur_parse(r->arena, r->mistakes, body, &t->recur);
    if (e == 0 && t->recur.zone.n > 0) {
        if (t->zone.n > 0 && !str_eq(t->zone, t->recur.zone))
            return mistakes_add(r->mistakes, body, "TZID and CRON_TZ name different time zones");
        t->zone = t->recur.zone;
    }
    return e;
}

int text_parse(struct arena *a, struct str seed, enum text_dialect dialect, struct str text, struct text *ret,
               struct err *reterr) {
    struct mistakes mistakes = {.origin = text};
    struct text_reader reader = {a, &mistakes, seed};
    *ret = (struct text){0};
    if (text.n > CAL_TEXT_BYTES_MAX)
        return err_set(reterr, ERR_INVALID, "a cron string is longer than %d bytes", CAL_TEXT_BYTES_MAX);
    if (!utf8_valid(text))
        return err_set(reterr, ERR_INVALID, "a cron string is not UTF-8");
    if (text.n == 0)
        mistakes.origin = text = STR("");
    ret->body = word_trim(text);
    int e = text_cut_zone(&mistakes, &ret->body, &ret->zone);
    if (e == 0) {
        ret->comment = text_cut_comment(&ret->body);
        e = text_parse_body(&reader, dialect, ret);
    }
    if (e == ERR_INVALID)
        return err_set(reterr, e, "invalid cron string \"%.*s\": %s", (int)MIN(text.n, 100),
                       text.n ? text.p : "", mistakes.text);
    return e < 0 ? err_std(reterr, e) : 0;
}

int text_parse_strings(struct arena *a, struct str seed, const struct cal_strings *s,
                       struct cal_calendar *ret, struct field_marks *marks, struct err *reterr) {
    struct mistakes mistakes = {0};
    struct field_reader reader = {a, &mistakes, seed, marks};
    int result = 0;
    *ret = (struct cal_calendar){.comment = s->comment};
    for (int i = 0; i < CAL_FIELD_COUNT; i++) {
        struct str text = word_trim(s->fields[i]);
        if (text.n == 0)
            text = str_of(field_kind((enum cal_field)i)->fallback);
        mistakes.origin = text;
        int e = text.n > CAL_TEXT_BYTES_MAX || !utf8_valid(text)
                    ? mistakes_add(&mistakes, (struct str){text.p, 0}, "%s is too long or not UTF-8",
                                   field_kind((enum cal_field)i)->name)
                    : field_parse(&reader, (enum cal_field)i, text, &ret->fields[i]);
        if (e == ERR_NO_MEMORY)
            return err_std(reterr, e);
        result = result ? result : e;
    }
    return result < 0 ? err_set(reterr, result, "invalid calendar spec: %s", mistakes.text) : 0;
}
