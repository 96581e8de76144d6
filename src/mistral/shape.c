/* Bodies and queries against the table of shapes.def.
 *
 * The happy path: the reader of src/json hands over one member after the
 * other, its name finds the field, and the field's kind reads the value. The
 * texts and types of complaints are those of pydantic, which clients of this
 * API know. */
#include "mistral/shape.h"

#include <stdio.h>

#include "cal/duration.h"
#include "json/moment.h"
#include "json/number.h"
#include "json/reader.h"
#include "json/writer.h"
#include "net/query.h"

#define LIST_BYTES_MAX (64u << 10)
#define USEC_PER_DAY (24 * 3600 * USEC_PER_SEC)

static const char *const schedule_statuses[] = {"active", "paused", NULL};
static const char *const activities[] = {"active", "inactive", NULL};
static const char *const orders[] = {"asc", "desc", NULL};
static const char *const run_orders[] = {"start_time", "end_time", NULL};
static const char *const workflow_orders[] = {"display_name", NULL};
static const char *const deployment_orders[] = {"updated_at", "created_at", NULL};
static const char *const sources[] = {"DATABASE", "LIVE", "HYBRID", NULL};
static const char *const statuses[] = {"RUNNING",    "COMPLETED",        "FAILED",    "CANCELED",
                                       "TERMINATED", "CONTINUED_AS_NEW", "TIMED_OUT", NULL};

#define SHAPE(name) static const struct field name##_fields[] = {
#define FIELD(shape, name, kind, need, of, min, max) {#name, FIELD_##kind, FIELD_##need, of, min, max},
#define END(name)                                                                                            \
    }                                                                                                        \
    ;                                                                                                        \
    const struct shape shape_##name = {name##_fields, ARRAY_LEN(name##_fields)};
#include "mistral/shapes.def"
#undef SHAPE
#undef FIELD
#undef END

/* Complaints. */

void complaints_init(struct complaints *c, struct arena *a) {
    *c = (struct complaints){.arena = a};
    buf_init(&c->list, LIST_BYTES_MAX);
}

void complaints_done(struct complaints *c) {
    buf_done(&c->list);
}

static void write_place(struct json_writer *w, const struct place *at) {
    char index[32];
    if (at->up)
        write_place(w, at->up);
    if (at->name.p) {
        writer_string(w, at->name);
        return;
    }
    (void)snprintf(index, sizeof(index), "%zu", at->index);
    writer_token(w, str_of(index));
}

void complaints_add(struct complaints *c, const struct place *at, const char *type, const char *fmt, ...) {
    struct json_writer w;
    char text[ERR_TEXT_MAX];
    va_list args;
    if (c->count++ >= COMPLAINTS_MAX)
        return;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    size_t begin = c->list.len;
    if (begin)
        buf_add_u8(&c->list, ',');
    writer_init(&w, &c->list, false);
    writer_open(&w, '{');
    writer_key(&w, STR("loc"));
    writer_open(&w, '[');
    write_place(&w, at);
    writer_close(&w, ']');
    writer_key(&w, STR("msg"));
    writer_string(&w, str_of(text));
    writer_key(&w, STR("type"));
    writer_string(&w, str_of(type));
    writer_close(&w, '}');
    if (buf_ok(&c->list))
        return;
    c->list.failed = false; /* what fits is told */
    buf_truncate(&c->list, begin);
}

static void out_of_memory(struct complaints *c, const struct place *at) {
    complaints_add(c, at, "too_large", "This needs more memory than one request may have");
}

/* Values from text, which is how queries have them all and JSON some. */

/* A time without an offset is one in UTC, as Python writes it. */
static bool read_time(struct complaints *c, const struct place *at, struct str text, struct given *v) {
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

static bool read_span(struct complaints *c, const struct place *at, const struct field *f, struct str text,
                      struct given *v) {
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

static bool check_whole(struct complaints *c, const struct place *at, const struct field *f, int64_t n) {
    if (n < f->min)
        complaints_add(c, at, "greater_than_equal", "Input should be greater than or equal to %lld",
                       (long long)f->min);
    if (n > f->max)
        complaints_add(c, at, "less_than_equal", "Input should be less than or equal to %lld",
                       (long long)f->max);
    return n >= f->min && n <= f->max;
}

static bool read_whole(struct complaints *c, const struct place *at, const struct field *f, struct str text,
                       const char *type, struct given *v) {
    bool is_negative;
    uint64_t magnitude;
    if (number_whole(text, &is_negative, &magnitude) < 0 || magnitude > INT64_MAX) {
        complaints_add(c, at, type, "Input should be a valid integer");
        return false;
    }
    v->whole = is_negative ? -(int64_t)magnitude : (int64_t)magnitude;
    return check_whole(c, at, f, v->whole);
}

static bool read_word(struct complaints *c, const struct place *at, const struct field *f, struct str text,
                      struct given *v) {
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

static bool read_text(struct complaints *c, const struct place *at, struct str text, struct given *v) {
    v->text = text;
    if (!text.n || !memchr(text.p, 0, text.n))
        return true;
    complaints_add(c, at, "value_error", "Value error, a text cannot hold a NUL");
    return false;
}

/* JSON. */

struct reading {
    struct complaints *c;
    struct json_reader r;
    bool is_broken; /* what follows cannot be read */
};

static void broken(struct reading *in, const struct place *at) {
    struct json_place where = reader_place(&in->r);
    struct place root = *at;
    while (root.up)
        root = *root.up;
    struct place offset = {.up = &root, .index = in->r.at};
    if (!in->is_broken)
        complaints_add(in->c, &offset, "json_invalid", "JSON decode error: line %zu, column %zu: %s",
                       where.line, where.column, in->r.mistake ? in->r.mistake : "not a value");
    in->is_broken = true;
}

static bool skip(struct reading *in, const struct place *at, struct str *ret) {
    if (reader_skip(&in->r, ret) == 0)
        return true;
    broken(in, at);
    return false;
}

static bool take_string(struct reading *in, const struct place *at, struct str *ret) {
    if (reader_kind(&in->r) != JSON_STRING) {
        if (skip(in, at, NULL))
            complaints_add(in->c, at, "string_type", "Input should be a valid string");
        return false;
    }
    int rc = reader_string(&in->r, in->c->arena, ret);
    if (rc == ERR_NO_MEMORY)
        out_of_memory(in->c, at);
    else if (rc < 0)
        broken(in, at);
    return rc == 0;
}

static bool take_number(struct reading *in, const struct place *at, const struct field *f, struct given *v) {
    struct str text;
    if (reader_kind(&in->r) != JSON_NUMBER) {
        if (skip(in, at, NULL))
            complaints_add(in->c, at, "int_type", "Input should be a valid integer");
        return false;
    }
    if (reader_number(&in->r, &text) < 0) {
        broken(in, at);
        return false;
    }
    return read_whole(in->c, at, f, text, "int_from_float", v);
}

static bool take_seconds(struct reading *in, const struct place *at, const struct field *f, struct given *v) {
    struct str text;
    double seconds;
    if (reader_kind(&in->r) != JSON_NUMBER) {
        if (skip(in, at, NULL))
            complaints_add(in->c, at, "float_type", "Input should be a valid number");
        return false;
    }
    if (reader_number(&in->r, &text) < 0) {
        broken(in, at);
        return false;
    }
    if (number_real(text, &seconds) < 0 || seconds < (double)f->min || seconds > (double)f->max) {
        complaints_add(in->c, at, "less_than_equal", "Input should be between %lld and %lld seconds",
                       (long long)f->min, (long long)f->max);
        return false;
    }
    v->whole = (int64_t)(seconds * (double)USEC_PER_SEC);
    return true;
}

static bool take_bool(struct reading *in, const struct place *at, struct given *v) {
    if (reader_kind(&in->r) != JSON_BOOL) {
        if (skip(in, at, NULL))
            complaints_add(in->c, at, "bool_type", "Input should be a valid boolean");
        return false;
    }
    if (reader_bool(&in->r, &v->truth) == 0)
        return true;
    broken(in, at);
    return false;
}

static struct record *take_record(struct reading *in, const struct place *at, const struct shape *s);

/* The list with room for one more; it grows by doubling, and the arena's budget bounds it. */
static void *make_room(struct complaints *c, void *list, size_t count, size_t size) {
    if (count & (count - 1))
        return list; /* not a power of two */
    void *bigger = arena_zalloc_array(c->arena, size, count ? count * 2 : 1);
    if (bigger && count)
        memcpy(bigger, list, count * size);
    return bigger;
}

static bool add_text(struct complaints *c, const struct place *at, const struct field *f, struct str text,
                     struct given *v) {
    struct given word = {0};
    if (!read_text(c, at, text, &word) || (f->kind == FIELD_WORDS && !read_word(c, at, f, text, &word)))
        return false;
    struct str *bigger = make_room(c, v->texts, v->count, sizeof(*bigger));
    if (!bigger) {
        out_of_memory(c, at);
        return false;
    }
    v->texts = bigger;
    v->texts[v->count++] = text;
    return true;
}

static bool take_item(struct reading *in, const struct place *at, const struct field *f, struct given *v) {
    struct str text;
    if (f->kind != FIELD_RECORDS)
        return take_string(in, at, &text) && add_text(in->c, at, f, text, v);
    struct record *r = take_record(in, at, f->of);
    struct record **bigger = r ? make_room(in->c, v->records, v->count, sizeof(*bigger)) : NULL;
    if (!bigger) {
        if (r)
            out_of_memory(in->c, at);
        return false;
    }
    v->records = bigger;
    v->records[v->count++] = r;
    return true;
}

static bool take_list(struct reading *in, const struct place *at, const struct field *f, struct given *v) {
    struct json_items items;
    bool has_more = false, is_whole = true;
    if (reader_kind(&in->r) != JSON_ARRAY) {
        if (skip(in, at, NULL))
            complaints_add(in->c, at, "list_type", "Input should be a valid list");
        return false;
    }
    int rc = reader_enter(&in->r, &items);
    size_t count = 0;
    for (; rc == 0 && (rc = reader_next(&in->r, &items, &has_more)) == 0 && has_more; count++) {
        struct place each = {.up = at, .index = count};
        is_whole &= take_item(in, &each, f, v);
        if (in->is_broken)
            return false;
    }
    if (rc < 0)
        broken(in, at);
    if (rc == 0 && (int64_t)count > f->max)
        complaints_add(in->c, at, "too_long", "List should have at most %lld items, not %zu",
                       (long long)f->max, count);
    if (rc == 0 && (int64_t)count < f->min)
        complaints_add(in->c, at, "too_short", "List should have at least %lld items, not %zu",
                       (long long)f->min, count);
    return rc == 0 && is_whole;
}

/* null where it says nothing was taken by the caller. */
static bool take_value(struct reading *in, const struct place *at, const struct field *f, struct given *v) {
    struct str text;
    switch (f->kind) {
    case FIELD_TEXT:
        return take_string(in, at, &text) && read_text(in->c, at, text, v);
    case FIELD_WHOLE:
        return take_number(in, at, f, v);
    case FIELD_BOOL:
        return take_bool(in, at, v);
    case FIELD_TIME:
        return take_string(in, at, &text) && read_time(in->c, at, text, v);
    case FIELD_SPAN:
        return take_string(in, at, &text) && read_span(in->c, at, f, text, v);
    case FIELD_SECONDS:
        return take_seconds(in, at, f, v);
    case FIELD_ANY:
        return skip(in, at, &v->text);
    case FIELD_WORD:
        return take_string(in, at, &text) && read_word(in->c, at, f, text, v);
    case FIELD_WORDS:
    case FIELD_TEXTS:
    case FIELD_RECORDS:
        return take_list(in, at, f, v);
    case FIELD_RECORD:
        break;
    }
    struct record *r = take_record(in, at, f->of);
    if (!r)
        return false;
    v->records = arena_array(in->c->arena, struct record *, 1);
    if (!v->records) {
        out_of_memory(in->c, at);
        return false;
    }
    v->records[0] = r;
    v->count = 1;
    return true;
}

static bool take_null(struct reading *in, const struct place *at, const struct field *f, struct given *v,
                      bool *ret_is_taken) {
    *ret_is_taken = reader_kind(&in->r) == JSON_NULL && f->need != FIELD_REQUIRED &&
                    f->need != FIELD_OPTIONAL && f->kind != FIELD_ANY;
    if (!*ret_is_taken)
        return true;
    if (reader_null(&in->r) < 0) {
        broken(in, at);
        return false;
    }
    v->is_given = v->is_null = f->need == FIELD_CLEARABLE;
    return true;
}

static void refuse_foreign(struct complaints *c, const struct place *at) {
    complaints_add(c, at, "unsupported", "This server has nothing of this kind, so it cannot be asked for");
}

static void take_field(struct reading *in, const struct place *at, const struct field *f, struct given *v) {
    bool is_null;
    if (!take_null(in, at, f, v, &is_null) || is_null)
        return;
    v->is_given = take_value(in, at, f, v);
    if (v->is_given && f->need == FIELD_FOREIGN) {
        v->is_given = false;
        refuse_foreign(in->c, at);
    }
}

static size_t find_field(const struct shape *s, struct str name) {
    size_t i = 0;
    while (i < s->count && !str_is(name, s->fields[i].name))
        i++;
    return i;
}

static struct record *record_new(struct complaints *c, const struct shape *s) {
    struct record *r = arena_new(c->arena, struct record);
    if (!r)
        return NULL;
    *r = (struct record){s, arena_array(c->arena, struct given, s->count)};
    return r->v ? r : NULL;
}

static bool take_member(struct reading *in, const struct place *at, struct record *r, bool *seen) {
    struct str name;
    int rc = reader_key(&in->r, in->c->arena, &name);
    if (rc < 0) {
        if (rc == ERR_NO_MEMORY)
            out_of_memory(in->c, at);
        else
            broken(in, at);
        in->is_broken = true;
        return false;
    }
    struct place here = {.up = at, .name = name};
    size_t i = find_field(r->shape, name);
    if (i == r->shape->count || seen[i]) {
        if (!skip(in, &here, NULL))
            return false;
        if (i == r->shape->count)
            complaints_add(in->c, &here, "extra_forbidden", "Extra inputs are not permitted");
        else
            complaints_add(in->c, &here, "value_error", "Value error, this is given twice");
        return true;
    }
    seen[i] = true;
    take_field(in, &here, &r->shape->fields[i], &r->v[i]);
    return !in->is_broken;
}

static void check_missing(struct complaints *c, const struct place *at, const struct record *r,
                          const bool *seen) {
    for (size_t i = 0; i < r->shape->count; i++) {
        struct place here = {.up = at, .name = str_of(r->shape->fields[i].name)};
        if (!seen[i] && r->shape->fields[i].need == FIELD_REQUIRED)
            complaints_add(c, &here, "missing", "Field required");
    }
}

static struct record *take_record(struct reading *in, const struct place *at, const struct shape *s) {
    struct record *r = record_new(in->c, s);
    bool *seen = arena_array(in->c->arena, bool, s->count), has_more = false;
    struct json_items items;
    if (!r || !seen) {
        out_of_memory(in->c, at);
        in->is_broken = true;
        return NULL;
    }
    if (reader_kind(&in->r) != JSON_OBJECT) {
        if (skip(in, at, NULL))
            complaints_add(in->c, at, "model_attributes_type",
                           "Input should be a valid dictionary or object to extract fields from");
        return NULL;
    }
    int rc = reader_enter(&in->r, &items);
    while (rc == 0 && (rc = reader_next(&in->r, &items, &has_more)) == 0 && has_more)
        if (!take_member(in, at, r, seen))
            return NULL;
    if (rc < 0) {
        broken(in, at);
        return NULL;
    }
    check_missing(in->c, at, r, seen);
    return r;
}

const struct record *shape_read(struct complaints *c, const struct shape *s, struct str text,
                                struct str where) {
    struct reading in = {.c = c};
    struct place root = {.name = where};
    if (!utf8_valid(text)) {
        complaints_add(c, &root, "json_invalid", "JSON decode error: the text is not UTF-8");
        return NULL;
    }
    reader_init(&in.r, text.n ? text : STR("{}"));
    const struct record *r = take_record(&in, &root, s);
    if (r && reader_end(&in.r) < 0)
        broken(&in, &root);
    return r;
}

/* Queries. */

static bool take_parameter(struct complaints *c, const struct place *at, const struct field *f,
                           struct str text, struct given *v) {
    switch (f->kind) {
    case FIELD_TEXT:
        return read_text(c, at, text, v);
    case FIELD_WHOLE:
        return read_whole(c, at, f, text, "int_parsing", v);
    case FIELD_BOOL:
        v->truth = str_is(text, "true") || str_is(text, "1");
        if (v->truth || str_is(text, "false") || str_is(text, "0"))
            return true;
        complaints_add(c, at, "bool_parsing", "Input should be a valid boolean");
        return false;
    case FIELD_TIME:
        return read_time(c, at, text, v);
    case FIELD_WORD:
        return read_word(c, at, f, text, v);
    case FIELD_WORDS:
    case FIELD_TEXTS:
        return add_text(c, at, f, text, v);
    case FIELD_SPAN:
    case FIELD_SECONDS:
    case FIELD_ANY:
    case FIELD_RECORD:
    case FIELD_RECORDS:
        break; /* no query has them */
    }
    return false;
}

static void take_pair(struct complaints *c, const struct place *root, struct record *r, struct str raw_name,
                      struct str raw_value) {
    struct str name, value;
    struct err e;
    int rc = query_decode(c->arena, raw_name, true, &name, &e);
    if (rc == 0)
        rc = query_decode(c->arena, raw_value, true, &value, &e);
    struct place at = {.up = root, .name = rc == 0 ? name : raw_name};
    if (rc == 0 && (!utf8_valid(name) || !utf8_valid(value)))
        rc = err_set(&e, ERR_INVALID, "the URL is not UTF-8");
    if (rc < 0) {
        complaints_add(c, &at, "value_error", "Value error, %s", e.text);
        return;
    }
    size_t i = find_field(r->shape, name);
    if (i == r->shape->count) {
        complaints_add(c, &at, "extra_forbidden", "Extra inputs are not permitted");
        return;
    }
    const struct field *f = &r->shape->fields[i];
    struct given *v = &r->v[i];
    if (!value.n)
        return;
    if (f->need == FIELD_FOREIGN) {
        refuse_foreign(c, &at);
        return;
    }
    if (v->is_given && f->kind != FIELD_TEXTS && f->kind != FIELD_WORDS) {
        complaints_add(c, &at, "value_error", "Value error, this is given twice");
        return;
    }
    v->is_given |= take_parameter(c, &at, f, value, v);
    if ((int64_t)v->count > f->max && (f->kind == FIELD_TEXTS || f->kind == FIELD_WORDS))
        complaints_add(c, &at, "too_long", "List should have at most %lld items", (long long)f->max);
}

const struct record *shape_read_query(struct complaints *c, const struct shape *s, struct str query) {
    struct place root = {.name = STR("query")};
    struct record *r = record_new(c, s);
    struct str name, value;
    if (!r) {
        out_of_memory(c, &root);
        return NULL;
    }
    while (query_next(&query, &name, &value))
        take_pair(c, &root, r, name, value);
    return r;
}
